//! How image services are asked, and what they answer: pure translation.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ImageSettings, facts::ImageModel, garbled};
use crate::{
    domain::picture::{Shape, Wish},
    providers::ProviderError,
};

/// The model that is used where nobody says otherwise.
const FAL_MODEL: &str = "fal-ai/flux/schnell";

/// How a service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageStyle {
    /// As fal is: the model stands in the address.
    Fal,
    /// As OpenAI's image API is: the model stands in the body.
    Openai,
}

/// What an answer holds.
pub(super) struct Answered {
    pub source: Source,
    pub seed: Option<u64>,
    pub width: Option<u32>,
    pub height: Option<u32>,
}

/// Where the picture is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the answer, in base 64.
    Inline(String),
    /// At this address.
    Address(String),
}

#[derive(Deserialize)]
struct FalAnswer {
    images: Vec<FalImage>,
    #[serde(default)]
    seed: Option<u64>,
}

#[derive(Deserialize)]
struct FalImage {
    url: String,
    #[serde(default)]
    width: Option<u32>,
    #[serde(default)]
    height: Option<u32>,
}

#[derive(Deserialize)]
struct OpenaiAnswer {
    data: Vec<OpenaiImage>,
}

#[derive(Deserialize)]
struct OpenaiImage {
    b64_json: Option<String>,
    url: Option<String>,
}

impl ImageStyle {
    /// The settings with the base address and the model apart: fal's address may hold both.
    pub(super) fn settled(self, settings: ImageSettings, path: &str) -> ImageSettings {
        let url = settings.url.trim().trim_end_matches('/').to_owned();
        let path = path.trim_matches('/');
        match self {
            Self::Openai => ImageSettings { url, ..settings },
            Self::Fal if settings.model.is_empty() && !path.is_empty() => {
                let base = url.strip_suffix(path).unwrap_or(&url).trim_end_matches('/').to_owned();
                ImageSettings { url: base, model: path.to_owned(), ..settings }
            }
            Self::Fal if settings.model.is_empty() => {
                ImageSettings { url, model: FAL_MODEL.into(), ..settings }
            }
            Self::Fal => {
                let base = url.strip_suffix(&settings.model).unwrap_or(&url);
                ImageSettings { url: base.trim_end_matches('/').to_owned(), ..settings }
            }
        }
    }

    /// Where a model is asked.
    pub(super) fn address(self, base: &str, model: &str) -> String {
        match self {
            Self::Fal => format!("{base}/{model}"),
            Self::Openai => format!("{base}/images/generations"),
        }
    }

    /// What stands before the key.
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Fal => "Key",
            Self::Openai => "Bearer",
        }
    }

    /// How wide and how high a picture of a shape is.
    pub fn size(self, shape: Shape) -> (u32, u32) {
        match (self, shape) {
            (_, Shape::Square) => (1024, 1024),
            (Self::Fal, Shape::Portrait) => (768, 1024),
            (Self::Fal, Shape::Landscape) => (1024, 768),
            (Self::Openai, Shape::Portrait) => (1024, 1536),
            (Self::Openai, Shape::Landscape) => (1536, 1024),
        }
    }

    /// What is asked.
    pub(super) fn body(self, model: &str, wish: &Wish) -> Value {
        let known = ImageModel::named(self, model);
        let tuned = ImageModel::is_tunable(self, model);
        let most = known.and_then(|known| known.max_steps);
        let steps = wish.steps.or(known.and_then(|known| known.steps)).filter(|_| tuned);
        let steps = steps.map(|steps| steps.min(most.unwrap_or(steps)));
        let seed = wish.seed.filter(|_| tuned);
        let (mut body, steps_name) = match self {
            Self::Fal => {
                let size = match wish.size {
                    Shape::Square => "square_hd",
                    Shape::Portrait => "portrait_4_3",
                    Shape::Landscape => "landscape_4_3",
                };
                let body = json!({
                    "prompt": wish.prompt,
                    "image_size": size,
                    "num_images": 1,
                });
                (body, "num_inference_steps")
            }
            Self::Openai => {
                let (width, height) = self.size(wish.size);
                let body = json!({
                    "model": model,
                    "prompt": wish.prompt,
                    "n": 1,
                    "size": format!("{width}x{height}"),
                });
                (body, "steps")
            }
        };
        if let Some(steps) = steps {
            body[steps_name] = steps.into();
        }
        if let Some(seed) = seed {
            body["seed"] = seed.into();
        }
        body
    }

    /// What an answer holds.
    pub(super) fn read(self, answer: &[u8]) -> Result<Answered, ProviderError> {
        let none = || garbled("the answer holds no picture");
        match self {
            Self::Fal => {
                let FalAnswer { images, seed } =
                    serde_json::from_slice(answer).map_err(|_| none())?;
                let FalImage { url, width, height } = images.into_iter().next().ok_or_else(none)?;
                let source = match url.strip_prefix("data:") {
                    Some(data) => {
                        let (_, text) = data.split_once(";base64,").ok_or_else(none)?;
                        Source::Inline(text.to_owned())
                    }
                    None => Source::Address(url),
                };
                Ok(Answered { source, seed, width, height })
            }
            Self::Openai => {
                let OpenaiAnswer { data } = serde_json::from_slice(answer).map_err(|_| none())?;
                let image = data.into_iter().next().ok_or_else(none)?;
                let source = match (image.b64_json, image.url) {
                    (Some(text), _) => Source::Inline(text),
                    (None, Some(url)) => Source::Address(url),
                    (None, None) => return Err(none()),
                };
                Ok(Answered { source, seed: None, width: None, height: None })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settled(style: ImageStyle, url: &str, model: &str) -> (String, String) {
        let settings = ImageSettings {
            url: url.into(),
            style,
            model: model.into(),
            key_ref: String::new(),
            file_hosts: Vec::new(),
            within: Duration::from_secs(1),
        };
        let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        let ImageSettings { url, model, .. } =
            style.settled(settings, path.map_or("", |(_, path)| path));
        (style.address(&url, &model), model)
    }

    #[test]
    fn the_address_of_fal_may_hold_its_model() {
        let address = "https://fal.run/fal-ai/flux/schnell";
        let expected = (address.to_owned(), FAL_MODEL.to_owned());

        assert_eq!(settled(ImageStyle::Fal, address, ""), expected);
        assert_eq!(settled(ImageStyle::Fal, "https://fal.run/", ""), expected);
        assert_eq!(settled(ImageStyle::Fal, address, FAL_MODEL), expected);
        assert_eq!(
            settled(ImageStyle::Openai, "https://api.openai.com/v1/", "gpt-image-1").0,
            "https://api.openai.com/v1/images/generations"
        );
    }

    #[test]
    fn each_style_asks_in_its_own_words() {
        let wish = Wish {
            prompt: "A lamp".into(),
            size: Shape::Portrait,
            steps: Some(40),
            seed: Some(7),
            ..Wish::default()
        };

        assert_eq!(
            ImageStyle::Fal.body(FAL_MODEL, &wish),
            json!({"prompt": "A lamp", "image_size": "portrait_4_3", "num_images": 1,
                "num_inference_steps": 12, "seed": 7})
        );
        // What a model does not take is not sent: its service would refuse it.
        let plain =
            |model: &str| json!({"model": model, "prompt": "A lamp", "n": 1, "size": "1024x1536"});
        for model in ["m", "gpt-image-1"] {
            assert_eq!(ImageStyle::Openai.body(model, &wish), plain(model));
        }
        let flux = "black-forest-labs/FLUX.1-schnell";
        let mut tuned = plain(flux);
        (tuned["steps"], tuned["seed"]) = (json!(12), json!(7));
        assert_eq!(ImageStyle::Openai.body(flux, &wish), tuned);
    }

    #[test]
    fn a_picture_is_in_the_answer_or_at_an_address() {
        let source = |style: ImageStyle, answer: Value| {
            style.read(answer.to_string().as_bytes()).map(|read| read.source).ok()
        };
        let (fal, openai) = (ImageStyle::Fal, ImageStyle::Openai);
        let inline = Some(Source::Inline("QQ==".into()));
        let elsewhere = Some(Source::Address("https://h/a".into()));

        let data = json!({"images": [{"url": "data:image/png;base64,QQ=="}], "seed": 3});
        assert_eq!(source(fal, data), inline);
        assert_eq!(source(fal, json!({"images": [{"url": "https://h/a"}]})), elsewhere);
        assert_eq!(source(openai, json!({"data": [{"b64_json": "QQ=="}]})), inline);
        assert_eq!(source(openai, json!({"data": [{"url": "https://h/a"}]})), elsewhere);
        for odd in [json!({}), json!({"images": []}), json!({"data": []}), json!({"data": [{}]})] {
            assert_eq!(source(fal, odd.clone()), None, "{odd}");
            assert_eq!(source(openai, odd.clone()), None, "{odd}");
        }
    }
}
