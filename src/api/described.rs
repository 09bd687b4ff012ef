//! Answers that are no JSON, for the document: the handlers' types do not tell of them.

use aide::openapi::{MediaType, OpenApi, Operation, ReferenceOr, Response, StatusCode};

/// An answer of a route: its status, what it is, and what its content is called; nothing without one.
type Answer = (&'static str, &'static str, u16, &'static str, &'static [&'static str]);

const STREAM: &[&str] = &["text/event-stream"];

/// All of them, by path and method.
const ANSWERS: &[Answer] = &[
    ("/api/live", "get", 200, "What is changed, as it is.", STREAM),
    ("/api/runs/{id}/events", "get", 200, "What the run tells.", STREAM),
    ("/api/runs/{id}/events", "get", 204, "Its end was heard.", &[]),
    ("/api/persona-agent/chat", "post", 200, "The answer.", STREAM),
    ("/api/conversations/{id}/stream", "get", 200, "The answer.", STREAM),
    ("/api/conversations/{id}/stream", "get", 204, "Its end was heard.", &[]),
    ("/api/agents/{id}/playground/chat", "post", 200, "The answer.", STREAM),
    ("/api/agents/{id}/playground/{sessionId}/stream", "get", 200, "The answer.", STREAM),
    ("/api/agents/{id}/playground/{sessionId}/stream", "get", 204, "There is none.", &[]),
    ("/api/agents/{id}/playground/chat/{sessionId}/stream", "get", 200, "The answer.", STREAM),
    ("/api/agents/{id}/playground/chat/{sessionId}/stream", "get", 204, "There is none.", &[]),
    (
        "/api/agents/{id}/playground/sessions/{sessionId}/files.zip",
        "get",
        200,
        "The files.",
        &["application/zip"],
    ),
    (
        "/api/agents/{id}/playground/sessions/{sessionId}/files/{path}",
        "get",
        200,
        "The file: text, or whatever it is.",
        &["text/plain", "application/octet-stream"],
    ),
    (
        "/api/agents/{id}/playground/sessions/{sessionId}/files/{path}",
        "put",
        204,
        "It is written.",
        &[],
    ),
    (
        "/api/agents/{id}/playground/sessions/{sessionId}/files/{path}",
        "delete",
        204,
        "It is gone.",
        &[],
    ),
    ("/api/agents/{id}/playground/sessions/{sessionId}", "delete", 204, "It is deleted.", &[]),
    ("/api/messages/{id}/rating", "delete", 204, "It is taken back.", &[]),
    ("/api/chats/{id}/markdown", "get", 200, "The path.", &["text/markdown"]),
    (
        "/api/pictures/{id}/file",
        "get",
        200,
        "The picture.",
        &["image/png", "image/jpeg", "image/webp", "image/gif"],
    ),
];

/// Where a client shows the body of an error to people as it is.
const PLAIN_ERRORS: (&str, &str) = ("/api/agents/{id}/playground/chat", "post");

/// Writes them into the document.
pub fn describe(document: &mut OpenApi) {
    for (path, method, status, told, contents) in ANSWERS {
        let Some(operation) = operation(document, path, method) else { continue };
        let contents = contents.iter().map(|kind| ((*kind).into(), MediaType::default()));
        let response = Response {
            description: (*told).into(),
            content: contents.collect(),
            ..Response::default()
        };
        let responses = &mut operation.responses.get_or_insert_default().responses;
        responses.insert(StatusCode::Code(*status), ReferenceOr::Item(response));
    }
    let errors = operation(document, PLAIN_ERRORS.0, PLAIN_ERRORS.1)
        .and_then(|operation| operation.responses.as_mut()?.default.as_mut());
    if let Some(ReferenceOr::Item(errors)) = errors {
        errors.content.insert("text/plain".into(), MediaType::default());
    }
}

fn operation<'a>(document: &'a mut OpenApi, path: &str, method: &str) -> Option<&'a mut Operation> {
    let item = match document.paths.as_mut()?.paths.get_mut(path)? {
        ReferenceOr::Item(item) => item,
        ReferenceOr::Reference { .. } => return None,
    };
    match method {
        "get" => item.get.as_mut(),
        "put" => item.put.as_mut(),
        "post" => item.post.as_mut(),
        "delete" => item.delete.as_mut(),
        _ => None,
    }
}
