//! Starting, memory at rest, pages and the API: everything but runs.

use std::time::{Duration, Instant};

use super::{
    client::{Load, Times},
    plan::Plan,
    process::Server,
    table::{millis, rate_row, row, time_row, title},
};

/// Nobody asks a model here.
const NO_SERVICE: u16 = 9;
const CONNECTIONS: usize = 16;
/// For how long, and how often, each is asked by all connections.
const FOR: Duration = Duration::from_millis(800);
const ROUNDS: usize = 5;
/// How many requests each gets before it is another's turn.
const BLOCK: usize = 20;

pub async fn measure(plan: &Plan) {
    title("Start and rest");
    let folder = tempfile::tempdir().unwrap();
    drop(start_up(plan, &folder, "first start, database and samples made").await);
    let server = start_up(plan, &folder, "second start").await;
    row("resident memory at rest", &format!("{:.1} MiB", server.memory_kib() / 1024.0));

    let personas = plan.count(1_000, 100);
    let load = server.load();
    for number in 0..personas {
        let body = format!(
            "{{\"name\":\"Persona {number}\",\"systemPrompt\":\"{}\"}}",
            "Be brief, be kind, and ask when you are unsure. ".repeat(20)
        );
        load.post("/api/storage/personas", body).await;
    }
    let bare = Server::bare(NO_SERVICE).await;
    let bare_load = bare.load();

    title(&format!("Pages by SSR, one request at a time, {personas} personas"));
    let asked = [
        ("bare axum handler", &bare_load, "/healthz"),
        ("/healthz", &load, "/healthz"),
        ("the list, 50 of them", &load, "/"),
        ("the list, searched", &load, "/?q=persona%2099"),
        ("the editor", &load, "/personas/optimist"),
    ];
    let times = one_by_one(&asked, plan.count(200, BLOCK)).await;
    for ((what, ..), times_of) in asked.iter().zip(&times) {
        time_row(what, times_of, &times[0]);
    }

    title(&format!("Requests per second, {CONNECTIONS} connections"));
    let asked = [
        asked[0],
        asked[1],
        ("one persona by the API", &load, "/api/storage/personas/optimist"),
        ("the list by SSR", &load, "/"),
    ];
    let rates = at_once(&asked, plan.count(ROUNDS, 1)).await;
    for ((what, ..), rate) in asked.iter().zip(&rates) {
        rate_row(what, *rate, rates[0]);
    }
    row("resident memory after that", &format!("{:.1} MiB", server.memory_kib() / 1024.0));
    drop(bare);

    title("First page on the wire, brotli");
    let mut total = 0;
    for (name, bytes) in load.first_page_files().await {
        row(&name, &format!("{:.1} KiB", bytes as f64 / 1024.0));
        total += bytes;
    }
    row("together, of 400 KiB", &format!("{:.1} KiB", total as f64 / 1024.0));
}

type Asked<'a> = (&'a str, &'a Load, &'a str);

/// Asks each of them `count` times. They take turns, so that what disturbs one disturbs all; the first
/// turn only warms.
async fn one_by_one(asked: &[Asked<'_>], count: usize) -> Vec<Times> {
    let mut times = vec![Vec::new(); asked.len()];
    for round in 0..=count.div_ceil(BLOCK) {
        for ((_, load, path), times) in asked.iter().zip(&mut times) {
            for _ in 0..BLOCK {
                let time = load.time(path).await;
                if round > 0 {
                    times.push(time);
                }
            }
        }
    }
    times.into_iter().map(Times::of).collect()
}

/// Asks each of them on all connections, in turns; the first turn only warms. The median rate counts.
async fn at_once(asked: &[Asked<'_>], rounds: usize) -> Vec<f64> {
    let mut rates = vec![Vec::new(); asked.len()];
    for round in 0..=rounds {
        for ((_, load, path), rates) in asked.iter().zip(&mut rates) {
            let rate = load.at_once(path, CONNECTIONS, FOR).await;
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    rates.into_iter().map(super::median).collect()
}

/// Starts the server and waits for its first page.
async fn start_up(plan: &Plan, folder: &tempfile::TempDir, what: &str) -> Server {
    let started = Instant::now();
    let server = Server::greenroom(&plan.binary, folder.path(), NO_SERVICE).ready("/").await;
    let took = started.elapsed();
    row(&format!("{what}: exec to first page"), &format!("{:.0} ms", millis(took)));
    server
}
