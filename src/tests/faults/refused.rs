//! Databases that cannot be used: the server does not start, says why, and leaves them as they are.

use std::{fs, path::Path};

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
    settle(&file, &["pragma journal_mode = delete", "pragma journal_mode = wal"]).await;
    let in_wal_mode = fs::read(&file).unwrap();
    settle(&file, &["pragma journal_mode = delete"]).await;
    // As a backup is that was brought back.
    let brought_back = fs::read(&file).unwrap();
    for whole in [in_wal_mode, brought_back] {
        told_and_left(folder.path(), &whole).await;
    }
    drop(Server::start(&folder.path().join("data"), &brief(folder.path())).await);
    invariants::hold(&file).await;
}

/// Changes what a file says of itself, with nobody else at it.
async fn settle(file: &Path, words: &[&'static str]) {
    let mut wire = invariants::open(file).await;
    for words in words {
        sqlx::query(*words).execute(&mut wire).await.unwrap();
    }
    wire.close().await.unwrap();
}

/// Damages a whole file in several ways, and puts it back.
async fn told_and_left(folder: &Path, whole: &[u8]) {
    let file = folder.join("data/greenroom.db");
    let mut flipped = whole.to_vec();
    for byte in &mut flipped[16..100] {
        *byte ^= 0x55;
    }
    let mut holed = whole.to_vec();
    holed[100..4096].fill(0xa5);
    // What a try left beside the file belongs to the file of that try.
    let put = |bytes: &[u8]| {
        for beside in ["greenroom.db-wal", "greenroom.db-shm"] {
            fs::remove_file(folder.join("data").join(beside)).unwrap_or_default();
        }
        fs::write(&file, bytes).unwrap();
    };
    // A page in the middle is not read by whoever only opens the file.
    let mut hollow = whole.to_vec();
    let middle = whole.len() / 4096 / 2 * 4096;
    hollow[middle..middle + 4096].fill(0xa5);
    for bad in [b"This is a letter and no database at all.".to_vec(), flipped, holed, hollow] {
        put(&bad);

        let told = refused(&greenroom(&SERVE, folder));

        assert!(told.contains("damaged, or is no database"), "{told}");
        assert!(told.contains("greenroom restore"), "{told}");
        assert!(fs::read(&file).unwrap() == bad, "it must stay as it is");
    }
    put(whole);
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_told_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/greenroom.db");
    drop(Server::start(&folder.path().join("data"), &brief(folder.path())).await);
    let newer = "insert into _sqlx_migrations
        (version, description, installed_on, success, checksum, execution_time)
        values (9999, 'tomorrow', '2030-01-01', true, x'00', 0)";
    settle(&file, &[newer]).await;
    for mode in ["pragma journal_mode = wal", "pragma journal_mode = delete"] {
        settle(&file, &[mode]).await;
        let before = fs::read(&file).unwrap();

        let told = refused(&greenroom(&SERVE, folder.path()));

        assert!(told.contains("written by a newer Greenroom"), "{told}");
        assert!(fs::read(&file).unwrap() == before, "{mode}: it must stay as it is");
    }
    let personas = invariants::number(&file, "select count(*) from persona").await;
    assert!(personas > 0);
}
