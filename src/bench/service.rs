//! A fake service that speaks OpenAI's chat dialect and answers as many tokens as the question asks for: plainly,
//! or encrypted and by HTTP/2, as the services out there do.

use std::{
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::Instant};

use super::encrypted;

/// What it says, a word for each token, over and over.
const WORDS: &str = "the stage is yours and everybody waits for what comes next";
/// How many pieces an answer has beside its tokens: the role, the reason, the usage and the end.
pub const BESIDE: usize = 4;

/// The words that ask for an answer, which begins at once.
pub fn question(tokens: usize, delay: Duration) -> String {
    question_for(tokens, delay, UNIX_EPOCH)
}

/// The words that ask for an answer, which begins at this moment.
pub fn question_for(tokens: usize, delay: Duration, from: SystemTime) -> String {
    let from = from.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("bench tokens={tokens} delay_ms={} from_ms={}", delay.as_millis(), from.as_millis())
}

struct Service {
    tokens: Vec<Bytes>,
    /// The last question, so that others can be asked the very same.
    last: Mutex<Bytes>,
}

/// Serves for ever.
pub async fn serve(port: u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, router()).await.unwrap();
}

/// Serves for ever, encrypted and by HTTP/2. Whoever asks must trust the certificate in this file.
pub async fn serve_encrypted(port: u16, file: &Path) {
    let (_, serving) = encrypted::listen(([127, 0, 0, 1], port).into(), router(), file).await;
    println!("ready");
    match serving.await {}
}

fn router() -> Router {
    let words = WORDS.split(' ').map(|word| json!({"content": format!(" {word}")}));
    let tokens = words.map(|delta| piece(&delta, Value::Null)).collect();
    let service = Arc::new(Service { tokens, last: Mutex::default() });
    Router::new()
        .route("/last", get(last))
        .route("/v1/chat/completions", post(answer))
        .with_state(service)
}

async fn last(State(service): State<Arc<Service>>) -> Bytes {
    service.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn answer(State(service): State<Arc<Service>>, body: Bytes) -> Response {
    let question: Value = serde_json::from_slice(&body).unwrap();
    let messages = question["messages"].as_array().unwrap();
    let asked = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    let asked = asked["content"].as_str().unwrap();
    let tokens = number(asked, "tokens=") as usize;
    let delay = Duration::from_millis(number(asked, "delay_ms="));
    let from = UNIX_EPOCH + Duration::from_millis(number(asked, "from_ms="));
    let wait = from.duration_since(SystemTime::now()).unwrap_or_default();
    *service.last.lock().unwrap_or_else(PoisonError::into_inner) = body;

    let begin = piece(&json!({"role": "assistant", "content": ""}), Value::Null);
    let words = (0..tokens).map(move |at| service.tokens[at % service.tokens.len()].clone());
    let usage = json!({
        "id": "chatcmpl-bench", "object": "chat.completion.chunk", "model": "bench", "choices": [],
        "usage": {"prompt_tokens": 900, "completion_tokens": tokens},
    });
    let end = [
        piece(&json!({}), "stop".into()),
        format!("data: {usage}\n\n").into(),
        Bytes::from_static(b"data: [DONE]\n\n"),
    ];
    let whole = stream::iter([begin]).chain(paced(words, delay, wait)).chain(stream::iter(end));
    let body = Body::from_stream(whole.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn paced(
    words: impl Iterator<Item = Bytes>,
    delay: Duration,
    wait: Duration,
) -> impl Stream<Item = Bytes> {
    let from = Instant::now() + wait;
    let ticks = (!delay.is_zero()).then(|| tokio::time::interval_at(from, delay));
    stream::unfold((words, ticks), |(mut words, mut ticks)| async move {
        let word = words.next()?;
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        Some((word, (words, ticks)))
    })
}

/// One piece of an answer, with all that services put around the words.
fn piece(delta: &Value, finish: Value) -> Bytes {
    let chunk = json!({
        "id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1_760_000_000,
        "model": "bench", "system_fingerprint": "fp_bench",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    });
    format!("data: {chunk}\n\n").into()
}

/// The number behind a name in the question.
fn number(asked: &str, name: &str) -> u64 {
    let (_, rest) = asked.split_once(name).unwrap();
    rest.split(|sign: char| !sign.is_ascii_digit()).next().unwrap().parse().unwrap()
}
