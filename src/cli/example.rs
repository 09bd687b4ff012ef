//! Examples that come with the program: folders for `greenroom chat`, as they are in `examples/`.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A folder that can be written out.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Its files, by their paths.
    pub files: &'static [(&'static str, &'static str)],
}

/// What stands in the configurations of examples where the model is named.
const MODEL: &str = "model: demo ";

/// All of them.
pub const EXAMPLES: &[Example] = &[Example {
    name: "retirement",
    about: "A staged guide to retirement planning, with calculators and a test set.",
    files: &[
        ("config.yaml", include_str!("../../examples/retirement/config.yaml")),
        ("tools.yaml", include_str!("../../examples/retirement/tools.yaml")),
        ("tools/calculators.py", include_str!("../../examples/retirement/tools/calculators.py")),
        ("prompt-stepwise.md", include_str!("../../examples/retirement/prompt-stepwise.md")),
        (
            "prompt-conversational.md",
            include_str!("../../examples/retirement/prompt-conversational.md"),
        ),
        ("tests.yaml", include_str!("../../examples/retirement/tests.yaml")),
        ("README.md", include_str!("../../examples/retirement/README.md")),
    ],
}];

/// The example with this name.
pub fn find(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name)
}

/// The example whose tools have this one.
pub fn with_tool(name: &str) -> Option<&'static Example> {
    let entry = format!(":{name}");
    let lists = |text: &str| text.lines().any(|line| line.trim_end().ends_with(&entry));
    EXAMPLES.iter().find(|example| {
        example.files.iter().any(|(path, text)| *path == "tools.yaml" && lists(text))
    })
}

/// What is told of tools that a speaker names and that are not there; nothing when all of them are.
pub fn told_missing(speaker: &str, missing: &[String]) -> Option<String> {
    let first = missing.first()?;
    let how = match with_tool(first) {
        Some(example) => {
            format!("They come with: greenroom config init --example {}", example.name)
        }
        None => "chat/tools.yaml lists those that are: see docs/tools.md.".to_owned(),
    };
    Some(format!("{speaker} names tools that are not there: {}. {how}", missing.join(", ")))
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was written.
    Written(PathBuf),
    /// One was there already, and stays as it is.
    Kept(PathBuf),
}

impl Example {
    /// Writes the files into a folder, the configuration with this model. Nothing that is there is written
    /// over.
    pub fn write(&self, folder: &Path, model: &str) -> io::Result<Vec<Put>> {
        let mut put = Vec::with_capacity(self.files.len());
        for (path, text) in self.files {
            let text = match *path {
                "config.yaml" => text.replacen(MODEL, &format!("model: {model} "), 1),
                _ => (*text).to_owned(),
            };
            let file = folder.join(path);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            match OpenOptions::new().write(true).create_new(true).open(&file) {
                Ok(mut out) => {
                    out.write_all(text.as_bytes())?;
                    put.push(Put::Written(file));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    put.push(Put::Kept(file));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_written_out_whole_and_writes_nothing_over() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("config.yaml");
        std::fs::write(&own, "model: mine\n").unwrap();

        let put = find("retirement").unwrap().write(folder.path(), "gpt-5.1").unwrap();

        assert_eq!(put[0], Put::Kept(own.clone()));
        assert!(put[1..].iter().all(|put| matches!(put, Put::Written(_))));
        assert_eq!(std::fs::read_to_string(own).unwrap(), "model: mine\n");
        let calculators = std::fs::read_to_string(folder.path().join("tools/calculators.py"));
        assert!(calculators.unwrap().contains("def project_savings("));
        assert!(find("nothing").is_none());
        assert_eq!(with_tool("project_savings").unwrap().name, "retirement");
        assert!(with_tool("savings").is_none());
        let other = tempfile::tempdir().unwrap();
        find("retirement").unwrap().write(other.path(), "gpt-5.1").unwrap();
        let config = std::fs::read_to_string(other.path().join("config.yaml")).unwrap();
        assert!(config.contains("\nmodel: gpt-5.1 "), "{config}");
    }

    #[test]
    fn every_file_of_an_example_is_in_the_program() {
        for example in EXAMPLES {
            let folder = Path::new("examples").join(example.name);
            let mut there = files(&folder, &folder);
            let mut known: Vec<String> =
                example.files.iter().map(|(path, _)| (*path).to_owned()).collect();
            there.sort();
            known.sort();
            assert_eq!(there, known);
        }
    }

    fn files(root: &Path, folder: &Path) -> Vec<String> {
        let mut out = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                out.extend(files(root, &path));
            } else {
                out.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
        out
    }
}
