//! Reading the lists in a chat's file. It may be anybody's, and large: of a list no more is read than can be
//! brought in, and of messages nothing that is left out anyway.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, SeqAccess, Visitor},
};

use super::chat_files::FileMessage;
use crate::domain::{
    chat::{MAX_FILE_MESSAGES, MAX_MEMBERS},
    id::PartId,
    message::{Part, PartBody},
    timestamp::Timestamp,
};

/// The most parts of one message.
const MAX_PARTS: usize = 1000;

/// The messages of a file.
pub fn messages<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FileMessage>, D::Error> {
    at_most(MAX_FILE_MESSAGES, "messages", from)
}

/// What a file says of each of its personas.
pub fn of_members<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    at_most(MAX_MEMBERS, "personas", from)
}

/// The words and thoughts of a message; what its tools were given and gave is not brought in.
pub fn spoken_parts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Part>, D::Error> {
    let parts: Vec<FilePart> = at_most(MAX_PARTS, "parts of one message", from)?;
    let spoken = parts.into_iter().filter_map(|FilePart { id, at, body }| {
        let body = match body {
            FileBody::Text(text) => PartBody::Text(text),
            FileBody::Reasoning(thoughts) => PartBody::Reasoning(thoughts),
            FileBody::ToolCall(_) | FileBody::ToolResult(_) => return None,
        };
        Some(Part { id, at, body, carried: None })
    });
    Ok(spoken.collect())
}

/// A part as it is read.
#[derive(Deserialize)]
struct FilePart {
    id: PartId,
    at: Timestamp,
    body: FileBody,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileBody {
    Text(String),
    Reasoning(String),
    ToolCall(IgnoredAny),
    ToolResult(IgnoredAny),
}

fn at_most<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    most: usize,
    what: &'static str,
    from: D,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(AtMost { most, what, of: PhantomData })
}

struct AtMost<T> {
    most: usize,
    what: &'static str,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<T> {
    type Value = Vec<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a list of at most {} {}", self.most, self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            if all.len() == self.most {
                let told = format!("at most {} {} can be brought in", self.most, self.what);
                return Err(A::Error::custom(told));
            }
            all.push(one);
        }
        Ok(all)
    }
}
