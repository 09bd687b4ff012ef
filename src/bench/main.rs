//! What `make bench` measures: ratios within one run, because machines are noisy.
//!
//! The server is the optimised binary in a process of its own. The others are this program in another
//! role, also in processes of their own: a bare server and proxy as the limit, and a fake service.
//! Whoever is compared is warmed first and asked in turns.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on should stop, and its numbers go to the terminal"
)]

mod chats;
mod client;
mod encrypted;
mod files;
mod knowledge;
mod load;
mod open_runs;
mod pages;
mod plan;
mod process;
mod proxy;
mod sandbox;
mod service;
mod space;
mod streams;
mod table;
mod terminal;
mod traces;

use plan::Plan;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let port = |at: usize| words[at].parse().expect("a port");
    runtime.block_on(async {
        match words.first().map(String::as_str) {
            Some("--bare") => proxy::serve(port(1), port(2)).await,
            Some("--service") => service::serve(port(1)).await,
            Some("--encrypted-service") => {
                service::serve_encrypted(port(1), words[2].as_ref()).await;
            }
            _ => measure(&Plan::read(&words)).await,
        }
    });
}

async fn measure(plan: &Plan) {
    if let Some(remark) = plan.remark() {
        println!("{remark}");
    }
    if plan.wants("pages") {
        pages::measure(plan).await;
    }
    if plan.wants("knowledge") {
        knowledge::measure(plan).await;
    }
    if plan.wants("chats") {
        chats::measure(plan).await;
    }
    if plan.wants("files") {
        files::measure(plan).await;
    }
    if plan.wants("streams") {
        streams::measure(plan).await;
    }
    if plan.wants("traces") {
        traces::measure(plan).await;
    }
    if plan.wants("runs") {
        open_runs::measure(plan).await;
    }
    if plan.wants("load") {
        load::measure(plan).await;
    }
    if plan.wants("terminal") {
        terminal::measure(plan);
    }
    if plan.wants("sandbox") {
        sandbox::measure(plan).await;
    }
}

/// The middle one.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
