//! Which session is talked in: the one that is named, the current one, or a new one.

use super::{
    Args, Current,
    current::by_variable,
    follow::notice,
    settings_file::{self, SettingsFile},
};
use crate::{
    cli::{
        exit::{Exit, Failure},
        stage::Stage,
    },
    domain::{
        error::ApiError,
        id::ConversationId,
        persona::{MODEL, SYSTEM_PROMPT},
        terminal::{NewTerminal, TerminalChanges, TerminalSession},
    },
};

/// The session that somebody means.
pub async fn find(stage: &Stage, named: &str) -> Result<TerminalSession, Failure> {
    stage.find(named).await.map_err(|error| match error {
        ApiError::NotFound { .. } => Failure::new(
            Exit::NotFound,
            format!("There is no session “{named}”. See them with: greenroom chat --list-sessions"),
        ),
        error => error.into(),
    })
}

/// Where a session came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was there, or is one that options say something of.
    Kept,
    /// It was begun just now, and nothing was said of it.
    Bare,
}

/// The session that is meant, with what the options set.
pub async fn resolve(
    args: &Args,
    stage: &Stage,
    current: &Current,
    flags: TerminalChanges,
) -> Result<(TerminalSession, Origin), Failure> {
    let flags = TerminalChanges { description: args.description.clone(), ..flags };
    let known = match (&args.session, args.new_session) {
        (_, true) => None,
        (Some(named), false) => Some(find(stage, named).await?),
        (None, false) => current_session(stage, current).await?,
    };
    let Some(session) = known else {
        let origin = if flags.is_empty() { Origin::Bare } else { Origin::Kept };
        return Ok((begin(args, stage, flags).await?, origin));
    };
    // The session counts more than the file; still, whoever names one learns what is wrong with it.
    if args.config.is_some() {
        read_settings(args)?;
    }
    tracing::info!(session = %session.id, model = session.settings.model, "opened");
    if flags.is_empty() {
        return Ok((session, Origin::Kept));
    }
    let changed = stage.change(&session.id, flags).await?;
    tracing::info!(session = %changed.id, model = changed.settings.model, "set");
    Ok((changed, Origin::Kept))
}

/// The session that is current. One that a variable names must be there, unless a shell keeps it there;
/// one that this terminal was used for may have gone.
pub async fn current_session(
    stage: &Stage,
    current: &Current,
) -> Result<Option<TerminalSession>, Failure> {
    if current.is_kept()
        && let Some(session) = last_used(stage, current).await?
    {
        return Ok(Some(session));
    }
    if let Some((variable, id)) = by_variable() {
        let gone = match stage.session(&ConversationId::new(id.clone())).await {
            Ok(session) => return Ok(Some(session)),
            Err(ApiError::NotFound { .. }) if current.is_handed_over() => None,
            // It was moved there where its shell could not be told.
            Err(ApiError::InBin { .. }) if current.is_kept() => None,
            Err(ApiError::NotFound { .. }) => Some("does not exist"),
            Err(ApiError::InBin { .. }) => Some("is in the bin"),
            Err(error) => return Err(error.into()),
        };
        if let Some(gone) = gone {
            let told = format!(
                "{variable} names the session {id}, which {gone}. Unset it, or begin another one \
                 with --new-session."
            );
            return Err(Failure::new(Exit::NotFound, told));
        }
    }
    last_used(stage, current).await
}

/// The session that this terminal was last used for, if that is still in use.
async fn last_used(stage: &Stage, current: &Current) -> Result<Option<TerminalSession>, Failure> {
    let Some(id) = current.read() else { return Ok(None) };
    match stage.session(&id).await {
        Ok(session) => Ok(Some(session)),
        Err(ApiError::NotFound { .. } | ApiError::InBin { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Begins a session with what the configuration says, and what the options say otherwise.
async fn begin(
    args: &Args,
    stage: &Stage,
    flags: TerminalChanges,
) -> Result<TerminalSession, Failure> {
    let file = read_settings(args)?;
    let new = NewTerminal {
        description: flags.description.clone().unwrap_or_default(),
        settings: file.settings_beside(&flags),
        overrides: TerminalChanges { description: None, ..flags.clone() },
    };
    let session = stage.create(new).await.map_err(|error| refused(error, &file, &flags))?;
    tracing::info!(session = %session.id, model = session.settings.model, "begun");
    Ok(session)
}

/// Why no session begins. What an option did not say is the file's, and told with its place there.
fn refused(error: ApiError, file: &SettingsFile, flags: &TerminalChanges) -> Failure {
    let keys: &[&str] = match &error {
        ApiError::Invalid { field, .. } if field == MODEL.name && flags.model.is_none() => {
            &["model"]
        }
        ApiError::Invalid { field, .. }
            if field.starts_with(SYSTEM_PROMPT.name) && flags.system_prompt.is_none() =>
        {
            &["system_prompt", "system_prompt_file"]
        }
        _ => &[],
    };
    match keys.iter().find_map(|key| file.place_of(key)) {
        Some(place) => Failure::new(Exit::Configuration, format!("{place}: {error}")),
        None => error.into(),
    }
}

/// What the configuration says. What is odd about it is told.
fn read_settings(args: &Args) -> Result<SettingsFile, Failure> {
    let path = args.settings_path();
    let file = settings_file::read(&path)?;
    tracing::info!(path = %path.display(), model = file.settings.model, "configuration read");
    for warning in &file.warnings {
        notice(&format!("greenroom: {warning}"));
        tracing::warn!("{warning}");
    }
    Ok(file)
}
