//! Code that breaks in the middle: one request or one answer fails, in words that give nothing away, and all
//! else goes on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::http::{Method, header};
use greenroom::providers::Dialect;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    fake_service::{FakeService, Reply},
    services::wire,
    support::{Answer, House, request, told},
};

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What nobody outside may read.
const CAUSE: &str = "the trap at line 7 of the secret file";

/// A trap in what looks up variables: it goes off when they are looked up for so many more times.
#[derive(Clone, Default)]
struct Trap {
    looks: Arc<AtomicUsize>,
    at: Arc<AtomicUsize>,
}

impl Trap {
    fn step_on(&self) {
        let look = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(look != self.at.load(Ordering::SeqCst), "{CAUSE}");
    }

    /// Goes off at this look from now on.
    fn set(&self, at: usize) {
        self.looks.store(0, Ordering::SeqCst);
        self.at.store(at, Ordering::SeqCst);
    }

    fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }
}

async fn house(trap: &Trap, fake: Option<&FakeService>) -> House {
    let base = fake.map(|fake| format!("http://{}", fake.address));
    let trap = trap.clone();
    House::in_environment(move |name| match name {
        "ANTHROPIC_API_KEY" => {
            trap.step_on();
            Some("sk-test".into())
        }
        "ANTHROPIC_BASE_URL" => base.clone(),
        _ => None,
    })
    .await
}

fn is_generic(answer: &Answer) {
    assert_eq!(answer.status, 500, "{}", answer.text);
    for secret in [CAUSE, "trap", "panic", ".rs"] {
        assert!(!answer.text.contains(secret), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_handler_that_breaks_is_one_error_and_the_next_request_is_answered() {
    let trap = Trap::default();
    let house = house(&trap, None).await;
    assert_eq!(house.get("/api/models").await.status, 200);
    trap.set(1);

    let broken = timeout(PATIENCE, house.get("/api/models")).await.expect("it hangs");

    is_generic(&broken);
    assert_eq!(broken.json()["error"]["code"], "internal");
    assert_eq!(house.get("/api/models").await.status, 200);
    let renamed = json!({"name": "Still there"});
    house.call(Method::PUT, "/api/storage/personas/optimist", renamed).await.good();
}

#[tokio::test]
async fn a_page_that_breaks_while_it_is_made_is_one_error_and_the_next_one_is_shown() {
    let trap = Trap::default();
    let house = house(&trap, None).await;
    let page = async || {
        let mut request = request(Method::GET, "/settings", None);
        request.headers_mut().insert(header::ACCEPT, "text/html".parse().unwrap());
        timeout(PATIENCE, house.send(request)).await.expect("it hangs")
    };
    trap.set(0);
    assert_eq!(page().await.status, 200);
    assert!(trap.looks() > 0, "this page looks up nothing");
    trap.set(1);

    let broken = page().await;

    is_generic(&broken);
    let again = page().await;
    assert_eq!(again.status, 200);
    assert!(again.text.contains("</html>"), "it is whole");
}

#[tokio::test]
async fn an_answer_that_breaks_ends_and_the_conversation_goes_on() {
    let (trap, fake) = (Trap::default(), FakeService::start().await);
    let house = house(&trap, Some(&fake)).await;
    let ann = json!({"id": "ann", "name": "Ann", "systemPrompt": "", "model": "claude-sonnet-5-5"});
    house.call(Method::POST, "/api/storage/personas", ann).await.good();
    let say = async || {
        let claude = Dialect::Anthropic;
        let call = [
            wire::opening(claude),
            wire::call(claude, "get_persona", &json!({})),
            wire::ending(claude, wire::Ending::Calls, &wire::usage(claude)),
        ]
        .concat();
        let answer = wire::answer(claude, "It is Ann.");
        fake.play([Reply::stream(call), Reply::stream(answer)]);
        let said = json!({"personaId": "ann", "message": "Who is it?"});
        let told_all = house.call(Method::POST, "/api/persona-agent/chat", said);
        let answer = timeout(PATIENCE, told_all).await.expect("it hangs");
        assert_eq!(answer.status, 200, "{}", answer.text);
        let last: Value = told(&answer).pop().unwrap();
        (answer.header("greenroom-run-id").to_owned(), last)
    };
    trap.set(0);
    assert_eq!(say().await.1["type"], "done");
    // The last look is for the second question to the model, in the middle of the answer.
    trap.set(trap.looks());

    let (run, last) = say().await;

    assert_eq!(last["type"], "error", "{last}");
    assert!(!last.to_string().contains("trap"), "{last}");
    let state = house.get(&format!("/api/runs/{run}")).await.good();
    assert_eq!(state["status"], "failed", "{state}");
    assert!(!state.to_string().contains("trap"), "{state}");
    trap.set(0);
    fake.play([]);
    assert_eq!(say().await.1["type"], "done", "nothing is left locked");
}
