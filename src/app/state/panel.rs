//! The panel in which an agent's answers stand: when it shows itself, and when it goes away.
//!
//! It goes away by itself only when nothing in it waits for an answer, and never while somebody points
//! at it or has the cursor in it.

use crate::domain::news::News;

/// How long the panel stays after the last word, in seconds, unless the person says otherwise.
pub const PATIENCE: u32 = 5;
/// The least and the most that it may be.
const BOUNDS: (u32, u32) = (2, 30);
/// What a person may choose: seconds, or 0 for "until I close it".
pub const CHOICES: [u32; 6] = [2, 5, 10, 20, 30, 0];

/// How the panel stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Only its tab is there.
    #[default]
    Hidden,
    /// It lies over the page, and goes away by itself.
    Visible,
    /// It stands beside the page until it is closed.
    Pinned,
}

impl Shown {
    /// The word in the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Visible => "visible",
            Self::Pinned => "pinned",
        }
    }
}

/// Something that happens to the panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The person sent a message.
    Sent,
    /// The agent says or does something.
    Streamed,
    /// An answer is whole.
    Answered,
    /// The pointer or the cursor came in.
    Touched,
    /// Both went out again.
    Left,
    /// The panel was silent for as long as the person has patience.
    Silence,
    /// A click in the panel.
    ClickedInside,
    /// A click elsewhere.
    ClickedAway,
    /// Esc, or the button that closes it.
    Dismissed,
    /// "Show output".
    Asked,
    /// Something began or ceased to wait for an answer: a run that goes on, a draft, a question.
    Waits(bool),
    /// The person chose how long it stays, or a browser remembers it; 0 is for ever.
    Patience(u32),
}

/// What to do with the clock after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Ring after this many milliseconds, counted from now.
    Restart(u32),
    /// Do not ring.
    Stop,
    /// As it was.
    Keep,
}

/// What is heard of an answer that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// There is more of it.
    More,
    /// It is whole.
    Over,
    /// Nothing more is heard, and nobody knows how it stands.
    Lost,
}

/// What stands in the panel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InRail {
    /// The conversation.
    pub conversation: String,
    /// The run that goes on.
    pub run: String,
    /// The run that ended last, when none goes on.
    pub ended: String,
    /// Who listens.
    pub name: String,
}

impl InRail {
    /// Whether a run that began or ended belongs to what stands in the panel on this page.
    pub fn is_told_by(&self, news: &News, at: &str) -> bool {
        if self.conversation.is_empty() {
            // Nothing is loaded, or nothing was said yet: whoever listens here tells.
            let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
            return match news.talks_at.as_str() {
                "" => false,
                "/" => !at.starts_with("/personas/"),
                page => at.strip_prefix(page).is_some_and(is_below),
            };
        }
        news.conversation_id.as_ref().is_some_and(|id| id.as_str() == self.conversation)
    }
}

/// The panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// How it stands.
    pub shown: Shown,
    /// How much happened while it was hidden.
    pub unseen: u32,
    /// How long it stays, in seconds; 0 is for ever.
    pub patience: u32,
    waits: bool,
    touched: bool,
}

impl Default for Panel {
    fn default() -> Self {
        Self { shown: Shown::Hidden, unseen: 0, patience: PATIENCE, waits: false, touched: false }
    }
}

impl Panel {
    /// Takes in one event, and says what the clock does.
    pub fn on(&mut self, event: Event) -> Clock {
        match event {
            Event::Sent if self.shown == Shown::Hidden => self.show(Shown::Visible),
            Event::Answered if self.shown == Shown::Hidden => self.unseen += 1,
            Event::Sent | Event::Streamed | Event::Answered => {}
            Event::Touched => self.touched = true,
            Event::Left => self.touched = false,
            Event::Waits(waits) => self.waits = waits,
            Event::Patience(0) => self.patience = 0,
            Event::Patience(seconds) => self.patience = seconds.clamp(BOUNDS.0, BOUNDS.1),
            Event::Silence => {
                if self.shown == Shown::Visible && self.may_go() {
                    self.shown = Shown::Hidden;
                }
            }
            Event::ClickedInside if self.shown == Shown::Visible => self.show(Shown::Pinned),
            Event::ClickedInside => {}
            Event::ClickedAway | Event::Dismissed => {
                self.shown = Shown::Hidden;
                self.touched = false;
            }
            Event::Asked => self.show(Shown::Pinned),
        }
        match self.shown {
            Shown::Visible if self.may_go() && event != Event::Silence => {
                Clock::Restart(self.patience * 1000)
            }
            Shown::Visible if event == Event::Silence => Clock::Keep,
            Shown::Hidden | Shown::Visible | Shown::Pinned => Clock::Stop,
        }
    }

    fn show(&mut self, shown: Shown) {
        self.shown = shown;
        self.unseen = 0;
    }

    /// Whether nothing holds it.
    fn may_go(&self) -> bool {
        !self.waits && !self.touched && self.patience > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panel after these events, and what the clock was told last.
    fn after(events: &[Event]) -> (Panel, Clock) {
        let mut panel = Panel::default();
        let mut clock = Clock::Keep;
        for event in events {
            clock = panel.on(*event);
        }
        (panel, clock)
    }

    fn shown(events: &[Event]) -> Shown {
        after(events).0.shown
    }

    #[test]
    fn sending_a_message_shows_a_hidden_panel() {
        let (panel, clock) = after(&[Event::Sent]);

        assert_eq!((panel.shown, clock), (Shown::Visible, Clock::Restart(5000)));
    }

    #[test]
    fn every_sign_of_life_starts_the_time_anew() {
        assert_eq!(after(&[Event::Sent, Event::Streamed]).1, Clock::Restart(5000));
        assert_eq!(after(&[Event::Sent, Event::Touched, Event::Left]).1, Clock::Restart(5000));
    }

    #[test]
    fn the_time_stands_still_while_somebody_points_at_it() {
        let (panel, clock) = after(&[Event::Sent, Event::Touched]);
        assert_eq!((panel.shown, clock), (Shown::Visible, Clock::Stop));

        assert_eq!(shown(&[Event::Sent, Event::Touched, Event::Silence]), Shown::Visible);
    }

    #[test]
    fn silence_hides_it() {
        assert_eq!(shown(&[Event::Sent, Event::Silence]), Shown::Hidden);
    }

    #[test]
    fn what_is_unanswered_is_never_hidden_by_itself() {
        let waiting = [Event::Sent, Event::Waits(true), Event::Silence];
        assert_eq!(shown(&waiting), Shown::Visible);
        assert_eq!(after(&waiting[..2]).1, Clock::Stop);

        let answered = [Event::Sent, Event::Waits(true), Event::Waits(false)];
        assert_eq!(after(&answered).1, Clock::Restart(5000));
    }

    #[test]
    fn a_click_inside_pins_it_and_then_no_time_runs() {
        let (panel, clock) = after(&[Event::Sent, Event::ClickedInside]);

        assert_eq!((panel.shown, clock), (Shown::Pinned, Clock::Stop));
        assert_eq!(shown(&[Event::Sent, Event::ClickedInside, Event::Silence]), Shown::Pinned);
        assert_eq!(shown(&[Event::Sent, Event::ClickedInside, Event::Sent]), Shown::Pinned);
    }

    #[test]
    fn a_click_away_esc_and_the_button_hide_it_however_it_stands() {
        for away in [Event::ClickedAway, Event::Dismissed] {
            assert_eq!(shown(&[Event::Sent, away]), Shown::Hidden);
            assert_eq!(shown(&[Event::Asked, away]), Shown::Hidden);
            assert_eq!(after(&[Event::Sent, away]).1, Clock::Stop);
        }
    }

    #[test]
    fn show_output_pins_it_and_everything_is_seen() {
        let (panel, _) =
            after(&[Event::Streamed, Event::Answered, Event::Streamed, Event::Answered]);
        assert_eq!((panel.shown, panel.unseen), (Shown::Hidden, 2));

        let (panel, clock) = after(&[Event::Answered, Event::Asked]);
        assert_eq!((panel.shown, panel.unseen, clock), (Shown::Pinned, 0, Clock::Stop));
    }

    #[test]
    fn the_patience_is_between_two_and_thirty_seconds_whatever_a_browser_remembers() {
        for (remembered, seconds) in
            [(1, 2), (2, 2), (3, 3), (29, 29), (30, 30), (31, 30), (4_294_968, 30), (u32::MAX, 30)]
        {
            let (panel, clock) = after(&[Event::Patience(remembered), Event::Sent]);
            assert_eq!(
                (panel.patience, clock),
                (seconds, Clock::Restart(seconds * 1000)),
                "{remembered}"
            );
        }
        assert!(
            CHOICES
                .into_iter()
                .all(|choice| { after(&[Event::Patience(choice)]).0.patience == choice })
        );
        let bounded: Vec<u32> = CHOICES.into_iter().filter(|choice| *choice > 0).collect();
        assert_eq!((bounded.iter().min(), bounded.iter().max()), (Some(&2), Some(&30)));
        assert!(CHOICES.contains(&0) && CHOICES.contains(&PATIENCE));
    }

    #[test]
    fn another_patience_counts_from_now_on() {
        let (_, clock) = after(&[Event::Sent, Event::Patience(2)]);
        assert_eq!(clock, Clock::Restart(2000));
        let (panel, clock) = after(&[Event::Sent, Event::Patience(0)]);
        assert_eq!((panel.shown, clock), (Shown::Visible, Clock::Stop));
        // What waits is not hidden by a short patience either.
        let waiting = [Event::Sent, Event::Waits(true), Event::Patience(2), Event::Silence];
        assert_eq!((shown(&waiting), after(&waiting[..3]).1), (Shown::Visible, Clock::Stop));
    }

    #[test]
    fn a_run_elsewhere_belongs_to_the_panel_of_the_page_that_listens_to_its_conversation() {
        let run = |conversation: &str, talks_at: &str| News {
            conversation_id: Some(conversation.into()),
            talks_at: talks_at.into(),
            ..News::default()
        };
        let (editor, companion) = (run("c1", "/personas/ann"), run("c2", "/"));
        let chat = run("c3", "");
        let told = |shown: &InRail, at: &str| {
            [&editor, &companion, &chat].map(|news| shown.is_told_by(news, at))
        };

        let unloaded = InRail::default();
        assert_eq!(told(&unloaded, "/personas/ann"), [true, false, false]);
        assert_eq!(told(&unloaded, "/personas/ann/roleplay"), [true, false, false]);
        assert_eq!(told(&unloaded, "/personas/anna"), [false, false, false]);
        for at in ["/", "/inbox", "/chats/c3", "/pages/p1"] {
            assert_eq!(told(&unloaded, at), [false, true, false], "{at}");
        }
        // An older conversation may stand there.
        let older = InRail { conversation: "c0".into(), ..InRail::default() };
        assert_eq!(told(&older, "/personas/ann"), [false, false, false]);
        let loaded = InRail { conversation: "c1".into(), ..InRail::default() };
        assert_eq!(told(&loaded, "/personas/ann"), [true, false, false]);
    }

    #[test]
    fn the_patience_can_be_chosen_and_switched_off() {
        assert_eq!(after(&[Event::Patience(30), Event::Sent]).1, Clock::Restart(30_000));
        let (panel, clock) = after(&[Event::Patience(0), Event::Sent, Event::Silence]);
        assert_eq!((panel.shown, clock), (Shown::Visible, Clock::Keep));
        assert_eq!(after(&[Event::Patience(0), Event::Sent]).1, Clock::Stop);
    }
}
