//! A session of the playground: what is said, the files and todos beside it, and what can be set.
//!
//! What else is open is in the address: `?settings`, `?file={path}` with `&edit` or `&written`, `?new`,
//! `?call={call}`; `?before` shows earlier messages, and `?left` is where one was before it was cleared.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{
            chat_settings::Drawer,
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            session_fields::{ModelChoice, VariableFields, VersionChoice},
            session_files::{FileDrawer, FileTree, StepDrawer, UnsavedDrawer, ViewDrawer},
            session_turn::SessionTurnView,
        },
        server_fns::playground::{
            ClearSession, DeleteSession, GoToInSession, Look, Opened, SaveSession, SessionData,
            open_session,
        },
    },
    domain::{
        field::grouped,
        id::{CallId, ConversationId, MessageId, PersonaId},
        message::Role,
        playground::{SessionSpent, TITLE, Todo, TodoStatus},
        run::{Run, told_dollars},
        visible::visible_in_prose,
    },
};

/// The page.
#[component]
pub fn SessionPage() -> impl IntoView {
    let params = use_params_map().read_untracked().clone();
    let persona = PersonaId::new(params.get("id").unwrap_or_default());
    let session = ConversationId::new(params.get("session").unwrap_or_default());
    let query = use_query_map().read_untracked().clone();
    let before = query.get("before").map(MessageId::new);
    let left = query.get("left").map(MessageId::new);
    let look = Look {
        file: query.get("file"),
        edited: query.get("edit").is_some(),
        as_written: query.get("written").is_some(),
        call: query.get("call").map(CallId::new),
    };
    let beside = if query.get("settings").is_some() {
        Beside::Settings
    } else if query.get("new").is_some() {
        Beside::NewFile
    } else {
        Beside::Opened
    };
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_session(persona, session, before, look, left).await {
                    Ok(data) => {
                        let beside = beside.render(&data);
                        view! { {shown(data)} {beside} }.into_any()
                    }
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// What is open beside the session.
enum Beside {
    Settings,
    NewFile,
    Opened,
}

impl Beside {
    fn render(self, data: &SessionData) -> Option<AnyView> {
        let (persona, session) = (data.player.id.clone(), data.session.id.clone());
        let home = format!("/playground/{persona}/{session}");
        match self {
            Self::Settings => Some(view! { <Settings data=data.clone() home/> }.into_any()),
            Self::NewFile => {
                Some(view! { <FileDrawer persona session home file=None/> }.into_any())
            }
            Self::Opened => match data.open.clone() {
                Opened::Nothing => None,
                Opened::Viewed(info, file) => {
                    Some(view! { <ViewDrawer persona session home info file/> }.into_any())
                }
                Opened::File(info, text) => {
                    let file = Some((info, text));
                    Some(view! { <FileDrawer persona session home file/> }.into_any())
                }
                Opened::Unsaved(file) => {
                    Some(view! { <UnsavedDrawer persona session home file/> }.into_any())
                }
                Opened::Step(files) => Some(view! { <StepDrawer files home/> }.into_any()),
                Opened::Problem(told) => Some(
                    view! { <Drawer title="Files" home><p class="problem" role="alert">{told}</p></Drawer> }
                        .into_any(),
                ),
            },
        }
    }
}

fn shown(data: SessionData) -> impl IntoView {
    let SessionData { player, session, tools, turns, next, run, troubled, .. } = data;
    let SessionData { files, todos, spent, left, tries, variable_names, cleared, .. } = data;
    let unfilled: Vec<String> = variable_names
        .into_iter()
        .filter(|name| session.variables.get(name).is_none_or(String::is_empty))
        .collect();
    let home = format!("/playground/{}/{}", player.id, session.id);
    let leaf = session.leaf.as_ref().map(|leaf| leaf.to_string());
    let going_on = run.as_ref().filter(|run| !run.status.is_over());
    let follows = going_on.map(|run| run.id.to_string());
    let reply = going_on.map(|run| run.reply_id.to_string());
    // One that ended well is told by its answer; one that did not says so, wherever it stands.
    let told: Vec<Run> =
        troubled.into_iter().chain(run.filter(|run| !run.status.is_over())).collect();
    let earlier = next.map(|before| format!("{home}?before={before}"));
    let empty = turns.is_empty();
    let name = session.persona_name.clone();
    let last = turns.last().map(|turn| turn.said.message.id.clone());
    let (persona, models) = (player.id.clone(), player.models.clone());
    let answered: Vec<MessageId> = turns
        .iter()
        .filter(|turn| turn.said.message.role == Role::Assistant)
        .filter_map(|turn| turn.said.message.parent_id.clone())
        .collect();
    let turns = turns.into_iter().map(|turn| {
        let id = &turn.said.message.id;
        // An answer that never came is told below the question.
        let unanswered = !answered.contains(id);
        let told_here = |run: &&Run| run.reply_id == *id || unanswered && run.message_id == *id;
        let run = told.iter().rev().find(told_here).cloned();
        let broken = run.as_ref().is_some_and(|run| run.status.is_over());
        let offers = broken || Some(id) == last.as_ref();
        let models = if offers { models.clone() } else { Vec::new() };
        let (persona, session, name) = (persona.clone(), session.id.clone(), name.clone());
        view! { <SessionTurnView persona session name turn run models/> }
    });
    let turns = turns.collect_view();
    let no_tools = tools.is_empty();
    let entrance = format!("/playground/{}", player.id);
    view! {
        <PageTitle text=session.title.clone()/>
        <Head data_home=home.clone() persona=player.id.clone() persona_name=player.name session=session.id.clone() title=session.title.clone()/>
        <p class="faint small session-facts">
            "v" {session.persona_revision} " · "
            {if session.model.is_empty() { "the persona’s own model".to_owned() } else { session.model.clone() }}
            " · " {told_spent(spent)}
            {session.system_prompt.is_some().then_some(" · a prompt of its own is tried here")}
            {tries.then_some(" · another prompt is tried on this branch")}
        </p>
        {left.map(|left| view! { <p class="faint small" id="left">{left} " · " <a href="/settings#budgets">"Limits"</a></p> })}
        <Unfilled names=unfilled home=home.clone()/>
        {no_tools.then(|| view! { <p class="told small">"This version has no tools. " <a href=entrance>"Choose its tools"</a></p> })}
        <div class="playground session">
            <div id="chat" class="chat" data-chat=session.id.to_string() data-leaf=leaf data-reply=reply data-follow=follows>
                {empty.then(|| view! { <p class="empty faint">"Say something to " {name} " below."</p> })}
                {cleared.map(|id| view! { <Cleared persona=player.id.clone() session=session.id.clone() id/> })}
                <ol class="turns" id="chat-turns" data-grows>
                    {earlier.map(|earlier| view! {
                        <li class="earlier" id=format!("before-{earlier}")><a class="button quiet small" href=earlier.clone() data-earlier>"Earlier messages"</a></li>
                    })}
                    {turns}
                </ol>
            </div>
            <aside class="stack session-side" aria-label="Files and todos">
                <Todos todos/>
                <FileTree persona session=session.id home files/>
            </aside>
        </div>
    }
}

/// What the prompt has places for and nothing stands in for, before it goes to the model like that.
#[component]
fn Unfilled(names: Vec<String>, home: String) -> impl IntoView {
    let named = names.iter().map(|name| visible_in_prose(format!("{{{{{name}}}}}")));
    let named: Vec<String> = named.collect();
    let told = match named.as_slice() {
        [one] => format!("{one} is not filled in and goes to the model as it stands. "),
        several => {
            format!("{} are not filled in and go to the model as they stand. ", several.join(", "))
        }
    };
    (!named.is_empty()).then(|| {
        view! { <p class="told small" id="unfilled">{told} <a href=format!("{home}?settings=1")>"Settings"</a></p> }
    })
}

/// The way back to what was said before a session was cleared.
#[component]
fn Cleared(persona: PersonaId, session: ConversationId, id: MessageId) -> impl IntoView {
    view! {
        <form method="post" action=GoToInSession::url() class="earlier" data-quiet>
            <input type="hidden" name="persona" value=persona.to_string()/>
            <input type="hidden" name="session" value=session.to_string()/>
            <input type="hidden" name="id" value=id.to_string()/>
            <button class="button quiet small"><Glyph icon=Icon::History/> "Before it was cleared"</button>
        </form>
    }
}

/// What a session took so far.
fn told_spent(SessionSpent { input, output, micros, unpriced }: SessionSpent) -> String {
    let dollars = told_dollars(micros);
    let price = match (micros, unpriced) {
        (0, 0) => "free so far".to_owned(),
        (0, _) => "at a price that is not known".to_owned(),
        (_, 0) => format!("{dollars} so far"),
        (_, _) => format!("{dollars} or more so far"),
    };
    format!("{} tokens in, {} out, {price}", grouped(input), grouped(output))
}

/// The title, and what can be done with the whole session.
#[component]
fn Head(
    data_home: String,
    persona: PersonaId,
    persona_name: String,
    session: ConversationId,
    title: String,
) -> impl IntoView {
    let (entrance, editor) = (format!("/playground/{persona}"), format!("/personas/{persona}"));
    let settings = format!("{data_home}?settings=1");
    let fields = move || {
        view! {
            <input type="hidden" name="persona" value=persona.to_string()/>
            <input type="hidden" name="id" value=session.to_string()/>
        }
    };
    view! {
        <nav class="crumbs small" aria-label="Where this is">
            <a href="/">"Personas"</a> <a href=editor>{persona_name}</a> <a href=entrance.clone()>"Playground"</a>
        </nav>
        <header class="page-head chat-head">
            <h1 class="one-line">{visible_in_prose(title)}</h1>
            <div class="row tight">
                <a class="button quiet" href=entrance><Glyph icon=Icon::Plus/> "New or other session"</a>
                <a class="button quiet" href=settings><Glyph icon=Icon::Settings/> "Settings"</a>
                <details class="popover" id="session-more">
                    <summary class="button quiet">"More…"</summary>
                    <div class="popup stack">
                        <form method="post" action=ClearSession::url() data-quiet data-told="Begun anew. What was said is kept on its branch.">
                            {fields()}
                            <button class="button quiet"><Glyph icon=Icon::Undo/> "Clear"</button>
                        </form>
                        <form method="post" action=DeleteSession::url() data-quiet data-told="The session is deleted. It can be brought back.">
                            {fields()}
                            <button class="button quiet"><Glyph icon=Icon::Bin/> "Delete"</button>
                        </form>
                    </div>
                </details>
            </div>
        </header>
    }
}

/// What is to be done, as the persona last wrote it.
#[component]
fn Todos(todos: Vec<Todo>) -> impl IntoView {
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let all = todos.len();
    (all > 0).then(|| {
        view! {
            <section class="card stack" id="session-todos" aria-labelledby="todos-title">
                <h2 id="todos-title">"Todos " <span class="faint small">{done} " of " {all}</span></h2>
                <ul class="todos">
                    {todos.into_iter().map(|todo| view! {
                        <li data-state=todo.status.label()><span class="badge">{todo.status.label()}</span> " " {todo.content}</li>
                    }).collect_view()}
                </ul>
            </section>
        }
    })
}

/// What can be set for a session.
#[component]
fn Settings(data: SessionData, home: String) -> impl IntoView {
    let SessionData { player, session, variable_names, tools, .. } = data;
    let no_variables = variable_names.is_empty();
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    view! {
        <Drawer title="Session" home>
            <form method="post" action=SaveSession::url() class="stack" data-quiet data-told="Saved.">
                <input type="hidden" name="persona" value=player.id.to_string()/>
                <input type="hidden" name="id" value=session.id.to_string()/>
                <div class="field">
                    <label for="session-title">"Title"</label>
                    <input id="session-title" name="title" value=session.title required maxlength=TITLE.max_chars/>
                </div>
                <VersionChoice versions=player.versions chosen=session.persona_revision/>
                <ModelChoice models=player.models own=player.model chosen=session.model/>
                {no_variables.then(|| view! { <p class="faint small">"The prompt has no variables. Write " <code>"{{name}}"</code> " in it to make one."</p> })}
                <VariableFields names=variable_names values=session.variables/>
                <p class="faint small">"Tools: " {tools}</p>
                <p><button class="button">"Save"</button></p>
            </form>
        </Drawer>
    }
}
