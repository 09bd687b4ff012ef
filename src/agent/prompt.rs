//! What a model is told before the conversation begins.

use crate::domain::{
    chat::{ChatMode, MemberState, UserPersona},
    persona::{Persona, PersonaFields, Tier},
    sent::Section,
};

const PERSONA_AGENT: &str = include_str!("prompts/persona_agent.md");
const COMPANION: &str = include_str!("prompts/companion.md");
const CHAT_ROLEPLAY: &str = include_str!("prompts/chat_roleplay.md");
const CHAT_STORY: &str = include_str!("prompts/chat_story.md");
const CHAT_OTHERS: &str = include_str!("prompts/chat_others.md");
/// What a model that names a conversation is told.
pub const CHAT_TITLE: &str = include_str!("prompts/chat_title.md");
/// What a model that draws roleplay data from a persona is told.
pub const ROLEPLAY_DATA: &str = include_str!("prompts/roleplay_data.md");
/// What a model that sums up a session of the terminal is told.
pub const TERMINAL_SUMMARY: &str = include_str!("prompts/terminal_summary.md");
/// What a person is called who has not said their name.
const NAMELESS: &str = "the person you talk with";

/// The prompt of the agent that works on a persona.
pub fn persona_agent(persona: &Persona) -> String {
    let tier = match persona.fields.tier {
        Tier::Read => {
            "You may read everything and change nothing. If the person wants a change, say \
                       what you would change, and that they can raise your tier in the persona's settings."
        }
        Tier::Suggest => {
            "What you change becomes a draft. Nothing changes until the person accepts it, \
                          so say “I drafted …”, never “I changed …”."
        }
        Tier::Act => {
            "What you change is applied at once. Every change can be undone by the person."
        }
    };
    PERSONA_AGENT
        .replace("{{id}}", persona.id.as_str())
        .replace("{{test_inputs}}", &persona.test_input_ids.len().to_string())
        .replace("{{tier}}", tier)
        // Last, so that what stands in a name is not filled.
        .replace("{{name}}", persona.fields.name.trim())
}

/// The prompt of the companion.
pub fn companion(persona: &Persona) -> String {
    let tier = match persona.fields.tier {
        Tier::Read => {
            "At present you may only read: propose_change is denied. Say so when the person wants a \
             change, and that they can raise your tier on your own page."
        }
        Tier::Suggest | Tier::Act => "",
    };
    COMPANION
        .replace("{{tier}}", tier)
        // Last, so that what stands in them is not filled.
        .replace("{{name}}", persona.fields.name.trim())
        .replace("{{voice}}", persona.fields.system_prompt.trim())
}

/// The prompt of a persona that speaks for itself.
pub fn speaking(persona: &PersonaFields) -> String {
    persona.system_prompt.clone()
}

/// What is told in a session of the terminal, with what stands for exchanges that are not sent.
pub fn terminal(prompt: &str, summary: Option<&str>) -> String {
    let told = summary.map(|summary| format!("# What was said before\n\n{summary}"));
    let prompt = Some(prompt.to_owned()).filter(|prompt| !prompt.trim().is_empty());
    prompt.into_iter().chain(told).collect::<Vec<_>>().join("\n\n")
}

/// What a persona is told in a chat, section by section. `others` speak there, too.
pub fn chat(
    persona: &PersonaFields,
    mode: ChatMode,
    user: &UserPersona,
    others: &[&MemberState],
) -> Vec<Section> {
    let section = |title: &str, text: String| Section { title: title.into(), text };
    let mut sections = Vec::new();
    if !persona.system_prompt.trim().is_empty() {
        sections.push(section("Persona", persona.system_prompt.clone()));
    }
    if let Some(data) = &persona.roleplay_data {
        let known = [("In short", &data.summary), ("Appearance", &data.appearance)];
        if let Some(known) = listed(&known) {
            sections.push(section("Roleplay", format!("# You, in a few words\n\n{known}")));
        }
    }
    let said =
        [("Name", &user.name), ("Appearance", &user.appearance), ("Overview", &user.overview)];
    if let Some(said) = listed(&said) {
        sections.push(section("You", format!("# The person you talk with\n\n{said}")));
    }
    if !others.is_empty() {
        sections.push(section("Others", told_of(others, persona.name.trim())));
    }
    let (title, frame) = match mode {
        ChatMode::Roleplay => ("Roleplay mode", CHAT_ROLEPLAY),
        ChatMode::Story => ("Story mode", CHAT_STORY),
    };
    let name = match user.name.trim() {
        "" => NAMELESS,
        name => name,
    };
    let frame = filled(frame, &[("{{name}}", persona.name.trim()), ("{{user}}", name)]);
    sections.push(section(title, frame.trim().to_owned()));
    sections
}

/// Who else speaks, and how their words come.
fn told_of(others: &[&MemberState], name: &str) -> String {
    let known = |other: &&MemberState| {
        let data = other.roleplay_data.as_ref();
        let summary = data.map(|data| data.summary.trim()).filter(|summary| !summary.is_empty());
        match summary {
            Some(summary) => format!("- {}: {summary}", other.name.trim()),
            None => format!("- {}", other.name.trim()),
        }
    };
    let list = others.iter().map(known).collect::<Vec<_>>().join("\n");
    filled(CHAT_OTHERS, &[("{{name}}", name), ("{{others}}", &list)]).trim().to_owned()
}

/// A list of what is known; `None` when that is nothing.
fn listed(known: &[(&str, &String)]) -> Option<String> {
    let said = known.iter().filter(|(_, text)| !text.trim().is_empty());
    let lines: Vec<String> =
        said.map(|(name, text)| format!("- {name}: {}", text.trim())).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The frame with its places filled in one pass, so that what stands in a name is not filled.
fn filled(frame: &str, places: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(frame.len());
    let mut rest = frame;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let known = places.iter().find(|(place, _)| rest.starts_with(place));
        let (taken, text) = known.map_or(("{{", "{{"), |(place, text)| (*place, *text));
        out.push_str(text);
        rest = &rest[taken.len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::persona::RoleplayData;

    #[test]
    fn a_chat_is_told_who_speaks_to_whom_and_how() {
        let persona = PersonaFields {
            name: "{{user}}".into(),
            system_prompt: "You keep an inn.".into(),
            ..PersonaFields::default()
        };
        let user = UserPersona { name: "Ann".into(), ..UserPersona::default() };

        let sections = chat(&persona, ChatMode::Story, &user, &[]);

        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["Persona", "You", "Story mode"]);
        assert_eq!(sections[1].text, "# The person you talk with\n\n- Name: Ann");
        assert!(sections[2].text.contains("You and Ann write"), "{}", sections[2].text);
        assert!(sections[2].text.contains("{{user}} is its voice"), "a name is not filled");
        let nameless = chat(&persona, ChatMode::Roleplay, &UserPersona::default(), &[]);
        assert!(nameless[1].text.contains(NAMELESS));
    }

    #[test]
    fn a_persona_is_told_who_else_speaks_and_how_their_words_come() {
        let persona = PersonaFields { name: "Ann".into(), ..PersonaFields::default() };
        let data = RoleplayData { appearance: String::new(), summary: "Keeps {{name}}.".into() };
        let other = MemberState {
            persona_id: "ben".into(),
            name: "Ben".into(),
            revision: 1,
            current_revision: 1,
            changes: 0,
            in_bin: false,
            model: String::new(),
            roleplay_data: Some(data),
        };

        let sections = chat(&persona, ChatMode::Roleplay, &UserPersona::default(), &[&other]);

        assert_eq!(sections[0].title, "Others");
        assert!(sections[0].text.contains("- Ben: Keeps {{name}}."), "{}", sections[0].text);
        assert!(sections[0].text.contains("Speak as Ann only"), "{}", sections[0].text);
    }

    #[test]
    fn every_place_in_the_prompt_is_filled() {
        let persona = Persona {
            id: "p".into(),
            revision: 1,
            fields: PersonaFields { name: "Ann".into(), ..PersonaFields::default() },
            test_input_ids: Vec::new(),
            agent_chat_session_id: None,
            created_at: crate::domain::timestamp::Timestamp(0),
            updated_at: crate::domain::timestamp::Timestamp(0),
        };

        for prompt in [persona_agent(&persona), companion(&persona)] {
            assert!(prompt.contains("Ann"));
            assert!(!prompt.contains("{{"), "{prompt}");
        }
    }
}
