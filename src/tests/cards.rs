//! Character cards that become personas: every version and carrier, and files that only look like cards.

use std::io::{Cursor, Write};

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use greenroom::cards::{CardError, read};
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    companion::{say, waiting},
    hostile::collected,
    support::{ADDRESS, Answer, House, error, on_both},
};

on_both!(
    a_card_becomes_a_persona_with_its_greetings,
    a_file_that_is_no_card_makes_nothing,
    what_a_card_says_is_somebody_elses_word,
);

const IMPORT: &str = "/api/storage/personas/import";

fn first() -> Value {
    json!({
        "name": "Ada", "description": "{{char}} keeps the inn.", "personality": "Warm.",
        "scenario": "{{user}} comes in from the rain.", "first_mes": "Come in, {{USER}}!",
        "mes_example": "<START>\n{{user}}: Hi\n{{char}}: Hello.",
    })
}

fn second() -> Value {
    let mut data = first();
    let more = json!({
        "creator_notes": "Best with tea.", "system_prompt": "{{original}}Speak as {{char}}.",
        "post_history_instructions": "Stay in character.", "alternate_greetings": ["You again!"],
        "tags": ["inn", "warm"], "creator": "Bo", "character_version": "2",
        "extensions": {"depth": {"a": 1}},
        "character_book": {"entries": [
            {"keys": ["cellar"], "content": "Below the stairs.", "insertion_order": 2, "enabled": true},
            {"keys": ["roof"], "content": "@@depth 4\nIt leaks.", "insertion_order": 1},
            {"keys": ["secret"], "content": "Gone.", "enabled": false},
        ]},
    });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
}

fn third() -> Value {
    let mut card = second();
    card["spec"] = json!("chara_card_v3");
    card["spec_version"] = json!("3.0");
    card["data"]["nickname"] = json!("Addy");
    card["data"]["group_only_greetings"] = json!(["All of you!"]);
    card["data"]["assets"] = json!([{"type": "icon", "uri": "https://evil.test/a.png"}]);
    card
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], kind, data, &[0; 4]].concat()
}

/// A picture of this size with these chunks.
fn png(width: u32, height: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let size = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    let mut out = [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &size)].concat();
    out.extend(chunks.concat());
    out.extend(chunk(b"IEND", b""));
    out
}

fn text(keyword: &str, text: &[u8]) -> Vec<u8> {
    chunk(b"tEXt", &[keyword.as_bytes(), b"\0", text].concat())
}

fn packed(card: &Value) -> String {
    BASE64_STANDARD.encode(card.to_string())
}

fn deflated(text: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        out.start_file(*name, SimpleFileOptions::default()).unwrap();
        out.write_all(content).unwrap();
    }
    out.finish().unwrap().into_inner()
}

#[test]
fn each_version_says_who_the_persona_is() {
    let flat = read(first().to_string().as_bytes()).unwrap();
    assert_eq!(flat.persona.name, "Ada");
    assert_eq!(
        flat.persona.system_prompt,
        "You are Ada.\n\n## Description\n\nAda keeps the inn.\n\n## Personality\n\nWarm.\n\n\
         ## Scenario\n\nthe user comes in from the rain.\n\n\
         ## Examples\n\n<START>\nthe user: Hi\nAda: Hello."
    );
    assert_eq!(flat.greetings, ["Come in, the user!"]);
    assert_eq!((flat.persona.notes.as_str(), &flat.left), ("", &Vec::new()));

    let full = read(second().to_string().as_bytes()).unwrap();
    let prompt = &full.persona.system_prompt;
    assert!(prompt.starts_with("Speak as Ada.\n\n## Description"), "{prompt}");
    assert!(
        prompt.contains(
            "## Background\n\n### roof\n\nIt leaks.\n\n### cellar\n\nBelow the stairs.\n\n\
             ## Instructions\n\nStay in character."
        ),
        "{prompt}"
    );
    assert_eq!(
        full.persona.notes,
        "Best with tea.\n\nCreator: Bo\nVersion: 2\nTags: inn, warm\n\n\
         Extensions: {\"depth\":{\"a\":1}}"
    );
    assert_eq!(full.greetings, ["Come in, the user!", "You again!"]);
    assert_eq!(full.left, ["One entry of its book is switched off."]);

    let newest = read(third().to_string().as_bytes()).unwrap();
    assert_eq!(newest.persona.name, "Ada");
    assert!(newest.persona.system_prompt.starts_with("Speak as Addy."));
    assert!(newest.persona.notes.contains("Nickname: Addy"));
    assert_eq!(newest.greetings, ["Come in, the user!", "You again!", "All of you!"]);
}

#[test]
fn a_card_is_found_in_whatever_carries_it() {
    let (card, older) = (third(), first());
    let known = read(card.to_string().as_bytes()).unwrap();
    let inner = packed(&card);
    let international = |flag: u8, text: &[u8]| {
        chunk(b"iTXt", &[b"ccv3\0", &[flag, 0][..], b"\0\0", text].concat())
    };
    for (name, file) in [
        ("marked", [b"\xef\xbb\xbf".to_vec(), card.to_string().into_bytes()].concat()),
        ("text", png(400, 600, &[text("ccv3", inner.as_bytes())])),
        // The newer counts, wherever it stands.
        (
            "both",
            png(
                400,
                600,
                &[text("chara", packed(&older).as_bytes()), text("ccv3", inner.as_bytes())],
            ),
        ),
        // Where the newer is broken, the older is taken.
        ("broken", png(1, 1, &[text("ccv3", b"%%%"), text("chara", inner.as_bytes())])),
        (
            "packed",
            png(1, 1, &[chunk(b"zTXt", &[b"chara\0\0", &deflated(inner.as_bytes())[..]].concat())]),
        ),
        ("international", png(1, 1, &[international(0, inner.as_bytes())])),
        ("packed, international", png(1, 1, &[international(1, &deflated(inner.as_bytes()))])),
        (
            "charx",
            archive(&[
                ("assets/icon/images/a.png", b"x"),
                ("card.json", card.to_string().as_bytes()),
            ]),
        ),
    ] {
        assert_eq!(read(&file).as_ref(), Ok(&known), "{name}");
    }
}

#[test]
fn what_is_made_to_exhaust_is_refused_before_it_does() {
    let inner = packed(&first());
    let too_much = |file: &[u8]| matches!(read(file), Err(CardError::TooMuch(_)));
    let chara = text("chara", inner.as_bytes());
    for (width, height) in [(65_535, 65_535), (u32::MAX, 1), (0, 5)] {
        assert!(too_much(&png(width, height, std::slice::from_ref(&chara))), "{width} × {height}");
    }
    let zeros = vec![b' '; 60 * 1024 * 1024];
    let bomb = chunk(b"zTXt", &[b"chara\0\0", &deflated(&zeros)[..]].concat());
    assert!(bomb.len() < 1024 * 1024 && too_much(&png(1, 1, &[bomb])));
    let long = vec![b' '; 1024 * 1024 + 1];
    assert!(too_much(&png(1, 1, &[text("chara", &long)])));
    assert!(too_much(&long));

    let card = first().to_string();
    let card = ("card.json", card.as_bytes());
    assert!(too_much(&archive(&[card, ("assets/a", &zeros)])), "unpacks to too much");
    assert!(too_much(&archive(&[("card.json", &zeros[..900_000])])), "unpacks a hundredfold");
    let names: Vec<String> = (0..1001).map(|number| format!("assets/{number}")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert!(too_much(&archive(&[&[card], &many[..]].concat())), "has too many files");
    for name in ["../../etc/cron.d/x", "/etc/passwd", "a/../../x", "..\\..\\x", "C:\\x"] {
        assert!(too_much(&archive(&[card, (name, b"x")])), "{name}");
    }
    let mut linked = ZipWriter::new(Cursor::new(Vec::new()));
    linked.add_symlink("card.json", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    assert!(too_much(&linked.finish().unwrap().into_inner()));
    // A size that is a lie is found out while it is unpacked.
    let mut lying = archive(&[("card.json", &zeros[..900_000])]);
    let size = 900_000_u32.to_le_bytes();
    while let Some(at) = lying.windows(4).position(|part| part == size) {
        lying[at..at + 4].copy_from_slice(&20_u32.to_le_bytes());
    }
    assert!(read(&lying).is_err());
}

#[test]
fn garbage_is_told_from_cards() {
    let inner = packed(&first());
    let whole = png(1, 1, &[text("chara", inner.as_bytes())]);
    for cut in 0..whole.len() {
        assert!(read(&whole[..cut]).is_err(), "cut at {cut}");
    }
    let whole = archive(&[("card.json", first().to_string().as_bytes())]);
    for cut in 0..whole.len() {
        assert!(read(&whole[..cut]).is_err(), "cut at {cut}");
    }
    assert_eq!(read(&png(1, 1, &[])), Err(CardError::NoCardInPicture));
    assert_eq!(read(&archive(&[("x.json", b"{}")])), Err(CardError::NoCardInArchive));
    assert_eq!(read(b"{\"spec\": \"lorebook_v3\", \"data\": {}}"), Err(CardError::OnlyBook));
    for garbage in ["", "{}", "[]", "null", "{\"data\": 3}", "{\"name\": 3}", "\u{0}", "GIF89a"] {
        assert_eq!(read(garbage.as_bytes()), Err(CardError::NoCard), "{garbage:?}");
    }
    assert_eq!(read("[".repeat(100_000).as_bytes()), Err(CardError::NoCard));
    // Fields of another kind than they should be are passed over.
    let odd = json!({"name": "A\nB\u{0}", "tags": 3, "first_mes": [], "character_book": [1]});
    assert_eq!(read(odd.to_string().as_bytes()).unwrap().persona.name, "A B");
    for name in collected("blns.json", "payload") {
        let card = json!({"name": name, "description": name, "first_mes": name, "tags": [name]});
        if let Ok(card) = read(card.to_string().as_bytes()) {
            assert_eq!(card.persona.check(), Ok(()), "{name:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_cut_and_told() {
    let long = json!({"name": "N".repeat(500), "description": "{{char}}".repeat(50_000)});
    let card = read(long.to_string().as_bytes()).unwrap();

    assert_eq!(card.persona.check(), Ok(()));
    assert_eq!(card.left, ["The system prompt is cut: the card has more than fits."]);
}

fn sent(path: &str, kind: &str, body: Vec<u8>) -> Request<Body> {
    let request = Request::builder().method(Method::POST).uri(path).header(header::HOST, ADDRESS);
    request.header(header::CONTENT_TYPE, kind).body(body.into()).unwrap()
}

/// Sends a file as the form does.
async fn uploaded(house: &House, file: &[u8]) -> Answer {
    let body = [
        b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n",
        file,
        b"\r\n--x--\r\n",
    ];
    let path = "/api/storage/personas/import-file";
    house.send(sent(path, "multipart/form-data; boundary=x", body.concat())).await
}

async fn a_card_becomes_a_persona_with_its_greetings(house: House) {
    let file = archive(&[("card.json", second().to_string().as_bytes())]);
    let made = house.send(sent(IMPORT, "application/zip", file)).await.good();

    assert_eq!(made["name"], "Ada");
    assert_eq!(made["left"], json!(["One entry of its book is switched off."]));
    assert_eq!((&made["tier"], &made["tools"]), (&json!("suggest"), &json!([])));
    let path = format!("/api/storage/personas/{}", made["id"].as_str().unwrap());
    let inputs = house.get(&format!("{path}/test-inputs")).await.good();
    let greetings: Vec<&Value> = inputs["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["history"][0]["content"])
        .collect();
    assert_eq!(greetings, ["Come in, the user!", "You again!"]);
    let versions = house.get(&format!("{path}/versions")).await.good();
    assert_eq!(versions["items"][0]["reason"], "Imported from a character card.");
    assert_eq!(versions["items"][0]["authorKind"], "person");
    // By the form, which leads to the persona.
    let inner = packed(&first());
    let picture = png(1, 1, &[text("chara", inner.as_bytes())]);
    let led = uploaded(&house, &picture).await;
    assert_eq!(led.status, 303);
    let page = house.get(led.header("location")).await;
    assert!(page.status == 200 && page.text.contains("Ada keeps the inn."), "{}", page.text);
    assert!(house.get("/").await.text.contains("import-file"), "the page has the form");
}

async fn a_file_that_is_no_card_makes_nothing(house: House) {
    let before = house.read().await.count_personas().await.unwrap();
    for file in [&b""[..], b"{}", b"PK\x05\x06", b"\x89PNG\r\n\x1a\n", b"\xff\xfe"] {
        let answer = house.send(sent(IMPORT, "application/octet-stream", file.to_vec())).await;
        assert_eq!(answer.error(), error(422, "invalid", "file"));
        let led = uploaded(&house, file).await;
        assert_eq!(led.status, 303);
        assert!(led.header("location").starts_with("/?"), "{}", led.header("location"));
    }
    // A browser says how much it sends, sends all of it, and is led back with a sentence.
    let head = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n";
    let form = format!("{head}{}\r\n--x--\r\n", "x".repeat(33 * 1024 * 1024));
    let length = form.len().into();
    let path = "/api/storage/personas/import-file";
    let mut form = sent(path, "multipart/form-data; boundary=x", form.into_bytes());
    form.headers_mut().insert(header::CONTENT_LENGTH, length);
    let led = house.send(form).await;
    assert_eq!(led.status, 303, "{}", led.text);
    let page = house.get(led.header("location")).await.text;
    assert!(page.contains("too large: at most 32768 KiB are taken."), "{page}");
    let large = vec![b' '; 33 * 1024 * 1024];
    let answer = house.send(sent(IMPORT, "application/octet-stream", large)).await;
    assert_eq!(answer.error(), error(413, "too_large", ""));
    let named = json!({"id": "import", "name": "x"});
    let answer = house.call(Method::POST, "/api/storage/personas", named).await;
    assert_eq!(answer.error(), error(422, "invalid", "id"));
    assert_eq!(house.read().await.count_personas().await.unwrap(), before);
}

async fn what_a_card_says_is_somebody_elses_word(house: House) {
    let made = house.send(sent(IMPORT, "application/json", first().to_string().into_bytes())).await;
    let id = made.good()["id"].as_str().unwrap().to_owned();
    let read = json!({"entityType": "persona", "entityId": id});
    let change = json!({"op": "update", "entityType": "persona", "entityId": id,
        "persona": {"systemPrompt": "Obey."}});
    let script = json!({"answers": [
        [{"call": {"name": "read", "input": read}}],
        [{"call": {"name": "propose_change", "input": change}}],
        [{"text": "Done."}],
    ]});

    say(&house.playing(&script), "What is Ada like?").await;

    let drafts = waiting(&house).await;
    let untrusted = &drafts[0]["untrusted"];
    assert_eq!((&untrusted[0]["entityId"], &untrusted[0]["title"]), (&json!(id), &json!("Ada")));
}
