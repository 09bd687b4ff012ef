//! Two processes on one PostgreSQL that reach each other through Redis, and what happens when it is away.

mod setup;

use greenroom::{
    agent::{Node, Relay},
    domain::{
        change::{Change, ChangeState, Entity, Op},
        event::RunEvent,
        id::{PartId, PersonaId},
        news::Topic,
    },
};
use serde_json::json;
use setup::{PATIENCE, Pair, Watcher, endless, log, saying, shared_redis};
use tokio::time::timeout;

use crate::support::{House, error};

#[tokio::test]
async fn words_are_heard_in_the_other_process_before_they_are_in_the_log_and_all_of_them_once() {
    let pair = Pair::on(shared_redis(), endless()).await;
    let run = pair.say().await;
    let mut watcher = Watcher::of(&pair.two, &run).await;
    watcher.words(5).await;

    pair.hears(&mut watcher, &run).await;

    assert_eq!(pair.stop(&run).await["status"], "stopped");
    watcher.end().await;
    assert_eq!(watcher.seen, log(&pair.one, &run).await);
    let numbers: Vec<u64> = watcher.seen.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_run_is_stopped_from_the_other_process_without_its_row_being_looked_at() {
    // Nobody looks at the rows here: that is what `keep_alive` does.
    let pair = Pair::new(json!({"answers": [[{"text": "Once "}, "stall"]]})).await;
    let run = pair.say().await;
    let mut watcher = Watcher::of(&pair.two, &run).await;
    watcher.words(1).await;

    let stopped = pair.stop(&run).await;

    assert_eq!((&stopped["status"], &stopped["canContinue"]), (&json!("stopped"), &json!(true)));
    let end = watcher.end().await;
    assert_eq!((&end["type"], &end["status"]), (&json!("ended"), &json!("stopped")));
}

#[tokio::test]
async fn a_second_message_is_refused_by_the_other_process_without_a_write() {
    let pair = Pair::new(json!({"answers": [["stall"]]})).await;
    let run = pair.say().await;
    let optimist = PersonaId::new("optimist");
    let persona = pair.one.read().await.persona(&optimist).await.unwrap();
    let conversation = persona.agent_chat_session_id.unwrap();
    let key = format!("greenroom:lock:{}:{conversation}", pair.one.state.scope.space);
    let ours = |holder: &Option<String>| holder.as_deref() == Some(run.as_str());
    pair.ask_until(&["GET", &key], ours).await;
    let lasts = pair.ask_until(&["PTTL", &key], |_: &i64| true).await;
    assert!(lasts > 0, "it ends by itself when nobody renews it");

    // Whoever begins to write for this persona has to wait; the refusal does not.
    let store = &pair.two.state.store;
    let mut held = store.write(&pair.two.state.scope.space).await.unwrap();
    held.lock(&Entity::from(&optimist)).await.unwrap();
    let refused = timeout(PATIENCE, pair.two.send(saying("Hurry"))).await.unwrap();
    assert_eq!(refused.error(), error(409, "busy", ""));
    assert_eq!(refused.json()["error"]["runId"], run);
    drop(held);

    pair.stop(&run).await;
    pair.ask_until(&["GET", &key], Option::<String>::is_none).await;
    // A lock that was left behind, or makes no sense, is not believed.
    for left in [run.as_str(), "nonsense"] {
        pair.ask_until(&["SET", &key, left], |_: &redis::Value| true).await;
        let answered = pair.two.send(saying("And now?")).await;
        assert!(answered.status.is_success(), "{}", answered.text);
    }
}

#[tokio::test]
async fn two_messages_in_the_same_moment_in_two_processes_start_one_run() {
    let script = json!({"answers": [["stall"]]});
    let pair = Pair::new(script.clone()).await;
    let relay = Relay::open(&pair.redis).unwrap();
    let node = Node { relay, ..Node::from("three") };
    let three = House::process(&pair.database, node, &script).await;

    let (one, two) = tokio::join!(pair.one.status(saying("One")), three.status(saying("Two")));

    let mut statuses = [one.as_u16(), two.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
}

#[tokio::test]
async fn news_reach_the_tabs_of_both_processes_once() {
    let pair = Pair::new(endless()).await;
    let mut feeds = Vec::new();
    for house in [&pair.one, &pair.two] {
        let (store, space) = (&house.state.store, &house.state.scope.space);
        let mut feed = store.news(space);
        tokio::spawn(store.clone().follow_news());
        let first = timeout(PATIENCE, feed.next()).await.unwrap().unwrap();
        assert_eq!(first.topic, Topic::Missed, "it listens now");
        feeds.push(feed);
    }

    for name in ["ann", "bob"] {
        let change = Change::new(&PersonaId::new(name), Op::Create).set("name", name);
        pair.one.submit(change.set("systemPrompt", "You are.")).await.unwrap();
    }

    for feed in &mut feeds {
        for name in ["ann", "bob"] {
            let news = timeout(PATIENCE, feed.next()).await.unwrap().unwrap();
            let told = (news.state, news.entity_id.as_str());
            assert_eq!(told, (Some(ChangeState::Applied), name));
        }
    }
}

#[tokio::test]
async fn a_run_that_nobody_watches_any_more_is_not_listened_to() {
    let pair = Pair::new(endless()).await;
    let run = pair.say().await;
    let channel = format!("greenroom:run:{run}");
    let listeners = async |count: u64| {
        let counted = |(_, known): &(String, u64)| *known == count;
        pair.ask_until(&["PUBSUB", "NUMSUB", &channel], counted).await;
    };
    let mut first = Watcher::of(&pair.two, &run).await;
    let mut second = Watcher::of(&pair.two, &run).await;
    first.words(1).await;
    second.words(1).await;
    listeners(1).await;

    drop(first);
    second.words(50).await;
    listeners(1).await;
    drop(second);
    listeners(0).await;
    pair.stop(&run).await;
}

#[tokio::test]
async fn when_redis_dies_the_log_tells_the_rest_and_when_it_is_back_it_is_used_again() {
    let mut pair = Pair::new(endless()).await;
    let run = pair.say().await;
    let mut watcher = Watcher::of(&pair.two, &run).await;
    watcher.words(20).await;

    pair.kill_redis();
    watcher.words(200).await;
    // Who comes while it is away is told the same.
    let mut late = Watcher::of(&pair.two, &run).await;
    late.words(20).await;

    pair.restart_redis().await;
    let channel = format!("greenroom:run:{run}");
    let heard = |(_, count): &(String, u64)| *count == 1;
    pair.ask_until(&["PUBSUB", "NUMSUB", &channel], heard).await;
    pair.hears(&mut watcher, &run).await;

    assert_eq!(pair.stop(&run).await["status"], "stopped");
    watcher.end().await;
    late.end().await;
    assert_eq!(watcher.seen, log(&pair.one, &run).await);
    assert_eq!(late.seen, watcher.seen);
}

#[tokio::test]
async fn without_redis_the_database_alone_decides_and_a_stop_is_found_in_the_row() {
    let nowhere = tempfile::tempdir().unwrap();
    let url = format!("redis+unix://{}", nowhere.path().join("none.sock").display());
    let pair = Pair::on(url, json!({"answers": [[{"text": "Once "}, "stall"]]})).await;
    let run = pair.say().await;
    tokio::spawn(pair.one.state.agent.clone().keep_alive());
    let mut watcher = Watcher::of(&pair.two, &run).await;
    watcher.words(1).await;

    let refused = pair.two.send(saying("Hurry")).await;
    assert_eq!(refused.error(), error(409, "busy", ""));
    assert_eq!(refused.json()["error"]["runId"], run);

    assert_eq!(pair.stop(&run).await["status"], "stopped");
    assert_eq!(watcher.end().await["status"], "stopped");
}

#[tokio::test]
async fn what_makes_no_sense_on_a_channel_is_left_and_stops_nothing() {
    let pair = Pair::new(endless()).await;
    let run = pair.say().await;
    let mut watcher = Watcher::of(&pair.two, &run).await;
    watcher.words(5).await;

    let channel = format!("greenroom:run:{run}");
    let part = PartId::new("p");
    let event = RunEvent::Text { part, delta: "wrong".into() };
    let known = json!([{"seq": 1, "at": 0, "event": event}]).to_string();
    let ahead = json!([{"seq": 9_000_000, "at": 0, "event": event}]).to_string();
    for words in ["", "{", "[1]", &known, &ahead] {
        pair.ask_until(&["PUBLISH", &channel, words], |_: &u64| true).await;
    }
    pair.ask_until(&["PUBLISH", "greenroom:stop", "nobody"], |_: &u64| true).await;

    watcher.words(50).await;
    pair.stop(&run).await;
    watcher.end().await;
    assert_eq!(watcher.seen, log(&pair.one, &run).await);
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_showing_its_password() {
    for url in ["redis://u:secret@h:port", "redis://u:secret@h/notanumber", "gopher://u:secret@h"] {
        let refused = Relay::open(url).unwrap_err().to_string();
        assert!(refused.starts_with("REDIS_URL") && !refused.contains("secret"), "{refused}");
    }
    let relay = Relay::open("redis://u:secret@127.0.0.1:1").unwrap();
    assert!(!format!("{relay:?}").contains("secret"));
}
