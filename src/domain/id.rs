//! Identifiers. Opaque to everyone but the store, and never mixed up with each other. Every word of a
//! stream carries some, so their text is shared.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// The longest identifier.
const MAX_CHARS: usize = 64;

macro_rules! ids {
    ($fits:ident: $($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema,
        )]
        #[serde(from = "String")]
        #[schemars(with = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The identifier with this text. A text that no identifier of ours could have
            /// becomes the empty one, which no row has: asking for it finds nothing.
            pub fn new(text: impl Into<String>) -> Self {
                let text = text.into();
                if $fits(&text) { Self(text.into()) } else { Self::default() }
            }

            /// The text, for a statement or an address.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }
    )*};
}

ids! { is_name:
    /// A person who uses Greenroom.
    UserId;
}

ids! { is_wellformed:
    /// A Space: everything belongs to one.
    SpaceId;
    /// A persona.
    PersonaId;
    /// A test input of a persona.
    TestInputId;
    /// A page.
    PageId;
    /// A ref: a text from elsewhere.
    RefId;
    /// A task.
    TaskId;
    /// A change, decided or not.
    ChangeId;
    /// A conversation of any kind.
    ConversationId;
    /// A message in a conversation.
    MessageId;
    /// A part of a message.
    PartId;
    /// A model's call of a tool.
    CallId;
    /// One execution of the agent loop.
    RunId;
    /// A picture.
    PictureId;
    /// Background work.
    JobId;
    /// Something that comes next in a chat.
    NextId;
    /// A line of the audit.
    AuditId;
}

/// Whether a text can be an identifier at all.
pub fn is_wellformed(text: &str) -> bool {
    fits(text, b"-_")
}

/// Whether a text can be the name of a person: those who sign in elsewhere are often called by where their mail goes.
fn is_name(text: &str) -> bool {
    fits(text, b"-_.@+") && !text.starts_with(['.', '@', '+'])
}

fn fits(text: &str, marks: &[u8]) -> bool {
    (1..=MAX_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || marks.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_cannot_be_ours_is_the_empty_one() {
        for odd in ["", "a\0b", "../etc", "a b", "é", &"x".repeat(65)] {
            assert_eq!(PersonaId::new(odd), PersonaId::default(), "{odd:?}");
        }
        assert_eq!(PersonaId::new("retirement-guide").as_str(), "retirement-guide");
        assert_eq!(PersonaId::new("ann@example.org"), PersonaId::default());
        assert_eq!(UserId::new("ann.b+c@example.org").as_str(), "ann.b+c@example.org");
        for odd in ["../etc", ".", "@ann", "ann b", "ann/b", "ann\u{0}"] {
            assert_eq!(UserId::new(odd), UserId::default(), "{odd:?}");
        }
    }
}
