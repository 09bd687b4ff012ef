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

use crate::domain::{
    change::Entity,
    visible::{has_hidden, visible, visible_in_prose},
    wiki::key,
};

/// Deeper quotes, lists, links and emphasis than this are shown flat.
const MAX_DEPTH: usize = 32;

/// What would be so many times as long as it is written, beyond the first few bytes, is shown as it is written.
const MAX_GROWTH: usize = 20;
const FREE_BYTES: usize = 2048;

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
    let most = MAX_GROWTH * markdown.len() + FREE_BYTES;
    let cleaned = if out.len() > most { String::new() } else { POLICY.clean(&out).to_string() };
    // A table of nothing but columns, or a page of nothing but quotes: nobody means markup by it.
    if out.len() > most || cleaned.len() > most { as_written(markdown) } else { cleaned }
}

/// A text as it was written, with nothing in it that means anything.
fn as_written(markdown: &str) -> String {
    format!("<pre><code>{}</code></pre>\n", ammonia::clean_text(&visible(markdown.to_owned())))
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
            Event::End(TagEnd::Link) => {
                [title.map(|title| Event::Text(prose(title))), closings.pop()]
            }
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
    let mut in_code = false;
    // Of each link that is open: whether it leads anywhere. One that does not is nothing but its words.
    let mut leading = Vec::new();
    let events = flat(events).filter(move |event| match event {
        Event::Start(
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. },
        ) => {
            leading.push(is_kept(*link_type) || is_known(dest_url));
            leading.last() == Some(&true)
        }
        Event::End(TagEnd::Link | TagEnd::Image) => leading.pop() == Some(true),
        _ => true,
    });
    events.map(move |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(prose(text)),
        // In code, what turns other letters or cannot be seen deceives whoever reads it.
        Event::Start(Tag::CodeBlock(_)) => {
            in_code = true;
            event
        }
        Event::End(TagEnd::CodeBlock) => {
            in_code = false;
            event
        }
        Event::Text(text) if in_code => Event::Text(shown(text)),
        Event::Text(text) => Event::Text(prose(text)),
        Event::Code(text) => Event::Code(shown(text)),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id },
        ) => Event::Start(Tag::Link { link_type, dest_url, title: prose(title), id }),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    })
}

/// The parser's events without markup that is deeper than anybody writes: a quote inside fifty thousand
/// others would be markup for ever, and so would a picture in the words for a picture.
fn flat<'a>(events: impl Iterator<Item = Event<'a>>) -> impl Iterator<Item = Event<'a>> {
    let mut depth = 0_usize;
    events.filter(move |event| match event {
        Event::Start(
            Tag::BlockQuote(_)
            | Tag::List(_)
            | Tag::Item
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Link { .. }
            | Tag::Image { .. },
        ) => {
            depth += 1;
            depth <= MAX_DEPTH
        }
        Event::End(
            TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image,
        ) => {
            let shown = depth <= MAX_DEPTH;
            depth = depth.saturating_sub(1);
            shown
        }
        _ => true,
    })
}

/// A piece of code with all that is in it to be seen.
fn shown(text: CowStr<'_>) -> CowStr<'_> {
    if has_hidden(&text) { visible(text.to_string()).into() } else { text }
}

/// Words with nothing in them that turns what stands around them, such as the host after a link.
fn prose(text: CowStr<'_>) -> CowStr<'_> {
    if has_hidden(&text) { visible_in_prose(text.to_string()).into() } else { text }
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
                let host = leads_to(dest_url).filter(|_| !is_title);
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

/// The host that an address leads to, as a browser reads it, or whom a letter goes to.
fn leads_to(address: &str) -> Option<String> {
    let plain: String = address.trim().chars().filter(|letter| !letter.is_control()).collect();
    let (scheme, rest) = plain.split_once(':')?;
    let led = if scheme.eq_ignore_ascii_case("mailto") {
        rest.split('?').next()
    } else {
        // However many slashes there are, and of which kind; what stands before an @ is not where it leads.
        let rest = rest.trim_start_matches(['/', '\\']);
        rest.split(['/', '?', '#', '\\']).next().and_then(|host| host.rsplit('@').next())
    };
    led.filter(|led| !led.is_empty()).map(|led| visible(led.to_owned()))
}

/// Whether a link needs no address: a title is looked up, and whoever is written to is nothing but that.
fn is_kept(link: LinkType) -> bool {
    matches!(link, LinkType::WikiLink { .. } | LinkType::Email)
}

/// Whether an address has a scheme that cannot run anything; anything else leads nowhere.
fn is_known(address: &str) -> bool {
    let plain = address.trim().to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| plain.starts_with(scheme))
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
        let html = to_html(
            "[a](javascript:alert(1)) [b](https://example.org) [c](data:text/html,x) <d@e.org>",
        );

        assert!(!html.contains("javascript:") && !html.contains("data:"), "{html}");
        assert!(html.starts_with("<p>a <a ") && html.contains("</a> c <a "), "{html}");
        assert_eq!(to_html("[**x** y](vbscript:z)"), "<p><strong>x</strong> y</p>\n");
        for address in ["https://example.org", "mailto:d@e.org"] {
            let link = format!(r#"href="{address}" rel="noopener noreferrer nofollow""#);
            assert!(html.contains(&link), "{html}");
        }
    }

    #[test]
    fn a_link_says_where_it_leads() {
        for (text, shown) in [
            ("[bank.com](https://evil.org/x)", "bank.com (evil.org)"),
            ("[**sure**](https://evil.org)", "<strong>sure</strong> (evil.org)"),
            ("![pixel](https://evil.org/p.png)", "pixel (evil.org)"),
            ("[a](https://bank.com@evil.org/x)", "a (evil.org)"),
            ("[a](https:///evil.org/x)", "a (evil.org)"),
            ("[bank.com](https://\\evil.org\\x)", "bank.com (evil.org)"),
            ("[bank.com](<https://ev&Tab;il.org>)", "bank.com (evil.org)"),
            ("[our post](mailto:ann@evil.org?subject=x)", "our post (ann@evil.org)"),
            ("<ann@evil.org>", "ann@evil.org"),
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

    /// Counting what comes out says nothing of what goes on inside: four times as much takes about four times
    /// as long, and nothing like sixteen.
    #[test]
    fn absurd_nesting_takes_time_as_its_length() {
        let time = |text: &str| {
            let once = || {
                let began = std::time::Instant::now();
                std::hint::black_box(to_html(text));
                began.elapsed()
            };
            (0..5).map(|_| once()).min().unwrap()
        };
        for piece in [">", "> ", "[", "![", "[[", "- ", "**a ", "*a _b "] {
            let (short, long) = (time(&piece.repeat(10_000)), time(&piece.repeat(40_000)));
            // A machine with other work pauses now and then.
            let most = short * 8 + std::time::Duration::from_millis(100);
            assert!(long < most, "{piece}: {short:?} becomes {long:?}");
        }
    }

    #[test]
    fn what_cannot_be_seen_in_code_is_written_out() {
        let html = to_html("`a\u{202e}b`\n\n```\nif \u{2066}x\n```\n\nשלום\u{200f}");

        assert!(html.contains("<code>a⟦U+202E⟧b</code>"), "{html}");
        assert!(html.contains("if ⟦U+2066⟧x"), "{html}");
        assert!(html.contains("שלום\u{200f}"), "prose may need them: {html}");
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

    /// How many tags are open at once, at the most.
    fn depth(html: &str) -> usize {
        let (mut open, mut deepest) = (0_usize, 0);
        for tag in html.split('<').skip(1) {
            match tag.strip_prefix('/') {
                Some(_) => open -= 1,
                None if ["br", "hr", "input"].iter().any(|void| tag.starts_with(void)) => {}
                None => open += 1,
            }
            deepest = deepest.max(open);
        }
        assert_eq!(open, 0, "what is opened is closed");
        deepest
    }

    /// Nothing is as deep as it is written, and what comes of it, from the parser and as HTML, is no more than
    /// so many times what was written: the work is bounded, however long it may take on a machine.
    #[test]
    fn absurd_nesting_is_cut_in_depth_and_length() {
        for times in [10_000, 50_000] {
            let around = |open: &str, close: &str| open.repeat(times) + "x" + &close.repeat(times);
            let lines = |line: &dyn Fn(usize) -> String| (0..times / 50).map(line).collect();
            let absurd: [String; 14] = [
                "> ".repeat(times),
                ">".repeat(times) + " x",
                "[".repeat(times),
                "]".repeat(times),
                "![".repeat(times),
                "[[".repeat(times),
                "(".repeat(times),
                "- ".repeat(times),
                around("[", "](https://a.org)"),
                around("![", "](https://a.org)"),
                around("[[a|", "]]"),
                around("*a ", " a*"),
                around("**a ", " a**"),
                lines(&|at| format!("{}- x\n", "  ".repeat(at.min(200)))),
            ];
            for text in &absurd {
                let begun: String = text.chars().take(40).collect();
                let options = OPTIONS.union(Options::ENABLE_WIKILINKS);
                let events = Parser::new_ext(text, options).count();
                assert!(events <= 4 * text.len(), "{begun}: {events} events");
                for html in [to_html(text), to_html_linked(text, &Leads::new())] {
                    // Beside what is counted there is a paragraph.
                    assert!(depth(&html) <= MAX_DEPTH + 1, "{begun}: {} deep", depth(&html));
                    assert!(html.len() <= 16 * text.len() + 4096, "{begun}: {} long", html.len());
                }
            }
        }
    }

    #[test]
    fn what_would_grow_without_measure_is_shown_as_it_is_written() {
        let table = format!("{}\n{}\n{}", "|a".repeat(300), "|-".repeat(300), "|x\n".repeat(300));
        let quotes = format!("{}x\n\n", ">".repeat(30)).repeat(400);
        for text in [table, quotes] {
            let html = to_html(&text);

            assert!(html.len() <= MAX_GROWTH * text.len() + FREE_BYTES, "{}", html.len());
            assert!(html.starts_with("<pre><code>"), "{}", &html[..60]);
        }
    }
}
