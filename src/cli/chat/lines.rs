//! Talking line by line: what is typed is said, and the answer is printed under it.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::mpsc;

use super::{
    LAST_MESSAGES, Talk, drafts,
    follow::{Ending, Form, follow, notice},
    listing,
};
use crate::{
    cli::exit::{Exit, Failure},
    domain::terminal::TerminalChanges,
};

const HELP: &str = "\
A line is a message; one that ends with \\ goes on in the next line.
  /model MODEL        speak with another model from now on
  /drafts             what waits for your decision
  /accept N [HUNKS]   accept a draft, or some of its changes: /accept 1 0,2
                      with several fields each is named: /accept 1 name:0 system-prompt:1,2
  /reject N [REASON]  reject a draft
  /undo               take your last decision on a draft back
  /help               this
  /exit               leave (so does Ctrl-D)
Ctrl-C stops an answer and keeps what was said; a second one leaves.";

/// What somebody typed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Typed {
    Words(String),
    Model(String),
    Drafts,
    Accept(String),
    Reject(String),
    Undo,
    Help,
    Exit,
    Nothing,
    Unknown(String),
}

impl Typed {
    fn read(text: &str) -> Self {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim().to_owned();
        match word {
            "" => Self::Nothing,
            "/exit" | "/quit" => Self::Exit,
            "/help" | "/?" => Self::Help,
            "/model" => Self::Model(rest),
            "/drafts" => Self::Drafts,
            "/accept" => Self::Accept(rest),
            "/reject" => Self::Reject(rest),
            "/undo" => Self::Undo,
            // A path is no command.
            word if word.starts_with('/') && !word[1..].contains('/') => Self::Unknown(word.into()),
            _ => Self::Words(text.into()),
        }
    }
}

/// Talks until there is nothing more to read, or somebody leaves.
pub async fn converse(talk: &mut Talk) -> Result<Exit, Failure> {
    let asked = io::stdin().is_terminal() && talk.form == Form::Words;
    let known = talk.stage.talk(&talk.session.id, LAST_MESSAGES);
    let Some(known) = talk.interrupts.before(known).await else { return Ok(Exit::Interrupted) };
    let known = known?;
    if talk.form == Form::Words && !known.messages.is_empty() {
        listing::show_talk(&talk.session, &known);
    } else if asked {
        let session = &talk.session;
        notice(&format!(
            "Session {} with {}. /help says more.",
            session.id, session.settings.model
        ));
    }
    talk.known = known.messages.iter().map(|message| message.id.clone()).collect();
    if let Some(run) = known.going_on() {
        notice("It is being answered.");
        let run = run.id.clone();
        let ending = follow(&talk.stage, &run, 0, talk.form, &mut talk.interrupts).await?;
        if ending == Ending::Left {
            return Ok(Exit::Interrupted);
        }
    }
    let mut lines = read_lines();
    loop {
        if asked {
            prompt("> ");
        }
        let text = match next(&mut lines, talk, asked).await? {
            Next::Text(text) => text,
            Next::End(exit) => {
                if asked {
                    // What follows has a line of its own.
                    notice("");
                }
                return Ok(exit);
            }
        };
        match act(talk, &text, asked).await {
            Ok(None) => {}
            Ok(Some(exit)) => return Ok(exit),
            // A person can try again; a script should know.
            Err(failure) if asked => notice(&format!("greenroom: {failure}")),
            Err(failure) => return Err(failure),
        }
    }
}

/// What comes next.
enum Next {
    /// Something that was typed.
    Text(String),
    /// Somebody leaves, or there is nothing more to read.
    End(Exit),
}

/// The next thing that is typed.
async fn next(lines: &mut Lines, talk: &mut Talk, asked: bool) -> Result<Next, Failure> {
    let mut text = String::new();
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = talk.interrupts.next() => return Ok(Next::End(Exit::Interrupted)),
        };
        let Some(line) = line else {
            let rest = Some(text).filter(|text| !text.trim().is_empty());
            return Ok(rest.map_or(Next::End(Exit::Done), Next::Text));
        };
        let line = line
            .map_err(|error| Failure::usage(format!("Standard input cannot be read: {error}.")))?;
        match line.strip_suffix('\\') {
            Some(part) => {
                text.push_str(part);
                text.push('\n');
                if asked {
                    prompt("… ");
                }
            }
            None => {
                text.push_str(&line);
                return Ok(Next::Text(text));
            }
        }
    }
}

/// Does what was typed; says how to end when it was that.
async fn act(talk: &mut Talk, text: &str, asked: bool) -> Result<Option<Exit>, Failure> {
    match Typed::read(text) {
        Typed::Nothing => {}
        Typed::Exit => return Ok(Some(Exit::Done)),
        Typed::Help => notice(HELP),
        Typed::Unknown(word) => notice(&format!("There is no {word}. /help says what there is.")),
        Typed::Model(model) => {
            let changes = TerminalChanges { model: Some(model), ..TerminalChanges::default() };
            let changed = talk.stage.change(&talk.session.id, changes);
            talk.session = talk.interrupts.answer(changed).await?;
            let (id, model) = (&talk.session.id, &talk.session.settings.model);
            tracing::info!(session = %id, model, "set");
            notice(&format!("{} speaks now.", talk.session.settings.model));
        }
        Typed::Drafts => drafts::show(talk).await?,
        Typed::Accept(rest) => drafts::accept(talk, &rest).await?,
        Typed::Reject(rest) => drafts::reject(talk, &rest).await?,
        Typed::Undo => drafts::take_back(talk).await?,
        Typed::Words(words) => {
            // Whoever types sees what they answer to, and waits for whoever was faster. A script is told.
            if asked && let Some(ending) = talk.catch_up().await? {
                match ending {
                    Ending::Left => return Ok(Some(Exit::Interrupted)),
                    Ending::Unheard => return Ok(Some(Exit::Failed)),
                    Ending::Stopped => {
                        notice("What you wrote was not sent.");
                        return Ok(None);
                    }
                    Ending::Itself(_) => {}
                }
            }
            let ending = talk.say(&words).await?;
            match ending {
                Ending::Left => return Ok(Some(Exit::Interrupted)),
                Ending::Unheard => return Ok(Some(Exit::Failed)),
                // Whoever types can go on after a failure; nobody else would see it.
                Ending::Itself(exit) if exit != Exit::Done && !asked => return Ok(Some(exit)),
                Ending::Stopped if !asked => return Ok(Some(Exit::Interrupted)),
                Ending::Itself(_) | Ending::Stopped => {}
            }
            if asked {
                drafts::remind(talk).await?;
            }
        }
    }
    Ok(None)
}

#[expect(clippy::print_stderr, reason = "standard output has nothing but answers")]
fn prompt(text: &str) {
    eprint!("{text}");
}

/// What is typed, line by line, up to the first thing that cannot be read.
type Lines = mpsc::UnboundedReceiver<io::Result<String>>;

/// The lines of standard input. They are read beside everything else, because reading cannot be left.
fn read_lines() -> Lines {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let is_last = line.is_err();
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_words() {
        assert_eq!(Typed::read("  hello there "), Typed::Words("hello there".into()));
        assert_eq!(Typed::read("/etc/passwd says?"), Typed::Words("/etc/passwd says?".into()));
        assert_eq!(Typed::read("/model  demo"), Typed::Model("demo".into()));
        assert_eq!(Typed::read("/accept 1 0,2"), Typed::Accept("1 0,2".into()));
        assert_eq!(Typed::read("/nonsense"), Typed::Unknown("/nonsense".into()));
        assert_eq!(Typed::read("   "), Typed::Nothing);
        assert_eq!(Typed::read("/quit"), Typed::Exit);
    }
}
