//! A text as words, each with its place, where a quotation is one word.

/// A word of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// Where it begins in the text.
    pub start: usize,
    /// Where it ends, punctuation included.
    pub end: usize,
    /// Lower case, without punctuation and apostrophes; empty for a quotation.
    pub plain: String,
    /// What stands between the quotation marks.
    pub quoted: Option<String>,
    /// The punctuation right after it.
    pub after: Option<char>,
    /// Whether its line ends with it.
    pub ends_line: bool,
}

/// What may follow a closing quotation mark; an apostrophe is followed by other words.
const FOLLOWERS: &[&str] =
    &["to", "with", "by", "in", "into", "and", "then", "from", "as", "at", "instead", "please"];

/// More letters than any of them has.
const LONGEST: usize = 8;

/// The words of a text.
pub fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut quotes = quotations(text).into_iter().peekable();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        if letter.is_whitespace() {
            if letter == '\n'
                && let Some(word) = words.last_mut()
            {
                word.ends_line = true;
            }
            at += letter.len_utf8();
            continue;
        }
        let start = at;
        let quotation = quotes.next_if(|quote| quote.start == start);
        at = quotation.as_ref().map_or(at, |quote| quote.end);
        // A quotation takes only the punctuation after it along; a word runs to the next space.
        let next_quote = quotes.peek().map_or(text.len(), |quote| quote.start);
        let end = text[at..next_quote]
            .find(|letter: char| {
                letter.is_whitespace() || (quotation.is_some() && !is_punctuation(letter))
            })
            .map_or(next_quote, |length| at + length);
        at = end;
        let token = &text[start..end];
        words.push(Word {
            start,
            end,
            plain: if quotation.is_some() { String::new() } else { plain(token) },
            after: token.chars().next_back().filter(|letter| is_punctuation(*letter)),
            quoted: quotation.map(|quote| quote.inner),
            ends_line: false,
        });
    }
    words
}

fn is_punctuation(letter: char) -> bool {
    ".,;:!?".contains(letter)
}

/// A sign that stands for a word is its own plain form.
fn plain(token: &str) -> String {
    if matches!(token, "&" | "=") {
        return token.to_owned();
    }
    let inner = token.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '#');
    inner.to_lowercase().replace(['\'', '’'], "")
}

struct Quotation {
    start: usize,
    end: usize,
    inner: String,
}

/// The quotations outside of each other. A mark that is never closed is an ordinary letter.
fn quotations(text: &str) -> Vec<Quotation> {
    let mut found = Vec::new();
    let mut never_closed = Vec::new();
    let (mut at, mut before) = (0, None);
    while let Some(mark) = text[at..].chars().next() {
        let from = at + mark.len_utf8();
        let close = closing(mark).filter(|close| {
            !never_closed.contains(close) && before.is_none_or(|letter| !is_word(letter))
        });
        let end = close.and_then(|close| match mark {
            '\'' | '‘' => close_single(text, from, mark, close),
            _ => {
                let end = text[from..].find(close).map(|length| from + length);
                if end.is_none() {
                    never_closed.push(close);
                }
                end
            }
        });
        match (close, end) {
            (Some(close), Some(end)) if !text[from..end].trim().is_empty() => {
                let inner = text[from..end].trim().to_owned();
                found.push(Quotation { start: at, end: end + close.len_utf8(), inner });
                at = end + close.len_utf8();
                before = Some(close);
            }
            _ => {
                at = from;
                before = Some(mark);
            }
        }
    }
    found
}

fn closing(mark: char) -> Option<char> {
    match mark {
        '"' => Some('"'),
        '\'' => Some('\''),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        '`' => Some('`'),
        _ => None,
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Where a single quotation mark is closed, which looks just like an apostrophe.
fn close_single(text: &str, from: usize, mark: char, close: char) -> Option<usize> {
    let mut before = mark;
    let mut last = None;
    for (length, letter) in text[from..].char_indices() {
        let rest = &text[from + length + letter.len_utf8()..];
        let next = rest.chars().next();
        if letter == mark && before.is_whitespace() && next.is_some_and(char::is_alphanumeric) {
            break;
        }
        if letter == close && !before.is_whitespace() && !next.is_some_and(char::is_alphanumeric) {
            last = Some(from + length);
            // Only as much of it as tells: a text may be one word of fifty thousand letters.
            let follower = rest.trim_start().chars().take_while(|letter| !letter.is_whitespace());
            let follower: String = follower.take(LONGEST).collect::<String>().to_lowercase();
            let ends = next.is_none_or(|next| !next.is_whitespace()) || follower.is_empty();
            if ends || FOLLOWERS.contains(&follower.as_str()) {
                break;
            }
        }
        before = letter;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Vec<String> {
        words(text).into_iter().filter_map(|word| word.quoted).collect()
    }

    #[test]
    fn every_kind_of_quotation_mark_is_read() {
        for text in [
            "name it 'Ann and Bob'.",
            "name it \"Ann and Bob\"!",
            "name it ‘Ann and Bob’",
            "name it “Ann and Bob”, please",
            "name it «Ann and Bob»",
            "name it:'Ann and Bob'",
        ] {
            assert_eq!(quoted(text), ["Ann and Bob"], "{text}");
        }
    }

    #[test]
    fn an_apostrophe_is_no_quotation_mark() {
        assert_eq!(quoted("Don't use the persona's and the users' names"), Vec::<String>::new());
        assert_eq!(quoted("Add 'Don't shout' to it"), ["Don't shout"]);
        assert_eq!(quoted("Add ‘Don’t shout’ to it"), ["Don’t shout"]);
        assert_eq!(quoted("Add 'Use the users' names' to it"), ["Use the users' names"]);
        assert_eq!(quoted("Replace 'a' with 'b'"), ["a", "b"]);
    }

    #[test]
    fn a_mark_that_is_never_closed_is_a_letter() {
        assert_eq!(quoted("a 5\" nail, \"and"), Vec::<String>::new());
        assert_eq!(quoted("'"), Vec::<String>::new());
        assert_eq!(quoted("\"\" and ''"), Vec::<String>::new());
    }

    #[test]
    fn words_know_their_place_and_punctuation() {
        let text = "What's new:\n'A b.'?";

        assert_eq!(
            words(text),
            [
                Word {
                    start: 0,
                    end: 6,
                    plain: "whats".into(),
                    quoted: None,
                    after: None,
                    ends_line: false
                },
                Word {
                    start: 7,
                    end: 11,
                    plain: "new".into(),
                    quoted: None,
                    after: Some(':'),
                    ends_line: true
                },
                Word {
                    start: 12,
                    end: 19,
                    plain: String::new(),
                    quoted: Some("A b.".into()),
                    after: Some('?'),
                    ends_line: false
                },
            ]
        );
    }
}
