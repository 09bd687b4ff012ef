//! The sandbox, with the real interpreter in real workers.

mod bombs;
mod escapes;
mod files;
mod functions;
mod language;
mod workers;

use std::{collections::BTreeMap, path::Path, sync::OnceLock};

use greenroom::sandbox::{End, Files, Outcome, Program, Sandbox, What};

/// Workers of Greenroom's own binary. Without Python inside nothing of this can be tested.
fn sandbox() -> Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    assert!(Sandbox::is_built_in(), "Python was not built in: run `make sandbox`");
    SANDBOX.get_or_init(|| Sandbox::new(Path::new(env!("CARGO_BIN_EXE_greenroom")))).clone()
}

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

async fn run(source: &str) -> Outcome {
    run_with(source, &[]).await
}

async fn run_with(source: &str, given: &[(&str, &str)]) -> Outcome {
    let program = Program { files: files(given), ..Program::new(What::Source(source.to_owned())) };
    sandbox().run(program).await.unwrap()
}

/// What a program prints that ends well.
async fn printed(source: &str) -> String {
    let outcome = run(source).await;
    assert_eq!(outcome.end, End::Exit(0), "{source}\n{}", outcome.stderr);
    outcome.stdout
}

/// The traceback of a program that fails.
async fn traceback(source: &str) -> String {
    match run(source).await.end {
        End::Error(error) => error,
        other => panic!("{source} ended with {other:?}"),
    }
}

/// What became of files, as text.
fn changes(outcome: &Outcome) -> BTreeMap<&str, Option<&str>> {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    let changed = outcome.changed.iter();
    changed.map(|(path, bytes)| (path.as_str(), bytes.as_deref().map(text))).collect()
}
