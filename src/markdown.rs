//! Markdown as HTML that is safe to show, whoever wrote it.
//!
//! Two walls: the parser's events are made harmless (raw HTML becomes text, links keep only known
//! schemes, pictures become links, so that nothing remote is ever loaded), and ammonia then lets
//! through nothing but the few tags that the first wall can produce.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::domain::{change::Entity, knowledge::host, wiki::key};

/// Deeper quotes and lists than this are shown flat.
const MAX_DEPTH: usize = 32;

/// What stands around a link between pages that leads nowhere.
const MISSING: &str = "missing";
const NOWHERE: &str = r#"<span class="missing" title="Nothing has this title">"#;

/// What the titles in links between pages lead to, by [`key`].
pub type Leads = HashMap<String, Entity>;

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
            "span",
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
        .add_tag_attributes("span", ["title"])
        .add_allowed_classes("span", [MISSING])
        .add_tag_attributes("ol", ["start"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("noopener noreferrer nofollow"));
    policy
});

/// What is markup beyond the common kind.
const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Renders a text.
pub fn to_html(markdown: &str) -> String {
    clean(markdown, named(harmless(Parser::new_ext(markdown, OPTIONS))))
}

/// Renders a text with `[[Title]]` as a link to what has that title. Where nothing has it, the words
/// stand there as such.
pub fn to_html_linked(markdown: &str, leads: &Leads) -> String {
    let parser = Parser::new_ext(markdown, OPTIONS.union(Options::ENABLE_WIKILINKS));
    clean(markdown, linked(named(harmless(parser)), leads))
}

fn clean<'a>(markdown: &str, events: impl Iterator<Item = Event<'a>>) -> String {
    let mut out = String::with_capacity(markdown.len() * 2);
    html::push_html(&mut out, events);
    POLICY.clean(&out).to_string()
}

/// Makes links between pages lead somewhere: the only addresses of our own that a text can name. Comes
/// after [`harmless`], which lets their titles through.
fn linked<'a>(
    events: impl Iterator<Item = Event<'a>>,
    leads: &Leads,
) -> impl Iterator<Item = Event<'a>> {
    let mut closings: Vec<Event<'a>> = Vec::new();
    let mut unnamed = None;
    events.flat_map(move |event| {
        let title = unnamed.take();
        let [first, second] = match event {
            Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                let path = leads.get(&key(&dest_url)).and_then(Entity::path);
                unnamed = Some(dest_url);
                let (start, end) = match path {
                    Some(path) => (link_to(path), Event::End(TagEnd::Link)),
                    None => {
                        (Event::InlineHtml(NOWHERE.into()), Event::InlineHtml("</span>".into()))
                    }
                };
                closings.push(end);
                [Some(start), None]
            }
            Event::Start(Tag::Link { .. }) => {
                closings.push(Event::End(TagEnd::Link));
                [Some(event), None]
            }
            // `[[Title|]]` shows nothing by itself.
            Event::End(TagEnd::Link) => [title.map(Event::Text), closings.pop()],
            Event::Text(nothing) if nothing.is_empty() => {
                unnamed = title;
                [None, None]
            }
            other => [Some(other), None],
        };
        first.into_iter().chain(second)
    })
}

fn link_to<'a>(path: String) -> Event<'a> {
    let (title, id) = (CowStr::Borrowed(""), CowStr::Borrowed(""));
    Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url: path.into(), title, id })
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
        Event::Start(
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id },
        ) => {
            let is_title = matches!(link_type, LinkType::WikiLink { .. });
            let dest_url = if is_title { dest_url } else { known(dest_url) };
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::End(TagEnd::Image) => Some(Event::End(TagEnd::Link)),
        other => Some(other),
    })
}

/// A link that is open: where it leads, and what it says so far.
struct OpenLink {
    host: Option<String>,
    address: String,
    said: String,
}

/// Says after the words of a link which host it leads to, unless they are its address. Comes after
/// [`harmless`].
fn named<'a>(events: impl Iterator<Item = Event<'a>>) -> impl Iterator<Item = Event<'a>> {
    let mut open: Vec<OpenLink> = Vec::new();
    events.flat_map(move |event| {
        let name = match &event {
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let is_title = matches!(link_type, LinkType::WikiLink { .. });
                // What stands before an @ is not where it leads.
                let host = host(dest_url).and_then(|host| host.rsplit('@').next());
                let host = host.filter(|_| !is_title).map(str::to_owned);
                open.push(OpenLink { host, address: dest_url.to_string(), said: String::new() });
                None
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(link) = open.last_mut().filter(|link| link.host.is_some()) {
                    link.said.push_str(text);
                }
                None
            }
            Event::End(TagEnd::Link) => open.pop().and_then(|link| {
                let host = link.host?;
                let tells = link.said == link.address || link.said.trim() == host;
                (!tells).then(|| Event::Text(format!(" ({host})").into()))
            }),
            _ => None,
        };
        name.into_iter().chain([event])
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
    use crate::domain::change::EntityKind;

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
    fn a_link_says_where_it_leads() {
        for (text, shown) in [
            ("[bank.com](https://evil.org/x)", "bank.com (evil.org)"),
            ("[**sure**](https://evil.org)", "<strong>sure</strong> (evil.org)"),
            ("![pixel](https://evil.org/p.png)", "pixel (evil.org)"),
            ("[a](https://bank.com@evil.org/x)", "a (evil.org)"),
            ("<https://evil.org/x>", "https://evil.org/x"),
            ("[evil.org](https://evil.org/x)", "evil.org"),
            (
                "[https://bank.com/evil.org](https://evil.org/)",
                "https://bank.com/evil.org (evil.org)",
            ),
        ] {
            let html = to_html(text);
            assert!(html.contains(&format!(">{shown}</a>")), "{text}: {html}");
        }
    }

    #[test]
    fn pictures_become_links_so_that_nothing_remote_is_loaded() {
        let html = to_html("![secret](https://example.org/?q=secret)");

        assert!(!html.contains("<img"), "{html}");
        assert!(html.contains("<a href=\"https://example.org/?q=secret\""), "{html}");
    }

    #[test]
    fn links_between_pages_lead_to_what_has_the_title() {
        let page = Entity::new(EntityKind::Page, "p1");
        let leads = Leads::from([(key("A page"), page)]);
        let html = |text: &str| to_html_linked(text, &leads);

        let link = |shown: &str| {
            format!(
                "<p><a href=\"/pages/p1\" rel=\"noopener noreferrer nofollow\">{shown}</a></p>\n"
            )
        };
        assert_eq!(html("[[ a PAGE ]]"), link(" a PAGE "));
        assert_eq!(html("[[A page|*that*]]"), link("<em>that</em>"));
        assert_eq!(html("[[A page|]]"), link("A page"));
        assert_eq!(html("`[[A page]]`"), "<p><code>[[A page]]</code></p>\n");
        assert_eq!(
            html("[[B]] [c](https://c.org)"),
            "<p><span class=\"missing\" title=\"Nothing has this title\">B</span> \
             <a href=\"https://c.org\" rel=\"noopener noreferrer nofollow\">c (c.org)</a></p>\n"
        );
    }

    #[test]
    fn links_between_pages_cannot_name_an_address() {
        for hostile in [
            "[[javascript:alert(1)]]",
            "[[javascript:alert(1)|x]]",
            "![[/fn/empty_bin]]",
            "[x](/fn/empty_bin)",
            "[[<img src=x onerror=alert(1)>]]",
            "[[a|<script>alert(1)</script>]]",
            "![a [[b]] c](javascript:alert(1))",
        ] {
            let html = to_html_linked(hostile, &Leads::new());
            for bad in ["href=\"/", "href=\"java", "<img", "<script"] {
                assert!(!html.contains(bad), "{hostile}: {html}");
            }
        }
    }

    #[test]
    fn absurd_nesting_is_cut() {
        let html = to_html_linked(&"[[".repeat(25_000), &Leads::new());
        assert!(html.len() < 200_000);
        let html = to_html(&"> ".repeat(50_000));
        assert!(html.matches("<blockquote>").count() <= MAX_DEPTH);
        let html = to_html(&"[".repeat(50_000));
        assert!(html.len() < 200_000);
    }
}
