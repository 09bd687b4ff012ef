//! A terminal on a screen that nobody looks at: keys are pressed in it, and what is seen can be read.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use super::program::{PATIENCE, Room};

/// A terminal in which a command runs. When that has ended, its code is shown.
pub struct Window {
    socket: String,
}

impl Drop for Window {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

impl Window {
    /// `greenroom chat` with these options in a terminal of the usual size.
    pub fn open(room: &Room, options: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_greenroom");
        Self::of(room, &format!("'{program}' chat {options}; echo \"left with $?\"; exec cat"))
    }

    /// What a shell does in such a terminal.
    pub fn of(room: &Room, line: &str) -> Self {
        let window = Self { socket: format!("greenroom-{}", uuid::Uuid::new_v4().simple()) };
        let mut command = Command::new("tmux");
        // The program finds the surroundings of the room.
        for (name, value) in room.command(&[]).get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let size = ["-x", "80", "-y", "24"];
        let opened = command
            .current_dir(room.path(""))
            .env_remove("TMUX")
            .env_remove("NO_COLOR")
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .args(["-u", "-L", &window.socket, "-f", "/dev/null", "new-session", "-d"])
            .args(size)
            .arg(line)
            .args([";", "set-option", "-g", "set-clipboard", "on"])
            .stderr(Stdio::inherit())
            .status();
        assert!(opened.expect("tmux is not installed").success());
        window
    }

    /// What tmux answers to this.
    pub fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env("LC_ALL", "C.UTF-8").args(["-u", "-L", &self.socket]);
        let output = command.args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys by their names.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types as it is, without keys that have names.
    pub fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// What is on the screen.
    pub fn seen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as it should be, and says what is seen then.
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let seen = self.seen();
            if is_so(&seen) {
                return seen;
            }
            assert!(began.elapsed() < PATIENCE, "no {what:?} came:\n{seen}");
        }
    }

    /// Waits until this is seen.
    pub fn sees(&self, text: &str) -> String {
        self.until(text, |seen| seen.contains(text))
    }

    /// Makes the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// What the terminal says about itself.
    pub fn shown(&self, format: &str) -> String {
        self.tmux(&["display-message", "-p", format]).trim().to_owned()
    }

    /// Waits for the end, sees that the terminal is as it was, and says what was printed last.
    pub fn left(&self) -> String {
        self.left_with(0)
    }

    /// The same for an end with this code.
    pub fn left_with(&self, code: u8) -> String {
        let seen = self.sees(&format!("left with {code}"));
        assert_eq!(self.shown("#{alternate_on} #{mouse_any_flag} #{cursor_flag}"), "0 0 1");
        seen
    }
}
