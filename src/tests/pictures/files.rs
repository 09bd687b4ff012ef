//! Where pictures lie: in a folder or in a bucket, and nowhere when what they belong to is gone.

use axum::http::Method;
use greenroom::{
    jobs::{Bucket, Files, Jobs},
    providers::Artist,
};
use serde_json::json;

use super::{answered, imagine, listed, studio::Studio, work};
use crate::support::{House, on_both, request};

on_both!(files_lie_in_a_folder_and_go_with_their_persona);

async fn files_lie_in_a_folder_and_go_with_their_persona(house: House) {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::in_folder(&folder.path().join("pictures")).unwrap();
    let jobs = Jobs::new(house.state.store.clone(), Artist::demo(), files, "test");
    let house = house.working(jobs);
    answered(&house, "innkeeper", json!({})).await;
    let own = imagine(&house, json!({"prompt": "A lamp"})).await;
    work(&house).await;
    let kept = || {
        let files = std::fs::read_dir(folder.path().join("pictures/home")).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(kept().len(), 2, "{:?}", kept());

    house.send(request(Method::DELETE, "/api/storage/personas/innkeeper", None)).await.good();
    assert_eq!(listed(&house, "").await.len(), 1, "what is in the bin is not listed");
    house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
    assert_eq!(work(&house).await, 1);

    assert_eq!(kept(), [own.rsplit('/').next().unwrap()]);
    assert_eq!(listed(&house, "").await.len(), 1);
}

#[tokio::test]
async fn files_lie_in_a_bucket_when_one_is_named() {
    let studio = Studio::bucket().await;
    let house = House::new().await;
    let files = Files::in_bucket(Bucket {
        name: "shelf".into(),
        prefix: "green/room".into(),
        endpoint: format!("http://{}", studio.address),
        region: "us-east-1".into(),
        key_id: "id".into(),
        secret: "c4n4ry-secret".into(),
    });
    let files = files.unwrap();
    let jobs = Jobs::new(house.state.store.clone(), Artist::demo(), files, "test");
    let house = house.working(jobs);

    let path = imagine(&house, json!({"prompt": "A lamp", "personaId": "innkeeper"})).await;
    work(&house).await;

    let id = path.rsplit('/').next().unwrap();
    assert_eq!(studio.kept(), [format!("/shelf/green/room/home/{id}")]);
    let asked = studio.asked().remove(0);
    assert!(asked.header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=id/"));
    assert!(!format!("{:?}", asked.headers).contains("c4n4ry-secret"));
    let file = house.get(&format!("{path}/file")).await;
    assert_eq!((file.status.as_u16(), file.header("content-type")), (200, "image/png"));

    house.send(request(Method::DELETE, "/api/storage/personas/innkeeper", None)).await.good();
    house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
    work(&house).await;
    assert_eq!(studio.kept(), Vec::<String>::new());
    assert_eq!(house.get(&format!("{path}/file")).await.status, 404);
}
