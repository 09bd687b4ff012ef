//! What is copied: the words as they were written, without commands to whatever they are pasted into.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::clean::clean;

/// A message to be pasted. Tabs stay, because code may need them.
pub fn message(text: &str) -> String {
    text.split('\t').map(clean).collect::<Vec<_>>().join("\t")
}

/// The code in a message: all of its blocks, with a blank line between them.
pub fn code(text: &str) -> Option<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut within = false;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                within = true;
                blocks.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => within = false,
            Event::Text(text) if within => {
                blocks.iter_mut().last().into_iter().for_each(|block| block.push_str(&text));
            }
            _ => {}
        }
    }
    (!blocks.is_empty()).then(|| message(&blocks.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_copied_with_its_tabs_and_without_what_stands_around_it() {
        let text = "Do:\n\n```make\nall:\n\techo \u{1b}[31mhi\n```\n\nthen\n\n```\nrun\n```\n";

        assert_eq!(code(text).as_deref(), Some("all:\n\techo hi\n\nrun\n"));
        assert_eq!(code("no code"), None);
        assert_eq!(message("a\tb\u{7}"), "a\tb␇");
    }
}
