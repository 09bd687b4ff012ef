//! Walks through a tree of messages: SQLite shall find each step by its key.

use std::{fs, path::Path};

use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::support::{On, store};

/// A piece of a source: a text in quotes, or anything else that is written without a space.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Word(String),
}

fn pieces(source: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    for (at, part) in source.split('"').enumerate() {
        if at % 2 == 1 {
            out.push(Piece::Text(part.to_owned()));
            continue;
        }
        let spaced = part.replace('(', " ( ").replace(')', " ) ").replace([',', ';'], " ");
        out.extend(spaced.split_whitespace().map(|word| Piece::Word(word.to_owned())));
    }
    out
}

/// What stands in the parentheses that come next.
fn inside(pieces: &[Piece]) -> &[Piece] {
    let mut depth = 0;
    let end = pieces.iter().position(|piece| {
        match piece {
            Piece::Word(word) if word == "(" => depth += 1,
            Piece::Word(word) if word == ")" => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    &pieces[1..end.unwrap()]
}

fn after<'a>(pieces: &'a [Piece], word: &str) -> Option<&'a [Piece]> {
    let at = pieces.iter().position(|piece| matches!(piece, Piece::Word(other) if other == word));
    at.map(|at| &pieces[at + 1..])
}

/// The text that some pieces come to; `siblings` is what a macro of that name is made of.
fn joined(pieces: &[Piece], siblings: &[Piece]) -> String {
    let mut out = String::new();
    let mut rest = pieces;
    while let [first, others @ ..] = rest {
        rest = others;
        match first {
            Piece::Text(text) => out.push_str(text),
            Piece::Word(word) if word == "of_siblings!" => {
                let given = inside(others);
                rest = &others[given.len() + 2..];
                for piece in siblings {
                    match piece {
                        Piece::Text(text) => out.push_str(text),
                        Piece::Word(word) => {
                            let at = usize::from(word == "$after");
                            out.push_str(&joined(&given[at..=at], &[]));
                        }
                    }
                }
            }
            Piece::Word(_) => {}
        }
    }
    out
}

/// The statements of the store that walk, as they are sent.
fn walks() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let read = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        pieces(&lines.collect::<Vec<_>>().join("\n"))
    };
    let [branch, conversation, tree] = ["branch.rs", "conversation.rs", "tree.rs"].map(read);
    let begins = |statement: &str| statement.starts_with("with recursive");
    let upwards = joined(inside(after(&branch, "concat!").unwrap()), &[]);
    assert!(begins(&upwards));
    let siblings = inside(after(&tree, "concat!").unwrap()).to_vec();
    let mut found = Vec::new();
    for file in [&branch, &conversation, &tree] {
        for (at, piece) in file.iter().enumerate() {
            match piece {
                Piece::Text(text) if begins(text) && *text != upwards => found.push(text.clone()),
                Piece::Word(word) if word == "upwards!" => {
                    let rest = joined(inside(&file[at + 1..]), &siblings);
                    found.push(format!("{upwards}{rest}"));
                }
                _ => {}
            }
        }
    }
    // What is only a part of another statement is looked at there.
    found.retain(|statement| statement.matches('(').count() == statement.matches(')').count());
    found
}

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let sql = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
    let rows: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(sql).fetch_all(connection).await.unwrap();
    rows.into_iter().map(|(_, _, _, step)| step).collect()
}

#[tokio::test]
async fn no_walk_goes_through_more_than_its_way() {
    let (_store, folder) = store(On::Sqlite).await;
    let file = folder.as_ref().unwrap().path().join("greenroom.db");
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let walks = walks();
    assert!(walks.len() >= 10, "only {} were found", walks.len());

    for statement in walks {
        for step in plan(&mut connection, &statement).await {
            let of_messages = step.starts_with("SCAN m") || step.starts_with("SEARCH m ");
            let by_key = step.contains("message_id=?") || step.contains("parent_id=?");
            assert!(!of_messages || by_key, "{step}\n{statement}");
        }
    }
}

#[tokio::test]
async fn what_a_person_marked_is_found_without_going_through_the_chat() {
    let (_store, folder) = store(On::Sqlite).await;
    let file = folder.as_ref().unwrap().path().join("greenroom.db");
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let source = fs::read_to_string(folder.join("branch.rs")).unwrap();
    let marked = pieces(&source).into_iter().find_map(|piece| match piece {
        Piece::Text(text) if text.contains("label <> ''") => Some(text),
        _ => None,
    });

    let steps = plan(&mut connection, &marked.unwrap()).await;

    let by_index = "SEARCH message USING INDEX message_marked (space_id=? AND conversation_id=?)";
    assert_eq!(steps, [by_index]);
}
