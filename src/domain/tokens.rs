//! A guess at how many tokens a text has, without any model's tokenizer.

/// About four letters a token in alphabets, one a character in scripts without spaces.
pub fn estimate(text: &str) -> usize {
    let mut tally = Tally::default();
    tally.add(text);
    tally.tokens()
}

/// The same for a text that comes in pieces, however small they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    narrow: usize,
    wide: usize,
}

impl Tally {
    /// Counts one more piece.
    pub fn add(&mut self, text: &str) {
        // Nearly all of it is, and that is looked at in long strides.
        if text.is_ascii() {
            self.narrow += text.len();
            return;
        }
        for letter in text.chars() {
            if is_wide(letter) { self.wide += 1 } else { self.narrow += 1 }
        }
    }

    /// The guess for all of them together.
    pub fn tokens(&self) -> usize {
        self.wide + usize::div_ceil(self.narrow, 4)
    }
}

fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_counts_by_four_letters_and_chinese_by_character() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("Be brief and kind."), 5);
        assert_eq!(estimate("请简短"), 3);
        let mut tally = Tally::default();
        "Be brief and kind.".split_inclusive(' ').for_each(|piece| tally.add(piece));
        assert_eq!(tally.tokens(), 5);
    }
}
