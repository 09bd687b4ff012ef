//! `config.yaml`: what new sessions speak with. What is wrong with it is told with the line.

use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::{
    cli::exit::{Exit, Failure},
    domain::{
        error::ApiError,
        terminal::{
            MAX_WINDOW_SIZE, ManagerKind, PERSONA, Speaker, SystemPrompt, TerminalChanges,
            TerminalSettings, WINDOW_SIZE,
        },
    },
};

/// The keys that must be there.
pub const REQUIRED: [&str; 3] = ["model", "window_size", "should_truncate_results"];
/// The keys that may be there.
pub const OPTIONAL: [&str; 3] = ["conversation_manager", "system_prompt", "system_prompt_file"];

/// The file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub settings: TerminalSettings,
    /// The line of each key that it has.
    pub lines: Vec<(&'static str, usize)>,
    /// What is odd about it and does no harm, as sentences.
    pub warnings: Vec<String>,
}

impl SettingsFile {
    /// Where a value stands, for people.
    pub fn place_of(&self, key: &str) -> Option<String> {
        let known = self.lines.iter().find(|(known, _)| *known == key)?;
        Some(format!("{}, line {}", self.path.display(), known.1))
    }

    /// What a session begins with that options say this of: a persona that they name speaks with its own
    /// prompt, and not with the one that is here for everybody.
    pub fn settings_beside(&self, flags: &TerminalChanges) -> TerminalSettings {
        let named = flags.model.as_deref().is_some_and(|model| model.trim().starts_with(PERSONA));
        let prompt = self.settings.system_prompt.clone().filter(|_| !named);
        TerminalSettings { system_prompt: prompt, ..self.settings.clone() }
    }
}

/// Where the file is unless somebody says otherwise.
pub fn default_path(chat_folder: &Path) -> PathBuf {
    chat_folder.join("config.yaml")
}

/// Reads the file. All that is wrong with it is told at once.
pub fn read(path: &Path) -> Result<SettingsFile, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let message = format!(
                "There is no configuration at {}. It needs {}. Make one with: greenroom config init",
                path.display(),
                REQUIRED.join(", ")
            );
            return Err(Failure::new(Exit::Configuration, message));
        }
        Err(error) => {
            let message = format!("{} cannot be read: {error}.", path.display());
            return Err(Failure::new(Exit::Configuration, message));
        }
    };
    parse(path, &text)
        .map_err(|problems| Failure::new(Exit::Configuration, problems.join("\ngreenroom: ")))
}

/// What a file says, or everything that is wrong with it.
pub fn parse(path: &Path, text: &str) -> Result<SettingsFile, Vec<String>> {
    let shown = path.display();
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        vec![format!("{shown}, line {}: this is no YAML: {}.", error.marker().line(), error.info())]
    })?;
    let mut reading = Reading {
        path,
        settings: TerminalSettings { window_size: WINDOW_SIZE, ..TerminalSettings::default() },
        lines: Vec::new(),
        warnings: Vec::new(),
        problems: Vec::new(),
    };
    match documents.first().map(|document| &document.data) {
        None | Some(YamlData::Value(Scalar::Null)) => {}
        Some(YamlData::Mapping(entries)) => {
            for (key, value) in entries {
                reading.entry(key, value);
            }
        }
        Some(_) => return Err(vec![format!("{shown} must have keys with values.")]),
    }
    reading.finish()
}

struct Reading<'file> {
    path: &'file Path,
    settings: TerminalSettings,
    lines: Vec<(&'static str, usize)>,
    warnings: Vec<String>,
    problems: Vec<String>,
}

impl Reading<'_> {
    fn entry(&mut self, key: &MarkedYaml<'_>, value: &MarkedYaml<'_>) {
        let line = key.span.start.line();
        let place = format!("{}, line {line}", self.path.display());
        let name = match &key.data {
            YamlData::Value(Scalar::String(name)) => name.as_ref(),
            _ => {
                return self
                    .warnings
                    .push(format!("{place}: this key is no word and is not used."));
            }
        };
        let known = REQUIRED.into_iter().chain(OPTIONAL).find(|known| *known == name);
        let Some(known) = known else {
            let all = REQUIRED.into_iter().chain(OPTIONAL).collect::<Vec<_>>().join(", ");
            let told = format!("{place}: “{name}” is not known and not used. Known are: {all}.");
            return self.warnings.push(told);
        };
        self.lines.push((known, line));
        match self.take(known, value) {
            Ok(()) => {
                let refused = self.check(known).err();
                self.problems.extend(refused.map(|error| format!("{place}: {error}")));
            }
            Err(wanted) => self.problems.push(format!("{place}: {known} must be {wanted}.")),
        }
    }

    /// Refuses a value that was taken, and that no session can have.
    fn check(&self, key: &str) -> Result<(), ApiError> {
        let TerminalSettings { model, system_prompt, .. } = &self.settings;
        match key {
            "model" => {
                Speaker::parse(model)?;
                let model = Some(model.clone());
                TerminalChanges { model, ..TerminalChanges::default() }.check()
            }
            "system_prompt" | "system_prompt_file" => {
                let system_prompt = system_prompt.clone();
                TerminalChanges { system_prompt, ..TerminalChanges::default() }.check()
            }
            _ => Ok(()),
        }
    }

    /// Takes a value; what it should be when it is something else.
    fn take(&mut self, key: &str, value: &MarkedYaml<'_>) -> Result<(), String> {
        let scalar = match &value.data {
            YamlData::Value(scalar) => Some(scalar),
            _ => None,
        };
        let text = match scalar {
            Some(Scalar::String(text)) if !text.trim().is_empty() => Some(text.as_ref()),
            _ => None,
        };
        let settings = &mut self.settings;
        match key {
            "model" => {
                let wanted = "a model's name, such as demo or gpt-5.1";
                settings.model = text.ok_or(wanted)?.trim().to_owned();
            }
            "window_size" => {
                let size = match scalar {
                    Some(Scalar::Integer(size)) => u32::try_from(*size).ok(),
                    _ => None,
                };
                let size = size.filter(|size| (1..=MAX_WINDOW_SIZE).contains(size));
                let wanted = || format!("a whole number from 1 to {MAX_WINDOW_SIZE}");
                settings.window_size = size.ok_or_else(wanted)?;
            }
            "should_truncate_results" => match scalar {
                Some(Scalar::Boolean(cut)) => settings.should_truncate_results = *cut,
                _ => return Err("true or false".into()),
            },
            "conversation_manager" => {
                let wanted = || ManagerKind::ALL.map(ManagerKind::word).join(" or ");
                let manager = text.and_then(ManagerKind::from_word);
                settings.conversation_manager = manager.ok_or_else(wanted)?;
            }
            "system_prompt" => {
                let prompt = text.ok_or("a text")?;
                settings.system_prompt = Some(SystemPrompt::inline(prompt.trim_end()));
            }
            "system_prompt_file" => {
                let named = text.ok_or("the path of a file")?;
                // It is meant from where the file stands that names it.
                let path = self.path.parent().unwrap_or(Path::new("")).join(named);
                let words = std::fs::read_to_string(&path).map_err(|error| {
                    format!("a file that can be read ({}: {error})", path.display())
                })?;
                let path = path.display().to_string();
                settings.system_prompt = Some(SystemPrompt::file(words.trim_end(), path));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<SettingsFile, Vec<String>> {
        let has = |key: &str| self.lines.iter().any(|(known, _)| *known == key);
        let missing: Vec<&str> = REQUIRED.into_iter().filter(|key| !has(key)).collect();
        if !missing.is_empty() {
            let told = format!(
                "{} lacks {}. Add what is missing, or make a new one with: greenroom config init",
                self.path.display(),
                missing.join(", ")
            );
            self.problems.insert(0, told);
        }
        if has("system_prompt") && has("system_prompt_file") {
            let told = format!(
                "{} has both system_prompt and system_prompt_file, and a session has one prompt.",
                self.path.display()
            );
            self.problems.push(told);
        }
        match self.problems.is_empty() {
            true => Ok(SettingsFile {
                path: self.path.to_owned(),
                settings: self.settings,
                lines: self.lines,
                warnings: self.warnings,
            }),
            false => Err(self.warnings.into_iter().chain(self.problems).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<SettingsFile, Vec<String>> {
        parse(Path::new("c.yaml"), text)
    }

    #[test]
    fn a_good_file_is_read_with_the_lines_of_its_keys() {
        let text = "# ours\nmodel: gpt-5.1\nwindow_size: 7\n\nshould_truncate_results: false\n\
                    conversation_manager: summarizing\nsystem_prompt: |\n  Be brief.\n  Be kind.\n";
        let file = parsed(text).unwrap();

        assert_eq!(
            file.settings,
            TerminalSettings {
                model: "gpt-5.1".into(),
                window_size: 7,
                should_truncate_results: false,
                conversation_manager: ManagerKind::Summarizing,
                system_prompt: Some(SystemPrompt::inline("Be brief.\nBe kind.")),
            }
        );
        assert_eq!(file.place_of("should_truncate_results").unwrap(), "c.yaml, line 5");
        assert_eq!(file.place_of("system_prompt_file"), None);
        assert!(file.warnings.is_empty());
    }

    #[test]
    fn every_missing_key_is_named_at_once() {
        for text in ["", "# nothing\n", "{}"] {
            let problems = parsed(text).unwrap_err();
            assert_eq!(problems.len(), 1, "{problems:?}");
            for key in REQUIRED {
                assert!(problems[0].contains(key), "{problems:?}");
            }
        }
        let problems = parsed("model: demo\n").unwrap_err();
        assert!(problems[0].contains("lacks window_size, should_truncate_results"), "{problems:?}");
    }

    #[test]
    fn unknown_keys_are_warned_about_and_wrong_values_refused_with_their_line() {
        let file =
            parsed("model: demo\ntemprature: 1\nwindow_size: 2\nshould_truncate_results: true\n");
        let warnings = file.unwrap().warnings;
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("c.yaml, line 2: “temprature”"), "{warnings:?}");

        let problems = parsed("model: [a]\nwindow_size: many\nshould_truncate_results: \"yes\"\n")
            .unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].starts_with("c.yaml, line 1: model must be"), "{problems:?}");
        assert!(problems[1].contains("line 2: window_size must be a whole number from 1 to 1000"));
        assert!(problems[2].contains("line 3: should_truncate_results must be true or false"));
        let zero = parsed("model: demo\nwindow_size: 0\nshould_truncate_results: true\n");
        assert!(zero.unwrap_err()[0].contains("line 2"));
    }

    #[test]
    fn what_no_session_can_have_is_refused_with_its_line() {
        let text = |model: &str, prompt: &str| {
            format!(
                "window_size: 2\nmodel: \"{model}\"\nshould_truncate_results: true\n\
                 system_prompt: {prompt}\n"
            )
        };

        assert!(parsed(&text("persona:ann@live", "Be brief.")).is_ok());
        assert_eq!(
            parsed(&text("persona:", "Be brief.")).unwrap_err(),
            ["c.yaml, line 2: A persona is named as persona:ID or persona:ID@LABEL."]
        );
        let problems = parsed(&text(&"m".repeat(201), &"p".repeat(100_001))).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("c.yaml, line 2: The model is too long"), "{problems:?}");
        assert!(problems[1].starts_with("c.yaml, line 4: The system prompt is too long"));
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        let problems = parsed("model: demo\n  window_size: [\n").unwrap_err();
        assert!(problems[0].contains("is no YAML"), "{problems:?}");
        assert!(parsed("- a\n- b\n").unwrap_err()[0].contains("keys with values"));
    }
}
