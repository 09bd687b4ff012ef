//! What texts mean, as numbers: one question with many texts, one vector for each.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Dialect, Fault, ProviderError,
    catalog::Environment,
    keys::{self, Key},
    transport::{causes, read_some},
};

/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// Where vectors come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// The base address of a service that speaks as OpenAI does, or Ollama's own, which ends with
    /// `/api`.
    pub url: String,
    /// The model, as the service knows it.
    pub model: String,
    /// Where the key is: `env:NAME`, `file:/path`, or nothing.
    pub key_ref: String,
}

/// A service that makes vectors. Cheap to clone.
#[derive(Clone)]
pub struct Embedder {
    client: Client,
    address: String,
    settings: EmbeddingSettings,
    environment: Arc<Environment>,
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Embedder").field("model", &self.settings.model).finish_non_exhaustive()
    }
}

/// An answer, in either shape.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Openai { data: Vec<Numbered> },
    Ollama { embeddings: Vec<Vec<f32>> },
}

#[derive(Deserialize)]
struct Numbered {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

impl Embedder {
    pub(super) fn new(
        client: Client,
        settings: EmbeddingSettings,
        environment: Arc<Environment>,
    ) -> Self {
        Self { client, address: address(&settings.url), settings, environment }
    }

    /// The model: vectors of two models cannot be compared.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    /// One vector of length 1 for each text, all with as many numbers.
    pub async fn embed(
        &self,
        texts: &[String],
        within: Duration,
    ) -> Result<Vec<Vec<f32>>, ProviderError> {
        let key = match self.settings.key_ref.as_str() {
            "" => None,
            reference => Some(keys::read(reference, self.environment.as_ref())?),
        };
        let asked = tokio::time::timeout(within, self.ask(texts, key.as_ref())).await;
        let answer = asked.unwrap_or_else(|_| {
            let told = format!("no answer came within {} ms", within.as_millis());
            Err(ProviderError::new(Fault::Unreached, told))
        });
        answer.and_then(|answer| vectors(answer, texts.len())).map_err(|error| match &key {
            Some(key) => ProviderError { message: key.hide_in(&error.message), ..error },
            None => error,
        })
    }

    async fn ask(&self, texts: &[String], key: Option<&Key>) -> Result<Answer, ProviderError> {
        let body: Value = json!({ "model": self.settings.model, "input": texts });
        let mut request = self
            .client
            .post(&self.address)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        if let Some(key) = key {
            let mut value = header::HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| ProviderError::new(Fault::NoKey, "the key cannot be sent"))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        let broken = |error: reqwest::Error| {
            ProviderError::new(Fault::Unreached, causes(&error.without_url()))
        };
        let mut response = request.send().await.map_err(broken)?;
        if !response.status().is_success() {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = read_some(response).await;
            let named = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
            return Err(Dialect::OpenaiChat.error(status, &named, &body));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(ProviderError::new(Fault::Garbled, "the answer has no end"));
            }
        }
        serde_json::from_slice(&bytes)
            .map_err(|_| ProviderError::new(Fault::Garbled, "the answer holds no vectors"))
    }
}

/// Where a service is asked: Ollama's own address ends with `/api`, or is only its host and port.
fn address(url: &str) -> String {
    let base = url.trim().trim_end_matches('/');
    if base.ends_with("/api/embed") {
        base.to_owned()
    } else if base.ends_with("/api") {
        format!("{base}/embed")
    } else if base.ends_with(":11434") {
        format!("{base}/api/embed")
    } else {
        format!("{base}/embeddings")
    }
}

/// The vectors of an answer, in the order of the texts and of length 1.
fn vectors(answer: Answer, wanted: usize) -> Result<Vec<Vec<f32>>, ProviderError> {
    let mut vectors = match answer {
        Answer::Ollama { embeddings } => embeddings,
        Answer::Openai { mut data } => {
            data.sort_by_key(|one| one.index);
            data.into_iter().map(|one| one.embedding).collect()
        }
    };
    let size = vectors.first().map_or(0, Vec::len);
    let fits = vectors.len() == wanted && size > 0 && vectors.iter().all(|one| one.len() == size);
    if !fits || !vectors.iter_mut().all(|vector| to_unit(vector)) {
        return Err(ProviderError::new(Fault::Garbled, "the answer holds no vectors"));
    }
    Ok(vectors)
}

/// Makes a vector's length 1. `false` for one that has none.
fn to_unit(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return false;
    }
    for number in vector {
        #[expect(clippy::cast_possible_truncation, reason = "it was as short before")]
        let unit = (f64::from(*number) / length) as f32;
        *number = unit;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str, wanted: usize) -> Option<Vec<Vec<f32>>> {
        vectors(serde_json::from_str(answer).ok()?, wanted).ok()
    }

    #[test]
    fn both_shapes_are_read_in_the_order_of_the_texts() {
        let openai = r#"{"object": "list", "data": [
            {"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}"#;
        let ollama = r#"{"model": "m", "embeddings": [[3, 4], [0, 2]]}"#;

        let unit = Some(vec![vec![0.6, 0.8], vec![0.0, 1.0]]);
        assert_eq!(read(openai, 2), unit);
        assert_eq!(read(ollama, 2), unit);
    }

    #[test]
    fn what_holds_no_vectors_is_refused() {
        for bad in [
            "{}",
            r#"{"data": []}"#,
            r#"{"embeddings": [[1]]}"#,
            r#"{"embeddings": [[1, 2], [1]]}"#,
            r#"{"embeddings": [[], []]}"#,
            r#"{"embeddings": [[0, 0], [1, 1]]}"#,
            r#"{"embeddings": [["a"], [1]]}"#,
        ] {
            assert_eq!(read(bad, 2), None, "{bad}");
        }
    }

    #[test]
    fn the_address_tells_which_service_it_is() {
        assert_eq!(address("https://api.openai.com/v1/"), "https://api.openai.com/v1/embeddings");
        assert_eq!(address("http://box:11434"), "http://box:11434/api/embed");
        assert_eq!(address("http://box:1/api"), "http://box:1/api/embed");
        assert_eq!(address("http://box:1/api/embed"), "http://box:1/api/embed");
        assert_eq!(address("http://box:11434/v1"), "http://box:11434/v1/embeddings");
    }
}
