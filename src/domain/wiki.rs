//! Links between pages: `[[Title]]`, or `[[Title|what is shown]]`.

use std::ops::Range;

/// The longest link, in characters between its brackets.
const MAX_CHARS: usize = 500;

/// A link in a page's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WikiLink<'text> {
    /// Where it stands, with its brackets.
    pub range: Range<usize>,
    /// What it points at, by title.
    pub title: &'text str,
    /// What is shown of it.
    pub shown: &'text str,
}

/// What two titles have in common when a link to one leads to the other: letters count alike, large or
/// small.
pub fn key(title: &str) -> String {
    title.trim().to_lowercase()
}

/// The links of a text, in order. Those in code are none.
pub fn links(text: &str) -> Vec<WikiLink<'_>> {
    let mut out = Vec::new();
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (Some(_), _) => {}
            (None, None) => links_of_line(line, start, &mut out),
        }
        start += line.len();
    }
    out
}

/// A text as it reads with its links: what they show, without brackets.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for link in links(text) {
        out.push_str(&text[at..link.range.start]);
        out.push_str(link.shown);
        at = link.range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn links_of_line<'text>(line: &'text str, start: usize, out: &mut Vec<WikiLink<'text>>) {
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        if rest.starts_with('`') {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let code = &rest[ticks..];
            // Ticks without their like are letters.
            at += ticks + code.find(&rest[..ticks]).map_or(0, |end| end + ticks);
        } else if let Some((length, title, shown)) = link_at(rest) {
            out.push(WikiLink { range: start + at..start + at + length, title, shown });
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}

/// The link that a text begins with: its length, what it points at and what it shows.
fn link_at(text: &str) -> Option<(usize, &str, &str)> {
    let inside = text.strip_prefix("[[")?;
    let near = inside.char_indices().nth(MAX_CHARS).map_or(inside, |(end, _)| &inside[..end]);
    let end = near.find("]]")?;
    let inside = &inside[..end];
    if inside.contains('[') {
        return None;
    }
    let (title, shown) = inside.split_once('|').unwrap_or((inside, inside));
    let (title, shown) = (title.trim(), shown.trim());
    if title.is_empty() {
        return None;
    }
    Some((end + "[[]]".len(), title, if shown.is_empty() { title } else { shown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, &str)> {
        links(text).into_iter().map(|link| (link.title, link.shown)).collect()
    }

    #[test]
    fn links_are_found_by_title_and_by_what_they_show() {
        assert_eq!(
            found("See [[Optimist]], [[ A page | this one ]]\nand [[Ünï [[Seite|]]."),
            [("Optimist", "Optimist"), ("A page", "this one"), ("Seite", "Seite")]
        );
        let text = "ä [[B]] c";
        assert_eq!(&text[links(text)[0].range.clone()], "[[B]]");
    }

    #[test]
    fn a_text_reads_without_the_brackets() {
        assert_eq!(plain("See [[A]] and [[B|the other]]. `[[c]]`"), "See A and the other. `[[c]]`");
    }

    #[test]
    fn what_is_code_or_never_closed_is_no_link() {
        let fenced = "```\n[[a]]\n```\n[[b]]\n~~~\n```\n[[c]]\n~~~\n";

        assert_eq!(found(fenced), [("b", "b")]);
        assert_eq!(found("`[[a]]` ``x ` [[b]]`` [[c]] `"), [("c", "c")]);
        assert_eq!(found("[[]] [[ ]] [[|x]] [[a\n]] [[b"), []);
    }

    #[test]
    fn odd_texts_do_no_harm() {
        for odd in ["[[", "]]", "[[[[", "`", "[[é", "[[a]", "``", "[[🙂]]", &"[[".repeat(10_000)]
        {
            links(odd);
        }
    }
}
