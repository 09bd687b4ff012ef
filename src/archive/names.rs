//! Names of files that a person can read and every system can hold.

use std::collections::BTreeSet;

/// How much of a title goes into a name.
const MAX_SLUG: usize = 40;
/// What some systems take for a device, whatever its ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Names within one folder, none of which is given twice, not even in other letters.
#[derive(Debug, Default)]
pub struct Names {
    given: BTreeSet<String>,
}

impl Names {
    /// A name for the thing with this title and identifier: nothing but letters, digits, dashes,
    /// underscores and tildes, whatever the title is.
    pub fn give(&mut self, title: &str, id: &str) -> String {
        let slug = slug(title);
        let name = match slug.as_str() {
            "" => id.to_owned(),
            slug if slug == id => id.to_owned(),
            slug => format!("{slug}~{id}"),
        };
        let name = if is_device(&name) { format!("{name}~") } else { name };
        let mut free = name.clone();
        let mut count = 1;
        while !self.given.insert(free.to_lowercase()) {
            count += 1;
            free = format!("{name}~{count}");
        }
        free
    }
}

/// The plain letters and digits of a title, with dashes between them.
fn slug(title: &str) -> String {
    let mut out = String::new();
    for letter in title.chars() {
        if out.len() >= MAX_SLUG {
            break;
        }
        if letter.is_ascii_alphanumeric() {
            out.push(letter.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

fn is_device(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let numbered = ["com", "lpt"]
        .iter()
        .any(|device| name.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest != "0"));
    numbered || DEVICES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_is_and_cannot_lead_anywhere() {
        let mut names = Names::default();

        assert_eq!(names.give("Optimist", "optimist"), "optimist");
        assert_eq!(names.give("Café – au lait!", "7"), "caf-au-lait~7");
        assert_eq!(names.give("../../etc/passwd\0\u{202e}", "8"), "etc-passwd~8");
        assert_eq!(names.give("日本語", "9"), "9");
        assert_eq!(names.give("", "CON"), "CON~");
        assert_eq!(names.give("com1", "com1"), "com1~");
        assert_eq!(names.give(&"x".repeat(9000), "10"), format!("{}~10", "x".repeat(40)));
        // Where “A” and “a” are one file, neither takes the other's place.
        assert_eq!([names.give("", "A"), names.give("", "a")], ["A", "a~2"]);
    }
}
