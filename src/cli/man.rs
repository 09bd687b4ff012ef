//! `greenroom man`: the pages of the manual.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::{
    Cli,
    exit::{Exit, Failure},
};

/// Print the page of a command, or write all of them to a folder.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The command, such as `chat` or `config explain`; `greenroom` itself without it.
    command: Vec<String>,

    /// Write all pages to this folder instead.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Does what the options say.
pub fn run(args: Args) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Failed, error.to_string());
    // What `help` tells of a command stands on the command's own page.
    let mut whole = without_help(Cli::command());
    whole.build();
    if let Some(dir) = args.dir {
        fs::create_dir_all(&dir).map_err(failed)?;
        write_all(&whole, &dir).map_err(failed)?;
        return Ok(Exit::Done);
    }
    let command = match args.command.join("-").as_str() {
        "" => &whole,
        name => find(&whole, name).ok_or_else(|| {
            Failure::usage(format!("There is no command “{}”.", args.command.join(" ")))
        })?,
    };
    let page = page(command).map_err(failed)?;
    io::stdout().lock().write_all(&page).map_err(failed)?;
    Ok(Exit::Done)
}

fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// The command with this name, or with a name of its own behind that of the one it belongs to:
/// `config-explain`, as its page is called.
fn find<'all>(command: &'all Command, name: &str) -> Option<&'all Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set()).find_map(|one| {
        match name.strip_prefix(one.get_name())? {
            "" => Some(one),
            rest => find(one, rest.strip_prefix('-')?),
        }
    })
}

fn write_all(command: &Command, dir: &Path) -> io::Result<()> {
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_all(one, dir)?;
    }
    fs::write(dir.join(Man::new(command.clone()).get_filename()), page(command)?)
}

/// The page of a command. What stands below its options has sections of its own.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut page = Vec::new();
    Man::new(command.clone().after_help(None::<&str>)).render(&mut page)?;
    page.extend(sections(&more).into_bytes());
    Ok(page)
}

/// A text as sections: each paragraph is one, with the line that ends with a colon above it, and its lines
/// stay as they are.
fn sections(text: &str) -> String {
    let mut out = String::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (head, lines) = match paragraph.split_once(":\n") {
            Some((head, lines)) if !head.contains('\n') => (head, lines),
            _ => ("Notes", paragraph),
        };
        let lines: Vec<String> = lines.lines().map(escaped).collect();
        let head = escaped(&head.to_uppercase());
        out.push_str(&format!(".SH \"{head}\"\n.nf\n{}\n.fi\n", lines.join("\n")));
    }
    out
}

/// A line that a formatter takes for words.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_the_options_keeps_its_headings_and_lines() {
        let text = "Examples:\n  greenroom chat --single\n      Ask.\n\nExit codes:\n.5 \\ done";

        assert_eq!(
            sections(text),
            ".SH \"EXAMPLES\"\n.nf\n  greenroom chat \\-\\-single\n      Ask.\n.fi\n\
             .SH \"EXIT CODES\"\n.nf\n\\&.5 \\e done\n.fi\n"
        );
        assert_eq!(sections(""), "");
    }
}
