//! The agent's sentences.

use serde_json::Value;

use super::{
    progress::{Written, text},
    which::{Input, Which},
};

/// The longest piece of a text that is quoted in a sentence.
const SNIPPET: usize = 200;

/// Who the agent is and what it can do.
pub const INTRODUCTION: &str = "I am the scripted demo of the persona editor's agent. There is no \
    model behind me, but my tools are real. You can ask me, for example:\n\n\
    - What is the name? Show me the system prompt.\n\
    - Change the name to 'Helpful Assistant'.\n\
    - Add 'Be concise' to the system prompt.\n\
    - List the test inputs, add one about coding, delete the one about math, or run them.\n\n\
    For an agent that understands everything else, add a key for a real model in Settings.";

/// When thanked.
pub const WELCOME: &str = "You are welcome.";

/// When not understood.
pub fn unclear(said: &str) -> String {
    let said = match said.trim() {
        "" => "I see no words in that.".to_owned(),
        said => format!("You said “{}”, and my script has no line for that.", snippet(said)),
    };
    format!(
        "{said} I am a scripted demo, not a model. Try one of these: show me the system prompt; \
         change the name to 'Helpful Assistant'; add a test input about coding. A key in Settings \
         brings a real model."
    )
}

/// The words before the first tool of a message.
pub fn lead(tool: &str) -> &'static str {
    match tool {
        "get_persona" => "Let me look at the persona.",
        "list_test_inputs" => "Let me look at the test inputs.",
        "update_persona_name" => "I will change the name.",
        "update_system_prompt" | "patch_system_prompt" => "I will change the system prompt.",
        "create_test_input" => "I will add that test input.",
        "run_test_inputs" => "I will run the test inputs.",
        "search" => "Let me look for that.",
        "context" => "Let me see what you are looking at.",
        "propose_change" => "I will draft that.",
        _ => "One moment.",
    }
}

/// The persona's name.
pub fn name(persona: &Value) -> String {
    match text(persona, "name") {
        "" => "This persona has no name yet.".into(),
        name => format!("This persona's name is **{name}**."),
    }
}

/// The persona's system prompt, to the letter.
pub fn prompt(persona: &Value) -> String {
    let prompt = text(persona, "systemPrompt");
    if prompt.is_empty() {
        return "The system prompt is empty.".into();
    }
    let mut fence = "```".to_owned();
    while prompt.contains(&fence) {
        fence.push('`');
    }
    format!("This is the system prompt:\n\n{fence}text\n{prompt}\n{fence}")
}

/// Who the persona is, in short.
pub fn persona(persona: &Value) -> String {
    let count = persona.get("testInputIds").and_then(Value::as_array).map_or(0, Vec::len);
    let inputs = match count {
        0 => "no test inputs".into(),
        1 => "one test input".into(),
        count => format!("{count} test inputs"),
    };
    let prompt = text(persona, "systemPrompt");
    let start = prompt.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let start = match start {
        Some(start) => format!("Its system prompt begins: “{}”", snippet(start)),
        None => "Its system prompt is empty.".into(),
    };
    format!("{} It has {inputs}. {start}", name(persona))
}

/// All test inputs.
pub fn list(inputs: &[Input]) -> String {
    let lines: Vec<String> = inputs
        .iter()
        .filter_map(|input| input.content.as_deref())
        .enumerate()
        .map(|(place, content)| format!("{}. {}", place + 1, snippet(content)))
        .collect();
    match lines.len() {
        0 => "There are no test inputs yet.".into(),
        1 => format!("There is one test input:\n\n{}", lines.join("\n")),
        count => format!("There are {count} test inputs:\n\n{}", lines.join("\n")),
    }
}

/// One test input, to the letter.
pub fn input(input: &Value) -> String {
    format!("This test input says:\n\n{}", text(input, "content"))
}

/// None is meant, or none can be told from the others.
pub fn which(which: &Which, places: &[usize], inputs: &[Input]) -> String {
    let line = |place: usize| {
        let content = inputs[place].content.as_deref()?;
        Some(format!("- number {}: {}", place + 1, snippet(content)))
    };
    let lines = |places: &mut dyn Iterator<Item = usize>| {
        places.filter_map(line).collect::<Vec<_>>().join("\n")
    };
    let all = lines(&mut (0..inputs.len()));
    match places {
        [] if all.is_empty() => "There are no test inputs, so I changed nothing.".into(),
        [] => format!(
            "I found no test input for {}, so I changed nothing. There are:\n\n{all}\n\nWhich one do \
             you mean?",
            which.tell()
        ),
        places => format!(
            "More than one test input fits {}, so I changed nothing yet:\n\n{}\n\nWhich one do you \
             mean?",
            which.tell(),
            lines(&mut places.iter().copied())
        ),
    }
}

/// What became of a change: done, or a draft. Both are told as they are.
pub fn written(written: &Written, done: &str, draft: &str) -> String {
    match written {
        Written::Applied => format!("Done: {done}."),
        Written::Pending => format!("I drafted {draft}; it waits for your decision."),
        Written::Other(word) if word.is_empty() => format!(
            "I asked for {draft}, but the tool did not say whether it was applied. Please look at the \
             editor."
        ),
        Written::Other(word) => format!("I asked for {draft}; the tool answered “{word}”."),
    }
}

/// What came of running test inputs.
pub fn ran(result: &Value) -> String {
    let Some(entries) = result.get("answers").and_then(Value::as_array) else {
        return "I ran the test inputs. The answers are beside them.".into();
    };
    let lines = entries.iter().map(|entry| {
        let input = snippet(text(entry, "input"));
        match (text(entry, "error"), text(entry, "answer")) {
            ("", answer) => format!("- {input}: “{}”", snippet(answer)),
            (error, _) => format!("- {input}: it failed: {error}"),
        }
    });
    let lines: Vec<String> = lines.collect();
    match lines.len() {
        0 => "There was nothing to run.".into(),
        1 => format!("I ran one test input:\n\n{}", lines.join("\n")),
        count => format!("I ran {count} test inputs:\n\n{}", lines.join("\n")),
    }
}

/// A text on one line, cut where it gets long.
pub fn snippet(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SNIPPET) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}
