//! Characters that cannot be seen, or that turn what stands around them: shown as what they are, so that
//! whoever judges a text judges all of it.

/// What a text looks like with such characters written out, as `⟦U+202E⟧`.
pub fn visible(text: String) -> String {
    written_out(text, is_hidden)
}

/// The same for words that are read and not judged: only what could turn or wipe out what stands around it is
/// written out, so that every language and every emoji stays as it is.
pub fn visible_in_prose(text: String) -> String {
    written_out(text, turns)
}

/// The same for what lists show of things: what they are called, and passages of them.
pub fn show_in<'a>(texts: impl IntoIterator<Item = &'a mut String>) {
    for text in texts {
        *text = visible_in_prose(std::mem::take(text));
    }
}

fn written_out(text: String, is_one: fn(char) -> bool) -> String {
    if !text.chars().any(is_one) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_one(letter) {
            out.push_str(&format!("⟦U+{:04X}⟧", u32::from(letter)));
        } else {
            out.push(letter);
        }
    }
    out
}

/// Whether a text holds any of them.
pub fn has_hidden(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// Whether a character acts on others: controls, and embeddings, overrides and isolates of direction. Marks of
/// direction only stand for a letter, and languages that are written from the right need them.
fn turns(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => false,
    }
}

/// Whether a character cannot be seen, or turns others. Those that join letters and emoji are left: whole
/// languages need them.
fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Controls.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Marks, embeddings, overrides and isolates of direction.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // No width at all, and breaks that are none.
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2028}' | '\u{2029}' => true,
        '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => true,
        // Letters that are drawn as nothing.
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        // Letters that only machines read.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out_and_what_can_stays() {
        let shown = |text: &str| visible(text.to_owned());

        assert_eq!(shown("if (a\u{202e}) {\u{2066}"), "if (a⟦U+202E⟧) {⟦U+2066⟧");
        assert_eq!(shown("a\u{1b}[31mb\r\n"), "a⟦U+001B⟧[31mb⟦U+000D⟧\n");
        assert_eq!(shown("hi\u{e0041}\u{200b}"), "hi⟦U+E0041⟧⟦U+200B⟧");
        assert_eq!(shown("a\u{3164}b\u{34f}"), "a⟦U+3164⟧b⟦U+034F⟧");
        for plain in ["שלום, עולם", "می‌خواهم", "👩‍🚀 tab\there\n", "naïve – “quoted”"]
        {
            assert_eq!(shown(plain), plain);
            assert!(!has_hidden(plain));
        }
    }

    #[test]
    fn prose_keeps_what_languages_and_emoji_need_and_shows_what_turns_others() {
        let shown = |text: &str| visible_in_prose(text.to_owned());

        assert_eq!(shown("a\u{202e}b\u{2067}c\u{2069}"), "a⟦U+202E⟧b⟦U+2067⟧c⟦U+2069⟧");
        assert_eq!(shown("a\u{1b}[2Jb\u{9b}"), "a⟦U+001B⟧[2Jb⟦U+009B⟧");
        let flag = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} ❤\u{fe0f}";
        for plain in ["שלום\u{200f}, עולם", "می‌خواهم\u{61c}", "👩‍🚀 tab\there\n", flag]
        {
            assert_eq!(shown(plain), plain);
        }
    }
}
