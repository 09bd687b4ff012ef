//! What keys do: first to what is open above, then everywhere, then to whoever has them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    command::Command,
    copied,
    event::{Effect, Mouse},
    help,
    input::{Edit, Input},
    models::Models,
    review::Review,
    sessions::{Came, Sessions},
    state::{Answer, Focus, For, Going, Leaving, Over, Pace, State, Tone},
    transcript::Towards,
    typing::{breaks_line, control, edit, letter},
};
use crate::cli::{exit::Exit, stage::NOTHING_DECIDED};

/// How many lines the wheel scrolls at once, and Ctrl with an arrow.
const FEW_LINES: isize = 3;
/// What is told while older messages are searched.
pub(super) const LOOKING_UP: &str = "Looking further up…";

impl State {
    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if control(key) == Some('c') {
            return self.interrupt();
        }
        self.leaving = Leaving::No;
        self.notice = None;
        match control(key) {
            Some('l') => return vec![Effect::Redraw],
            Some('z') => return vec![Effect::Suspend],
            _ => {}
        }
        match &mut self.over {
            Over::Nothing => {}
            Over::Help(from) => {
                match help::scroll(key, *from) {
                    Some(to) => *from = to,
                    None => self.over = Over::Nothing,
                }
                return Vec::new();
            }
            Over::Sessions(sessions) => {
                let came = sessions.key(key);
                return self.came(came);
            }
            Over::Models(models) => {
                let came = models.key(key, &self.session.id);
                return self.came(came);
            }
            Over::Review(review) => {
                let columns = usize::from(self.size.0).saturating_sub(3);
                let came = review.key(key, columns);
                return self.came(came);
            }
        }
        if let Some(effects) = self.everywhere(key) {
            return effects;
        }
        match self.focus {
            Focus::Writing => self.write(key),
            Focus::Reading => self.read(key),
            Focus::Searching { .. } => self.search(key),
        }
    }

    /// Takes a pasted text.
    pub(super) fn paste(&mut self, text: String) -> Vec<Effect> {
        match &mut self.over {
            Over::Review(review) => review.paste(text),
            Over::Sessions(sessions) => sessions.paste(&text),
            Over::Models(Models { list: Some(list) }) => {
                list.narrow(Edit::Insert(super::clean::clean_line(&text)));
            }
            Over::Nothing => match &mut self.focus {
                Focus::Writing => self.input.edit(Edit::Insert(text)),
                Focus::Reading => {}
                Focus::Searching { query, .. } => {
                    query.edit(Edit::Insert(super::clean::clean_line(&text)));
                    return self.look();
                }
            },
            Over::Help(_) | Over::Models(_) => {}
        }
        Vec::new()
    }

    /// Scrolls what is on top.
    pub(super) fn wheel(&mut self, lines: isize) {
        let lines = lines * FEW_LINES;
        match &mut self.over {
            Over::Nothing => self.transcript.scroll(lines),
            Over::Help(from) => {
                let lines = i16::try_from(lines).unwrap_or_default();
                *from = from.saturating_add_signed(lines);
            }
            Over::Sessions(Sessions { list: Some(list), .. }) => list.go(lines.signum()),
            Over::Models(Models { list: Some(list) }) => list.go(lines.signum()),
            Over::Review(review) => review.scrolled += lines,
            Over::Sessions(_) | Over::Models(_) => {}
        }
    }

    /// Ctrl-C stops the answer, closes what is open above, or empties the field, and what was written is
    /// remembered; the next one leaves.
    fn interrupt(&mut self) -> Vec<Effect> {
        if self.leaving == Leaving::Next {
            return vec![Effect::Leave(Exit::Interrupted)];
        }
        self.leaving = Leaving::Next;
        match &mut self.answer {
            Answer::Going(Going { pace: Pace::Stopping, .. })
            | Answer::Asked { pace: Pace::Stopping, .. } => {
                return vec![Effect::Leave(Exit::Interrupted)];
            }
            Answer::Going(going) => {
                going.pace = Pace::Stopping;
                let run = going.run.clone();
                self.tell("The answer is stopped and kept. Ctrl-C again leaves.", Tone::Quiet);
                return vec![Effect::Stop(run)];
            }
            Answer::Asked { pace, .. } => {
                *pace = Pace::Stopping;
                let told = "The answer is stopped as soon as it begins. Ctrl-C again leaves.";
                self.tell(told, Tone::Quiet);
                return Vec::new();
            }
            Answer::Idle => {}
        }
        if !matches!(self.over, Over::Nothing) {
            self.leaving = Leaving::No;
            self.close();
            return Vec::new();
        }
        let told = match self.input.take().trim() {
            "" => "Ctrl-C again leaves.",
            _ => "Up brings back what you wrote. Ctrl-C again leaves.",
        };
        self.tell(told, Tone::Quiet);
        Vec::new()
    }

    /// Closes what is open above. What was written there is remembered.
    fn close(&mut self) {
        if let Over::Review(review) = std::mem::replace(&mut self.over, Over::Nothing) {
            self.keep_written(review.written());
        }
    }

    fn came(&mut self, came: Came) -> Vec<Effect> {
        match came {
            Came::Stay(effects) => effects,
            Came::Close(effects) => {
                self.close();
                effects
            }
            Came::Begin => self.begin(String::new()),
            Came::TakeBack => self.take_back_decision(),
        }
    }

    /// Takes the last decision on a draft back, and then the one before it.
    fn take_back_decision(&mut self) -> Vec<Effect> {
        match self.decided.last().cloned() {
            Some((id, made)) => vec![Effect::TakeBack(id, made)],
            None => {
                self.tell(NOTHING_DECIDED, Tone::Quiet);
                Vec::new()
            }
        }
    }

    fn begin(&mut self, description: String) -> Vec<Effect> {
        vec![Effect::Begin(Box::new(self.session.clone()), description)]
    }

    fn open_sessions(&mut self) -> Vec<Effect> {
        self.over = Over::Sessions(Sessions::loading());
        vec![Effect::Sessions]
    }

    fn open_models(&mut self) -> Vec<Effect> {
        self.over = Over::Models(Models::loading());
        vec![Effect::Models]
    }

    fn open_review(&mut self) -> Vec<Effect> {
        self.over = Over::Review(Box::new(Review::loading()));
        vec![Effect::Drafts(self.session.id.clone())]
    }

    fn open_search(&mut self, words: &str) {
        let from = self.transcript.last_seen();
        self.focus = Focus::Searching { query: Input::with(words), from };
    }

    /// The keys that do the same wherever they are pressed.
    fn everywhere(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::SHIFT);
        match (key.code, control(key)) {
            (KeyCode::F(1), _) => self.over = Over::Help(0),
            (KeyCode::F(2), _) | (_, Some('o')) => return Some(self.open_sessions()),
            (KeyCode::F(3), _) | (_, Some('t')) => return Some(self.open_models()),
            (KeyCode::F(4), _) | (_, Some('r')) => return Some(self.open_review()),
            (_, Some('f')) => self.open_search(""),
            (_, Some('y')) => return Some(self.copy()),
            (KeyCode::F(5), _) => return Some(self.give_mouse()),
            (KeyCode::F(6), _) => self.problems.clear(),
            (KeyCode::PageUp, _) => self.transcript.page(-1),
            (KeyCode::PageDown, _) => self.transcript.page(1),
            (KeyCode::Up, _) if held => self.transcript.scroll(-FEW_LINES),
            (KeyCode::Down, _) if held => self.transcript.scroll(FEW_LINES),
            (KeyCode::Home, _) if held => self.transcript.to_start(),
            (KeyCode::End, _) if held => self.transcript.to_end(),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// In the field in which one writes.
    fn write(&mut self, key: KeyEvent) -> Vec<Effect> {
        let columns = self.input_columns();
        if breaks_line(key) {
            self.input.edit(Edit::Insert("\n".to_owned()));
            return Vec::new();
        }
        match (key.code, control(key)) {
            (KeyCode::Enter, _) => return self.send(),
            (_, Some('d')) if self.input.is_empty() => return vec![Effect::Leave(Exit::Done)],
            (KeyCode::Char('?'), None) if self.input.is_empty() => self.over = Over::Help(0),
            (KeyCode::Esc, _) if !self.transcript.is_empty() => {
                self.focus = Focus::Reading;
                self.transcript.select(0);
            }
            (KeyCode::Up, _) | (_, Some('p')) => self.input.up(columns),
            (KeyCode::Down, _) | (_, Some('n')) => self.input.down(columns),
            _ => edit(key).into_iter().for_each(|edit| self.input.edit(edit)),
        }
        Vec::new()
    }

    /// Says what is written, or does what it says.
    fn send(&mut self) -> Vec<Effect> {
        if self.input.text().trim().is_empty() {
            return Vec::new();
        }
        if let Some(command) = Command::read(self.input.text()) {
            self.input.take();
            return self.command(command);
        }
        match self.answer {
            Answer::Idle => {
                let words = self.input.take();
                self.say(words.trim().to_owned())
            }
            Answer::Asked { .. } | Answer::Going(_) => {
                self.tell("The answer goes on: Ctrl-C stops it, or wait.", Tone::Quiet);
                Vec::new()
            }
        }
    }

    fn command(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Help => self.over = Over::Help(0),
            Command::Leave => return vec![Effect::Leave(Exit::Done)],
            Command::Sessions => return self.open_sessions(),
            Command::Begin(description) => return self.begin(description),
            Command::Drafts => return self.open_review(),
            Command::TakeBack => return self.take_back_decision(),
            Command::Copy => return self.copy(),
            Command::Delete => return vec![Effect::Delete(self.session.id.clone())],
            Command::Search(words) => {
                self.open_search(&words);
                return self.look();
            }
            Command::Set(changes) if changes.is_empty() => return self.open_models(),
            Command::Set(changes) => {
                return vec![Effect::Change(self.session.id.clone(), changes)];
            }
            Command::Unknown(word) => {
                self.tell(format!("There is no {word}. /help says what there is."), Tone::Wrong);
            }
        }
        Vec::new()
    }

    /// In the conversation.
    fn read(&mut self, key: KeyEvent) -> Vec<Effect> {
        match (key.code, letter(key)) {
            (KeyCode::Esc | KeyCode::Enter, _) | (_, Some('i' | 'q')) => {
                self.focus = Focus::Writing;
                self.transcript.unselect();
            }
            (_, Some('j')) => self.transcript.select(1),
            (_, Some('k')) => self.transcript.select(-1),
            (KeyCode::Down, _) => self.transcript.scroll(1),
            (KeyCode::Up, _) => self.transcript.scroll(-1),
            (_, Some(' ')) => self.transcript.page(1),
            (_, Some('b')) => self.transcript.page(-1),
            (KeyCode::Home, _) | (_, Some('g')) => {
                self.transcript.select(isize::MIN);
                self.transcript.to_start();
            }
            (KeyCode::End, _) | (_, Some('G')) => {
                self.transcript.select(isize::MAX);
                self.transcript.to_end();
            }
            (_, Some('/')) => self.open_search(""),
            (_, Some('n')) => return self.look_on(Towards::Older),
            (_, Some('N')) => return self.look_on(Towards::Newer),
            (_, Some('t')) => self.transcript.toggle_details(),
            (_, Some('y')) => return self.copy(),
            (_, Some('c')) => return self.copy_code(),
            (_, Some('?')) => self.over = Over::Help(0),
            _ => {}
        }
        Vec::new()
    }

    /// In the field for what is searched.
    fn search(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Focus::Searching { query, .. } = &mut self.focus else { return Vec::new() };
        match key.code {
            KeyCode::Esc => {
                self.focus = Focus::Writing;
                self.transcript.unselect();
            }
            KeyCode::Enter => {
                self.focus = Focus::Reading;
                self.transcript.select(0);
            }
            KeyCode::Up => return self.look_on(Towards::Older),
            KeyCode::Down => return self.look_on(Towards::Newer),
            _ => {
                if let Some(edit) = edit(key) {
                    query.edit(edit);
                    return self.look();
                }
            }
        }
        Vec::new()
    }

    /// Looks for what is written, also in what is not loaded yet.
    pub(super) fn look(&mut self) -> Vec<Effect> {
        let Focus::Searching { query, from } = &self.focus else { return Vec::new() };
        if query.is_empty() || self.transcript.find(query.text(), *from) {
            return Vec::new();
        }
        let further = self.load_earlier(For::Reading);
        let told = match self.has_more_above() {
            true => LOOKING_UP,
            false => "Nobody said these words here.",
        };
        self.tell(told, Tone::Quiet);
        further.into_iter().collect()
    }

    /// Goes to the next place of what was found, also in what is not loaded yet.
    pub(super) fn look_on(&mut self, towards: Towards) -> Vec<Effect> {
        let is_first = self.transcript.has_found() && !self.transcript.has_older();
        if towards == Towards::Older && is_first && self.has_more_above() {
            self.tell(LOOKING_UP, Tone::Quiet);
            return self.load_earlier(For::NextPlace).into_iter().collect();
        }
        if !self.transcript.find_next(towards) {
            self.tell("Nothing was searched for, or nothing was found: / searches.", Tone::Quiet);
        }
        Vec::new()
    }

    /// Copies the selected message, or the last answer.
    fn copy(&mut self) -> Vec<Effect> {
        let text = self.transcript.selected().map(|message| copied::message(&message.text()));
        self.copied(
            text,
            "The message is in the terminal's clipboard.",
            "There is nothing to copy yet.",
        )
    }

    /// Copies the code in it.
    fn copy_code(&mut self) -> Vec<Effect> {
        let text = self.transcript.selected().and_then(|message| copied::code(&message.text()));
        self.copied(
            text,
            "The code is in the terminal's clipboard.",
            "There is no code in this message.",
        )
    }

    fn copied(&mut self, text: Option<String>, done: &str, not: &str) -> Vec<Effect> {
        self.tell(if text.is_some() { done } else { not }, Tone::Quiet);
        text.map(Effect::Copy).into_iter().collect()
    }

    fn give_mouse(&mut self) -> Vec<Effect> {
        let (mouse, told) = match self.mouse {
            Mouse::Ours => (Mouse::Theirs, "Drag to select text. F5: the wheel scrolls again."),
            Mouse::Theirs => (Mouse::Ours, "The wheel scrolls again."),
        };
        self.mouse = mouse;
        self.tell(told, Tone::Quiet);
        vec![Effect::Mouse(mouse)]
    }
}
