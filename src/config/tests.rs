//! What operators may write, and what is refused.

use super::*;

pub(super) fn args(addr: Option<&str>, database_url: Option<&str>) -> ServeArgs {
    ServeArgs {
        addr: addr.map(|addr| addr.parse().unwrap()),
        data: "d".into(),
        database_url: database_url.map(Into::into),
        redis_url: None,
        allow_hosts: Vec::new(),
        demo_script: None,
        demo_pace: DemoPace::Natural,
        node: None,
        silence: 30,
        embeddings_url: None,
        embeddings_model: None,
        embeddings_key: None,
        images_url: None,
        images_style: None,
        images_model: None,
        images_key: None,
        images_hosts: Vec::new(),
        no_images: false,
        files_url: None,
        files_endpoint: None,
        files_region: "us-east-1".into(),
        files_key_id: "env:AWS_ACCESS_KEY_ID".into(),
        files_secret: "env:AWS_SECRET_ACCESS_KEY".into(),
        no_fetch: false,
        fetch_allow: Vec::new(),
        seal_key_file: None,
        services: ServiceArgs::default(),
        otlp: OtlpArgs::default(),
        access: AccessArgs::default(),
    }
}

#[test]
fn an_address_that_others_can_reach_is_refused_with_advice() {
    let error = args(Some("0.0.0.0:3000"), None).resolve().unwrap_err();

    assert!(error.to_string().contains("--addr 127.0.0.1:3000"), "{error}");
}

#[test]
fn what_is_set_to_nothing_is_not_set() {
    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        serve: ServeArgs,
    }
    let nothing = ["seal-key-file", "owner-password-file", "public-host", "trusted-proxy"];
    let nothing = nothing.iter().map(|name| format!("--{name}="));
    let line = ["greenroom".to_owned(), "--data=d".into()].into_iter().chain(nothing);

    let program = <Program as clap::Parser>::try_parse_from(line).unwrap();

    let config = program.serve.resolve().unwrap();
    assert_eq!(config.seal_key_file, Path::new("d/seal.key"));
    let AccessConfig { owner_password_file, hosts, trusted, .. } = config.access;
    assert_eq!((owner_password_file, hosts, trusted), (None, Vec::new(), Vec::new()));
}

#[test]
fn the_database_is_a_file_in_the_data_folder_unless_said_otherwise() {
    let database = |url| args(None, url).resolve().map(|config| config.database);

    assert_eq!(database(None).unwrap(), Database::Sqlite("d/greenroom.db".into()));
    assert_eq!(database(Some("sqlite://x.db")).unwrap(), Database::Sqlite("x.db".into()));
    assert_eq!(
        database(Some("postgres://h/d")).unwrap(),
        Database::Postgres("postgres://h/d".into())
    );
    let error = database(Some("mysql://user:secret@h/d")).unwrap_err().to_string();
    assert!(error.contains("mysql") && !error.contains("secret"), "{error}");
}

#[test]
fn redis_is_used_when_its_address_is_set_and_its_password_is_not_shown() {
    let redis = |url: &str| {
        let mut args = args(None, None);
        args.redis_url = Some(url.into());
        args.resolve().map(|config| config.redis)
    };

    assert_eq!(redis("").unwrap(), None);
    for good in ["redis://h", "rediss://u:p@h:1/2", "redis+unix:///run/redis.sock"] {
        assert_eq!(redis(good).unwrap().as_deref(), Some(good));
    }
    for bad in ["http://u:secret@h", "secret"] {
        let told = redis(bad).unwrap_err().to_string();
        assert!(told.contains("redis://") && !told.contains("secret"), "{told}");
    }
}

#[test]
fn a_service_for_embeddings_has_a_model_and_a_reference_to_its_key() {
    let with = |url: &str, model: &str, key: &str| {
        let mut args = args(None, None);
        args.embeddings_url = Some(url.into());
        args.embeddings_model = Some(model.into());
        args.embeddings_key = Some(key.into());
        args.resolve().map(|config| config.embeddings)
    };

    assert_eq!(with("", "", "").unwrap(), None);
    let set = with("http://127.0.0.1:11434", "nomic", "env:KEY").unwrap().unwrap();
    assert_eq!(set.key_ref, "env:KEY");
    for (url, model, key) in
        [("ftp://x", "m", ""), ("http://x", "", ""), ("http://x", "m", "sk-secret")]
    {
        let told = with(url, model, key).unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }
}

#[test]
fn the_sites_options_come_from_the_file_and_from_the_binary_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Leptos.toml");

    assert_eq!(&*site_options(&file).unwrap().site_pkg_dir, "pkg");
    let other = SITE_OPTIONS.replace("site-pkg-dir = \"pkg\"", "site-pkg-dir = \"assets\"");
    std::fs::write(&file, other).unwrap();
    assert_eq!(&*site_options(&file).unwrap().site_pkg_dir, "assets");
    std::fs::write(&file, "nothing").unwrap();
    assert!(site_options(&file).is_err());
}
