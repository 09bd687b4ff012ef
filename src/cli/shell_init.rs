//! `greenroom shell-init`: what to put in a shell's profile, so that the current session is known there.

use super::{
    chat::{HANDED_OVER, KEPT, VARIABLES, follow::print_line},
    exit::{Exit, Failure},
};

/// Print what makes a shell keep the current session in a variable.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// The shell [default: the one in SHELL].
    #[arg(value_enum)]
    shell: Option<Shell>,
}

/// The shells that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// Does what the options say.
pub fn run(args: Args) -> Result<Exit, Failure> {
    let shell = args.shell.unwrap_or_else(|| of_variable(std::env::var("SHELL").ok().as_deref()));
    let printed = print_line(text(shell).trim_end());
    printed.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(Exit::Done)
}

fn of_variable(shell: Option<&str>) -> Shell {
    match shell.and_then(|shell| shell.rsplit('/').next()) {
        Some("fish") => Shell::Fish,
        Some("zsh") => Shell::Zsh,
        _ => Shell::Bash,
    }
}

fn text(shell: Shell) -> String {
    let ([variable, _], all) = (VARIABLES, VARIABLES.join(" "));
    let told = |file: &str, command: &str| {
        format!(
            "# Keeps the current session of `greenroom chat` in {variable}. In {file}:\n#   {command}\n"
        )
    };
    match shell {
        Shell::Bash | Shell::Zsh => {
            let (file, name) = match shell {
                Shell::Zsh => ("~/.zshrc", "zsh"),
                Shell::Bash | Shell::Fish => ("~/.bashrc", "bash"),
            };
            let head = told(file, &format!("eval \"$(greenroom shell-init {name})\""));
            format!(
                r#"{head}greenroom() {{
    local file code
    file="$(mktemp)" || {{ command greenroom "$@"; return; }}
    {HANDED_OVER}="$file" command greenroom "$@"
    code=$?
    case "$(cat "$file")" in
        "") ;;
        -) unset {all} {KEPT} ;;
        *) export {variable}="$(cat "$file")"; export {KEPT}="${variable}" ;;
    esac
    rm -f "$file"
    return $code
}}
"#
            )
        }
        Shell::Fish => {
            let head = told("~/.config/fish/config.fish", "greenroom shell-init fish | source");
            format!(
                r#"{head}function greenroom
    set -l file (mktemp); or begin; command greenroom $argv; return; end
    {HANDED_OVER}=$file command greenroom $argv
    set -l code $status
    set -l session (cat $file)
    switch "$session"
        case ""
        case -
            set -e {all} {KEPT}
        case "*"
            set -gx {variable} $session
            set -gx {KEPT} $session
    end
    rm -f $file
    return $code
end
"#
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_is_known_by_its_path() {
        assert_eq!(of_variable(Some("/usr/bin/fish")), Shell::Fish);
        assert_eq!(of_variable(Some("/bin/zsh")), Shell::Zsh);
        assert_eq!(of_variable(Some("/bin/dash")), Shell::Bash);
        assert_eq!(of_variable(None), Shell::Bash);
    }
}
