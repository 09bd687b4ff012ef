//! A request to Gemini read back.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    domain::message::{Role, Turn},
    providers::dialect::reading::{self, Reader},
};

#[derive(Deserialize)]
struct Request {
    contents: Vec<Content>,
}

#[derive(Deserialize)]
struct Content {
    role: String,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<Call>,
    function_response: Option<Response>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
struct Response {
    id: Option<String>,
    name: String,
    response: Map<String, Value>,
}

/// The turns of the request.
pub fn read(body: &Value, mut reader: Reader) -> Result<Vec<Turn>, String> {
    let request: Request = reading::parse(body)?;
    for content in request.contents {
        let role = Role::from_word(&content.role);
        for part in content.parts {
            let signature = part.thought_signature.filter(|sign| sign != super::NO_SIGNATURE);
            let data = signature.map(|signature| json!({"thoughtSignature": signature}));
            if let Some(call) = part.function_call {
                reader.call(call.id, call.name, call.args, data);
            } else if let Some(response) = part.function_response {
                let (output, is_error) = output(&response.response);
                reader.result(response.id.as_deref(), Some(&response.name), output, is_error)?;
            } else if let Some(text) = part.text {
                if part.thought || (text.is_empty() && data.is_some()) {
                    reader.thought(text, None, data);
                } else {
                    reader.text(role, text, data);
                }
            }
        }
    }
    Ok(reader.finish())
}

fn output(response: &Map<String, Value>) -> (String, bool) {
    let (value, is_error) = match (response.get("error"), response.get("result")) {
        (Some(error), _) => (error, true),
        (None, Some(result)) => (result, false),
        (None, None) => return (Value::Object(response.clone()).to_string(), false),
    };
    (value.as_str().map_or_else(|| value.to_string(), str::to_owned), is_error)
}
