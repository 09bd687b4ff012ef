//! Where a tool works: in one Space, for one persona's agent, in one run.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

use super::{Agent, notes::Sight, tool::ToolError};
use crate::{
    changes::{Gate, Scope},
    domain::{
        actor::Actor,
        change::{Change, ChangeState, Entity, Fields, Outcome},
        id::{CallId, ConversationId, PersonaId},
        persona::{Persona, Tier},
        proposal::{Source, Sources},
        run::Run,
        version::Revision,
    },
    store::{FilePlace, Head, Link},
};

/// The most drafts of one run: nobody reviews more.
const MAX_DRAFTS: usize = 20;

/// How something from elsewhere came before the model: what it looked into counts more than what merely
/// came along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard {
    /// It was among what a search found.
    Found,
    /// It was read, or the person showed it.
    Read,
}

/// How much of a thing was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    Whole,
    /// Its beginning.
    Part,
}

/// What of a thing was read in pieces, at one revision.
#[derive(Debug)]
struct Pieces {
    revision: Revision,
    read: Vec<Range<usize>>,
    /// The fields whose ends were not read.
    unread: Vec<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The desk, for one call.
#[derive(Clone, Copy, Debug)]
pub struct CallDesk<'run> {
    /// The desk.
    pub desk: &'run ToolDesk,
    /// The call.
    pub call: &'run CallId,
    /// How much the model can be told, in bytes. What is longer is cut off at its end.
    pub most: usize,
}

impl std::ops::Deref for CallDesk<'_> {
    type Target = ToolDesk;

    fn deref(&self) -> &ToolDesk {
        self.desk
    }
}

/// What a tool can reach.
#[derive(Debug)]
pub struct ToolDesk {
    /// The room itself, for tools that start runs.
    pub agent: Agent,
    /// In which Space, and for whom.
    pub scope: Scope,
    /// The persona that is worked on.
    pub persona: PersonaId,
    /// The conversation in which the run goes on.
    pub conversation: ConversationId,
    /// Ends when a person stops the run.
    pub stopped: CancellationToken,
    /// What the person looks at.
    pub context: Option<Arc<Sight>>,
    /// The files that are worked on.
    files: Option<FilePlace>,
    gate: Gate,
    /// The versions that the model last saw: what it writes is meant for those.
    seen: Mutex<HashMap<Entity, Revision>>,
    /// Those of them that it saw in earlier runs of the conversation.
    recalled: Mutex<HashMap<Entity, Revision>>,
    /// Things too long for the model, of which it was shown the beginning only.
    in_part: Mutex<HashSet<Entity>>,
    /// Things that were read in pieces.
    pieces: Mutex<HashMap<Entity, Pieces>>,
    /// What was read in this conversation that nobody here wrote.
    sources: Mutex<Vec<(Heard, Source)>>,
    /// How many drafts this run made.
    drafts: AtomicUsize,
    /// What runs cost that were started for this one, since somebody last asked.
    charged: AtomicU64,
}

impl ToolDesk {
    /// A desk for the agent of this persona, which may go as far as this tier.
    pub fn new(
        agent: Agent,
        scope: Scope,
        persona: PersonaId,
        run: &Run,
        tier: Tier,
        stopped: CancellationToken,
    ) -> Self {
        let actor = Actor::Persona {
            persona: persona.clone(),
            user: scope.user.clone(),
            run: Some(run.id.clone()),
            tier,
        };
        let gate = Gate::new(agent.store().clone(), scope.space.clone(), actor);
        let (seen, recalled) = (Mutex::default(), Mutex::default());
        let (in_part, pieces, sources) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (drafts, charged) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self {
            agent,
            scope,
            persona,
            conversation: run.conversation_id.clone(),
            stopped,
            context: None,
            files: None,
            gate,
            seen,
            recalled,
            in_part,
            pieces,
            sources,
            drafts,
            charged,
        }
    }

    /// The same desk, with the files that are seen from a place.
    pub fn with_files(self, files: Option<FilePlace>) -> Self {
        Self { files, ..self }
    }

    /// The place of the files that are worked on.
    pub fn files(&self) -> Result<&FilePlace, ToolError> {
        let none = || ToolError::TellModel("There are no files in this conversation.".into());
        self.files.as_ref().ok_or_else(none)
    }

    /// The same desk, from which the person is seen to look at something.
    pub fn in_context(self, context: Option<Arc<Sight>>) -> Self {
        Self { context, ..self }
    }

    /// Notes what a run cost that was started for this one, in millionths of a dollar.
    pub fn charge(&self, micros: u64) {
        self.charged.fetch_add(micros, Ordering::Relaxed);
    }

    /// What such runs cost since somebody last asked.
    pub fn take_charges(&self) -> u64 {
        self.charged.swap(0, Ordering::Relaxed)
    }

    /// A link that reads.
    pub async fn read(&self) -> Result<Link, ToolError> {
        Ok(self.agent.store().read(&self.scope.space).await?)
    }

    /// The persona as it is now.
    pub async fn persona(&self) -> Result<Persona, ToolError> {
        Ok(self.read().await?.persona(&self.persona).await?)
    }

    /// Notes which version of a thing the model was shown.
    pub fn show(&self, entity: impl Into<Entity>, revision: Revision) {
        lock(&self.seen).insert(entity.into(), revision);
    }

    /// Notes the same, and how much of it that was.
    pub fn show_share(&self, entity: Entity, revision: Revision, share: Share) {
        match share {
            Share::Whole => lock(&self.in_part).remove(&entity),
            Share::Part => lock(&self.in_part).insert(entity.clone()),
        };
        self.show(entity, revision);
    }

    /// Notes that the model was shown no more than the beginning of a thing.
    pub fn show_part(&self, entity: Entity) {
        lock(&self.in_part).insert(entity);
    }

    /// Notes which piece of a thing the model was shown, and where the fields end that it must know whole
    /// before it replaces them.
    pub fn show_piece(
        &self,
        entity: Entity,
        revision: Revision,
        piece: Range<usize>,
        ends: Vec<(String, usize)>,
    ) {
        self.show(entity.clone(), revision);
        let mut pieces = lock(&self.pieces);
        let earlier = pieces.remove(&entity).filter(|earlier| earlier.revision == revision);
        let mut read = earlier.map(|earlier| earlier.read).unwrap_or_default();
        read.push(piece);
        // Pieces that are asked for together come in any order.
        read.sort_by_key(|piece| piece.start);
        let reach = |to: usize, piece: &Range<usize>| match piece.start <= to {
            true => to.max(piece.end),
            false => to,
        };
        let to = read.iter().fold(0, reach);
        let unread = ends.into_iter().filter(|(_, end)| *end > to).map(|(field, _)| field);
        let unread = unread.collect();
        pieces.insert(entity, Pieces { revision, read, unread });
    }

    /// The fields of a thing of which the model was shown some pieces, but not all.
    pub fn unread(&self, entity: &Entity) -> Vec<String> {
        lock(&self.pieces).get(entity).map(|pieces| pieces.unread.clone()).unwrap_or_default()
    }

    /// Notes which version the model made of another. It knows that one, unless somebody else wrote after
    /// the one that it was shown.
    pub fn show_written(&self, entity: Entity, from: Option<Revision>, to: Revision) {
        let seen = self.shown(&entity);
        if seen.is_none() || seen == from {
            self.show(entity, to);
        }
    }

    /// How much of a thing the model knows, as far as it was shown any of it.
    pub fn share(&self, entity: &Entity) -> Share {
        if lock(&self.in_part).contains(entity) { Share::Part } else { Share::Whole }
    }

    /// The version of a thing that the model was shown.
    pub fn shown(&self, entity: &Entity) -> Option<Revision> {
        lock(&self.seen).get(entity).copied()
    }

    /// The version that a change of a thing is meant for, which is at this revision now: the one that the
    /// model was shown, if there was one.
    pub fn base(&self, entity: &Entity, now: Revision) -> Revision {
        self.shown(entity).filter(|seen| *seen <= now).unwrap_or(now)
    }

    /// The same for what is given anew, like a name, and goes on from nothing: what was shown in earlier
    /// runs is no reason to hold it against what the person wrote since.
    pub fn base_anew(&self, entity: &Entity, now: Revision) -> Revision {
        let recalled = lock(&self.recalled).get(entity).copied();
        if self.shown(entity) == recalled { now } else { self.base(entity, now) }
    }

    /// Notes that all that was shown so far was shown in earlier runs.
    pub fn close_recall(&self) {
        lock(&self.recalled).clone_from(&lock(&self.seen));
    }

    /// Notes what was read that nobody here wrote. What was read last of a thing is its passage.
    pub fn hear(&self, how: Heard, heard: impl IntoIterator<Item = Source>) {
        let mut sources = lock(&self.sources);
        for source in heard {
            match sources.iter_mut().find(|(_, known)| known.entity == source.entity) {
                Some(known) if known.0 <= how => *known = (how, source),
                Some(_) => {}
                None => sources.push((how, source)),
            }
        }
    }

    /// What nobody here wrote: first what was read, each in the order in which it came.
    fn sources(&self) -> Sources {
        let mut sources = lock(&self.sources).clone();
        sources.sort_by_key(|(how, _)| std::cmp::Reverse(*how));
        sources.into_iter().map(|(_, source)| source).collect()
    }

    /// What a thing says now, in the bin or not.
    pub async fn head(&self, entity: &Entity) -> Result<Head<Fields>, ToolError> {
        Ok(self.gate.head(entity).await?)
    }

    /// Brings a change to the gate.
    pub async fn submit(&self, mut change: Change) -> Result<Outcome, ToolError> {
        if self.drafts.load(Ordering::Relaxed) >= MAX_DRAFTS {
            let told =
                format!("{MAX_DRAFTS} drafts wait from this answer alone. Stop here and say so.");
            return Err(ToolError::TellModel(told));
        }
        change.untrusted = self.sources();
        let entity = change.entity.clone();
        let outcome = self.gate.submit(change).await?;
        // The model knows what it wrote itself.
        match outcome.state {
            ChangeState::Applied => {
                // Where nothing was changed, no version was made of another.
                let from = outcome.change_id.as_ref().map(|_| outcome.revision - 1);
                self.show_written(entity, from, outcome.revision);
            }
            _ => drop(self.drafts.fetch_add(1, Ordering::Relaxed)),
        }
        Ok(outcome)
    }
}
