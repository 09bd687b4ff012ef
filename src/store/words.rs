//! Words as they are searched: split, in small letters, without accents. Pure.
//!
//! Both databases get the words from here, in their indexes and in their questions, so that they find
//! alike. A letter of a script without spaces (Han, Kana) is a word by itself.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    ops::Range,
};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::domain::search::Texts;

/// So much of a word is looked at.
const MAX_WORD_CHARS: usize = 64;
/// How much of one thing is indexed: PostgreSQL takes a MiB of words and places.
const MAX_INDEX_BYTES: usize = 900 * 1024;
/// The last place in a text that PostgreSQL can tell from others.
pub(super) const MAX_PLACE: usize = 16_383;
/// The most places that PostgreSQL keeps of one word.
pub(super) const MAX_PLACES: usize = 255;
/// How far apart the title, the secondary text and the body stand: no phrase reaches across.
const GAP: usize = 8;

/// A word in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is compared.
    pub folded: String,
    /// Where it stands.
    pub range: Range<usize>,
}

/// The words of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word> {
    let mut letters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, first) = letters.next()?;
            if !first.is_alphanumeric() {
                continue;
            }
            let mut end = start + first.len_utf8();
            while let Some((at, letter)) = letters.peek().copied() {
                let continues = letter.is_alphanumeric() || is_combining_mark(letter);
                if !continues || stands_alone(first) || stands_alone(letter) {
                    break;
                }
                end = at + letter.len_utf8();
                letters.next();
            }
            let folded = fold(&text[start..end]);
            if !folded.is_empty() {
                return Some(Word { folded, range: start..end });
            }
        }
    })
}

/// Whether a letter is of a script that puts no spaces between words.
fn stands_alone(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A word in small letters and without accents, as every writing of it folds.
fn fold(word: &str) -> String {
    let cut: String = word.chars().take(MAX_WORD_CHARS).collect();
    let small = cut.to_lowercase();
    let plain = small.nfkd().filter(|letter| !('\u{300}'..='\u{36f}').contains(letter));
    plain.filter(|letter| letter.is_alphanumeric() || is_combining_mark(*letter)).nfc().collect()
}

/// The words of a thing, as much of them as is indexed.
pub struct Indexed {
    parts: [Vec<String>; 3],
}

impl Indexed {
    /// The words of these texts.
    pub fn new(texts: &Texts) -> Self {
        let mut seen = HashSet::new();
        let mut bytes = 0;
        let parts = [&texts.title, &texts.secondary, &texts.body].map(|text| {
            let mut part = Vec::new();
            for Word { folded, .. } in words(text) {
                bytes += if seen.contains(&folded) { 2 } else { folded.len() + 12 };
                if bytes > MAX_INDEX_BYTES {
                    break;
                }
                seen.insert(folded.clone());
                part.push(folded);
            }
            part
        });
        Self { parts }
    }

    /// As SQLite gets them: the title's, the secondary text's and the body's, with spaces between.
    pub fn columns(&self) -> [String; 3] {
        [0, 1, 2].map(|part| self.parts[part].join(" "))
    }

    /// As PostgreSQL gets them: each with its places and their weights, which are A, B and C. Words are
    /// letters and digits only, so none can end its quotes.
    pub fn vector(&self) -> String {
        let mut places = BTreeMap::<&str, Vec<(usize, char)>>::new();
        let mut place = 0;
        for (part, weight) in self.parts.iter().zip(['A', 'B', 'C']) {
            for word in part {
                place += 1;
                let of_word = places.entry(word).or_default();
                if of_word.len() < MAX_PLACES {
                    of_word.push((place.min(MAX_PLACE), weight));
                }
            }
            place += GAP;
        }
        let mut out = String::new();
        for (word, places) in places {
            let places: Vec<String> =
                places.into_iter().map(|(place, weight)| format!("{place}{weight}")).collect();
            // Writing to a text cannot fail.
            write!(out, "'{word}':{} ", places.join(",")).unwrap_or_default();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Vec<String> {
        words(text).map(|word| word.folded).collect()
    }

    #[test]
    fn words_are_letters_and_digits_without_case_and_accents() {
        assert_eq!(
            folded("Crème  BRÛLÉE, don't: x_1-2"),
            ["creme", "brulee", "don", "t", "x", "1", "2"]
        );
        assert_eq!(folded("e\u{301}te\u{301} É ﬁx İstanbul"), ["ete", "e", "fix", "istanbul"]);
        assert_eq!(folded("Ёлка ФЁДОР"), ["елка", "федор"]);
        assert_eq!(folded("日本語とgo"), ["日", "本", "語", "と", "go"]);
        assert_eq!(folded("हिन्दी 한국어"), ["हिन्दी", "한국어"]);
        assert_eq!(folded("🙂 \0 * \" ' \\ () :"), Vec::<String>::new());
        assert_eq!(folded(&"x".repeat(1000))[0].len(), 64);
    }

    #[test]
    fn a_word_knows_where_it_stands() {
        let text = "¡Ça va!";
        let ranges: Vec<&str> = words(text).map(|word| &text[word.range]).collect();

        assert_eq!(ranges, ["Ça", "va"]);
    }

    #[test]
    fn an_index_has_the_places_of_words_and_no_end_without_limit() {
        let texts =
            |body: &str| Texts { title: "B a".into(), secondary: String::new(), body: body.into() };

        assert_eq!(Indexed::new(&texts("a")).vector(), "'a':2A,19C 'b':1A ");
        assert_eq!(Indexed::new(&texts("a")).columns(), ["b a", "", "a"]);
        let many: String = (0..200_000).map(|number| format!("{number:06}w ")).collect();
        let vector = Indexed::new(&texts(&many)).vector();
        assert!(vector.len() < 2 * MAX_INDEX_BYTES);
    }
}
