//! What is set for a chat, and what its model was sent: drawers beside the chat.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    chat_list::chat_tabs,
    chat_speakers::ChatSpeakers,
    icon::{Glyph, Icon},
    model_field::ModelField,
    problem::PageProblem,
    workbench::Workbench,
    written::written,
};
use crate::{
    app::server_fns::{
        chats::{SaveChat, what_was_sent},
        models::NamedModel,
    },
    domain::{
        chat::{Answering, Chat, ChatMode, MAX_WINDOW, MIN_WINDOW, TITLE},
        id::{ConversationId, MessageId},
        message::Role,
        sent::Sent,
        tree::MAX_COUNTED,
        visible::visible,
    },
};

/// A drawer with its head.
#[component]
pub fn Drawer(
    /// What it is called.
    title: &'static str,
    /// Where one goes without it.
    home: String,
    /// Whether it takes more room.
    #[prop(optional)]
    wide: bool,
    /// What it shows.
    children: Children,
) -> impl IntoView {
    view! {
        <aside class="drawer" class:wide=wide aria-labelledby="drawer-title">
            <header class="row apart">
                <h2 id="drawer-title">{title}</h2>
                <a href=home class="icon" aria-label="Close" data-noscroll><Glyph icon=Icon::Close/></a>
            </header>
            {children()}
        </aside>
    }
}

/// What is set for a chat.
#[component]
pub fn ChatSettingsDrawer(
    /// The chat.
    chat: Chat,
    /// The models that could speak.
    models: Vec<NamedModel>,
    /// The name of somebody who is looked for, to speak here too.
    who: String,
    /// Whether pictures are made here at all.
    can_make_pictures: bool,
) -> impl IntoView {
    let speakers = chat.clone();
    let Chat { id, revision, title, mode, settings, members, .. } = chat;
    let home = format!("/chats/{id}");
    let own = members.first().map(|member| member.model.clone()).unwrap_or_default();
    let me = settings.user_persona;
    view! {
        <Workbench title="This chat" home tabs=chat_tabs(&id, "settings")>
            <ChatSpeakers chat=speakers who/>
            <form method="post" action=SaveChat::url() class="stack" data-quiet data-told="Saved." data-reuse="chat-settings">
                <input type="hidden" name="id" value=id.to_string()/>
                <input type="hidden" name="revision" value=revision.to_string()/>
                <input type="hidden" name="settings[filled]" value="true"/>
                <div class="field">
                    <label for="chat-title">"Title"</label>
                    <input id="chat-title" name="title" required maxlength=TITLE.max_chars autocomplete="off" value=title/>
                </div>
                <fieldset class="field">
                    <legend>"Mode"</legend>
                    <div class="choices">
                        {ChatMode::ALL.map(|other| view! {
                            <label><input type="radio" name="mode" value=other.word() checked=other == mode/> {other.label()}</label>
                        })}
                    </div>
                </fieldset>
                <ModelField chosen=settings.model own models/>
                <fieldset class="field">
                    <legend>"Several answer"</legend>
                    <div class="choices">
                        {Answering::ALL.map(|other| view! {
                            <label><input type="radio" name="settings[answers]" value=other.word() checked=other == settings.answers/> {other.label()}</label>
                        })}
                    </div>
                </fieldset>
                <div class="field">
                    <label for="chat-window">"Messages that go to the model"</label>
                    <input id="chat-window" type="number" name="settings[window]" min=MIN_WINDOW max=MAX_WINDOW value=settings.window/>
                </div>
                {can_make_pictures.then(|| view! {
                    <input type="hidden" name="settings[with_images]" value="true"/>
                    <label class="row tight">
                        <input type="checkbox" name="settings[images]" value="true" checked=settings.images/>
                        "Answers get pictures"
                    </label>
                })}
                <h3>"You in this chat"</h3>
                <div class="field">
                    <label for="me-name">"Name"</label>
                    <input id="me-name" name="settings[name]" maxlength="100" autocomplete="off" value=me.name/>
                </div>
                <div class="field">
                    <label for="me-appearance">"Appearance"</label>
                    <textarea id="me-appearance" name="settings[appearance]" rows="3" maxlength="2000" inner_html=written(&me.appearance)></textarea>
                </div>
                <div class="field">
                    <label for="me-overview">"Overview"</label>
                    <textarea id="me-overview" name="settings[overview]" rows="3" maxlength="4000" inner_html=written(&me.overview)></textarea>
                </div>
                <label class="row tight small needs-script">
                    <input type="checkbox" name="reuse" value="1"/>
                    "Reuse the model, the window and you for new chats in this browser"
                </label>
                <p><button class="button">"Save"</button></p>
            </form>
            {members.into_iter().map(|member| {
                let href = format!("/personas/{}/roleplay", member.persona_id);
                // Nobody may have been there to draw it when the chat began.
                let told = member.roleplay_data.is_none().then_some(match member.changes {
                    0 => ": nothing yet. It can be drawn or written there.",
                    _ => ": nothing yet. Updating the persona in this chat has it drawn.",
                });
                view! { <p class="small"><a href=href>"What roleplay knows of " {member.name}</a> {told}</p> }
            }).collect_view()}
        </Workbench>
    }
}

/// What the model was sent for an answer.
#[component]
pub fn SentDrawer(
    /// In which chat.
    chat: ConversationId,
    /// The answer.
    message: MessageId,
) -> impl IntoView {
    let home = format!("/chats/{chat}");
    view! {
        <Drawer title="What was sent" home>
            <Suspense>
                {Suspend::new(async move {
                    match what_was_sent(message).await {
                        Ok(sent) => shown(sent).into_any(),
                        Err(error) => view! { <PageProblem error/> }.into_any(),
                    }
                })}
            </Suspense>
        </Drawer>
    }
}

fn shown(sent: Sent) -> impl IntoView {
    let cached = sent.cached_share.map(|share| format!(" · {:.0} % from the cache", share * 100.0));
    let cut = match (sent.left_out, sent.messages.len()) {
        (0, 1) => "The whole branch was sent: 1 message".to_owned(),
        (0, count) => format!("The whole branch was sent: {count} messages"),
        (1, count) => format!("1 earlier message was not sent, the last {count} were"),
        (left_out, count) => {
            let more = if left_out >= MAX_COUNTED { " or more" } else { "" };
            format!("{left_out}{more} earlier messages were not sent, the last {count} were")
        }
    };
    let window = format!(
        "The window takes the last {} messages, and what the first of them answers.",
        sent.window
    );
    let part = |title: String, tokens: u64, text: String| {
        view! {
            <details class="sent">
                <summary>{title} <span class="faint small">" · about " {tokens} " tokens"</span></summary>
                <pre>{visible(text)}</pre>
            </details>
        }
    };
    view! {
        <p class="small"><a href=format!("/traces/{}", sent.run_id)>"Trace"</a></p>
        <p class="small faint">{sent.model} " · about " {sent.tokens} " tokens · " {sent.spent.told()} {cached}</p>
        {sent.sections.into_iter().map(|section| part(section.title, section.tokens, section.text)).collect_view()}
        {sent.tools.into_iter().map(|tool| part(format!("Tool {}", tool.name), tool.tokens, tool.description)).collect_view()}
        <p class="cut small" role="separator" title=window>"— " {cut} " —"</p>
        {sent.messages.into_iter().map(|message| {
            let who = match message.role {
                Role::User => "You",
                Role::Assistant => "Persona",
            };
            part(who.into(), message.tokens, message.text)
        }).collect_view()}
    }
}
