//! What stands after a question mark leads into no other Space: every word there that can name something is given each
//! of the neighbour's things, beside things of one's own.

use std::collections::BTreeSet;

use axum::http::Method;
use greenroom::{
    agent::{ChatWords, NewChat, NewSession},
    domain::{
        change::{Change, Op},
        id::{PersonaId, TestInputId},
    },
};
use serde_json::{Value, json};

use crate::support::{House, on_both};

on_both!(no_query_reaches_into_another_space);

/// Words that are looked for, said or chosen from, and name nothing.
const PLAIN: [&str; 5] = ["content", "deviceId", "model", "q", "search"];

/// All that can name something, each as the path and the word.
async fn named_in_queries(house: &House) -> BTreeSet<(String, String)> {
    let document = house.get("/api/openapi.json").await.good();
    let mut found = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parameters = methods["get"]["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            if is_word(&document, schema) && !PLAIN.contains(&name) {
                found.insert((path.clone(), name.to_owned()));
            }
        }
    }
    found
}

/// Whether any word may stand there. Numbers, choices and what is said or not name nothing.
fn is_word(document: &Value, schema: &Value) -> bool {
    if let Some(at) = schema["$ref"].as_str() {
        return is_word(document, document.pointer(at.trim_start_matches('#')).unwrap());
    }
    if let Some(all) = schema["anyOf"].as_array() {
        return all.iter().any(|one| is_word(document, one));
    }
    let kind = &schema["type"];
    (kind == "string" || kind == &json!(["string", "null"])) && schema["enum"].is_null()
}

/// Things of a house by what they are called, with these words in all of them.
struct Things {
    persona: PersonaId,
    test: TestInputId,
    change: String,
    session: String,
    chat: String,
    talk: String,
    messages: Vec<String>,
    runs: Vec<String>,
    picture: String,
}

impl Things {
    async fn of(house: &House, name: &str, words: &str) -> Self {
        let persona = house.persona(name, words).await;
        let test = TestInputId::new(format!("{name}-test"));
        let create = Change::new(&test, Op::Create).set("content", words);
        let made = house.submit(create.set("personaId", name)).await.unwrap();
        let (agent, scope) = (&house.state.agent, &house.state.scope);
        let session = format!("{name}-session");
        let new = NewSession {
            id: Some(session.as_str().into()),
            persona: persona.clone(),
            title: words.into(),
            ..NewSession::default()
        };
        agent.create_session(scope, new).await.unwrap();
        let new = NewChat { persona: persona.clone(), title: words.into(), ..NewChat::default() };
        let chat = agent.create_chat(scope, new).await.unwrap().id;
        let said = ChatWords { content: words.into(), ..ChatWords::default() };
        let in_chat = agent.say_in_chat(scope, &chat, said).await.unwrap();
        agent.ended(scope, &in_chat.id).await.unwrap();
        let asked = agent.send(scope, &persona, words, None).await.unwrap();
        agent.ended(scope, &asked.id).await.unwrap();
        let drawn = json!({"prompt": words, "personaId": name});
        let picture = house.call(Method::POST, "/api/pictures", drawn).await.good();
        house.state.jobs.work_off().await.unwrap();
        let messages = [&in_chat, &asked].map(|run| [&run.message_id, &run.reply_id]);
        Self {
            persona,
            test,
            change: made.change_id.unwrap().as_str().to_owned(),
            session,
            chat: chat.as_str().to_owned(),
            talk: asked.conversation_id.as_str().to_owned(),
            messages: messages.as_flattened().iter().map(|id| id.as_str().to_owned()).collect(),
            runs: [in_chat, asked].map(|run| run.id.as_str().to_owned()).into(),
            picture: picture["id"].as_str().unwrap().to_owned(),
        }
    }

    /// Everything by which it could be asked for.
    fn all(&self) -> Vec<&str> {
        let single = [
            self.persona.as_str(),
            self.test.as_str(),
            &self.change,
            &self.session,
            &self.chat,
            &self.talk,
            &self.picture,
        ];
        let more = self.messages.iter().chain(&self.runs).map(String::as_str);
        single.into_iter().chain(more).collect()
    }

    /// A path with these in it.
    fn filled(&self, path: &str) -> String {
        let id = match path {
            path if path.starts_with("/api/conversations") => &self.talk,
            path if path.starts_with("/api/chats") => &self.chat,
            _ => self.persona.as_str(),
        };
        path.replace("{testInputId}", self.test.as_str())
            .replace("{sessionId}", &self.session)
            .replace("{id}", id)
    }
}

async fn no_query_reaches_into_another_space(house: House) {
    let neighbour = house.neighbour().await;
    let theirs = Things::of(&neighbour, "secret", "a secret").await;
    let ours = Things::of(&house, "open", "for all to see").await;
    let named = named_in_queries(&house).await;
    assert!(named.len() >= 25, "{named:?}");
    let known = |what: &str| named.iter().any(|(_, name)| name == what);
    for name in ["after", "around", "before", "chatId", "leaf", "messageId", "personaId"] {
        assert!(known(name), "{name} is named nowhere: {named:?}");
    }

    for (path, name) in &named {
        let own = ours.filled(path);
        // Talks of a terminal are begun there.
        let own = own.replace("/terminal/sessions/open-session", "/terminal/sessions/none");
        for id in theirs.all() {
            let address = format!("{own}?{name}={id}");
            let answer = house.get(&address).await;
            assert!(answer.status.as_u16() < 500, "{address}: {}", answer.text);
            assert!(!answer.text.contains("a secret"), "{address}: {}", answer.text);
            if answer.status.is_success() {
                let told: Value = serde_json::from_str(&answer.text).unwrap_or_default();
                let told = told.to_string();
                let others = theirs.all();
                let mut others = others.iter().filter(|other| **other != id && other.len() > 20);
                assert!(!others.any(|other| told.contains(other)), "{address}: {told}");
            }
        }
        // What is one's own is told there, or that more is wanted.
        if !own.contains("/none") {
            assert_ne!(house.get(&own).await.status, 404, "{own}");
        }
    }
}
