//! Prompts and models compared on the same test inputs, by the real program.

use greenroom::domain::budget::Budgets;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::program::{PATIENCE, Ran, Room, finished};

const TESTS: &str = "\
- name: the answer
  input: What is it?
  check: Says what it is.
  checks:
    - contains: Forty-Two
    - max_words: 5
- name: no sums
  turns: [Hello., And now?]
  checks:
    - not_contains: fifty
";

/// A room in which Ann knows the answer, and Ben does not.
fn compared() -> Room {
    let room = Room::new();
    let script = json!({"speakers": {
        "You are Ann.": [{"text": "It is forty-two.\nSurely."}, {"usage": {"input": 40, "output": 8}}],
        "You are Ben.": [{"text": "I do not know."}, {"usage": {"input": 30, "output": 4}}],
    }});
    room.write("script.json", &script.to_string());
    room.write("ann.md", "You are Ann.\n");
    room.write("ben.md", "You are Ben.\n");
    room.write("tests.yaml", TESTS);
    room
}

fn ab(room: &Room, words: &[&str]) -> Ran {
    let mut command = room.command(&[&["ab"], words].concat());
    command.env("GREENROOM_DEMO_SCRIPT", room.path("script.json"));
    finished(command)
}

fn cells(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    report["cells"].as_array().unwrap().clone()
}

/// A room in which everybody speaks for ever.
fn endless() -> Room {
    let words = json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]]);
    let room = Room::new().playing(&words);
    room.write("ann.md", "You are Ann.\n");
    room.write("tests.yaml", "- One?\n- Two?\n");
    room
}

const ENDLESS: [&str; 9] =
    ["ab", "--prompt", "ann.md", "--model", "demo", "--inputs", "tests.yaml", "--at-once", "1"];

/// Waits until something was asked.
fn until_asked(room: &Room) {
    let began = std::time::Instant::now();
    while !room.log().contains(" asked session=") {
        assert!(began.elapsed() < PATIENCE, "{}", room.log());
        std::thread::yield_now();
    }
}

#[test]
fn ctrl_c_stops_it_and_shows_what_is_there() {
    let room = endless();
    let going = room.going(&ENDLESS);
    until_asked(&room);

    going.signal(Signal::INT);
    let ran = going.end();

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("Stopping;"), "{ran:?}");
    assert!(ran.out.contains("It was stopped."), "{ran:?}");
}

#[test]
fn a_second_ctrl_c_leaves_though_nothing_stops() {
    let room = endless();
    let server = room.serve();
    let going = room.going(&ENDLESS);
    until_asked(&room);

    // A server that does nothing any more stops nothing, either.
    server.signal(Signal::STOP);
    let ran = going.until_it_ends(Signal::INT);
    server.signal(Signal::CONT);

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("Leaving;"), "{ran:?}");
}

#[test]
fn every_prompt_answers_every_input_and_a_check_that_fails_is_the_end_of_it() {
    let room = compared();
    let words =
        ["--prompt", "ann.md", "--prompt", "ben.md", "--model", "demo", "--inputs", "tests.yaml"];

    let ran = ab(&room, &words);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("input       prompt  model  checks  tokens"), "{}", ran.out);
    assert!(lines[1].starts_with("the answer  ann     demo   2/2 ✓   48"), "{}", ran.out);
    assert!(lines[1].ends_with("It is forty-two."), "{}", ran.out);
    assert!(lines[2].starts_with("the answer  ben     demo   1/2 ✗   34"), "{}", ran.out);
    assert_eq!(lines[3], "    ✗ contains “Forty-Two”");
    assert!(
        lines[4].starts_with("no sums     ann     demo   1/1 ✓   96"),
        "both turns: {}",
        ran.out
    );
    assert!(ran.out.contains("\nann     demo   2        0       3/3     144"), "{}", ran.out);
    assert!(ran.out.contains("\nben     demo   2        0       2/3     102"), "{}", ran.out);
    assert!(ran.err.contains("4 of 4: "), "{ran:?}");
    let listed = room.chat(&["--list-sessions"]).good();
    assert_eq!(listed.matches("ab: ").count(), 4, "{listed}");
}

#[test]
fn programs_read_all_of_it_as_json_and_what_passes_ends_well() {
    let room = compared();
    let words = [
        "--prompt",
        "ann.md",
        "--model",
        "demo",
        "--inputs",
        "tests.yaml",
        "--repeat",
        "2",
        "--json",
    ];

    let ran = ab(&room, &words);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let cells = cells(&ran);
    let told: Vec<Value> = cells
        .iter()
        .map(|cell| {
            json!([cell["input"], cell["round"], cell["text"], cell["checks"][0]["passed"]])
        })
        .collect();
    let said = "It is forty-two.\nSurely.";
    assert_eq!(
        told,
        [
            json!(["the answer", 1, said, true]),
            json!(["the answer", 2, said, true]),
            json!(["no sums", 1, said, true]),
            json!(["no sums", 2, said, true]),
        ]
    );
    assert_eq!(cells[0]["check"], "Says what it is.");
    let session = cells[0]["sessionId"].as_str().unwrap();
    let folder = room.path("out").display().to_string();
    room.run(&["export", session, "--dir", &folder]).good();
    let metadata = super::program::read_json(&room.path("out/metadata.json"));
    assert_eq!(metadata["system_prompt_text"], "You are Ann.");
    assert_eq!(metadata["system_prompt_file_path"], "ann.md");
}

#[test]
fn tools_are_used_and_checked() {
    let room = Room::new();
    let script = json!({"loop": true, "answers": [
        [{"call": {"name": "double", "input": {"x": 21}}}],
        [{"text": "It is 42."}],
    ]});
    room.write("script.json", &script.to_string());
    room.write("plain.md", "Calculate.");
    let double = "def double(x: int) -> int:\n    \"\"\"Double it.\"\"\"\n    return 2 * x\n";
    room.write("data/chat/sums.py", double);
    room.write("data/chat/tools.yaml", "- sums.py:double\n- fly\n");
    room.write(
        "tests.yaml",
        "- input: Double 21.\n  checks:\n    - calls_tool: double\n    - not_calls_tool: execute\n    \
         - regex: \\b42\\b\n",
    );
    let words = ["--prompt", "plain.md", "--model", "demo", "--inputs", "tests.yaml", "--json"];

    let ran = ab(&room, &words);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(cells(&ran)[0]["tools"], json!(["double"]));
    assert!(ran.err.contains("tools.yaml, line 2: There is no built-in tool “fly”."), "{ran:?}");
}

#[test]
fn what_cannot_be_compared_says_why_and_asks_nobody() {
    let room = compared();
    let with = |more: &[&str]| {
        let words = [&["--prompt", "ann.md", "--model", "demo"], more].concat();
        ab(&room, &words)
    };
    room.write("odd.yaml", "- input: x\n  checks: [{sings: well}]\n- 3\n");

    let odd = with(&["--inputs", "odd.yaml"]);
    assert_eq!(odd.code, Some(78), "{odd:?}");
    assert!(odd.err.contains("odd.yaml, line 1: ") && odd.err.contains("odd.yaml, line 3: "));
    assert_eq!(with(&["--inputs", "nothing.yaml"]).code, Some(66));
    assert_eq!(with(&["--inputs", "tests.yaml", "--prompt", "nothing.md"]).code, Some(66));
    assert_eq!(with(&["--inputs", "tests.yaml", "--prompt", "ann.md"]).code, Some(2));
    assert_eq!(with(&["--inputs", "tests.yaml", "--repeat", "0"]).code, Some(2));
    assert_eq!(with(&[]).code, Some(2));
    assert_eq!(room.chat(&["--list-sessions"]).good().matches("ab: ").count(), 0);

    let unknown =
        ab(&room, &["--prompt", "ann.md", "--model", "no-such-model", "--inputs", "tests.yaml"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.out.contains("failed ✗") && unknown.out.contains("no-such-model"));
}

#[tokio::test]
async fn a_budget_refuses_what_is_over_it() {
    let room = compared();
    room.limit(Budgets { day_tokens: Some(40), ..Budgets::default() }).await;

    let words = [
        "--prompt",
        "ann.md",
        "--model",
        "demo",
        "--inputs",
        "tests.yaml",
        "--at-once",
        "1",
        "--json",
    ];
    let ran = ab(&room, &words);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    let cells = cells(&ran);
    assert_eq!(cells[0]["error"], Value::Null, "the first one fits");
    assert!(cells[1]["error"].as_str().unwrap().contains("tokens"), "{}", cells[1]);
    assert_eq!(cells[1]["checks"][0]["passed"], false);
}

#[tokio::test]
async fn an_answer_that_is_not_whole_failed_and_none_of_its_checks_held() {
    let room = Room::new();
    room.limit(Budgets { run_tokens: Some(1_000_000), ..Budgets::default() }).await;
    let script = json!({"speakers": {
        "You cut.": [{"text": "It is"}, {"stop": "max_tokens"}],
        "You refuse.": [{"text": "It is not"}, {"stop": "refusal"}],
        "You spend.": [
            {"text": "It is"},
            {"call": {"name": "look_up", "input": {}}},
            {"usage": {"input": 5, "output": 2_000_000}},
        ],
    }});
    room.write("script.json", &script.to_string());
    for (name, prompt) in [("cut", "You cut."), ("refuse", "You refuse."), ("spend", "You spend.")]
    {
        room.write(&format!("{name}.md"), prompt);
    }
    room.write("tests.yaml", "- input: What is it?\n  checks:\n    - contains: it is\n");

    let ran = ab(
        &room,
        &[
            "--prompt",
            "cut.md",
            "--prompt",
            "refuse.md",
            "--prompt",
            "spend.md",
            "--model",
            "demo",
            "--inputs",
            "tests.yaml",
            "--json",
        ],
    );

    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told: Vec<Value> = cells(&ran)
        .iter()
        .map(|cell| {
            json!([cell["prompt"], cell["error"], cell["checks"][0]["passed"], cell["text"]])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["cut", "The answer was cut off at its longest.", false, "It is"]),
            json!([
                "refuse",
                "The model refused to answer. Ask it in other words.",
                false,
                "It is not"
            ]),
            json!(["spend", "The run wrote as much as it may and was ended.", false, "It is"]),
        ]
    );
    assert_eq!(cells(&ran)[2]["tools"], json!(["look_up"]));
}
