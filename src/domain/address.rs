//! Texts within addresses.

/// A text as it may stand in a path or behind an equals sign of an address; its slashes stay.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b':' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_an_address_is_escaped() {
        assert_eq!(escaped("src/c#.md"), "src/c%23.md");
        assert_eq!(escaped("a&b=50% é?"), "a%26b%3D50%25%20%C3%A9%3F");
    }
}
