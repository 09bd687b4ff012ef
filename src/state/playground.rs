//! What the pages of the playground show.

use super::{Desk, file_view::file_view};
use crate::{
    agent::{Put, Unsaved},
    app::server_fns::{
        models::list_models,
        playground::{FileDiff, Look, Opened, Player, SessionData, SessionTurn, UnsavedFile},
    },
    domain::{
        change::{Entity, EntityKind},
        diff,
        error::ApiError,
        field::{has_windows_lines, unix_lines, windows_lines},
        id::{CallId, ConversationId, MessageId, PersonaId, RunId},
        message::{Part, PartBody},
        persona::Persona,
        playground::variables_in,
        tree::PathMessage,
        version::Revision,
        virtual_file::{FileChange, FilePath},
        visible::{show_in, visible, visible_in_prose},
    },
    markdown,
    store::{FilePlace, FileStep, StoreError},
};

/// How many versions can be chosen from.
const VERSIONS: u32 = 500;
/// Of how many the variables are offered before one is chosen.
const PROMPTS: u32 = 50;

/// A persona, and what it could speak with.
pub async fn player(desk: &Desk, persona: Persona) -> Result<Player, ApiError> {
    let versions = desk.read().await?.versions(&persona.id, None, VERSIONS).await?.items;
    Ok(Player {
        id: persona.id,
        name: visible_in_prose(persona.fields.name),
        revision: persona.revision,
        model: persona.fields.model,
        tools: persona.fields.tools,
        others: desk.agent.offered_tools(),
        versions,
        models: list_models().await?.models,
    })
}

/// What can be filled in the prompt of a persona, and what only in those of its last versions.
pub async fn variables_of(
    desk: &Desk,
    persona: &Persona,
) -> Result<(Vec<String>, Vec<String>), ApiError> {
    let present = variables_in(&persona.fields.system_prompt);
    let mut older: Vec<String> = Vec::new();
    for prompt in desk.read().await?.last_prompts(&persona.id, PROMPTS).await? {
        let names = variables_in(&prompt).into_iter();
        older.extend(names.filter(|name| !present.contains(name)));
    }
    older.sort();
    older.dedup();
    Ok((present, older))
}

/// A session, the branch of it that is in use, and what is looked at beside it.
pub async fn session_data(
    desk: &Desk,
    persona: &PersonaId,
    id: &ConversationId,
    before: Option<MessageId>,
    look: Look,
    left: Option<MessageId>,
) -> Result<SessionData, ApiError> {
    let (agent, scope) = (&desk.agent, &desk.scope);
    let mut session = agent.session(scope, persona, id).await?;
    show_in([&mut session.persona_name]);
    let mut path = agent.session_path(scope, &session, before.as_ref()).await?;
    show_in(path.todos.iter_mut().map(|todo| &mut todo.content));
    let mut link = desk.read().await?;
    let known = link.persona(persona).await?;
    let fields = link.persona_at(persona, session.persona_revision).await?;
    let is_result = |part: &Part| matches!(part.body, PartBody::ToolResult(_));
    let worked = path.items.iter().filter(|said| said.message.parts.iter().any(is_result));
    let runs: Vec<&RunId> = worked.filter_map(|said| said.message.run_id.as_ref()).collect();
    let times = link.times_of_tools(&runs).await?;
    drop(link);
    let cleared = match (path.cleared, left) {
        (Some(newest), Some(left)) => {
            Some(agent.standing_in(scope, id, &left).await?.unwrap_or(newest))
        }
        (cleared, _) => cleared,
    };
    let open = match (&look.file, &look.call) {
        (Some(file), _) => opened_file(desk, &path.place, file, &look).await?,
        (None, Some(call)) => opened_step(desk, &path.items, &path.place, call).await?,
        (None, None) => Opened::Nothing,
    };
    let files = agent.files(scope, &path.place).await?;
    let prompt = path.tried.as_ref().or(session.system_prompt.as_ref());
    let variable_names = variables_in(prompt.unwrap_or(&fields.system_prompt));
    let model = if session.model.is_empty() { &fields.model } else { &session.model };
    let left = agent.told_left(scope, &session.id, model).await?;
    Ok(SessionData {
        // In this session its version answers, and with that version's model.
        player: Player { model: fields.model, ..player(desk, known).await? },
        variable_names,
        tools: fields.tools,
        turns: path.items.into_iter().map(|said| rendered(said, &times)).collect(),
        next: path.next,
        run: path.run,
        troubled: path.troubled,
        files,
        todos: path.todos,
        spent: path.spent,
        cleared,
        left,
        tries: path.tried.is_some(),
        open,
        session,
    })
}

fn rendered(said: PathMessage, times: &[(RunId, CallId, u64)]) -> SessionTurn {
    let words = said.message.parts.iter().filter_map(|part| match &part.body {
        PartBody::Text(text) => Some((part.id.clone(), text)),
        PartBody::Reasoning(text) if !text.trim().is_empty() => Some((part.id.clone(), text)),
        PartBody::Reasoning(_) | PartBody::ToolCall(_) | PartBody::ToolResult(_) => None,
    });
    let html = words.map(|(id, text)| (id, markdown::to_html(text))).collect();
    let own = times.iter().filter(|(run, ..)| said.message.run_id.as_ref() == Some(run));
    let took = own.map(|(_, call, took)| (call.clone(), *took)).collect();
    SessionTurn { html, took, said }
}

async fn opened_file(
    desk: &Desk,
    place: &FilePlace,
    path: &str,
    look: &Look,
) -> Result<Opened, ApiError> {
    let path = match FilePath::parse(path) {
        Ok(path) => path,
        Err(error) => return Ok(Opened::Problem(error.to_string())),
    };
    let unsaved = desk.agent.unsaved_file(&desk.scope, &place.session, &path).await?;
    match (desk.agent.file(&desk.scope, place, &path).await, unsaved) {
        (Err(error), _) if !matches!(error, ApiError::NotFound { .. }) => Err(error),
        (file, Some(yours)) => Ok(Opened::Unsaved(UnsavedFile {
            path: path.to_string(),
            yours,
            revision: file.as_ref().map_or(0, |file| file.info.revision),
            theirs: file.ok().and_then(|file| file.text().map(str::to_owned)),
        })),
        (Ok(file), None) if !look.edited => {
            let view = file_view(&file, look.as_written);
            Ok(Opened::Viewed(file.info, view))
        }
        (Ok(file), None) => {
            let text = file.text().map(str::to_owned);
            Ok(Opened::File(file.info, text))
        }
        (Err(_), None) => Ok(Opened::Problem(format!("There is no file “{path}” on this branch."))),
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
    let found = match items.iter().find(made) {
        Some(said) => Some((said.message.id.clone(), said.message.parent_id.clone())),
        // It may stand further up than what is shown.
        None => desk.read().await?.message_that_called(&place.session, &place.leaf, call).await?,
    };
    let Some((writing, parent)) = found else {
        return Ok(Opened::Problem("That step is not on this branch.".into()));
    };
    let place = FilePlace { leaf: parent.unwrap_or_default(), writing, ..place.clone() };
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
        (Some(before), Some(after)) => {
            let plain = (unix_lines(&before), unix_lines(&after));
            // How lines end is shown where nothing else was changed.
            let (before, after) = if plain.0 == plain.1 { (before, after) } else { plain };
            Some(diff::segments(&visible(before), &visible(after)))
        }
        _ => None,
    };
    FileDiff { path: step.path, told: told.into(), segments }
}

/// Writes a file of a session over what was seen, and says what came of it. What cannot be written is kept
/// for whoever wrote it.
pub async fn save_file(
    desk: &Desk,
    persona: &PersonaId,
    session: &ConversationId,
    path: &str,
    content: String,
    seen: Revision,
) -> Result<String, ApiError> {
    let path = FilePath::parse(path)?;
    let place = place(desk, persona, session).await?;
    let there = desk.read().await?.file(&place, path.as_str()).await?;
    // An editor of a browser knows one kind of lines: a file keeps its own.
    let content = match there.as_ref().and_then(|file| file.text()) {
        Some(text) if has_windows_lines(text) => windows_lines(&content),
        _ => content,
    };
    let change = FileChange { path: path.clone(), content: Some(content.into_bytes()) };
    let put = desk.agent.put_file_over(&desk.scope, &place, change, seen, Unsaved::Kept).await?;
    Ok(match put {
        Put::Kept => "The file is saved.".into(),
        Put::Changed(_) if seen == 0 => format!("There is already a file “{path}”. It stays."),
        Put::Changed(_) => "The file was changed meanwhile. Yours is not saved yet.".into(),
    })
}

/// Leaves a text that could not be saved.
pub async fn leave_file(
    desk: &Desk,
    persona: &PersonaId,
    session: &ConversationId,
    path: &str,
) -> Result<String, ApiError> {
    let path = FilePath::parse(path)?;
    let session = desk.agent.session(&desk.scope, persona, session).await?;
    desk.agent.forget_unsaved_file(&desk.scope, &session.id, &path).await?;
    Ok("Your text is left.".into())
}

/// Deletes a file of a session.
pub async fn delete_file(
    desk: &Desk,
    persona: &PersonaId,
    session: &ConversationId,
    path: &str,
) -> Result<(), ApiError> {
    let path = FilePath::parse(path)?;
    let place = place(desk, persona, session).await?;
    desk.agent.file(&desk.scope, &place, &path).await?;
    let gone = FileChange { path, content: None };
    desk.agent.put_files(&desk.scope, &place, vec![gone]).await
}

/// From where the files of a session are seen, when it is this persona's.
async fn place(
    desk: &Desk,
    persona: &PersonaId,
    session: &ConversationId,
) -> Result<FilePlace, ApiError> {
    let session = desk.agent.session(&desk.scope, persona, session).await?;
    desk.agent.session_place(&desk.scope, &session.id).await
}

/// The session that a page shows, and whose it is, by the page's address.
pub fn session_at(address: &str) -> Option<(PersonaId, ConversationId)> {
    let path = address.split(['?', '#']).next()?;
    let (persona, session) = path.strip_prefix("/playground/")?.split_once('/')?;
    let (persona, session) = (PersonaId::new(persona), ConversationId::new(session));
    (!persona.as_str().is_empty() && !session.as_str().is_empty()).then_some((persona, session))
}

/// The persona that plays on a page of its playground, or that answered in the run that a page traces. The
/// companion listens there.
pub(super) async fn played_at(desk: &Desk, path: &str) -> Result<Option<Entity>, ApiError> {
    let mut steps = path.trim_matches('/').split('/');
    match (steps.next(), steps.next()) {
        (Some("playground"), Some(persona)) => Ok(Some(Entity::new(EntityKind::Persona, persona))),
        (Some("traces"), Some(run)) => match desk.read().await?.run(&RunId::new(run)).await {
            Ok(run) => Ok(Some(Entity::from(&run.persona_id))),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        },
        _ => Ok(None),
    }
}
