//! What opens above the conversation: keys, sessions, models, drafts.

use ratatui::{
    Frame,
    layout::Rect,
    style::{Modifier, Style},
    text::Line,
};

use crate::domain::{
    model::Model,
    terminal::{TerminalSession, short},
};

use super::{
    clean::{clean_line, fit, padded, width},
    draft,
    help::KEYS,
    input::Shown,
    list::{List, Listed},
    models::Models,
    render::{long_notice, put, typed},
    review::{self, Review},
    sessions::{self, Sessions},
    state::{Over, State, Tone},
    theme::Theme,
};

/// Holds to what there is what somebody scrolled further.
pub fn settle(state: &mut State, area: Rect) {
    let inside = above_keys(state, area);
    let theme = state.theme;
    match &mut state.over {
        Over::Help(from) => {
            let lines = key_lines(usize::from(inside.width), theme).len();
            let last = lines.saturating_sub(usize::from(inside.height));
            *from = (*from).min(u16::try_from(last).unwrap_or(u16::MAX));
        }
        Over::Review(open) => {
            if let Some(page) = Page::of(inside, open, theme) {
                open.scrolled = page.scrolled;
            }
        }
        Over::Nothing | Over::Sessions(_) | Over::Models(_) => {}
    }
}

/// Where a panel stands, above the line of keys or what is told instead.
fn above_keys(state: &State, area: Rect) -> Rect {
    let told = u16::try_from(long_notice(state, area).len().max(1)).unwrap_or(u16::MAX);
    Rect { height: area.height.saturating_sub(told), ..area }
}

/// Draws what is open, with a line of keys at the bottom.
pub fn draw(frame: &mut Frame<'_>, area: Rect, over: &Over, state: &State) {
    let inside = above_keys(state, area);
    let hint = match over {
        Over::Nothing => return,
        Over::Help(from) => {
            keys(frame, inside, *from, state.theme);
            "j k scroll · any other key closes".to_owned()
        }
        Over::Sessions(open) => {
            all_sessions(frame, inside, open, state);
            open.hint()
        }
        Over::Models(open) => {
            all_models(frame, inside, open, state);
            "Type to see fewer · Enter chooses · Esc".to_owned()
        }
        Over::Review(open) => {
            drafts(frame, inside, open, state.theme);
            open.hint().to_owned()
        }
    };
    let long = long_notice(state, area);
    if !long.is_empty() {
        for (row, line) in (inside.height..).zip(&long) {
            put(frame, area, row, line);
        }
        return;
    }
    let (told, style) = match &state.notice {
        Some((text, Tone::Wrong)) => (text.clone(), state.theme.wrong()),
        Some((text, Tone::Quiet)) => (text.clone(), state.theme.text()),
        None => (hint, state.theme.quiet()),
    };
    let last = area.height.saturating_sub(1);
    put(frame, area, last, &Line::styled(fit(&told, usize::from(area.width)), style));
}

/// A heading of a panel.
fn heading(frame: &mut Frame<'_>, area: Rect, text: &str, theme: Theme) {
    put(frame, area, 0, &Line::styled(fit(text, usize::from(area.width)), theme.heading()));
}

fn key_lines(columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let room = if columns < 60 { 13 } else { 22 };
    let mut lines = Vec::new();
    for (key, does) in KEYS {
        if key.is_empty() {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.push(Line::styled(does, theme.heading()));
            continue;
        }
        let indent = " ".repeat(room);
        let key = fit(key, room - 1);
        let gap = " ".repeat(room.saturating_sub(width(&key)));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let margin = super::wrap::Margin {
            first: vec![(key, bold), (gap, theme.text())],
            rest: vec![(indent, theme.text())],
        };
        let pieces = [(does.to_owned(), theme.text())];
        lines.extend(super::wrap::wrap(&pieces, columns, &margin, super::wrap::Breaks::Words));
    }
    lines
}

fn keys(frame: &mut Frame<'_>, area: Rect, from: u16, theme: Theme) {
    let lines = key_lines(usize::from(area.width), theme);
    let rows = usize::from(area.height);
    for (row, line) in (0..).zip(lines.iter().skip(usize::from(from)).take(rows)) {
        put(frame, area, row, line);
    }
}

/// Rows around the cursor, that one reversed.
fn rows<T: Listed>(
    frame: &mut Frame<'_>,
    area: Rect,
    list: &List<T>,
    theme: Theme,
    told: impl Fn(&T, usize) -> String,
) {
    let room = usize::from(area.height).max(1);
    let first = (list.at() + 1).saturating_sub(room);
    let columns = usize::from(area.width);
    for (row, (number, one)) in
        (0..).zip(list.seen().into_iter().enumerate().skip(first).take(room))
    {
        let text = told(one, columns);
        let gap = " ".repeat(columns.saturating_sub(width(&text)));
        let style = if number == list.at() { theme.chosen() } else { theme.text() };
        put(frame, area, row, &Line::styled(format!("{text}{gap}"), style));
    }
}

fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

fn one_row(area: Rect, row: u16) -> Rect {
    Rect { y: area.y + row.min(area.height.saturating_sub(1)), height: 1.min(area.height), ..area }
}

fn all_sessions(frame: &mut Frame<'_>, area: Rect, open: &Sessions, state: &State) {
    let theme = state.theme;
    let Some(list) = &open.list else { return heading(frame, area, "Sessions…", theme) };
    let seen = list.seen().len();
    heading(frame, area, &format!("Sessions ({seen})"), theme);
    let columns = usize::from(area.width).saturating_sub(3);
    let field = one_row(area, 1);
    let writing: Option<(Shown, &str)> = match &open.doing {
        sessions::Doing::Describing(_, input) => Some((last_row(input.shown(columns)), "> ")),
        sessions::Doing::Filtering => Some((last_row(list.filter.shown(columns)), "/ ")),
        sessions::Doing::Looking | sessions::Doing::Deleting(_) => None,
    };
    match writing {
        Some((shown, prompt)) => {
            let cursor = typed(frame, field, &shown, prompt, theme.text());
            frame.set_cursor_position(cursor);
        }
        None if !list.filter.is_empty() => {
            let told = format!("/ {}", list.filter.text());
            put(frame, field, 0, &Line::styled(told, theme.quiet()));
        }
        None => {}
    }
    rows(frame, below(area, 2), list, theme, |session, columns| {
        session_row(session, session.id == state.session.id, columns)
    });
}

/// Only the line with the cursor: a field of one line shows no more.
fn last_row(shown: Shown) -> Shown {
    let row = shown.rows.get(shown.row).cloned().unwrap_or_default();
    Shown { rows: vec![row], row: 0, column: shown.column }
}

fn session_row(session: &TerminalSession, current: bool, columns: usize) -> String {
    let mark = if current { '*' } else { ' ' };
    let title = match clean_line(&session.description).as_str() {
        "" => "(no description)".to_owned(),
        description => description.to_owned(),
    };
    let turns = if session.turns == 1 { "turn" } else { "turns" };
    let (id, model) = (short(&session.id), clean_line(&session.settings.model));
    let begun = session.created_at.rfc3339();
    let day = begun.get(..10).unwrap_or_default();
    let tail = match columns {
        ..60 => format!("{} {turns}", session.turns),
        _ => format!("{day} · {} {turns} · {}", session.turns, fit(&model, 24)),
    };
    let room = columns.saturating_sub(width(id) + width(&tail) + 6);
    format!("{mark} {id} {}  {tail}", padded(&title, room))
}

fn all_models(frame: &mut Frame<'_>, area: Rect, open: &Models, state: &State) {
    let theme = state.theme;
    let Some(list) = &open.list else { return heading(frame, area, "Models…", theme) };
    let heads = match open.chosen() {
        Some(model) if list.chosen().is_none_or(|one| one.id != model) => {
            format!("Models: Enter takes “{}” as it is written", clean_line(&model))
        }
        _ => format!("Models ({})", list.seen().len()),
    };
    heading(frame, area, &heads, theme);
    let shown = last_row(list.filter.shown(usize::from(area.width).saturating_sub(3)));
    let cursor = typed(frame, one_row(area, 1), &shown, "/ ", theme.text());
    frame.set_cursor_position(cursor);
    let longest = list.seen().iter().map(|model| width(&clean_line(&model.id))).max();
    let names = longest.unwrap_or_default().min(usize::from(area.width) / 2);
    rows(frame, below(area, 2), list, theme, |model, columns| {
        model_row(model, model.id == state.session.settings.model, names, columns)
    });
}

fn model_row(model: &Model, current: bool, names: usize, columns: usize) -> String {
    let mark = if current { '*' } else { ' ' };
    let abilities: Vec<&str> = model.abilities().collect();
    let told = format!("{} · {}", clean_line(&model.label), abilities.join(", "));
    let told = told.trim_end_matches([' ', '·']);
    fit(&format!("{mark} {:<names$}  {told}", clean_line(&model.id)), columns)
}

/// A draft as it is shown, and where.
struct Page {
    area: Rect,
    lines: Vec<Line<'static>>,
    /// The first line that is seen.
    from: usize,
    /// How far that is from where it would be by itself.
    scrolled: isize,
    /// The rows below it in which something is written.
    field: u16,
}

impl Page {
    fn of(area: Rect, open: &Review, theme: Theme) -> Option<Self> {
        let field = match &open.doing {
            review::Doing::Rejecting(_) => 3,
            review::Doing::Wording(_) => area.height.saturating_sub(3),
            review::Doing::Looking | review::Doing::Deciding(_) => 0,
        };
        let field = field.min(area.height.saturating_sub(2));
        let page = below(area, 1);
        let page = Rect { height: page.height.saturating_sub(field), ..page };
        let room = usize::from(page.height);
        let (lines, cursor) = draft::lines(open.draft()?, open, usize::from(area.width), theme);
        let itself = cursor.saturating_sub(room / 3);
        let wanted = itself.saturating_add_signed(open.scrolled);
        let from = wanted.min(lines.len().saturating_sub(room));
        let scrolled = from.cast_signed() - itself.cast_signed();
        Some(Self { area: page, lines, from, scrolled, field })
    }
}

fn drafts(frame: &mut Frame<'_>, area: Rect, open: &Review, theme: Theme) {
    let Some((at, count)) = open.place() else { return heading(frame, area, "Drafts…", theme) };
    if open.draft().is_none() {
        return heading(frame, area, "No draft waits for a decision.", theme);
    }
    heading(frame, area, &format!("Draft {} of {count}", at + 1), theme);
    let Some(page) = Page::of(area, open, theme) else { return };
    for (row, line) in (0..).zip(page.lines.iter().skip(page.from).take(page.area.height.into())) {
        put(frame, page.area, row, line);
    }
    let writing = match &open.doing {
        review::Doing::Rejecting(input) => Some((input, "Why? ")),
        review::Doing::Wording(input) => Some((input, "> ")),
        review::Doing::Looking | review::Doing::Deciding(_) => None,
    };
    if let Some((input, prompt)) = writing {
        let field = Rect { y: page.area.y + page.area.height, height: page.field, ..area };
        let columns = usize::from(area.width).saturating_sub(width(prompt) + 1);
        let cursor = typed(frame, field, &input.shown(columns), prompt, theme.text());
        frame.set_cursor_position(cursor);
    }
}
