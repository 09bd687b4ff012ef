//! Checks on single fields, with the sentence a person reads when one fails.

use super::error::ApiError;

/// A text field and how long it may be.
pub struct TextField {
    /// As JSON names it.
    pub name: &'static str,
    /// As a person names it, at the start of a sentence.
    pub label: &'static str,
    /// The most characters it may have.
    pub max_chars: usize,
}

impl TextField {
    /// Refuses what no field may hold: too much, or a NUL.
    pub fn check(&self, text: &str) -> Result<(), ApiError> {
        let Self { name, label, max_chars } = self;
        if text.contains('\0') {
            return Err(ApiError::invalid(*name, format!("{label} contains a NUL character.")));
        }
        let chars = text.chars().count();
        if chars > *max_chars {
            let rule = format!(
                "{label} is too long: {} characters, and at most {} fit.",
                grouped(chars),
                grouped(*max_chars),
            );
            return Err(ApiError::invalid(*name, rule));
        }
        Ok(())
    }

    /// Like [`check`](Self::check), and it must hold something on a single line.
    pub fn check_line(&self, text: &str) -> Result<(), ApiError> {
        let Self { name, label, .. } = self;
        if text.trim().is_empty() {
            return Err(ApiError::invalid(*name, format!("{label} must not be empty.")));
        }
        if text.chars().any(|letter| matches!(letter, '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}'))
        {
            return Err(ApiError::invalid(*name, format!("{label} must be a single line.")));
        }
        self.check(text)
    }
}

/// A form sends its lines with carriage returns; we keep them without.
pub fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Lines as Windows ends them, and the tables of many programs.
pub fn windows_lines(text: &str) -> String {
    unix_lines(text).replace('\n', "\r\n")
}

/// Whether all lines of a text end so.
pub fn has_windows_lines(text: &str) -> bool {
    let ends = text.matches("\r\n").count();
    ends > 0 && ends == text.matches('\n').count()
}

/// A number with thin groups of three: `100 000`.
pub fn grouped(number: impl TryInto<u64>) -> String {
    in_threes(&number.try_into().unwrap_or(u64::MAX).to_string())
}

fn in_threes(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: TextField = TextField { name: "name", label: "The name", max_chars: 5 };

    #[test]
    fn a_line_must_hold_something_short_without_breaks() {
        let rule = |text: &str| NAME.check_line(text).unwrap_err().to_string();

        assert_eq!(NAME.check_line("Ann"), Ok(()));
        assert_eq!(rule("  "), "The name must not be empty.");
        assert_eq!(rule("a\nb"), "The name must be a single line.");
        assert_eq!(rule("a\0b"), "The name contains a NUL character.");
        assert_eq!(rule("ünïcödé"), "The name is too long: 7 characters, and at most 5 fit.");
    }

    #[test]
    fn lines_of_both_kinds_are_told_apart() {
        assert_eq!(windows_lines("a\nb\r\n"), "a\r\nb\r\n");
        let told = ["a\r\nb\r\n", "a\r\nb\n", "a\nb", "a", "\r"].map(has_windows_lines);
        assert_eq!(told, [true, false, false, false, false]);
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567_usize), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(5_000_000_000_u64), "5\u{202f}000\u{202f}000\u{202f}000");
    }
}
