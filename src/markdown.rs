//! Markdown as HTML that is safe to show, whoever wrote it.
//!
//! Two walls: the parser's events are made harmless (raw HTML becomes text, links keep only known
//! schemes, pictures become links, so that nothing remote is ever loaded), and ammonia then lets
//! through nothing but the few tags that the first wall can produce.

use std::{collections::HashSet, sync::LazyLock};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Deeper quotes and lists than this are shown flat.
const MAX_DEPTH: usize = 32;

static POLICY: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut policy = ammonia::Builder::empty();
    policy
        .tags(HashSet::from([
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "input",
            "li",
            "ol",
            "p",
            "pre",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ]))
        .add_tag_attributes("a", ["href", "title"])
        .add_tag_attributes("ol", ["start"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("noopener noreferrer nofollow"));
    policy
});

/// Renders a text.
pub fn to_html(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut out = String::with_capacity(markdown.len() * 2);
    html::push_html(&mut out, harmless(Parser::new_ext(markdown, options)));
    POLICY.clean(&out).to_string()
}

/// The parser's events without anything that could act.
fn harmless<'a>(events: impl Iterator<Item = Event<'a>>) -> impl Iterator<Item = Event<'a>> {
    let mut depth = 0_usize;
    events.filter_map(move |event| match event {
        // A blockquote inside fifty thousand others would be markup for ever.
        Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) => {
            depth += 1;
            (depth <= MAX_DEPTH).then_some(event)
        }
        Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
            let shown = depth <= MAX_DEPTH;
            depth = depth.saturating_sub(1);
            shown.then_some(event)
        }
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Some(Event::Start(Tag::Link { link_type, dest_url: known(dest_url), title, id }))
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Some(Event::Start(Tag::Link { link_type, dest_url: known(dest_url), title, id }))
        }
        Event::End(TagEnd::Image) => Some(Event::End(TagEnd::Link)),
        other => Some(other),
    })
}

/// An address with a scheme that cannot run anything; anything else leads nowhere.
fn known(address: CowStr<'_>) -> CowStr<'_> {
    let plain = address.trim().to_ascii_lowercase();
    let fits = ["http://", "https://", "mailto:"].iter().any(|scheme| plain.starts_with(scheme));
    if fits { address } else { CowStr::Borrowed("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(
            to_html("# Hi\n\n*a* **b** `c`"),
            "<h1>Hi</h1>\n<p><em>a</em> <strong>b</strong> <code>c</code></p>\n"
        );
    }

    #[test]
    fn raw_html_is_shown_as_text() {
        let html = to_html("<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> y");

        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains("&lt;img"), "{html}");
    }

    #[test]
    fn links_keep_only_schemes_that_cannot_run_anything() {
        let html =
            to_html("[a](javascript:alert(1)) [b](https://example.org) [c](data:text/html,x)");

        assert!(!html.contains("javascript:") && !html.contains("data:"), "{html}");
        assert!(html.contains(r#"href="https://example.org" rel="noopener noreferrer nofollow""#));
    }

    #[test]
    fn pictures_become_links_so_that_nothing_remote_is_loaded() {
        let html = to_html("![secret](https://example.org/?q=secret)");

        assert!(!html.contains("<img"), "{html}");
        assert!(html.contains("<a href=\"https://example.org/?q=secret\""), "{html}");
    }

    #[test]
    fn absurd_nesting_is_cut() {
        let html = to_html(&"> ".repeat(50_000));
        assert!(html.matches("<blockquote>").count() <= MAX_DEPTH);
        let html = to_html(&"[".repeat(50_000));
        assert!(html.len() < 200_000);
    }
}
