//! Searching: the same corpus is found in the same order on both databases.

use axum::http::Method;
use greenroom::domain::{
    change::{Change, Entity, EntityKind, Op},
    id::{PageId, PersonaId, TestInputId},
    search::{Found, SearchKind},
};
use greenroom::search::Question;
use serde_json::json;

use crate::support::{House, error, on_both, request};

on_both!(
    titles_count_most_and_the_order_is_the_same_everywhere,
    all_words_must_match_and_phrases_in_order,
    every_word_is_a_beginning_where_nothing_has_them_all,
    words_are_found_in_every_script_without_case_and_accents,
    what_is_in_the_bin_is_not_found_until_it_comes_back,
    an_edit_is_found_at_once_and_what_it_replaced_is_not,
    nothing_that_is_typed_is_an_error,
    an_index_that_is_missing_is_built,
    a_hit_says_what_it_is_and_shows_why,
    large_texts_can_be_kept_and_found,
    phrases_are_found_however_far_into_a_text_they_stand,
);

async fn find(house: &House, text: &str) -> Found {
    let question = Question { text, kind: None, limit: 50 };
    house.state.search.find(&house.state.scope.space, question).await.unwrap()
}

async fn ids(house: &House, text: &str) -> Vec<String> {
    find(house, text).await.items.into_iter().map(|hit| hit.id).collect()
}

async fn page(house: &House, id: &str, title: &str, body: &str) {
    let create = Change::new(&PageId::new(id), Op::Create).set("title", title).set("body", body);
    house.submit(create).await.unwrap();
}

async fn titles_count_most_and_the_order_is_the_same_everywhere(house: House) {
    let filler = "Some other words that make this text about as long as the others are. ";
    page(&house, "in-body", "Alpha", &format!("{filler} zeppelin {filler}")).await;
    page(&house, "in-title", "The zeppelin", &filler.repeat(2)).await;
    page(&house, "often", "Beta", &format!("{filler} zeppelin zeppelin zeppelin zeppelin")).await;
    let persona = PersonaId::new("in-notes");
    let create = Change::new(&persona, Op::Create)
        .set("name", "Gamma")
        .set("notes", "zeppelin")
        .set("systemPrompt", filler.repeat(2));
    house.submit(create).await.unwrap();
    let test = TestInputId::new("in-test");
    let create = Change::new(&test, Op::Create)
        .set("content", format!("{filler} {filler} {filler} {filler} zeppelin {filler}"))
        .set("personaId", "in-notes");
    house.submit(create).await.unwrap();
    let create = Change::new(Entity::new(EntityKind::Ref, "in-both"), Op::Create)
        .set("title", "Zeppelin flights")
        .set("note", "A zeppelin")
        .set("text", "zeppelin zeppelin");
    house.submit(create).await.unwrap();
    let create = Change::new(Entity::new(EntityKind::Task, "without"), Op::Create)
        .set("title", "Something else");
    house.submit(create).await.unwrap();

    assert_eq!(
        ids(&house, "zeppelin").await,
        ["in-both", "in-title", "in-notes", "often", "in-body", "in-test"]
    );
    assert_eq!(ids(&house, "zepp").await.len(), 6);
    // Nothing has the word "zepp": what begins so and has the other word is found.
    assert_eq!(ids(&house, "zepp the").await.len(), 5);
    let question = Question { text: "zeppelin", kind: Some(SearchKind::TestInput), limit: 50 };
    let found = house.state.search.find(&house.state.scope.space, question).await.unwrap();
    assert_eq!(found.items[0].parent_id.as_deref(), Some("in-notes"));
    assert_eq!(found.items.len(), 1);
    let question = Question { text: "zeppelin", kind: None, limit: 2 };
    let found = house.state.search.find(&house.state.scope.space, question).await.unwrap();
    assert_eq!(found.items.len(), 2);
    assert!(found.items[0].score > found.items[1].score);
}

async fn all_words_must_match_and_phrases_in_order(house: House) {
    page(&house, "one", "Quartz", "the red fox and the blue fox").await;
    page(&house, "two", "Quartz", "the blue hen and the red hen, well-known").await;
    page(&house, "three", "Quartz and red fox", "blue").await;

    let mut all = ids(&house, "quartz blue red").await;
    all.sort();
    assert_eq!(all, ["one", "three", "two"]);
    let mut foxes = ids(&house, "quartz blue fox").await;
    foxes.sort();
    assert_eq!(foxes, ["one", "three"]);
    assert_eq!(ids(&house, "quartz \"blue fox\"").await, ["one"]);
    assert_eq!(ids(&house, "\"blue fo\"").await, Vec::<String>::new());
    assert_eq!(ids(&house, "\"blue fo").await, ["one"]);
    assert_eq!(ids(&house, "well-known").await, ["two"]);
    assert_eq!(ids(&house, "known-well").await, Vec::<String>::new());
    // No phrase goes from the title into the body.
    assert_eq!(ids(&house, "\"red fox blue\"").await, Vec::<String>::new());
    assert_eq!(ids(&house, "uart blue").await, Vec::<String>::new());
}

async fn every_word_is_a_beginning_where_nothing_has_them_all(house: House) {
    page(&house, "exact", "Card games", "Whist and patience.").await;
    page(&house, "longer", "Cardinal gamesmanship", "Whistling.").await;

    assert_eq!(ids(&house, "card gam").await, ["exact"], "what fits as typed stands alone");
    assert_eq!(ids(&house, "cardin gamesm").await, ["longer"]);
    let both = ids(&house, "whis gam").await;
    assert_eq!((both.len(), both.contains(&"exact".into())), (2, true), "{both:?}");
    let hit = find(&house, "cardin whistl").await.items.remove(0);
    let marked: Vec<_> = hit.snippet.iter().filter(|piece| piece.marked).collect();
    assert!(!marked.is_empty(), "{:?}", hit.snippet);
    for nothing in ["\"cardin gamesm\"", "ca gamesm", "cardin nowhere"] {
        assert_eq!(ids(&house, nothing).await, Vec::<String>::new(), "{nothing}");
    }
}

async fn words_are_found_in_every_script_without_case_and_accents(house: House) {
    for (id, body) in [
        ("french", "Une crème BRÛLÉE, s'il vous plaît"),
        ("russian", "Студенты ёлку нарядили"),
        ("german", "ÄRZTINNEN & Ärzte über Köln"),
        ("japanese", "これは日本語の文章です"),
        ("chinese", "人工智能正在改变世界"),
        ("hindi", "हिन्दी में लिखा हुआ"),
        ("korean", "한국어로 쓴 글"),
        ("greek", "ΠΟΛΥ ΚΑΛΆ"),
        ("odd", "snake_case_name https://example.org/path?x=1 C++ 50%"),
    ] {
        page(&house, id, "Scripts", body).await;
    }
    for (text, id) in [
        ("creme brulee", "french"),
        ("CRÈME", "french"),
        ("студенты елк", "russian"),
        ("arztinnen koln", "german"),
        ("日本語", "japanese"),
        ("智能", "chinese"),
        ("हिन्दी", "hindi"),
        ("한국", "korean"),
        ("καλα", "greek"),
        ("snake_case", "odd"),
        ("example.org/path", "odd"),
        ("50%", "odd"),
    ] {
        assert_eq!(ids(&house, text).await, [id], "{text}");
    }
    assert_eq!(ids(&house, "本日").await, Vec::<String>::new());
    // Every word can be a beginning, and none an end.
    assert_eq!(ids(&house, "студен елк").await, ["russian"]);
    assert_eq!(ids(&house, "туденты елк").await, Vec::<String>::new());
}

async fn what_is_in_the_bin_is_not_found_until_it_comes_back(house: House) {
    let id = house.persona("ann", "a marzipan prompt").await;
    let test = TestInputId::new("ann-1");
    let create = Change::new(&test, Op::Create).set("content", "marzipan?").set("personaId", "ann");
    house.submit(create).await.unwrap();
    // A page that is called as the persona is is another thing.
    page(&house, "ann", "Marzipan", "").await;
    assert_eq!(ids(&house, "marzipan").await.len(), 3);

    house.submit(Change::new(&PageId::new("ann"), Op::Delete)).await.unwrap();
    let mut left = ids(&house, "marzipan").await;
    left.sort();
    assert_eq!(left, ["ann", "ann-1"]);
    let deleted = house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert_eq!(ids(&house, "marzipan").await, Vec::<String>::new());
    house.gate().undo(&deleted.change_id.unwrap()).await.unwrap();
    assert_eq!(ids(&house, "marzipan").await.len(), 2);

    house.submit(Change::new(&test, Op::Delete)).await.unwrap();
    assert_eq!(ids(&house, "marzipan").await, ["ann"]);
    house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    house.submit(Change::new(&id, Op::Restore)).await.unwrap();
    assert_eq!(ids(&house, "marzipan").await, ["ann"]);
    house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    house.gate().empty_bin().await.unwrap();
    assert_eq!(ids(&house, "marzipan").await, Vec::<String>::new());
    assert_eq!(house.state.search.build_index().await.unwrap(), 0);
}

async fn an_edit_is_found_at_once_and_what_it_replaced_is_not(house: House) {
    page(&house, "notes", "Notes", "a walrus").await;
    let edit = Change::new(&PageId::new("notes"), Op::Update).set("body", "a narwhal");
    let edited = house.submit(edit).await.unwrap();

    assert_eq!(ids(&house, "walrus").await, Vec::<String>::new());
    assert_eq!(ids(&house, "narwhal").await, ["notes"]);
    house.gate().undo(&edited.change_id.unwrap()).await.unwrap();
    assert_eq!(ids(&house, "walrus").await, ["notes"]);
    // What is refused leaves the index alone.
    let bad = Change::new(&PageId::new("notes"), Op::Update).set("body", "x\0");
    house.submit(bad).await.unwrap_err();
    assert_eq!(ids(&house, "walrus").await, ["notes"]);
    // Nothing of another Space is found.
    let neighbour = house.neighbour().await;
    assert_eq!(ids(&neighbour, "walrus").await, Vec::<String>::new());
}

async fn nothing_that_is_typed_is_an_error(house: House) {
    for odd in [
        "",
        " ",
        "\"",
        "\"\"\"",
        "*",
        "**",
        "(",
        "())",
        ":",
        "title:",
        "NEAR(a b)",
        "AND",
        "a AND",
        "OR OR",
        "NOT a",
        "-a",
        "^a",
        "{a b}: c",
        "'",
        "''",
        "\\",
        "a\\",
        "a'b",
        "a & b | !c",
        "a <-> b",
        "a:*",
        ":*",
        "🙂",
        "👩‍👩‍👧 x",
        "\0",
        "a\0b",
        "%",
        "_",
        "; drop table persona; --",
        "\u{202e}",
        "½ ﬁ ²",
        "e\u{301}",
        "\u{0301}",
        "ͣ",
    ] {
        find(&house, odd).await;
        find(&house, &format!("{odd} the")).await;
        find(&house, &format!("\"{odd}")).await;
    }
    for long in ["x".repeat(10_000), "a ".repeat(5_000), "\"".repeat(10_000), "字".repeat(10_000)]
    {
        find(&house, &long).await;
    }
}

async fn an_index_that_is_missing_is_built(house: House) {
    for number in 0..60 {
        page(&house, &format!("p{number}"), &format!("Page {number}"), "an ocelot").await;
    }
    let before = ids(&house, "ocelot").await.len();
    let neighbour = house.neighbour().await;
    for space in [&house, &neighbour] {
        let scope = &space.state.scope;
        let mut link = space.state.store.write(&scope.space).await.unwrap();
        for number in 0..60 {
            link.forget_document(SearchKind::Page, &format!("p{number}")).await.unwrap();
        }
        link.forget_document(SearchKind::Persona, "optimist").await.unwrap();
        link.commit().await.unwrap();
    }
    assert_eq!(ids(&house, "ocelot").await, Vec::<String>::new());

    let built = house.state.search.build_index().await.unwrap();

    // Sixty pages, and in both Spaces a persona with its five test inputs.
    assert_eq!(built, 60 + 2 * 6);
    assert_eq!((before, ids(&house, "ocelot").await.len()), (50, 50));
    assert_eq!(ids(&neighbour, "optimist").await[0], "optimist");
    assert_eq!(house.state.search.build_index().await.unwrap(), 0);
}

async fn a_hit_says_what_it_is_and_shows_why(house: House) {
    let new = json!({"id": "notes", "title": "Notes", "body": "# Birds\n\nThe <b>Ibis</b> waits."});
    let made = house.call(Method::POST, "/api/storage/pages", new).await.good();

    let found = house.get("/api/search?q=ibis&kind=page&limit=5").await.good();

    assert_eq!((&found["mode"], &found["next"]), (&json!("fullText"), &json!(null)));
    let hit = &found["items"][0];
    assert_eq!((&hit["kind"], &hit["id"]), (&json!("page"), &json!("notes")));
    assert_eq!((&hit["title"], &hit["updatedAt"]), (&json!("Notes"), &made["updatedAt"]));
    assert!(hit["score"].as_f64().unwrap() > 0.0);
    assert_eq!(
        hit["snippet"],
        json!([
            {"text": "Birds The <b>", "marked": false},
            {"text": "Ibis", "marked": true},
            {"text": "</b> waits.", "marked": false},
        ])
    );
    assert_eq!(house.get("/api/search").await.good()["items"], json!([]));
    assert_eq!(
        house.get("/api/search?q=x&kind=nothing").await.error(),
        error(400, "malformed", "")
    );
    let found = house.get("/api/search?q=persona&limit=0").await.good();
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let long = format!("/api/search?q={}", "%22a*".repeat(2_000));
    assert_eq!(house.send(request(Method::GET, &long, None)).await.status, 200);
}

async fn large_texts_can_be_kept_and_found(house: House) {
    let id = Entity::new(EntityKind::Ref, "large");
    let words: String = (0..62_500).map(|number| format!("w{number:06} ")).collect();
    let create = Change::new(id.clone(), Op::Create).set("text", words);
    house.submit(create).await.unwrap();
    assert_eq!(ids(&house, "w000001").await, ["large"]);
    assert_eq!(ids(&house, "\"w000100 w000101\"").await, ["large"]);

    for text in ["字".repeat(500_000), "é".repeat(500_000), "🙂".repeat(500_000)] {
        house.submit(Change::new(id.clone(), Op::Update).set("text", text)).await.unwrap();
    }
}

/// PostgreSQL keeps 255 places of a word, and none after the 16 383rd word: behind them no phrase was found.
async fn phrases_are_found_however_far_into_a_text_they_stand(house: House) {
    let often = "the boat and ".repeat(300);
    page(&house, "often", "One", &format!("{often}the harbour [[Fog of the moor]]")).await;
    page(&house, "other", "Two", &format!("{often}harbour the fog moor of")).await;
    page(&house, "short", "Three", "the harbour").await;
    let han = "的".repeat(300);
    page(&house, "han", "Four", &format!("{han}。人工智能的力量")).await;
    page(&house, "unlike", "Five", &format!("{han}。智人能工力的量")).await;
    let far: String = (0..20_000).map(|number| format!("w{number} ")).collect();
    page(&house, "far", "Six", &far).await;

    let mut found = ids(&house, "\"the harbour\"").await;
    found.sort();
    assert_eq!(found, ["often", "short"]);
    assert_eq!(ids(&house, "boat \"the harb").await, ["often"]);
    assert_eq!(ids(&house, "boat \"harbour the\"").await, ["other"]);
    assert_eq!(ids(&house, "的力").await, ["han"]);
    assert_eq!(ids(&house, "w19000-w19001").await, ["far"]);
    assert_eq!(ids(&house, "w19001-w19000").await, Vec::<String>::new());
    // So are those by title alone, and the links to a page.
    let search = &house.state.search;
    let space = &house.state.scope.space;
    let question = Question { text: "boat \"the harbour\"", kind: None, limit: 1 };
    let hits = search.with_words(space, question).await.unwrap();
    assert_eq!(hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>(), ["often"]);
    let linking = search.linking_to(space, "Fog of the moor").await.unwrap();
    assert_eq!(linking.into_iter().map(|hit| hit.id).collect::<Vec<_>>(), ["often"]);
}
