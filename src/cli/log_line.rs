//! A log in which every event is one line, whatever somebody else's words in it are: nobody else writes lines.

use std::{
    borrow::Cow,
    io::{self, Write},
};

/// An event with its own end of line and no other; what else would move a line is written out. Colours are
/// the log's own: it writes out those that came from elsewhere itself.
pub fn one_line(event: &str) -> Cow<'_, str> {
    let moves = |letter: char| letter.is_control() && !['\t', '\u{1b}'].contains(&letter);
    let (line, end) = match event.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (event, ""),
    };
    if !line.contains(moves) {
        return Cow::Borrowed(event);
    }
    let mut out = String::with_capacity(event.len() + 8);
    for letter in line.chars() {
        if moves(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out + end)
}

/// Standard error, line by line.
pub struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An event comes as one piece.
        let event = String::from_utf8_lossy(bytes);
        io::stderr().write_all(one_line(&event).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_begin_another_line_is_written_out() {
        assert_eq!(one_line("INFO a plain\tline\n"), "INFO a plain\tline\n");
        assert_eq!(
            one_line("INFO it said: a\r\nINFO b\u{85}\n"),
            "INFO it said: a\\r\\nINFO b\\u{85}\n"
        );
        assert_eq!(one_line("\u{1b}[32mINFO\u{1b}[0m a\n\n"), "\u{1b}[32mINFO\u{1b}[0m a\\n\n");
    }
}
