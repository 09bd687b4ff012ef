//! Draws the screen: a bar, the conversation, a line that says how things stand, the field to write in.
//!
//! Only clean text comes here, and everything is cut to the room there is, so any size will do.

use ratatui::{
    Frame,
    layout::{Position, Rect},
    style::Style,
    text::{Line, Span},
};

use crate::domain::terminal::short;

use super::{
    clean::{clean_line, fit, width},
    event::Effect,
    input::Shown,
    panels,
    state::{Answer, Focus, Over, Pace, State, Tone},
    wrap::{Breaks, Margin, wrap},
};

/// What stands before what is written.
const PROMPT: &str = "> ";
/// The columns beside the conversation, in which the selected message is marked.
const MARGIN: u16 = 2;
/// How what is wrong with tools is hidden, and told again.
const HIDE: &str = "F6 hides this · all of it: greenroom tools";
/// Which part of the window the field, problems and a notice may each take.
const SHARE: u16 = 3;
/// The columns that the rule takes beside what stands in it.
const RULE: usize = 4;
/// The smallest window in which something can be shown.
const LEAST: (u16, u16) = (12, 4);

/// Where everything stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rooms {
    bar: Rect,
    problems: Rect,
    talk: Rect,
    line: Rect,
    field: Rect,
}

impl Rooms {
    fn of(state: &State, area: Rect) -> Self {
        let wanted = u16::try_from(field(state, area).rows.len()).unwrap_or(u16::MAX);
        let most = (area.height / SHARE).max(1);
        let field = wanted.min(most);
        let line = long_notice(state, area).len().max(1);
        let line = u16::try_from(line).unwrap_or(u16::MAX);
        let above = area.height.saturating_sub(1 + line + field);
        let most = (area.height / SHARE).min(above.saturating_sub(1));
        let wrong = problems(state, area.width, usize::from(most)).len();
        let wrong = u16::try_from(wrong).unwrap_or(u16::MAX);
        let talk = above - wrong;
        let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        Self {
            bar: row(0, 1),
            problems: row(1, wrong),
            talk: row(1 + wrong, talk),
            line: row(1 + above, line),
            field: row(1 + above + line, field),
        }
    }
}

/// The text in the field at the bottom, which may be what is searched for.
fn field(state: &State, area: Rect) -> Shown {
    let columns = usize::from(area.width).saturating_sub(width(PROMPT) + 1);
    match &state.focus {
        Focus::Writing | Focus::Reading => state.input.shown(columns),
        Focus::Searching { query, .. } => query.shown(columns),
    }
}

/// What is wrong with tools, in at most so many lines. What does not fit is counted, and the last line says
/// how to hide it or to see all of it.
fn problems(state: &State, columns: u16, rows: usize) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let Some(rows) = rows.checked_sub(1).filter(|_| !state.problems.is_empty()) else {
        return Vec::new();
    };
    let told = |problem: &String| {
        let pieces = [(problem.clone(), state.theme.wrong())];
        wrap(&pieces, columns, &Margin::default(), Breaks::Words)
    };
    let mut lines: Vec<Line<'static>> = Vec::new();
    // One that is told in part counts as told: its line is named at its beginning.
    let mut whole = 0;
    for problem in &state.problems {
        if lines.len() >= rows {
            break;
        }
        lines.extend(told(problem));
        whole += 1;
    }
    cut(&mut lines, rows, columns, state.theme.wrong());
    let last = match state.problems.len() - whole {
        0 => HIDE.to_owned(),
        more => format!("and {more} more: greenroom tools · F6 hides this"),
    };
    lines.push(Line::styled(fit(&last, columns), state.theme.quiet()));
    lines
}

/// Leaves out what is more than so many lines, and shows that.
fn cut(lines: &mut Vec<Line<'static>>, rows: usize, columns: usize, style: Style) {
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.pop() {
            let cut = fit(&last.to_string(), columns.saturating_sub(1));
            lines.push(Line::styled(format!("{}…", cut.trim_end_matches('…')), style));
        }
    }
}

/// What went wrong, where it is longer than a line. It is told whole as far as there is room: what one can do
/// about it often stands at its end.
pub fn long_notice(state: &State, area: Rect) -> Vec<Line<'static>> {
    let columns = usize::from(area.width);
    let Some((text, Tone::Wrong)) = &state.notice else { return Vec::new() };
    if width(text) + RULE <= columns {
        return Vec::new();
    }
    let style = state.theme.wrong();
    let pieces = [(text.clone(), style)];
    let mut lines = wrap(&pieces, columns, &Margin::default(), Breaks::Words);
    cut(&mut lines, usize::from(area.height / SHARE).max(1), columns, style);
    lines
}

/// Makes ready what is drawn in a window of the state's size, and says what is to be loaded for it.
pub fn settle(state: &mut State) -> Vec<Effect> {
    let area = Rect::new(0, 0, state.size.0, state.size.1);
    panels::settle(state, below_bar(area));
    let talk = Rooms::of(state, area).talk;
    state.settle(usize::from(talk.width.saturating_sub(MARGIN)), usize::from(talk.height))
}

/// Draws the screen. What it shows must be settled.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        put(frame, area, 0, &Line::from("Too small."));
        return;
    }
    let rooms = Rooms::of(state, area);
    bar(frame, rooms.bar, state);
    match &state.over {
        Over::Nothing => {
            wrong(frame, rooms.problems, state);
            talk(frame, rooms.talk, state);
            line(frame, rooms.line, state);
            write(frame, rooms.field, state);
        }
        over => {
            panels::draw(frame, below_bar(area), over, state);
        }
    }
}

fn below_bar(area: Rect) -> Rect {
    Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }
}

/// Puts a line somewhere, cut to the room there is.
pub fn put(frame: &mut Frame<'_>, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        let buffer = frame.buffer_mut();
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

fn bar(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let model = clean_line(&state.session.settings.model);
    let columns = usize::from(area.width);
    let right = fit(&model, columns / 2);
    let title = match clean_line(&state.session.description).as_str() {
        "" => format!("Session {}", short(&state.session.id)),
        description => description.to_owned(),
    };
    let left = fit(&format!(" Greenroom · {title}"), columns.saturating_sub(width(&right) + 2));
    let gap = columns.saturating_sub(width(&left) + width(&right) + 1);
    let text = format!("{left}{}{right} ", " ".repeat(gap));
    put(frame, area, 0, &Line::styled(text, state.theme.bar()));
}

/// What is wrong with tools.
fn wrong(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let lines = problems(state, area.width, usize::from(area.height));
    for (row, line) in (0..).zip(&lines) {
        put(frame, area, row, line);
    }
}

fn talk(frame: &mut Frame<'_>, area: Rect, state: &State) {
    if state.transcript.is_empty() {
        let lines = ["Say something: Enter sends it.", "? shows the keys."];
        for (row, text) in (0..).zip(lines) {
            let text = format!("  {}", fit(text, usize::from(area.width.saturating_sub(MARGIN))));
            put(frame, area, row, &Line::styled(text, state.theme.quiet()));
        }
    }
    let inner = Rect { x: area.x + MARGIN, width: area.width.saturating_sub(MARGIN), ..area };
    for (row, seen) in (0..).zip(state.transcript.seen()) {
        put(frame, inner, row, &seen.line);
        if seen.selected {
            put(frame, area, row, &Line::styled("▌", state.theme.person()));
        }
    }
}

/// What the line between conversation and field says, and how.
fn standing(state: &State) -> (String, Style) {
    if let Some((text, tone)) = &state.notice {
        let style = match tone {
            Tone::Quiet => state.theme.text(),
            Tone::Wrong => state.theme.wrong(),
        };
        return (text.clone(), style);
    }
    let told = match (&state.answer, &state.focus) {
        (_, Focus::Searching { .. }) => "searching".to_owned(),
        (Answer::Asked { pace: Pace::Stopping, .. }, _) => {
            "stopping… · Ctrl-C again leaves".to_owned()
        }
        (Answer::Asked { .. }, _) => "asking…".to_owned(),
        (Answer::Going(going), _) => match &going.pace {
            Pace::Steady => format!("answering… {} s · Ctrl-C stops", going.seconds),
            Pace::Waiting(why) => clean_line(why),
            Pace::Stopping => "stopping… · Ctrl-C again leaves".to_owned(),
        },
        (Answer::Idle, Focus::Reading) => "reading".to_owned(),
        (Answer::Idle, Focus::Writing) => match state.waiting {
            0 => "ready".to_owned(),
            1 => "1 draft waits · Ctrl-R".to_owned(),
            many => format!("{many} drafts wait · Ctrl-R"),
        },
    };
    (told, state.theme.quiet())
}

fn line(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let long = long_notice(state, frame.area());
    if !long.is_empty() {
        for (row, line) in (0..).zip(&long) {
            put(frame, area, row, line);
        }
        return;
    }
    let columns = usize::from(area.width);
    let hint = match (&state.focus, state.transcript.follows()) {
        (Focus::Searching { .. }, _) => "Up Down others · Enter · Esc",
        (Focus::Reading, _) => "j k · y copy · / search · Esc write",
        (Focus::Writing, false) => "more below: Ctrl-End",
        (Focus::Writing, true) if state.answer != Answer::Idle => "? keys",
        (Focus::Writing, true) => "Enter sends · ? keys",
    };
    let (told, style) = standing(state);
    let told = fit(&told, columns.saturating_sub(RULE));
    let left = width(&told) + RULE;
    let hint =
        if left + width(hint) + 4 <= columns { format!(" {hint} ──") } else { String::new() };
    let rule = "─".repeat(columns.saturating_sub(left + width(&hint)));
    let quiet = state.theme.quiet();
    let spans = vec![
        Span::styled("─ ", quiet),
        Span::styled(told, style),
        Span::styled(format!(" {rule}─{hint}"), quiet),
    ];
    put(frame, area, 0, &Line::from(spans));
}

fn write(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let shown = field(state, area);
    let prompt = match state.focus {
        Focus::Writing | Focus::Reading => PROMPT,
        Focus::Searching { .. } => "/ ",
    };
    let style = match state.focus {
        Focus::Reading => state.theme.quiet(),
        Focus::Writing | Focus::Searching { .. } => state.theme.text(),
    };
    let cursor = typed(frame, area, &shown, prompt, style);
    if state.focus != Focus::Reading {
        frame.set_cursor_position(cursor);
    }
}

/// Puts a text that is being written, the line with the cursor in sight, and says where the cursor is.
pub fn typed(
    frame: &mut Frame<'_>,
    area: Rect,
    shown: &Shown,
    prompt: &str,
    style: Style,
) -> Position {
    let rows = usize::from(area.height).max(1);
    let first = (shown.row + 1).saturating_sub(rows);
    for (row, text) in (0..).zip(shown.rows.iter().skip(first).take(rows)) {
        let before = if first == 0 && row == 0 { prompt } else { "  " };
        put(frame, area, row, &Line::styled(format!("{before}{text}"), style));
    }
    let row = u16::try_from(shown.row - first).unwrap_or_default();
    let column = u16::try_from(width(prompt) + shown.column).unwrap_or(u16::MAX);
    Position {
        x: area.x + column.min(area.width.saturating_sub(1)),
        y: area.y + row.min(area.height.saturating_sub(1)),
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
