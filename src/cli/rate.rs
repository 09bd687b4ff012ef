//! `greenroom rate`: how good the answers of a session are, and why.

use serde::Serialize;

use super::{
    chat::{
        Shown, find,
        follow::{notice, print_line},
        start_log, unheard,
    },
    exit::{Exit, Failure},
    place::Place,
    stage::Stage,
};
use crate::domain::{
    error::ApiError,
    id::MessageId,
    message::{Message, Role},
    rating::{NewRating, Rating},
    terminal::TerminalSession,
};

/// How many messages are read at once.
const AT_ONCE: u32 = 200;

/// Rate an answer of a session, or read what its answers were rated with.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its identifier, the beginning of it, or what it is called.
    pub session: String,

    /// Which answer, counted from 1 [default: the last one].
    pub turn: Option<u32>,

    /// From 1, the worst, to 5, the best. Without it and a note the ratings are listed.
    #[arg(long, value_name = "1..5", value_parser = clap::value_parser!(u8).range(1..=5), conflicts_with = "remove")]
    pub rating: Option<u8>,

    /// Why. Without it a note that is there stays; an empty one takes it away. Alone it leaves the number.
    #[arg(long, value_name = "TEXT", conflicts_with = "remove")]
    pub note: Option<String>,

    /// Take the rating back.
    #[arg(long)]
    pub remove: bool,

    /// Print as JSON.
    #[arg(long)]
    pub json: bool,

    /// Where the session is.
    #[command(flatten)]
    pub place: Place,
}

/// An answer that can be rated.
struct Answered<'talk> {
    turn: u32,
    message: &'talk MessageId,
    words: String,
}

/// A rating, by its turn.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'rating> {
    turn: Option<u32>,
    #[serde(flatten)]
    rating: &'rating Rating,
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    start_log(&args.place, Shown::InFile);
    let stage = args.place.stage().await?;
    let session = find(&stage, &args.session).await?;
    let messages = messages(&stage, &session).await?;
    let answers = answers(&messages);
    if args.remove {
        let answer = meant(&answers, args.turn)?;
        stage.unrate(answer.message).await?;
        tracing::info!(session = %session.id, turn = answer.turn, "not rated any more");
        notice(&format!("Turn {} is not rated any more.", answer.turn));
    } else if args.rating.is_some() || args.note.is_some() {
        let answer = meant(&answers, args.turn)?;
        let given = given(&stage, answer, args.rating, args.note).await?;
        let rating = stage.rate(answer.message, given).await?;
        tracing::info!(session = %session.id, turn = answer.turn, rating = rating.rating, "rated");
        match args.json {
            true => print_line(&as_json(&[told(&rating, &answers)])).map_err(unheard)?,
            false => notice(&format!("Turn {}: {} of 5.", answer.turn, rating.rating)),
        }
    } else {
        let ratings = stage.ratings(&session.id).await?;
        let all: Vec<Told<'_>> = ratings.iter().map(|rating| told(rating, &answers)).collect();
        let wanted = |one: &Told<'_>| args.turn.is_none() || one.turn == args.turn;
        let all: Vec<Told<'_>> = all.into_iter().filter(wanted).collect();
        match (args.json, all.is_empty()) {
            (true, _) => print_line(&as_json(&all)).map_err(unheard)?,
            (false, true) => notice("Nothing of this session is rated."),
            (false, false) => print_line(&table(&all, &answers)).map_err(unheard)?,
        }
    }
    Ok(Exit::Done)
}

/// All that was said in a session, the oldest first.
async fn messages(stage: &Stage, session: &TerminalSession) -> Result<Vec<Message>, ApiError> {
    let mut talk = stage.talk(&session.id, AT_ONCE).await?;
    let mut all = talk.messages;
    while let Some(until) = talk.earlier {
        talk = stage.earlier(&session.id, &until, AT_ONCE).await?;
        all.splice(..0, std::mem::take(&mut talk.messages));
    }
    Ok(all)
}

/// The answers, with the numbers of their turns.
fn answers(messages: &[Message]) -> Vec<Answered<'_>> {
    let mut turn = 0;
    let mut answers = Vec::new();
    for message in messages {
        match message.role {
            Role::User => turn += 1,
            Role::Assistant => {
                let words = message.text();
                answers.push(Answered { turn, message: &message.id, words });
            }
        }
    }
    answers
}

fn meant<'all, 'talk>(
    answers: &'all [Answered<'talk>],
    turn: Option<u32>,
) -> Result<&'all Answered<'talk>, Failure> {
    let found = match turn {
        Some(turn) => answers.iter().rev().find(|answer| answer.turn == turn),
        None => answers.last(),
    };
    found.ok_or_else(|| {
        let told = match (turn, answers.first(), answers.last()) {
            (Some(turn), Some(first), Some(last)) => format!(
                "Turn {turn} has no answer that can be rated: there are those of turns {} to {}.",
                first.turn, last.turn
            ),
            _ => "Nothing was answered in this session yet.".to_owned(),
        };
        Failure::new(Exit::NotFound, told)
    })
}

/// What an answer is given: another number leaves the note, and another note leaves the number.
async fn given(
    stage: &Stage,
    answer: &Answered<'_>,
    rating: Option<u8>,
    note: Option<String>,
) -> Result<NewRating, Failure> {
    let known = match stage.rating(answer.message).await {
        Ok(known) => Some(known),
        Err(ApiError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(rating) = rating.or(known.as_ref().map(|known| known.rating)) else {
        let turn = answer.turn;
        let told = format!("Turn {turn} is not rated yet, so that a note needs --rating, too.");
        return Err(Failure::usage(told));
    };
    let note = note.or(known.map(|known| known.note)).unwrap_or_default();
    Ok(NewRating { rating, note })
}

fn told<'rating>(rating: &'rating Rating, answers: &[Answered<'_>]) -> Told<'rating> {
    let answer = answers.iter().find(|answer| *answer.message == rating.message_id);
    Told { turn: answer.map(|answer| answer.turn), rating }
}

fn as_json(all: &[Told<'_>]) -> String {
    serde_json::json!({ "items": all, "next": null }).to_string()
}

fn table(all: &[Told<'_>], answers: &[Answered<'_>]) -> String {
    let mut lines = vec!["turn  rating  answer".to_owned()];
    for Told { turn, rating } in all {
        let words = answers.iter().find(|answer| Some(answer.turn) == *turn);
        let words = words.map(|answer| answer.words.as_str()).unwrap_or_default();
        let line = words.lines().next().unwrap_or_default();
        let plain: String = line.chars().filter(|letter| !letter.is_control()).take(60).collect();
        let turn = turn.map_or("?".to_owned(), |turn| turn.to_string());
        lines.push(format!("{turn:<4}  {}/5     {plain}", rating.rating).trim_end().to_owned());
        if !rating.note.is_empty() {
            let note: String = rating.note.chars().filter(|letter| !letter.is_control()).collect();
            lines.push(format!("      {note}"));
        }
    }
    lines.join("\n")
}
