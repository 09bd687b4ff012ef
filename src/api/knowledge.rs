//! Pages, refs and tasks: the same routes for each of them.

use std::{borrow::Cow, marker::PhantomData};

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::Json;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use super::extract::{Body, Created, Params, Segments, identifier, page_size};
use crate::{
    changes::to_fields,
    domain::{
        change::{Change, Entity, Fields, Op, Outcome},
        error::ApiError,
        knowledge::{
            EntryOf, EntrySummary, Knowledge, PageFields, RefFields, TaskFields, TaskStatus,
        },
        list::Page,
        version::{Revision, Version, VersionSummary},
    },
    state::{AppState, Desk},
    store::EntryFilter,
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .merge(routes_of::<PageFields>("Pages, the last changed first."))
        .merge(routes_of::<RefFields>("Refs, the last changed first."))
        .merge(routes_of::<TaskFields>("Tasks: what is due first, then the last changed."))
}

fn routes_of<K: Knowledge>(order: &'static str) -> ApiRouter<AppState> {
    let (noun, many) = (K::KIND.noun(), format!("/api/storage/{}", K::PLURAL));
    ApiRouter::new()
        .api_route(
            &many,
            get_with(list::<K>, |op| op.summary(order))
                .post_with(create::<K>, |op| op.summary(&format!("Make a {noun}."))),
        )
        .api_route(
            &format!("{many}/{{id}}"),
            get_with(read::<K>, |op| op.summary(&format!("One {noun}.")))
                .put_with(update::<K>, |op| op.summary(&format!("Change fields of a {noun}.")))
                .delete_with(delete::<K>, |op| op.summary(&format!("Move a {noun} to the bin."))),
        )
        .api_route(
            &format!("{many}/{{id}}/versions"),
            get_with(versions::<K>, |op| {
                op.summary(&format!("The versions of a {noun}, newest first."))
            }),
        )
        .api_route(
            &format!("{many}/{{id}}/versions/{{revision}}"),
            get_with(version::<K>, |op| op.summary("One version.")),
        )
        .api_route(
            &format!("{many}/{{id}}/versions/{{revision}}/restore"),
            post_with(restore::<K>, |op| op.summary("Make an old version the newest one.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Looked for in the titles.
    q: Option<String>,
    /// Only tasks that stand so; pages and refs have no status.
    status: Option<TaskStatus>,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct VersionParams {
    /// Only versions before this one.
    after: Option<Revision>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct EntryPath {
    /// Which one.
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct VersionPath {
    /// Which one.
    id: String,
    /// The version's number.
    revision: Revision,
}

/// A new page, ref or task.
#[derive(Deserialize, JsonSchema)]
struct New<K> {
    /// The identifier it shall have: letters, digits, dashes and underscores; made up when absent.
    id: Option<String>,
    /// Why, for the list of versions.
    #[serde(default)]
    reason: String,
    /// What it says. The gate refuses what it does not know.
    #[serde(flatten)]
    #[schemars(with = "K")]
    fields: Fields,
    #[serde(skip)]
    kind: PhantomData<K>,
}

/// What changes. Absent fields stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Changes<K> {
    /// The revision that the changes were written against. When it has moved on, they are merged, or
    /// answered with 409 and both texts. Absent: whatever is there now.
    #[serde(alias = "baseRevision")]
    revision: Option<Revision>,
    /// Why, for the list of versions.
    #[serde(default)]
    reason: String,
    /// Cannot be changed; may be sent along as it was read.
    id: Option<Value>,
    /// Cannot be changed; may be sent along as it was read.
    created_at: Option<Value>,
    /// Cannot be changed; may be sent along as it was read.
    #[expect(dead_code, reason = "taken so that what was read can be sent back, and never used")]
    updated_at: Option<Value>,
    /// What it shall say. The gate refuses what it does not know.
    #[serde(flatten)]
    #[schemars(with = "Partial<K>")]
    fields: Fields,
    #[serde(skip)]
    kind: PhantomData<K>,
}

impl<K: Knowledge> Changes<K> {
    /// Refuses a read-only field with another value than it has.
    fn check_read_only(&self, entry: &EntryOf<K>) -> Result<(), ApiError> {
        let now = to_fields(entry)?;
        for (field, value) in [("id", &self.id), ("createdAt", &self.created_at)] {
            if value.as_ref().is_some_and(|value| now.get(field) != Some(value)) {
                return Err(ApiError::invalid(field, format!("“{field}” cannot be changed here.")));
            }
        }
        Ok(())
    }
}

/// Some fields of a kind: in the document, none of them is required.
struct Partial<K>(PhantomData<K>);

impl<K: JsonSchema> JsonSchema for Partial<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Partial{}", K::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = K::json_schema(generator);
        schema.remove("required");
        schema
    }
}

async fn list<K: Knowledge>(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<EntrySummary<K::Id>>>, ApiError> {
    let filter = EntryFilter {
        search: params.q.as_deref().unwrap_or_default(),
        status: params.status,
        after: params.after.as_deref(),
    };
    Ok(Json(desk.read().await?.entries::<K>(filter, page_size(params.limit)).await?))
}

async fn create<K: Knowledge>(
    desk: Desk,
    Body(new): Body<New<K>>,
) -> Result<Created<EntryOf<K>>, ApiError> {
    let id: K::Id = identifier(new.id)?;
    let entity = Entity::new(K::KIND, id.as_ref());
    let change = Change::new(entity, Op::Create).with(new.fields).because(new.reason);
    desk.gate.submit(change).await?;
    Ok(Created(desk.read().await?.entry::<K>(&id).await?))
}

/// The one that a path names, when it is there.
async fn find<K: Knowledge>(desk: &Desk, id: &str) -> Result<EntryOf<K>, ApiError> {
    Ok(desk.read().await?.entry::<K>(&K::Id::from(id.to_owned())).await?)
}

async fn read<K: Knowledge>(
    desk: Desk,
    Segments(path): Segments<EntryPath>,
) -> Result<Json<EntryOf<K>>, ApiError> {
    Ok(Json(find::<K>(&desk, &path.id).await?))
}

async fn update<K: Knowledge>(
    desk: Desk,
    Segments(path): Segments<EntryPath>,
    Body(changes): Body<Changes<K>>,
) -> Result<Json<EntryOf<K>>, ApiError> {
    changes.check_read_only(&find::<K>(&desk, &path.id).await?)?;
    let change = Change::new(Entity::new(K::KIND, &path.id), Op::Update)
        .with(changes.fields)
        .based_on(changes.revision)
        .because(changes.reason);
    desk.gate.submit(change).await?;
    Ok(Json(find::<K>(&desk, &path.id).await?))
}

async fn delete<K: Knowledge>(
    desk: Desk,
    Segments(path): Segments<EntryPath>,
) -> Result<Json<Outcome>, ApiError> {
    find::<K>(&desk, &path.id).await?;
    let change = Change::new(Entity::new(K::KIND, &path.id), Op::Delete);
    Ok(Json(desk.gate.submit(change).await?))
}

async fn versions<K: Knowledge>(
    desk: Desk,
    Segments(path): Segments<EntryPath>,
    Params(params): Params<VersionParams>,
) -> Result<Json<Page<VersionSummary>>, ApiError> {
    let (id, limit) = (K::Id::from(path.id), page_size(params.limit));
    Ok(Json(desk.read().await?.entry_versions::<K>(&id, params.after, limit).await?))
}

async fn version<K: Knowledge>(
    desk: Desk,
    Segments(path): Segments<VersionPath>,
) -> Result<Json<Version<K>>, ApiError> {
    let id = K::Id::from(path.id);
    Ok(Json(desk.read().await?.entry_version::<K>(&id, path.revision).await?))
}

async fn restore<K: Knowledge>(
    desk: Desk,
    Segments(path): Segments<VersionPath>,
) -> Result<Json<EntryOf<K>>, ApiError> {
    find::<K>(&desk, &path.id).await?;
    desk.gate.restore_version(Entity::new(K::KIND, &path.id), path.revision).await?;
    Ok(Json(find::<K>(&desk, &path.id).await?))
}
