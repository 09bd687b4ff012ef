//! Databases that cannot be used: the server does not start, says why, and leaves them as they are.

use std::fs;

use sqlx::Connection;

use super::{brief, invariants};
use crate::{
    archive::{greenroom, refused},
    restart::Server,
};

const SERVE: [&str; 5] = ["serve", "--addr", "127.0.0.1:0", "--data", "data"];

#[tokio::test]
async fn a_damaged_file_and_one_that_is_no_database_are_told_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/greenroom.db");
    drop(Server::start(&folder.path().join("data"), &brief(folder.path())).await);
    // Else what is beside it would mend it.
    let mut wire = invariants::open(&file).await;
    for mode in ["pragma journal_mode = delete", "pragma journal_mode = wal"] {
        sqlx::query(mode).execute(&mut wire).await.unwrap();
    }
    wire.close().await.unwrap();
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    for byte in &mut flipped[16..100] {
        *byte ^= 0x55;
    }
    let mut holed = whole.clone();
    holed[100..4096].fill(0xa5);
    // What a try left beside the file belongs to the file of that try.
    let put = |bytes: &[u8]| {
        for beside in ["greenroom.db-wal", "greenroom.db-shm"] {
            fs::remove_file(folder.path().join("data").join(beside)).unwrap_or_default();
        }
        fs::write(&file, bytes).unwrap();
    };
    // A page in the middle is not read by whoever only opens the file.
    let mut hollow = whole.clone();
    let middle = whole.len() / 4096 / 2 * 4096;
    hollow[middle..middle + 4096].fill(0xa5);
    for bad in [b"This is a letter and no database at all.".to_vec(), flipped, holed, hollow] {
        put(&bad);

        let told = refused(&greenroom(&SERVE, folder.path()));

        assert!(told.contains("damaged, or is no database"), "{told}");
        assert!(told.contains("greenroom restore"), "{told}");
        assert!(fs::read(&file).unwrap() == bad, "it must stay as it is");
    }
    put(&whole);
    drop(Server::start(&folder.path().join("data"), &brief(folder.path())).await);
    invariants::hold(&file).await;
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_told_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/greenroom.db");
    drop(Server::start(&folder.path().join("data"), &brief(folder.path())).await);
    let mut wire = invariants::open(&file).await;
    let newer = "insert into _sqlx_migrations
        (version, description, installed_on, success, checksum, execution_time)
        values (9999, 'tomorrow', '2030-01-01', true, x'00', 0)";
    sqlx::query(newer).execute(&mut wire).await.unwrap();
    wire.close().await.unwrap();

    let told = refused(&greenroom(&SERVE, folder.path()));

    assert!(told.contains("written by a newer Greenroom"), "{told}");
    let personas = invariants::number(&file, "select count(*) from persona").await;
    assert!(personas > 0);
}
