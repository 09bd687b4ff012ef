//! Ways out that were tried elsewhere: none of them finds a disk, a variable, a process or a network.

use std::{fs, net::TcpListener, path::Path};

use greenroom::sandbox::{End, Outcome, Program, What};

use super::{printed, run, sandbox};
use crate::hostile::collected;

/// Nothing of the host is in what came back.
fn is_clean(outcome: &Outcome, canary: &str) -> bool {
    let mut told = format!("{}{}{:?}", outcome.stdout, outcome.stderr, outcome.end);
    for bytes in outcome.changed.values().flatten() {
        told.push_str(&String::from_utf8_lossy(bytes));
    }
    ![canary, "root:x:0", "/usr/bin", "CARGO_"].iter().any(|secret| told.contains(secret))
}

#[tokio::test]
async fn the_hosts_files_cannot_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let canary = folder.path().join("canary");
    fs::write(&canary, "the canary sings").unwrap();
    let canary = canary.display().to_string();
    let ways = [
        format!("open({canary:?}).read()"),
        format!("open('../../../../../../..' + {canary:?}).read()"),
        format!("__import__('os').open({canary:?}, 0)"),
        format!("__import__('_io').FileIO({canary:?}).read()"),
        format!("__import__('posix').stat({canary:?})"),
        format!("__import__('os').link({canary:?}, 'x')"),
        "open('/etc/passwd').read()".to_owned(),
        "open('/proc/self/environ', 'rb').read()".to_owned(),
        "open('/dev/mem', 'rb').read()".to_owned(),
        "__import__('os').readlink('/proc/self/exe')".to_owned(),
        "__import__('os').chroot('/')".to_owned(),
        "__import__('os').fdopen(3, 'rb').read(); __import__('os').fdopen(4, 'rb').read()"
            .to_owned(),
    ];
    for way in ways {
        let outcome = run(&format!("print({})", way.replace("; ", "), print("))).await;
        assert!(matches!(outcome.end, End::Error(_)), "{way}: {outcome:?}");
        assert!(is_clean(&outcome, "the canary sings"), "{way}: {outcome:?}");
    }
    assert_eq!(
        printed("import os; print(os.listdir('/'), os.listdir('/..'))").await,
        "['tmp'] ['tmp']\n"
    );
}

#[tokio::test]
async fn what_is_written_anywhere_stays_in_the_session() {
    let outcome = run("import os\nos.makedirs('/etc/x')\nopen('/etc/x/y', 'w').write('mine')\nopen('../../up', 'w').write('up')").await;

    let names: Vec<&str> = outcome.changed.keys().map(String::as_str).collect();
    assert_eq!(names, ["etc/x/y", "up"]);
    assert!(!Path::new("/etc/x/y").exists() && !Path::new("/up").exists());
}

#[tokio::test]
async fn there_is_no_environment() {
    assert_eq!(
        printed("import os; print(dict(os.environ), os.getenv('PATH'), os.getenv('HOME'))").await,
        "{} None None\n"
    );
}

#[tokio::test]
async fn there_are_no_processes_threads_or_libraries() {
    let ways = [
        "import subprocess; subprocess.run(['id'])",
        "import os; os.system('id')",
        "import os; os.popen('id')",
        "import os; os.execv('/bin/sh', ['sh'])",
        "import os; os.fork()",
        "import os; os.kill(1, 9)",
        "import pty; pty.spawn('/bin/sh')",
        "import ctypes; ctypes.CDLL(None).system(b'id')",
        "import _posixsubprocess",
        "import multiprocessing; multiprocessing.Process().start()",
        "import threading; threading.Thread(target=print).start()",
        "import _thread; _thread.start_new_thread(print, ())",
        "import asyncio; asyncio.run(asyncio.sleep(1))",
        "import sqlite3; sqlite3.connect(':memory:')",
        "import mmap; mmap.mmap(0, 10)",
        "import signal; signal.alarm(1); signal.pause()",
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0]('id')",
        "().__class__.__base__.__subclasses__()[0].__init__.__globals__['os'].system('id')",
        "__builtins__.__dict__['__import__']('os').__dict__['system']('id')",
        "import sys; sys.modules['os'].system('id')",
        "print(().__reduce_ex__(2)[0].__globals__['__builtins__']['__import__']('os').system('id'))",
    ];
    for way in ways {
        let outcome = run(way).await;
        assert!(!outcome.is_success(), "{way}: {outcome:?}");
        assert!(
            is_clean(&outcome, "uid=") && !outcome.stdout.contains("uid="),
            "{way}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn there_is_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let ways = [
        format!("import socket; socket.create_connection(('127.0.0.1', {port}))"),
        format!("import _socket; s = _socket.socket(2, 1); s.connect(('127.0.0.1', {port}))"),
        "import _socket; print(_socket.getaddrinfo('localhost', 80))".to_owned(),
        format!("import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}')"),
        format!(
            "import http.client; http.client.HTTPConnection('127.0.0.1', {port}).request('GET', '/')"
        ),
    ];
    for way in ways {
        let outcome = run(&way).await;
        assert!(!outcome.is_success(), "{way}: {outcome:?}");
    }
    assert!(listener.accept().is_err(), "somebody connected");
}

#[tokio::test]
async fn broken_bytecode_breaks_only_its_own_interpreter() {
    let ways = [
        "def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 64)\nf()",
        "def f(): pass\nf.__code__ = f.__code__.replace(co_code=bytes(range(0, 250, 2)) * 8, co_stacksize=0)\nf()",
        "import types\neval((lambda: 0).__code__.replace(co_consts=(), co_code=b'd\\xff' * 32 + b'S\\0'))",
        "import sys\nsys.setswitchinterval(1e-300)\nsys.set_int_max_str_digits(0)\nint('9' * 100_000)\nraise KeyError",
    ];
    for way in ways {
        let outcome = run(way).await;
        assert!(is_clean(&outcome, "canary"), "{way}: {outcome:?}");
        assert_eq!(printed("print('unharmed')").await, "unharmed\n", "after {way}");
    }
}

#[tokio::test]
async fn collected_ways_out_lead_nowhere() {
    let snippets = collected("python_sandbox_escape.json", "code");
    let runs = snippets.iter().map(|code| async move {
        let program =
            Program { stdin: "x\n".repeat(9), ..Program::new(What::Source(code.clone())) };
        (code, sandbox().run(program).await)
    });
    for (code, outcome) in futures::future::join_all(runs).await {
        let outcome = outcome.unwrap_or_else(|error| panic!("{code}: {error}"));
        assert!(is_clean(&outcome, "uid=0"), "{code}: {outcome:?}");
    }
    assert_eq!(printed("print('unharmed')").await, "unharmed\n");
}
