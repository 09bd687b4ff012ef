//! The inverse of a change, which is again a change.

use serde_json::Value;

use super::{apply::said_in, entity, publish};
use crate::{
    domain::{
        change::{Change, ChangeState, Conflict, Fields, Op},
        error::ApiError,
        id::ChangeId,
    },
    store::Link,
};

/// What a second undo of the same change is told.
pub fn already() -> ApiError {
    ApiError::NotNow { reason: "That change was taken back already.".into() }
}

/// What an undo is told when its passage was written anew, and nothing is kept of it.
pub fn hindered(by: &Conflict) -> ApiError {
    let reason = format!(
        "The same passage of the {} was changed again since, so nothing was taken back.",
        by.label()
    );
    ApiError::NotNow { reason }
}

/// What stands above both texts, where an undo is kept until a person says what becomes of it.
pub fn kept() -> ApiError {
    let reason = "The same passage was changed again since, so this is not taken back by itself.";
    ApiError::NotNow { reason: reason.into() }
}

/// The change that takes this one back. Later edits elsewhere in the thing are kept.
pub async fn inverse(link: &mut Link, id: &ChangeId) -> Result<Change, ApiError> {
    let row = link.change(id).await?;
    if row.undone_by.is_some() {
        return Err(already());
    }
    if row.state != ChangeState::Applied {
        let reason = "That change was never applied, so there is nothing to take back.".into();
        return Err(ApiError::NotNow { reason });
    }
    let done = row.change;
    let back = |op: Op| Change::new(done.entity.clone(), op);
    let inverse = match done.op {
        Op::Create | Op::Restore => back(Op::Delete),
        Op::Delete => back(Op::Restore),
        Op::Purge => {
            let reason = "What was removed from the bin cannot be brought back.".into();
            return Err(ApiError::NotNow { reason });
        }
        Op::Label => {
            let part = |name: &str| done.patch.get(name).cloned().unwrap_or(Value::Null);
            back(Op::Label).set("label", part("label")).set("revision", part("previous"))
        }
        Op::Publish => publish::inverse(link, &done).await?,
        Op::Update => {
            let (Some(from), Some(to)) = (row.from_revision, row.to_revision) else {
                return Err(ApiError::not_found("change"));
            };
            let before = entity::fields_at(link, &done.entity, from).await?;
            let after = entity::fields_at(link, &done.entity, to).await?;
            let mut inverse = back(Op::Update).with(differing(&before, &after)).based_on(to);
            // What it says again is from where it was then.
            if said_in(done.entity.kind).iter().any(|field| inverse.patch.contains_key(*field)) {
                inverse.untrusted = link.brought_in_at(&done.entity, from).await?;
            }
            inverse
        }
    };
    Ok(Change { undoes: Some(id.clone()), ..inverse }.because("Undo"))
}

/// The fields of `before` that are not the same in `after`.
fn differing(before: &Fields, after: &Fields) -> Fields {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| (name.clone(), before.get(name).cloned().unwrap_or(Value::Null)))
        .collect()
}
