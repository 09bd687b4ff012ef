//! A Space on SQLite within this process, and the bare file beside it.

use greenroom::{
    changes::{Gate, Scope},
    domain::actor::Actor,
    store::Store,
};
use sqlx::SqlitePool;

pub struct Space {
    pub store: Store,
    pub gate: Gate,
    pub scope: Scope,
    pub pool: SqlitePool,
    /// The data folder, which goes with this.
    pub folder: tempfile::TempDir,
}

pub async fn space() -> Space {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greenroom.db");
    let store = Store::open_sqlite(&file).await.unwrap();
    let scope = Scope { space: "home".into(), user: "owner".into() };
    Gate::found_space(&store, &scope, "Home").await.unwrap();
    let actor = Actor::Person { user: scope.user.clone() };
    let gate = Gate::new(store.clone(), scope.space.clone(), actor);
    let pool = SqlitePool::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    Space { store, gate, scope, pool, folder }
}
