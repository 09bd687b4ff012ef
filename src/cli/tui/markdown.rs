//! Markdown as styled lines of a terminal.
//!
//! What cannot be shown in a terminal is said in words: a picture by its text and address, a link by
//! its address beside it. Nothing is loaded and no address becomes a command to the terminal.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::{
    style::{Modifier, Style},
    text::Line,
};

use super::{
    clean::clean,
    table::Table,
    theme::Theme,
    wrap::{Breaks, Margin, Piece, wrap},
};

/// Deeper quotes and lists than this are shown flat.
const MAX_DEPTH: usize = 8;

/// The lines of a text in markdown, as wide as there are columns.
pub fn lines(text: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = clean(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(columns, theme);
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.end_block();
    page.out
}

/// A quote or a point of a list around what is written.
struct Around {
    /// What stands before its first line.
    first: Piece,
    /// What stands before the others.
    rest: Piece,
    /// Whether its first line is written.
    begun: bool,
}

/// What is written so far.
struct Page {
    columns: usize,
    theme: Theme,
    out: Vec<Line<'static>>,
    pieces: Vec<Piece>,
    styles: Vec<Style>,
    around: Vec<Around>,
    /// The number of the next point of each open list; none for points without numbers.
    lists: Vec<Option<u64>>,
    /// The text of the code block that is open.
    code: Option<String>,
    table: Option<Table>,
    links: Vec<String>,
    /// Whether a blank line stands between what was written and what comes.
    apart: bool,
}

impl Page {
    fn new(columns: usize, theme: Theme) -> Self {
        Self {
            columns,
            theme,
            out: Vec::new(),
            pieces: Vec::new(),
            styles: vec![theme.text()],
            around: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            links: Vec::new(),
            apart: false,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.say(&text, self.style()),
            },
            Event::Code(code) => self.say(&code, self.style().patch(self.theme.code())),
            Event::Html(html) | Event::InlineHtml(html) => {
                self.say(&html, self.style().patch(self.theme.quiet()));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.say(&text, self.style()),
            Event::FootnoteReference(name) => self.say(&format!("[^{name}]"), self.style()),
            Event::SoftBreak => self.say(" ", self.style()),
            Event::HardBreak => self.say("\n", self.style()),
            Event::Rule => {
                self.end_block();
                self.say(&"─".repeat(self.columns.min(24)), self.theme.quiet());
                self.end_block();
            }
            Event::TaskListMarker(done) => {
                self.say(if done { "[x] " } else { "[ ] " }, self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.style();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::MetadataBlock(_) => self.end_block(),
            Tag::Heading { level, .. } => {
                self.end_block();
                let underlined = match level {
                    HeadingLevel::H1 => Modifier::UNDERLINED,
                    _ => Modifier::empty(),
                };
                self.styles.push(self.theme.heading().add_modifier(underlined));
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                let bar = ("│ ".to_owned(), self.theme.quiet());
                self.enter(bar.clone(), bar);
                self.styles.push(style.add_modifier(Modifier::ITALIC));
            }
            Tag::CodeBlock(kind) => {
                self.end_block();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.say(&language, self.theme.quiet());
                    self.flush(Breaks::Words);
                    self.apart = false;
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.end_block();
                self.apart &= self.lists.is_empty();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_block();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let blanks = " ".repeat(super::clean::width(&mark));
                self.enter((mark, self.theme.quiet()), (blanks, style));
            }
            Tag::Emphasis => self.styles.push(style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(style.add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.styles.push(style.patch(self.theme.link()));
            }
            Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.say("[picture: ", self.theme.quiet());
            }
            Tag::Table(columns) => {
                self.end_block();
                self.table = Some(Table::new(columns));
            }
            Tag::TableRow => self.table.iter_mut().for_each(Table::begin_row),
            Tag::TableHead | Tag::TableCell => {}
            Tag::FootnoteDefinition(name) => {
                self.end_block();
                self.say(&format!("[^{name}]: "), self.theme.quiet());
            }
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.styles.pop();
                self.around.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
                self.apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                // A point without words is still a point.
                if self.around.last().is_some_and(|around| !around.begun) {
                    self.say(" ", self.style());
                }
                self.end_block();
                self.around.pop();
                self.apart = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                let said = self.pieces.last().map(|(text, _)| text.clone()).unwrap_or_default();
                self.styles.pop();
                if let Some(address) = self.links.pop().filter(|address| *address != said) {
                    self.say(&format!(" ({address})"), self.theme.quiet());
                }
            }
            TagEnd::Image => {
                let address = self.links.pop().unwrap_or_default();
                self.say(&format!("] ({address})"), self.theme.quiet());
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.pieces);
                self.table.iter_mut().for_each(|table| table.push(cell.clone()));
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let columns = self.columns.saturating_sub(self.indent());
                    for row in table.lines(columns, self.theme) {
                        self.pieces = row;
                        self.flush(Breaks::Words);
                    }
                    self.apart = true;
                }
            }
            TagEnd::MetadataBlock(_)
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
        }
    }

    /// Goes into a quote or a point of a list, as far as there is room.
    fn enter(&mut self, first: Piece, rest: Piece) {
        let deep = self.around.len() >= MAX_DEPTH || self.indent() + 12 > self.columns;
        let nothing = (String::new(), Style::default());
        let (first, rest) = if deep { (nothing.clone(), nothing) } else { (first, rest) };
        self.around.push(Around { first, rest, begun: false });
    }

    fn indent(&self) -> usize {
        self.around.iter().map(|around| super::clean::width(&around.rest.0)).sum()
    }

    fn say(&mut self, text: &str, style: Style) {
        // References in markdown can stand for anything, so what they became is looked at once more.
        let text = clean(text).into_owned();
        match self.pieces.last_mut() {
            Some((said, known)) if *known == style => said.push_str(&text),
            _ => self.pieces.push((text, style)),
        }
    }

    /// Writes what was said as a paragraph of its own.
    fn end_block(&mut self) {
        if !self.pieces.is_empty() {
            self.flush(Breaks::Words);
            self.apart = true;
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let bar = ("▏ ".to_owned(), self.theme.quiet());
        self.enter(bar.clone(), bar);
        for line in code.trim_end_matches('\n').split('\n') {
            self.pieces = vec![(line.to_owned(), self.theme.code())];
            self.flush(Breaks::Anywhere);
        }
        self.around.pop();
        self.apart = true;
    }

    /// Writes what was said, with what stands around it.
    fn flush(&mut self, breaks: Breaks) {
        let margin_of = |around: &Around| {
            if around.begun { around.rest.clone() } else { around.first.clone() }
        };
        if std::mem::take(&mut self.apart) && !self.out.is_empty() {
            // A blank line belongs to quotes that go on, and not to points of lists.
            let bars = self.around.iter().filter(|around| around.begun);
            let bars = bars.map(|around| around.rest.clone());
            let blank: Vec<_> =
                bars.map(|(text, style)| ratatui::text::Span::styled(text, style)).collect();
            self.out.push(Line::from(blank));
        }
        let margin = Margin {
            first: self.around.iter().map(margin_of).collect(),
            rest: self.around.iter().map(|around| around.rest.clone()).collect(),
        };
        self.around.iter_mut().for_each(|around| around.begun = true);
        let pieces = std::mem::take(&mut self.pieces);
        self.out.extend(wrap(&pieces, self.columns, &margin, breaks));
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
