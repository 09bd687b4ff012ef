//! One message as lines: who says it, what is said, and what came of it.

use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use crate::domain::{
    error::ApiError,
    message::{BROKE_OFF, Message, PartBody, Role, ToolCall, ToolResult},
    run::{RunStatus, StopReason},
};

use super::{
    clean::{clean, clean_line, fit},
    markdown,
    theme::Theme,
    wrap::{Breaks, Margin, wrap},
};

/// The most lines of a tool's words that are shown, even when all of them are asked for.
const MOST_OF_A_TOOL: usize = 60;

/// How much of thoughts and tools is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Details {
    /// A line each.
    #[default]
    Folded,
    /// All of it.
    Open,
}

/// How an answer ended, when that is worth saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A person stopped it.
    Stopped,
    /// It did not come to its end; why is not known any more.
    BrokeOff,
    /// It could not go on.
    Failed(String),
}

impl Ending {
    /// What is worth saying about a run that is over.
    pub fn of(status: RunStatus, error: Option<&ApiError>) -> Option<Self> {
        match (status, error) {
            (RunStatus::Stopped, _) => Some(Self::Stopped),
            (_, Some(error)) => Some(Self::Failed(error.to_string())),
            (RunStatus::Failed, None) => Some(Self::Failed("The answer failed.".to_owned())),
            (RunStatus::Interrupted, None) => {
                Some(Self::Failed("The answer was interrupted.".to_owned()))
            }
            (RunStatus::Queued | RunStatus::Running | RunStatus::Done, None) => None,
        }
    }
}

/// A message as the conversation keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What is said.
    pub message: Message,
    /// How it ended.
    pub ending: Option<Ending>,
}

impl Entry {
    /// A message that is being said, or ended as messages do.
    pub fn new(message: Message) -> Self {
        Self { message, ending: None }
    }

    /// A message as it was kept.
    pub fn kept(message: Message) -> Self {
        let ending = message.broke_off().then_some(Ending::BrokeOff);
        Self { message, ending }
    }

    /// All that may be read in it, for a search.
    pub fn words(&self) -> String {
        let mut out = speaker(&self.message);
        for part in &self.message.parts {
            out.push('\n');
            match &part.body {
                PartBody::Text(text) | PartBody::Reasoning(text) => out.push_str(text),
                PartBody::ToolCall(call) => {
                    out.push_str(&call.name);
                    out.push_str(&call.input.to_string());
                }
                PartBody::ToolResult(result) => out.push_str(&result.output),
            }
        }
        out
    }

    /// Its lines, the blank one behind it included.
    pub fn lines(&self, columns: usize, theme: Theme, details: Details) -> Vec<Line<'static>> {
        let name = match self.message.role {
            Role::User => theme.person(),
            Role::Assistant => theme.speaker(),
        };
        let mut out = vec![Line::from(Span::styled(fit(&speaker(&self.message), columns), name))];
        for part in &self.message.parts {
            match &part.body {
                PartBody::Text(text) => match self.message.role {
                    Role::User => out.extend(plain(text, columns, theme.text())),
                    Role::Assistant => out.extend(markdown::lines(text, columns, theme)),
                },
                PartBody::Reasoning(text) => out.extend(thoughts(text, columns, theme, details)),
                PartBody::ToolCall(call) => out.extend(called(call, columns, theme, details)),
                PartBody::ToolResult(result) => out.extend(gave(result, columns, theme, details)),
            }
        }
        out.extend(self.afterwards(columns, theme));
        out.push(Line::default());
        out
    }

    /// What is said below an answer.
    fn afterwards(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        match &self.ending {
            Some(Ending::Stopped) => {
                out.extend(plain("Stopped. What was said is kept.", columns, theme.quiet()));
            }
            Some(Ending::BrokeOff) => out.extend(plain(BROKE_OFF, columns, theme.quiet())),
            Some(Ending::Failed(why)) => out.extend(plain(why, columns, theme.wrong())),
            None => {}
        }
        let cut = match self.message.stop {
            // How it ended is said already.
            _ if self.ending.is_some() => None,
            Some(StopReason::MaxTokens) => Some("The answer is cut off: it came to its limit."),
            Some(StopReason::Limit) => Some("A limit was reached."),
            Some(StopReason::Other) => Some("The model stopped here."),
            Some(StopReason::Refusal) => Some("The model refused."),
            Some(StopReason::ContextExceeded) => {
                Some("The conversation is longer than the model can read.")
            }
            Some(
                StopReason::EndTurn
                | StopReason::StopSequence
                | StopReason::ToolUse
                | StopReason::PauseTurn,
            )
            | None => None,
        };
        out.extend(cut.into_iter().flat_map(|told| plain(told, columns, theme.wrong())));
        if self.message.spent.steps > 0 {
            out.extend(plain(&self.message.spent.told(), columns, theme.quiet()));
        }
        out
    }
}

fn speaker(message: &Message) -> String {
    match message.role {
        Role::User => "You".to_owned(),
        Role::Assistant if message.model.is_empty() => "Answer".to_owned(),
        Role::Assistant => clean_line(&message.model),
    }
}

/// Words as they were written.
fn plain(text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let pieces = [(clean(text).trim_end().to_owned(), style)];
    wrap(&pieces, columns, &Margin::default(), Breaks::Words)
}

fn thoughts(text: &str, columns: usize, theme: Theme, details: Details) -> Vec<Line<'static>> {
    let style = theme.quiet().add_modifier(Modifier::ITALIC);
    match details {
        _ if text.trim().is_empty() => Vec::new(),
        Details::Folded => {
            vec![Line::from(Span::styled(fit(&format!("… {}", clean_line(text)), columns), style))]
        }
        Details::Open => plain(text, columns, style),
    }
}

fn called(call: &ToolCall, columns: usize, theme: Theme, details: Details) -> Vec<Line<'static>> {
    let told = format!("→ {} {}", clean_line(&call.name), clean_line(&call.input.to_string()));
    match details {
        Details::Folded => vec![Line::from(Span::styled(fit(&told, columns), theme.code()))],
        Details::Open => shortened(plain(&told, columns, theme.code()), theme),
    }
}

fn gave(result: &ToolResult, columns: usize, theme: Theme, details: Details) -> Vec<Line<'static>> {
    let style = if result.is_error { theme.wrong() } else { theme.quiet() };
    let mut out = match details {
        Details::Folded => {
            let told = format!("← {}", clean_line(&result.output));
            vec![Line::from(Span::styled(fit(&told, columns), style))]
        }
        Details::Open => shortened(plain(&format!("← {}", result.output), columns, style), theme),
    };
    if result.change_id.is_some() {
        out.extend(plain("A draft came of it: Ctrl-R reviews drafts.", columns, theme.good()));
    }
    out
}

fn shortened(mut lines: Vec<Line<'static>>, theme: Theme) -> Vec<Line<'static>> {
    if lines.len() > MOST_OF_A_TOOL {
        let more = format!("… {} more lines", lines.len() - MOST_OF_A_TOOL);
        lines.truncate(MOST_OF_A_TOOL);
        lines.push(Line::from(Span::styled(more, theme.quiet())));
    }
    lines
}
