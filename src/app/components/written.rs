//! What stands in a text area from the start.

/// A text as the inner HTML of a `textarea`. Leptos writes a text area's children as they are, so
/// that what people wrote could close it; and a browser drops the first line break there.
pub fn written(text: &str) -> String {
    format!("\n{}", escaped(text))
}

/// A text as HTML in which nothing of it is a tag.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_close_its_text_area() {
        assert_eq!(written("a</textarea>&lt;"), "\na&lt;/textarea&gt;&amp;lt;");
    }
}
