//! Search, changes and drafts as they grow, on SQLite and within this process: no HTTP in between.

use std::time::Instant;

use greenroom::{
    changes::Gate,
    domain::{
        actor::Actor,
        change::{Change, ChangeState, Entity, EntityKind, Op},
        id::{ChangeId, PersonaId},
        persona::Tier,
        proposal::Approval,
    },
    markdown::to_html,
    search::{Question, Search},
    store::new_id,
};
use sqlx::{Row, SqlitePool};

use super::{
    client::Times,
    plan::Plan,
    space::space,
    table::{millis, row, title, told},
};

/// How many things are made in one transaction.
const BATCH: usize = 500;
/// How many words the language of the documents has, and how many a document.
const VOCABULARY: u64 = 8_000;
const WORDS: usize = 150;

pub async fn measure(plan: &Plan) {
    searching(plan).await;
    versions(plan).await;
    drafts(plan).await;
    nesting(plan);
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A word; some are far more common than others, as in any language.
    fn word(&mut self) -> String {
        let (left, right) = (self.roll() % VOCABULARY, self.roll() % VOCABULARY);
        format!("w{}", left * right / VOCABULARY)
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

async fn searching(plan: &Plan) {
    let space = space().await;
    let search = Search::new(space.store.clone());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut made = 0;
    for full in [1_000, 10_000, 100_000] {
        let wanted = plan.count(full, 100);
        title(&format!("Search in {wanted} pages of {WORDS} words"));
        let began = Instant::now();
        let before = made;
        while made < wanted {
            let some = BATCH.min(wanted - made);
            let changes = (0..some).map(|_| {
                let id: String = new_id();
                Change::new(Entity::new(EntityKind::Page, &id), Op::Create)
                    .set("title", dice.text(4))
                    .set("body", dice.text(WORDS))
            });
            space.gate.submit_all(changes.collect()).await.unwrap();
            made += some;
        }
        let rate = (made - before) as f64 / began.elapsed().as_secs_f64();
        row("made and indexed through the gate", &format!("{rate:.0} /s"));

        let mut ours = Vec::new();
        let mut bare = Vec::new();
        for round in 0..plan.count(220, 12) {
            let text = match round % 3 {
                0 => dice.word(),
                1 => dice.text(2),
                _ => format!("{} {}", dice.word(), dice.word().get(..3).unwrap_or("w1")),
            };
            let began = Instant::now();
            let question = Question { text: &text, kind: None, limit: 20 };
            search.find(&space.scope.space, question).await.unwrap();
            ours.push(began.elapsed());
            let began = Instant::now();
            statement(&space.pool, &text).await;
            bare.push(began.elapsed());
        }
        // The first ones only warm.
        let warm = ours.len() / 10;
        let ours = told("search, with titles and passages", ours.split_off(warm));
        let bare = told("the bare statement: ranked rows only", bare.split_off(warm));
        let ratio = ours.p50.as_secs_f64() / bare.p50.as_secs_f64();
        row("ours by the bare one", &format!("{ratio:.1} ×"));
    }
}

/// What SQLite itself takes for the same words.
async fn statement(pool: &SqlitePool, text: &str) {
    let words: Vec<&str> = text.split(' ').collect();
    let (last, rest) = words.split_last().unwrap();
    let mut wanted: Vec<String> = rest.iter().map(|word| format!("\"{word}\"")).collect();
    wanted.push(format!("\"{last}\"*"));
    let rows = sqlx::query(
        "select rowid from search_words where search_words match $1
        order by bm25(search_words, 20.0, 5.0, 1.0) limit 20",
    )
    .bind(wanted.join(" "))
    .fetch_all(pool)
    .await
    .unwrap();
    std::hint::black_box(rows.iter().map(|row| row.get::<i64, _>(0)).sum::<i64>());
}

async fn versions(plan: &Plan) {
    let space = space().await;
    let id = PersonaId::new("optimist");
    let wanted = plan.count(10_000, 100);
    title(&format!("Applying a change while the versions grow to {wanted}"));
    let mut times = Vec::with_capacity(wanted);
    for number in 0..wanted {
        let notes = format!("note {number}");
        let began = Instant::now();
        space.gate.submit(Change::new(&id, Op::Update).set("notes", notes)).await.unwrap();
        times.push(began.elapsed());
    }
    let tenth = wanted / 10;
    let first = told("the first tenth", times[..tenth].to_vec());
    let last = told("the last tenth", times[wanted - tenth..].to_vec());
    let ratio = last.p50.as_secs_f64() / first.p50.as_secs_f64();
    row("the last by the first", &format!("{ratio:.2} ×"));
}

/// Text that is nested as nobody writes it, as HTML.
fn nesting(plan: &Plan) {
    title("Markdown that is nested without end");
    for (what, piece) in [("quotes", "> "), ("brackets", "["), ("lists", "- ")] {
        for times in [10_000, 40_000] {
            let text = piece.repeat(times);
            let timed = (0..plan.count(20, 3)).map(|_| {
                let began = Instant::now();
                std::hint::black_box(to_html(&text));
                began.elapsed()
            });
            told(&format!("{times} {what}"), timed.collect());
        }
    }
}

async fn drafts(plan: &Plan) {
    let space = space().await;
    let persona = PersonaId::new("skeptic");
    let actor = Actor::Persona {
        persona: persona.clone(),
        user: space.scope.user.clone(),
        run: None,
        tier: Tier::Suggest,
    };
    let agent = Gate::new(space.store.clone(), space.scope.space.clone(), actor);
    let wanted = plan.count(10_000, 200);
    title(&format!("The Inbox, 50 drafts a page, as it grows to {wanted}"));
    let mut made = 0;
    let mut first: Option<Times> = None;
    for size in [wanted / 20, wanted] {
        while made < size {
            let some = BATCH.min(size - made);
            let changes = (0..some).map(|number| {
                let name = format!("Skeptic {}", made + number);
                Change::new(&persona, Op::Update).set("name", name).based_on(1)
            });
            agent.submit_all(changes.collect()).await.unwrap();
            made += some;
        }
        let mut times = Vec::new();
        let mut middle: Option<ChangeId> = None;
        for _ in 0..plan.count(60, 5) {
            let began = Instant::now();
            let page = space
                .gate
                .proposals(ChangeState::Pending, None, middle.as_ref(), 50)
                .await
                .unwrap();
            times.push(began.elapsed());
            middle = page.next.map(ChangeId::new);
        }
        let times = told(&format!("a page of {size}"), times);
        if let Some(first) = &first {
            let ratio = times.p50.as_secs_f64() / first.p50.as_secs_f64();
            row("the last by the first", &format!("{ratio:.2} ×"));
        }
        first.get_or_insert(times);
    }
    let page = space.gate.proposals(ChangeState::Pending, None, None, 1).await.unwrap();
    let began = Instant::now();
    space.gate.approve(&page.items[0].id, &Approval::default()).await.unwrap();
    row("one of them accepted", &format!("{:.2} ms", millis(began.elapsed())));
}
