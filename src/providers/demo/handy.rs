//! A persona with files and tools, in the playground: plain requests in, the next tool or the answer out.

use serde_json::{Value, json};

use super::{
    plan::{Answer, Call},
    progress::{Halt, Progress},
    story::Story,
    words::{Word, words},
};
use crate::providers::ToolSpec;

/// The most requests of one message; a pasted text may look like many.
const MOST: usize = 8;
/// As much of what a tool gave as is told again.
const MOST_TOLD: usize = 1500;

/// Something that a tool can do.
#[derive(Debug, PartialEq)]
struct Wish {
    call: Call,
    /// What is said before what the tool gave; nothing when its own words are enough.
    lead: &'static str,
}

/// What the persona says and uses next; `None` when nothing is asked that needs a tool.
pub fn answer(story: &Story<'_>, tools: &[ToolSpec]) -> Option<Answer> {
    let mut wishes = wishes(story.text);
    if wishes.is_empty() {
        return None;
    }
    let left_out = wishes.len().saturating_sub(MOST);
    wishes.truncate(MOST);
    let mut progress = Progress::new(story, tools);
    let mut said: Vec<String> = Vec::new();
    for Wish { call, lead } in wishes {
        match progress.told(call.name, call.input) {
            Ok(output) if lead.is_empty() => said.push(output.to_owned()),
            Ok(output) => said.push(format!("{lead}\n\n```\n{}\n```", shortened(output))),
            Err(Halt::Use(call)) => {
                let text = if story.done.is_empty() { "Let me see." } else { "" };
                return Some(Answer { text: text.into(), calls: vec![call] });
            }
            Err(Halt::Failed(sentence)) => {
                said.push(sentence);
                break;
            }
        }
    }
    if left_out > 0 {
        said.push(format!("That was a lot at once: I left out the last {left_out} requests."));
    }
    Some(Answer { text: said.join("\n\n"), calls: Vec::new() })
}

fn shortened(output: &str) -> String {
    let output = output.trim_end();
    match output.char_indices().nth(MOST_TOLD) {
        Some((end, _)) => format!("{}\n…", &output[..end]),
        None => output.to_owned(),
    }
}

/// The requests in a message, in order.
fn wishes(text: &str) -> Vec<Wish> {
    // Code in a fence is meant to be run.
    if let Some(code) = fenced(text) {
        let call = Call { name: "execute", input: json!({ "command": code }) };
        return vec![Wish { call, lead: "It ran, and said:" }];
    }
    let words = words(text);
    let mut clauses: Vec<&[Word]> = Vec::new();
    let mut from = 0;
    for (at, word) in words.iter().enumerate() {
        let ends = word.ends_line || matches!(word.after, Some(';' | '.' | '!' | '?'));
        let joins = matches!(word.plain.as_str(), "then" | "afterwards") && word.quoted.is_none();
        if joins {
            clauses.push(&words[from..at]);
            from = at + 1;
        } else if ends {
            clauses.push(&words[from..=at]);
            from = at + 1;
        }
    }
    clauses.push(&words[from..]);
    clauses.into_iter().filter_map(|clause| understand(text, clause)).collect()
}

/// What stands in the first fence of a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, code) = rest.split_once('\n')?;
    Some(code.split_once("```")?.0)
}

/// What a word is called by when it names a file: a quotation, or something with a dot or a slash in it.
fn named(text: &str, word: &Word) -> Option<String> {
    if let Some(quoted) = &word.quoted {
        return Some(quoted.clone());
    }
    let raw = text[word.start..word.end].trim_matches(|letter: char| ",;!?`".contains(letter));
    let raw = raw.trim_end_matches('.');
    (raw.contains(['.', '/', '*']) && raw.len() > 2).then(|| raw.to_owned())
}

fn wish(name: &'static str, input: Value, lead: &'static str) -> Option<Wish> {
    Some(Wish { call: Call { name, input }, lead })
}

/// The request in a clause, if there is one that a tool can do.
fn understand(text: &str, clause: &[Word]) -> Option<Wish> {
    let has = |any: &[&str]| {
        clause.iter().any(|word| word.quoted.is_none() && any.contains(&word.plain.as_str()))
    };
    let quoted: Vec<&String> = clause.iter().filter_map(|word| word.quoted.as_ref()).collect();
    // The last name is the file; what is quoted before it is what stands in it.
    let file = clause.iter().rev().find_map(|word| named(text, word));
    let rest = |after: &[&str]| {
        let at = clause.iter().position(|word| after.contains(&word.plain.as_str()))?;
        let (first, last) = (clause.get(at + 1)?, clause.last()?);
        Some(text[first.start..last.end].trim().to_owned())
    };
    if has(&["run", "execute"]) {
        let command = match (quoted.first(), rest(&["run", "execute"])) {
            (_, Some(rest)) if rest.starts_with("python ") => rest.trim_end_matches('.').to_owned(),
            (_, Some(rest)) if rest.ends_with(".py") => format!("python {rest}"),
            (Some(code), _) if has(&["python", "code"]) => (*code).clone(),
            _ => return None,
        };
        return wish("execute", json!({ "command": command }), "It ran, and said:");
    }
    if has(&["calculate", "compute"]) {
        let sum = rest(&["calculate", "compute"])?;
        let sum = sum.trim_end_matches(['?', '.', '!']);
        return wish("execute", json!({ "command": format!("print({sum})") }), "It comes to:");
    }
    if has(&["todo", "todos", "plan"]) && clause.iter().any(|word| word.after == Some(':')) {
        let list = text[clause.first()?.start..clause.last()?.end].split_once(':')?.1;
        let steps = list.split(',').map(|step| step.trim().trim_end_matches('.'));
        let todos: Vec<Value> = steps
            .filter(|step| !step.is_empty())
            .map(|step| json!({ "content": step, "status": "pending" }))
            .collect();
        return wish("write_todos", json!({ "todos": todos }), "");
    }
    if has(&["replace", "change"]) && quoted.len() >= 2 {
        let input = json!({ "path": file?, "old_string": quoted[0], "new_string": quoted[1] });
        return wish("edit_file", input, "");
    }
    if has(&["write", "save", "put", "create", "make"]) && !quoted.is_empty() {
        let path =
            clause.iter().find_map(|word| named(text, word).filter(|_| word.quoted.is_none()));
        return wish("write_file", json!({ "path": path?, "content": quoted[0] }), "");
    }
    if has(&["delete", "remove"]) {
        return wish("delete_file", json!({ "path": file? }), "");
    }
    if has(&["grep", "search"]) {
        let pattern = quoted.first().map(|quoted| (*quoted).clone());
        let pattern = pattern.or_else(|| rest(&["for", "grep"]))?;
        let pattern = pattern.trim_end_matches(['?', '.', '!']).to_owned();
        return wish("grep", json!({ "pattern": pattern }), "This is where it stands:");
    }
    if has(&["find", "which", "glob"])
        && has(&["files", "file", "glob", "named", "called"])
        && let Some(pattern) = &file
    {
        return wish("glob", json!({ "pattern": pattern }), "I found:");
    }
    if has(&["read", "open", "show"])
        && let Some(path) = &file
    {
        return wish("read_file", json!({ "path": path }), "It says:");
    }
    if has(&["list", "show", "what", "which", "ls"]) && has(&["files", "file", "ls", "there"]) {
        return wish("ls", json!({}), "These are the files:");
    }
    None
}

/// What somebody could ask for, when they asked for nothing that a tool can do.
pub const HINT: &str = "Ask me to work on files: *write “milk, eggs” to list.txt*, *read list.txt*, \
    *replace “eggs” with “bread” in list.txt*, *search for “milk”*, *run python -c \"print(6 * 7)\"*, \
    *plan: shop, cook, eat*.";

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str) -> Vec<(&'static str, Value)> {
        wishes(text).into_iter().map(|wish| (wish.call.name, wish.call.input)).collect()
    }

    #[test]
    fn plain_requests_become_calls_in_order() {
        assert_eq!(
            calls(
                "Write \"milk, eggs\" to list.txt then read list.txt. Replace 'eggs' with 'bread' in \
                 list.txt; search for \"milk\"; delete notes/old.md"
            ),
            [
                ("write_file", json!({"path": "list.txt", "content": "milk, eggs"})),
                ("read_file", json!({"path": "list.txt"})),
                (
                    "edit_file",
                    json!({"path": "list.txt", "old_string": "eggs", "new_string": "bread"})
                ),
                ("grep", json!({"pattern": "milk"})),
                ("delete_file", json!({"path": "notes/old.md"})),
            ]
        );
        assert_eq!(calls("Which files are there?"), [("ls", json!({}))]);
        assert_eq!(calls("List the files"), [("ls", json!({}))]);
        assert_eq!(calls("Find files named **/*.md"), [("glob", json!({"pattern": "**/*.md"}))]);
    }

    #[test]
    fn python_is_run_however_it_is_written() {
        let command = |text: &str| calls(text)[0].1["command"].as_str().unwrap().to_owned();

        assert_eq!(command("Run python -c \"print(6 * 7)\""), "python -c \"print(6 * 7)\"");
        assert_eq!(command("run main.py"), "python main.py");
        assert_eq!(command("Calculate 6 * 7."), "print(6 * 7)");
        assert_eq!(command("Please run\n```python\nprint(1)\n```"), "print(1)\n");
    }

    #[test]
    fn a_plan_becomes_todos_and_small_talk_becomes_nothing() {
        let (name, input) = &calls("Plan: shop, cook, eat")[0];
        assert_eq!((*name, input["todos"].as_array().unwrap().len()), ("write_todos", 3));

        for talk in ["", "Hello there", "How are you?", "I plan to go.", "Write a poem"] {
            assert_eq!(calls(talk), [], "{talk}");
        }
    }
}
