//! Work that is taken on by one process at a time, and survives the end of any of them.

use std::{collections::BTreeSet, time::Duration};

use greenroom::{
    jobs::{Files, Jobs},
    providers::Artist,
    store::{JobEnd, now},
};
use serde_json::json;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};

use super::{PICTURES, answered, hear, imagine, listed, post, work};
use crate::support::{House, on_both};

on_both!(
    work_that_was_left_is_taken_up_again,
    no_work_is_taken_on_twice,
    work_that_was_taken_away_is_not_ended_by_whoever_lost_it,
    what_always_ends_the_process_is_given_up,
    a_picture_whose_work_broke_to_the_end_is_told_and_can_be_tried_again,
    the_runner_is_woken_by_new_work,
);

fn process(house: &House, node: &str) -> Jobs {
    Jobs::new(house.state.store.clone(), Artist::demo(), Files::in_memory(), node)
}

async fn work_that_was_left_is_taken_up_again(house: House) {
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    let store = &house.state.store;
    store.claim_job("dead", now()).await.unwrap().unwrap();
    assert_eq!(work(&house).await, 0, "it goes on elsewhere");

    // On a database that others use, another process may still be at it.
    let left = process(&house, "other").recover().await.unwrap();
    assert_eq!(left, u64::from(!store.is_shared()));
    let left = left + process(&house, "dead").recover().await.unwrap();
    assert_eq!(left, 1);
    assert_eq!(work(&house).await, 1);
    assert_eq!(house.get(&path).await.good()["state"], "done");
}

async fn no_work_is_taken_on_twice(house: House) {
    for _ in 0..4 {
        imagine(&house, json!({"prompt": "A lamp"})).await;
    }
    let claims = (0..8).map(|number| {
        let store = house.state.store.clone();
        async move { store.claim_job(&format!("node-{number}"), now()).await.unwrap() }
    });

    let claimed = futures::future::join_all(claims).await;

    let claimed: Vec<_> = claimed.into_iter().flatten().map(|job| job.id).collect();
    assert_eq!(claimed.len(), 4);
    assert_eq!(claimed.iter().collect::<BTreeSet<_>>().len(), 4);
}

async fn work_that_was_taken_away_is_not_ended_by_whoever_lost_it(house: House) {
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    let store = &house.state.store;
    let lost = store.claim_job("slow", now()).await.unwrap().unwrap();
    process(&house, "slow").recover().await.unwrap();
    let taken = store.claim_job("quick", now()).await.unwrap().unwrap();
    assert_eq!((&lost.id, taken.attempts), (&taken.id, 2));

    assert!(!store.keep_job(&lost, "slow", now()).await.unwrap());
    store.end_job(&lost, "slow", &JobEnd::Done).await.unwrap();
    assert!(store.keep_job(&taken, "quick", now()).await.unwrap());
    store.end_job(&taken, "quick", &JobEnd::Again(now(), "once more".into())).await.unwrap();
    work(&house).await;
    assert_eq!(house.get(&path).await.good()["state"], "done");
}

async fn what_always_ends_the_process_is_given_up(house: House) {
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    for _ in 0..5 {
        house.state.store.claim_job("dead", now()).await.unwrap().unwrap();
        process(&house, "dead").recover().await.unwrap();
    }

    assert_eq!(work(&house).await, 1);

    let given_up = house.get(&path).await.good();
    assert_eq!(
        (&given_up["state"], &given_up["problem"]),
        (&json!("failed"), &json!("It was tried too often."))
    );
}

async fn a_picture_whose_work_broke_to_the_end_is_told_and_can_be_tried_again(house: House) {
    let (_, reply) = answered(&house, "innkeeper", json!({})).await;
    let path = format!("{PICTURES}/{}", listed(&house, "").await[0]["id"].as_str().unwrap());
    let store = &house.state.store;
    let told = async || {
        let known = house.get(&path).await.good();
        (known["state"].clone(), known["problem"].clone(), known["messageId"].clone())
    };
    let job = store.claim_job("test", now()).await.unwrap().unwrap();
    store.end_job(&job, "lost", &JobEnd::Failed("it broke".into())).await.unwrap();
    assert_eq!(told().await, (json!("queued"), json!(null), json!(reply)), "it goes on here");

    store.end_job(&job, "test", &JobEnd::Failed("it broke".into())).await.unwrap();

    let problem = "Something went wrong while it was made.";
    assert_eq!(told().await, (json!("failed"), json!(problem), json!(reply)));
    post(&house, &format!("{path}/retry"), json!({})).await.good();
    assert_eq!(work(&house).await, 1);
    assert_eq!(told().await, (json!("done"), json!(null), json!(reply)));
}

#[tokio::test]
async fn a_picture_that_the_database_never_takes_is_given_up() {
    let house = House::new().await;
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    let options = SqliteConnectOptions::new().filename(house.database_file());
    let mut database = options.connect().await.unwrap();
    let refuse = "create trigger refuse before update on picture when new.state = 'done'
        begin select raise(abort, 'no'); end";
    sqlx::query(refuse).execute(&mut database).await.unwrap();

    let jobs = process(&house, "test").waiting(Duration::ZERO);
    assert_eq!(jobs.work_off().await.unwrap(), 5);

    let given_up = house.get(&path).await.good();
    let problem = "Something went wrong while it was made.";
    assert_eq!((&given_up["state"], &given_up["problem"]), (&json!("failed"), &json!(problem)));
    sqlx::query("drop trigger refuse").execute(&mut database).await.unwrap();
    post(&house, &format!("{path}/retry"), json!({})).await.good();
    assert_eq!(jobs.work_off().await.unwrap(), 1);
    assert_eq!(house.get(&path).await.good()["state"], "done");
}

async fn the_runner_is_woken_by_new_work(house: House) {
    let following = hear(&house).await;
    let runner = tokio::spawn(house.state.jobs.clone().keep_working());
    for prompt in ["A lamp", "A lake"] {
        let path = imagine(&house, json!({"prompt": prompt})).await;
        let done = async {
            while house.get(&path).await.good()["state"] != "done" {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), done).await.expect("nobody drew it");
    }
    runner.abort();
    following.abort();
}
