//! Headers that go along with traces: read when they are needed, shown nowhere.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::domain::model::KeyRef;

/// The longest file with headers that is read.
const MAX_BYTES: u64 = 16 * 1024;

/// The headers behind a reference; none without one. What is wrong is told without their values.
pub fn read(
    reference: &str,
    environment: &(dyn Fn(&str) -> Option<String> + Send + Sync),
) -> Result<HeaderMap, String> {
    if reference.is_empty() {
        return Ok(HeaderMap::new());
    }
    let parsed = KeyRef::parse(reference)
        .map_err(|_| "the reference to the headers cannot be read".to_owned())?;
    let (place, text) = match parsed {
        KeyRef::Sealed => return Err("the headers cannot be sealed".to_owned()),
        KeyRef::Env(name) => {
            let place = format!("the variable {name}");
            let text = environment(&name).ok_or_else(|| format!("{place} is not set"))?;
            (place, text)
        }
        KeyRef::File(path) => {
            let place = format!("the file {path}");
            let unread = |error: std::io::Error| format!("{place} cannot be read ({error})");
            let about = std::fs::metadata(&path).map_err(unread)?;
            if !about.is_file() || about.len() > MAX_BYTES {
                return Err(format!("{place} is not one with headers in it"));
            }
            let text = std::fs::read_to_string(&path).map_err(unread)?;
            (place, text)
        }
    };
    parse(&text).ok_or_else(|| format!("{place} does not hold headers as name=value,name=value"))
}

/// Headers as OpenTelemetry writes them: `name=value` with commas or lines between them, and percent signs
/// for what else cannot stand there.
fn parse(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let given = text.split([',', '\n']).map(str::trim).filter(|one| !one.is_empty());
    for one in given {
        let (name, value) = one.split_once('=')?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        let mut value = HeaderValue::from_bytes(&unescaped(value.trim())).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}

fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_from_a_variable_or_a_file_and_are_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("headers");
        std::fs::write(&file, "Authorization=Basic abc==\nx-more=1\n").unwrap();
        let environment = |name: &str| {
            (name == "SET").then(|| "authorization=Basic%20abc==, x-more=1".to_owned())
        };

        for reference in ["env:SET", &format!("file:{}", file.display())] {
            let headers = read(reference, &environment).unwrap();
            assert_eq!(headers["authorization"], "Basic abc==");
            assert_eq!(headers["x-more"], "1");
            assert!(!format!("{headers:?}").contains("abc"));
        }
        assert!(read("", &environment).unwrap().is_empty());
        for bad in ["env:OTHER", "file:/does/not/exist", "authorization=secret"] {
            let told = read(bad, &environment).unwrap_err();
            assert!(!told.contains("secret"), "{told}");
        }
        let broken = |_: &str| Some("just a secret".to_owned());
        let told = read("env:SET", &broken).unwrap_err();
        assert!(told.contains("name=value") && !told.contains("secret"), "{told}");
    }
}
