//! What runs hold in memory while they go on.

use std::{
    ops::{AddAssign, Range},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use axum::body::Body;
use futures::future::join_all;
use http_body_util::BodyExt;

use super::{
    client::{Load, count_lines},
    plan::Plan,
    process::{Server, descriptors},
    service,
    streams::make_personas,
    table::{row, title},
};

/// Twenty tokens a second.
const PACE: Duration = Duration::from_millis(50);
/// More than any measurement waits for: ten minutes.
const TOKENS: usize = 12_000;
/// How many runs are begun side by side.
const STARTERS: usize = 16;
/// How long one takes to begin, at most, when there is room for it.
const BEGIN_FOR: Duration = Duration::from_millis(5);
/// For how long that may go on; fewer runs are better than no end.
const START_TIME: Duration = Duration::from_secs(90);
/// How long runs go on before their memory is looked at, and for how long their pace is.
const SETTLE: Duration = Duration::from_secs(6);
const LOOK: Duration = Duration::from_secs(4);
/// What a server needs beside the connections of runs.
const OTHER_DESCRIPTORS: usize = 400;

/// Who reads along.
#[derive(Clone, Copy, PartialEq)]
enum Watched {
    /// A few runs, to see their pace. The others go on by themselves.
    Few,
    /// Every run, by a connection of its own.
    All,
}

impl Watched {
    fn includes(self, number: usize) -> bool {
        self == Self::All || number.is_multiple_of(100)
    }
}

/// How the service is reached.
#[derive(Clone, Copy)]
enum Over {
    /// Encrypted, many answers on one connection: as the services out there are.
    Http2,
    /// Plainly, a connection for every answer: as a server on one's own machine is.
    Http1,
}

pub async fn measure(plan: &Plan) {
    let most = descriptors().saturating_sub(OTHER_DESCRIPTORS);
    let counts = [1_000, 5_000].map(|full| plan.count(full, 20));
    title("Resident memory of open runs at 20 tokens a second (aim: at most 40 KiB each)");
    open(plan, &counts.map(|count| count.min(most)), Watched::Few, Over::Http2).await;
    open(plan, &[counts[0].min(most / 2)], Watched::All, Over::Http2).await;
    title("The same where each has a connection of its own to the service (HTTP/1.1)");
    open(plan, &counts.map(|count| count.min(most)), Watched::Few, Over::Http1).await;
    if counts[1] > most {
        row("fewer than wanted: `ulimit -n` is", &descriptors().to_string());
    }
}

/// Starts a server of its own for this, so that nothing is left over from other work, and opens more
/// and more runs.
async fn open(plan: &Plan, counts: &[usize], watched: Watched, over: Over) {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("service.pem");
    let service = match over {
        Over::Http1 => Server::service().await,
        Over::Http2 => Server::encrypted_service(&certificate).await,
    };
    let variables = match over {
        Over::Http1 => Vec::new(),
        Over::Http2 => vec![
            ("OLLAMA_HOST", format!("https://127.0.0.1:{}", service.port)),
            ("SSL_CERT_FILE", certificate.display().to_string()),
        ],
    };
    let server = Server::greenroom_with(&plan.binary, folder.path(), service.port, &variables);
    let server = server.ready("/healthz").await;
    let load = server.load();
    make_personas(&load, counts.iter().copied().max().unwrap_or_default()).await;

    let lines = Arc::new(AtomicUsize::new(0));
    let mut begun = begin(&load, 0..1, watched, &lines).await;
    tokio::time::sleep(SETTLE).await;
    let one = server.memory_kib();
    let who = match watched {
        Watched::Few => "",
        Watched::All => ", each watched",
    };
    row(&format!("1 open run{who}"), &format!("{:.1} MiB", one / 1024.0));
    let mut wanted = 1;
    for count in counts {
        let started = Instant::now();
        begun += begin(&load, wanted..*count, watched, &lines).await;
        let took = started.elapsed();
        let silent = server.memory_kib();
        let still = BEGIN_FOR * u32::try_from(*count - wanted).unwrap_or(u32::MAX);
        wanted = *count;
        tokio::time::sleep(still.saturating_sub(took) + SETTLE).await;
        let before = lines.load(Ordering::Relaxed);
        tokio::time::sleep(LOOK).await;
        let lines = (lines.load(Ordering::Relaxed) - before) as f64;
        let pace = lines / 2.0 / begun.watched as f64 / LOOK.as_secs_f64();
        let all = server.memory_kib();
        let each = (all - one) / (begun.open - 1) as f64;
        row(&format!("{} open runs{who}", begun.open), &format!("{:.1} MiB", all / 1024.0));
        row("  each", &format!("{each:.1} KiB"));
        let each = (silent - one) / (begun.open - 1) as f64;
        row("  each, before they speak", &format!("{each:.1} KiB"));
        row("  the pace that watchers saw, of 20 tokens a second", &format!("{pace:.1} /s"));
        row("  to begin them took", &format!("{:.1} s", took.as_secs_f64()));
        if begun.open < *count {
            let (refused, seconds) = (begun.refused, START_TIME.as_secs());
            row(&format!("  of {count}, in {seconds} s at most; refused"), &refused.to_string());
            return;
        }
    }
}

/// How many runs were begun.
#[derive(Default)]
struct Begun {
    open: usize,
    watched: usize,
    refused: usize,
}

impl AddAssign for Begun {
    fn add_assign(&mut self, more: Self) {
        self.open += more.open;
        self.watched += more.watched;
        self.refused += more.refused;
    }
}

/// Begins runs; those that are not watched go on without us.
async fn begin(
    load: &Load,
    numbers: Range<usize>,
    watched: Watched,
    lines: &Arc<AtomicUsize>,
) -> Begun {
    let until = Instant::now() + START_TIME;
    // They speak at once when all are there: beginning one is another matter than keeping it.
    let from = SystemTime::now() + BEGIN_FOR * u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    let starters = (0..STARTERS).map(|first| {
        let numbers = numbers.clone().skip(first).step_by(STARTERS);
        async move {
            let mut begun = Begun::default();
            for number in numbers.take_while(|_| Instant::now() < until) {
                let question = service::question_for(TOKENS, PACE, from);
                let body =
                    format!("{{\"personaId\":\"bench-{number}\",\"message\":\"{question}\"}}");
                let Some(body) = load.open("/api/persona-agent/chat", body).await else {
                    begun.refused += 1;
                    continue;
                };
                begun.open += 1;
                // Otherwise it is dropped, and its connection closes.
                if watched.includes(number) {
                    begun.watched += 1;
                    tokio::spawn(drain(body, lines.clone()));
                }
            }
            begun
        }
    });
    let mut begun = Begun::default();
    for some in join_all(starters).await {
        begun += some;
    }
    begun
}

async fn drain(mut body: Body, lines: Arc<AtomicUsize>) {
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            lines.fetch_add(count_lines(data), Ordering::Relaxed);
        }
    }
}
