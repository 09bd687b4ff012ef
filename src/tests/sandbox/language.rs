//! The language and its library.

use std::time::{Duration, UNIX_EPOCH};

use greenroom::sandbox::{End, Program, What};

use super::{files, printed, run, sandbox, traceback};

#[tokio::test]
async fn the_language_is_all_there() {
    let programs = [
        ("print(sum(n * n for n in range(10) if n % 2))", "165\n"),
        (
            "def f(*a, k=1, **kw): return a, k, kw\nprint(f(1, 2, k=3, z=4))",
            "((1, 2), 3, {'z': 4})\n",
        ),
        (
            "match {'kind': 'circle', 'r': 2}:\n    case {'kind': 'circle', 'r': r}: print(r)\n    case _: print('?')",
            "2\n",
        ),
        (
            "class A:\n    @property\n    def x(self): return 1\nclass B(A):\n    @classmethod\n    def make(cls): return cls()\nprint(B.make().x)",
            "1\n",
        ),
        (
            "def g():\n    got = yield 1\n    print(got)\n    yield 2\ni = g()\nprint(next(i), i.send('sent'))",
            "sent\n1 2\n",
        ),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print(e)\nfinally:\n    print('end')",
            "division by zero\nend\n",
        ),
        ("x = 3\nprint(f'{x=} {x:>5} {x!r:^7}|')", "x=3     3    3   |\n"),
        (
            "print((lambda n: n if n < 2 else n)(1), [y := 5, y * 2], *{1: 2}.items())",
            "1 [5, 10] (1, 2)\n",
        ),
        ("print(2 ** 200)", "1606938044258990275541962092341162602522202993782792835301376\n"),
        (
            "with open('x', 'w') as f: print(f.write('hé'))\nprint(open('x', 'rb').read())",
            "2\nb'h\\xc3\\xa9'\n",
        ),
        (
            "print('ß'.upper(), len('👩‍🚀'), '日本'.encode())",
            "SS 3 b'\\xe6\\x97\\xa5\\xe6\\x9c\\xac'\n",
        ),
        (
            "print(__name__, __import__('sys').argv, __import__('os').getcwd())",
            "__main__ ['-c'] /\n",
        ),
    ];
    for (program, expected) in programs {
        assert_eq!(printed(program).await, expected, "{program}");
    }
}

#[tokio::test]
async fn the_usual_library_is_there() {
    let names = "abc argparse array ast base64 binascii bisect calendar cmath collections configparser contextlib copy \
        csv dataclasses datetime decimal difflib email.message enum fnmatch fractions functools glob graphlib hashlib heapq \
        hmac html html.parser inspect io itertools json keyword linecache locale logging math numbers operator os os.path \
        pathlib pickle platform pprint queue quopri random re reprlib sched secrets shlex shutil stat statistics string \
        stringprep struct sys tempfile textwrap time timeit tokenize tomllib traceback types typing unicodedata unittest \
        urllib.parse uuid warnings weakref xml.etree.ElementTree zipfile zlib";
    let program = format!(
        "import importlib\nfor name in {names:?}.split():\n    importlib.import_module(name)\nprint('all')"
    );
    assert_eq!(printed(&program).await, "all\n");
}

#[tokio::test]
async fn the_library_works() {
    let programs = [
        (
            "import json; print(json.dumps({'a': [1, 2.5, None]}, indent=1))",
            "{\n \"a\": [\n  1,\n  2.5,\n  null\n ]\n}\n",
        ),
        ("import re; print(re.sub(r'(\\w+) (\\w+)', r'\\2 \\1', 'a b'))", "b a\n"),
        (
            "import statistics as s; print(s.mean([1, 2, 4]), s.stdev([1, 2, 3]))",
            "2.3333333333333335 1.0\n",
        ),
        ("from decimal import Decimal as D; print(D('0.1') + D('0.2'))", "0.3\n"),
        ("from fractions import Fraction as F; print(F(1, 3) + F(1, 6))", "1/2\n"),
        (
            "import hashlib; print(hashlib.sha256(b'a').hexdigest()[:8], hashlib.md5(b'').hexdigest()[:8])",
            "ca978112 d41d8cd9\n",
        ),
        ("import zlib; print(zlib.decompress(zlib.compress(b'abc' * 100))[:3])", "b'abc'\n"),
        (
            "import datetime as d; print(d.date(2026, 11, 17).strftime('%A %d'), d.datetime.strptime('2026', '%Y').year)",
            "Tuesday 17 2026\n",
        ),
        ("import tomllib; print(tomllib.loads('a = 1'))", "{'a': 1}\n"),
        (
            "import xml.etree.ElementTree as E; print(E.fromstring('<a><b>1</b></a>').find('b').text)",
            "1\n",
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nprint(P())",
            "P(x=1)\n",
        ),
        (
            "import itertools as i; print(list(i.batched('abcde', 2)))",
            "[('a', 'b'), ('c', 'd'), ('e',)]\n",
        ),
        (
            "import textwrap, pprint, calendar; print(textwrap.fill('a b c', 3)); print(calendar.isleap(2028))",
            "a b\nc\nTrue\n",
        ),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\nr = unittest.main(exit=False, argv=['t']).result\nprint(r.wasSuccessful())",
            "True\n",
        ),
        (
            "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
            "def f():\n    return 1\n\n",
        ),
        (
            "import urllib.parse as u; print(u.quote('a b'), u.urlsplit('http://x/y?z').path)",
            "a%20b /y\n",
        ),
    ];
    for (program, expected) in programs {
        assert_eq!(printed(program).await, expected, "{program}");
    }
}

#[tokio::test]
async fn a_script_knows_its_name_its_arguments_and_its_input() {
    let script = "import sys\nif __name__ == '__main__':\n    print(__file__, sys.argv, input('? '), sys.stdin.read())";
    let program = Program {
        arguments: vec!["a".into(), "b c".into()],
        stdin: "first\nrest\n".into(),
        files: files(&[("tools/run.py", script)]),
        ..Program::new(What::Script("tools/run.py".into()))
    };

    let outcome = sandbox().run(program).await.unwrap();

    assert_eq!(outcome.end, End::Exit(0));
    assert_eq!(outcome.stdout, "? /tools/run.py ['tools/run.py', 'a', 'b c'] first rest\n\n");
}

#[tokio::test]
async fn a_traceback_shows_the_programs_own_lines_and_none_of_ours() {
    let error = traceback("def f(x):\n    return 1 / x\n\nf(0)").await;

    let expected = "Traceback (most recent call last):\n  File \"<program>\", line 4, in <module>\n    f(0)\n    ~^^^\n  \
        File \"<program>\", line 2, in f\n    return 1 / x\n           ~~^~~\nZeroDivisionError: division by zero";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_traceback_goes_through_the_sessions_files() {
    let given = [
        ("main.py", "import helper\nhelper.go()"),
        ("helper.py", "def go():\n    raise KeyError('lost')"),
    ];
    let program = Program { files: files(&given), ..Program::new(What::Script("main.py".into())) };

    let End::Error(error) = sandbox().run(program).await.unwrap().end else { panic!("no error") };

    assert!(error.contains("File \"/main.py\", line 2, in <module>\n    helper.go()"), "{error}");
    assert!(
        error.contains("File \"/helper.py\", line 2, in go\n    raise KeyError('lost')"),
        "{error}"
    );
    assert!(!error.contains("greenroom"), "{error}");
}

#[tokio::test]
async fn a_mistake_in_writing_is_shown_where_it_is() {
    let error = traceback("x = 1\nprint('a'").await;

    assert!(
        error.contains("File \"<program>\", line 2")
            && error.contains("SyntaxError: '(' was never closed"),
        "{error}"
    );
}

#[tokio::test]
async fn an_absent_package_is_named_with_what_there_is() {
    let error = traceback("import numpy").await;

    assert!(error.contains("ModuleNotFoundError: No module named 'numpy'"), "{error}");
    assert!(error.contains("Only the standard library"), "{error}");
}

#[tokio::test]
async fn leaving_early_has_a_status() {
    assert_eq!(run("import sys; print(1); sys.exit(3)").await.end, End::Exit(3));
    assert_eq!(run("raise SystemExit").await.end, End::Exit(0));
    let told = run("import sys; sys.exit('why')").await;
    assert_eq!((told.end, told.stderr.as_str()), (End::Exit(1), "why\n"));
    let outcome = run("import os; print('a', flush=True); os._exit(1)").await;
    assert_eq!((outcome.end, outcome.stdout.as_str()), (End::Exit(1), "a\n"));
    assert_eq!(
        printed("import atexit; atexit.register(print, 'last'); print('first')").await,
        "first\nlast\n"
    );
}

#[tokio::test]
async fn both_streams_come_back_apart() {
    let outcome = run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.buffer.write(b'\\xff')").await;

    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n\u{fffd}", "err\n"));
}

#[tokio::test]
async fn sleeping_takes_no_time_and_moves_the_clock_on() {
    let program = Program {
        now: Some(UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
        ..Program::new(What::Source(
            "import time, datetime\na = time.monotonic()\ntime.sleep(3600)\nprint(3600 <= time.monotonic() - a < 3602)\n\
             print(datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%d %H:%M'))"
                .into(),
        ))
    };

    let outcome = sandbox().run(program).await.unwrap();

    assert_eq!((outcome.end, outcome.stdout.as_str()), (End::Exit(0), "True\n2027-01-15 09:00\n"));
}

#[tokio::test]
async fn randomness_follows_from_a_seed_and_else_from_nothing() {
    let dice = |seed| async move {
        let source = "import random, uuid, secrets; print(random.random(), uuid.uuid4(), secrets.token_hex(8))";
        let program = Program { seed, ..Program::new(What::Source(source.into())) };
        sandbox().run(program).await.unwrap().stdout
    };

    assert_eq!(dice(Some(7)).await, dice(Some(7)).await);
    assert_ne!(dice(Some(7)).await, dice(Some(8)).await);
    assert_ne!(dice(None).await, dice(None).await);
}
