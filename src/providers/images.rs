//! Pictures from words: one request, one picture.
//!
//! Two styles of requests are spoken, each as pure translation; what comes back is looked at before it
//! is believed. Without a service, [`sketch`](super::demo) draws something small here.

mod facts;
mod style;

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
pub use facts::ImageModel;
use reqwest::{Client, Response, Url, header};
pub use style::ImageStyle;
use style::{Answered, Source};
use tokio::time::Instant;

use super::{
    Dialect, Fault, ProviderError,
    catalog::Environment,
    demo,
    keys::{self, Key},
    transport::{causes, read_some},
};
use crate::domain::picture::{PictureFacts, Wish};

/// The largest answer that is read: a picture in it is a third longer than the picture.
const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// The largest picture that is taken.
pub const MAX_PICTURE_BYTES: usize = 20 * 1024 * 1024;
/// What a service is called whose host nobody knows.
const SOME_SERVICE: &str = "the image service";

/// Where pictures come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSettings {
    /// The base address of the service.
    pub url: String,
    /// How it is asked.
    pub style: ImageStyle,
    /// The model that is used unless a wish names another.
    pub model: String,
    /// Where the key is: `env:NAME`, `file:/path`, or nothing.
    pub key_ref: String,
    /// Further hosts (with their ports, if they have one) that its files may lie on.
    pub file_hosts: Vec<String>,
    /// How long one picture may take.
    pub within: Duration,
}

/// Who draws: an image service, or we ourselves. Cheap to clone.
#[derive(Clone)]
pub struct Artist(Option<Arc<Service>>);

struct Service {
    client: Client,
    environment: Arc<Environment>,
    settings: ImageSettings,
    /// The service's address without the path.
    home: Url,
    label: String,
}

/// A picture as it came.
#[derive(Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The file.
    pub file: Vec<u8>,
    /// What is known of it.
    pub facts: PictureFacts,
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undrawn {
    /// What went wrong.
    pub error: ProviderError,
    /// Whether the service had answered well by then, so that it is paid for the picture.
    pub paid: bool,
}

impl From<ProviderError> for Undrawn {
    fn from(error: ProviderError) -> Self {
        Self { error, paid: false }
    }
}

impl std::fmt::Debug for Artist {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let model = self.0.as_ref().map(|service| &service.settings.model);
        out.debug_struct("Artist").field("model", &model).finish_non_exhaustive()
    }
}

impl Default for Artist {
    fn default() -> Self {
        Self::demo()
    }
}

impl Artist {
    /// Draws here, without any service.
    pub fn demo() -> Self {
        Self(None)
    }

    pub(super) fn new(
        client: Client,
        settings: ImageSettings,
        environment: Arc<Environment>,
    ) -> Result<Self, ProviderError> {
        let wrong = |_| ProviderError::new(Fault::BadRequest, "the address is none");
        let mut home: Url = settings.url.trim().parse().map_err(wrong)?;
        let settings = settings.style.settled(settings, home.path());
        home.set_path("");
        let known = home.host_str().and_then(facts::host);
        let label = known.map_or_else(|| SOME_SERVICE.to_owned(), |known| known.label.clone());
        Ok(Self(Some(Arc::new(Service { client, environment, settings, home, label }))))
    }

    /// What the service is called, for people.
    pub fn label(&self) -> &str {
        self.0.as_ref().map_or("Demo", |service| &service.label)
    }

    /// Whether pictures are drawn here, because no service is set.
    pub fn is_demo(&self) -> bool {
        self.0.is_none()
    }

    /// The models that can be chosen, the one that is used by itself first.
    pub fn models(&self) -> Vec<(String, String)> {
        let Some(service) = &self.0 else {
            return vec![(demo::SKETCH_MODEL.into(), "Demo".into())];
        };
        let ImageSettings { style, model, .. } = &service.settings;
        let known = ImageModel::named(*style, model);
        let own = (model.clone(), known.map_or(model, |known| &known.label).clone());
        let others = ImageModel::of(*style).filter(|known| known.model != *model);
        let others = others.map(|known| (known.model.clone(), known.label.clone()));
        // A service of one's own has its own models.
        let foreign = facts::host(service.home.host_str().unwrap_or_default()).is_none();
        std::iter::once(own).chain(others.filter(|_| !foreign)).collect()
    }

    /// Whether it may have a model. What a service has only it knows, and what it does not have it refuses itself.
    pub fn may_have(&self, model: &str) -> bool {
        !self.is_demo() || model.is_empty() || model == demo::SKETCH_MODEL
    }

    /// Whether one of those models can be told the steps and the seed.
    pub fn is_tunable(&self) -> bool {
        let Some(service) = &self.0 else { return true };
        let style = service.settings.style;
        self.models().iter().any(|(model, _)| ImageModel::is_tunable(style, model))
    }

    /// What a picture will cost, in millionths of a dollar; `None` when nobody knows.
    pub fn price_micros(&self, wish: &Wish) -> Option<i64> {
        let Some(service) = &self.0 else { return Some(0) };
        let model = ImageModel::named(service.settings.style, service.model(wish))?;
        Some(model.price_micros(wish.size))
    }

    /// Draws a picture.
    pub async fn draw(&self, wish: &Wish) -> Result<Drawn, Undrawn> {
        match &self.0 {
            None => Ok(demo::sketch(wish)?),
            Some(service) => service.draw(wish).await,
        }
    }
}

impl Service {
    fn model<'a>(&'a self, wish: &'a Wish) -> &'a str {
        if wish.model.is_empty() { &self.settings.model } else { &wish.model }
    }

    async fn draw(&self, wish: &Wish) -> Result<Drawn, Undrawn> {
        let key = match self.settings.key_ref.as_str() {
            "" => None,
            reference => Some(keys::read(reference, self.environment.as_ref())?),
        };
        let hidden = |error: ProviderError| match &key {
            Some(key) => ProviderError { message: key.hide_in(&error.message), ..error },
            None => error,
        };
        let until = Instant::now() + self.settings.within;
        let answer = self.in_time(until, self.ask(wish, key.as_ref())).await.map_err(hidden)?;
        let drawn = self.in_time(until, self.take(wish, answer)).await;
        drawn.map_err(|error| Undrawn { error: hidden(error), paid: true })
    }

    /// What comes of a part of the work, if that comes soon enough.
    async fn in_time<T>(
        &self,
        until: Instant,
        work: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        tokio::time::timeout_at(until, work).await.unwrap_or_else(|_| {
            let within = self.settings.within.as_secs();
            let told = format!("no picture came within {within} s");
            Err(ProviderError::new(Fault::Unreached, told))
        })
    }

    /// Asks for a picture, and gives the answer if it is a good one.
    async fn ask(&self, wish: &Wish, key: Option<&Key>) -> Result<Response, ProviderError> {
        let style = self.settings.style;
        let model = self.model(wish);
        let mut request = self
            .client
            .post(style.address(&self.settings.url, model))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(style.body(model, wish).to_string());
        if let Some(key) = key {
            let told = format!("{} {}", style.scheme(), key.expose());
            let mut value = header::HeaderValue::from_str(&told)
                .map_err(|_| ProviderError::new(Fault::NoKey, "the key cannot be sent"))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = request.send().await.map_err(broken)?;
        self.good(response).await
    }

    /// The picture of a good answer.
    async fn take(&self, wish: &Wish, answer: Response) -> Result<Drawn, ProviderError> {
        let (style, model) = (self.settings.style, self.model(wish));
        let answer = read_whole(answer, MAX_ANSWER_BYTES).await?;
        let Answered { source, seed, width, height } = style.read(&answer)?;
        let file = match source {
            Source::Inline(text) => BASE64_STANDARD
                .decode(text.trim())
                .map_err(|_| garbled("the picture cannot be decoded"))?,
            Source::Address(address) => self.fetch(&address).await?,
        };
        let (content_type, size) = recognise(&file)?;
        let asked = style.size(wish.size);
        let tuned = ImageModel::is_tunable(style, model);
        let (width, height) = size.unwrap_or((width.unwrap_or(asked.0), height.unwrap_or(asked.1)));
        let facts = PictureFacts {
            service: self.label.clone(),
            model: model.to_owned(),
            demo: false,
            content_type: content_type.into(),
            bytes: file.len() as u64,
            width,
            height,
            seed: seed.or(wish.seed.filter(|_| tuned).map(u64::from)),
        };
        Ok(Drawn { file, facts })
    }

    /// Fetches a file from the service, and from nowhere else. The key does not go along.
    async fn fetch(&self, address: &str) -> Result<Vec<u8>, ProviderError> {
        let address: Url = address.parse().map_err(|_| garbled("the picture has no address"))?;
        if !self.keeps_files_at(&address) {
            return Err(garbled("the picture lies where the service keeps no files"));
        }
        let response = self.client.get(address).send().await.map_err(broken)?;
        read_whole(self.good(response).await?, MAX_PICTURE_BYTES).await
    }

    fn keeps_files_at(&self, address: &Url) -> bool {
        let own = (self.home.scheme(), self.home.host_str(), self.home.port_or_known_default());
        if (address.scheme(), address.host_str(), address.port_or_known_default()) == own {
            return true;
        }
        let Some(host) = address.host_str() else { return false };
        let named = match address.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if self.settings.file_hosts.contains(&named) {
            return matches!(address.scheme(), "http" | "https");
        }
        let known = self.home.host_str().and_then(facts::host);
        let known = known.map_or(&[][..], |known| &known.files);
        let below = |file: &String| host == file || host.ends_with(&format!(".{file}"));
        address.scheme() == "https" && address.port().is_none() && known.iter().any(below)
    }

    /// The answer, if it is a good one. It is not followed elsewhere.
    async fn good(&self, response: Response) -> Result<Response, ProviderError> {
        if response.status().is_success() {
            return Ok(response);
        }
        if response.status().is_redirection() {
            return Err(garbled("it points elsewhere, and is not followed"));
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = read_some(response).await;
        let named = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
        Err(Dialect::OpenaiChat.error(status, &named, &body))
    }
}

fn garbled(told: &str) -> ProviderError {
    ProviderError::new(Fault::Garbled, told)
}

fn broken(error: reqwest::Error) -> ProviderError {
    ProviderError::new(Fault::Unreached, causes(&error.without_url()))
}

/// A body to its end, if that comes soon enough.
async fn read_whole(mut response: Response, most: usize) -> Result<Vec<u8>, ProviderError> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            return Err(garbled("the answer has no end"));
        }
    }
    Ok(bytes)
}

/// What kind of picture a file is, by what it begins with, and how large, where that is easily said.
type Recognised = (&'static str, Option<(u32, u32)>);

fn recognise(file: &[u8]) -> Result<Recognised, ProviderError> {
    if file.len() > MAX_PICTURE_BYTES {
        return Err(garbled("the picture is too large"));
    }
    let number = |at: usize| {
        let bytes = file.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    match file {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => {
            Ok(("image/png", number(16).zip(number(20))))
        }
        [0xff, 0xd8, 0xff, ..] => Ok(("image/jpeg", None)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            Ok(("image/webp", None))
        }
        _ => Err(garbled("what came is no PNG, JPEG or WebP picture")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(url: &str, file_hosts: &[&str]) -> Service {
        let settings = ImageSettings {
            url: url.into(),
            style: ImageStyle::Fal,
            model: String::new(),
            key_ref: String::new(),
            file_hosts: file_hosts.iter().map(|host| (*host).to_owned()).collect(),
            within: Duration::from_secs(1),
        };
        drop(rustls::crypto::ring::default_provider().install_default());
        let artist = Artist::new(Client::new(), settings, Arc::new(|_: &str| None)).unwrap();
        Arc::into_inner(artist.0.unwrap()).unwrap()
    }

    #[test]
    fn files_are_fetched_from_the_service_and_from_nowhere_else() {
        let fal = service("https://fal.run/fal-ai/flux/schnell", &["box:9000"]);

        for good in [
            "https://fal.run/files/a.png",
            "https://v3.fal.media/files/a.png",
            "https://fal.media/a.png",
            "http://box:9000/a.png",
        ] {
            assert!(fal.keeps_files_at(&good.parse().unwrap()), "{good}");
        }
        for bad in [
            "http://fal.run/a.png",
            "http://v3.fal.media/a.png",
            "https://v3.fal.media:8443/a.png",
            "https://evilfal.media/a.png",
            "https://fal.media.evil.org/a.png",
            "http://169.254.169.254/latest/meta-data",
            "file:///etc/passwd",
            "http://box/a.png",
        ] {
            assert!(!fal.keeps_files_at(&bad.parse().unwrap()), "{bad}");
        }
    }

    #[test]
    fn a_picture_is_known_by_its_first_bytes_and_not_by_what_is_said_of_it() {
        let sketched = demo::sketch(&Wish { prompt: "A lamp".into(), ..Wish::default() }).unwrap();

        let known = recognise(&sketched.file).unwrap();
        assert_eq!(known, ("image/png", Some((sketched.facts.width, sketched.facts.height))));
        assert_eq!(recognise(b"\xff\xd8\xff\xe0JFIF").unwrap(), ("image/jpeg", None));
        for bad in [&b"<svg onload=alert(1)>"[..], b"GIF89a", b"", b"<!doctype html>"] {
            assert!(recognise(bad).is_err(), "{bad:?}");
        }
    }
}
