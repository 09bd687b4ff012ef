//! Collections of what breaks careless programs, sent to where people and programs write.

use axum::http::Method;
use base64::{Engine, prelude::BASE64_STANDARD};
use greenroom::{
    domain::{
        actor::Actor,
        change::{Change, Op},
        id::PersonaId,
        persona::Tier,
        proposal::{Source, Sources},
        visible::{has_hidden, visible},
    },
    markdown::to_html,
};
use serde_json::json;

use crate::{
    hostile::collected,
    support::{House, on_both, request},
};

on_both!(
    odd_texts_are_kept_letter_by_letter_and_found_again,
    bodies_that_are_no_json_or_no_text_are_refused,
);

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn odd_texts_are_kept_letter_by_letter_and_found_again(house: House) {
    let mut kept = 0;
    for text in collected("blns.json", "payload") {
        let page = json!({"title": "Odd", "body": text});
        let made = house.call(Method::POST, "/api/storage/pages", page).await;
        if made.status.is_success() {
            let path = format!("/api/storage/pages/{}", made.json()["id"].as_str().unwrap());
            assert_eq!(house.get(&path).await.good()["body"], json!(text));
            kept += 1;
        } else {
            assert_eq!(made.status.as_u16(), 422, "{text:?}: {}", made.text);
        }
        let named = json!({"name": text});
        let named = house.call(Method::PUT, "/api/storage/personas/optimist", named).await;
        assert!(matches!(named.status.as_u16(), 200 | 422), "{text:?}: {}", named.text);
        for path in ["/search?q=", "/api/search?q="] {
            let found = house.get(&format!("{path}{}", escaped(&text))).await;
            assert!(found.status.as_u16() < 500, "{text:?}: {}", found.text);
        }
    }
    assert!(kept > 50, "only {kept} odd texts were kept");
}

async fn bodies_that_are_no_json_or_no_text_are_refused(house: House) {
    let mut bodies: Vec<Vec<u8>> = collected("json_test_suite.json", "b64")
        .into_iter()
        .map(|body| BASE64_STANDARD.decode(body).unwrap())
        .collect();
    for line in collected("utf8_decoder.json", "line") {
        let Some((_, hex)) = line.split_once("hex:") else { continue };
        let bytes = hex.split_whitespace().filter_map(|byte| u8::from_str_radix(byte, 16).ok());
        bodies.push([b"{\"title\": \"".to_vec(), bytes.collect(), b"\"}".to_vec()].concat());
    }
    for deep in ["[", "{\"a\":", "[{\"a\":"] {
        bodies.push(deep.repeat(100_000).into_bytes());
    }
    for body in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        for (method, path) in [
            (Method::POST, "/api/storage/pages"),
            (Method::PUT, "/api/storage/personas/optimist"),
            (Method::POST, "/api/chats/import"),
            (Method::POST, "/api/persona-agent/chat"),
        ] {
            let answer = house.send(request(method, path, Some(body.clone()))).await;
            assert!(answer.status.as_u16() < 500, "{path} {shown}: {}", answer.text);
        }
    }
    // Nothing of it came through as anything but text.
    assert_eq!(house.get("/").await.status, 200);
    assert_eq!(house.get("/knowledge").await.status, 200);
}

#[tokio::test]
async fn names_of_files_lead_nowhere_else() {
    let house = House::new().await;
    let sessions = "/api/agents/code-reviewer/playground/sessions";
    let session = house.call(Method::POST, sessions, json!({})).await.good();
    let files = format!("{sessions}/{}/files", session["id"].as_str().unwrap());
    let mut taken = 0;
    for payload in collected("path_traversal.json", "payload") {
        let name = payload.replace("{FILE}", "etc/passwd");
        let address = format!("{files}/{}", escaped(&name));
        let canary = json!({"content": "canary"});
        let written = house.call(Method::PUT, &address, canary).await;
        assert!(written.status.as_u16() < 500, "{name:?}: {}", written.text);
        taken += usize::from(written.status.is_success());
        let read = house.get(&address).await;
        assert!(read.status.as_u16() < 500, "{name:?}: {}", read.text);
        assert!(!read.text.contains("root:"), "{name:?} was read from the disk");
        // As it stands in an address, too.
        let plain: String = name.chars().filter(|letter| letter.is_ascii_graphic()).collect();
        if format!("/pkg/{plain}").parse::<axum::http::Uri>().is_ok() {
            let file = house.get(&format!("/pkg/{plain}")).await;
            assert!(file.status.as_u16() < 500 && !file.text.contains("root:"), "{plain:?}");
        }
    }
    // Some are names like any other: percent signs mean nothing here.
    assert!(taken > 10, "only {taken} names were taken as they are");
    let kept = house.get(&files).await.good();
    for file in kept["items"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        assert!(path.split('/').all(|step| !matches!(step, "" | "." | "..")), "{path:?}");
    }
}

#[test]
fn what_turns_or_hides_letters_is_written_out_in_code_and_in_reviews() {
    let hidden = |letter: char| has_hidden(&letter.to_string());
    for text in collected("trojan_source.json", "payload") {
        assert!(has_hidden(&text), "{text:?} hides nothing");
        let code = to_html(&format!("```\n{text}\n```"));
        for shown in [visible(text.clone()), code] {
            assert!(shown.contains("⟦U+"), "{text:?}: {shown}");
            assert!(!shown.contains(hidden), "{text:?}: {shown:?}");
        }
    }
}

#[tokio::test]
async fn nothing_hides_on_the_card_of_a_draft_or_beside_a_refused_text() {
    let house = House::new().await;
    let persona = PersonaId::new("optimist");
    let edit = || Change::new(&persona, Op::Update);
    let agent = Actor::Persona {
        persona: persona.clone(),
        user: "owner".into(),
        run: None,
        tier: Tier::Suggest,
    };
    let mut change = edit().set("notes", "plain").because("To be\u{202e} read").based_on(1);
    let source = Source {
        entity: (&persona).into(),
        title: "A\u{2066}ref".into(),
        passage: "Do\u{e0041} it".into(),
    };
    change.untrusted = Sources { named: vec![source], more: 0 };
    let draft = house.gate_for(agent).submit(change).await.unwrap().change_id.unwrap();

    for path in ["/inbox".to_owned(), format!("/rail/drafts/{draft}")] {
        let card = house.get(&path).await;
        for shown in ["To be⟦U+202E⟧ read", "A⟦U+2066⟧ref", "Do⟦U+E0041⟧ it", "cannot be seen"]
        {
            assert!(card.text.contains(shown), "{path} {shown}: {}", card.text);
        }
        let hides = |letter| ['\u{202e}', '\u{2066}', '\u{e0041}'].contains(&letter);
        assert!(!card.text.contains(hides), "{path}: {}", card.text);
    }

    house.submit(edit().set("systemPrompt", "theirs\u{2066}")).await.unwrap();
    let mine = edit().set("systemPrompt", "mine\u{202e}").based_on(1);
    let kept = house.gate().keep_refused(mine).await.unwrap();
    let page = house.get(&format!("/conflicts/{kept}")).await;
    for shown in ["mine⟦U+202E⟧", "theirs⟦U+2066⟧", "cannot be seen"] {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
}
