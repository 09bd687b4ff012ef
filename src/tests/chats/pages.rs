//! The pages of chats as a browser without JavaScript gets them.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use serde_json::{Value, json};

use super::{CHATS, answers, begin, path, post, quiet, say, settle, spoken, text, until};
use crate::support::{ADDRESS, House, on_both};

on_both!(
    what_is_pruned_can_be_taken_back_at_once,
    a_place_that_is_not_in_the_chat_hides_nothing,
    one_flips_back_while_another_answer_goes_on,
    branches_are_compared_on_a_page,
    what_is_said_below_two_branches_follows_the_first_of_them,
    the_map_finds_marks_and_chooses,
    hidden_messages_are_told_as_they_are,
    models_are_chosen_by_price_and_ability,
    the_list_of_chats_is_searched_renamed_and_emptied,
    chats_are_searched_among_those_of_one_persona,
    the_search_page_leads_to_a_chat,
    personas_beyond_the_list_are_found_by_name,
    other_words_are_kept_when_they_cannot_be_answered_now,
    what_roleplay_knows_is_seen_edited_and_versioned,
    a_test_input_from_a_chat_shows_its_history_and_check,
    a_label_is_taken_away_by_an_empty_field,
);

/// The page of a chat.
fn page_of(chat: &str) -> String {
    chat.replace("/api/", "/")
}

/// A page as one browser sees it again and again.
async fn seen(house: &House, path: &str) -> String {
    let request = Request::builder().uri(path).header(header::HOST, ADDRESS);
    let request = request.header(header::COOKIE, "device=laptop").body(Body::empty()).unwrap();
    let answer = house.send(request).await;
    assert_eq!(answer.status, 200, "{path}");
    // Leptos marks where text begins.
    answer.text.replace("<!>", "")
}

async fn what_is_pruned_can_be_taken_back_at_once(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "One"})).await;
    let (two, _) = say(&house, &chat, json!({"content": "Two"})).await;
    let page = page_of(&chat);

    let pruned = house.form("/fn/prune_message", &page, &[("id", two.as_str())]).await;
    assert_eq!(pruned.header("location"), format!("{page}?pruned={two}"));
    let after = seen(&house, pruned.header("location")).await;
    assert!(after.contains("Pruned from “Two” on.") && after.contains("Undo"), "{after}");
    assert!(!after.contains("Answer 2."));

    let back =
        house.form("/fn/prune_message", &page, &[("id", two.as_str()), ("back", "true")]).await;
    assert_eq!(back.header("location"), page);
    let after = seen(&house, &format!("{page}?pruned={two}")).await;
    assert!(after.contains("Answer 2.") && !after.contains("Pruned from"), "{after}");
}

async fn a_place_that_is_not_in_the_chat_hides_nothing(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "One"})).await;
    let elsewhere = begin(&house, "optimist").await;
    let (foreign, _) = say(&house, &elsewhere, json!({"content": "Other"})).await;
    let page = page_of(&chat);

    assert!(seen(&house, &page).await.contains("data-new"), "the browser is not known yet");
    for leaf in [foreign.as_str(), "nothing", "a%00b"] {
        let shown = seen(&house, &format!("{page}?leaf={leaf}")).await;
        assert!(shown.contains("That message is not in this chat") && shown.contains("Answer 1."));
    }
    let again = seen(&house, &page).await;
    assert!(!again.contains("data-new") && !again.contains("That message is not"), "{again}");
    let before = house.get(&format!("{page}?before={foreign}")).await;
    assert_eq!(before.status, 404);
}

async fn one_flips_back_while_another_answer_goes_on(house: House) {
    let script = json!({"answers": [[{"text": "Whole."}], [{"text": "Half "}, "stall"]]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let (_, whole) = say(&house, &chat, json!({"content": "One"})).await;
    let kept = post(&house, &format!("/api/messages/{whole}/regenerate"), json!({})).await.good();
    spoken(&house, &json!([kept["runId"]])).await;
    let page = page_of(&chat);

    let shown = seen(&house, &page).await;
    let turn = shown.split(&format!("id=\"turn-{}\"", text(&kept["replyId"]))).nth(1).unwrap();
    let turn = turn.split("</li>").next().unwrap();
    assert!(turn.contains("2 / 2") && turn.contains(&format!("value=\"{whole}\"")), "{turn}");
    for hidden in ["Again", "Edit…", "More…"] {
        assert!(!turn.contains(hidden), "{hidden}: {turn}");
    }
    let fields = [("chat", page.trim_start_matches("/chats/")), ("id", whole.as_str())];
    house.form("/fn/go_to_message", &page, &fields).await;
    let back = seen(&house, &format!("{page}?leaf={whole}")).await;
    assert!(back.contains("Whole.") && back.contains("1 newer message"), "{back}");
    let coming = format!("value=\"{}\"", text(&kept["replyId"]));
    assert!(back.contains("1 / 2") && back.contains(&coming), "{back}");
}

async fn branches_are_compared_on_a_page(house: House) {
    let script = json!({"answers": [[{"text": "It rains in the hills."}], [{"text": "It snows in the hills."}]]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let (_, left) = say(&house, &chat, json!({"content": "How is it?"})).await;
    let kept = post(&house, &format!("/api/messages/{left}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let (page, right) = (page_of(&chat), text(&kept["replyId"]));

    let chat_page = seen(&house, &page).await;
    assert!(chat_page.contains(&format!("compare={right}&amp;with={left}")), "{chat_page}");
    let shown = seen(&house, &format!("{page}?compare={left}&with={right}")).await;
    for expected in
        ["1 message in common", "<del>rains</del>", "<ins>snows</ins>", "Go on from this one"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let same = seen(&house, &format!("{page}?compare={left}&with={left}")).await;
    assert!(same.contains("Both are the same branch."));
    let odd = house.get(&format!("{page}?compare={left}&with=nothing")).await;
    assert_eq!(odd.status, 404);
    assert!(odd.text.contains("That message of this chat does not exist."), "{}", odd.text);

    let fields = [("chat", page.trim_start_matches("/chats/")), ("id", left.as_str())];
    assert_eq!(house.form("/fn/go_to_message", &page, &fields).await.header("location"), page);
}

/// What was said below two branches went to whichever the browser had last seen, and was not seen there.
async fn what_is_said_below_two_branches_follows_the_first_of_them(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (_, left) = say(&house, &chat, json!({"content": "How is it?"})).await;
    let kept = post(&house, &format!("/api/messages/{left}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let (page, right) = (page_of(&chat), text(&kept["replyId"]));
    let compared = format!("{page}?compare={left}&with={right}");

    // A browser takes it from the page, and does not take the page for that of the chat.
    let shown = seen(&house, &compared).await;
    assert!(shown.contains(&format!("<div id=\"chat\" data-leaf=\"{left}\" hidden")), "{shown}");
    assert!(!shown.contains("data-chat="), "{shown}");
    assert!(shown.contains("What you say below goes on from A."), "{shown}");
    // Without its program, the form says where it stands.
    let fields = [("at", page.as_str()), ("words", "And then?"), ("parent", "")];
    let said = house.form("/fn/say", &compared, &fields).await;

    assert_eq!(said.header("location"), page);
    let there = |page: &Value| quiet(page) && page["items"].as_array().unwrap().len() == 4;
    let path = until(&house, &chat, there).await;
    assert_eq!(
        (&path["items"][1]["id"], &path["items"][2]["content"]),
        (&json!(left), &json!("And then?"))
    );
}

async fn the_map_finds_marks_and_chooses(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (one, reply) = say(&house, &chat, json!({"content": "A needle"})).await;
    let kept = post(&house, &format!("/api/messages/{reply}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let map = format!("{}?map=1", page_of(&chat));

    let plain = seen(&house, &map).await;
    assert_eq!(plain.matches("<circle").count(), 3, "{plain}");
    let found = seen(&house, &format!("{map}&find=NEEDLE")).await;
    assert!(found.contains("1 message has these words."), "{found}");
    assert_eq!(found.matches(" found").count(), 2, "in the list and in the drawing: {found}");
    assert!(seen(&house, &format!("{map}&find=hay")).await.contains("No message has these words."));
    let both = seen(&house, &format!("{map}&find=NEEDLE&at={one}")).await;
    let place = |what: &str| both.find(what).unwrap_or_else(|| panic!("{what}: {both}"));
    assert!(place("map-chosen") < place("moments found"), "it is seen above all that is found");
    let chosen = seen(&house, &format!("{map}&at={reply}")).await;
    assert!(chosen.contains("The chosen message") && chosen.contains("Compare with what is shown"));
    house.form("/fn/mark_message", &map, &[("id", one.as_str()), ("form[label]", "Start")]).await;
    assert!(seen(&house, &map).await.contains(">Start</a>"));
    let choosing = seen(&house, &format!("{map}&compare={reply}")).await;
    assert!(choosing.contains("Choose a message of the branch to compare with."), "{choosing}");
    assert!(choosing.contains(&format!("compare={reply}&amp;with={one}")), "{choosing}");
}

async fn hidden_messages_are_told_as_they_are(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (one, _) = say(&house, &chat, json!({"content": "One"})).await;
    say(&house, &chat, json!({"content": "Two"})).await;
    let edit = async |content: &str| {
        post(&house, &format!("/api/messages/{one}/edit"), json!({"content": content})).await.good()
    };

    edit("Eins").await;
    assert!(seen(&house, &page_of(&chat)).await.contains("3 messages on the other branch"));
    let third = edit("Un").await;
    let leaf = text(&third["id"]);
    let page = seen(&house, &format!("{}?leaf={leaf}", page_of(&chat))).await;
    assert!(page.contains("3 messages on other branches"), "{page}");
}

async fn models_are_chosen_by_price_and_ability(house: House) {
    let chat = begin(&house, "optimist").await;
    let settings = format!("{}?settings=1", page_of(&chat));

    let shown = seen(&house, &settings).await;
    for expected in ["What the models cost and can do", "tools, images", "in, $", "tokens"] {
        assert!(shown.contains(expected), "{expected}");
    }
    // What a model can do is told where it is chosen, too.
    let options = shown.split("<option").filter(|option| option.contains(" · "));
    let able =
        |option: &str| ["tools", "images", "words only"].iter().any(|word| option.contains(word));
    let unable: Vec<&str> = options.filter(|option| !able(option)).collect();
    assert_eq!(unable, Vec::<&str>::new());
    // A model that was added, chosen and forgotten is neither hidden nor changed by saving the rest.
    let model = [
        ("model[service]", "ollama"),
        ("model[name]", "tiny"),
        ("model[context]", "4000"),
        ("model[max_output]", "1000"),
    ];
    house.function("add_model", &model).await.good();
    house.call(Method::PATCH, &chat, json!({"settings": {"model": "ollama/tiny"}})).await.good();
    assert!(seen(&house, &settings).await.contains("price not known"));
    house.function("remove_model", &[("id", "ollama/tiny")]).await.good();
    let shown = seen(&house, &settings).await;
    assert!(shown.contains("ollama/tiny (not known any more)"), "{shown}");
}

async fn the_list_of_chats_is_searched_renamed_and_emptied(house: House) {
    let house = house.playing(&answers(9));
    let new = json!({"personaId": "optimist", "title": "Rain"});
    let rain = text(&post(&house, CHATS, new).await.good()["id"]);
    let other = begin(&house, "skeptic").await;
    house.call(Method::PATCH, &other, json!({"title": "Snow"})).await.good();
    say(&house, &other, json!({"content": "Tell me about marzipan"})).await;
    let list = async |query: &str| {
        let page = seen(&house, &format!("/chats?{query}")).await;
        (page.contains(">Rain</strong>"), page.contains(">Snow</strong>"))
    };

    assert_eq!(list("").await, (true, true));
    assert_eq!(list("q=rain").await, (true, false));
    assert_eq!(list("q=marzipan").await, (false, true));
    assert_eq!(list("persona=skeptic").await, (false, true));
    assert_eq!(list("q=rain&persona=skeptic").await, (false, false));
    assert!(seen(&house, "/chats?q=nowhere").await.contains("No such chats"));

    let renamed =
        house.form("/fn/rename_chat", "/chats", &[("id", rain.as_str()), ("title", "Hail")]).await;
    assert_eq!(renamed.status, 302);
    let known = house.get(&format!("{CHATS}/{rain}")).await.good();
    assert_eq!((&known["title"], &known["titledBy"]), (&json!("Hail"), &json!("person")));
    house.form("/fn/rename_chat", "/chats", &[("id", rain.as_str()), ("title", " ")]).await;
    assert_eq!(house.get(&format!("{CHATS}/{rain}")).await.good()["title"], "Hail");
    house.form("/fn/delete_chat", "/chats", &[("id", rain.as_str())]).await;
    assert_eq!(list("q=hail").await, (false, false));
}

async fn chats_are_searched_among_those_of_one_persona(house: House) {
    for at in 0..55 {
        let new = json!({"personaId": "optimist", "title": format!("Marzipan {at}")});
        post(&house, CHATS, new).await.good();
    }
    // It speaks second, and its chat fits worse than all others.
    let title = format!("Marzipan {}", "and much else besides ".repeat(5).trim_end());
    let new = json!({"personaIds": ["optimist", "skeptic"], "title": title});
    let both = text(&post(&house, CHATS, new).await.good()["id"]);

    let found = seen(&house, "/chats?q=marzipan&persona=skeptic").await;

    assert_eq!(found.matches("id=\"chat-").count(), 1, "{found}");
    assert!(found.contains(&format!("id=\"chat-{both}\"")), "{found}");
    assert!(found.contains("the last 2,000 messages"), "{found}");
    let all = seen(&house, "/chats?q=marzipan&persona=optimist").await;
    assert_eq!(all.matches("id=\"chat-").count(), 50);
}

async fn personas_beyond_the_list_are_found_by_name(house: House) {
    house.persona("zebedee", "You are old.").await;
    for at in 0..60 {
        house.persona(&format!("extra-{at}"), "You are new.").await;
    }
    let chat = begin(&house, "optimist").await;
    let option = "<option value=\"zebedee\"";
    for (page, lists) in [("/chats".to_owned(), 3), (format!("{}?settings=1", page_of(&chat)), 1)] {
        let mark = if page.contains('?') { '&' } else { '?' };

        let listed = seen(&house, &page).await;
        let found = seen(&house, &format!("{page}{mark}who=ZEBE")).await;
        let nobody = seen(&house, &format!("{page}{mark}who=nobody")).await;

        assert!(!listed.contains(option) && listed.contains("Find a persona"), "{listed}");
        assert_eq!(found.matches(option).count(), lists, "{found}");
        assert!(nobody.contains("No persona has “nobody” in its name."), "{nobody}");
    }
    let added = house.get(&chat).await.good();
    let (id, revision) = (text(&added["id"]), added["revision"].to_string());
    let fields = [
        ("id", id.as_str()),
        ("revision", revision.as_str()),
        ("personas[0]", "optimist"),
        ("add", "zebedee"),
    ];
    house.function("set_speakers", &fields).await.good();
    assert_eq!(house.get(&chat).await.good()["members"][1]["personaId"], "zebedee");
}

async fn other_words_are_kept_when_they_cannot_be_answered_now(house: House) {
    let script = json!({"answers": [[{"text": "Whole."}], [{"text": "Half "}, "stall"], [{"text": "Later."}]]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let (one, _) = say(&house, &chat, json!({"content": "One"})).await;
    let kept = post(&house, &format!("{chat}/messages"), json!({"content": "Two"})).await.good();
    spoken(&house, &json!([kept["runId"]])).await;
    let page = page_of(&chat);
    let fields = [("id", one.as_str()), ("content", "My other words"), ("answer", "true")];

    let sent = house.form("/fn/edit_message", &page, &fields).await;

    let back = sent.header("location").replace(&format!("http://{ADDRESS}"), "");
    assert!(back.starts_with(&page) && back.contains("__err"), "{back}");
    let told = house.get(&back).await.text;
    assert!(told.contains("Your words are kept, but nobody answers them yet."), "{told}");
    let tree = house.get(&format!("{chat}/tree")).await.good();
    let tree = tree["items"].as_array().unwrap();
    let mine = tree.iter().find(|node| node["excerpt"] == "My other words").expect("they are kept");
    // With the browser's program the form stays, so nothing is kept twice.
    let refused = house.function("edit_message", &fields).await;
    assert_eq!(refused.status, 409);
    let run = text(&kept["runId"]);
    post(&house, &format!("/api/runs/{run}/stop"), json!({})).await.good();
    settle(&house, &kept).await;
    assert_eq!(
        house.get(&format!("{chat}/tree")).await.good()["items"].as_array().unwrap().len(),
        tree.len() + 1,
        "only the stopped answer came"
    );
    // They can be answered from where they stand.
    let mine = text(&mine["id"]);
    let shown = house.get(&format!("{page}?leaf={mine}")).await.text.replace("<!>", "");
    assert!(shown.contains("Answer</button>"), "{shown}");
    let run = house.function("regenerate_message", &[("id", mine.as_str())]).await.good();
    settle(&house, &json!({"runId": run})).await;
    let answered = path(&house, &chat, &format!("leaf={mine}")).await;
    assert_eq!(super::words(&answered), ["My other words", "Later."]);
}

async fn the_search_page_leads_to_a_chat(house: House) {
    let house = house.playing(&answers(9));
    let new = json!({"personaId": "optimist", "title": "Sweets"});
    let chat = format!("{CHATS}/{}", text(&post(&house, CHATS, new).await.good()["id"]));
    say(&house, &chat, json!({"content": "Tell me about marzipan"})).await;

    let found = seen(&house, "/search?q=marzipan&kind=chat").await;
    assert!(found.contains("1 thing was found"), "{found}");
    assert!(found.contains(&format!("href=\"{}\"", page_of(&chat))), "{found}");
    assert!(found.contains(">Sweets</a>") && found.contains(">marzipan</mark>"), "{found}");
    assert!(found.contains("the last 2,000 messages"), "{found}");
    let other = seen(&house, "/search?q=marzipan&kind=page").await;
    assert!(!other.contains("Sweets"), "{other}");
}

async fn what_roleplay_knows_is_seen_edited_and_versioned(house: House) {
    let page = "/personas/innkeeper/roleplay";
    assert!(seen(&house, page).await.contains("Nothing yet."));
    house.form("/fn/draw_roleplay", page, &[("id", "innkeeper")]).await;
    let persona = "/api/storage/personas/innkeeper";
    let drawn = house.get(persona).await.good();
    let summary = text(&drawn["roleplayData"]["summary"]);
    assert!(!summary.is_empty() && drawn["revision"] == 1);
    assert!(!seen(&house, page).await.contains("Nothing yet."));

    let own = [
        ("id", "innkeeper"),
        ("revision", "1"),
        ("appearance", "tall"),
        ("summary", "A keeper of inns."),
    ];
    let saved = house.form("/fn/save_roleplay", page, &own).await;
    assert_eq!(saved.status, 302);
    let edited = house.get(persona).await.good();
    assert_eq!(
        edited["roleplayData"],
        json!({"appearance": "tall", "summary": "A keeper of inns."})
    );
    assert_eq!(edited["revision"], 2);
    let versions = seen(&house, "/personas/innkeeper?versions=1&from=1&to=2").await;
    assert!(versions.contains("Roleplay") && versions.contains("A keeper of inns."), "{versions}");
    house.function("restore_version", &[("id", "innkeeper"), ("revision", "1")]).await.good();
    assert_eq!(house.get(persona).await.good()["roleplayData"], drawn["roleplayData"]);

    // What is too long is told and changes nothing; without words it is drawn anew.
    let long = "x".repeat(10_001);
    let own = [("id", "innkeeper"), ("revision", "3"), ("summary", long.as_str())];
    let refused = house.function("save_roleplay", &own).await;
    assert_eq!(refused.status, 422);
    let none = [("id", "innkeeper"), ("revision", "3"), ("appearance", ""), ("summary", " ")];
    house.function("save_roleplay", &none).await.good();
    assert_eq!(house.get(persona).await.good().get("roleplayData"), None);
}

async fn a_test_input_from_a_chat_shows_its_history_and_check(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "One <b>"})).await;
    let (_, reply) = say(&house, &chat, json!({"content": "Two"})).await;
    let made = house.function("keep_as_test", &[("id", reply.as_str())]).await.good();
    let input = text(&made);

    let editor = seen(&house, "/personas/optimist").await;
    for expected in
        ["After 2 messages of a chat", "One &lt;b&gt;", "Answer 1.", "means: “Answer 2.”"]
    {
        assert!(editor.contains(expected), "{expected}");
    }
    let known = house.get("/api/storage/personas/optimist/test-inputs").await.good();
    let known = known["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == input.as_str())
        .unwrap()
        .clone();
    let checked = [
        ("id", input.as_str()),
        ("revision", "1"),
        ("form[content]", "Two"),
        ("form[check]", "Is kind."),
    ];
    house.form("/fn/save_test_input", "/personas/optimist", &checked).await;
    let path = format!("/api/storage/personas/optimist/test-inputs/{input}");
    let edited = house.get(&path).await.good();
    assert_eq!((&edited["check"], &edited["history"]), (&json!("Is kind."), &known["history"]));
    // Words of one field alone leave the other, and none at all are refused.
    let words = [("id", input.as_str()), ("revision", "2"), ("form[content]", "Zwei")];
    house.function("save_test_input", &words).await.good();
    assert_eq!(house.get(&path).await.good()["check"], "Is kind.");
    let silent = [("id", input.as_str()), ("revision", "3"), ("form[content]", "")];
    assert_eq!(house.function("save_test_input", &silent).await.status, 422);
}

async fn a_label_is_taken_away_by_an_empty_field(house: House) {
    let house = house.playing(&answers(1));
    let chat = begin(&house, "optimist").await;
    let (said, _) = say(&house, &chat, json!({"content": "One"})).await;
    let page = page_of(&chat);
    let marks = async || {
        let path = path(&house, &chat, "").await;
        (path["items"][0]["label"].clone(), path["items"][0]["bookmarked"].clone())
    };

    for (name, value) in [("form[label]", "The turn"), ("form[bookmarked]", "true")] {
        house.form("/fn/mark_message", &page, &[("id", said.as_str()), (name, value)]).await;
    }
    assert_eq!(marks().await, (json!("The turn"), json!(true)));
    house.form("/fn/mark_message", &page, &[("id", said.as_str()), ("form[label]", "")]).await;
    assert_eq!(marks().await, (json!(""), json!(true)));
}
