//! The text of a web page, without what only a browser can use.

use std::cell::RefCell;

use html5ever::{
    TokenizerResult,
    buffer_queue::BufferQueue,
    tendril::StrTendril,
    tokenizer::{
        Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
        states::{Rawtext, Rcdata, ScriptData},
    },
};

/// When the article of a page is at least so long, the rest of the page is left out.
const MIN_ARTICLE_BYTES: usize = 200;

/// What no reader sees, or what stands around the text on every page of a site.
const LEFT_OUT: [&str; 14] = [
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select",
    "button", "nav", "footer", "aside", "dialog",
];
/// What begins a new line.
const BLOCKS: [&str; 35] = [
    "address",
    "article",
    "blockquote",
    "body",
    "br",
    "caption",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Lines between which everything stands as it is written. No page has such a character.
const CODE_BEGINS: &str = "\0<";
const CODE_ENDS: &str = "\0>";

/// What a web page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readable {
    /// Its title.
    pub title: String,
    /// Its text, with headings and lists as markdown has them.
    pub text: String,
}

/// Reads a web page.
pub fn read(html: &str) -> Readable {
    let reader = Tokenizer::new(Reader::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    while !matches!(reader.feed(&input), TokenizerResult::Done) {}
    reader.end();
    reader.sink.page.into_inner().finish()
}

#[derive(Default)]
struct Reader {
    page: RefCell<Page>,
}

/// What was read so far.
#[derive(Default)]
struct Page {
    title: String,
    in_title: bool,
    text: String,
    /// Where articles begin and end in the text.
    article: String,
    articles_open: usize,
    /// How many elements are open in which every space and line counts.
    codes_open: usize,
    /// The element whose end ends what is left out, and how many of its kind are open.
    left_out: Option<(String, usize)>,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut page = self.page.borrow_mut();
        match token {
            Token::TagToken(tag) => return page.tag(&tag),
            Token::CharacterTokens(text) => page.say(&text),
            Token::NullCharacterToken
            | Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl Page {
    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let opens = tag.kind == TagKind::StartTag;
        if let Some((outer, depth)) = &mut self.left_out {
            if outer == name {
                *depth = if opens { *depth + 1 } else { *depth - 1 };
                if *depth == 0 {
                    self.left_out = None;
                }
            }
        } else if opens && LEFT_OUT.contains(&name) && !tag.self_closing {
            self.left_out = Some((name.to_owned(), 1));
        } else {
            self.shown_tag(name, opens);
        }
        // A browser does not look for tags in these either.
        match name {
            "script" if opens => TokenSinkResult::RawData(ScriptData),
            "style" | "noscript" | "iframe" | "xmp" | "noembed" | "noframes" if opens => {
                TokenSinkResult::RawData(Rawtext)
            }
            "title" | "textarea" if opens => TokenSinkResult::RawData(Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }

    fn shown_tag(&mut self, name: &str, opens: bool) {
        match name {
            // Drawings have titles too; the first is the page's.
            "title" => self.in_title = opens && self.title.is_empty(),
            "article" | "main" if opens => self.articles_open += 1,
            "article" | "main" => self.articles_open = self.articles_open.saturating_sub(1),
            "pre" => return self.code_tag(opens),
            _ => {}
        }
        let in_code = self.codes_open > 0;
        // A line of code may be a block of its own.
        let begins = !in_code || name == "br" || !self.text.ends_with('\n');
        if BLOCKS.contains(&name) && begins {
            self.write("\n");
        }
        let begins_line = match name {
            _ if in_code => "",
            "p" | "ul" | "ol" | "table" | "blockquote" => "\n",
            "h1" if opens => "\n# ",
            "h2" if opens => "\n## ",
            "h3" | "h4" | "h5" | "h6" if opens => "\n### ",
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => "\n",
            "li" if opens => "- ",
            _ => "",
        };
        self.write(begins_line);
    }

    fn code_tag(&mut self, opens: bool) {
        let (mark, open) = match opens {
            true => (CODE_BEGINS, self.codes_open + 1),
            false => (CODE_ENDS, self.codes_open.saturating_sub(1)),
        };
        if (open > 0) != (self.codes_open > 0) {
            self.write(&format!("\n{mark}\n\n"));
        }
        self.codes_open = open;
    }

    fn say(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        } else if self.left_out.is_none() && self.codes_open > 0 {
            self.write(text);
        } else if self.left_out.is_none() {
            let line: String =
                text.chars().map(|letter| if letter == '\n' { ' ' } else { letter }).collect();
            self.write(&line);
        }
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
        if self.articles_open > 0 {
            self.article.push_str(text);
        }
    }

    fn finish(self) -> Readable {
        let article = tidy(&self.article);
        let text = if article.len() >= MIN_ARTICLE_BYTES { article } else { tidy(&self.text) };
        Readable { title: self.title.split_whitespace().collect::<Vec<_>>().join(" "), text }
    }
}

/// Single spaces, no more than one empty line, none between the items of a list, and no item's mark
/// without its text. Code stays as it is written.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut mark, mut has_gap, mut was_item) = ("", false, false);
    let mut code: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (line, &mut code) {
            (CODE_BEGINS, _) => code = Some(Vec::new()),
            (CODE_ENDS, _) => {
                put_code(&mut out, code.take());
                (mark, was_item) = ("", false);
            }
            (line, Some(code)) => code.push(line.trim_end()),
            (_, None) => {}
        }
        if code.is_some() || line == CODE_ENDS {
            continue;
        }
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.as_str() {
            "" => has_gap = true,
            "-" => mark = "- ",
            "#" | "##" | "###" => {}
            words => {
                let is_item = !mark.is_empty() || words.starts_with("- ");
                if has_gap && !out.is_empty() && !(is_item && was_item) {
                    out.push('\n');
                }
                out.push_str(mark);
                out.push_str(words);
                out.push('\n');
                (mark, has_gap, was_item) = ("", false, is_item);
            }
        }
    }
    put_code(&mut out, code);
    out.trim().to_owned()
}

/// Writes code as markdown has it, without the empty lines around it.
fn put_code(out: &mut String, lines: Option<Vec<&str>>) {
    let code = lines.unwrap_or_default().join("\n");
    let code = code.trim_matches('\n');
    if code.is_empty() {
        return;
    }
    let gap = if out.is_empty() { "" } else { "\n" };
    let fence = if code.contains("```") { "````" } else { "```" };
    out.push_str(&format!("{gap}{fence}\n{code}\n{fence}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_its_title_and_its_text() {
        let page = read(
            "<!doctype html><html><head><title> Tea &amp;\n time </title><style>p { color: red }\
             </style></head><body><nav>Home | About</nav><h1>Tea</h1><p>Water is\n<b>boiled</b>, \
             &lt;always&gt;.<script>if (a < b) { alert('</p>') }</script></p><ul><li>green</li>\
             <li><p>black</p></li></ul><!-- hidden --><svg><title>x</title><text>drawn</text></svg>\
             <p>The&nbsp;end<br>really</p><footer>©</footer></body></html>",
        );

        assert_eq!(page.title, "Tea & time");
        assert_eq!(
            page.text,
            "# Tea\n\nWater is boiled, <always>.\n\n- green\n- black\n\nThe end\nreally"
        );
    }

    /// It became one line.
    #[test]
    fn code_keeps_its_lines_and_its_indentation() {
        for (html, text) in [
            (
                "<p>Do:</p><pre class=\"x\"><code>\ndef go(n):\n    if n &gt; <b>1</b>:\n\n        \
                 return  n\n</code></pre><p>So\nit is.</p><pre> </pre><p>Yes",
                "Do:\n\n```\ndef go(n):\n    if n > 1:\n\n        return  n\n```\n\nSo it is.\n\nYes",
            ),
            ("<ul><li>one<pre>a\n b</pre><li>two</ul>", "- one\n\n```\na\n b\n```\n\n- two"),
            ("<pre><div>a</div><div> b<br><br>c</div></pre>", "```\na\n b\n\nc\n```"),
            ("<pre>a<pre>b</pre>\n  c</pre>d", "```\nab\n  c\n```\n\nd"),
            ("<pre>```\nnever closed", "````\n```\nnever closed\n````"),
            ("</pre>a  b", "a b"),
        ] {
            assert_eq!(read(html).text, text, "{html}");
        }
    }

    #[test]
    fn an_article_is_taken_from_what_stands_around_it() {
        let article = "All about tea. ".repeat(30);
        let page = read(&format!("<div>Cookies?</div><article><p>{article}</p></article>More"));

        assert_eq!(page.text, article.trim());
    }

    #[test]
    fn broken_pages_are_read_as_far_as_they_go() {
        for (html, text) in [
            ("plain & simple", "plain & simple"),
            ("<p>a<p>b", "a\n\nb"),
            ("a<script>never closed", "a"),
            ("</script></nav>a</p></div>", "a"),
            ("<svg/>a<nav><nav>b</nav>c</nav>d", "ad"),
            ("a\0b<", "ab<"),
            ("", ""),
        ] {
            assert_eq!(read(html).text, text, "{html}");
        }
        read(&"<div>".repeat(100_000));
        read(&"<".repeat(100_000));
    }
}
