//! A server that runs, reached as any other program reaches it.

use std::time::Duration;

use async_stream::stream;
use futures_util::StreamExt;
use reqwest::{Client, Method, RequestBuilder, Response, Url, header, redirect::Policy};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use sse_stream::SseStream;

use super::{Events, Kept, StageError};
use crate::{
    domain::{
        address::escaped,
        change::{ChangeState, Outcome},
        error::ApiError,
        event::{RunEvent, Stamped},
        id::{ChangeId, ConversationId, MessageId, RunId},
        list::Page,
        model::Model,
        proposal::{Approval, Proposal},
        rating::{NewRating, Rating},
        run::Run,
        terminal::{
            NewTerminal, Said, SessionRecord, TerminalChanges, TerminalSession, TerminalTalk,
        },
        timestamp::Timestamp,
    },
    providers::trust,
};

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(5);
/// How long it may take to answer what is no stream; a summary may be made before an answer begins.
const ANSWER: Duration = Duration::from_secs(120);
/// How often a stream that broke is taken up again without anything new.
const ATTEMPTS: u32 = 5;
/// How often something is said at most until somebody answers.
const SAYINGS: u32 = 3;
/// How long to wait before that.
const PAUSE: Duration = Duration::from_millis(300);

/// A server.
#[derive(Clone)]
pub struct Remote {
    client: Client,
    address: String,
    token: Option<String>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Remote").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The items of a list that has one page.
#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

/// Whether a session was removed.
#[derive(Deserialize)]
struct Discarded {
    discarded: bool,
}

/// The models, as the API lists them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Models {
    items: Vec<Model>,
    default_model: String,
}

/// An event with when it happened, as the API tells it.
#[derive(Deserialize)]
struct Dated {
    #[serde(flatten)]
    event: RunEvent,
    at: Timestamp,
}

impl Remote {
    /// A server at this address, which is shown this token if there is one. Nothing is sent yet.
    pub fn at(address: &str, token: Option<String>) -> Result<Self, StageError> {
        let wrong = || StageError::Address(address.to_owned());
        let url = Url::parse(address).map_err(|_| wrong())?;
        let host = url.host_str().filter(|_| ["http", "https"].contains(&url.scheme()));
        let host = host.ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        let broken = |error: &dyn std::error::Error| StageError::Client(error.to_string());
        let builder = Client::builder()
            .connect_timeout(CONNECT)
            // Whoever it points to would be shown the token.
            .redirect(Policy::none())
            .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")));
        let own = host == "localhost"
            || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        let builder = if own { builder.no_proxy() } else { builder };
        let trust = trust().map_err(|error| broken(&error))?;
        let client = builder.tls_backend_preconfigured(trust).build();
        let client = client.map_err(|error| broken(&error))?;
        let address = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { client, address, token })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.address));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ApiError> {
        let response = request.send().await.map_err(|error| {
            tracing::debug!(%error, "the server does not answer");
            ApiError::Offline
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.bytes().await.unwrap_or_default();
        Err(match told(status.as_u16(), &body) {
            ApiError::SignIn { reason } => {
                let address = &self.address;
                let reason = format!(
                    "The server at {address} wants to know who asks: make a token on \
                     {address}/account, and set GREENROOM_TOKEN or give --token. It says: {reason}"
                );
                ApiError::SignIn { reason }
            }
            error => error,
        })
    }

    /// Decides on a draft. Where there are accounts, only a person in a browser can.
    async fn decide<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        self.post(path, body).await.map_err(|error| match error {
            ApiError::Denied { reason } if self.token.is_some() => {
                let address = &self.address;
                let reason = format!(
                    "Drafts on this server are decided on in a browser: {address}/inbox. {reason}"
                );
                ApiError::Denied { reason }
            }
            error => error,
        })
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ApiError> {
        let response = self.send(request.timeout(ANSWER)).await?;
        let body = response.bytes().await.map_err(|_| ApiError::Offline)?;
        serde_json::from_slice(&body).map_err(|error| {
            tracing::debug!(%error, "the server answered something else");
            strange()
        })
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.answer(self.request(Method::GET, path)).await
    }

    async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        self.answer(with_json(self.request(method, path), body)).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        self.write(Method::POST, path, body).await
    }

    pub(super) async fn sessions(&self, kept: Kept) -> Result<Vec<TerminalSession>, ApiError> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let deleted = kept == Kept::Deleted;
            let path = format!("/api/terminal/sessions?limit=200&deleted={deleted}{after}");
            let page: Page<TerminalSession> = self.get(&path).await?;
            all.extend(page.items);
            match page.next {
                Some(next) => after = format!("&after={}", escaped(&next)),
                None => return Ok(all),
            }
        }
    }

    pub(super) async fn find(&self, text: &str) -> Result<TerminalSession, ApiError> {
        self.get(&format!("/api/terminal/find?session={}", escaped(text))).await
    }

    pub(super) async fn create(&self, new: NewTerminal) -> Result<TerminalSession, ApiError> {
        self.post("/api/terminal/sessions", &new).await
    }

    pub(super) async fn session(&self, id: &ConversationId) -> Result<TerminalSession, ApiError> {
        self.get(&session(id, "")).await
    }

    pub(super) async fn change(
        &self,
        id: &ConversationId,
        changes: TerminalChanges,
    ) -> Result<TerminalSession, ApiError> {
        self.write(Method::PATCH, &session(id, ""), &changes).await
    }

    pub(super) async fn delete(&self, id: &ConversationId) -> Result<(), ApiError> {
        self.send(self.request(Method::DELETE, &session(id, "")).timeout(ANSWER)).await.map(drop)
    }

    pub(super) async fn discard(&self, id: &ConversationId) -> Result<bool, ApiError> {
        let discarded: Discarded = self.post(&session(id, "/discard"), &json!({})).await?;
        Ok(discarded.discarded)
    }

    pub(super) async fn restore(&self, id: &ConversationId) -> Result<TerminalSession, ApiError> {
        self.post(&session(id, "/restore"), &json!({})).await
    }

    pub(super) async fn talk(
        &self,
        id: &ConversationId,
        most: u32,
    ) -> Result<TerminalTalk, ApiError> {
        self.get(&session(id, &format!("/messages?limit={most}"))).await
    }

    pub(super) async fn earlier(
        &self,
        id: &ConversationId,
        until: &MessageId,
        most: u32,
    ) -> Result<TerminalTalk, ApiError> {
        self.get(&session(id, &format!("/messages?until={until}&limit={most}"))).await
    }

    /// Says something. Where the answer is lost, it is sent again under the same name, so that it is said once.
    pub(super) async fn say(&self, id: &ConversationId, words: &str) -> Result<Said, ApiError> {
        let path = session(id, "/messages");
        let spoken = json!({"content": words, "clientId": uuid::Uuid::new_v4().to_string()});
        for attempt in 1..SAYINGS {
            match self.post(&path, &spoken).await {
                Err(ApiError::Offline) => tokio::time::sleep(PAUSE * attempt).await,
                said => return said,
            }
        }
        self.post(&path, &spoken).await
    }

    pub(super) async fn run(&self, id: &RunId) -> Result<Run, ApiError> {
        self.get(&format!("/api/runs/{id}")).await
    }

    pub(super) async fn watch(&self, run: &RunId, after: u64) -> Result<Events, ApiError> {
        let (remote, run) = (self.clone(), run.clone());
        let first = remote.events(&run, after).await?;
        let events = stream! {
            let (mut seen, mut attempts, mut next) = (after, 0, Some(first));
            loop {
                let mut frames = match next.take() {
                    Some(response) => SseStream::from_bytes_stream(response.bytes_stream()),
                    None => match remote.events(&run, seen).await {
                        Ok(response) => SseStream::from_bytes_stream(response.bytes_stream()),
                        Err(error) if error.is_transient() && attempts < ATTEMPTS => {
                            attempts += 1;
                            tokio::time::sleep(PAUSE * attempts).await;
                            continue;
                        }
                        Err(error) => {
                            yield Err(error);
                            return;
                        }
                    },
                };
                while let Some(Ok(frame)) = frames.next().await {
                    let seq = frame.id.as_deref().and_then(|id| id.parse().ok());
                    let Some((seq, data)) = seq.zip(frame.data) else { continue };
                    let Ok(Dated { event, at }) = serde_json::from_str(&data) else {
                        yield Err(strange());
                        return;
                    };
                    (seen, attempts) = (seq, 0);
                    let over = matches!(event, RunEvent::Ended { .. });
                    yield Ok(Stamped { seq, at, event });
                    if over {
                        return;
                    }
                }
                // It broke off: the server went away, and may be back.
                attempts += 1;
                if attempts > ATTEMPTS {
                    yield Err(ApiError::Offline);
                    return;
                }
                tokio::time::sleep(PAUSE * attempts).await;
            }
        };
        Ok(events.boxed())
    }

    async fn events(&self, run: &RunId, after: u64) -> Result<Response, ApiError> {
        let path = format!("/api/runs/{run}/events?after={after}");
        // The stream lasts as long as the answer does; only its beginning has a limit.
        let sent = self.send(self.request(Method::GET, &path));
        tokio::time::timeout(ANSWER, sent).await.unwrap_or(Err(ApiError::Offline))
    }

    pub(super) async fn stop(&self, run: &RunId) -> Result<Run, ApiError> {
        self.post(&format!("/api/runs/{run}/stop"), &json!({})).await
    }

    pub(super) async fn models(&self) -> Result<(Vec<Model>, String), ApiError> {
        let models: Models = self.get("/api/models").await?;
        Ok((models.items, models.default_model))
    }

    pub(super) async fn drafts(&self, id: &ConversationId) -> Result<Vec<Proposal>, ApiError> {
        let drafts: Items<Proposal> = self.get(&session(id, "/drafts")).await?;
        Ok(drafts.items)
    }

    pub(super) async fn waiting(&self) -> Result<Vec<Proposal>, ApiError> {
        let mut all = Vec::new();
        for state in [ChangeState::Pending, ChangeState::Conflict] {
            let path = format!("/api/pending-changes?limit=200&state={}", state.word());
            let drafts: Items<Proposal> = self.get(&path).await?;
            all.extend(drafts.items);
        }
        Ok(all)
    }

    pub(super) async fn draft(&self, id: &ChangeId) -> Result<Proposal, ApiError> {
        self.get(&draft(id, "")).await
    }

    pub(super) async fn accept(
        &self,
        id: &ChangeId,
        approval: Approval,
    ) -> Result<Outcome, ApiError> {
        self.decide(&draft(id, "/approve"), &approval).await
    }

    pub(super) async fn reject(&self, id: &ChangeId, reason: &str) -> Result<Outcome, ApiError> {
        self.decide(&draft(id, "/reject"), &json!({"reason": reason})).await
    }

    pub(super) async fn undo(&self, id: &ChangeId) -> Result<Outcome, ApiError> {
        self.decide(&format!("/api/changes/{id}/undo"), &json!({})).await
    }

    pub(super) async fn reopen(&self, id: &ChangeId) -> Result<Outcome, ApiError> {
        self.decide(&draft(id, "/reopen"), &json!({})).await
    }

    pub(super) async fn record(&self, id: &ConversationId) -> Result<SessionRecord, ApiError> {
        self.get(&session(id, "/record")).await
    }

    pub(super) async fn rate(
        &self,
        message: &MessageId,
        given: NewRating,
    ) -> Result<Rating, ApiError> {
        self.write(Method::PUT, &format!("/api/messages/{message}/rating"), &given).await
    }

    pub(super) async fn rating(&self, message: &MessageId) -> Result<Rating, ApiError> {
        self.get(&format!("/api/messages/{message}/rating")).await
    }

    pub(super) async fn unrate(&self, message: &MessageId) -> Result<(), ApiError> {
        let path = format!("/api/messages/{message}/rating");
        self.send(self.request(Method::DELETE, &path).timeout(ANSWER)).await.map(drop)
    }

    pub(super) async fn ratings(&self, id: &ConversationId) -> Result<Vec<Rating>, ApiError> {
        let ratings: Items<Rating> = self.get(&format!("/api/conversations/{id}/ratings")).await?;
        Ok(ratings.items)
    }

    /// What is wrong with the tools there. A server that does not tell has a log.
    pub(super) async fn tool_problems(&self) -> Vec<String> {
        match self.get::<Items<String>>("/api/terminal/problems").await {
            Ok(problems) => problems.items,
            Err(error) => {
                tracing::debug!(%error, "the server does not tell about its tools");
                Vec::new()
            }
        }
    }

    pub(super) async fn import(&self, record: SessionRecord) -> Result<TerminalSession, ApiError> {
        self.post("/api/terminal/import", &record).await
    }
}

/// The address of a session, with what follows it.
fn session(id: &ConversationId, rest: &str) -> String {
    format!("/api/terminal/sessions/{id}{rest}")
}

/// The address of a draft, with what follows it.
fn draft(id: &ChangeId, rest: &str) -> String {
    format!("/api/pending-changes/{id}{rest}")
}

fn with_json(request: RequestBuilder, body: &impl Serialize) -> RequestBuilder {
    request.header(header::CONTENT_TYPE, "application/json").body(json!(body).to_string())
}

fn strange() -> ApiError {
    let reason =
        "What answers there speaks otherwise than this program: it may be another version.";
    ApiError::NotNow { reason: reason.into() }
}

/// The error that the API told.
fn told(status: u16, body: &[u8]) -> ApiError {
    #[derive(Deserialize)]
    struct Told {
        error: Detail,
    }
    #[derive(Deserialize)]
    struct Detail {
        code: String,
        message: String,
        #[serde(flatten)]
        more: Map<String, Value>,
    }
    let Ok(Told { error }) = serde_json::from_slice(body) else {
        let reason = match status {
            401 | 403 => "The server wants to know who asks: set GREENROOM_TOKEN.".to_owned(),
            status => format!("The server answered with {status}, and without a word."),
        };
        return ApiError::NotNow { reason };
    };
    let Detail { code, message, more } = error;
    // Those without anything beside them are words, the others have their fields.
    let known = match more.is_empty() {
        true => json!(code),
        false => json!({ code: more }),
    };
    serde_json::from_value(known).unwrap_or(ApiError::NotNow { reason: message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::error::ErrorBody;

    #[test]
    fn an_error_is_the_same_on_both_sides_of_the_wire() {
        for error in [
            ApiError::not_found("session"),
            ApiError::invalid("model", "There is no such model."),
            ApiError::Busy { run_id: "r".into() },
            ApiError::Unavailable,
            ApiError::DiskFull,
        ] {
            let status = error.status();
            let body = serde_json::to_vec(&ErrorBody::from(error.clone())).unwrap();
            assert_eq!(told(status, &body), error);
        }
        let odd = br#"{"error": {"code": "news", "message": "Something new."}}"#;
        assert_eq!(told(400, odd).to_string(), "Something new.");
        assert!(told(401, b"<html>").to_string().contains("GREENROOM_TOKEN"));
    }

    #[test]
    fn only_addresses_of_servers_are_taken() {
        assert_eq!(
            Remote::at("http://127.0.0.1:3000/", None).unwrap().address,
            "http://127.0.0.1:3000"
        );
        for odd in ["", "127.0.0.1:3000", "ftp://x", "http://"] {
            assert!(matches!(Remote::at(odd, None), Err(StageError::Address(_))), "{odd}");
        }
    }
}
