//! Sums that stand in a question, worked out.

/// The words before a sum that make it a question.
const ASKS: &[&str] = &[
    "what is",
    "what's",
    "what’s",
    "whats",
    "calculate",
    "compute",
    "how much is",
    "work out",
    "solve",
];
/// The longest sum.
const LONGEST: usize = 80;

/// The sum that the text asks for, and its result: `2+2 = 4`.
pub fn solve(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let after = ASKS.iter().filter_map(|ask| lower.find(ask).map(|at| at + ask.len())).min();
    let sum = sum_at(&lower[after.unwrap_or(0)..])?;
    let mut reader =
        Reader { letters: sum.chars().filter(|letter| *letter != ' ').collect(), at: 0 };
    let value = reader.sum(0)?;
    if reader.at < reader.letters.len() || !value.is_finite() || value.abs() >= 1e15 {
        return None;
    }
    let rounded = (value * 1e6).round() / 1e6;
    // Adding zero turns a negative zero into a plain one.
    Some(format!("{sum} = {}", rounded + 0.0))
}

/// The sum at the beginning of this text, with signs for words; at least one sign is needed.
fn sum_at(text: &str) -> Option<String> {
    let text: String = text.chars().take(400).collect();
    let signs = [(" plus ", "+"), (" minus ", "-"), (" times ", "*"), (" divided by ", "/")];
    let text = signs.iter().fold(text, |text, (word, sign)| text.replace(word, sign));
    let text: String = text.trim_start().replace(['×', '·'], "*").replace('÷', "/");
    let part = |letter: char| letter.is_ascii_digit() || "+-*/(). ".contains(letter);
    let end = text.find(|letter| !part(letter)).unwrap_or(text.len());
    let sum = text[..end].trim_end_matches(['.', ' ', '(']).trim();
    let rest = text[end..].trim_start();
    // "2-3 days" and "2/3 of them" are no sums to work out.
    let is_whole = rest.is_empty() || rest.starts_with(['?', '=', '!', ',', '\n']);
    let has_sign = sum.trim_start_matches('-').contains(['+', '-', '*', '/']);
    (is_whole && has_sign && sum.len() <= LONGEST).then(|| sum.to_owned())
}

/// Reads a sum from left to right, products first.
struct Reader {
    letters: Vec<char>,
    at: usize,
}

impl Reader {
    fn next_is(&mut self, sign: char) -> bool {
        let is_it = self.letters.get(self.at) == Some(&sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn sum(&mut self, depth: usize) -> Option<f64> {
        let mut value = self.product(depth)?;
        loop {
            if self.next_is('+') {
                value += self.product(depth)?;
            } else if self.next_is('-') {
                value -= self.product(depth)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self, depth: usize) -> Option<f64> {
        let mut value = self.factor(depth)?;
        loop {
            if self.next_is('*') {
                value *= self.factor(depth)?;
            } else if self.next_is('/') {
                value /= self.factor(depth)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factor(&mut self, depth: usize) -> Option<f64> {
        if depth > LONGEST {
            return None;
        }
        if self.next_is('-') {
            return self.factor(depth + 1).map(|value| -value);
        }
        if self.next_is('(') {
            let value = self.sum(depth + 1)?;
            return self.next_is(')').then_some(value);
        }
        let digits: String = self.letters[self.at..]
            .iter()
            .take_while(|letter| letter.is_ascii_digit() || **letter == '.')
            .collect();
        self.at += digits.len();
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_are_asked_for_are_worked_out() {
        for (text, result) in [
            ("What is 2+2?", "2+2 = 4"),
            ("what's 2 + 3 * 4", "2 + 3 * 4 = 14"),
            ("Calculate (1+2) × -3.5", "(1+2) * -3.5 = -10.5"),
            ("What is twelve? I mean: what is 12 divided by 8?", ""),
            ("What is 12 divided by 8?", "12/8 = 1.5"),
            ("7 - 7 =", "7 - 7 = 0"),
            ("What is 2+2? My nephew says that it can be 5.", "2+2 = 4"),
        ] {
            assert_eq!(solve(text).unwrap_or_default(), result, "{text}");
        }
    }

    #[test]
    fn what_is_no_sum_is_left_alone() {
        for text in [
            "What is 1/0?",
            "What is love?",
            "What is 2-3 days of work?",
            "I was born on 2001-02-03.",
            "What is 5?",
            "What is (((((?",
            "",
        ] {
            assert_eq!(solve(text), None, "{text}");
        }
    }
}
