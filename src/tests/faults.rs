//! What goes wrong around the program, done for real: it says so, loses nothing, leaves nothing half
//! done, and goes on.

mod asleep;
mod clock;
mod disk;
mod durable;
mod ending;
mod invariants;
mod killed;
mod locked;
mod postgres;
mod refused;
mod watchers;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::restart::{Server, script};

const OPTIMIST: &str = "/api/storage/personas/optimist";

/// A script in which the model says little.
fn brief(folder: &Path) -> PathBuf {
    script(folder, &json!([[{"text": "Hm."}]]))
}

/// Renames the sample, and says how that was answered.
async fn rename(server: &Server, name: &str) -> u16 {
    server.ask("PUT", OPTIMIST, Some(&json!({"name": name}))).await.0
}

/// The page of a chat in which something was answered.
async fn answered(server: &Server) -> String {
    let new = json!({"personaId": "optimist", "title": "Hm", "settings": {"images": false}});
    let (_, chat) = server.ask("POST", "/api/chats", Some(&new)).await;
    let chat: Value = serde_json::from_str(&chat).unwrap();
    let page = format!("/chats/{}", chat["id"].as_str().unwrap());
    let messages = format!("/api{page}/messages");
    server.ask("POST", &messages, Some(&json!({"content": "Well?"}))).await;
    while server.get(&messages).await["run"]["status"] != "done" {}
    page
}

/// How often something is killed: few times, unless one wants to wait.
fn rounds() -> usize {
    let wanted = std::env::var("GREENROOM_TEST_KILLS").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(12)
}

/// Places that look like chance, and are the same ones each time.
struct Chance(u64);

impl Chance {
    /// The next place, below this.
    fn below(&mut self, most: usize) -> usize {
        let Self(seed) = self;
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % most
    }
}
