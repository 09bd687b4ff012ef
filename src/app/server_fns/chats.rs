//! Chats with personas, as their pages show them.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::{chat_tree::Paragraph, models::NamedModel, personas::given};
use crate::domain::{
    change::Outcome,
    chat::{
        Answering, Chat, ChatMode, ChatSettings, ChatSummary, SettingsPatch, UserPersona,
        WINDOW_SETTING,
    },
    error::ApiError,
    id::{ConversationId, MessageId, PersonaId, RunId, TestInputId},
    list::Page,
    picture::Picture,
    run::Run,
    sent::{Estimate, Sent},
    tree::{PathMessage, PathPage, TreeNode},
    version::Revision,
};

/// All that the page of a chat shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatData {
    /// The chat.
    pub chat: Chat,
    /// The path through it; its messages are beside it.
    pub path: PathPage,
    /// The messages with their words rendered.
    pub turns: Vec<ChatTurn>,
    /// The models that could speak.
    pub models: Vec<NamedModel>,
    /// What the next message would take, about.
    pub estimate: Option<Estimate>,
    /// Whether this device was in the chat before.
    pub known_device: bool,
    /// Whether the place that was asked for is not in this chat, so that another is shown.
    pub stray: bool,
    /// What was just pruned.
    pub pruned: Option<TreeNode>,
    /// Whether pictures are made here at all.
    pub can_make: bool,
}

/// A message with its words as the page shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatTurn {
    /// The message.
    pub said: PathMessage,
    /// Its words, rendered.
    pub html: String,
    /// In a story, its paragraphs.
    pub paragraphs: Vec<Paragraph>,
    /// Its pictures, in the order they were asked for.
    pub pictures: Vec<Picture>,
    /// The run that wrote it, if that did not come to a good end.
    pub broken: Option<Run>,
}

/// The settings of a chat, as a form has them. An empty field is as good as none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatForm {
    /// Whether there is a form at all; without one, everything stays.
    pub filled: bool,
    /// The model string; empty means the persona's own.
    pub model: String,
    /// How many of the last messages go to the model.
    pub window: String,
    /// What the person is called.
    pub name: String,
    /// How they look.
    pub appearance: String,
    /// Who they are.
    pub overview: String,
    /// Whether there is a box for pictures; a form that was remembered may be older than it.
    pub with_images: bool,
    /// Whether answers get pictures: a box that is not ticked is not sent.
    pub images: bool,
    /// How several personas answer one message.
    pub answers: String,
}

impl ChatForm {
    /// What it says about the settings.
    pub fn patch(self) -> Result<SettingsPatch, ApiError> {
        let Self { filled, model, name, appearance, overview, .. } = self;
        if !filled {
            return Ok(SettingsPatch::default());
        }
        let window = match self.window.trim() {
            "" => None,
            number => Some(number.parse().map_err(|_| {
                ApiError::invalid("settings.window", "The number of messages must be a number.")
            })?),
        };
        let answers = match self.answers.as_str() {
            "" => None,
            word => Some(Answering::from_word(word).ok_or_else(|| {
                ApiError::invalid("settings.answers", "Several answer in turn or in parallel.")
            })?),
        };
        let user_persona = Some(UserPersona { name, appearance, overview });
        let images = self.with_images.then_some(self.images);
        Ok(SettingsPatch { model: Some(model), user_persona, window, images, answers })
    }

    /// As much of it as can be read, and what the rest is called: a browser may remember it from long ago.
    pub fn remembered(mut self) -> (ChatSettings, Vec<&'static str>) {
        let mut unread = Vec::new();
        let window = self.window.trim();
        if !window.is_empty() && window.parse::<u32>().is_err() {
            self.window.clear();
            unread.push(WINDOW_SETTING);
        }
        if !self.answers.is_empty() && Answering::from_word(&self.answers).is_none() {
            self.answers.clear();
            unread.push("how several answer");
        }
        let patch = self.patch().unwrap_or_default();
        (patch.over(ChatSettings::default()), unread)
    }
}

/// A chat that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The chat.
    pub id: ConversationId,
    /// What of the remembered settings could not be used, as a sentence; empty when there was nothing.
    pub told: String,
}

/// Chats, the last written in first; or those with certain words, the best first.
#[server(prefix = "/fn", endpoint = "list_chats")]
pub async fn list_chats(
    /// Only those with this persona.
    #[server(default)]
    persona: Option<PersonaId>,
    /// Only those with these words in them.
    #[server(default)]
    words: String,
    /// Where to go on.
    #[server(default)]
    after: Option<String>,
) -> Result<Page<ChatSummary>, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, visible::show_in},
        state::{desk, found_chats},
    };

    let desk = desk()?;
    let mut page = match words.trim() {
        "" => desk.read().await?.chats(persona.as_ref(), after.as_deref(), PAGE_SIZE).await?,
        _ => found_chats(&desk, persona.as_ref(), &words).await?,
    };
    // A title is edited there, too.
    for chat in &mut page.items {
        show_in(chat.persona_names.iter_mut().chain([&mut chat.persona_name]));
    }
    Ok(page)
}

/// Gives a chat another title.
#[server(prefix = "/fn", endpoint = "rename_chat")]
pub async fn rename_chat(
    /// Which one.
    id: ConversationId,
    /// What it is called from now on.
    title: String,
) -> Result<Revision, ApiError> {
    use crate::{agent::ChatChanges, state::desk};

    let desk = desk()?;
    let changes = ChatChanges { title: Some(title), ..ChatChanges::default() };
    Ok(desk.agent.change_chat(&desk.scope, &id, changes).await?.revision)
}

/// Begins a chat with a persona as it is now, and goes there.
#[server(prefix = "/fn", endpoint = "begin_chat")]
pub async fn begin_chat(
    /// Who speaks.
    persona: PersonaId,
    /// How.
    #[server(default)]
    mode: ChatMode,
    /// What this browser remembers of the settings of another chat.
    #[server(default)]
    settings: ChatForm,
) -> Result<Begun, ApiError> {
    use crate::{agent::NewChat, state::desk};

    let desk = desk()?;
    // What is remembered may name a model that is gone.
    let (settings, mut left_out) = settings.remembered();
    let (settings, unusable) = desk.agent.usable_settings(&desk.scope, settings).await?;
    left_out.extend(unusable);
    let new = NewChat { persona, mode, settings: settings.into(), ..NewChat::default() };
    let chat = desk.agent.create_chat(&desk.scope, new).await?;
    leptos_axum::redirect(&format!("/chats/{}", chat.id));
    let told = match left_out.join(", ") {
        none if none.is_empty() => none,
        names => format!(
            "Of the settings that this browser remembers, these cannot be used any more and were left out: {names}."
        ),
    };
    Ok(Begun { id: chat.id, told })
}

/// A chat, and a path through it.
#[server(prefix = "/fn", endpoint = "open_chat")]
pub async fn open_chat(
    /// Which one.
    id: ConversationId,
    /// Where the path ends; without it, where this device last was.
    #[server(default)]
    leaf: Option<MessageId>,
    /// Where the path ends that is shown already: looking at it once more is not going there.
    #[server(default)]
    stay: Option<MessageId>,
    /// Only what was said before this message.
    #[server(default)]
    before: Option<MessageId>,
    /// A message that must be seen, however far above the end it stands.
    #[server(default)]
    see: Option<MessageId>,
    /// What was just pruned.
    #[server(default)]
    pruned: Option<MessageId>,
) -> Result<ChatData, ApiError> {
    use super::models::list_models;
    use crate::{
        agent::{PathAsk, is_elsewhere},
        domain::visible::show_in,
        state::{desk, device, keep_place, shown_turns},
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let mut chat = link.chat(&id).await?;
    show_in(chat.members.iter_mut().map(|member| &mut member.name));
    let device = device();
    let was_at = link.device_leaf(&id, &desk.scope.user, &device).await?;
    let pruned = match pruned {
        Some(pruned) => link.marked_message(&id, &pruned).await.ok().filter(|one| one.pruned),
        None => None,
    };
    drop(link);
    let (here, stays) = (Some(device.clone()), stay.is_some());
    let device_id = here.clone();
    let earlier = before.is_some();
    let ask = PathAsk { leaf: leaf.or(stay), before, around: see, limit: None, device: device_id };
    let (mut path, stray) = match desk.agent.path(&desk.scope, &id, ask).await {
        // A place that is gone, or was never here, must not hide the chat.
        Err(error) if !earlier && is_elsewhere(&error) => {
            let ask = PathAsk { device: here, ..PathAsk::default() };
            (desk.agent.path(&desk.scope, &id, ask).await?, true)
        }
        path => (path?, false),
    };
    if let Some(leaf) = &path.leaf {
        keep_place(&desk, &id, leaf, &device, was_at.as_ref(), stays).await?;
    }
    let known_device = was_at.is_some();
    let said = std::mem::take(&mut path.items);
    let turns = shown_turns(&desk, &chat, said).await?;
    let models = list_models().await?.models;
    let leaf = path.leaf.clone();
    let estimate = desk.agent.estimate(&desk.scope, &id, "", leaf, Some(device)).await.ok();
    let (pruned, can_make) = (pruned.map(TreeNode::from), desk.jobs.makes_pictures());
    Ok(ChatData { chat, path, turns, models, estimate, known_device, stray, pruned, can_make })
}

/// Gives a chat another title, mode or settings.
#[server(prefix = "/fn", endpoint = "save_chat")]
pub async fn save_chat(
    /// Which one.
    id: ConversationId,
    /// The revision that the form was filled from.
    revision: Revision,
    /// What it is called.
    title: String,
    /// How the persona speaks.
    mode: ChatMode,
    /// What is set for it.
    #[server(default)]
    settings: ChatForm,
) -> Result<Revision, ApiError> {
    use crate::{agent::ChatChanges, state::desk};

    let desk = desk()?;
    // A title that stays is not one that the person gave.
    let known = desk.read().await?.chat_at(&id, revision).await?;
    let title = Some(title).filter(|title| *title != known.title);
    let (mode, base) = (Some(mode), Some(revision));
    let settings = settings.patch()?;
    let changes = ChatChanges { title, mode, settings, base, ..ChatChanges::default() };
    Ok(desk.agent.change_chat(&desk.scope, &id, changes).await?.revision)
}

/// Lets the personas speak as they are now, and says the last turns to them again if that is wanted.
#[server(prefix = "/fn", endpoint = "update_chat_persona")]
pub async fn update_chat_persona(
    /// In which chat.
    id: ConversationId,
    /// How many turns are said again.
    #[server(default)]
    replay: usize,
) -> Result<Revision, ApiError> {
    use crate::state::{desk, device};

    let desk = desk()?;
    let turns = Some(replay).filter(|turns| *turns > 0);
    let chat = desk.agent.update_and_replay(&desk.scope, &id, turns, Some(&device())).await?;
    // The branch that was shown may be in the address.
    if turns.is_some() {
        leptos_axum::redirect(&format!("/chats/{id}"));
    }
    Ok(chat.persona_revision)
}

/// Moves a chat to the bin and goes to the list.
#[server(prefix = "/fn", endpoint = "delete_chat")]
pub async fn delete_chat(
    /// Which one.
    id: ConversationId,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let outcome = desk.agent.delete_chat(&desk.scope, &id).await?;
    leptos_axum::redirect("/chats");
    Ok(outcome)
}

/// Goes to the branch of a message, and to the message itself where the end of the branch would not show
/// it.
#[server(prefix = "/fn", endpoint = "go_to_message")]
pub async fn go_to_message(
    /// In which chat.
    chat: ConversationId,
    /// The message.
    id: MessageId,
    /// Whether the message is brought into sight wherever it stands.
    #[server(default)]
    show: bool,
) -> Result<MessageId, ApiError> {
    use crate::{
        agent::Place,
        state::{desk, device},
    };

    let desk = desk()?;
    let (leaf, place) = desk.agent.go_to_place(&desk.scope, &chat, &id, Some(&device())).await?;
    leptos_axum::redirect(&match place {
        Place::Near if !show => format!("/chats/{chat}"),
        Place::Near | Place::Far => format!("/chats/{chat}?see={id}#turn-{id}"),
    });
    Ok(leaf)
}

/// Asks for another answer beside one.
#[server(prefix = "/fn", endpoint = "regenerate_message")]
pub async fn regenerate_message(
    /// The answer, or what asks for one.
    id: MessageId,
) -> Result<RunId, ApiError> {
    use crate::state::{desk, device};

    let desk = desk()?;
    let run = desk.agent.regenerate(&desk.scope, &id, Some(&device())).await?;
    leptos_axum::redirect(&format!("/chats/{}", run.conversation_id));
    Ok(run.id)
}

/// Puts a message in other words, beside it.
#[server(prefix = "/fn", endpoint = "edit_message")]
pub async fn edit_message(
    /// The message.
    id: MessageId,
    /// The other words.
    content: String,
    /// Whether they shall be answered.
    #[server(default)]
    answer: bool,
) -> Result<MessageId, ApiError> {
    use crate::{
        agent::ChatEdit,
        domain::field::unix_lines,
        state::{desk, device, is_plain_form},
    };

    let desk = desk()?;
    let edit = ChatEdit { content: unix_lines(&content), answer, device: Some(device()) };
    let edited = match desk.agent.edit_message(&desk.scope, &id, edit.clone()).await {
        Ok((edited, _)) => edited,
        // The redirect back to a plain form would lose the words, so they are kept all the same.
        Err(refused) if answer && is_plain_form() => {
            let edit = ChatEdit { answer: false, ..edit };
            return Err(match desk.agent.edit_message(&desk.scope, &id, edit).await {
                Ok(_) => ApiError::NotNow {
                    reason: format!("Your words are kept, but nobody answers them yet. {refused}"),
                },
                Err(_) => refused,
            });
        }
        Err(refused) => return Err(refused),
    };
    let chat = desk.read().await?.conversation_of(&edited).await?;
    leptos_axum::redirect(&format!("/chats/{chat}"));
    Ok(edited)
}

/// The marks of a message that are to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarksForm {
    /// What this moment is called; empty for nothing.
    #[serde(default, deserialize_with = "given")]
    pub label: Option<String>,
    /// Whether to find it again.
    #[serde(default)]
    pub bookmarked: Option<bool>,
}

/// Gives a message a label and a bookmark.
#[server(prefix = "/fn", endpoint = "mark_message")]
pub async fn mark_message(
    /// The message.
    id: MessageId,
    /// What to mark it with.
    #[server(default)]
    form: MarksForm,
) -> Result<(), ApiError> {
    use crate::{
        state::desk,
        store::{Mark, now},
    };

    let desk = desk()?;
    let since = |wanted: bool| Mark::Bookmark(wanted.then(now));
    let MarksForm { label, bookmarked } = form;
    let marks = label.map(Mark::Label).into_iter().chain(bookmarked.map(since)).collect();
    desk.agent.mark(&desk.scope, &id, marks).await?;
    Ok(())
}

/// Hides a message with all that follows it, or shows it again. Either way one sees the chat as it is
/// then, with a way back.
#[server(prefix = "/fn", endpoint = "prune_message")]
pub async fn prune_message(
    /// The message.
    id: MessageId,
    /// Whether it is shown again.
    #[server(default)]
    back: bool,
) -> Result<Option<MessageId>, ApiError> {
    use crate::state::{desk, device};

    let desk = desk()?;
    let (agent, scope) = (&desk.agent, &desk.scope);
    if !back {
        let leaf = agent.prune(scope, &id).await?;
        let chat = desk.read().await?.conversation_of(&id).await?;
        leptos_axum::redirect(&format!("/chats/{chat}?pruned={id}"));
        return Ok(leaf);
    }
    let leaf = agent.restore_branch(scope, &id).await?;
    let chat = desk.read().await?.conversation_of(&id).await?;
    // Where a branch further up is hidden still, there is nothing to go to.
    if let Some(leaf) = &leaf {
        agent.go_to(scope, &chat, leaf, Some(&device())).await?;
    }
    leptos_axum::redirect(&format!("/chats/{chat}"));
    Ok(leaf)
}

/// Makes a moment a test input of the persona.
#[server(prefix = "/fn", endpoint = "keep_as_test")]
pub async fn keep_as_test(
    /// The message.
    id: MessageId,
) -> Result<TestInputId, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    Ok(desk.agent.make_test_input(&desk.scope, &id).await?.id)
}

/// What the model was sent for an answer.
#[server(prefix = "/fn", endpoint = "what_was_sent")]
pub async fn what_was_sent(
    /// The answer.
    id: MessageId,
) -> Result<Sent, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.sent(&desk.scope, &id).await
}
