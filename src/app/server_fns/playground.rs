//! The playground, as its pages show it.

mod opened;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

pub use self::opened::{FileDiff, FileView, Look, Opened, SavedFile, UnsavedFile};
use super::models::NamedModel;
use crate::domain::{
    error::ApiError,
    id::{CallId, ConversationId, MessageId, PartId, PersonaId, RunId},
    list::Page,
    playground::{PlaygroundSession, SessionSpent, Todo, Variables},
    run::Run,
    tree::PathMessage,
    version::{Revision, VersionSummary},
    virtual_file::FileInfo,
};

/// The persona of a playground, and what it could speak with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Player {
    /// The persona.
    pub id: PersonaId,
    /// What it is called.
    pub name: String,
    /// The version it is at.
    pub revision: Revision,
    /// Its own model; empty for the default one.
    pub model: String,
    /// The tools that it has.
    pub tools: Vec<String>,
    /// Tools of the operator's that it can have, with what they do.
    pub others: Vec<(String, String)>,
    /// Its last versions, the newest first.
    pub versions: Vec<VersionSummary>,
    /// The models there are.
    pub models: Vec<NamedModel>,
}

/// All that the entrance of a playground shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntranceData {
    /// Who plays.
    pub player: Player,
    /// The sessions.
    pub sessions: Page<PlaygroundSession>,
    /// Whether they are those that were deleted.
    pub deleted: bool,
    /// Whether any were.
    pub any_deleted: bool,
    /// What can be filled in its prompt.
    pub variable_names: Vec<String>,
    /// What can be filled only in the prompts of versions before it.
    pub older_names: Vec<String>,
}

/// All that the page of a session shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionData {
    /// Who plays.
    pub player: Player,
    /// The session.
    pub session: PlaygroundSession,
    /// What can be filled in the prompt that it is told.
    pub variable_names: Vec<String>,
    /// The tools of the version that speaks.
    pub tools: Vec<String>,
    /// The messages, with their words rendered.
    pub turns: Vec<SessionTurn>,
    /// The message before them, when there are more.
    pub next: Option<MessageId>,
    /// The run that was last begun.
    pub run: Option<Run>,
    /// The runs that these messages asked for and that did not simply come to their end.
    pub troubled: Vec<Run>,
    /// The files.
    pub files: Vec<FileInfo>,
    /// What is to be done.
    pub todos: Vec<Todo>,
    /// What the session took so far, on all its branches.
    pub spent: SessionSpent,
    /// What is left of the limits, for people; nothing where none is set.
    pub left: Option<String>,
    /// Where one comes back to what was said before the session was cleared, while nothing is said anew.
    pub cleared: Option<MessageId>,
    /// Whether another prompt than the session's is tried on this branch.
    pub tries: bool,
    /// What is looked at.
    pub open: Opened,
}

/// A message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTurn {
    /// The message.
    pub said: PathMessage,
    /// Its words and thoughts, as HTML.
    pub html: Vec<(PartId, String)>,
    /// How long its tools ran, where that was measured.
    pub took: Vec<(CallId, u64)>,
}

/// The entrance of a persona's playground.
#[server(prefix = "/fn", endpoint = "open_playground")]
pub async fn open_playground(
    /// Whose.
    persona: PersonaId,
    /// Whether the sessions that were deleted are shown.
    #[server(default)]
    deleted: bool,
    /// Where the list of sessions goes on.
    #[server(default)]
    after: Option<String>,
) -> Result<EntranceData, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, visible::show_in},
        state::{desk, player, variables_of},
        store::Kept,
    };

    let desk = desk()?;
    let known = desk.read().await?.persona(&persona).await?;
    let kept = if deleted { Kept::Deleted } else { Kept::InUse };
    let mut sessions =
        desk.read().await?.sessions(&persona, kept, after.as_deref(), PAGE_SIZE).await?;
    show_in(sessions.items.iter_mut().map(|session| &mut session.title));
    let gone = desk.read().await?.sessions(&persona, Kept::Deleted, None, 1).await?;
    let any_deleted = !gone.items.is_empty();
    let (variable_names, older_names) = variables_of(&desk, &known).await?;
    let player = player(&desk, known).await?;
    Ok(EntranceData { player, sessions, deleted, any_deleted, variable_names, older_names })
}

/// A session, and the branch of it that is in use.
#[server(prefix = "/fn", endpoint = "open_session")]
pub async fn open_session(
    /// Whose.
    persona: PersonaId,
    /// Which one.
    id: ConversationId,
    /// Only what was said before this message.
    #[server(default)]
    before: Option<MessageId>,
    /// What is looked at beside it.
    #[server(default)]
    look: Look,
    /// Where one was before the session was cleared.
    #[server(default)]
    left: Option<MessageId>,
) -> Result<SessionData, ApiError> {
    use crate::state::{desk, session_data};

    session_data(&desk()?, &persona, &id, before, look, left).await
}

/// Begins a session and says the first words, if there are some, and goes there.
#[server(prefix = "/fn", endpoint = "begin_session")]
pub async fn begin_session(
    /// With whom.
    persona: PersonaId,
    /// As it was at this version.
    #[server(default)]
    revision: Option<Revision>,
    /// The model; the persona's own without one.
    #[server(default)]
    model: String,
    /// What stands in for places in the prompt.
    #[server(default)]
    variables: Variables,
    /// The first words.
    #[server(default)]
    words: String,
) -> Result<ConversationId, ApiError> {
    use crate::{
        agent::{Follows, NewSession},
        domain::{field::unix_lines, playground::variables_of_form},
        state::desk,
    };

    let desk = desk()?;
    let (agent, scope) = (&desk.agent, &desk.scope);
    let persona_id = persona.clone();
    let mut variables = variables_of_form(variables);
    // What is left empty is nothing.
    variables.retain(|_, value| !value.is_empty());
    let new = NewSession { persona, revision, model, variables, ..NewSession::default() };
    let id = if words.trim().is_empty() {
        agent.create_session(scope, new).await?.id
    } else {
        // What cannot be answered begins nothing.
        let draft = agent.new_session(scope, new).await?;
        let words = unix_lines(&words);
        agent.say_in_session(scope, draft, &words, Follows::Leaf, None).await?.conversation_id
    };
    leptos_axum::redirect(&format!("/playground/{persona_id}/{id}"));
    Ok(id)
}

/// Sets what a session is called, and who speaks in it with what.
#[server(prefix = "/fn", endpoint = "save_session")]
pub async fn save_session(
    /// Whose.
    persona: PersonaId,
    /// Which one.
    id: ConversationId,
    /// What it is called.
    title: String,
    /// The version that speaks.
    revision: Revision,
    /// The model; the persona's own without one.
    #[server(default)]
    model: String,
    /// What stands in for places in the prompt.
    #[server(default)]
    variables: Variables,
) -> Result<(), ApiError> {
    use crate::{
        domain::playground::{SessionChanges, variables_of_form},
        state::desk,
    };

    let desk = desk()?;
    let changes = SessionChanges {
        title: Some(title),
        persona_revision: Some(revision),
        model: Some(model),
        variables: None,
        // The form has those of one version; what is set for those of others stays.
        some_variables: variables_of_form(variables),
    };
    desk.agent.change_session(&desk.scope, &persona, &id, changes).await.map(drop)
}

/// Begins a session anew; what was said stays on its branch.
#[server(prefix = "/fn", endpoint = "clear_session")]
pub async fn clear_session(
    /// Whose.
    persona: PersonaId,
    /// Which one.
    id: ConversationId,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let left = desk.agent.session(&desk.scope, &persona, &id).await?.leaf;
    desk.agent.clear_session(&desk.scope, &persona, &id).await?;
    // The page can lead back to where one was, also when another branch is newer.
    if let Some(left) = left {
        leptos_axum::redirect(&format!("/playground/{persona}/{id}?left={left}"));
    }
    Ok(())
}

/// Deletes a session, or brings it back.
#[server(prefix = "/fn", endpoint = "delete_session")]
pub async fn delete_session(
    /// Whose.
    persona: PersonaId,
    /// Which one.
    id: ConversationId,
    /// Whether it is brought back.
    #[server(default)]
    back: bool,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    if back {
        return desk.agent.restore_session(&desk.scope, &persona, &id).await.map(drop);
    }
    desk.agent.delete_session(&desk.scope, &persona, &id).await?;
    leptos_axum::redirect(&format!("/playground/{persona}"));
    Ok(())
}

/// Goes to the newest end below a message.
#[server(prefix = "/fn", endpoint = "go_to_in_session")]
pub async fn go_to_in_session(
    /// Whose.
    persona: PersonaId,
    /// In which session.
    session: ConversationId,
    /// The message.
    id: MessageId,
    /// Whether the session is opened there, from another page.
    #[server(default)]
    open: bool,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.go_to_in_session(&desk.scope, &persona, &session, &id).await?;
    if open {
        leptos_axum::redirect(&format!("/playground/{persona}/{session}"));
    }
    Ok(())
}

/// Has a message answered once more, by another model if one is named.
#[server(prefix = "/fn", endpoint = "answer_again")]
pub async fn answer_again(
    /// Whose.
    persona: PersonaId,
    /// In which session.
    session: ConversationId,
    /// The message that asks, or the answer to it.
    id: MessageId,
    /// The model; that of the session without one.
    #[server(default)]
    model: String,
) -> Result<RunId, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let session = desk.agent.session(&desk.scope, &persona, &session).await?;
    let model = Some(model.as_str()).filter(|model| !model.is_empty());
    Ok(desk.agent.answer_again(&desk.scope, session, &id, model).await?.id)
}

/// Says a message in other words, beside the first ones.
#[server(prefix = "/fn", endpoint = "say_otherwise")]
pub async fn say_otherwise(
    /// Whose.
    persona: PersonaId,
    /// In which session.
    session: ConversationId,
    /// The message.
    id: MessageId,
    /// The other words.
    content: String,
) -> Result<RunId, ApiError> {
    use crate::{agent::Follows, domain::field::unix_lines, state::desk};

    let desk = desk()?;
    let session = desk.agent.session(&desk.scope, &persona, &session).await?;
    let known = desk.read().await?.marked_message(&session.id, &id).await?.message;
    let follows = known.parent_id.map_or(Follows::Nothing, Follows::After);
    let words = unix_lines(&content);
    Ok(desk.agent.say_in_session(&desk.scope, session, &words, follows, None).await?.id)
}

/// Writes a file of a session over the revision that was seen; otherwise both texts are shown.
#[server(prefix = "/fn", endpoint = "save_file")]
pub async fn save_file(
    /// Whose.
    persona: PersonaId,
    /// In which session.
    session: ConversationId,
    /// Where it stands.
    path: String,
    /// What it says.
    #[server(default)]
    content: String,
    /// The revision that was seen; 0 for a new file.
    #[server(default)]
    revision: Revision,
    /// Whether the text is left, and what stands there stays.
    #[server(default)]
    leave: bool,
) -> Result<SavedFile, ApiError> {
    use crate::{
        domain::{address::escaped, field::unix_lines},
        state::{desk, leave_file, save_file},
    };

    let desk = desk()?;
    let told = if leave {
        leave_file(&desk, &persona, &session, &path).await?
    } else {
        save_file(&desk, &persona, &session, &path, unix_lines(&content), revision).await?
    };
    let file = escaped(&path);
    leptos_axum::redirect(&format!("/playground/{persona}/{session}?file={file}"));
    Ok(SavedFile { told })
}

/// Deletes a file of a session.
#[server(prefix = "/fn", endpoint = "delete_file")]
pub async fn delete_file(
    /// Whose.
    persona: PersonaId,
    /// In which session.
    session: ConversationId,
    /// Where it stands.
    path: String,
) -> Result<(), ApiError> {
    use crate::state::{delete_file, desk};

    delete_file(&desk()?, &persona, &session, &path).await?;
    leptos_axum::redirect(&format!("/playground/{persona}/{session}"));
    Ok(())
}

/// Gives a persona these tools, as its next version.
#[server(prefix = "/fn", endpoint = "set_tools")]
pub async fn set_tools(
    /// Whom.
    persona: PersonaId,
    /// The tools; others than those that are offered stay.
    #[server(default)]
    tools: Vec<String>,
) -> Result<Revision, ApiError> {
    use crate::{
        domain::{
            change::{Change, Op},
            playground::TOOLS,
        },
        state::desk,
    };

    let desk = desk()?;
    let known = desk.read().await?.persona(&persona).await?;
    let others = desk.agent.offered_tools();
    let offered = |name: &String| {
        TOOLS.iter().any(|(tool, _)| tool == name) || others.iter().any(|(tool, _)| tool == name)
    };
    let mut all: Vec<String> = tools.into_iter().filter(offered).collect();
    all.extend(known.fields.tools.into_iter().filter(|name| !offered(name)));
    let change = Change::new(&persona, Op::Update)
        .set("tools", serde_json::json!(all))
        .based_on(known.revision);
    Ok(desk.gate.submit(change).await?.revision)
}

/// Goes on from the middle of a run with something changed, and goes there.
#[server(prefix = "/fn", endpoint = "run_on")]
pub async fn run_on(
    /// The run.
    run: RunId,
    /// Before which time that the model was asked.
    step: u32,
    /// What the model is told instead; nothing for what it was told.
    #[server(default)]
    system_prompt: Option<String>,
    /// The call whose result is another.
    #[server(default)]
    call: Option<CallId>,
    /// That result.
    #[server(default)]
    output: String,
    /// What was asked instead; nothing for what was asked.
    #[server(default)]
    message: Option<String>,
    /// The model that is asked instead.
    #[server(default)]
    model: String,
) -> Result<RunId, ApiError> {
    use crate::{agent::Rerun, domain::field::unix_lines, state::desk};

    let desk = desk()?;
    let rerun = Rerun {
        step,
        system_prompt: system_prompt.map(|prompt| unix_lines(&prompt)),
        message: message.map(|message| unix_lines(&message)),
        results: call.map(|call| (call, unix_lines(&output))).into_iter().collect(),
        model: Some(model).filter(|model| !model.is_empty()),
    };
    let (session, run) = desk.agent.run_on(&desk.scope, &run, rerun).await?;
    leptos_axum::redirect(&match session {
        Some(session) => format!("/playground/{}/{}", session.persona_id, session.id),
        None => format!("/terminal/{}", run.conversation_id),
    });
    Ok(run.id)
}
