//! More answers at once than a service takes on one connection.

#[path = "../bench/encrypted.rs"]
pub mod encrypted;

use std::convert::Infallible;

use axum::{Router, body::Body, http::header, response::IntoResponse, routing::post};
use encrypted::STREAMS;
use futures::{StreamExt, stream};
use serde_json::json;

use crate::restart::{Chat, Server, script};

/// Begins to answer, and does not come to an end.
async fn begin() -> impl IntoResponse {
    let piece = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well"}}],
    });
    let first = stream::iter([Ok::<_, Infallible>(format!("data: {piece}\n\n"))]);
    let body = Body::from_stream(first.chain(stream::pending()));
    ([(header::CONTENT_TYPE, "text/event-stream")], body)
}

#[tokio::test]
async fn no_answer_waits_for_the_end_of_others_when_a_connection_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("service.pem");
    let router = Router::new().route("/v1/chat/completions", post(begin));
    let local = ([127, 0, 0, 1], 0).into();
    let (service, serving) = encrypted::listen(local, router, &certificate).await;
    tokio::spawn(serving);
    let variables = [
        ("OLLAMA_HOST", format!("https://{service}")),
        ("SSL_CERT_FILE", certificate.display().to_string()),
    ];
    let script = script(folder.path(), &json!([[{"text": "Hm."}]]));
    let server = Server::start_with(&folder.path().join("data"), &script, &variables).await;

    let mut open: Vec<Chat> = Vec::new();
    for number in 0..STREAMS + 10 {
        let id = format!("persona-{number}");
        let new = json!({
            "id": id, "name": id, "systemPrompt": "Answer.", "model": "ollama/m",
        });
        let (status, told) = server.ask("POST", "/api/storage/personas", Some(&new)).await;
        assert_eq!(status, 201, "{told}");
        open.push(server.chat_with(&id, "Are you there?").await);
    }

    for chat in &mut open {
        assert_eq!(chat.words(1).await[0].1, "Well");
    }
}
