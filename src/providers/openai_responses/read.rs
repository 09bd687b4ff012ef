//! A request to Responses read back.

use serde::Deserialize;
use serde_json::Value;

use super::decode::Reasoning;
use crate::{
    domain::message::{Role, Turn},
    providers::dialect::{
        arguments::{self, Ending},
        reading::{self, Content, Reader},
    },
};

#[derive(Deserialize)]
struct Request {
    input: Content<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        role: String,
        content: Content<Block>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: String,
    },
    Reasoning(Reasoning),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    text: String,
}

/// The turns of the request.
pub fn read(body: &Value, mut reader: Reader) -> Result<Vec<Turn>, String> {
    let request: Request = reading::parse(body)?;
    let items = match request.input {
        Content::Text(text) => {
            reader.text(Role::User, text, None);
            Vec::new()
        }
        Content::Blocks(items) => items,
    };
    for raw in items {
        match reading::parse(&raw)? {
            Item::Message { role, content } => {
                let texts = match content {
                    Content::Text(text) => vec![text],
                    Content::Blocks(blocks) => blocks.into_iter().map(|block| block.text).collect(),
                };
                for text in texts {
                    reader.text(Role::from_word(&role), text, None);
                }
            }
            Item::FunctionCall { call_id, name, arguments } => {
                let input = arguments::read(&arguments, Ending::Whole)?;
                reader.call(Some(call_id), name, input, None);
            }
            Item::FunctionCallOutput { call_id, output } => reader.told(&call_id, &output)?,
            Item::Reasoning(item) => reader.thought(item.words(), item.id, Some(raw)),
            Item::Other => {}
        }
    }
    Ok(reader.finish())
}
