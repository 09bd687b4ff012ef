//! The options that are settings: they are kept with the session.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::{
    cli::exit::{Exit, Failure},
    domain::terminal::{ManagerKind, SystemPrompt, TerminalChanges},
};

/// The options that are settings.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Settings, kept with the session")]
pub struct SettingFlags {
    /// The model: gpt-5.1, gemini-2.5-pro, claude-…, demo, ollama/NAME, or persona:ID[@LABEL].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// How many exchanges the model is sent, the last one included.
    #[arg(long, value_name = "N")]
    pub window_size: Option<u32>,

    /// Whether long results of tools are cut in earlier exchanges: true or false.
    #[arg(long, value_name = "BOOL", value_parser = yes_or_no)]
    pub should_truncate_results: Option<bool>,

    /// Who decides what is sent: sliding_window, or summarizing.
    #[arg(long, value_name = "MANAGER", value_parser = manager())]
    pub conversation_manager: Option<ManagerKind>,

    /// What the model is told before all else.
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,

    /// A file with what the model is told before all else.
    #[arg(long, value_name = "FILE")]
    pub system_prompt_file: Option<PathBuf>,
}

impl SettingFlags {
    /// What they set.
    pub fn changes(&self) -> Result<TerminalChanges, Failure> {
        let system_prompt = match (&self.system_prompt, &self.system_prompt_file) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    "A session has one system prompt: give --system-prompt or \
                     --system-prompt-file, and not both.",
                ));
            }
            (Some(text), None) => Some(SystemPrompt::inline(text.clone())),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    let told = format!("The prompt {} cannot be read: {error}.", path.display());
                    Failure::new(Exit::NotFound, told)
                })?;
                Some(SystemPrompt::file(text.trim_end(), path.display().to_string()))
            }
            (None, None) => None,
        };
        Ok(TerminalChanges {
            description: None,
            model: self.model.clone(),
            window_size: self.window_size,
            should_truncate_results: self.should_truncate_results,
            conversation_manager: self.conversation_manager,
            system_prompt,
        })
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err("it is true or false".into()),
    }
}

/// Shells complete what is listed here.
fn manager() -> impl TypedValueParser<Value = ManagerKind> {
    PossibleValuesParser::new(ManagerKind::ALL.map(ManagerKind::word))
        .map(|word| ManagerKind::from_word(&word).unwrap_or_default())
}
