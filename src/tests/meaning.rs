//! Searching by meaning: vectors from a fake service on a real socket, and what happens without it.

use std::{sync::Arc, time::Duration};

use axum::http::Method;
use greenroom::{
    domain::{
        change::{Change, Entity, Op},
        id::PageId,
        knowledge::{PageFields, RefFields, TaskFields},
        search::{Found, SearchMode},
    },
    providers::{Demo, EmbeddingSettings, Pace, Providers, TimeLimits},
    search::{Question, Search},
    store::EntryFilter,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    chats::{begin, say},
    fake_service::{Asked, FakeService, Reply, Then},
    support::{House, on_both},
};

on_both!(
    what_means_the_same_is_found_without_its_words,
    a_vector_is_made_again_when_its_text_changes,
    what_is_written_again_while_its_vector_is_made_stays_stale,
    words_alone_are_looked_for_while_the_service_fails,
    whoever_is_typing_finds_by_meaning_and_never_waits_for_it,
    the_page_says_how_it_was_looked_for,
    a_text_that_is_refused_does_not_hold_up_the_others,
    vectors_are_made_when_something_is_written_and_not_looked_for_otherwise,
    a_vector_is_made_again_when_something_is_said_in_a_chat,
);

const KEY: &str = "c4n4ry-embeddings";

/// A search room that asks this fake.
fn asking(house: &House, fake: &FakeService, path: &str) -> Search {
    let environment = Arc::new(|name: &str| (name == "KEY").then(|| KEY.to_owned()));
    let demo = Demo::new(Pace::AtOnce);
    let providers = Providers::new(TimeLimits::default(), demo, environment).unwrap();
    let settings = EmbeddingSettings {
        url: format!("http://{}{path}", fake.address),
        model: "test-model".into(),
        key_ref: "env:KEY".into(),
    };
    house.state.search.clone().with_embedder(providers.embedder(settings))
}

/// What a text means to the fake: how much it is about water, fire and neither.
fn meaning(text: &str) -> [f64; 3] {
    let about = |words: &[&str]| {
        let text = text.to_lowercase();
        words.iter().map(|word| text.matches(word).count()).sum::<usize>() as f64
    };
    let (water, fire) = (about(&["sea", "ocean", "wave"]), about(&["flame", "fire", "burn"]));
    [water, fire, if water + fire == 0.0 { 1.0 } else { 0.0 }]
}

fn inputs(asked: &Asked) -> Vec<String> {
    serde_json::from_value(asked.body["input"].clone()).unwrap()
}

/// An answer as OpenAI gives it, out of order as it may be.
fn vectors(texts: &[String]) -> Reply {
    let numbered = texts.iter().enumerate().rev();
    let data: Vec<Value> =
        numbered.map(|(index, text)| json!({"index": index, "embedding": meaning(text)})).collect();
    Reply::status(200, json!({"data": data}))
}

async fn page(house: &House, id: &str, title: &str, body: &str) {
    let create = Change::new(&PageId::new(id), Op::Create).set("title", title).set("body", body);
    house.submit(create).await.unwrap();
}

/// The three pages: identifier, title and text.
const PAGES: [(&str, &str, &str); 3] = [
    ("harbour", "Harbour", "Ships go out to sea with the ocean waves."),
    ("stove", "Stove", "The flame burns all night."),
    ("ledger", "Ledger", "Numbers in columns."),
];

/// Leaves three pages in the house, and nothing else.
async fn furnish(house: &House) {
    let samples = samples(house).await.into_iter().map(|entity| Change::new(entity, Op::Delete));
    house.gate().submit_all(samples.collect()).await.unwrap();
    for (id, title, body) in PAGES {
        page(house, id, title, body).await;
    }
}

/// The same, with the vector of each page.
async fn furnish_with_vectors(house: &House, fake: &FakeService, search: &Search) {
    furnish(house).await;
    for (id, ..) in PAGES {
        house.submit(Change::new(&PageId::new(id), Op::Delete)).await.unwrap();
    }
    for (id, title, body) in PAGES {
        house.submit(Change::new(&PageId::new(id), Op::Restore)).await.unwrap();
        let text = format!("{title}\n\n{body}");
        fake.play([vectors(std::slice::from_ref(&text))]);
        assert_eq!(search.make_vectors().await.unwrap(), 1);
        assert_eq!(inputs(&fake.asked()[0]), [text]);
    }
}

/// All samples, which a test of meaning has no use for.
async fn samples(house: &House) -> Vec<Entity> {
    let mut link = house.read().await;
    let personas = link.personas("", None, 50).await.unwrap().items;
    let mut found: Vec<Entity> = personas.iter().map(|persona| (&persona.id).into()).collect();
    let all = EntryFilter::default();
    let pages = link.entries::<PageFields>(all, 50).await.unwrap().items;
    found.extend(pages.iter().map(|page| Entity::from(&page.id)));
    let refs = link.entries::<RefFields>(all, 50).await.unwrap().items;
    found.extend(refs.iter().map(|source| Entity::from(&source.id)));
    let tasks = link.entries::<TaskFields>(all, 50).await.unwrap().items;
    found.extend(tasks.iter().map(|task| Entity::from(&task.id)));
    found
}

async fn find(house: &House, search: &Search, text: &str) -> Found {
    let question = Question { text, kind: None, limit: 10 };
    search.find(&house.state.scope.space, question).await.unwrap()
}

fn ids(found: &Found) -> Vec<&str> {
    found.items.iter().map(|hit| hit.id.as_str()).collect()
}

async fn what_means_the_same_is_found_without_its_words(house: House) {
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    furnish_with_vectors(&house, &fake, &search).await;
    let own = asking(&house, &fake, "/api");
    let question = || vec!["on the waves".to_owned()];
    let ollama = Reply::status(200, json!({"embeddings": [meaning(&question()[0])]}));
    for (search, reply, path) in
        [(&search, vectors(&question()), "/v1/embeddings"), (&own, ollama, "/api/embed")]
    {
        fake.play([reply]);

        let found = find(&house, search, "wavelike").await;

        assert_eq!((ids(&found), found.mode), (vec!["harbour"], SearchMode::Hybrid));
        assert_eq!((found.note.as_deref(), found.items[0].score), (None, 1.0 / 61.0));
        let begun: String =
            found.items[0].snippet.iter().map(|piece| piece.text.as_str()).collect();
        assert!(begun.starts_with("Ships go out"), "{begun}");
        let asked = fake.asked();
        assert_eq!((asked.len(), asked[0].path.as_str()), (1, path));
        assert_eq!(asked[0].key(), Some(("authorization", KEY)));
        assert_eq!(asked[0].body, json!({"model": "test-model", "input": ["wavelike"]}));
    }
    // What fits by words and by meaning comes before what fits by one of them.
    page(&house, "fireman", "Fireman", "He put out the night and the sea.").await;
    fake.play([
        vectors(&["He put out the fire and the sea.".into()]),
        vectors(&["burning flame".into()]),
    ]);
    assert_eq!(search.make_vectors().await.unwrap(), 1);
    let found = find(&house, &search, "night").await;
    assert_eq!(ids(&found), ["stove", "fireman"]);
    assert_eq!(search.make_vectors().await.unwrap(), 0);
}

async fn a_vector_is_made_again_when_its_text_changes(house: House) {
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    furnish_with_vectors(&house, &fake, &search).await;
    let edit =
        Change::new(&PageId::new("ledger"), Op::Update).set("body", "A fire in the archive.");
    house.submit(edit).await.unwrap();

    fake.play([vectors(&["Ledger\n\nA fire in the archive.".into()]), vectors(&["fire".into()])]);
    assert_eq!(search.make_vectors().await.unwrap(), 1);

    assert_eq!(inputs(&fake.asked()[0]), ["Ledger\n\nA fire in the archive."]);
    let found = find(&house, &search, "blaze").await;
    assert_eq!(ids(&found), ["ledger", "stove"]);
    // What is in the bin is near to nothing, and another Space's is not looked at.
    house.submit(Change::new(&PageId::new("ledger"), Op::Delete)).await.unwrap();
    fake.play([vectors(&["fire".into()]), vectors(&["fire".into()])]);
    assert_eq!(ids(&find(&house, &search, "blaze").await), ["stove"]);
    let neighbour = house.neighbour().await;
    assert_eq!(ids(&find(&neighbour, &search, "blaze").await), Vec::<&str>::new());
}

async fn what_is_written_again_while_its_vector_is_made_stays_stale(house: House) {
    furnish(&house).await;
    let store = &house.state.store;
    let old = store.unembedded("model", 10).await.unwrap();
    let edit = Change::new(&PageId::new("stove"), Op::Update).set("body", "A cold one.");
    house.submit(edit).await.unwrap();

    let made: Vec<_> = old.into_iter().map(|one| (one, Some(vec![1.0]))).collect();
    store.put_vectors("model", &made).await.unwrap();

    let stale = store.unembedded("model", 10).await.unwrap();
    assert_eq!(stale.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["stove"]);
    assert_eq!(store.unembedded("another", 10).await.unwrap().len(), 3);
}

async fn words_alone_are_looked_for_while_the_service_fails(house: House) {
    furnish(&house).await;
    let off = find(&house, &house.state.search, "flame").await;
    assert_eq!((ids(&off), off.mode), (vec!["stove"], SearchMode::FullText));
    assert!(off.note.unwrap().contains("no service for embeddings is set"));

    let failures = [
        (Reply::status(500, "broken"), "could not be reached"),
        (Reply::status(401, "bad key {key}"), "did not take the key"),
        (Reply::status(200, "<html>"), "gave no vector"),
        (Reply::status(200, json!({"data": []})), "gave no vector"),
        (Reply::status(302, "").with("location", "http://127.0.0.1:9/"), "gave no vector"),
        (Reply::none(Then::Reset), "could not be reached"),
        (Reply::none(Then::Stall), "long in coming"),
    ];
    for (reply, why) in failures {
        let fake = FakeService::start().await;
        let search = asking(&house, &fake, "/v1");
        fake.play([reply.clone()]);

        let found = find(&house, &search, "flame").await;

        assert_eq!((ids(&found), found.mode), (vec!["stove"], SearchMode::FullText), "{reply:?}");
        let note = found.note.unwrap();
        assert!(note.contains(why) && !note.contains(KEY), "{reply:?}: {note}");
        // It is left alone for a moment, and nobody waits for it again.
        let again = tokio::time::timeout(Duration::from_secs(1), find(&house, &search, "flame"));
        assert_eq!(again.await.unwrap().note, Some(note));
        assert_eq!(fake.asked().len(), 1);
    }
    // The job says so, and tries again when it is asked to.
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    fake.play([Reply::status(503, "later"), vectors(&["a".into(), "b".into(), "c".into()])]);
    search.make_vectors().await.unwrap_err();
    assert_eq!(search.make_vectors().await.unwrap(), 3);
}

/// The palette looked for words alone.
async fn whoever_is_typing_finds_by_meaning_and_never_waits_for_it(house: House) {
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    furnish_with_vectors(&house, &fake, &search).await;
    let house = house.searching(search);
    let typed = async |house: &House, text: &str| -> Vec<String> {
        let targets = house.function("find_targets", &[("text", text)]).await.good();
        let labels = targets.as_array().unwrap().iter().map(|target| &target["label"]);
        labels.map(|label| label.as_str().unwrap().to_owned()).collect()
    };

    // What has the words stands before what only means the same.
    fake.play([vectors(&["on the waves".into()]), vectors(&["a wave".into()])]);
    assert_eq!(typed(&house, "wavelike").await, ["Harbour"]);
    assert_eq!(typed(&house, "nigh").await, ["Stove", "Harbour"]);
    let asked = fake.asked();
    assert_eq!(asked.iter().flat_map(inputs).collect::<Vec<_>>(), ["wavelike", "nigh"]);
    // A letter or two mean nothing, and nobody is asked.
    assert_eq!(typed(&house, "ni").await, ["Stove"]);
    assert_eq!(fake.asked().len(), 0);

    // One that is slow is not waited for, and for a while not asked again by whoever types.
    fake.play([Reply::none(Then::Stall), vectors(&["on the waves".into()])]);
    let fast = Duration::from_millis(1500);
    let in_time = tokio::time::timeout(fast, typed(&house, "night")).await;
    // That less was looked for is said, too.
    let slow = "Only words were looked for: what they mean was long in coming.";
    assert_eq!(in_time.expect("typing does not wait"), ["Stove", slow]);
    assert_eq!(typed(&house, "nigh").await, ["Stove", slow]);
    assert_eq!(fake.asked().len(), 1);
    // Whoever searches can wait for longer.
    let found = find(&house, &house.state.search, "wavelike").await;
    assert_eq!((ids(&found), found.mode), (vec!["harbour"], SearchMode::Hybrid));
    assert_eq!(fake.asked().len(), 1);

    // One that fails is left alone by everybody.
    let house = house.searching(asking(&house, &fake, "/v1"));
    fake.play([Reply::status(503, "Not now.")]);
    let busy = "Only words were looked for: the service for embeddings is busy.";
    assert_eq!(typed(&house, "night").await, ["Stove", busy]);
    let targets = house.function("find_targets", &[("text", "nigh & day")]).await.good();
    let note = json!({"label": busy, "path": "/search?q=nigh%20%26%20day", "kind": "search"});
    assert_eq!(targets, json!([note]));
    let found = find(&house, &house.state.search, "night").await;
    assert!(found.note.unwrap().contains("is busy"));
    assert_eq!(fake.asked().len(), 1);
}

async fn the_page_says_how_it_was_looked_for(house: House) {
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    furnish_with_vectors(&house, &fake, &search).await;
    let house = house.searching(search);
    let page = async |words: &str| {
        let page = house.get(&format!("/search?q={words}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text.replace("<!>", "")
    };
    let busy = "Only words were looked for: the service for embeddings is busy.";

    fake.play([vectors(&["on the waves".into()]), Reply::status(503, "Not now.")]);
    let both = page("wavelike").await;
    let words = page("night").await;

    assert!(both.contains("1 thing was found by words and by meaning."), "{both}");
    assert!(both.contains("Harbour") && !both.contains("Only words"), "{both}");
    assert!(words.contains(&format!("1 thing was found. {busy}")), "{words}");
    // So says the API.
    let told = house.get("/api/search?q=night").await.good();
    assert_eq!((&told["mode"], &told["note"]), (&json!("fullText"), &json!(busy)));
    // And so is the companion told.
    let call = json!({"call": {"name": "search", "input": {"query": "night"}}});
    let house = house.playing(&json!({"answers": [[call], [{"text": "There."}]]}));
    let ambient = house.get("/api/conversations/ambient").await.good();
    let path = format!("/api/conversations/{}/messages", ambient["id"].as_str().unwrap());
    let said = house.call(Method::POST, &path, json!({"content": "Find it"})).await.good();
    house.get(&format!("/api/runs/{}/events", said["runId"].as_str().unwrap())).await;
    let messages = house.get(&path).await.good().to_string();
    assert!(messages.contains("Stove") && messages.contains(busy), "{messages}");
}

async fn a_text_that_is_refused_does_not_hold_up_the_others(house: House) {
    furnish(&house).await;
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    let bad = || Reply::status(400, json!({"error": {"message": "cannot read this"}}));
    fake.play([bad(), vectors(&["x".into()]), bad(), vectors(&["x".into()])]);

    assert_eq!(search.make_vectors().await.unwrap(), 3);

    assert_eq!(fake.asked().len(), 4);
    assert_eq!(search.make_vectors().await.unwrap(), 0);
    // One that takes nothing at all is out of order.
    page(&house, "new", "New", "sea").await;
    fake.play([bad(), bad()]);
    search.make_vectors().await.unwrap_err();
}

async fn vectors_are_made_when_something_is_written_and_not_looked_for_otherwise(house: House) {
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    furnish_with_vectors(&house, &fake, &search).await;
    let tasks = keep_vectors(&house, search).await;

    fake.play([vectors(&["Boat\n\nsea".into()])]);
    page(&house, "boat", "Boat", "sea").await;
    fake.met(PAGES.len() + 1).await;

    assert_eq!(inputs(&fake.asked()[0]), ["Boat\n\nsea"]);
    tasks.into_iter().for_each(|task| task.abort());
}

/// Nothing told of it: the vector stayed what it was until something else was written.
async fn a_vector_is_made_again_when_something_is_said_in_a_chat(house: House) {
    let answers = json!([[{"text": "Hello."}], [{"text": "To the sea."}]]);
    let house = house.playing(&json!({"answers": answers}));
    furnish(&house).await;
    house.persona("ann", "Be kind.").await;
    let chat = begin(&house, "ann").await;
    say(&house, &chat, json!({"content": "Hello?"})).await;
    let fake = FakeService::start().await;
    let search = asking(&house, &fake, "/v1");
    let texts = ["a", "b", "c", "d", "e"].map(str::to_owned);
    fake.play([vectors(&texts)]);
    assert_eq!(search.make_vectors().await.unwrap(), texts.len());
    fake.asked();
    let tasks = keep_vectors(&house, search).await;

    fake.play([vectors(&texts[..1])]);
    say(&house, &chat, json!({"content": "Where to?"})).await;
    fake.met(2).await;

    let said = &inputs(&fake.asked()[0])[0];
    assert!(said.contains("Where to?") && said.contains("To the sea."), "{said}");
    tasks.into_iter().for_each(|task| task.abort());
}

/// Keeps vectors as a process does, once it hears the news of others.
async fn keep_vectors(house: &House, search: Search) -> [JoinHandle<()>; 2] {
    let store = house.state.store.clone();
    let hearing = tokio::spawn(store.clone().follow_news());
    if store.is_shared() {
        // Listening has begun when this comes.
        store.news(&house.state.scope.space).next().await;
    }
    [tokio::spawn(search.keep_vectors()), hearing]
}
