//! A request to Anthropic read back.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    domain::message::{Role, Turn},
    providers::dialect::reading::{self, Content, Reader},
};

#[derive(Deserialize)]
struct Request {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: Role,
    content: Content<Block>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: Option<Content<Block>>,
        #[serde(default)]
        is_error: bool,
    },
    #[serde(other)]
    Other,
}

/// The turns of the request.
pub fn read(body: &Value, mut reader: Reader) -> Result<Vec<Turn>, String> {
    let request: Request = reading::parse(body)?;
    for message in request.messages {
        let blocks = match message.content {
            Content::Text(text) => vec![Block::Text { text }],
            Content::Blocks(blocks) => blocks,
        };
        for block in blocks {
            match block {
                Block::Text { text } => reader.text(message.role, text, None),
                Block::Thinking { thinking, signature } => {
                    let data = json!({"type": "thinking", "signature": signature});
                    reader.thought(thinking, None, Some(data));
                }
                Block::RedactedThinking { data } => {
                    let data = json!({"type": "redacted_thinking", "data": data});
                    reader.thought(String::new(), None, Some(data));
                }
                Block::ToolUse { id, name, input } => reader.call(Some(id), name, input, None),
                Block::ToolResult { tool_use_id, content, is_error } => {
                    reader.result(Some(&tool_use_id), None, words(content), is_error)?;
                }
                Block::Other => {}
            }
        }
    }
    Ok(reader.finish())
}

fn words(content: Option<Content<Block>>) -> String {
    match content {
        None => String::new(),
        Some(Content::Text(text)) => text,
        Some(Content::Blocks(blocks)) => {
            let texts = blocks.into_iter().filter_map(|block| match block {
                Block::Text { text } => Some(text),
                Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::ToolUse { .. }
                | Block::ToolResult { .. }
                | Block::Other => None,
            });
            texts.collect::<Vec<_>>().join("\n\n")
        }
    }
}
