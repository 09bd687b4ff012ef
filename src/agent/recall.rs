//! What an agent knows of its conversation when it begins to work: what it heard from elsewhere, and which
//! versions it was shown or wrote itself. A change is meant for those, however long ago that was.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    desk::{Heard, Share, ToolDesk},
    tools::{self, Known},
};
use crate::{
    changes::fields_at,
    domain::{
        change::{ChangeState, Entity},
        error::ApiError,
        id::ChangeId,
        message::PartBody,
        run::Run,
    },
    store::{Link, StoreError},
};

impl ToolDesk {
    /// Learns what was read, shown or written before a run, as far as it still stands in the conversation.
    pub async fn recall(&self, link: &mut Link, run: &Run) -> Result<(), ApiError> {
        let branch = link.branch(&run.message_id).await?;
        let shown = link.shown_sources(&run.conversation_id).await?;
        let mut written: HashMap<Entity, Vec<ChangeId>> = HashMap::new();
        for message in &branch {
            let along = shown.iter().filter(|(with, _)| *with == message.id);
            for (_, sources) in along {
                self.hear(Heard::Read, sources.iter().cloned());
            }
            for part in &message.parts {
                let PartBody::ToolResult(result) = &part.body else { continue };
                self.hear(tools::how_heard(&result.name), result.sources.iter().cloned());
                for (entity, known) in tools::known(&self.persona, result) {
                    match known {
                        Known::Whole(revision) => {
                            written.remove(&entity);
                            self.show_share(entity, revision, Share::Whole);
                        }
                        Known::Part => {
                            written.remove(&entity);
                            self.show_part(entity);
                        }
                        Known::Along => {
                            if !written.contains_key(&entity) && self.shown(&entity).is_none() {
                                self.show_part(entity);
                            }
                        }
                        Known::Written(change) => written.entry(entity).or_default().push(change),
                    }
                }
            }
        }
        // What was written before it was last read is known from there.
        for change in written.into_values().flatten() {
            self.recall_change(link, &change).await?;
        }
        self.close_recall();
        Ok(())
    }

    /// Learns the version that a change of the model's made, if it says what the model wrote. A draft may
    /// have been accepted in a person's words.
    async fn recall_change(&self, link: &mut Link, id: &ChangeId) -> Result<(), ApiError> {
        let row = match link.change(id).await {
            Err(StoreError::NotFound(_)) => return Ok(()),
            row => row?,
        };
        let Some(to) = row.to_revision.filter(|_| row.state == ChangeState::Applied) else {
            return Ok(());
        };
        let made = match fields_at(link, &row.change.entity, to).await {
            Err(ApiError::NotFound { .. }) => return Ok(()),
            made => made?,
        };
        // Where a thing belongs is none of its fields.
        let is_kept =
            |(field, text): (&String, &Value)| made.get(field).is_none_or(|is| is == text);
        if row.change.patch.iter().all(is_kept) {
            self.show_written(row.change.entity, row.from_revision, to);
        }
        Ok(())
    }
}
