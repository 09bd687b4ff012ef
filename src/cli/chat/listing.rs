//! Sessions as a table, and what was last said in one.

use serde_json::json;

use super::follow::{Form, notice, print_line};
use crate::{
    cli::tui::clean::{fit, padded, width},
    domain::{
        id::ConversationId,
        message::{BROKE_OFF, Message, Role},
        terminal::{TerminalSession, TerminalTalk},
    },
};

/// How many columns a description may take in the table.
const DESCRIPTION_COLUMNS: usize = 40;
/// How much of a message is shown when a session is taken up again.
const SHOWN_CHARS: usize = 2000;

/// Prints all sessions.
pub fn print_sessions(
    sessions: &[TerminalSession],
    current: Option<&ConversationId>,
    form: Form,
) -> std::io::Result<()> {
    if form == Form::Json {
        for session in sessions {
            let mut told = json!(session);
            told["current"] = json!(Some(&session.id) == current);
            print_line(&told.to_string())?;
        }
        return Ok(());
    }
    if sessions.is_empty() {
        notice("There are no sessions yet. Begin one with: greenroom chat");
        return Ok(());
    }
    let rows: Vec<[String; 5]> = sessions.iter().map(|session| row(session, current)).collect();
    for line in table(&rows) {
        print_line(&line)?;
    }
    Ok(())
}

fn row(session: &TerminalSession, current: Option<&ConversationId>) -> [String; 5] {
    let is_current = Some(&session.id) == current;
    [
        session.id.to_string(),
        session.created_at.readable(),
        fit(&session.description, DESCRIPTION_COLUMNS),
        session.turns.to_string(),
        if is_current { "*" } else { "" }.to_owned(),
    ]
}

/// The rows under their heads, each column as wide as its widest word.
fn table(rows: &[[String; 5]]) -> Vec<String> {
    let heads = ["ID", "CREATED", "DESCRIPTION", "TURNS", "CURRENT"].map(str::to_owned);
    let all = || std::iter::once(&heads).chain(rows);
    let widest = |column: usize| all().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(widest);
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| padded(cell, width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    all().map(line).collect()
}

/// Shows what was last said, so that one knows where one was.
pub fn show_talk(session: &TerminalSession, talk: &TerminalTalk) {
    notice(&format!("Session {}: {}", session.id, session.title()));
    if talk.earlier.is_some() {
        notice("… (earlier messages are not shown)");
    }
    // An answer that goes on is printed from its beginning.
    let going_on = talk.going_on().map(|run| &run.reply_id);
    for message in talk.messages.iter().filter(|message| Some(&message.id) != going_on) {
        notice(&shown(message));
    }
}

/// Shows what was said from elsewhere, from this message on.
pub fn show_since(talk: &TerminalTalk, from: usize) {
    let going_on = talk.going_on().map(|run| &run.reply_id);
    let new = talk.messages.iter().skip(from);
    let new: Vec<&Message> = new.filter(|message| Some(&message.id) != going_on).collect();
    if !new.is_empty() {
        notice("Meanwhile, from elsewhere:");
    }
    if from == 0 && talk.earlier.is_some() && !new.is_empty() {
        notice("… (earlier messages are not shown)");
    }
    new.into_iter().for_each(|message| notice(&shown(message)));
}

fn shown(message: &Message) -> String {
    let who = match message.role {
        Role::User => ">",
        Role::Assistant => "<",
    };
    let words = cut(message.text().trim(), SHOWN_CHARS);
    let ending = if message.broke_off() { format!("\n  ({BROKE_OFF})") } else { String::new() };
    format!("{who} {words}{ending}")
}

fn cut(text: &str, most: usize) -> String {
    let mut letters = text.chars();
    let mut kept: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_columns_as_wide_as_their_words() {
        let rows = [
            ["a1".into(), "today".into(), "Größe".into(), "3".into(), "*".into()],
            ["b2".into(), "yesterday".into(), String::new(), "12".into(), String::new()],
            ["c3".into(), "today".into(), "日本語".into(), "1".into(), String::new()],
        ];

        assert_eq!(
            table(&rows),
            [
                "ID  CREATED    DESCRIPTION  TURNS  CURRENT",
                "a1  today      Größe        3      *",
                "b2  yesterday               12",
                "c3  today      日本語       1",
            ]
        );
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
