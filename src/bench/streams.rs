//! What stands between a person and a model: Greenroom and a bare proxy, asked in turns for the same.

use std::{
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use futures::future::join_all;

use super::{
    client::{Answer, Load, Times},
    median,
    plan::Plan,
    process::Server,
    service,
    table::{added_row, flow_row, millis, row, title},
};

/// How many streams there are at the most.
const STREAMS: usize = 64;
/// As long as an answer may be.
const LONG: usize = 8_000;
const MIDDLE: usize = 2_000;
const SHORT: usize = 16;

/// Who is asked.
enum Way {
    /// The bare proxy, with the very body that Greenroom sends to its service.
    Proxy { body: String, words: String },
    /// Greenroom, with one persona for each stream.
    Greenroom,
}

pub struct Side {
    way: Way,
    load: Load,
    server: Server,
}

/// How fast tokens went through, and what it took.
#[derive(Default)]
pub struct Flow {
    pub rates: Vec<f64>,
    tokens: usize,
    processor: Duration,
}

impl Flow {
    /// The processor time of a thousand tokens.
    pub fn cost(&self) -> Duration {
        self.processor.mul_f64(1_000.0 / self.tokens as f64)
    }
}

pub async fn measure(plan: &Plan) {
    let service = Server::service().await;
    let folder = tempfile::tempdir().unwrap();
    let sides = prepare(plan, folder.path(), &service).await;

    title("First token, at zero delay (aim: 1 stream, p50: at most 1 ms added)");
    let sync = sync_time(folder.path(), plan.count(100, 20));
    row("for comparison: 4 KiB brought to this disk, p50", &format!("{:.2} ms", millis(sync.p50)));
    for (streams, rounds) in [(1, plan.count(300, 20)), (STREAMS, plan.count(12, 2))] {
        let [proxy, ours] = first_tokens(&sides, streams, rounds).await;
        let named = |who: &str| match streams {
            1 => format!("{who}, 1 stream"),
            _ => format!("{who}, {streams} begun at once"),
        };
        added_row(&named("bare proxy"), &proxy, None);
        added_row(&named("greenroom"), &ours, Some(&proxy));
    }

    title("Tokens per second, all kept, and processor time (aim: at least 50 % of the limit)");
    for (streams, tokens, rounds) in
        [(1, LONG, plan.count(12, 2)), (STREAMS, MIDDLE, plan.count(6, 1))]
    {
        let [proxy, ours] = flows(&sides, streams, tokens, rounds).await;
        let named = |who: &str| format!("{who}, {streams} × {tokens}");
        let limit = median(proxy.rates.clone());
        flow_row(&named("bare proxy"), limit, proxy.cost(), None);
        flow_row(&named("greenroom"), median(ours.rates.clone()), ours.cost(), Some(limit));
    }
}

/// Greenroom as it is asked, with its personas.
pub async fn greenroom(server: Server) -> Side {
    let side = Side { way: Way::Greenroom, load: server.load(), server };
    make_personas(&side.load, STREAMS).await;
    side
}

/// Starts both and makes the personas.
async fn prepare(plan: &Plan, folder: &Path, service: &Server) -> [Side; 2] {
    let server = Server::greenroom(&plan.binary, folder, service.port).ready("/healthz").await;
    let ours = greenroom(server).await;
    let words = service::question(SHORT, Duration::ZERO);
    ours.ask(0, SHORT).await;
    let body = service.load().read("/last").await.expect("the last question");
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.contains(&words), "the service was asked something else: {body}");
    let server = Server::bare(service.port).await;
    let proxy = Side { way: Way::Proxy { body, words }, load: server.load(), server };
    [proxy, ours]
}

/// Makes personas whose model is at the fake service.
pub async fn make_personas(load: &Load, count: usize) {
    const CONNECTIONS: usize = 8;
    let makers = (0..CONNECTIONS).map(|first| async move {
        for number in (first..count).step_by(CONNECTIONS) {
            let body = format!(
                "{{\"id\":\"bench-{number}\",\"name\":\"Bench {number}\",\"model\":\"ollama/bench\",\
                 \"systemPrompt\":\"Be brief, be kind, and ask when you are unsure.\"}}"
            );
            load.post("/api/storage/personas", body).await;
        }
    });
    join_all(makers).await;
}

impl Side {
    /// Forgets what was said before: a conversation that grows would be another question each time.
    async fn clear(&self, streams: usize) {
        match self.way {
            Way::Proxy { .. } => {}
            Way::Greenroom => {
                for stream in 0..streams {
                    let body = format!("{{\"personaId\":\"bench-{stream}\"}}");
                    self.load.post("/api/persona-agent/clear", body).await;
                }
            }
        }
    }

    async fn ask(&self, stream: usize, tokens: usize) -> Answer {
        let question = service::question(tokens, Duration::ZERO);
        let (answer, beside) = match &self.way {
            Way::Proxy { body, words } => {
                let body = body.replace(words, &question);
                let path = "/v1/chat/completions";
                (self.load.answer(path, body, "\"content\":\" ").await, service::BESIDE)
            }
            Way::Greenroom => {
                let body =
                    format!("{{\"personaId\":\"bench-{stream}\",\"message\":\"{question}\"}}");
                let path = "/api/persona-agent/chat";
                // The whole text and the end.
                (self.load.answer(path, body, "text_delta").await, 2)
            }
        };
        let tail = String::from_utf8_lossy(&answer.tail);
        assert_eq!(answer.events, tokens + beside, "something is missing before {tail}");
        answer
    }

    async fn ask_all(&self, streams: usize, tokens: usize) -> Vec<Answer> {
        join_all((0..streams).map(|stream| self.ask(stream, tokens))).await
    }
}

/// Asks both in turns; the first turn only warms.
async fn first_tokens(sides: &[Side; 2], streams: usize, rounds: usize) -> [Times; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (side, times) in sides.iter().zip(&mut times) {
            side.clear(streams).await;
            let answers = side.ask_all(streams, SHORT).await;
            if round > 0 {
                times.extend(answers.iter().map(|answer| answer.first));
            }
        }
    }
    times.map(Times::of)
}

/// Asks both in turns; the first turn only warms.
pub async fn flows(sides: &[Side; 2], streams: usize, tokens: usize, rounds: usize) -> [Flow; 2] {
    let mut flows = [Flow::default(), Flow::default()];
    for round in 0..=rounds {
        for (side, flow) in sides.iter().zip(&mut flows) {
            side.clear(streams).await;
            let (started, before) = (Instant::now(), side.server.processor_time());
            side.ask_all(streams, tokens).await;
            if round > 0 {
                flow.rates.push((streams * tokens) as f64 / started.elapsed().as_secs_f64());
                flow.processor += side.server.processor_time() - before;
                flow.tokens += streams * tokens;
            }
        }
    }
    flows
}

/// How long this disk takes to keep a page: whoever keeps a question before asking it waits for that.
fn sync_time(folder: &Path, count: usize) -> Times {
    let mut file = std::fs::File::create(folder.join("sync")).unwrap();
    let times = (0..count).map(|_| {
        let started = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        started.elapsed()
    });
    Times::of(times.collect())
}
