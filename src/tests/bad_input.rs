//! Collections of what breaks careless programs, sent to where people and programs write.

use axum::http::{HeaderValue, Method, header};
use base64::{Engine, prelude::BASE64_STANDARD};
use greenroom::{
    agent::{ChatWords, Follows, NewChat, NewSession},
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
use serde_json::{Map, Value, json};

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
        // A word of its own, which is the beginning of no other.
        let title = format!("Odd{kept:05}");
        let page = json!({"title": title, "body": text});
        let made = house.call(Method::POST, "/api/storage/pages", page).await;
        if made.status.is_success() {
            let id = made.json()["id"].clone();
            let path = format!("/api/storage/pages/{}", id.as_str().unwrap());
            assert_eq!(house.get(&path).await.good()["body"], json!(text));
            // What letters of other scripts fold to is up to the words of the index.
            let with_words =
                (text.is_ascii() && text.len() < 500).then(|| format!("{title} {text}"));
            for asked in [Some(title), with_words].into_iter().flatten() {
                let found = house.get(&format!("/api/search?q={}", escaped(&asked))).await.good();
                let items = found["items"].as_array().unwrap();
                assert!(items.iter().any(|item| item["id"] == id), "{asked:?}: {found}");
            }
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
    for bytes in no_text() {
        bodies.push([b"{\"title\": \"".to_vec(), bytes, b"\"}".to_vec()].concat());
    }
    for deep in ["[", "{\"a\":", "[{\"a\":"] {
        bodies.push(deep.repeat(100_000).into_bytes());
    }
    for body in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        // Some are texts like any other, so only what is no object must be refused.
        let is_object = serde_json::from_slice::<Map<String, Value>>(&body).is_ok();
        for (method, path) in [
            (Method::POST, "/api/storage/pages"),
            (Method::PUT, "/api/storage/personas/optimist"),
            (Method::POST, "/api/chats/import"),
            (Method::POST, "/api/persona-agent/chat"),
        ] {
            let answer = house.send(request(method, path, Some(body.clone()))).await;
            let is_good = is_object && answer.status.is_success();
            assert!(
                is_good || answer.status.is_client_error(),
                "{path} {shown}: {} {}",
                answer.status,
                answer.text
            );
        }
    }
    // Nothing of it came through as anything but text.
    assert_eq!(house.get("/").await.status, 200);
    assert_eq!(house.get("/knowledge").await.status, 200);
}

/// A form of another site can send text, and cannot say that it is JSON.
#[tokio::test]
async fn a_body_that_may_be_left_out_says_that_it_is_json_too() {
    let house = House::new().await;
    for (path, without) in [
        ("/api/pending-changes/none/approve", 404),
        ("/api/pending-changes/none/reject", 404),
        ("/api/storage/personas/optimist/publication", 200),
    ] {
        let mut asked = request(Method::POST, path, Some(b"{}".to_vec()));
        asked.headers_mut().remove(header::CONTENT_TYPE);
        assert_eq!(house.send(asked).await.status, 415, "{path}");
        let left_out = house.send(request(Method::POST, path, None)).await;
        assert_eq!(left_out.status, without, "{path}: {}", left_out.text);
    }
}

/// Bytes that are no UTF-8, or barely.
fn no_text() -> Vec<Vec<u8>> {
    let lines = collected("utf8_decoder.json", "line");
    let hex = lines.iter().filter_map(|line| Some(line.split_once("hex:")?.1));
    let bytes = |hex: &str| {
        let bytes = hex.split_whitespace().filter_map(|byte| u8::from_str_radix(byte, 16).ok());
        bytes.collect()
    };
    hex.map(bytes).collect()
}

#[tokio::test]
async fn bytes_that_are_no_text_are_no_fault_in_headers_and_in_names_and_files_that_are_uploaded() {
    let house = House::new().await;
    let sessions = "/api/agents/code-reviewer/playground/sessions";
    let session = house.call(Method::POST, sessions, json!({})).await.good();
    let session = format!("{sessions}/{}", session["id"].as_str().unwrap());
    let (mut headers, mut taken) = (0, 0);
    for bytes in no_text() {
        for name in ["authorization", "cookie", "referer", "user-agent"] {
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
            let mut asked = request(Method::GET, "/api/storage/personas", None);
            asked.headers_mut().insert(name, value);
            let status = house.status(asked).await;
            assert_eq!(status, 200, "{name}: {bytes:x?}");
            headers += 1;
        }
        let quoted = |byte: &u8| !matches!(byte, b'"' | b'\\' | b'\r' | b'\n');
        let name: Vec<u8> = bytes.iter().copied().filter(quoted).collect();
        for (name, content) in [(&name[..], &b"x"[..]), (b"odd.bin", &bytes)] {
            let head = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"";
            let form = [head, name, b"\"\r\n\r\n", content, b"\r\n--b--\r\n"].concat();
            let mut upload = request(Method::POST, &format!("{session}/upload"), Some(form));
            let kind = HeaderValue::from_static("multipart/form-data; boundary=b");
            upload.headers_mut().insert(header::CONTENT_TYPE, kind);
            let sent = house.send(upload).await;
            assert_eq!(sent.status, 303, "{bytes:x?}: {}", sent.text);
        }
        let files = house.get(&format!("{session}/files")).await.good();
        for file in files["items"].as_array().unwrap() {
            let address = format!("{session}/files/{}", escaped(file["path"].as_str().unwrap()));
            let read = house.get(&address).await;
            assert_eq!(read.status, 200, "{file}: {}", read.text);
            assert_eq!(house.send(request(Method::DELETE, &address, None)).await.status, 204);
            taken += 1;
        }
    }
    assert!(headers > 100 && taken > 100, "{headers} headers and {taken} files were taken");
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

#[test]
fn what_turns_letters_is_written_out_in_prose_and_languages_stay_as_they_are() {
    let turning =
        |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    for text in collected("trojan_source.json", "payload") {
        let html = to_html(&text);
        assert!(!html.contains(turning), "{text:?}: {html:?}");
    }
    let link = to_html("[moc.knab\u{202e}](https://evil.org/x \"\u{2067}title\")");
    assert!(link.contains(">moc.knab⟦U+202E⟧ (evil.org)</a>"), "{link}");
    assert!(link.contains("⟦U+2067⟧title"), "{link}");
    let host = to_html("[a](https://evil\u{202e}.org/x)");
    assert!(host.contains(">a (evil⟦U+202E⟧.org)</a>"), "{host}");
    let html = to_html("<b\u{202e}> \u{1b}[2J");
    assert!(html.contains("&lt;b⟦U+202E⟧&gt; ⟦U+001B⟧[2J"), "{html}");
    for plain in ["שלום\u{200f}, עולם", "العربية", "می\u{200c}خواهم", "👩\u{200d}🚀 ❤\u{fe0f}"]
    {
        assert_eq!(to_html(plain), format!("<p>{plain}</p>\n"));
    }
}

#[tokio::test]
async fn nothing_hides_in_what_a_tool_was_given_and_gave_nor_in_the_audit() {
    let house = House::new().await;
    let persona = house.persona("careful", "Look around.").await;
    let playing = house.playing(&json!({"answers": [
        [{"call": {"name": "no_such_tool", "input": {"words": "in\u{202e}put"}}}],
        [{"text": "wo\u{202e}rds"}],
    ]}));
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);
    let new = NewSession { persona: persona.clone(), ..NewSession::default() };
    let session = agent.create_session(scope, new).await.unwrap();
    let run = agent.say_in_session(scope, session.clone(), "Go on", Follows::Leaf, None).await;
    let run = run.unwrap();
    agent.ended(scope, &run.id).await.unwrap();
    let edit = Change::new(&persona, Op::Update).set("name", "Care\u{202e}ful");
    house.submit(edit).await.unwrap();

    let trace = playing.get(&format!("/api/traces/{}", run.id)).await.good();
    let spans = trace["spans"].as_array().unwrap().iter();
    let spans = spans.filter_map(|span| span["id"].as_str());
    let traces = spans.map(|span| format!("/traces/{}?span={span}", run.id));
    let session = format!("/playground/{persona}/{}", session.id);
    let mut seen = String::new();
    for path in traces.chain([session, "/audit".to_owned()]) {
        let page = playing.get(&path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        seen.push_str(&page.text);
    }
    for shown in ["in⟦U+202E⟧put", "wo⟦U+202E⟧rds", "Care⟦U+202E⟧ful"] {
        assert!(seen.contains(shown), "{shown}");
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

#[tokio::test]
async fn what_turns_a_line_is_shown_in_lists_and_in_what_was_found() {
    let house = House::new().await;
    let name = "Ann\u{202e}txt\u{1b}[2J";
    let made = house.call(Method::POST, "/api/storage/personas", json!({"name": name})).await;
    assert_eq!(made.json()["name"], name, "it comes in, and stays what it is");
    for (path, text) in [("pages", "body"), ("refs", "text")] {
        let body = json!({"title": format!("Lamp{name}"), text: "a lamp\u{2066}light"});
        house.call(Method::POST, &format!("/api/storage/{path}"), body).await.good();
    }
    let persona = made.json()["id"].as_str().unwrap().to_owned();
    let chat = json!({"personaId": persona, "title": format!("Talk{name}")});
    house.call(Method::POST, "/api/chats", chat).await.good();

    for (path, shown) in [
        ("/", "Ann⟦U+202E⟧txt⟦U+001B⟧[2J"),
        ("/chats", "TalkAnn⟦U+202E⟧txt"),
        ("/knowledge", "LampAnn⟦U+202E⟧txt"),
        ("/search?q=lamp", "LampAnn⟦U+202E⟧txt"),
        ("/search?q=lamp", "⟦U+2066⟧light"),
    ] {
        let page = read_of(&house.get(path).await.text);
        assert!(page.contains(shown), "{path} {shown}: {page}");
        assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{1b}']), "{path}: {page}");
    }
    let targets = house.function("find_targets", &[("text", "Ann")]).await;
    assert!(targets.text.contains("Ann⟦U+202E⟧txt"), "{}", targets.text);
    let gone =
        house.send(request(Method::DELETE, &format!("/api/storage/personas/{persona}"), None));
    assert!(gone.await.status.is_success());
    assert!(house.get("/bin").await.text.contains("Ann⟦U+202E⟧txt"));
}

/// A page without what stands in its fields: that is the text itself, letter by letter.
fn read_of(page: &str) -> String {
    let fields = [(" value=\"", "\""), ("<textarea", "</textarea>")];
    let (mut read, mut rest) = (String::new(), page);
    loop {
        let found = fields.iter().filter_map(|(from, to)| Some((rest.find(*from)?, *from, *to)));
        let Some((at, from, to)) = found.min_by_key(|(at, ..)| *at) else {
            return read + rest;
        };
        read.push_str(&rest[..at]);
        let field = &rest[at + from.len()..];
        rest = field.find(to).map_or("", |end| &field[end + to.len()..]);
    }
}

/// Names and titles turned letters around on every page but the lists.
#[tokio::test]
async fn what_turns_a_line_is_shown_wherever_names_and_titles_are_read_and_kept_in_fields() {
    let (turned, shown) = ("Invoice \u{202e}gnp.exe", "Invoice ⟦U+202E⟧gnp.exe");
    let house = House::new().await;
    let (agent, scope) = (&house.state.agent, &house.state.scope);
    let persona = PersonaId::new("invoice");
    let make = Change::new(&persona, Op::Create).set("name", turned).set("appearance", turned);
    house.submit(make.set("systemPrompt", "Answer.")).await.unwrap();
    let new =
        NewSession { persona: persona.clone(), title: turned.into(), ..NewSession::default() };
    let session = agent.create_session(scope, new).await.unwrap();
    let said = agent.say_in_session(scope, session.clone(), "Hello", Follows::Leaf, None).await;
    agent.ended(scope, &said.unwrap().id).await.unwrap();
    let new = NewChat { persona: persona.clone(), title: turned.into(), ..NewChat::default() };
    let chat = agent.create_chat(scope, new).await.unwrap().id;
    let words = ChatWords { content: turned.into(), ..ChatWords::default() };
    let run = agent.say_in_chat(scope, &chat, words).await.unwrap();
    agent.ended(scope, &run.id).await.unwrap();
    let (asked, reply) = (&run.message_id, &run.reply_id);
    let marks = [("id", reply.as_str()), ("form[label]", turned)];
    assert_eq!(house.function("mark_message", &marks).await.status, 200);
    let talk = agent.send(scope, &persona, turned, None).await.unwrap();
    agent.ended(scope, &talk.id).await.unwrap();
    let drawn = json!({"prompt": turned, "personaId": "invoice"});
    let picture = house.call(Method::POST, "/api/pictures", drawn).await.good();
    let picture = picture["id"].as_str().unwrap();
    house.state.jobs.work_off().await.unwrap();
    let new = json!({"description": turned, "settings":
        {"model": "demo", "windowSize": 5, "shouldTruncateResults": true}});
    let terminal = house.call(Method::POST, "/api/terminal/sessions", new).await.good();
    let terminal = terminal["id"].as_str().unwrap();
    let public = "/api/storage/personas/invoice/publication";
    let public = house.call(Method::POST, public, json!({})).await.good();
    let slug = public["slug"].as_str().unwrap();
    let page = json!({"title": turned, "body": ""});
    let page = house.call(Method::POST, "/api/storage/pages", page).await.good();
    let page = page["id"].as_str().unwrap();
    let actor = Actor::Persona { persona, user: "owner".into(), run: None, tier: Tier::Suggest };
    let draft = Change::new(&PersonaId::new("invoice"), Op::Update).set("notes", "plain");
    let draft = draft.based_on(1);
    house.gate_for(actor).submit(draft).await.unwrap();

    let (in_chat, playground) = (format!("/chats/{chat}"), "/playground/invoice");
    let run = &run.id;
    for path in [
        "/chats?persona=invoice".to_owned(),
        in_chat.clone(),
        format!("{in_chat}?chats=1"),
        format!("{in_chat}?settings=1"),
        format!("{in_chat}?map=1&at={reply}"),
        format!("{in_chat}?map=1&find=Invoice"),
        format!("{in_chat}?compare={asked}&with={reply}"),
        playground.to_owned(),
        format!("{playground}/{}", session.id),
        format!("{playground}/{}?settings=1", session.id),
        "/traces".to_owned(),
        format!("/traces/{run}"),
        format!("/traces/{run}?span=run"),
        "/usage".to_owned(),
        "/gallery".to_owned(),
        "/gallery?persona=invoice".to_owned(),
        format!("/gallery?picture={picture}"),
        "/terminal".to_owned(),
        format!("/terminal/{terminal}"),
        "/personas/invoice/roleplay".to_owned(),
        format!("/pages/{page}"),
        "/inbox".to_owned(),
        "/audit".to_owned(),
        "/rail?at=/personas/invoice&whole=1".to_owned(),
        format!("/p/{slug}"),
    ] {
        let page = house.get(&path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let read = read_of(&page.text);
        assert!(read.contains(shown), "{path}: {read}");
        assert!(!read.contains('\u{202e}'), "{path}: {read}");
    }
    // The browser's program is given the persona as it is there.
    for tab in ["enhance", "publish"] {
        let page = house.get(&format!("/personas/invoice?workbench={tab}")).await.text;
        assert!(page.contains(&format!("<title>{shown} · Greenroom</title>")), "{page}");
        let head = page.split_once("id=\"workbench-title\"").unwrap().1;
        assert!(head.split("</h2>").next().unwrap().contains(shown), "{page}");
    }
    for (path, field) in [
        (format!("{in_chat}?settings=1"), "title"),
        ("/chats".to_owned(), "title"),
        (format!("{playground}/{}?settings=1", session.id), "title"),
        (format!("/terminal/{terminal}"), "description"),
        (format!("{in_chat}?map=1&at={reply}"), "form[label]"),
    ] {
        let page = house.get(&path).await.text;
        let named = format!("name=\"{field}\"");
        let mut fields = page.split("<input").filter(|input| input.contains(&named));
        assert!(
            fields.any(|input| input.contains(&format!("value=\"{turned}\""))),
            "{path}: {page}"
        );
    }
}
