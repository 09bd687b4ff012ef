//! Hostile texts: those that are kept beside this file, and more of them where others' collections lie beside
//! the repository.

use serde_json::Value;

/// The collections of others.
const FOLDER: &str = "../shared/fixtures/security";
/// So many of our own there are at least of each kind: fewer would prove nothing.
const FEWEST: usize = 15;

/// This field of every case of a kind: our own first, then those of others.
pub fn collected(file: &str, field: &str) -> Vec<String> {
    let kept = std::fs::read_to_string(format!("src/tests/hostile/{file}")).unwrap();
    let mut all = cases(&kept, field);
    let own = all.len();
    assert!(own >= FEWEST, "{file} has only {own} with {field}");
    if let Ok(text) = std::fs::read_to_string(format!("{FOLDER}/{file}")) {
        all.extend(cases(&text, field));
    }
    println!("{file}: {own} of our own, {} of others", all.len() - own);
    all
}

fn cases(text: &str, field: &str) -> Vec<String> {
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    cases.iter().filter_map(|case| Some(case[field].as_str()?.to_owned())).collect()
}
