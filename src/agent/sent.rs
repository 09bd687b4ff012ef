//! What a model was sent for an answer, and what the next message would take.

use super::{
    Agent, Toolbox, asking::told, chat_tree::PathAsk, chats::Speaker, manager, runs::said,
    tool::Registry, voices, window,
};
use crate::{
    changes::Scope,
    domain::{
        chat::MAX_WINDOW,
        error::ApiError,
        id::{ConversationId, MessageId, RunId},
        message::{ConversationKind, Message, PartBody, Role},
        persona::PersonaFields,
        run::{Run, Usage},
        sent::{
            Estimate, Parameters, Recorded, Sent, SentMessage, SentSection, SentTool, cached_share,
            joined,
        },
        tokens::estimate,
        tree::MAX_COUNTED,
    },
    store::{Link, StoreError, now},
};

/// How long an answer is thought to be before there was one, in tokens.
const USUAL_ANSWER: u64 = 300;

impl Agent {
    /// What the model was sent for an answer, or for the answer to a person's message.
    pub async fn sent(&self, scope: &Scope, message: &MessageId) -> Result<Sent, ApiError> {
        let known = self.said_in_chat(scope, message).await;
        let mut link = self.read(scope).await?;
        let run = match known {
            Ok((_, known)) => match (&known.message.run_id, known.message.role) {
                // What a person put in other words is of no model.
                (Some(run), Role::Assistant) if !known.message.model.is_empty() => {
                    link.run(run).await?
                }
                _ => link.run_of(message).await?.ok_or_else(nothing_sent)?,
            },
            // What is being written is no message yet, but what was sent for it is known.
            Err(ApiError::Busy { run_id }) => link.run(&run_id).await?,
            Err(error) => return Err(error),
        };
        self.sent_in(&mut link, run).await
    }

    /// What the model was sent first in a run of any kind.
    pub async fn sent_in_run(&self, scope: &Scope, run: &RunId) -> Result<Sent, ApiError> {
        let mut link = self.read(scope).await?;
        let run = link.run(run).await?;
        self.sent_in(&mut link, run).await
    }

    /// The same through a link that is there.
    pub(super) async fn sent_in(&self, link: &mut Link, run: Run) -> Result<Sent, ApiError> {
        let recorded = link.run_prompt(&run.id).await?.ok_or_else(nothing_sent)?;
        let recorded: Recorded = serde_json::from_str(&recorded).map_err(|_| nothing_sent())?;
        let persona = match run.persona_id.as_str() {
            // A model that speaks as itself is told nothing that a persona has.
            "" => PersonaFields::default(),
            _ => match link.persona_at(&run.persona_id, run.persona_revision).await {
                Ok(persona) => persona,
                Err(StoreError::NotFound(_)) => gone(),
                Err(error) => return Err(error.into()),
            },
        };
        let (window, room) = (recorded.window, recorded.room);
        // Only a chat and a session of the terminal have a window of so many messages; elsewhere what fits
        // is sent. Only in a chat there are other voices.
        let in_chat = link.conversation_kind(&run.conversation_id).await? == ConversationKind::Chat;
        let mut branch = match window {
            0 => link.branch(&run.message_id).await?,
            window if recorded.reaches_back => {
                let most = i64::from(window + window::REACH);
                let mut branch = link.branch_end(&run.message_id, most).await?;
                branch.split_off(window::last(&branch, window))
            }
            window => link.branch_end(&run.message_id, i64::from(window)).await?,
        };
        let heard = match in_chat {
            true => {
                let most = i64::try_from(branch.len()).unwrap_or(i64::MAX);
                link.voices(&run.conversation_id, &run.message_id, most).await?
            }
            false => Vec::new(),
        };
        if recorded.cut_results {
            manager::cut_results(&mut branch);
        }
        if recorded.words_only {
            window::leave_words(&mut branch);
        }
        let mut sent = branch.split_off(window::cut(&branch, room));
        voices::hear(&mut sent, &heard, &run.persona_id);
        let first_sent = sent.first().map(|message| message.id.clone());
        let left_out = left_out(link, &sent).await?;
        let messages: Vec<SentMessage> = sent
            .iter()
            .map(|message| SentMessage {
                id: message.id.clone(),
                role: message.role,
                text: message.text(),
                parts: done(message),
                tokens: window::tokens(message),
            })
            .collect();
        let parameters = recorded.parameters.clone();
        let tools = self.told_tools(parameters.as_ref());
        let sections = recorded.sections(&persona.system_prompt).into_iter();
        let sections: Vec<SentSection> = sections
            .map(|section| SentSection {
                tokens: estimate(&section.text) as u64,
                title: section.title,
                text: section.text,
            })
            .collect();
        let tokens = sections.iter().map(|section| section.tokens).sum::<u64>()
            + tools.iter().map(|tool| tool.tokens).sum::<u64>()
            + messages.iter().map(|message| message.tokens).sum::<u64>();
        Ok(Sent {
            run_id: run.id,
            model: run.model,
            sections,
            tools,
            parameters,
            messages,
            first_sent,
            left_out,
            window,
            tokens,
            cached_share: cached_share(run.spent.usage),
            spent: run.spent,
        })
    }

    /// The tools that a model was told of, as they are described now.
    fn told_tools(&self, parameters: Option<&Parameters>) -> Vec<SentTool> {
        let named = parameters.map(|parameters| parameters.tools.as_slice()).unwrap_or_default();
        let shared = &self.shared;
        let others = self.toolbox().map(Toolbox::known).unwrap_or_default();
        let known =
            [&shared.persona_tools, &shared.companion_tools, &shared.playground_tools, &others];
        let told = |name: &String| {
            let mut specs = known.iter().flat_map(|tools| tools.specs());
            let spec = specs.find(|spec| spec.name == *name);
            let description = spec.map(|spec| spec.description.clone()).unwrap_or_default();
            let schema = spec.map(|spec| spec.schema.to_string()).unwrap_or_default();
            let tokens = estimate(name) + estimate(&description) + estimate(&schema);
            SentTool { name: name.clone(), description, tokens: tokens as u64 }
        };
        named.iter().map(told).collect()
    }

    /// What it would take to say this next in a chat.
    pub async fn estimate(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        content: &str,
        leaf: Option<MessageId>,
        device: Option<String>,
    ) -> Result<Estimate, ApiError> {
        let (speakers, _) = self.speakers(scope, chat, None).await?;
        let ask =
            PathAsk { leaf, device, limit: Some(MAX_WINDOW + window::REACH), ..PathAsk::default() };
        let page = self.path(scope, chat, ask).await?;
        let mut branch: Vec<Message> = page.items.into_iter().map(|item| item.message).collect();
        let answers = branch.iter().filter_map(|message| message.spent.usage.output);
        let (sum, count) = answers.fold((0, 0), |(sum, count), tokens| (sum + tokens, count + 1));
        let output_tokens = sum.checked_div(count).unwrap_or(USUAL_ANSWER);
        branch.push(said(None, content, now()));
        let mut whole =
            Estimate { cost_micros: Some(0), more_micros: Some(0), ..Estimate::default() };
        // Each of them reads the conversation and answers.
        for Speaker { route, sections, window, .. } in speakers {
            let mut branch = branch[window::last(&branch, window)..].to_vec();
            if !route.model.tools {
                window::leave_words(&mut branch);
            }
            let system = told(&route, &joined(&sections), &Registry::default());
            let sent = &branch[window::cut(&branch, self.history_room(&route, system))..];
            let input_tokens = system + sent.iter().map(window::tokens).sum::<u64>();
            let (input, output) = (Some(input_tokens), Some(output_tokens));
            let usage = Usage { input, output, ..Usage::default() };
            let more = Usage { input: Some(1000), ..Usage::default() };
            let price = |usage| route.model.price.map(|price| price.micros(usage));
            let sum = |known: Option<u64>, cost: Option<u64>| Some(known? + cost?);
            whole.cost_micros = sum(whole.cost_micros, price(usage));
            whole.more_micros = sum(whole.more_micros, price(more));
            whole.input_tokens += input_tokens;
            whole.output_tokens += output_tokens;
            whole.messages = whole.messages.max(sent.len() as u64);
            if !whole.model.split(", ").any(|known| known == route.model.id) {
                let between = if whole.model.is_empty() { "" } else { ", " };
                whole.model = format!("{}{between}{}", whole.model, route.model.id);
            }
        }
        Ok(whole)
    }
}

/// What a message says and does, when it does anything beside saying something. Thoughts are never words that
/// were sent.
fn done(message: &Message) -> Vec<PartBody> {
    let does = |body: &PartBody| matches!(body, PartBody::ToolCall(_) | PartBody::ToolResult(_));
    if !message.parts.iter().any(|part| does(&part.body)) {
        return Vec::new();
    }
    let bodies = message.parts.iter().map(|part| &part.body);
    bodies.filter(|body| !matches!(body, PartBody::Reasoning(_))).cloned().collect()
}

/// How many messages stand before those that were sent.
async fn left_out(link: &mut Link, sent: &[Message]) -> Result<i64, ApiError> {
    match sent.first().and_then(|first| first.parent_id.as_ref()) {
        Some(parent) => Ok(link.depth(parent, MAX_COUNTED).await?),
        None => Ok(0),
    }
}

/// Stands for a persona that was removed for good: the rest of what was sent is still known.
fn gone() -> PersonaFields {
    let system_prompt = "(It was removed for good, together with the persona.)".into();
    PersonaFields { system_prompt, ..PersonaFields::default() }
}

fn nothing_sent() -> ApiError {
    ApiError::not_found("prompt")
}
