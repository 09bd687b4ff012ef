//! Commands as a model writes them: there is no shell, but `python script.py a b` is understood.

use super::What;

/// What a command asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The text or the script.
    pub what: What,
    /// What follows it.
    pub arguments: Vec<String>,
}

/// Why a command cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is nothing in it.
    #[error("The command is empty. {WHAT_WORKS}")]
    Empty,
    /// It is a command of a shell.
    #[error("{name:?} is not there: this is Python without a shell. {WHAT_WORKS}")]
    NoShell {
        /// Its first word.
        name: String,
    },
    /// It joins commands, or redirects them.
    #[error("{sign:?} needs a shell, and there is none. {WHAT_WORKS}")]
    NoOperator {
        /// The sign.
        sign: String,
    },
    /// An option of Python that is not understood.
    #[error("python's option {option:?} is not understood here. {WHAT_WORKS}")]
    NoOption {
        /// The option.
        option: String,
    },
    /// A second line that would be another command.
    #[error("Only one command is run at a time, and {line:?} would be another. {WHAT_WORKS}")]
    OneAtATime {
        /// The line.
        line: String,
    },
    /// A quote that is not closed.
    #[error("A quote in the command is not closed. {WHAT_WORKS}")]
    OpenQuote,
}

const WHAT_WORKS: &str = "What works: `python script.py arguments`, `python -c \"code\"`, \
    `python - <<'END'` with lines of code until END, or the code itself.";

/// What begins a shell's command and no line of Python that makes sense.
const SHELL: [&str; 48] = [
    "apt", "apt-get", "awk", "bash", "cargo", "cat", "cd", "chmod", "cp", "curl", "docker", "echo",
    "env", "export", "find", "git", "grep", "head", "kill", "ln", "ls", "make", "mkdir", "mv",
    "node", "npm", "npx", "perl", "pip", "pip3", "ps", "pwd", "pytest", "rm", "ruby", "rustc",
    "sed", "sh", "source", "ssh", "sudo", "tail", "tar", "touch", "uv", "wc", "wget", "which",
];

/// What a line of Python can begin with, and then go on with a word.
const KEYWORDS: [&str; 38] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class",
    "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
    "try", "type", "while", "with", "yield",
];

/// Names that Python knows by itself and that people write alone or, by an old habit, before a word.
const KNOWN: [&str; 20] = [
    "abs",
    "any",
    "copyright",
    "credits",
    "dict",
    "dir",
    "exec",
    "exit",
    "float",
    "globals",
    "help",
    "id",
    "input",
    "int",
    "len",
    "license",
    "list",
    "locals",
    "print",
    "quit",
];

/// Understands a command.
pub fn parse(command: &str) -> Result<Invocation, CommandError> {
    let command = unfenced(command.trim());
    if command.is_empty() {
        return Err(CommandError::Empty);
    }
    let first = command.split_whitespace().next().unwrap_or_default();
    if is_python(first) && !is_code_after(command, first) {
        return python(command, first);
    }
    let is_one_line = !command.contains('\n');
    if is_one_line && first.ends_with(".py") && !first.contains(['(', '"', '\'', '=']) {
        let mut words = words(command)?.into_iter();
        let script = words.next().unwrap_or_default();
        return Ok(Invocation { what: What::Script(script), arguments: words.collect() });
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let is_command = SHELL.contains(&name) && !is_code_after(command, first);
    if is_command || is_one_line && is_like_a_command(command, first) {
        return Err(CommandError::NoShell { name: name.to_owned() });
    }
    Ok(Invocation { what: What::Source(command.to_owned()), arguments: Vec::new() })
}

/// What works, for a command that was taken for code and by its traceback is none: several lines of a shell
/// look like code until Python reads them.
pub fn what_works_instead(traceback: &str) -> Option<&'static str> {
    let first = traceback.lines().map(str::trim_start).find(|line| line.starts_with("File "))?;
    let was_read = first.starts_with("File \"<program>\", line ") && !first.contains(", in ");
    let is_no_code = traceback.lines().last()?.starts_with("SyntaxError: ");
    (was_read && is_no_code).then_some(WHAT_WORKS)
}

/// The code in a fence of markdown, or the text as it is.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let code = inside.and_then(|inside| inside.split_once('\n'));
    code.map_or(text, |(_, code)| code.trim_end())
}

fn is_python(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let version = name.strip_prefix("python").unwrap_or("?");
    version.is_empty()
        || version.starts_with('3') && version.chars().all(|it| it.is_ascii_digit() || it == '.')
}

/// Whether a word that could be a command's name is used as Python uses names.
fn is_code_after(command: &str, first: &str) -> bool {
    let rest = command[first.len()..].trim_start_matches([' ', '\t']);
    let signs = ["=", "+=", "-=", "*=", "in ", "is ", "and ", "or ", "if "];
    signs.iter().any(|sign| rest.starts_with(sign))
}

/// Whether one line is a word with words after it, as a shell reads them: no line of Python that makes sense
/// is, because a name alone, or one before a word or an option, is nothing that it could know.
fn is_like_a_command(command: &str, first: &str) -> bool {
    // `...` and `.5` are Python's.
    if first.starts_with(['!', '$', '%']) || first.starts_with(['/', '.']) && first.contains('/') {
        return true;
    }
    let is_name = first.starts_with(|it: char| it.is_ascii_alphabetic())
        && first.chars().all(|it| it.is_ascii_alphanumeric() || "_-.+".contains(it));
    if !is_name || KEYWORDS.contains(&first) || KNOWN.contains(&first) {
        return false;
    }
    let rest = command[first.len()..].trim_start_matches([' ', '\t']);
    if is_code_after(command, first) || rest.starts_with("not in ") {
        return false;
    }
    let mut letters = rest.chars();
    match (letters.next(), letters.next()) {
        (None, _) => !first.contains('.'),
        (Some('-' | '+' | '.' | '/'), Some(second)) => {
            second.is_ascii_alphanumeric() || "-./".contains(second)
        }
        (Some('&'), Some('&')) | (Some('|'), Some('|')) => true,
        (Some(letter), _) => letter.is_alphanumeric() || "\"'~$_".contains(letter),
    }
}

fn python(command: &str, first: &str) -> Result<Invocation, CommandError> {
    let (line, rest) = command.split_once('\n').unwrap_or((command, ""));
    if let Some(at) = here_sign(line) {
        return here_document(&line[..at], &line[at + 2..], rest);
    }
    let mut words = words(&command[first.len()..])?.into_iter();
    while let Some(word) = words.next() {
        let what = match word.as_str() {
            "-B" | "-E" | "-I" | "-O" | "-OO" | "-P" | "-q" | "-s" | "-S" | "-u" => continue,
            "-c" => match words.next() {
                Some(code) => What::Source(code),
                None => return Err(CommandError::Empty),
            },
            "-" => return Err(CommandError::Empty),
            option if option.starts_with('-') => {
                return Err(CommandError::NoOption { option: option.to_owned() });
            }
            _ => What::Script(word),
        };
        return Ok(Invocation { what, arguments: words.collect() });
    }
    Err(CommandError::Empty)
}

/// Where a line says that a here-document follows: inside quotes, `<<` is Python's.
fn here_sign(line: &str) -> Option<usize> {
    let mut open = None;
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (open, letter) {
            (None | Some('"'), '\\') => {
                letters.next();
            }
            (None, '\'' | '"') => open = Some(letter),
            (None, '<') if letters.peek().is_some_and(|(_, next)| *next == '<') => return Some(at),
            (Some(quote), letter) if quote == letter => open = None,
            _ => {}
        }
    }
    None
}

/// Lines of code up to a word that stands alone.
fn here_document(before: &str, tag: &str, rest: &str) -> Result<Invocation, CommandError> {
    let tag = tag.trim_start_matches('-').trim().trim_matches(['\'', '"']);
    let mut given = words(before)?.into_iter().skip(1).skip_while(|word| word.starts_with("-u"));
    match given.next().as_deref() {
        None | Some("-") => {}
        Some(other) => return Err(CommandError::NoOperator { sign: format!("{other} <<") }),
    }
    let lines: Vec<&str> = rest.lines().collect();
    let end = lines.iter().position(|line| line.trim() == tag).unwrap_or(lines.len());
    if let Some(more) = lines.iter().skip(end + 1).find(|line| !line.trim().is_empty()) {
        return Err(CommandError::NoShell { name: (*more).to_owned() });
    }
    let code = lines[..end].join("\n");
    if code.trim().is_empty() {
        return Err(CommandError::Empty);
    }
    Ok(Invocation { what: What::Source(code), arguments: given.collect() })
}

/// The words of a line as a shell would read them, without what needs a shell.
fn words(line: &str) -> Result<Vec<String>, CommandError> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or(CommandError::OpenQuote)? {
                        '\'' => break,
                        inside => word.push(inside),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or(CommandError::OpenQuote)? {
                        '"' => break,
                        '\\' => match letters.next().ok_or(CommandError::OpenQuote)? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            '\n' => {}
                            other => word.extend(['\\', other]),
                        },
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '|' | '&' | ';' | '<' | '>' | '`' => {
                let mut sign = letter.to_string();
                while let Some(next) = letters.next_if_eq(&letter) {
                    sign.push(next);
                }
                return Err(CommandError::NoOperator { sign });
            }
            '\n' if letters.clone().any(|letter| !letter.is_whitespace()) => {
                let rest: String = letters.collect();
                let line = rest.trim().lines().next().unwrap_or_default().to_owned();
                return Err(CommandError::OneAtATime { line });
            }
            blank if blank.is_whitespace() => out.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    out.extend(word);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(path: &str, arguments: &[&str]) -> Result<Invocation, CommandError> {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        Ok(Invocation { what: What::Script(path.to_owned()), arguments })
    }

    fn source(code: &str, arguments: &[&str]) -> Result<Invocation, CommandError> {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        Ok(Invocation { what: What::Source(code.to_owned()), arguments })
    }

    #[test]
    fn a_script_is_run_with_its_arguments() {
        assert_eq!(parse("python script.py a 'b c'"), script("script.py", &["a", "b c"]));
        assert_eq!(parse(" python3 -u tools/run.py --n=3 "), script("tools/run.py", &["--n=3"]));
        assert_eq!(parse("/usr/bin/python3.12 x.py"), script("x.py", &[]));
        assert_eq!(parse("./x.py one"), script("./x.py", &["one"]));
    }

    #[test]
    fn code_on_the_command_line_is_run_as_it_is_quoted() {
        assert_eq!(
            parse(r#"python -c "print(\"a\", 'b')" x"#),
            source("print(\"a\", 'b')", &["x"])
        );
        assert_eq!(parse("python3 -c 'print(\"\\n\")'"), source("print(\"\\n\")", &[]));
        assert_eq!(
            parse("python -c \"import os\nprint(1 > 0)\""),
            source("import os\nprint(1 > 0)", &[])
        );
        // Inside quotes, nothing begins a here-document.
        assert_eq!(parse("python -c \"print(1 << 4)\""), source("print(1 << 4)", &[]));
        assert_eq!(parse("python a.py '\"<<' \\\"x"), script("a.py", &["\"<<", "\"x"]));
        assert_eq!(
            parse("python -c \"x = 1 << 4\nprint(x)\" y"),
            source("x = 1 << 4\nprint(x)", &["y"])
        );
    }

    #[test]
    fn a_here_document_is_code() {
        assert_eq!(
            parse("python3 - <<'EOF'\nx = 1\nprint(x)\nEOF"),
            source("x = 1\nprint(x)", &[])
        );
        assert_eq!(parse("python <<END\nprint(1)\nEND\n"), source("print(1)", &[]));
        assert_eq!(parse("python - a b << 'PY'\nprint(1)\nPY"), source("print(1)", &["a", "b"]));
    }

    #[test]
    fn code_alone_is_code_with_or_without_a_fence() {
        assert_eq!(parse("print(1)"), source("print(1)", &[]));
        assert_eq!(parse("```python\nprint(1)\n```"), source("print(1)", &[]));
        assert_eq!(
            parse("for x in range(3):\n    print(x)"),
            source("for x in range(3):\n    print(x)", &[])
        );
        assert_eq!(parse("find = 3"), source("find = 3", &[]));
        assert_eq!(parse("python = 3"), source("python = 3", &[]));
        for code in [
            "import os; print(os.getcwd())",
            "x = 5; print(x)",
            "total not in x",
            "del x",
            "type X = int",
            "print \"so it was once\"",
            "date()",
            "date.today()",
            "x: int = 3",
            "a, b = 1, 2",
            "...",
            ".5 + .5",
            "date\nprint(1)",
        ] {
            assert_eq!(parse(code), source(code, &[]), "{code}");
        }
    }

    #[test]
    fn a_second_command_is_refused_and_a_line_that_goes_on_is_not() {
        let told = parse("python a.py\n\n  python b.py x\nls").unwrap_err().to_string();

        let named = "Only one command is run at a time, and \"python b.py x\" would be another.";
        assert_eq!(told, format!("{named} {WHAT_WORKS}"));
        assert_eq!(parse("python a.py \\\n  b\n\n"), script("a.py", &["b"]));
    }

    #[test]
    fn what_needs_a_shell_is_refused_with_what_works() {
        let refused = [
            ("ls -la", "\"ls\" is not there"),
            ("pip install requests", "\"pip\" is not there"),
            ("python a.py | sort", "\"|\" needs a shell"),
            ("python a.py && python b.py", "\"&&\" needs a shell"),
            ("python a.py > out.txt", "\">\" needs a shell"),
            ("python -m http.server", "option \"-m\""),
            ("python", "The command is empty"),
            ("", "The command is empty"),
            ("python -c 'print(1)", "A quote in the command is not closed"),
            ("python - <<EOF\nprint(1)\nEOF\nls", "\"ls\" is not there"),
            ("date", "\"date\" is not there"),
            ("java -version", "\"java\" is not there"),
            ("go build ./...", "\"go\" is not there"),
            ("convert a.png b.png", "\"convert\" is not there"),
            ("jq '.a' x.json", "\"jq\" is not there"),
            ("Get-ChildItem -Recurse", "\"Get-ChildItem\" is not there"),
            ("uname && date", "\"uname\" is not there"),
            ("./run.sh --fast", "\"run.sh\" is not there"),
            ("!ls", "\"!ls\" is not there"),
        ];
        for (command, reason) in refused {
            let error = parse(command).expect_err(command).to_string();
            assert!(error.contains(reason) && error.contains("What works"), "{command}: {error}");
        }
    }

    #[test]
    fn code_that_is_none_is_told_what_works_and_an_error_of_code_is_not() {
        let told = |traceback: &str| what_works_instead(traceback).is_some();

        let shell = "  File \"<program>\", line 1\n    A=1 python a.py\n        ^^^^^^\n\
                     SyntaxError: invalid syntax";
        assert!(told(shell) && told(&format!("Traceback (most recent call last):\n{shell}")));
        for code in [
            "  File \"/a.py\", line 1\n    print(\nSyntaxError: '(' was never closed",
            "Traceback (most recent call last):\n  File \"<program>\", line 1, in <module>\n  \
             File \"<string>\", line 1\n    1+\nSyntaxError: invalid syntax",
            "Traceback (most recent call last):\n  File \"<program>\", line 1, in <module>\n\
             NameError: name 'x' is not defined",
            "",
        ] {
            assert!(!told(code), "{code}");
        }
    }
}
