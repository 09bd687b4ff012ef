//! The log of the terminal: a file in the data folder, without anything secret in it.

use std::{
    borrow::Cow,
    ffi::OsString,
    fs::{self, File},
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use regex::Regex;
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::FilterExt,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::cli::{log_line::one_line, tui::clean::clean};

/// How large the file may become before another one is begun; one old one is kept.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The shortest text that is taken for a secret.
const MIN_SECRET: usize = 8;
/// What the names of variables with secrets have in them.
const SECRET_NAMES: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "DATABASE_URL"];
/// What secrets look like, wherever they came from.
const SECRET_SHAPES: &str = r"(?x)
    \b(?:sk|pk|rk|gr)-[A-Za-z0-9_\-]{8,}
    | \bAIza[A-Za-z0-9_\-]{16,}
    | (?i:bearer)\s+[A-Za-z0-9._~+/=\-]{8,}
    | ://[^/\s:@]+:[^/\s@]+@
    | [?&](?i:\w*password)=[^&\s]+";

/// Whether people see the log, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It goes to the file.
    InFile,
    /// It also goes to standard error, with more in it.
    ToPeople,
}

/// Logs from now on. Without a file, nothing is kept.
pub fn start(folder: &Path, shown: Shown, secrets: &[&str]) {
    // A variable may hold what is no text.
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
    let redaction = Redaction::of(variables, secrets);
    // What goes wrong with a server of tools is told by the toolbox, without its keys.
    let filter = |level: &str| EnvFilter::new(format!("warn,rmcp=off,greenroom={level}"));
    let file = open(folder).ok().map(|file| {
        let out =
            Redacted { out: Out::File(Arc::new(Mutex::new(file))), redaction: redaction.clone() };
        fmt::layer()
            .with_ansi(false)
            .with_target(false)
            .with_writer(out)
            .with_filter(filter("info"))
    });
    let people = (shown == Shown::ToPeople).then(|| {
        let out = Redacted { out: Out::People, redaction };
        // Only people see what the environment asks for: the file has no words of a conversation.
        let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
        let asked = crate::cli::filter(&asked, "off");
        fmt::layer()
            .with_ansi(false)
            .with_target(false)
            .with_writer(out)
            .with_filter(filter("debug").or(asked))
    });
    tracing_subscriber::registry().with(file).with(people).init();
}

fn open(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let path = folder.join("chat.log");
    if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_BYTES) {
        fs::rename(&path, folder.join("chat.log.1"))?;
    }
    File::options().create(true).append(true).open(path)
}

/// What is taken out of every line.
#[derive(Clone, Debug)]
struct Redaction {
    known: Arc<[String]>,
    shapes: Option<Regex>,
}

impl Redaction {
    fn of(variables: impl Iterator<Item = (String, String)>, secrets: &[&str]) -> Self {
        let named = variables.filter(|(name, _)| {
            let name = name.to_uppercase();
            SECRET_NAMES.iter().any(|secret| name.contains(secret))
        });
        let values = named.map(|(_, value)| value).chain(secrets.iter().map(|&one| one.to_owned()));
        let known = values.filter(|value| value.len() >= MIN_SECRET).collect();
        Self { known, shapes: Regex::new(SECRET_SHAPES).ok() }
    }

    fn apply(&self, line: &str) -> String {
        let mut line = Cow::Borrowed(line);
        for secret in self.known.iter().filter(|secret| !secret.is_empty()) {
            if line.contains(secret.as_str()) {
                line = Cow::Owned(line.replace(secret.as_str(), "…"));
            }
        }
        match &self.shapes {
            Some(shapes) => shapes.replace_all(&line, "…").into_owned(),
            None => line.into_owned(),
        }
    }
}

#[derive(Clone, Debug)]
enum Out {
    File(Arc<Mutex<File>>),
    People,
}

/// Writes lines without what is secret in them.
#[derive(Clone, Debug)]
struct Redacted {
    out: Out,
    redaction: Redaction,
}

impl Write for Redacted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A line comes as one piece.
        let line = self.redaction.apply(&one_line(&String::from_utf8_lossy(bytes)));
        match &self.out {
            Out::File(file) => {
                file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())?;
            }
            Out::People if io::stderr().is_terminal() => {
                io::stderr().write_all(clean(&line).as_bytes())?;
            }
            Out::People => io::stderr().write_all(line.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Redacted {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_stays_in_a_line() {
        let variables = [
            ("OPENAI_API_KEY", "very-secret-value"),
            ("HOME", "/home/somebody"),
            ("MY_TOKEN", "short"),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let redaction = Redaction::of(variables, &["told-by-flag"]);

        assert_eq!(
            redaction.apply("a very-secret-value b told-by-flag in /home/somebody, short"),
            "a … b … in /home/somebody, short"
        );
        for secret in [
            "sk-proj-abcdefgh12345678",
            "AIzaSyA1234567890abcdefg",
            "Authorization: Bearer abcdefgh12345",
            "postgres://me:hunter22@host/db",
            "postgres://host/db?user=me&password=hunter22&sslmode=require",
            "postgres://host/db?PASSWORD=hunter22",
        ] {
            let line = redaction.apply(secret);
            for part in ["abcdefgh12345", "1234567890", "hunter22"] {
                assert!(!line.contains(part), "{line}");
            }
        }
    }
}
