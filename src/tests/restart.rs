//! The real program, ended without warning and started again.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use greenroom::accounts::Secret;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::{
    pictures::{
        services::{drawn, picture_file},
        studio::Studio,
    },
    support::{On, postgres_database},
};

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much of what was said may be lost.
const MAY_BE_LOST: Duration = Duration::from_millis(100);

/// A running server.
pub struct Server {
    process: Child,
    address: String,
    /// What goes along with every request: nothing, or a line with a token.
    proof: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    /// Starts it on a free port and waits until it says where it is.
    pub async fn start(data: &Path, script: &Path) -> Self {
        Self::start_with(data, script, &[]).await
    }

    /// Starts it again and again in the same place, which is gone on with at once.
    async fn start_on(data: &Path, script: &Path, place: &[(&str, String)]) -> Self {
        let server = Self::start_with(data, script, place).await;
        // With PostgreSQL it listens a moment before it has looked there.
        let ready = async {
            let history = "/api/persona-agent/history?personaId=optimist";
            loop {
                let (status, told) = server.ask("GET", history, None).await;
                let told: Value = serde_json::from_str(&told).unwrap_or_default();
                if status == 200 && told["runId"].is_null() {
                    return;
                }
            }
        };
        timeout(PATIENCE, ready).await.expect("what was left is not found");
        server
    }

    pub async fn start_with(data: &Path, script: &Path, variables: &[(&str, String)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
        command.args(arguments(data, script));
        command.envs(variables.iter().cloned());
        Self::run(command).await
    }

    /// Starts it by this command and waits until it says where it is.
    pub async fn run(command: Command) -> Self {
        Self::run_telling(command, Stdio::null()).await
    }

    /// The same; what it logs goes there.
    pub async fn run_telling(mut command: Command, log: Stdio) -> Self {
        if command.get_envs().all(|(name, _)| name != "DATABASE_URL") {
            command.env("DATABASE_URL", "");
        }
        let mut process = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let out = process.stdout.take().unwrap();
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
            line
        });
        let line = timeout(PATIENCE, line).await.unwrap().unwrap();
        let address = line.trim().rsplit_once("http://").unwrap().1.to_owned();
        Self { process, address, proof: String::new() }
    }

    /// Asks with this token from now on.
    pub fn show(&mut self, token: &Secret) {
        self.proof = format!("authorization: Bearer {}\r\n", token.expose());
    }

    /// Where it is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Asks it to end, as `kill` does, and waits until it has: how it ended, and after how long.
    pub async fn terminate(mut self) -> (std::process::ExitStatus, Duration) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let asked = Instant::now();
        let ended = tokio::task::spawn_blocking(move || {
            let status = self.process.wait().unwrap();
            std::mem::forget(self);
            status
        });
        (timeout(PATIENCE, ended).await.unwrap().unwrap(), asked.elapsed())
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{}\r\n",
            self.address,
            body.len(),
            self.proof
        );
        stream.write_all((head + &body).as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    /// The status and the body of an answer that comes to its end.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let mut answer = Vec::new();
        let mut stream = self.send(method, path, body).await;
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub async fn get(&self, path: &str) -> Value {
        let (_, body) = self.ask("GET", path, None).await;
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}"))
    }

    pub async fn chat(&self, message: &str) -> Chat {
        self.chat_with("optimist", message).await
    }

    pub async fn chat_with(&self, persona: &str, message: &str) -> Chat {
        let said = json!({"personaId": persona, "message": message});
        Chat { stream: self.send("POST", "/api/persona-agent/chat", Some(&said)).await }
    }

    /// Follows a run from its beginning.
    pub async fn watch(&self, run: &str) -> Chat {
        Chat { stream: self.send("GET", &format!("/api/runs/{run}/events"), None).await }
    }
}

/// A chat that is being answered.
pub struct Chat {
    stream: BufReader<TcpStream>,
}

impl Chat {
    pub async fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            let read = timeout(PATIENCE, self.stream.read_line(&mut line)).await.unwrap().unwrap();
            assert!(read > 0, "the stream ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The words of so many deltas, and when each came.
    pub async fn words(&mut self, deltas: usize) -> Vec<(Instant, String)> {
        let mut words = Vec::with_capacity(deltas);
        while words.len() < deltas {
            let event = self.next().await;
            let told = match event["type"].as_str() {
                Some("text_delta") => &event["content"],
                Some("text") => &event["delta"],
                _ => continue,
            };
            words.push((Instant::now(), told.as_str().unwrap().to_owned()));
        }
        words
    }
}

/// What the program is told, to serve from here.
pub fn arguments(data: &Path, script: &Path) -> Vec<std::ffi::OsString> {
    let fixed = ["serve", "--addr", "127.0.0.1:0", "--demo-pace", "at-once", "--data"];
    let mut all: Vec<std::ffi::OsString> = fixed.map(Into::into).into();
    all.extend([data.into(), "--demo-script".into(), script.into()]);
    all
}

pub fn script(folder: &Path, answers: &Value) -> std::path::PathBuf {
    let file = folder.join("script.json");
    std::fs::write(&file, json!({"loop": true, "answers": answers}).to_string()).unwrap();
    file
}

/// What tells the program where the rows are.
async fn place(on: On) -> Vec<(&'static str, String)> {
    match on {
        On::Sqlite => Vec::new(),
        // A server with a name finds what it left itself at once, and not after some silence.
        On::Postgres => vec![
            ("DATABASE_URL", postgres_database().await),
            ("GREENROOM_NODE", "the-only-one".to_owned()),
        ],
    }
}

#[tokio::test]
async fn killed_in_the_middle_of_an_answer_it_keeps_the_question_and_all_but_the_last_words() {
    killed_in_an_answer(On::Sqlite).await;
}

#[tokio::test]
async fn killed_in_the_middle_of_an_answer_it_keeps_the_same_in_postgres() {
    killed_in_an_answer(On::Postgres).await;
}

async fn killed_in_an_answer(on: On) {
    let place = place(on).await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let endless = json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 2}}]]);
    let script = script(folder.path(), &endless);
    let mut server = Server::start_on(&data, &script, &place).await;
    let mut chat = server.chat("Tell me everything.").await;
    // Until some were said long enough ago, however late they are read here.
    let mut words = chat.words(60).await;
    while words[49].0.elapsed() < MAY_BE_LOST {
        words.extend(chat.words(1).await);
    }
    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    let run = history["runId"].as_str().unwrap().to_owned();
    let killed = Instant::now();
    server.kill();

    let server = Server::start_on(&data, &script, &place).await;

    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    assert_eq!(history["turns"][0]["content"], "Tell me everything.");
    let kept = history["turns"][1]["content"].as_str().unwrap();
    // What had come was said before, so this is no less than was said until then.
    let early = words.iter().filter(|(came, _)| *came + MAY_BE_LOST <= killed);
    let early: String = early.map(|(_, word)| word.as_str()).collect();
    assert!(early.len() >= 5 * 50, "{early:?}");
    assert!(kept.starts_with(&early), "{} of {} bytes", kept.len(), early.len());
    assert_eq!(history["runId"], Value::Null);
    offers_to_repeat_or_go_on(&server, &run).await;
    // It goes on as if nothing had happened.
    server.chat("And now?").await.words(3).await;
}

/// An interrupted run says so everywhere, and can be gone on with.
async fn offers_to_repeat_or_go_on(server: &Server, run: &str) {
    let state = server.get(&format!("/api/runs/{run}")).await;
    assert_eq!(state["status"], "interrupted");
    assert_eq!((&state["canRetry"], &state["canContinue"]), (&json!(true), &json!(true)));
    let (status, rail) = server.ask("GET", "/rail?at=/personas/optimist", None).await;
    assert_eq!(status, 200, "{rail}");
    for action in ["/fn/retry_run", "/fn/go_on_run"] {
        let form = rail.split("<form").find(|form| form.contains(action));
        let form = form.unwrap_or_else(|| panic!("{action} is not in {rail}"));
        assert!(form.contains(&format!("value=\"{run}\"")), "{form}");
    }

    let path = format!("/api/runs/{run}/continue");
    let (status, on) = server.ask("POST", &path, Some(&json!({}))).await;

    assert_eq!(status, 201, "{on}");
    let on: Value = serde_json::from_str(&on).unwrap();
    assert_eq!(on["conversationId"], state["conversationId"]);
    let stop = format!("/api/runs/{}/stop", on["id"].as_str().unwrap());
    let (status, stopped) = server.ask("POST", &stop, Some(&json!({}))).await;
    assert_eq!(status, 200, "{stopped}");
}

#[tokio::test]
async fn killed_while_it_writes_it_has_applied_each_change_whole_or_not_at_all() {
    killed_in_a_write(On::Sqlite).await;
}

#[tokio::test]
async fn killed_while_it_writes_it_has_done_the_same_in_postgres() {
    killed_in_a_write(On::Postgres).await;
}

async fn killed_in_a_write(on: On) {
    let place = place(on).await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let rename =
        |name: &str| json!([{"call": {"name": "update_persona_name", "input": {"name": name}}}]);
    let script = script(folder.path(), &json!([rename("A"), rename("B")]));
    for kills in [2, 5, 9] {
        let mut server = Server::start_on(&data, &script, &place).await;
        let mut chat = server.chat("Rename it again and again.").await;
        let mut results = 0;
        while results < kills {
            results += usize::from(chat.next().await["type"] == "tool_result");
        }
        server.kill();
    }

    let server = Server::start_on(&data, &script, &place).await;

    let persona = server.get("/api/storage/personas/optimist").await;
    let versions = server.get("/api/storage/personas/optimist/versions?limit=200").await;
    let versions = versions["items"].as_array().unwrap();
    let newest = persona["revision"].as_u64().unwrap();
    // A rename to the name that stands makes no version.
    assert!(newest >= 12, "{newest}");
    let revisions: Vec<u64> =
        versions.iter().map(|version| version["revision"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (1..=newest).rev().collect::<Vec<_>>());
    let path = format!("/api/storage/personas/optimist/versions/{newest}");
    assert_eq!(server.get(&path).await["fields"]["name"], persona["name"]);
    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    let turns = history["turns"].as_array().unwrap();
    let said = turns.iter().filter(|turn| turn["type"] == "user").count();
    assert_eq!(said, 3, "nothing a person wrote is lost");
    assert_eq!(history["runId"], Value::Null);
}

/// The page went on saying of such a tool that it runs.
#[tokio::test]
async fn killed_while_a_tool_works_it_says_that_its_result_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let call = json!([{"call": {"name": "run_test_inputs", "input": {}}}]);
    let script = script(folder.path(), &json!([call, ["stall"]]));
    let mut server = Server::start_on(&data, &script, &[]).await;
    let mut chat = server.chat("Run them.").await;
    while chat.next().await["type"] != "tool_call" {}
    server.kill();

    let server = Server::start_on(&data, &script, &[]).await;

    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    let turns = history["turns"].as_array().unwrap();
    let types: Vec<_> = turns.iter().map(|turn| turn["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["user", "tool_call", "tool_result"]);
    assert_eq!(turns[2]["isError"], true);
    let told = turns[2]["output"].as_str().unwrap_or_else(|| panic!("{history}"));
    assert!(told.contains("before this tool's result was kept"), "{told}");
    let (_, rail) = server.ask("GET", "/rail?at=/personas/optimist", None).await;
    assert!(rail.contains("run_test_inputs") && !rail.contains("running"), "{rail}");
}

#[tokio::test]
async fn killed_while_a_picture_is_made_it_makes_it_after_all() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let script = script(folder.path(), &json!([[{"text": "Hm."}]]));
    // Until it is told what to say, the service does not answer.
    let studio = Studio::start().await;
    let variables = [
        ("GREENROOM_IMAGES_URL", format!("http://{}", studio.address)),
        ("GREENROOM_IMAGES_STYLE", "fal".to_owned()),
    ];
    let mut server = Server::start_with(&data, &script, &variables).await;
    let wish = json!({"prompt": "A lamp"});
    let mut asked = String::new();
    let mut stream = server.send("POST", "/api/pictures", Some(&wish)).await;
    timeout(PATIENCE, stream.read_to_string(&mut asked)).await.unwrap().unwrap();
    let stands = async |server: &Server, wanted: &str| loop {
        let pictures = server.get("/api/pictures").await;
        if pictures["items"][0]["state"] == wanted {
            return pictures["items"][0].clone();
        }
    };
    timeout(PATIENCE, stands(&server, "drawing")).await.unwrap();
    // Else the first question could still be under way, and be given the second one's answer.
    timeout(PATIENCE, studio.was_asked()).await.unwrap();
    server.kill();

    studio.play([drawn(&picture_file().await)]);
    let server = Server::start_with(&data, &script, &variables).await;

    let made = timeout(PATIENCE, stands(&server, "done")).await.unwrap();
    let id = made["id"].as_str().unwrap();
    let file = std::fs::read(data.join("pictures/home").join(id)).unwrap();
    assert_eq!(file, picture_file().await);
}
