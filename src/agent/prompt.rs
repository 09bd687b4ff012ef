//! What a model is told before the conversation begins.

use crate::domain::persona::{Persona, PersonaFields, Tier};

const PERSONA_AGENT: &str = include_str!("prompts/persona_agent.md");
const COMPANION: &str = include_str!("prompts/companion.md");

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

#[cfg(test)]
mod tests {
    use super::*;

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
