//! The real program, with a data folder of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use greenroom::{
    cli::stage::{Embedded, Local},
    config::{Database, DemoPace},
    domain::budget::Budgets,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything here should take.
pub const PATIENCE: Duration = Duration::from_secs(60);

const CONFIG: &str = "model: demo\nwindow_size: 20\nshould_truncate_results: true\n";

/// A data folder, and what is around it.
pub struct Room {
    folder: TempDir,
    script: Option<PathBuf>,
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// What it printed, when all went well.
    pub fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// The session that it names.
    pub fn session(&self) -> String {
        let line = self.err.lines().rev().find_map(|line| {
            line.strip_prefix("session ").or_else(|| line.strip_prefix("Session "))
        });
        let id = line.unwrap_or_else(|| panic!("no session in {self:?}"));
        id.split([':', ' ']).next().unwrap().to_owned()
    }
}

impl Room {
    /// A folder with a configuration: the demo speaks.
    pub fn new() -> Self {
        let room = Self::bare();
        room.configure(CONFIG);
        room
    }

    /// A folder with nothing in it.
    pub fn bare() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), script: None }
    }

    /// The same, in which the demo plays these answers again and again.
    pub fn playing(mut self, answers: &Value) -> Self {
        let file = self.folder.path().join("script.json");
        std::fs::write(&file, json!({"loop": true, "answers": answers}).to_string()).unwrap();
        self.script = Some(file);
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn configure(&self, text: &str) {
        self.write("data/chat/config.yaml", text);
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("data/chat/logs/chat.log")).unwrap_or_default()
    }

    /// Sets limits for what is asked here.
    pub async fn limit(&self, budgets: Budgets) {
        let local = self.open().await;
        local.agent().set_budgets(local.scope(), budgets).await.unwrap();
    }

    /// The data folder, opened beside the program.
    pub async fn open(&self) -> Local {
        let embedded = Embedded {
            database: Database::Sqlite(self.data().join("greenroom.db")),
            chat: self.data().join("chat"),
            demo_pace: DemoPace::AtOnce,
            demo_script: self.script.clone(),
        };
        Local::open(&embedded).await.unwrap()
    }

    /// The program with these arguments, in the surroundings of this room.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("GREENROOM_DATA", self.data())
            .env("GREENROOM_DEMO_PACE", "at-once")
            .env("DATABASE_URL", "")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in [
            "GREENROOM_SESSION_ID",
            "RETIRE_CURRENT_SESSION_ID",
            "GREENROOM_SESSION_FILE",
            "GREENROOM_SESSION_KEPT",
            "GREENROOM_TOKEN",
            "RUST_LOG",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
        ] {
            command.env_remove(variable);
        }
        if let Some(script) = &self.script {
            command.env("GREENROOM_DEMO_SCRIPT", script);
        }
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        finished(self.command(words))
    }

    /// `greenroom chat` with these options.
    pub fn chat(&self, words: &[&str]) -> Ran {
        self.run(&[&["chat"], words].concat())
    }

    /// `greenroom chat` with these options and variables.
    pub fn chat_in(&self, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(&[&["chat"], words].concat());
        command.envs(variables.iter().copied());
        finished(command)
    }

    /// `greenroom chat` with these options, typed into.
    pub fn chat_typing(&self, words: &[&str], typed: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(&[&["chat"], words].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_ref()).unwrap();
        ran(child)
    }

    /// `greenroom chat` with these options, while it goes on.
    pub fn chatting(&self, words: &[&str]) -> Going {
        self.going(&[&["chat"], words].concat())
    }

    /// A command, while it goes on.
    pub fn going(&self, words: &[&str]) -> Going {
        Going::of(self.command(words))
    }

    /// A server on this folder.
    pub fn serve(&self) -> Server {
        Server::start(self.command(&["serve", "--addr", "127.0.0.1:0"]))
    }
}

pub fn finished(mut command: Command) -> Ran {
    ran(command.spawn().unwrap())
}

fn ran(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A command that goes on.
pub struct Going {
    child: Child,
    input: Option<ChildStdin>,
    pieces: mpsc::Receiver<String>,
    /// What it printed so far.
    pub out: String,
}

impl Drop for Going {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().unwrap_or_default();
        self.child.wait().unwrap();
    }
}

impl Going {
    /// A command that is started.
    pub fn of(mut command: Command) -> Self {
        Self::new(command.stdin(Stdio::piped()).spawn().unwrap())
    }

    fn new(mut child: Child) -> Self {
        let (sender, pieces) = mpsc::channel();
        let mut out = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..length]).into_owned();
                if sender.send(text).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, pieces, out: String::new() }
    }

    /// Waits until it has printed this.
    pub fn until(&mut self, text: &str) {
        while !self.out.contains(text) {
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.out.push_str(&piece),
                Err(_) => panic!("no {text:?} came: {:?}", self.out),
            }
        }
    }

    /// Waits until it has printed so much.
    pub fn until_longer(&mut self, length: usize) {
        while self.out.len() < length {
            self.out.push_str(&self.pieces.recv_timeout(PATIENCE).unwrap());
        }
    }

    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// As pressing Ctrl-C does, or `kill -9`.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Signals again and again until it ends: two that come at once are one.
    pub fn until_it_ends(mut self, signal: rustix::process::Signal) -> Ran {
        while self.child.try_wait().unwrap().is_none() {
            self.signal(signal);
            std::thread::yield_now();
        }
        self.end()
    }

    /// Waits for its end, with nothing more to read.
    pub fn end(mut self) -> Ran {
        drop(self.input.take());
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code();
        while let Ok(piece) = self.pieces.recv_timeout(PATIENCE) {
            self.out.push_str(&piece);
        }
        Ran { code, out: std::mem::take(&mut self.out), err }
    }
}

/// A server that runs.
pub struct Server {
    process: Child,
    pub address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    pub fn start(mut command: Command) -> Self {
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().split_once(" is at ").expect("it did not start").1.to_owned();
        Self { process, address }
    }

    /// Sends something, or only reads, and waits for all of the answer.
    pub fn asked(&self, path: &str, body: Option<Value>) -> String {
        let host = self.address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host).unwrap();
        let method = if body.is_some() { "POST" } else { "GET" };
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// The JSON in a file.
pub fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}
