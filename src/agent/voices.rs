//! What others said, as the one who speaks hears it: by name, and never as its own words.

use crate::{
    domain::{
        id::PersonaId,
        message::{Message, Part, PartBody, Role},
    },
    store::Voice,
};

/// Puts the words of other personas into the mouths of those who said them.
pub fn hear(messages: &mut [Message], voices: &[Voice], speaker: &PersonaId) {
    for message in messages.iter_mut().filter(|message| message.role == Role::Assistant) {
        let voice = voices.iter().find(|voice| voice.message == message.id);
        let Some(voice) = voice.filter(|voice| voice.persona != *speaker) else { continue };
        let id = format!("{}-heard", message.id).as_str().into();
        let body = PartBody::Text(format!("{}: {}", voice.name.trim(), message.text()));
        message.role = Role::User;
        message.parts = vec![Part { id, at: message.created_at, body, carried: None }];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{run::Spent, timestamp::Timestamp};

    fn said(id: &str, role: Role, words: &str) -> Message {
        let body = PartBody::Text(words.into());
        Message {
            id: id.into(),
            parent_id: None,
            role,
            parts: vec![Part { id: "p".into(), at: Timestamp(0), body, carried: None }],
            run_id: None,
            model: String::new(),
            stop: None,
            spent: Spent::default(),
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn others_are_heard_by_name_and_one_hears_oneself_as_before() {
        let mut messages = [
            said("m1", Role::User, "Well?"),
            said("m2", Role::Assistant, "Yes."),
            said("m3", Role::Assistant, "No."),
            said("m4", Role::Assistant, "From a file."),
        ];
        let voice = |message: &str, persona: &str, name: &str| Voice {
            message: message.into(),
            persona: persona.into(),
            name: name.into(),
        };
        let voices = [voice("m2", "ann", "Ann"), voice("m3", "ben", "Ben")];

        hear(&mut messages, &voices, &"ben".into());

        let heard: Vec<(Role, String)> =
            messages.iter().map(|message| (message.role, message.text())).collect();
        let expected = [
            (Role::User, "Well?".to_owned()),
            (Role::User, "Ann: Yes.".to_owned()),
            (Role::Assistant, "No.".to_owned()),
            (Role::Assistant, "From a file.".to_owned()),
        ];
        assert_eq!(heard, expected);
    }
}
