//! A picture: asked for by a person or by a chat, and made by an image service while nobody waits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    budget::micros,
    error::ApiError,
    field::TextField,
    id::{ConversationId, MessageId, PersonaId, PictureId},
    run::told_dollars,
    timestamp::Timestamp,
};

/// What a picture shows, in words.
pub const PROMPT: TextField = TextField { name: "prompt", label: "The prompt", max_chars: 4000 };
/// The image model, as its service knows it.
pub const IMAGE_MODEL: TextField =
    TextField { name: "model", label: "The image model", max_chars: 200 };
/// What is told where the operator lets no pictures be made.
pub const PICTURES_OFF: &str = "Pictures are turned off on this server.";
/// What is told of one whose making broke too often.
pub const GIVEN_UP: &str = "Something went wrong while it was made.";
/// The most steps a model may take.
pub const MAX_STEPS: u32 = 50;
/// The most pictures that one message may have.
pub const MAX_PER_MESSAGE: i64 = 12;
/// The most pictures a day that can be set as a budget.
pub const MAX_DAILY: u32 = 10_000;
/// The most dollars a day that can be set as a budget.
pub const MAX_DAILY_DOLLARS: f64 = 10_000.0;

/// How much of an appearance goes into a prompt.
const APPEARANCE_CHARS: usize = 800;
/// How much of an answer goes into a prompt.
const SCENE_CHARS: usize = 900;

/// The shape of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// As wide as it is high.
    #[default]
    Square,
    /// Higher than wide.
    Portrait,
    /// Wider than high.
    Landscape,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Square, Self::Portrait, Self::Landscape];

    /// The word in JSON and in a form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Portrait => "portrait",
            Self::Landscape => "landscape",
        }
    }

    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Square => "Square",
            Self::Portrait => "Portrait",
            Self::Landscape => "Landscape",
        }
    }
}

/// What is asked of an image model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Wish {
    /// What the picture shows, up to 4000 characters; empty until it is drawn from a message.
    pub prompt: String,
    /// Its shape.
    pub size: Shape,
    /// How many steps the model takes: 1 to 50; `null` leaves it to the model.
    pub steps: Option<u32>,
    /// Where its chance begins; `null` lets the service choose.
    pub seed: Option<u32>,
    /// The image model, as its service knows it; empty means the one that is set.
    pub model: String,
}

impl Wish {
    /// Refuses what nobody can draw.
    pub fn check(&self) -> Result<(), ApiError> {
        PROMPT.check(&self.prompt)?;
        IMAGE_MODEL.check(&self.model)?;
        // It stands in an address at some services.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/:".contains(letter);
        let climbs = self.model.split('/').any(|step| step.chars().all(|letter| letter == '.'));
        if !self.model.is_empty() && (climbs || !self.model.chars().all(plain)) {
            let rule = "An image model's name has letters, digits and -._/: only.";
            return Err(ApiError::invalid(IMAGE_MODEL.name, rule));
        }
        if self.steps.is_some_and(|steps| !(1..=MAX_STEPS).contains(&steps)) {
            let rule = format!("A model takes between 1 and {MAX_STEPS} steps.");
            return Err(ApiError::invalid("steps", rule));
        }
        Ok(())
    }
}

/// Where a picture stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PictureState {
    /// It waits to be made.
    #[default]
    Queued,
    /// It is being made.
    Drawing,
    /// It is there.
    Done,
    /// It could not be made.
    Failed,
}

impl PictureState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Drawing, Self::Done, Self::Failed];

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Drawing => "drawing",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// What is known of a picture once it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PictureFacts {
    /// The service that made it.
    pub service: String,
    /// The image model.
    pub model: String,
    /// Whether it was drawn here, because no image service is set.
    pub demo: bool,
    /// What kind of file it is.
    pub content_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How wide it is.
    pub width: u32,
    /// How high it is.
    pub height: u32,
    /// Where its chance began, when the service says.
    pub seed: Option<u64>,
}

/// A picture, or the wish for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The identifier.
    pub id: PictureId,
    /// The persona it is of.
    pub persona_id: Option<PersonaId>,
    /// The chat it belongs to.
    pub chat_id: Option<ConversationId>,
    /// The message it belongs to.
    pub message_id: Option<MessageId>,
    /// Where it stands.
    pub state: PictureState,
    /// Why it is not there, as a sentence.
    pub problem: Option<String>,
    /// What was asked for.
    #[serde(flatten)]
    pub wish: Wish,
    /// What is known of it once it is there.
    pub facts: Option<PictureFacts>,
    /// What it cost, in millionths of a dollar; `null` when the price is not known.
    pub cost_micros: Option<i64>,
    /// Where the file is, once it is there.
    pub file: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was deleted; it can be brought back for a month.
    pub deleted_at: Option<Timestamp>,
}

impl Picture {
    /// Where the file of a picture is served.
    pub fn file_path(id: &PictureId) -> String {
        format!("/api/pictures/{id}/file")
    }
}

/// What a Space sets about pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PictureSettings {
    /// Whether answers in chats get pictures by themselves.
    pub automatic: bool,
    /// How many pictures are made in a day (UTC) at most.
    pub daily: u32,
    /// How many dollars they may cost in a day; `null` for no such limit.
    pub daily_dollars: Option<f64>,
}

impl Default for PictureSettings {
    fn default() -> Self {
        Self { automatic: true, daily: 100, daily_dollars: Some(1.0) }
    }
}

impl PictureSettings {
    /// Refuses what cannot be set.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.daily > MAX_DAILY {
            let rule = format!("At most {MAX_DAILY} pictures a day can be set.");
            return Err(ApiError::invalid("daily", rule));
        }
        let fits = |dollars: f64| (0.0..=MAX_DAILY_DOLLARS).contains(&dollars);
        if !self.daily_dollars.is_none_or(fits) {
            let rule = "The money for a day is 0 to 10 000 dollars.";
            return Err(ApiError::invalid("dailyDollars", rule));
        }
        Ok(())
    }

    /// Why no further picture is made today, if so: `made` were made and cost `spent` millionths of a
    /// dollar, and the next one costs `price`.
    pub fn refuses(&self, made: i64, spent: i64, price: Option<i64>) -> Option<String> {
        if self.daily == 0 {
            return Some("No pictures are made today: the budget is 0.".into());
        }
        if made >= i64::from(self.daily) {
            return Some(format!(
                "Today’s budget of pictures is used up: {made} of {}. The settings can raise it.",
                self.daily
            ));
        }
        let most = micros(self.daily_dollars?);
        // A price that is not known counts as nothing: the number of pictures limits it.
        let price = price.unwrap_or(0);
        let over = u64::try_from(spent + price).is_ok_and(|whole| whole > most);
        (over && price > 0).then(|| {
            let most = told_dollars(most);
            format!("Today’s budget of {most} for pictures is used up. The settings can raise it.")
        })
    }
}

/// What a picture of a moment shows: how the persona looks, and what is going on.
pub fn scene_prompt(name: &str, appearance: &str, answer: &str) -> String {
    let appearance = shortened(&plain(appearance), APPEARANCE_CHARS);
    let scene = shortened(&plain(answer), SCENE_CHARS);
    let who = match appearance.is_empty() {
        true => name.trim().to_owned(),
        false => format!("{}: {}", name.trim(), appearance),
    };
    let who = who.trim_end_matches(['.', ' ']);
    if scene.is_empty() { format!("{who}.") } else { format!("{who}. Scene: {scene}") }
}

/// A text as one line without the marks of markdown.
fn plain(text: &str) -> String {
    let bare: String = text.chars().filter(|letter| !"*`#>_|~\0".contains(*letter)).collect();
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, up to the end of a sentence if there is one, else of a word.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    let sentence = cut.rfind(['.', '!', '?', '…']).filter(|end| *end > cut.len() / 3);
    let end = sentence.and_then(|end| cut[end..].chars().next().map(|mark| end + mark.len_utf8()));
    let end = end.or_else(|| cut.rfind(' ')).unwrap_or(cut.len());
    cut[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_has_the_looks_and_what_goes_on_without_marks() {
        let prompt = scene_prompt("Marta", "Grey hair.\nRed apron.", "*She pours* a **mug**.");

        assert_eq!(prompt, "Marta: Grey hair. Red apron. Scene: She pours a mug.");
        assert_eq!(scene_prompt("Marta", "", ""), "Marta.");
    }

    #[test]
    fn a_long_scene_ends_with_a_sentence_and_fits_a_prompt() {
        let long = scene_prompt("Marta", &"wide ".repeat(900), &"The sea is wide. ".repeat(900));

        assert!(long.ends_with("The sea is wide."), "{long}");
        assert_eq!(PROMPT.check(&long), Ok(()));
        assert_eq!(shortened(&"é".repeat(20), 5), "ééééé");
    }

    #[test]
    fn a_budget_is_counted_in_pictures_and_in_money() {
        let settings = PictureSettings { daily: 3, daily_dollars: Some(0.01), automatic: true };

        assert_eq!(settings.refuses(2, 7000, Some(3000)), None);
        assert!(settings.refuses(2, 7001, Some(3000)).unwrap().contains("$0.01"));
        assert!(settings.refuses(3, 0, None).unwrap().contains("3 of 3"));
        assert_eq!(settings.refuses(0, 1_000_000, None), None);
        let none = PictureSettings { daily: 0, ..settings.clone() };
        let told = "No pictures are made today: the budget is 0.";
        assert_eq!(none.refuses(34, 0, None).as_deref(), Some(told));
        let free = PictureSettings { daily_dollars: None, ..settings };
        assert_eq!(free.refuses(2, i64::MAX / 2, Some(3000)), None);
    }

    #[test]
    fn a_model_is_a_name_and_no_way_elsewhere() {
        let named = |model: &str| Wish { model: model.into(), ..Wish::default() }.check();

        assert_eq!(named("fal-ai/flux/schnell"), Ok(()));
        assert_eq!(named(""), Ok(()));
        for bad in ["../admin", "a/../b", "a?b", "a b", "//host", "a//b"] {
            assert!(named(bad).is_err(), "{bad}");
        }
        assert!(Wish { steps: Some(0), ..Wish::default() }.check().is_err());
        assert!(Wish { steps: Some(51), ..Wish::default() }.check().is_err());
    }
}
