//! The session's files: in, out, and gone.

use std::collections::BTreeMap;

use greenroom::sandbox::{End, Limit, Program, SandboxError, What, limits};

use super::{changes, files, printed, run, run_with, sandbox};

#[tokio::test]
async fn files_are_read_written_changed_and_deleted() {
    let program = "import os\nprint(sorted(os.listdir()), open('data/in.csv').read())\n\
        open('new.txt', 'w').write('new')\nopen('data/in.csv', 'a').write(',3')\nos.remove('old.txt')\n\
        open('same.txt', 'w').write('same')";
    let given =
        [("data/in.csv", "1,2"), ("old.txt", "old"), ("same.txt", "same"), ("untouched.txt", "")];

    let outcome = run_with(program, &given).await;

    assert_eq!(outcome.end, End::Exit(0));
    assert_eq!(outcome.stdout, "['data', 'old.txt', 'same.txt', 'tmp', 'untouched.txt'] 1,2\n");
    let expected = BTreeMap::from([
        ("data/in.csv", Some("1,2,3")),
        ("new.txt", Some("new")),
        ("old.txt", None),
    ]);
    assert_eq!(changes(&outcome), expected);
}

#[tokio::test]
async fn the_library_for_files_works() {
    let program = "import os, pathlib, shutil, tempfile, glob, zipfile, csv, json, pickle\n\
        p = pathlib.Path('a/b'); p.mkdir(parents=True, exist_ok=True)\n\
        (p / 'x.txt').write_text('x\\ny\\n')\n\
        shutil.copy('a/b/x.txt', 'a/copy.txt'); os.rename('a/copy.txt', 'a/moved.txt')\n\
        shutil.copytree('a', 'c'); shutil.rmtree('c/b'); os.replace('c', 'd')\n\
        with tempfile.TemporaryFile() as f:\n    f.write(b'123'); f.seek(1); assert f.read() == b'23'\n\
        with tempfile.TemporaryDirectory() as t:\n    open(t + '/y', 'w').close(); assert os.listdir(t) == ['y']\n\
        with zipfile.ZipFile('z.zip', 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('in.txt', 'zipped')\n\
        assert zipfile.ZipFile('z.zip').read('in.txt') == b'zipped'\nos.remove('z.zip')\n\
        with open('t.csv', 'w', newline='') as f: csv.writer(f).writerows([[1, 'a,b'], [2, 'c']])\n\
        assert list(csv.reader(open('t.csv')))[0] == ['1', 'a,b']\n\
        json.dump({'a': 1}, open('t.json', 'w')); pickle.dump([1], open('t.pickle', 'wb'))\n\
        assert pickle.load(open('t.pickle', 'rb')) == [1]; os.unlink('t.pickle')\n\
        with open('r.bin', 'w+b') as f:\n    f.write(b'hello'); f.seek(1); f.write(b'E'); f.truncate(3); f.seek(0); assert f.read() == b'hEl'\n\
        print(sorted(glob.glob('**/*.txt', recursive=True)), os.stat('t.json').st_size, os.path.isdir('a/b'))\n\
        print(sorted((r, sorted(d), sorted(f)) for r, d, f in os.walk('d')))";

    let outcome = run(program).await;

    assert_eq!(outcome.end, End::Exit(0));
    let expected =
        "['a/b/x.txt', 'a/moved.txt', 'd/moved.txt'] 8 True\n[('d', [], ['moved.txt'])]\n";
    assert_eq!(outcome.stdout, expected);
    let names: Vec<&str> = outcome.changed.keys().map(String::as_str).collect();
    assert_eq!(names, ["a/b/x.txt", "a/moved.txt", "d/moved.txt", "r.bin", "t.csv", "t.json"]);
}

#[tokio::test]
async fn mistakes_with_files_are_pythons_own() {
    let mistakes = [
        ("open('no')", "FileNotFoundError"),
        ("open('no/x', 'w')", "FileNotFoundError"),
        ("open('a.txt/x')", "NotADirectoryError"),
        ("open('.')", "IsADirectoryError"),
        ("open('a.txt', 'x')", "FileExistsError"),
        ("import os; os.mkdir('a.txt')", "FileExistsError"),
        ("import os; os.mkdir('d'); open('d/x', 'w').close(); os.rmdir('d')", "OSError"),
        ("open('a.txt').write('x')", "io.UnsupportedOperation"),
        ("import os; os.symlink('a.txt', 'b')", "OSError"),
        ("open('x' * 300, 'w')", "OSError"),
    ];
    for (program, expected) in mistakes {
        let outcome = run_with(program, &[("a.txt", "a")]).await;
        let End::Error(error) = outcome.end else { panic!("{program} worked: {}", outcome.stdout) };
        assert!(error.contains(expected), "{program}: {error}");
    }
}

#[tokio::test]
async fn the_sessions_modules_are_imported_before_the_librarys() {
    let program = "import helper, package.inner, statistics\nprint(helper.name, package.inner.name, statistics.name)";
    let given = [
        ("helper.py", "name = 'helper'"),
        ("package/__init__.py", ""),
        ("package/inner.py", "from . import other\nname = other.name"),
        ("package/other.py", "name = 'inner'"),
        ("statistics.py", "name = 'my own'"),
    ];

    let outcome = run_with(program, &given).await;

    assert_eq!(outcome.stdout, "helper inner my own\n");
    assert_eq!(changes(&outcome), BTreeMap::new());
}

#[tokio::test]
async fn what_went_well_before_an_error_is_kept() {
    let outcome = run("open('a', 'w').write('kept')\nraise ValueError").await;

    assert_eq!(changes(&outcome), BTreeMap::from([("a", Some("kept"))]));
}

#[tokio::test]
async fn too_many_and_too_large_files_are_refused_while_they_are_written() {
    let many = run("for n in range(200):\n    open(f'{n}', 'w').write('x')").await;
    assert!(matches!(&many.end, End::Error(error) if error.contains("OSError")), "{:?}", many.end);
    assert_eq!((many.reached, many.changed.len()), (vec![Limit::Files], limits::CHANGED_FILES));

    let large =
        run("with open('a', 'wb') as f:\n    for _ in range(100): f.write(bytes(100_000))").await;
    assert!(
        matches!(&large.end, End::Error(error) if error.contains("OSError")),
        "{:?}",
        large.end
    );
    assert_eq!(large.reached, [Limit::Files]);
    assert!(large.changed["a"].as_ref().unwrap().len() <= limits::CHANGED_BYTES);

    let sparse = run("f = open('a', 'wb')\nf.seek(10**12)\nf.write(b'x')\nf.close()").await;
    assert!(matches!(sparse.end, End::Error(_)), "{:?}", sparse.end);

    let folders = run("import os\nfor n in range(5000): os.mkdir(str(n))").await;
    assert_eq!(folders.reached, [Limit::Files]);
}

#[tokio::test]
async fn what_is_deleted_again_does_not_count() {
    let program = "import os\nfor n in range(150):\n    open('x', 'wb').write(bytes(50_000))\n    os.remove('x')\nprint('fine')";

    assert_eq!(printed(program).await, "fine\n");
}

#[tokio::test]
async fn a_program_that_asks_too_much_is_refused_before_it_runs() {
    let refused = |program: Program| async move { sandbox().run(program).await.unwrap_err() };
    let nothing = || Program::new(What::Source("pass".into()));
    let path = |path: &str| Program { files: files(&[(path, "")]), ..nothing() };

    let long = What::Source("#".repeat(limits::SOURCE_BYTES + 1));
    assert_eq!(refused(Program::new(long)).await, SandboxError::TooLong);
    let large = [("a".to_owned(), vec![0; limits::GIVEN_BYTES + 1])].into();
    assert_eq!(refused(Program { files: large, ..nothing() }).await, SandboxError::TooManyFiles);
    let many = (0..=limits::GIVEN_FILES).map(|n| (n.to_string(), Vec::new())).collect();
    assert_eq!(refused(Program { files: many, ..nothing() }).await, SandboxError::TooManyFiles);
    let stdin = "x".repeat(limits::INPUT_BYTES + 1);
    assert_eq!(refused(Program { stdin, ..nothing() }).await, SandboxError::TooMuchInput);
    for bad in ["/etc/passwd", "../x", "a/../b", "a//b", ""] {
        assert_eq!(refused(path(bad)).await, SandboxError::BadPath { path: bad.into() });
    }
    let below = Program { files: files(&[("a", ""), ("a/b", "")]), ..nothing() };
    assert_eq!(refused(below).await, SandboxError::BadPath { path: "a/b".into() });
    let missing = Program::new(What::Script("no.py".into()));
    assert_eq!(refused(missing).await, SandboxError::NoScript { path: "no.py".into() });
}

#[tokio::test]
async fn as_many_files_as_allowed_can_be_given() {
    let size = limits::GIVEN_BYTES / limits::GIVEN_FILES;
    let many = (0..limits::GIVEN_FILES).map(|n| (format!("d/{n}"), vec![b'x'; size])).collect();
    let source = "import os\nprint(len(os.listdir('d')), len(open('d/999').read()))";
    let program = Program { files: many, ..Program::new(What::Source(source.into())) };

    let outcome = sandbox().run(program).await.unwrap();

    assert_eq!((outcome.end, outcome.stdout), (End::Exit(0), format!("1000 {size}\n")));
}
