//! What the pages of the playground show.

use super::Desk;
use crate::{
    app::server_fns::{
        models::list_models,
        playground::{FileDiff, Opened, Player, SessionData, SessionTurn},
    },
    domain::{
        diff,
        error::ApiError,
        id::{CallId, ConversationId, MessageId, PersonaId},
        message::PartBody,
        persona::Persona,
        playground::variables_in,
        tree::PathMessage,
        virtual_file::{FileChange, FilePath},
    },
    markdown,
    store::{FilePlace, FileStep},
};

/// How many versions can be chosen from.
const VERSIONS: u32 = 50;

/// A persona, and what it could speak with.
pub async fn player(desk: &Desk, persona: Persona) -> Result<Player, ApiError> {
    let versions = desk.read().await?.versions(&persona.id, None, VERSIONS).await?.items;
    Ok(Player {
        id: persona.id,
        name: persona.fields.name,
        revision: persona.revision,
        model: persona.fields.model,
        tools: persona.fields.tools,
        versions,
        models: list_models().await?.models,
    })
}

/// A session, the branch of it that is in use, and what is looked at beside it.
pub async fn session_data(
    desk: &Desk,
    persona: &PersonaId,
    id: &ConversationId,
    before: Option<MessageId>,
    file: Option<String>,
    call: Option<CallId>,
) -> Result<SessionData, ApiError> {
    let (agent, scope) = (&desk.agent, &desk.scope);
    let session = agent.session(scope, persona, id).await?;
    let path = agent.session_path(scope, &session, before.as_ref()).await?;
    let mut link = desk.read().await?;
    let known = link.persona(persona).await?;
    let fields = link.persona_at(persona, session.persona_revision).await?;
    drop(link);
    let open = match (file, call) {
        (Some(file), _) => opened_file(desk, &path.place, &file).await?,
        (None, Some(call)) => opened_step(desk, &path.items, &path.place, &call).await?,
        (None, None) => Opened::Nothing,
    };
    let files = agent.files(scope, &path.place).await?;
    let prompt = session.system_prompt.as_ref().unwrap_or(&fields.system_prompt);
    let variable_names = variables_in(prompt);
    let (todos, spent) = (path.todos(), path.spent());
    Ok(SessionData {
        player: player(desk, known).await?,
        variable_names,
        tools: fields.tools,
        turns: path.items.into_iter().map(rendered).collect(),
        next: path.next,
        run: path.run,
        files,
        todos,
        spent,
        open,
        session,
    })
}

fn rendered(said: PathMessage) -> SessionTurn {
    let words = said.message.parts.iter().filter_map(|part| match &part.body {
        PartBody::Text(text) => Some((part.id.clone(), text)),
        PartBody::Reasoning(text) if !text.trim().is_empty() => Some((part.id.clone(), text)),
        PartBody::Reasoning(_) | PartBody::ToolCall(_) | PartBody::ToolResult(_) => None,
    });
    let html = words.map(|(id, text)| (id, markdown::to_html(text))).collect();
    SessionTurn { html, said }
}

async fn opened_file(desk: &Desk, place: &FilePlace, path: &str) -> Result<Opened, ApiError> {
    let path = match FilePath::parse(path) {
        Ok(path) => path,
        Err(error) => return Ok(Opened::Problem(error.to_string())),
    };
    match desk.agent.file(&desk.scope, place, &path).await {
        Ok(file) => {
            let text = file.text().map(str::to_owned);
            Ok(Opened::File(file.info, text))
        }
        Err(ApiError::NotFound { .. }) => {
            Ok(Opened::Problem(format!("There is no file “{path}” on this branch.")))
        }
        Err(error) => Err(error),
    }
}

async fn opened_step(
    desk: &Desk,
    items: &[PathMessage],
    place: &FilePlace,
    call: &CallId,
) -> Result<Opened, ApiError> {
    let made = |said: &&PathMessage| {
        let mut parts = said.message.parts.iter();
        parts.any(|part| matches!(&part.body, PartBody::ToolCall(known) if known.call == *call))
    };
    let Some(said) = items.iter().find(made) else {
        return Ok(Opened::Problem("That step is not on this branch.".into()));
    };
    let place = FilePlace {
        leaf: said.message.parent_id.clone().unwrap_or_default(),
        writing: said.message.id.clone(),
        ..place.clone()
    };
    let steps = desk.agent.file_steps(&desk.scope, &place, call).await?;
    Ok(Opened::Step(steps.into_iter().map(file_diff).collect()))
}

fn file_diff(step: FileStep) -> FileDiff {
    let told = match (&step.before, &step.after) {
        (None, _) => "made",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "deleted",
    };
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default()).ok();
    let segments = match (text(step.before), text(step.after)) {
        (Some(before), Some(after)) => diff::segments(&before, &after),
        _ => Vec::new(),
    };
    FileDiff { path: step.path, told: told.into(), segments }
}

/// Writes a file of a session as it is now, or deletes it.
pub async fn put_file(
    desk: &Desk,
    persona: &PersonaId,
    session: &ConversationId,
    path: &str,
    content: Option<String>,
) -> Result<(), ApiError> {
    let path = FilePath::parse(path)?;
    let session = desk.agent.session(&desk.scope, persona, session).await?;
    let place = desk.agent.session_place(&desk.scope, &session.id).await?;
    if content.is_none() {
        desk.agent.file(&desk.scope, &place, &path).await?;
    }
    let change = FileChange { path, content: content.map(String::into_bytes) };
    desk.agent.put_files(&desk.scope, &place, vec![change]).await
}

/// The session that a page shows, and whose it is, by the page's address.
pub fn session_at(address: &str) -> Option<(PersonaId, ConversationId)> {
    let path = address.split(['?', '#']).next()?;
    let (persona, session) = path.strip_prefix("/playground/")?.split_once('/')?;
    let (persona, session) = (PersonaId::new(persona), ConversationId::new(session));
    (!persona.as_str().is_empty() && !session.as_str().is_empty()).then_some((persona, session))
}
