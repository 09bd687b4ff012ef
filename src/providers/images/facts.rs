//! What is known of image models and of the services that run them: one table, `images.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::ImageStyle;
use crate::domain::picture::Shape;

const TABLE: &str = include_str!("../images.json");

static FACTS: LazyLock<Facts> = LazyLock::new(|| serde_json::from_str(TABLE).unwrap_or_default());

#[derive(Default, Deserialize)]
struct Facts {
    models: Vec<ImageModel>,
    services: Vec<ImageHost>,
}

/// An image model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageModel {
    /// As its service knows it.
    pub model: String,
    /// What a person calls it.
    pub label: String,
    /// How its service is asked.
    pub style: ImageStyle,
    /// Whether it can be told how many steps to take, and where its chance begins.
    #[serde(default)]
    pub tunable: bool,
    /// How many steps it takes unless it is told otherwise.
    pub steps: Option<u32>,
    /// The most steps that its service allows.
    pub max_steps: Option<u32>,
    dollars: f64,
    per: Per,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Per {
    Megapixel,
    Picture,
}

/// A service, and where it keeps its files.
#[derive(Deserialize)]
pub(super) struct ImageHost {
    pub host: String,
    pub label: String,
    /// Hosts, with those below them.
    pub files: Vec<String>,
}

impl ImageModel {
    /// The model with this name.
    pub fn named(style: ImageStyle, model: &str) -> Option<&'static Self> {
        Self::of(style).find(|known| known.model == model)
    }

    /// Whether a model can be told the steps and the seed. One that nobody knows is asked as its style is.
    pub fn is_tunable(style: ImageStyle, model: &str) -> bool {
        Self::named(style, model).map_or(style == ImageStyle::Fal, |known| known.tunable)
    }

    /// The models of services that are asked like this.
    pub fn of(style: ImageStyle) -> impl Iterator<Item = &'static Self> {
        FACTS.models.iter().filter(move |known| known.style == style)
    }

    /// What a picture of this shape costs, in millionths of a dollar.
    pub fn price_micros(&self, shape: Shape) -> i64 {
        let (width, height) = self.style.size(shape);
        let pictures = match self.per {
            Per::Picture => 1,
            // A megapixel that is begun is paid.
            Per::Megapixel => (width * height).div_ceil(1024 * 1024),
        };
        #[expect(clippy::cast_possible_truncation, reason = "a price is small")]
        let micros = (self.dollars * f64::from(pictures) * 1e6).round() as i64;
        micros
    }
}

/// What is known of a service by its host.
pub(super) fn host(name: &str) -> Option<&'static ImageHost> {
    FACTS.services.iter().find(|known| known.host == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_knows_the_model_that_is_used_by_itself() {
        let schnell = ImageModel::named(ImageStyle::Fal, "fal-ai/flux/schnell").unwrap();

        assert_eq!((schnell.steps, schnell.price_micros(Shape::Square)), (Some(4), 3000));
        assert_eq!(schnell.price_micros(Shape::Portrait), 3000);
        let other = ImageModel::named(ImageStyle::Openai, "black-forest-labs/FLUX.1-schnell");
        assert_eq!(other.unwrap().price_micros(Shape::Portrait), 5400);
        assert_eq!(ImageModel::named(ImageStyle::Openai, "fal-ai/flux/schnell"), None);
        assert!(host("fal.run").is_some_and(|known| known.files == ["fal.media"]));
    }
}
