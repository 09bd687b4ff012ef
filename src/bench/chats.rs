//! Chats as they grow, on SQLite, within this process and as pages of a server; and coming back to a running
//! answer.
//!
//! What is opened is the harder case: every answer has its run, the chat goes on on a newer branch, and
//! something in it is pruned.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use greenroom::{
    agent::{Agent, Limits, NewChat, PathAsk},
    domain::{
        id::{ConversationId, MessageId, PartId},
        message::{Part, PartBody},
        run::Spent,
        timestamp::Timestamp,
    },
    providers::{Demo, Pace, Providers, TimeLimits},
    search::Search,
};
use sqlx::{QueryBuilder, Row, SqlitePool};

use super::{
    client::Times,
    plan::Plan,
    process::Server,
    service,
    space::{Space, space},
    streams::make_personas,
    table::{added_row, millis, row, title, told},
};

/// How many messages come at once.
const PAGE: u32 = 50;
/// How many rows one statement writes.
const ROWS: usize = 1_500;
/// Nobody asks a model here.
const NO_SERVICE: u16 = 9;
/// About what a person or a persona says at once.
const WORDS: &str = "The rain has not let up since noon, and the road to the pass is under water.";

pub async fn measure(plan: &Plan) {
    reading(plan).await;
    coming_back(plan).await;
}

/// Opens chats of all sizes and goes up in them.
async fn reading(plan: &Plan) {
    let mut smallest: Option<Times> = None;
    for size in [1_000, 100_000, 1_000_000].map(|full| plan.count(full, 200)) {
        let space = space().await;
        let agent = agent(&space);
        for depth in [50, 5_000] {
            // A path cannot be longer than the chat.
            let depth = depth.min(size / 2);
            let chat = grow(&space, &agent, size, depth).await;
            title(&format!("A chat of {size} messages, on a path of {depth}"));
            let [opened, paged, bare] = times(&space, &agent, &chat, plan.count(150, 10)).await;
            let opened = told("opened at its end, 50 messages", opened);
            told("50 more above", paged);
            told("its page over HTTP", pages(plan, &space, &chat).await);
            let bare = told("the bare statement: 50 rows", bare);
            let ratio = opened.p50.as_secs_f64() / bare.p50.as_secs_f64();
            row("ours by the bare one", &format!("{ratio:.1} ×"));
            if let Some(smallest) = &smallest {
                let ratio = opened.p50.as_secs_f64() / smallest.p50.as_secs_f64();
                row("ours by that of the smallest chat", &format!("{ratio:.2} ×"));
            }
            smallest.get_or_insert(opened);
        }
    }
}

/// What thinks in a Space, with the demo.
pub fn agent(space: &Space) -> Agent {
    let demo = Demo::new(Pace::AtOnce);
    let providers = Providers::new(TimeLimits::default(), demo, Arc::new(|_: &str| None)).unwrap();
    let search = Search::new(space.store.clone());
    Agent::new(space.store.clone(), providers, search, Limits::default(), "bench".into())
}

/// Where a chat is read from.
struct Grown {
    id: ConversationId,
    leaf: MessageId,
}

/// Asks a server on the same data for the page of a chat; the first ones only warm.
async fn pages(plan: &Plan, space: &Space, chat: &Grown) -> Vec<Duration> {
    let server = Server::greenroom(&plan.binary, space.folder.path(), NO_SERVICE);
    let server = server.ready("/healthz").await;
    let load = server.load();
    let path = format!("/chats/{}?leaf={}", chat.id, chat.leaf);
    let rounds = plan.count(100, 10);
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds + rounds / 10 + 1 {
        let time = load.time(&path).await;
        times.extend((round > rounds / 10).then_some(time));
    }
    times
}

/// A chat with one path of this depth, and all other messages on short branches beside it. It ends on the
/// newest of them, and the first of them is pruned.
async fn grow(space: &Space, agent: &Agent, size: usize, depth: usize) -> Grown {
    let new = NewChat { persona: "optimist".into(), ..NewChat::default() };
    let id = agent.create_chat(&space.scope, new).await.unwrap().id;
    let name = |number: usize| format!("{}-{number:08}", &id.as_str()[id.as_str().len() - 12..]);
    let mut transaction = space.pool.begin().await.unwrap();
    let parts = |number: usize| {
        let body = PartBody::Text(WORDS.to_owned());
        let id = PartId::new(name(number));
        let part = Part { id, at: Timestamp(number as i64), body, carried: None };
        serde_json::to_string(&[part]).unwrap()
    };
    let spent = serde_json::to_string(&Spent::default()).unwrap();
    // The path comes first; after it, pairs of messages branch off all along it.
    let parent = |number: usize| match number {
        0 => None,
        number if number < depth => Some(number - 1),
        number if (number - depth).is_multiple_of(2) => Some((number - depth) / 2 % depth),
        number => Some(number - 1),
    };
    let is_answer = |number: usize| !number.is_multiple_of(2);
    for from in (0..size).step_by(ROWS) {
        let mut insert = QueryBuilder::new(
            "insert into message (space_id, message_id, conversation_id, parent_id, role, parts, \
             run_id, model, spent, created_at) ",
        );
        insert.push_values(from..size.min(from + ROWS), |mut values, number| {
            let role = if is_answer(number) { "assistant" } else { "user" };
            values
                .push_bind("home")
                .push_bind(name(number))
                .push_bind(id.as_str().to_owned())
                .push_bind(parent(number).map(name))
                .push_bind(role)
                .push_bind(parts(number))
                .push_bind(is_answer(number).then(|| format!("run-{}", name(number))))
                .push_bind("demo")
                .push_bind(spent.clone())
                .push_bind(number as i64);
        });
        insert.build().execute(&mut *transaction).await.unwrap();
        let mut insert = QueryBuilder::new(
            "insert into run (space_id, run_id, round_id, conversation_id, message_id, attempt, \
             reply_id, persona_id, persona_revision, user_id, model, status, spent, created_at, \
             node, alive_at, ended_at) ",
        );
        let answers = (from..size.min(from + ROWS)).filter(|number| is_answer(*number));
        insert.push_values(answers, |mut values, number| {
            let run = format!("run-{}", name(number));
            let at = number as i64;
            values
                .push_bind("home")
                .push_bind(run.clone())
                .push_bind(run)
                .push_bind(id.as_str().to_owned())
                .push_bind(parent(number).map(name))
                .push_bind(at)
                .push_bind(name(number))
                .push_bind("optimist")
                .push_bind(1_i64)
                .push_bind("owner")
                .push_bind("demo")
                .push_bind("done")
                .push_bind(spent.clone())
                .push_bind(at)
                .push_bind("bench")
                .push_bind(at)
                .push_bind(at);
        });
        insert.build().execute(&mut *transaction).await.unwrap();
    }
    let ends = "update conversation set leaf_id = $1 where conversation_id = $2";
    let ends = sqlx::query(ends).bind(name(size - 1)).bind(id.as_str());
    ends.execute(&mut *transaction).await.unwrap();
    let pruned = "update message set pruned_at = 1 where space_id = 'home' and message_id = $1";
    let pruned = sqlx::query(pruned).bind(name(depth));
    pruned.execute(&mut *transaction).await.unwrap();
    transaction.commit().await.unwrap();
    Grown { id: id.clone(), leaf: MessageId::new(name(depth - 1)) }
}

/// Opening, going up, and the bare statement, asked in turns; the first ones only warm.
async fn times(space: &Space, agent: &Agent, chat: &Grown, rounds: usize) -> [Vec<Duration>; 3] {
    let (mut opened, mut paged, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<MessageId> = None;
    for round in 0..rounds + rounds / 10 + 1 {
        let counts = round > rounds / 10;
        let ask =
            PathAsk { leaf: Some(chat.leaf.clone()), limit: Some(PAGE), ..PathAsk::default() };
        let began = Instant::now();
        let page = agent.path(&space.scope, &chat.id, ask).await.unwrap();
        opened.extend(counts.then(|| began.elapsed()));
        assert_eq!(page.items.len(), PAGE as usize, "a page is whole");
        // One goes on where one was, and begins again at the top.
        let from = before.take().or(page.next).unwrap_or_else(|| chat.leaf.clone());
        let ask = PathAsk { before: Some(from.clone()), limit: Some(PAGE), ..PathAsk::default() };
        let began = Instant::now();
        let above = agent.path(&space.scope, &chat.id, ask).await.unwrap();
        paged.extend(counts.then(|| began.elapsed()));
        before = above.next;
        let began = Instant::now();
        statement(&space.pool, &chat.id, &from).await;
        bare.extend(counts.then(|| began.elapsed()));
    }
    [opened, paged, bare]
}

/// What SQLite itself takes to read 50 messages upwards.
async fn statement(pool: &SqlitePool, chat: &ConversationId, from: &MessageId) {
    let rows = sqlx::query(
        "with recursive path (message_id, parent_id, role, parts, created_at, depth) as (
            select message_id, parent_id, role, parts, created_at, 1 from message
            where space_id = 'home' and conversation_id = $1 and message_id = $2
            union all
            select m.message_id, m.parent_id, m.role, m.parts, m.created_at, p.depth + 1
            from path p cross join message m
            where m.space_id = 'home' and m.conversation_id = $1 and m.message_id = p.parent_id
                and p.depth < 50
        )
        select message_id, role, parts, created_at from path order by depth desc",
    )
    .bind(chat.as_str())
    .bind(from.as_str())
    .fetch_all(pool)
    .await
    .unwrap();
    std::hint::black_box(rows.iter().map(|row| row.get::<String, _>(2).len()).sum::<usize>());
}

/// How long it takes until whoever comes back to a running answer hears it.
async fn coming_back(plan: &Plan) {
    /// So many words were said before, and are told again.
    const SAID: usize = 200;
    title("Coming back to a running answer");
    let service = Server::service().await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::greenroom(&plan.binary, folder.path(), service.port);
    let server = server.ready("/healthz").await;
    let load = server.load();
    make_personas(&load, 1).await;
    let question = service::question(60_000, Duration::from_millis(5));
    let body = format!("{{\"personaId\":\"bench-0\",\"message\":\"{question}\"}}");
    let (run, answer) = load.begin("/api/persona-agent/chat", body).await;
    let reader = tokio::spawn(super::client::drain(answer));
    let path = format!("/api/runs/{run}/events");
    load.events(&path, SAID).await;
    let (mut all, mut new, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.count(100, 5) {
        let (time, last) = load.events(&path, SAID).await;
        all.push(time);
        // From here on: what comes next is a word that is just being said.
        new.push(load.events(&format!("{path}?after={}", last - 1), 1).await.0);
        floor.push(load.time(&format!("/api/runs/{run}")).await);
    }
    let floor = Times::of(floor);
    added_row("how the run stands", &floor, None);
    added_row(&format!("its first {SAID} words"), &Times::of(all), Some(&floor));
    let new = Times::of(new);
    added_row("only what is new", &new, Some(&floor));
    row(
        "of it, waiting for the word to be said, about",
        &format!("{:.1} ms", millis(Duration::from_millis(5))),
    );
    reader.abort();
}
