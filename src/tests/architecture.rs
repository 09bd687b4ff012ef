//! The rules of the house, read off the sources.

use std::{collections::BTreeSet, fs, path::Path};

/// The only files that may ask which build they are in.
const FENCES: [&str; 2] = ["src/lib.rs", "src/app/platform.rs"];

/// Which rooms a room may use.
const MAY_USE: [(&str, &[&str]); 19] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("markdown", &["domain"]),
    ("fetch", &["domain"]),
    ("sandbox", &["domain"]),
    ("yaml", &[]),
    ("cards", &["domain"]),
    ("providers", &["domain"]),
    ("changes", &["domain", "store"]),
    ("accounts", &["domain", "store", "changes"]),
    ("search", &["domain", "store", "providers", "changes"]),
    ("agent", &["domain", "store", "providers", "sandbox", "changes", "search", "yaml"]),
    ("traces", &["domain", "store", "providers", "changes", "search", "agent"]),
    ("jobs", &["domain", "store", "providers", "changes", "search", "agent"]),
    ("archive", &["domain", "store", "changes", "agent"]),
    ("config", &["domain"]),
    (
        "state",
        &[
            "domain",
            "store",
            "providers",
            "changes",
            "accounts",
            "search",
            "agent",
            "traces",
            "jobs",
            "fetch",
            "markdown",
            "app",
        ],
    ),
    (
        "api",
        &[
            "domain", "store", "cards", "changes", "accounts", "search", "agent", "traces", "jobs",
            "state", "markdown", "app",
        ],
    ),
    ("app", &["domain"]),
];
/// What comes after all rooms and may use them all.
const LAST: [&str; 5] = ["server", "cli", "main", "lib", "hydrate"];
/// What server functions may use beyond that: their bodies exist on the server only.
const SERVER_FUNCTIONS_MAY_USE: [&str; 9] =
    ["state", "store", "changes", "search", "agent", "traces", "jobs", "markdown", "app"];

/// All sources with their paths.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            out.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    out.sort();
    out
}

/// The rooms' sources, without these tests and the bench.
fn rooms() -> Vec<(String, String)> {
    let outside = ["src/tests/", "src/bench/"];
    let all = sources("src".as_ref()).into_iter();
    all.filter(|(path, _)| !outside.iter().any(|start| path.starts_with(start))).collect()
}

fn room(path: &str) -> &str {
    let rest = path.trim_start_matches("src/");
    rest.split(['/', '.']).next().unwrap_or_default()
}

/// The rooms that a source names by `crate::…`, in braces or not.
fn used(source: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (at, _) in source.match_indices("crate::") {
        let rest = &source[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for letter in list.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    _ if depth > 0 => {}
                    ',' => out.extend(first_word(&std::mem::take(&mut word))),
                    other => word.push(other),
                }
            }
            out.extend(first_word(&word));
        } else {
            out.extend(first_word(rest));
        }
    }
    out
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text
        .trim()
        .chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect();
    (!word.is_empty()).then_some(word)
}

#[test]
fn only_the_two_fences_ask_which_build_this_is() {
    let offenders: Vec<String> = rooms()
        .into_iter()
        .filter(|(path, _)| !FENCES.contains(&path.as_str()))
        .filter(|(_, text)| {
            text.contains("feature = \"ssr\"") || text.contains("feature = \"hydrate\"")
        })
        .map(|(path, _)| path)
        .collect();

    assert_eq!(offenders, Vec::<String>::new());
}

#[test]
fn rooms_use_only_the_rooms_before_them() {
    let mut offences = Vec::new();
    for (path, text) in rooms() {
        if LAST.contains(&room(&path)) {
            continue;
        }
        let known = MAY_USE.iter().find(|(name, _)| *name == room(&path));
        let (name, allowed) = known.unwrap_or_else(|| panic!("{path} is in no room"));
        for other in used(&text) {
            let is_room =
                MAY_USE.iter().any(|(name, _)| *name == other) || LAST.contains(&other.as_str());
            let server_function = path.starts_with("src/app/server_fns/")
                && SERVER_FUNCTIONS_MAY_USE.contains(&other.as_str());
            if is_room && other != *name && !allowed.contains(&other.as_str()) && !server_function {
                offences.push(format!("{path} uses {other}"));
            }
        }
    }

    assert_eq!(offences, Vec::<String>::new());
}

#[test]
fn sql_is_written_in_the_store_only() {
    let offenders: Vec<String> = rooms()
        .into_iter()
        .filter(|(path, text)| room(path) != "store" && text.contains("sqlx::"))
        .map(|(path, _)| path)
        .collect();

    assert_eq!(offenders, Vec::<String>::new());
}

#[test]
fn the_browsers_own_words_stay_in_the_platform() {
    let offenders: Vec<String> = rooms()
        .into_iter()
        .filter(|(path, _)| room(path) == "app" && !path.starts_with("src/app/platform"))
        .filter(|(path, text)| {
            let server_function = path.starts_with("src/app/server_fns/");
            text.contains("web_sys") || (text.contains("leptos_axum") && !server_function)
        })
        .map(|(path, _)| path)
        .collect();

    assert_eq!(offenders, Vec::<String>::new());
}

#[test]
fn no_text_area_is_written_as_it_is() {
    let offenders: Vec<String> = rooms()
        .into_iter()
        .filter(|(_, text)| text.contains("}</textarea>"))
        .map(|(path, _)| path)
        .collect();

    assert_eq!(offenders, Vec::<String>::new(), "use `written`");
}

#[test]
fn both_databases_have_the_same_migrations() {
    let names = |database: &str| {
        let folder = format!("src/store/migrations/{database}");
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };

    assert_eq!(names("sqlite"), names("postgres"));
}

#[test]
fn every_module_says_what_it_keeps() {
    let silent: Vec<String> = rooms()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| path)
        .collect();

    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn no_file_is_two_rooms() {
    let long: Vec<String> = rooms()
        .into_iter()
        .filter(|(path, text)| text.lines().count() > 500 && !path.ends_with("samples.rs"))
        .map(|(path, _)| path)
        .collect();

    assert_eq!(long, Vec::<String>::new());
}
