//! What a docstring says of a function and of its parameters.
//!
//! Two habits are known: a section `Args:` with indented lines, and lines that begin with `:param name:`.

use std::collections::BTreeMap;

/// The headings under which parameters are described.
const PARAMETERS: [&str; 4] = ["args:", "arguments:", "parameters:", "keyword args:"];
/// Further headings that end a description.
const OTHERS: [&str; 9] = [
    "returns:",
    "return:",
    "yields:",
    "raises:",
    "example:",
    "examples:",
    "note:",
    "notes:",
    "warning:",
];

/// A docstring in its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Docstring {
    /// What stands before the first section: each paragraph on one line.
    pub description: String,
    /// What is said of each parameter.
    pub parameters: BTreeMap<String, String>,
}

impl Docstring {
    /// Reads a text whose indentation was taken away, as `inspect.getdoc` does.
    pub fn read(text: &str) -> Self {
        let mut parameters = BTreeMap::new();
        let mut paragraphs: Vec<Vec<&str>> = vec![Vec::new()];
        let mut is_over = false;
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let word = line.trim().to_lowercase();
            if PARAMETERS.contains(&word.as_str()) {
                is_over = true;
                let mut section = Vec::new();
                while let Some(next) =
                    lines.next_if(|next| next.trim().is_empty() || next.starts_with([' ', '\t']))
                {
                    section.push(next);
                }
                described(&section, &mut parameters);
            } else if let Some((name, said)) = param(line) {
                is_over = true;
                let mut said = said.to_owned();
                while let Some(next) =
                    lines.next_if(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty())
                {
                    said = format!("{said} {}", next.trim());
                }
                parameters.insert(name.to_owned(), said);
            } else if OTHERS.contains(&word.as_str()) || line.starts_with(':') {
                is_over = true;
            } else if line.trim().is_empty() {
                paragraphs.push(Vec::new());
            } else if !is_over && let Some(paragraph) = paragraphs.last_mut() {
                paragraph.push(line.trim());
            }
        }
        let written = paragraphs.iter().filter(|paragraph| !paragraph.is_empty());
        let written: Vec<String> = written.map(|paragraph| paragraph.join(" ")).collect();
        Self { description: written.join("\n\n"), parameters }
    }
}

/// `name: text` or `name (kind): text`, each followed by lines that stand further to the right.
fn described(section: &[&str], parameters: &mut BTreeMap<String, String>) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let written = section.iter().filter(|line| !line.trim().is_empty());
    let Some(least) = written.clone().map(|line| indent(line)).min() else { return };
    let mut last: Option<String> = None;
    for line in written {
        let begins = if indent(line) == least { entry(line.trim()) } else { None };
        match (begins, &last) {
            (Some((name, said)), _) => {
                parameters.insert(name.to_owned(), said.to_owned());
                last = Some(name.to_owned());
            }
            (None, Some(name)) => {
                let said = parameters.entry(name.clone()).or_default();
                *said = format!("{said} {}", line.trim()).trim().to_owned();
            }
            (None, None) => {}
        }
    }
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (head, said) = line.split_once(':')?;
    let name = head.split_once('(').map_or(head, |(name, _)| name).trim().trim_start_matches('*');
    is_name(name).then(|| (name, said.trim()))
}

/// `:param name: text` or `:param kind name: text`.
fn param(line: &str) -> Option<(&str, &str)> {
    let (head, said) = line.trim().strip_prefix(":param ")?.split_once(':')?;
    let name = head.split_whitespace().last()?;
    is_name(name).then(|| (name, said.trim()))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(name, said)| ((*name).to_owned(), (*said).to_owned())).collect()
    }

    #[test]
    fn all_before_the_sections_describes_and_args_describe_parameters() {
        let read = Docstring::read(
            "Project savings\nover some years.\n\nMonthly, at the end.\n\nArgs:\n    years: How \
             long,\n        in years.\n    rate (float): Percent: a year.\n\n    **more: What \
             else.\n\nReturns:\n    total: Not a parameter.",
        );

        let expected = Docstring {
            description: "Project savings over some years.\n\nMonthly, at the end.".into(),
            parameters: parameters(&[
                ("years", "How long, in years."),
                ("rate", "Percent: a year."),
                ("more", "What else."),
            ]),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn params_with_colons_are_read_too() {
        let read = Docstring::read(
            "Adds.\n:param a: The first,\n   of two.\n:param int b: The second.\n:returns: Both.",
        );

        let expected = Docstring {
            description: "Adds.".into(),
            parameters: parameters(&[("a", "The first, of two."), ("b", "The second.")]),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_text_without_sections_is_a_description_and_nothing_is_nothing() {
        assert_eq!(
            Docstring::read("Adds."),
            Docstring { description: "Adds.".into(), ..Docstring::default() }
        );
        assert_eq!(Docstring::read(""), Docstring::default());
        assert_eq!(Docstring::read("Args:\n").description, "");
    }
}
