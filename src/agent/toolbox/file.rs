//! `tools.yaml` as it is written: what each entry asks for, and on which line it stands.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    domain::{model::KeyRef, persona::Tier},
    yaml,
};

/// How long a server may take to start and to list its tools, unless its entry says otherwise.
const START: Duration = Duration::from_secs(30);
/// How long a server may take for one call, unless its entry says otherwise.
const CALL: Duration = Duration::from_secs(60);
/// The longest that an entry may say, in seconds.
const MAX_SECONDS: u64 = 600;
/// The longest name that all services take.
pub const MAX_NAME: usize = 64;
/// The longest name of a server: it stands before the names of its tools.
const MAX_SERVER_NAME: usize = 24;

/// How much something that is wrong with the file matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The tool works, but could be better.
    Warning,
    /// There is no such tool.
    Error,
}

/// Something that is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line on which the entry begins; 0 for the file as a whole.
    pub line: usize,
    /// How much it matters.
    pub weight: Weight,
    /// What is wrong, in a sentence.
    pub reason: String,
}

impl Problem {
    /// An entry that gives no tool.
    pub fn error(line: usize, reason: impl Into<String>) -> Self {
        Self { line, weight: Weight::Error, reason: reason.into() }
    }

    /// An entry that could be better.
    pub fn warning(line: usize, reason: impl Into<String>) -> Self {
        Self { line, weight: Weight::Warning, reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "tools.yaml: {}", self.reason),
            line => write!(out, "tools.yaml, line {line}: {}", self.reason),
        }
    }
}

/// An entry that makes sense by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line on which it begins.
    pub line: usize,
    /// What it asks for.
    pub wish: Wish,
}

/// What an entry asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A tool of ours.
    BuiltIn(String),
    /// A function in a Python file.
    Python {
        /// The file, seen from the folder of `tools.yaml`.
        path: String,
        /// The function's name.
        function: String,
    },
    /// The tools of a server.
    Server(ServerEntry),
}

/// A server that speaks the Model Context Protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// What it is called here.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// The tools of it that are wanted; all without it.
    pub only: Option<Vec<String>>,
    /// How far whoever uses it must be allowed to go.
    pub needs: Tier,
    /// How long it may take to start.
    pub start: Duration,
    /// How long it may take for one call.
    pub call: Duration,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is a program that is started here.
    Command {
        /// The program.
        program: String,
        /// What follows its name.
        arguments: Vec<String>,
        /// Its environment: texts, or references as `env:NAME` and `file:/path`.
        environment: BTreeMap<String, String>,
    },
    /// It is elsewhere, behind this address.
    Url {
        /// The address.
        url: String,
        /// Where its key is: `env:NAME` or `file:/path`.
        token: Option<String>,
    },
}

/// A server as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    mcp: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    token: Option<String>,
    tools: Option<Vec<String>>,
    tier: Option<Tier>,
    start_seconds: Option<u64>,
    call_seconds: Option<u64>,
}

/// Reads the file: the entries that make sense, and what is wrong with the others. Without a list in it,
/// there is only what is wrong.
pub fn read(text: &str) -> Result<(Vec<Entry>, Vec<Problem>), Problem> {
    let list = yaml::entries(text).map_err(|flaw| Problem::error(flaw.line, flaw.reason))?;
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for (line, value) in list {
        match wish(value) {
            Ok(wish) => entries.push(Entry { line, wish }),
            Err(reason) => problems.push(Problem::error(line, reason)),
        }
    }
    Ok((entries, problems))
}

fn wish(value: Value) -> Result<Wish, String> {
    match value {
        Value::String(text) => named(text.trim()),
        Value::Object(_) => {
            server(yaml::fitting(value, "This is no MCP server")?).map(Wish::Server)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err("An entry is the name of a built-in tool, path.py:function, or an MCP server \
                 (mcp: NAME with command: or url:)."
                .into())
        }
    }
}

fn named(text: &str) -> Result<Wish, String> {
    let is_word = |text: &str| {
        !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    if let Some((path, function)) = text.rsplit_once(':') {
        if !path.ends_with(".py") {
            return Err(format!("“{text}” is not path.py:function: “{path}” is no Python file."));
        }
        if !is_word(function) {
            return Err(format!("“{function}” cannot be the name of a Python function."));
        }
        refuse_name("tool", function)?;
        return Ok(Wish::Python { path: path.into(), function: function.into() });
    }
    if text.ends_with(".py") {
        return Err(format!("Say which function of {text} is meant: {text}:function."));
    }
    match text {
        "" => Err("The entry is empty.".into()),
        name => Ok(Wish::BuiltIn(name.into())),
    }
}

fn server(written: Written) -> Result<ServerEntry, String> {
    let name = written.mcp;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if name.is_empty() || name.len() > MAX_SERVER_NAME || !name.chars().all(fits) {
        return Err(format!(
            "“{name}” cannot be a server's name: it has 1 to {MAX_SERVER_NAME} letters, digits, \
             dashes and underscores."
        ));
    }
    let way = match (written.command, written.url) {
        (Some(program), None) if !program.trim().is_empty() => {
            if written.token.is_some() {
                return Err(format!("“{name}” is started here, so its keys belong under env."));
            }
            for (variable, value) in &written.env {
                if variable.is_empty() || variable.contains(['=', '\0']) {
                    return Err(format!("“{variable}” cannot be the name of a variable."));
                }
                if is_reference(value) {
                    KeyRef::parse(value).map_err(|error| error.to_string())?;
                }
            }
            Way::Command { program, arguments: written.args, environment: written.env }
        }
        (None, Some(url)) => {
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(format!(
                    "The address of “{name}” must begin with http:// or https://."
                ));
            }
            if !written.args.is_empty() || !written.env.is_empty() {
                return Err(format!("“{name}” is not started here, so it has no args and no env."));
            }
            if let Some(token) = &written.token {
                KeyRef::parse(token).map_err(|error| error.to_string())?;
            }
            Way::Url { url, token: written.token }
        }
        _ => return Err(format!("“{name}” needs either a command or a url, and not both.")),
    };
    Ok(ServerEntry {
        way,
        only: written.tools,
        needs: written.tier.unwrap_or(Tier::Read),
        start: seconds(written.start_seconds, START)?,
        call: seconds(written.call_seconds, CALL)?,
        name,
    })
}

/// Refuses a name in Python that some service would not take, and with it all that is asked.
pub fn refuse_name(what: &str, name: &str) -> Result<(), String> {
    let is_taken = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.len() <= MAX_NAME && name.chars().all(is_taken) {
        return Ok(());
    }
    Err(format!(
        "“{name}” cannot be the name of a {what}: services take up to {MAX_NAME} letters from a to z, \
         digits and underscores."
    ))
}

/// Whether a value says where something is, instead of what it is.
pub fn is_reference(value: &str) -> bool {
    value.starts_with("env:") || value.starts_with("file:/")
}

fn seconds(written: Option<u64>, usual: Duration) -> Result<Duration, String> {
    match written {
        None => Ok(usual),
        Some(seconds) if (1..=MAX_SECONDS).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        Some(_) => Err(format!("A time limit is 1 to {MAX_SECONDS} seconds.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_entries_are_read_and_each_bad_one_is_named_with_its_line() {
        let text = "\
# Tools for everyone.
- execute
- tools/sums.py:add
- tools/sums.py
- mcp: files
  command: npx
  args: [-y, server-files, /tmp]
  env:
    TOKEN: env:FILES_TOKEN
  tools: [read]
  tier: act
  call_seconds: 5
- mcp: both
  command: x
  url: https://x.test
- mcp: far
  url: https://mcp.example.com/mcp
  token: env:FAR
- 42
- mcp: odd
  comand: x
- sums.txt:add
- \"\"
";

        let (entries, problems) = read(text).unwrap();

        let files = ServerEntry {
            name: "files".into(),
            way: Way::Command {
                program: "npx".into(),
                arguments: vec!["-y".into(), "server-files".into(), "/tmp".into()],
                environment: [("TOKEN".to_owned(), "env:FILES_TOKEN".to_owned())].into(),
            },
            only: Some(vec!["read".into()]),
            needs: Tier::Act,
            start: START,
            call: Duration::from_secs(5),
        };
        let way =
            Way::Url { url: "https://mcp.example.com/mcp".into(), token: Some("env:FAR".into()) };
        let far = ServerEntry {
            name: "far".into(),
            way,
            only: None,
            needs: Tier::Read,
            start: START,
            call: CALL,
        };
        let python = Wish::Python { path: "tools/sums.py".into(), function: "add".into() };
        assert_eq!(
            entries,
            [
                Entry { line: 2, wish: Wish::BuiltIn("execute".into()) },
                Entry { line: 3, wish: python },
                Entry { line: 5, wish: Wish::Server(files) },
                Entry { line: 16, wish: Wish::Server(far) },
            ]
        );
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "tools.yaml, line 4: Say which function of tools/sums.py is meant: tools/sums.py:function.",
            "tools.yaml, line 13: “both” needs either a command or a url, and not both.",
            "tools.yaml, line 19: An entry is the name of a built-in tool,",
            "tools.yaml, line 20: This is no MCP server at “comand”: unknown field `comand`",
            "tools.yaml, line 22: “sums.txt:add” is not path.py:function",
            "tools.yaml, line 23: The entry is empty.",
        ];
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{told}\n{expected}");
        }
    }

    #[test]
    fn a_name_that_no_service_takes_is_refused_with_its_line() {
        let long = "x".repeat(MAX_NAME + 1);
        let text = format!("- a.py:{}\n- a.py:größe\n- a.py:{long}\n", &long[1..]);

        let (entries, problems) = read(&text).unwrap();

        assert_eq!(entries.len(), 1);
        let refused = |line: usize, name: &str| {
            let rule = "services take up to 64 letters from a to z, digits and underscores.";
            Problem::error(line, format!("“{name}” cannot be the name of a tool: {rule}"))
        };
        assert_eq!(problems, [refused(2, "größe"), refused(3, &long)]);
    }

    #[test]
    fn a_key_is_named_and_never_written_down() {
        let url = |token: &str| format!("- mcp: far\n  url: https://x.test\n  token: {token}\n");

        assert_eq!(read(&url("file:/run/key")).unwrap().1, []);
        let (entries, problems) = read(&url("sk-secret")).unwrap();
        assert_eq!(entries, []);
        assert!(problems[0].reason.contains("Say where the key is"), "{}", problems[0]);
        assert!(!problems[0].reason.contains("sk-secret"));
    }
}
