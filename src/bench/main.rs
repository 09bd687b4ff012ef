//! What `make bench` measures: ratios within one run, because machines are noisy.
//!
//! The server is the optimised binary in a process of its own; the bare server beside it is this
//! program with one axum handler and nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on should stop, and its numbers go to the terminal"
)]

mod client;
mod process;

use std::time::{Duration, Instant};

use axum::{Router, routing::get};
use client::{Load, Times};
use process::Server;

const PERSONAS: usize = 1_000;
const PORT: u16 = 3111;
const BARE_PORT: u16 = 3112;
const FOR: Duration = Duration::from_secs(4);
const CONNECTIONS: usize = 16;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == "--bare") {
        runtime.block_on(serve_bare());
    } else {
        runtime.block_on(measure());
    }
}

/// The least that a server of this kind can do.
async fn serve_bare() {
    let router = Router::new().route("/healthz", get(|| async { "{\"status\":\"ok\"}" }));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", BARE_PORT)).await.unwrap();
    axum::serve(listener, router).await.unwrap();
}

async fn measure() {
    println!("Start and rest");
    let folder = tempfile::tempdir().unwrap();
    let first = start_up(&folder, "first start, database and samples made").await;
    first.stop();
    let server = start_up(&folder, "second start").await;
    row("resident memory at rest", &format!("{:.1} MiB", server.memory_mib()));

    let load = Load::new(PORT);
    println!("\nPages by SSR, one request at a time, {PERSONAS} personas");
    for number in 0..PERSONAS {
        let body = format!(
            "{{\"name\":\"Persona {number}\",\"systemPrompt\":\"{}\"}}",
            "Be brief, be kind, and ask when you are unsure. ".repeat(20)
        );
        load.post("/api/storage/personas", body).await;
    }
    let bare = Server::bare();
    let bare_load = Load::new(BARE_PORT);
    bare_load.wait("/healthz").await;
    let floor = bare_load.one_by_one("/healthz", 400).await;
    time_row("bare axum handler", &floor, &floor);
    time_row("/healthz", &load.one_by_one("/healthz", 400).await, &floor);
    time_row("the list, 50 of them", &load.one_by_one("/", 200).await, &floor);
    time_row("the list, searched", &load.one_by_one("/?q=persona%2099", 200).await, &floor);
    time_row("the editor", &load.one_by_one("/personas/optimist", 200).await, &floor);

    println!("\nRequests per second, {CONNECTIONS} connections");
    let most = bare_load.at_once("/healthz", CONNECTIONS, FOR).await;
    rate_row("bare axum handler", most, most);
    rate_row("/healthz", load.at_once("/healthz", CONNECTIONS, FOR).await, most);
    let persona = "/api/storage/personas/optimist";
    rate_row("one persona by the API", load.at_once(persona, CONNECTIONS, FOR).await, most);
    rate_row("the list by SSR", load.at_once("/", CONNECTIONS, FOR).await, most);
    row("resident memory after that", &format!("{:.1} MiB", server.memory_mib()));
    bare.stop();

    println!("\nFirst page on the wire, brotli");
    let mut total = 0;
    for (name, bytes) in load.first_page_files().await {
        row(&name, &format!("{:.1} KiB", bytes as f64 / 1024.0));
        total += bytes;
    }
    row("together, of 400 KiB", &format!("{:.1} KiB", total as f64 / 1024.0));
    server.stop();
}

/// Starts the server and waits for its first page.
async fn start_up(folder: &tempfile::TempDir, what: &str) -> Server {
    let started = Instant::now();
    let server = Server::greenroom(PORT, folder.path());
    Load::new(PORT).wait("/").await;
    let took = started.elapsed();
    row(&format!("{what}: exec to first page"), &format!("{:.0} ms", took.as_secs_f64() * 1e3));
    server
}

fn row(what: &str, value: &str) {
    println!("  {what:<55} {value:>14}");
}

fn time_row(what: &str, times: &Times, floor: &Times) {
    let ratio = times.p50.as_secs_f64() / floor.p50.as_secs_f64();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "  {what:<30} p50 {:>7.2} ms   p99 {:>7.2} ms   {ratio:>6.1} × bare",
        millis(times.p50),
        millis(times.p99)
    );
}

fn rate_row(what: &str, rate: f64, most: f64) {
    println!("  {what:<30} {rate:>9.0} /s   {:>5.1} % of bare", rate / most * 100.0);
}
