//! Words while they are being written: paragraphs that are whole are sent once, and of code that is not
//! at its end only what is new.

use super::follow::Patch;
use crate::{app::components::written::escaped, markdown};

/// The words of one part as far as they were sent.
pub struct OpenWords {
    /// The element that holds them.
    into: String,
    /// How much of the text is in paragraphs that are whole.
    whole: usize,
    /// How many of those there are.
    count: usize,
    /// How much was sent of code that is not at its end.
    code: Option<usize>,
    /// How many bytes were sent last that will be sent again.
    unfinished: usize,
}

impl OpenWords {
    /// Nothing is in the element yet.
    pub fn new(into: String) -> Self {
        Self { into, whole: 0, count: 0, code: None, unfinished: 0 }
    }

    /// How many bytes were sent last that will be sent again.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// What is new in the text.
    pub fn grow(&mut self, text: &str) -> Vec<Patch> {
        let mut patches = Vec::new();
        self.unfinished = 0;
        let Scanned { whole, code } = scan(&text[self.whole..]);
        // What stands before open code is whole.
        if let Some(end) = code.or(whole).filter(|end| *end > 0) {
            patches.push(self.paragraph(&text[self.whole..self.whole + end]));
            self.whole += end;
            self.count += 1;
            self.code = None;
        }
        let rest = &text[self.whole..];
        if code.is_some() {
            let body = rest.split_once('\n').map_or("", |(_, body)| body);
            patches.extend(self.open_code(body));
        } else {
            self.code = None;
            if !rest.is_empty() {
                let patch = self.paragraph(rest);
                self.unfinished = patch.html.len();
                patches.push(patch);
            }
        }
        patches
    }

    fn paragraph(&self, text: &str) -> Patch {
        let id = format!("{}-{}", self.into, self.count);
        let html = format!("<div id=\"{id}\">{}</div>", markdown::to_html(text));
        Patch { id, html, into: self.into.clone(), over: false }
    }

    fn open_code(&mut self, body: &str) -> Option<Patch> {
        let id = format!("{}-{}", self.into, self.count);
        let code = format!("{id}-code");
        let sent = self.code.replace(body.len());
        let words = escaped(&body[sent.unwrap_or_default()..]);
        match sent {
            Some(_) if words.is_empty() => None,
            Some(_) => Some(Patch { id: String::new(), html: words, into: code, over: false }),
            None => {
                let html =
                    format!("<div id=\"{id}\"><pre><code id=\"{code}\">{words}</code></pre></div>");
                Some(Patch { id, html, into: self.into.clone(), over: false })
            }
        }
    }
}

#[derive(Debug, PartialEq)]
struct Scanned {
    /// Where the last paragraph that is whole ends: at an empty line outside of code.
    whole: Option<usize>,
    /// Where code begins that is not at its end.
    code: Option<usize>,
}

fn scan(text: &str) -> Scanned {
    let (mut at, mut whole) = (0, None);
    // Where the code begins, by which letter it is fenced, and by how many.
    let mut fence: Option<(usize, char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let begun = at;
        at += line.len();
        let bare = line.trim_end().trim_start_matches(' ');
        let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| bare.chars().take_while(|other| *other == mark).count());
        let is_fence = length >= 3 && line.len() - line.trim_start_matches(' ').len() <= 3;
        match (fence, mark) {
            // A backtick behind backticks makes them code within a line.
            (None, Some(mark))
                if is_fence
                    && line.ends_with('\n')
                    && (mark == '~' || !bare[length..].contains('`')) =>
            {
                fence = Some((begun, mark, length));
            }
            (Some((_, open, least)), Some(mark))
                if is_fence && mark == open && length >= least && bare.len() == length =>
            {
                fence = None;
            }
            // What follows may still belong to a list or a quote above.
            (None, _) if bare.is_empty() && line.ends_with('\n') => whole = Some(at),
            _ => {}
        }
    }
    Scanned { whole, code: fence.map(|(begun, ..)| begun) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_end_at_empty_lines_outside_of_code() {
        let told = |text: &str| {
            let Scanned { whole, code } = scan(text);
            (whole, code)
        };
        assert_eq!(told("one\n\ntwo"), (Some(5), None));
        assert_eq!(told("one\ntwo"), (None, None));
        assert_eq!(told("```\na\n\nb"), (None, Some(0)));
        assert_eq!(told("one\n```\na\n\nb"), (None, Some(4)));
        assert_eq!(told("```\na\n\nb\n```\n\nc"), (Some(14), None));
        assert_eq!(told("````\n```\na\n\nb"), (None, Some(0)));
        assert_eq!(told("```a``` is code\n\nb"), (Some(17), None));
        assert_eq!(told("```ru"), (None, None), "it may go on in the line");
    }

    /// What a browser makes of the patches: the elements of the part, in order.
    fn shown(page: &mut Vec<(String, String)>, patches: Vec<Patch>) -> usize {
        let mut bytes = 0;
        for Patch { id, html, into, .. } in patches {
            bytes += html.len();
            match page.iter_mut().find(|(known, _)| *known == id) {
                Some((_, known)) => *known = html,
                None if id.is_empty() => {
                    let (_, last) = page.last_mut().unwrap();
                    assert!(last.contains(&format!("id=\"{into}\"")), "{into} is not in {last}");
                    *last = last.replace("</code></pre>", &format!("{html}</code></pre>"));
                }
                None => page.push((id, html)),
            }
        }
        bytes
    }

    #[test]
    fn of_open_code_only_what_is_new_is_sent() {
        let code = "let a = \"<b>\";\n\n".repeat(2_000);
        let text = format!("Here it is:\n```rust\n{code}```\n\nThat is all.");
        let (mut words, mut page, mut bytes) = (OpenWords::new("p".into()), Vec::new(), 0);
        for end in (0..text.len()).step_by(50).chain([text.len() - 20]) {
            bytes += shown(&mut page, words.grow(&text[..end]));
        }
        assert!(page[1].1.contains(&escaped(&code[..code.len() - 100])), "{}", page[1].1);

        bytes += shown(&mut page, words.grow(&text));

        assert!(bytes < 6 * text.len(), "{bytes} of {}", text.len());
        let html: String = page.into_iter().map(|(_, html)| html).collect();
        assert!(html.contains("Here it is:") && html.contains("<p>That is all.</p>"));
        assert!(html.contains(&escaped(&code)) && !html.contains("<b>"));
    }
}
