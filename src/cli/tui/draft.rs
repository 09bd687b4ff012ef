//! A draft as lines: what it would change, word by word, and what one should know about it.

use ratatui::text::Line;

use crate::{
    cli::draft_words,
    domain::{
        diff::{Segment, SegmentKind},
        proposal::{Proposal, ProposedField},
    },
};

use super::{
    clean::{clean, clean_line},
    review::Review,
    theme::Theme,
    wrap::{Breaks, Margin, Piece, wrap},
};

/// The lines of a draft, and the one on which the change with the cursor begins.
pub fn lines(
    draft: &Proposal,
    review: &Review,
    columns: usize,
    theme: Theme,
) -> (Vec<Line<'static>>, usize) {
    let mut out = Vec::new();
    let mut say = |pieces: &[Piece]| {
        let lines = wrap(pieces, columns, &Margin::default(), Breaks::Words);
        out.extend(lines);
    };
    let (draft, hidden) = &draft_words::shown(draft);
    let title = format!("{}: {}", clean_line(&draft.title), clean_line(&draft.summary));
    say(&[(title, theme.person())]);
    if *hidden {
        say(&[(draft_words::HIDDEN.to_owned(), theme.wrong())]);
    }
    say(&[(clean_line(&draft_words::author(draft)), theme.quiet())]);
    if let Some(reason) = draft_words::reason(draft) {
        say(&[(clean_line(&reason), theme.text())]);
    }
    if let Some(sources) = draft_words::sources(draft) {
        say(&[(clean_line(&sources), theme.wrong())]);
    }
    for conflict in &draft.conflicts {
        say(&[(clean_line(&draft_words::in_conflict(conflict)), theme.wrong())]);
        say(&[("now: ".to_owned(), theme.quiet()), (clean(&conflict.theirs).into(), theme.text())]);
        let draft = (clean(&conflict.yours).into(), theme.text());
        say(&[("draft: ".to_owned(), theme.quiet()), draft]);
    }
    let mut cursor = 0;
    for (number, field) in draft.diff.iter().enumerate() {
        out.push(Line::default());
        out.push(Line::styled(clean_line(&field.label), theme.heading()));
        let (pieces, before) = words(field, number, review, theme);
        if let Some(before) = before {
            let above = wrap(&pieces[..before], columns, &Margin::default(), Breaks::Words);
            cursor = out.len() + above.len().saturating_sub(1);
        }
        out.extend(wrap(&pieces, columns, &Margin::default(), Breaks::Words));
    }
    (out, cursor)
}

/// The pieces of a field, and how many stand before the change with the cursor, if that is in it.
fn words(
    field: &ProposedField,
    number: usize,
    review: &Review,
    theme: Theme,
) -> (Vec<Piece>, Option<usize>) {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before = None;
    let mut last = None;
    let mut replaces = false;
    for segment in &field.segments {
        let hunk = segment.hunk.map(|hunk| (number, hunk));
        let here = hunk.is_some() && hunk == review.cursor() && review.can_choose();
        if let Some(hunk) = hunk.filter(|hunk| Some(*hunk) != last) {
            if Some(hunk) == review.cursor() {
                before = Some(pieces.len());
            }
            if review.can_choose() {
                let mark = if review.is_chosen(hunk) { "[x]" } else { "[ ]" };
                let style = if here { theme.chosen() } else { theme.quiet() };
                pieces.push((mark.to_owned(), style));
            }
            last = Some(hunk);
        }
        // Where a terminal cannot strike words out, they still stand apart from those that take their place.
        if segment.kind == SegmentKind::Added && replaces && theme == Theme::Coloured {
            pieces.push(("→".to_owned(), theme.quiet()));
        }
        replaces = segment.kind == SegmentKind::Removed;
        pieces.push(piece(segment, theme));
    }
    (pieces, before)
}

fn piece(segment: &Segment, theme: Theme) -> Piece {
    let text = clean(&segment.text);
    let marked = |before: &str, after: &str| match theme {
        Theme::Coloured => text.to_string(),
        Theme::Plain => format!("{before}{text}{after}"),
    };
    match segment.kind {
        SegmentKind::Same => (text.to_string(), theme.text()),
        SegmentKind::Folded => (format!(" … {text} … "), theme.quiet()),
        SegmentKind::Removed => (marked("[-", "-]"), theme.removed()),
        SegmentKind::Added => (marked("{+", "+}"), theme.added()),
    }
}
