//! What the program is built from: the lists of `deny.toml`, held against the lock file.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use serde_json::Value;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The texts of a list in `deny.toml`.
fn list(name: &str) -> Vec<String> {
    let text = fs::read_to_string("deny.toml").unwrap();
    let list = text.split(&format!("\n{name} = [")).nth(1).unwrap();
    let list = list.split("\n]").next().unwrap();
    list.lines()
        .map(|line| line.trim().trim_end_matches(','))
        .filter_map(|line| line.strip_prefix('"')?.strip_suffix('"').map(str::to_owned))
        .collect()
}

/// Whether one of the ways in which a crate may be used is allowed.
fn allows(allowed: &[String], licence: &str) -> bool {
    let licence = licence.replace('/', " OR ");
    let spaced = licence.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (fits, rest) = either(allowed, &words);
    fits && rest.is_empty()
}

fn either<'a>(allowed: &[String], words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut fits, mut rest) = both(allowed, words);
    while let ["OR", more @ ..] = rest {
        let (other, left) = both(allowed, more);
        (fits, rest) = (fits || other, left);
    }
    (fits, rest)
}

fn both<'a>(allowed: &[String], words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut fits, mut rest) = one(allowed, words);
    while let ["AND", more @ ..] = rest {
        let (other, left) = one(allowed, more);
        (fits, rest) = (fits && other, left);
    }
    (fits, rest)
}

fn one<'a>(allowed: &[String], words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let known = |name: &str| allowed.iter().any(|allowed| allowed == name);
    match words {
        ["(", inner @ ..] => {
            let (fits, rest) = either(allowed, inner);
            (fits && rest.first() == Some(&")"), rest.get(1..).unwrap_or_default())
        }
        [name, "WITH", exception, rest @ ..] => (known(&format!("{name} WITH {exception}")), rest),
        [name, rest @ ..] => (known(name), rest),
        [] => (false, words),
    }
}

#[test]
fn a_licence_is_read_as_it_is_meant() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);

    for good in
        ["MIT", "MIT/GPL-3.0", "GPL-2.0 OR (MIT AND Apache-2.0)", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(allows(&allowed, good), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "Apache-2.0 WITH Other"] {
        assert!(!allows(&allowed, bad), "{bad}");
    }
}

#[test]
fn everything_comes_from_the_registry_and_nothing_that_is_banned() {
    let lock = ["Cargo.lock", "fuzz/Cargo.lock"].map(|file| fs::read_to_string(file).unwrap());
    let banned = list("deny");
    assert!(!banned.is_empty());
    let mut count = 0;
    for package in lock.iter().flat_map(|lock| lock.split("[[package]]").skip(1)) {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
            line.map(|value| value.trim_matches('"'))
        };
        let name = field("name").unwrap();
        assert!(!banned.iter().any(|banned| banned == name), "{name} is banned");
        if !["greenroom", "greenroom-fuzz"].contains(&name) {
            assert_eq!(field("source"), Some(REGISTRY), "{name}");
            assert!(field("checksum").is_some(), "{name} has no checksum");
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn no_version_is_left_open() {
    for file in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let text = fs::read_to_string(file).unwrap();
        let open: Vec<&str> = text.lines().filter(|line| line.contains("\"*\"")).collect();
        assert_eq!(open, Vec::<&str>::new(), "{file}");
    }
}

#[test]
fn everything_may_be_given_away() {
    let browser = ["--no-default-features", "--features", "hydrate"];
    for (platform, features) in
        [("x86_64-unknown-linux-gnu", &[][..]), ("wasm32-unknown-unknown", &browser)]
    {
        assert_eq!(not_to_be_given_away(platform, features), Vec::<String>::new(), "{platform}");
    }
}

/// What is in the program for this platform under a licence that is not allowed.
fn not_to_be_given_away(platform: &str, features: &[&str]) -> Vec<String> {
    let told = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", platform])
        .args(features)
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let used: BTreeSet<&str> = told["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    assert!(used.len() > 100, "{platform}: {}", used.len());
    let allowed = list("allow");
    let packages = told["packages"].as_array().unwrap().iter();
    packages
        .filter(|package| used.contains(package["id"].as_str().unwrap()))
        .filter(|package| !allows(&allowed, package["license"].as_str().unwrap_or_default()))
        .map(|package| format!("{} ({})", package["name"], package["license"]))
        .collect()
}

/// What a page shows and runs comes from this server: it works where there is no network, and tells nobody who looks.
#[test]
fn nothing_of_a_page_comes_from_elsewhere() {
    let mut folders: Vec<PathBuf> = ["src/app", "style", "public"].map(PathBuf::from).into();
    let (mut read, mut offenders) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Pictures and fonts lead nowhere.
            let Ok(text) = fs::read_to_string(&path) else { continue };
            read += 1;
            for before in
                ["src=\"", "href=\"", "action=\"", "url(", "url(\"", "url('", "@import \""]
            {
                for there in ["http:", "https:", "//"] {
                    if text.contains(&format!("{before}{there}")) {
                        offenders.push(format!("{}: {before}{there}", path.display()));
                    }
                }
            }
        }
    }

    assert!(read > 100, "only {read} files were read");
    assert_eq!(offenders, Vec::<String>::new());
}

#[test]
fn versions_are_pinned_for_the_browsers_tests_too_and_no_package_runs_a_script() {
    let lock: Value =
        serde_json::from_str(&fs::read_to_string("end2end/package-lock.json").unwrap()).unwrap();
    for (path, package) in
        lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty())
    {
        // npm leaves it out for its own registry.
        let from = package["resolved"].as_str().unwrap_or("https://registry.npmjs.org/");
        assert!(from.starts_with("https://registry.npmjs.org/"), "{path}: {from}");
        assert!(package["integrity"].is_string(), "{path} has no hash");
    }
    let install = fs::read_to_string("scripts/install-test-tools").unwrap();
    for line in
        install.lines().filter(|line| line.contains("npm ci") || line.contains("npm install"))
    {
        assert!(line.contains("npm ci --ignore-scripts"), "{line}");
    }
}

#[test]
fn packages_of_python_are_pinned_and_those_of_the_sandbox_by_hash() {
    let pinned = |file: &str| {
        let text = fs::read_to_string(file).unwrap().replace("\\\n", " ");
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        for line in &lines {
            assert!(line.contains("=="), "{file}: {line}");
        }
        lines
    };

    assert!(pinned("scripts/requirements.txt").len() > 1);
    for line in pinned("src/sandbox/requirements.txt") {
        assert!(line.contains("--hash=sha256:"), "{line}");
    }
}
