//! Programs that would take everything: each ends in time, with a sentence, and leaves the server unharmed.

use std::time::Duration;

use futures::future::join_all;
use greenroom::sandbox::{End, Limit, Outcome, limits};

use super::{printed, run};

/// The parent's clock and what starting may take on a busy machine.
const LATE: Duration = Duration::from_secs(6);

/// By the processor's clock, or by the one on the wall when others use the processor as well.
fn is_stopped_in_time(outcome: &Outcome) -> bool {
    matches!(outcome.end, End::Stopped(Limit::GuestTime | Limit::WallTime))
}

#[tokio::test]
async fn what_computes_for_ever_is_stopped() {
    let endless = [
        "while True: pass",
        "import re; re.match(r'(a+)+$', 'a' * 40 + 'b')",
        "x = 7 ** (7 ** 9)",
        "sum(range(10 ** 12))",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import time\nwhile True: time.sleep(1000)",
        "def f(): return f()\nwhile True:\n    try: f()\n    except RecursionError: pass",
    ];
    for program in endless {
        let outcome = run(program).await;
        assert!(is_stopped_in_time(&outcome), "{program} ended with {:?}", outcome.end);
        assert!(outcome.wall_time < LATE, "{program} took {:?}", outcome.wall_time);
    }
}

#[tokio::test]
async fn what_wants_all_memory_gets_an_error_that_it_can_catch() {
    let hungry = [
        "x = bytearray(10 ** 9)",
        "x = 'a' * (2 * 10 ** 9)",
        "x = []\nwhile True: x.append(bytes(10 ** 6))",
    ];
    for program in hungry {
        let outcome = run(program).await;
        assert!(
            matches!(&outcome.end, End::Error(error) if error.contains("MemoryError")),
            "{:?}",
            outcome.end
        );
        assert!(outcome.wall_time < LATE, "{program} took {:?}", outcome.wall_time);
    }
    let caught = "try:\n    bytearray(10 ** 9)\nexcept MemoryError:\n    print('caught')";
    assert_eq!(printed(caught).await, "caught\n");
}

#[tokio::test]
async fn small_things_without_end_are_stopped_too() {
    let hungry = [
        "x = []\nwhile True: x = [x, x]",
        "x = {}\nn = 0\nwhile True:\n    x[n] = str(n)\n    n += 1",
    ];
    for program in hungry {
        let outcome = run(program).await;
        let is_stopped = is_stopped_in_time(&outcome) || outcome.end == End::Stopped(Limit::Memory);
        let is_caught = matches!(&outcome.end, End::Error(error) if error.contains("MemoryError"));
        assert!(is_stopped || is_caught, "{program} ended with {:?}", outcome.end);
        assert!(outcome.wall_time < LATE, "{program} took {:?}", outcome.wall_time);
    }
}

#[tokio::test]
async fn endless_calls_end_with_an_error() {
    let deep = [
        "def f(): return f()\nf()",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
        "x = []\nfor _ in range(100_000): x = [x]\nprint(repr(x))",
        "import json\njson.loads('[' * 1_000_000)",
        "eval('(' * 100_000)",
        "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n    def __getattr__(self, n): return getattr(self, n)\nA().x",
        "f = lambda: 0\nfor _ in range(100_000): f = (lambda g: lambda: g())(f)\nf()",
    ];
    for program in deep {
        let outcome = run(program).await;
        assert_ne!(outcome.end, End::Exit(0), "{program}");
        assert!(outcome.wall_time < LATE, "{program} took {:?}", outcome.wall_time);
    }
    let caught = "def f(): return f()\ntry:\n    f()\nexcept RecursionError:\n    print('caught')";
    assert_eq!(printed(caught).await, "caught\n");
}

#[tokio::test]
async fn what_prints_too_much_is_stopped_with_what_it_printed_first() {
    for program in
        ["while True: print('x' * 1000)", "import sys\nsys.stderr.write('x' * 50_000_000)"]
    {
        let outcome = run(program).await;
        assert_eq!(outcome.end, End::Stopped(Limit::Output), "{program}");
        assert_eq!(outcome.stdout.len() + outcome.stderr.len(), limits::OUTPUT_BYTES);
    }
}

#[tokio::test]
async fn twenty_at_once_end_and_harm_none_beside_them() {
    let bombs = [
        "x = bytearray(10 ** 9)",
        "def f(): return f()\nf()",
        "while True: print('x' * 1000)",
        "import json\njson.loads('[' * 1_000_000)",
    ];
    let ended = (0..20).map(|at| run(bombs[at % bombs.len()]));
    let beside = (0..5).map(|_| printed("print(6 * 7)"));

    let (ended, beside) = tokio::join!(join_all(ended), join_all(beside));

    for (at, outcome) in ended.iter().enumerate() {
        assert_ne!(outcome.end, End::Exit(0), "{}", bombs[at % bombs.len()]);
        assert!(outcome.wall_time < LATE, "{at} took {:?}", outcome.wall_time);
    }
    assert_eq!(beside, ["42\n"; 5]);
}

#[tokio::test]
async fn an_error_of_any_length_is_told_shortly() {
    let End::Error(error) = run("raise ValueError('x' * 10_000_000)").await.end else {
        panic!("no error")
    };

    assert!(error.len() < 20_000 && error.starts_with("Traceback") && error.ends_with('x'));
}

#[tokio::test]
async fn what_was_printed_before_the_end_is_kept_and_files_are_as_before() {
    let outcome = run("print('so far')\nopen('a', 'w').write('half')\nwhile True: pass").await;

    assert!(is_stopped_in_time(&outcome), "{outcome:?}");
    assert_eq!((outcome.stdout.as_str(), outcome.changed.len()), ("so far\n", 0));
    let sentence = outcome.reached.iter().map(Limit::to_string).collect::<String>();
    assert!(sentence.starts_with("The program was stopped: it "), "{sentence}");
}

#[tokio::test]
async fn a_program_cannot_speak_for_its_interpreter() {
    let liars = [
        "import sys\ng = sys.modules['greenroom_guest']\ng.json.dumps = lambda *_: 'not json'",
        "import sys\ng = sys.modules['greenroom_guest']\ng.finish = None",
        "import builtins\nbuiltins.print = None\nimport json\njson.loads = None\njson.dumps = lambda *_: '{\"exit\": 99999999999}'",
        "import sys\nsys.modules.clear()",
        "import sys, gc\nfor o in gc.get_objects():\n    if isinstance(o, dict): o.clear()",
    ];
    for program in liars {
        let outcome = run(program).await;
        assert!(outcome.changed.is_empty(), "{program}");
        assert_eq!(printed("print('unharmed')").await, "unharmed\n", "after {program}");
    }
}
