//! The chats with a persona beside one of them: a tab of the chat's workbench.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    icon::{Glyph, Icon},
    when::When,
    workbench::{Tab, Workbench},
};
use crate::{
    app::server_fns::chats::{BeginChat, list_chats},
    domain::{
        chat::{Chat, ChatSummary},
        id::ConversationId,
        visible::visible_in_prose,
    },
};

/// The tabs of a chat's workbench.
pub fn chat_tabs(chat: &ConversationId, current: &str) -> Vec<Tab> {
    let tabs = [("chats", "Chats"), ("settings", "Settings")];
    Tab::row(tabs, current, |word| format!("/chats/{chat}?{word}=1"))
}

/// The chats with the persona that speaks here.
#[component]
pub fn ChatListTab(
    /// The chat that is open.
    chat: Chat,
) -> impl IntoView {
    let home = format!("/chats/{}", chat.id);
    let tabs = chat_tabs(&chat.id, "chats");
    let with = chat.members.into_iter().next();
    let name = with.as_ref().map(|member| member.name.clone()).unwrap_or_default();
    let absent = with.as_ref().is_none_or(|member| member.in_bin);
    let persona = with.map(|member| member.persona_id).unwrap_or_default();
    let (id, all) = (chat.id, format!("/chats?persona={persona}"));
    view! {
        <Workbench title=format!("With {name}") home tabs>
            {(!absent).then(|| view! {
                <form method="post" action=BeginChat::url() data-quiet data-reused="chat-settings">
                    <input type="hidden" name="persona" value=persona.to_string()/>
                    <input type="hidden" name="mode" value=chat.mode.word()/>
                    <button class="button"><Glyph icon=Icon::Plus/> "New chat"</button>
                </form>
            })}
            <Suspense>
                {Suspend::new(async move {
                    match list_chats(Some(persona), String::new(), None).await {
                        Ok(page) => {
                            let rows = page.items.into_iter().map(|other| row(other, &id));
                            let rows = rows.collect_view();
                            view! { <ul class="chat-list" aria-label="Chats">{rows}</ul> }.into_any()
                        }
                        Err(error) => view! { <p class="problem" role="alert">{error.to_string()}</p> }.into_any(),
                    }
                })}
            </Suspense>
            <p class="small"><a href=all>"All chats"</a></p>
        </Workbench>
    }
}

fn row(chat: ChatSummary, open: &ConversationId) -> impl IntoView + use<> {
    let current = (chat.id == *open).then_some("page");
    let href = format!("/chats/{}?chats=1", chat.id);
    view! {
        <li id=format!("beside-{}", chat.id)>
            <a href=href aria-current=current>
                <span class="one-line">{visible_in_prose(chat.title)}</span>
                <span class="faint small">{chat.mode.label()} " · " <When at=chat.updated_at/></span>
            </a>
        </li>
    }
}
