//! What came of a comparison: a table for people, JSON for programs.

use serde::Serialize;

use crate::{
    cli::tui::clean::{fit, padded, width},
    domain::{
        id::{ConversationId, RunId},
        run::{Spent, told_price, told_time},
        terminal::short,
    },
};

/// How many columns of an answer's first line are shown.
const FIRST_LINE: usize = 60;
/// The widest that another column gets.
const MAX_WIDTH: usize = 28;

/// One answer, and what became of its checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// What was asked.
    pub input: String,
    /// The prompt.
    pub prompt: String,
    /// The model.
    pub model: String,
    /// Which time it was asked, from 1.
    pub round: u32,
    /// The session that it is kept in.
    pub session_id: Option<ConversationId>,
    /// The last run.
    pub run_id: Option<RunId>,
    /// The answer.
    pub text: String,
    /// The tools that were called for it.
    pub tools: Vec<String>,
    /// What it took, all turns together.
    pub spent: Spent,
    /// How long the last answer took.
    #[serde(skip)]
    pub last_ms: u64,
    /// What went wrong.
    pub error: Option<String>,
    /// What a good answer does, for whoever reads it.
    #[serde(rename = "check")]
    pub note: String,
    /// What had to be true of it.
    pub checks: Vec<CheckResult>,
}

/// A check, and whether it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// What it says.
    pub check: String,
    /// Whether it held.
    pub passed: bool,
}

impl Cell {
    fn passed(&self) -> usize {
        self.checks.iter().filter(|check| check.passed).count()
    }

    fn is_good(&self) -> bool {
        self.error.is_none() && self.passed() == self.checks.len()
    }

    fn tokens(&self) -> u64 {
        let usage = self.spent.usage;
        usage.input.unwrap_or_default() + usage.output.unwrap_or_default()
    }

    /// How it stands, in a word or two.
    fn verdict(&self) -> String {
        match (&self.error, self.checks.len()) {
            (Some(_), _) => "failed ✗".into(),
            (None, 0) => "–".into(),
            (None, all) if self.passed() == all => format!("{all}/{all} ✓"),
            (None, all) => format!("{}/{all} ✗", self.passed()),
        }
    }

    /// One line for people who wait.
    pub fn told(&self) -> String {
        let Self { input, prompt, model, .. } = self;
        format!("{input} · {prompt} · {model} · {}", self.verdict())
    }
}

/// What one prompt with one model took and stood, all inputs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Column {
    prompt: String,
    model: String,
    answers: usize,
    failed: usize,
    checks: usize,
    checks_passed: usize,
    tokens: u64,
    /// `null` when the price of an answer is not known.
    cost_micros: Option<u64>,
    /// The time of an answer, on the average.
    mean_ms: u64,
}

/// All answers of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    cells: Vec<Cell>,
    columns: Vec<Column>,
    passed: bool,
}

impl Report {
    /// What these answers come to.
    pub fn new(cells: Vec<Cell>) -> Self {
        let mut columns: Vec<Column> = Vec::new();
        for cell in &cells {
            let same = |one: &Column| one.prompt == cell.prompt && one.model == cell.model;
            let at = columns.iter().position(same).unwrap_or_else(|| {
                let (prompt, model) = (cell.prompt.clone(), cell.model.clone());
                let cost_micros = Some(0);
                columns.push(Column { prompt, model, cost_micros, ..Column::default() });
                columns.len() - 1
            });
            let column = &mut columns[at];
            column.answers += 1;
            column.failed += usize::from(cell.error.is_some());
            column.checks += cell.checks.len();
            column.checks_passed += cell.passed();
            column.tokens += cell.tokens();
            let cost = column.cost_micros.zip(cell.spent.cost_micros);
            column.cost_micros = cost.map(|(sum, cost)| sum + cost);
            column.mean_ms += cell.spent.duration_ms;
        }
        for column in &mut columns {
            column.mean_ms /= column.answers as u64;
        }
        let passed = cells.iter().all(Cell::is_good);
        Self { cells, columns, passed }
    }

    /// Whether every answer came and every check held.
    pub fn is_good(&self) -> bool {
        self.passed
    }

    /// All of it, for programs.
    pub fn json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// All of it, for people: each answer with what did not hold, and the sums of each prompt and model.
    pub fn table(&self) -> String {
        let rounds = self.cells.iter().any(|cell| cell.round > 1);
        let mut rows = vec![Row::of([
            "input", "prompt", "model", "checks", "tokens", "cost", "time", "session", "answer",
        ])];
        for cell in &self.cells {
            let again = if rounds { format!(" #{}", cell.round) } else { String::new() };
            let cost = cell.spent.cost_micros.map_or("?".into(), told_price);
            let mut row = Row::of([
                &format!("{}{again}", cell.input),
                &cell.prompt,
                &cell.model,
                &cell.verdict(),
                &cell.tokens().to_string(),
                &cost,
                &told_time(cell.spent.duration_ms),
                cell.session_id.as_ref().map_or("–", short),
                &first_line(&cell.text),
            ]);
            row.below.extend(cell.error.iter().map(|error| format!("    ✗ {error}")));
            let missed = cell.checks.iter().filter(|check| !check.passed && cell.error.is_none());
            row.below.extend(missed.map(|check| format!("    ✗ {}", check.check)));
            rows.push(row);
        }
        let mut sums = vec![Row::of([
            "prompt",
            "model",
            "answers",
            "failed",
            "checks",
            "tokens",
            "cost",
            "mean time",
        ])];
        for column in &self.columns {
            sums.push(Row::of([
                &column.prompt,
                &column.model,
                &column.answers.to_string(),
                &column.failed.to_string(),
                &format!("{}/{}", column.checks_passed, column.checks),
                &column.tokens.to_string(),
                &column.cost_micros.map_or("?".into(), told_price),
                &told_time(column.mean_ms),
            ]));
        }
        format!("{}\n\n{}", drawn(&rows), drawn(&sums))
    }
}

/// A row, and what stands below it.
struct Row {
    fields: Vec<String>,
    below: Vec<String>,
}

impl Row {
    fn of<const COUNT: usize>(fields: [&str; COUNT]) -> Self {
        Self { fields: fields.map(str::to_owned).into(), below: Vec::new() }
    }
}

fn drawn(rows: &[Row]) -> String {
    let mut widths = vec![0; rows.iter().map(|row| row.fields.len()).max().unwrap_or_default()];
    for row in rows {
        for (widest, field) in widths.iter_mut().zip(&row.fields) {
            *widest = (*widest).max(width(field));
        }
    }
    // The last column is cut already, and nothing follows it.
    for width in widths.iter_mut().rev().skip(1) {
        *width = (*width).min(MAX_WIDTH);
    }
    let mut lines = Vec::new();
    for row in rows {
        let fields = row.fields.iter().zip(widths.iter().copied());
        let line: Vec<String> = fields.map(|(field, width)| padded(field, width)).collect();
        lines.push(line.join("  ").trim_end().to_owned());
        lines.extend(row.below.iter().cloned());
    }
    lines.join("\n")
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let plain: String = line.chars().filter(|letter| !letter.is_control()).collect();
    fit(&plain, FIRST_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::Usage;

    fn cell(prompt: &str, model: &str, checks: &[bool], cost: Option<u64>) -> Cell {
        let check = |passed: &bool| CheckResult { check: "is brief".into(), passed: *passed };
        Cell {
            input: "hello".into(),
            prompt: prompt.into(),
            model: model.into(),
            round: 1,
            session_id: Some("3f2a77aa-0000-4000-8000-000000000000".into()),
            text: "\n**Hi** there.\nMore.".into(),
            spent: Spent {
                usage: Usage { input: Some(100), output: Some(20), ..Usage::default() },
                cost_micros: cost,
                duration_ms: 1500,
                steps: 1,
                ..Spent::default()
            },
            checks: checks.iter().map(check).collect(),
            ..Cell::default()
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_answer_and_sums_for_each_prompt_and_model() {
        let failed = Cell {
            error: Some("No key.".into()),
            session_id: None,
            ..cell("b", "m", &[false], None)
        };
        let report = Report::new(vec![
            cell("a", "m", &[true, true], Some(1200)),
            cell("b", "m", &[true, false], Some(0)),
            failed,
        ]);

        assert_eq!(
            report.table(),
            "input  prompt  model  checks    tokens  cost     time   session   answer\n\
             hello  a       m      2/2 ✓     120     $0.0012  1.5 s  3f2a77aa  **Hi** there.\n\
             hello  b       m      1/2 ✗     120     free     1.5 s  3f2a77aa  **Hi** there.\n    \
             ✗ is brief\n\
             hello  b       m      failed ✗  120     ?        1.5 s  –         **Hi** there.\n    \
             ✗ No key.\n\
             \n\
             prompt  model  answers  failed  checks  tokens  cost     mean time\n\
             a       m      1        0       2/2     120     $0.0012  1.5 s\n\
             b       m      2        1       1/3     240     ?        1.5 s"
        );
        assert!(!report.is_good());
        assert!(Report::new(vec![cell("a", "m", &[], None)]).is_good());
    }

    #[test]
    fn what_is_long_is_cut_and_what_could_steer_a_terminal_is_left_out() {
        assert_eq!(first_line("\x1b[31mred\x07 alert"), "[31mred alert");
        assert_eq!(first_line(&"é".repeat(100)).chars().count(), FIRST_LINE);
        assert_eq!(first_line(""), "");
    }
}
