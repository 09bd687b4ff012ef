//! The list of traces and the sums at rest, however many runs there are; and what sending traces costs
//! while models speak.

use std::time::{Duration, Instant};

use axum::{Router, routing::post};
use greenroom::domain::{
    error::ApiError,
    run::Spent,
    trace::TraceFilter,
    usage::{UsageReport, first_day},
};
use sqlx::QueryBuilder;

use super::{
    client::Times,
    median,
    plan::Plan,
    process::Server,
    space::{Space, space},
    streams,
    table::{flow_row, row, title, told},
};

const PAGE: u32 = 50;
/// How many runs one statement writes.
const ROWS: usize = 200;
/// One run in so many failed.
const FAILED: usize = 50;
/// One run in so many is dear.
const DEAR: usize = 10_000;
const DAY_MS: i64 = 86_400_000;

pub async fn measure(plan: &Plan) {
    let mut smallest: Option<Vec<Times>> = None;
    for runs in [plan.count(1_000, 500), plan.count(100_000, 2_000)] {
        let space = space().await;
        fill(&space, runs).await;
        title(&format!("Traces at rest, {runs} runs (aim: the same as with few)"));
        let mut all = Vec::new();
        for (what, filter, after) in asked(runs) {
            let times = listed(&space, &filter, after.as_deref(), plan.count(200, 20)).await;
            all.push(told(what, times));
        }
        all.push(told("sums of 30 days", summed(&space, plan.count(200, 20)).await));
        if let Some(few) = &smallest {
            let ratio =
                |(many, few): (&Times, &Times)| many.p50.as_secs_f64() / few.p50.as_secs_f64();
            let ratios = all.iter().zip(few).map(ratio).map(|ratio| format!("{ratio:.2}"));
            row("by those with few", &format!("{} ×", ratios.collect::<Vec<_>>().join("  ")));
        }
        smallest.get_or_insert(all);
    }
    sending(plan).await;
}

fn name(number: usize) -> String {
    format!("01a00000-0000-7000-8000-{number:012}")
}

/// What a page asks for, from the top and from the middle.
fn asked(runs: usize) -> Vec<(&'static str, TraceFilter, Option<String>)> {
    let all = TraceFilter::default;
    vec![
        ("the newest 50", all(), None),
        ("50 from the middle", all(), Some(name(runs / 2))),
        ("of a persona", TraceFilter { persona: Some("skeptic".into()), ..all() }, None),
        ("of a model", TraceFilter { model: Some("dear".into()), ..all() }, None),
        ("only errors", TraceFilter { only_errors: true, ..all() }, None),
        (
            "dear ones, which are rare",
            TraceFilter { min_cost_micros: Some(900_000), ..all() },
            None,
        ),
    ]
}

/// Runs of the last thirty days in a hundred conversations.
async fn fill(space: &Space, runs: usize) {
    const CONVERSATIONS: usize = 100;
    let mut transaction = space.pool.begin().await.unwrap();
    for number in 0..CONVERSATIONS {
        sqlx::query(
            "insert into conversation (space_id, conversation_id, kind, persona_id, title, created_at, \
             updated_at) values ('home', $1, 'editor', 'optimist', '', 1, 1)",
        )
        .bind(format!("c{number}"))
        .execute(&mut *transaction)
        .await
        .unwrap();
    }
    let spent = serde_json::to_string(&Spent::default()).unwrap();
    let error = ApiError::NotNow { reason: "The service is away.".into() };
    let error = serde_json::to_string(&error).unwrap();
    let now = greenroom::store::now().0;
    for from in (0..runs).step_by(ROWS) {
        let mut insert = QueryBuilder::new(
            "insert into run (space_id, run_id, conversation_id, message_id, attempt, reply_id, \
             persona_id, persona_revision, user_id, model, status, error, spent, created_at, node, alive_at, \
             ended_at, round_id, cost_micros, duration_ms, input_tokens, output_tokens, prompt) ",
        );
        insert.push_values(from..runs.min(from + ROWS), |mut values, number| {
            let at = now - 30 * DAY_MS + (30 * DAY_MS / runs as i64) * number as i64;
            let status = if number.is_multiple_of(FAILED) { "failed" } else { "done" };
            let cost: i64 = if number.is_multiple_of(DEAR) { 1_000_000 } else { 1_200 };
            values
                .push_bind("home")
                .push_bind(name(number))
                .push_bind(format!("c{}", number % CONVERSATIONS))
                .push_bind(format!("m{number}"))
                .push_bind(1_i64)
                .push_bind(format!("r{number}"))
                .push_bind(if number.is_multiple_of(3) { "skeptic" } else { "optimist" })
                .push_bind(1_i64)
                .push_bind("owner")
                .push_bind(if number.is_multiple_of(4) { "dear" } else { "demo" })
                .push_bind(status)
                .push_bind((status == "failed").then_some(error.clone()))
                .push_bind(spent.clone())
                .push_bind(at)
                .push_bind("bench")
                .push_bind(at)
                .push_bind(at + 900)
                .push_bind(name(number))
                .push_bind(cost)
                .push_bind(900_i64)
                .push_bind(1_800_i64)
                .push_bind(120_i64)
                .push_bind("x".repeat(2_000));
        });
        insert.build().execute(&mut *transaction).await.unwrap();
    }
    // As they are summed up when runs end.
    sqlx::query(
        "insert into usage_day select space_id, created_at / 86400000, model, persona_id, count(*), \
         sum(status = 'failed'), sum(input_tokens), sum(output_tokens), sum(cost_micros), 0 \
         from run group by 1, 2, 3, 4",
    )
    .execute(&mut *transaction)
    .await
    .unwrap();
    transaction.commit().await.unwrap();
}

async fn listed(
    space: &Space,
    filter: &TraceFilter,
    after: Option<&str>,
    rounds: usize,
) -> Vec<Duration> {
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds + rounds / 10 + 1 {
        let began = Instant::now();
        let mut link = space.store.read(&space.scope.space).await.unwrap();
        let page = link.traces(filter, after, PAGE).await.unwrap();
        times.extend((round > rounds / 10).then(|| began.elapsed()));
        assert!(!page.items.is_empty() || page.next.is_some(), "there are some");
    }
    times
}

async fn summed(space: &Space, rounds: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds + rounds / 10 + 1 {
        let began = Instant::now();
        let now = greenroom::store::now();
        let mut link = space.store.read(&space.scope.space).await.unwrap();
        let rows = link.usage_since(first_day(now, 30)).await.unwrap();
        let report = UsageReport::of(rows, 30, now);
        times.extend((round > rounds / 10).then(|| began.elapsed()));
        assert!(report.total.runs > 0, "there are some");
    }
    times
}

/// How fast tokens go through a server that sends traces, with all that was said, and one that does not.
/// What is kept for traces is kept in both: nothing of it is written for each token.
async fn sending(plan: &Plan) {
    title("Tokens per second with traces sent, of those without (aim: at least 95 %)");
    let service = Server::service().await;
    let receiver = receive().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sent = [
        ("GREENROOM_OTLP_URL", format!("http://127.0.0.1:{receiver}")),
        ("GREENROOM_OTLP_CONTENT", "1".to_owned()),
    ];
    let plain = Server::greenroom_with(&plan.binary, folders[0].path(), service.port, &[]);
    let traced = Server::greenroom_with(&plan.binary, folders[1].path(), service.port, &sent);
    let sides = [
        streams::greenroom(plain.ready("/healthz").await).await,
        streams::greenroom(traced.ready("/healthz").await).await,
    ];
    for (streams, tokens, rounds) in [(1, 8_000, plan.count(12, 2)), (64, 500, plan.count(12, 2))] {
        let [plain, traced] = streams::flows(&sides, streams, tokens, rounds).await;
        let limit = median(plain.rates.clone());
        let named = |who: &str| format!("{who}, {streams} × {tokens}");
        flow_row(&named("not sent"), limit, plain.cost(), None);
        flow_row(&named("sent"), median(traced.rates.clone()), traced.cost(), Some(limit));
    }
}

/// A receiver that takes everything, in this process. Says at which port it is.
async fn receive() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/v1/traces", post(|_: axum::body::Bytes| async {}));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    port
}
