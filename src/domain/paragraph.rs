//! The paragraphs of a text: what blank lines part, with code left whole.

use std::ops::Range;

/// Where the paragraphs of a text stand in it, without the blank lines between them.
pub fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        let bare = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(opened), Some(mark)) if opened == mark => fence = None,
            _ => {}
        }
        if bare.is_empty() && fence.is_none() {
            out.extend(open.take());
        } else {
            open = Some(open.map_or(start, |open| open.start)..end.max(start));
        }
    }
    out.extend(open);
    out
}

/// The text with one paragraph in other words; without it when they are empty. `None` when there is no
/// such paragraph.
pub fn with_paragraph(text: &str, number: usize, words: &str) -> Option<String> {
    let all = paragraphs(text);
    let here = all.get(number)?.clone();
    let words = words.trim_matches(['\n', '\r']).trim_end();
    if !words.is_empty() {
        return Some(format!("{}{words}{}", &text[..here.start], &text[here.end..]));
    }
    // The blank lines around it go along.
    let start = number.checked_sub(1).map_or(0, |before| all[before].end);
    let end = match (number, all.get(1)) {
        (0, Some(next)) => next.start,
        _ => here.end,
    };
    Some(format!("{}{}", &text[..start], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        paragraphs(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn blank_lines_part_paragraphs_and_code_stays_whole() {
        assert_eq!(shown("One\nstill one\n\n \nTwo.\n"), ["One\nstill one", "Two."]);
        assert_eq!(shown("```\na\n\nb\n```\n\nEnd"), ["```\na\n\nb\n```", "End"]);
        assert_eq!(shown("```\nnever\n\nclosed"), ["```\nnever\n\nclosed"]);
        assert_eq!(shown(" \n\n"), Vec::<&str>::new());
        assert_eq!(shown("\r\nÄ\r\n\r\nÖ"), ["Ä", "Ö"]);
    }

    #[test]
    fn one_paragraph_is_replaced_and_the_rest_stays_letter_by_letter() {
        let text = "One.\n\n\nTwo.\n\nThree.\n";

        assert_eq!(with_paragraph(text, 1, "2\n").as_deref(), Some("One.\n\n\n2\n\nThree.\n"));
        assert_eq!(with_paragraph(text, 1, " ").as_deref(), Some("One.\n\nThree.\n"));
        assert_eq!(with_paragraph(text, 0, "").as_deref(), Some("Two.\n\nThree.\n"));
        assert_eq!(with_paragraph(text, 2, "").as_deref(), Some("One.\n\n\nTwo.\n"));
        assert_eq!(with_paragraph(text, 3, "x"), None);
    }
}
