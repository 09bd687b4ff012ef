//! A request to Chat Completions read back.

use serde::Deserialize;
use serde_json::Value;

use super::details;
use crate::{
    domain::message::{Role, Turn},
    providers::dialect::{
        arguments::{self, Ending},
        reading::{self, Content, Reader},
    },
};

#[derive(Deserialize)]
struct Request {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message {
    User {
        content: Content<Block>,
    },
    Assistant {
        content: Option<Content<Block>>,
        reasoning_content: Option<String>,
        reasoning_details: Option<Vec<Value>>,
        #[serde(default)]
        tool_calls: Option<Vec<Call>>,
    },
    Tool {
        tool_call_id: String,
        content: Content<Block>,
    },
    /// The system's, the developer's.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// The turns of the request.
pub fn read(body: &Value, mut reader: Reader) -> Result<Vec<Turn>, String> {
    let request: Request = reading::parse(body)?;
    for message in request.messages {
        match message {
            Message::User { content } => say(&mut reader, Role::User, content),
            Message::Assistant { content, reasoning_content, reasoning_details, tool_calls } => {
                if let Some(thought) = reasoning_content {
                    reader.thought(thought, None, None);
                }
                if let Some(wanted_back) = reasoning_details {
                    reader.thought(String::new(), None, Some(details::carry(wanted_back)));
                }
                if let Some(content) = content {
                    say(&mut reader, Role::Assistant, content);
                }
                for call in tool_calls.unwrap_or_default() {
                    let input = arguments::read(&call.function.arguments, Ending::Whole)?;
                    reader.call(Some(call.id), call.function.name, input, None);
                }
            }
            Message::Tool { tool_call_id, content } => {
                reader.told(&tool_call_id, &texts(content).join("\n\n"))?;
            }
            Message::Other => {}
        }
    }
    Ok(reader.finish())
}

fn say(reader: &mut Reader, role: Role, content: Content<Block>) {
    for text in texts(content) {
        reader.text(role, text, None);
    }
}

fn texts(content: Content<Block>) -> Vec<String> {
    match content {
        Content::Text(text) => vec![text],
        Content::Blocks(blocks) => blocks.into_iter().map(|block| block.text).collect(),
    }
}
