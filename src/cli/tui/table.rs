//! Tables in an answer: columns side by side where they fit, and row by row where they do not.

use pulldown_cmark::Alignment;
use ratatui::style::{Modifier, Style};

use super::{
    clean::{cells, width},
    theme::Theme,
    wrap::Piece,
};

/// What stands between two columns.
const GAP: usize = 2;

/// A table as it is read.
pub struct Table {
    alignments: Vec<Alignment>,
    /// The head is the first row.
    rows: Vec<Vec<Vec<Piece>>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: vec![Vec::new()] }
    }

    /// The cells that come are another row's.
    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// One more cell.
    pub fn push(&mut self, cell: Vec<Piece>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Its lines, within so many columns.
    pub fn lines(self, columns: usize, theme: Theme) -> Vec<Vec<Piece>> {
        let count = self.alignments.len();
        let wide = |cell: &Vec<Piece>| cell.iter().map(|(text, _)| width(text)).sum::<usize>();
        let widths: Vec<usize> = (0..count)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(wide).max().unwrap_or(0))
            .collect();
        let whole = widths.iter().sum::<usize>() + GAP * count.saturating_sub(1);
        if whole <= columns { self.side_by_side(&widths, theme) } else { self.row_by_row(theme) }
    }

    fn side_by_side(self, widths: &[usize], theme: Theme) -> Vec<Vec<Piece>> {
        let mut out = Vec::new();
        for (number, row) in self.rows.into_iter().enumerate() {
            let mut line = Vec::new();
            for (at, (cell, room)) in row.into_iter().zip(widths).enumerate() {
                let free =
                    room - cell.iter().map(|(text, _)| width(text)).sum::<usize>().min(*room);
                let before = match self.alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    Some(Alignment::Left | Alignment::None) | None => 0,
                };
                let gap = if at > 0 { GAP } else { 0 };
                line.push((" ".repeat(gap + before), Style::default()));
                line.extend(cell.into_iter().map(|piece| head(piece, number)));
                line.push((" ".repeat(free - before), Style::default()));
            }
            out.push(line);
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(vec![(rules.join(&" ".repeat(GAP)), theme.quiet())]);
            }
        }
        out
    }

    /// Every cell on a line of its own behind the name of its column.
    fn row_by_row(self, theme: Theme) -> Vec<Vec<Piece>> {
        let mut rows = self.rows.into_iter();
        let names = rows.next().unwrap_or_default();
        let mut out = Vec::new();
        for row in rows {
            if !out.is_empty() {
                out.push(vec![("──".to_owned(), theme.quiet())]);
            }
            for (at, cell) in row.into_iter().enumerate() {
                let name = names.get(at).cloned().unwrap_or_default().into_iter();
                let mut line: Vec<Piece> = name.map(|piece| head(piece, 0)).collect();
                if line.iter().any(|(text, _)| cells(text).next().is_some()) {
                    line.push((": ".to_owned(), theme.quiet()));
                }
                line.extend(cell);
                out.push(line);
            }
        }
        out
    }
}

fn head((text, style): Piece, row: usize) -> Piece {
    (text, if row == 0 { style.add_modifier(Modifier::BOLD) } else { style })
}
