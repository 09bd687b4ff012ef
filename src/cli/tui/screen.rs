//! The terminal as a screen: taken over, and given back whatever happens.

use std::{
    io::{self, Stdout, stdout},
    panic,
    sync::Once,
    thread,
};

use crossterm::{
    clipboard::CopyToClipboard,
    cursor::Show,
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute,
    style::ResetColor,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{Terminal, backend::CrosstermBackend, layout::Rect};
use rustix::process::{Signal, getpid, kill_process};

use super::{event::Mouse, render, state::State};

static GUARD_PANICS: Once = Once::new();

/// The terminal while it is ours. Dropping it gives it back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn enter() -> io::Result<Self> {
        GUARD_PANICS.call_once(guard_panics);
        take()?;
        let entered = Terminal::new(CrosstermBackend::new(stdout()));
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// How many columns and rows there are.
    pub fn size(&self) -> (u16, u16) {
        self.terminal.size().map_or((80, 24), |size| (size.width, size.height))
    }

    /// Draws the state.
    pub fn draw(&mut self, state: &State) -> io::Result<()> {
        self.terminal.draw(|frame| render::draw(frame, state)).map(drop)
    }

    /// Forgets what is on the screen, so that all of it is drawn again. Clearing would ask the terminal
    /// where the cursor is, and the answer would come among the keys.
    pub fn clear(&mut self) -> io::Result<()> {
        let (columns, rows) = self.size();
        self.terminal.resize(Rect::new(0, 0, columns, rows))
    }

    /// Gives the terminal back to the shell, and goes on when that says so.
    pub fn suspend(&self) -> io::Result<()> {
        restore();
        kill_process(getpid(), Signal::TSTP)?;
        take()
    }

    /// Hears the mouse, or leaves it to the terminal.
    pub fn mouse(&self, mouse: Mouse) -> io::Result<()> {
        match mouse {
            Mouse::Ours => execute!(stdout(), EnableMouseCapture),
            Mouse::Theirs => execute!(stdout(), DisableMouseCapture),
        }
    }

    /// Asks the terminal to keep a text for pasting (OSC 52): that works through SSH, too.
    pub fn copy(&self, text: &str) -> io::Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Takes the terminal over, or gives it back when that fails.
fn take() -> io::Result<()> {
    let taken = enable_raw_mode().and_then(|()| {
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableMouseCapture)
    });
    if taken.is_err() {
        restore();
    }
    taken
}

/// Gives the terminal back as far as that is possible: whoever hears of a failure could do no more.
fn restore() {
    disable_raw_mode().unwrap_or_default();
    let left = execute!(
        stdout(),
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        ResetColor,
        Show
    );
    left.unwrap_or_default();
}

/// A panic here is told on a terminal that was given back; one elsewhere is logged and disturbs nothing.
fn guard_panics() {
    let ours = thread::current().id();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |told| {
        if thread::current().id() == ours {
            restore();
            usual(told);
        } else {
            tracing::error!(%told, "something beside the screen panicked");
        }
    }));
}
