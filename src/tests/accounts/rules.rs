//! Every address has a rule, and every rule holds: without signing in, with a session that is over, as a viewer
//! and with tokens of either scope.

use std::collections::BTreeSet;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use greenroom::{
    accounts::Class,
    domain::account::{Role, TokenScope},
    server::{class_of, named_addresses, pages},
};

use crate::support::{House, form_request, on_both, request, server_functions};

on_both!(every_rule_holds_for_everybody);

/// So many addresses are asked for before anybody is too fast.
const AT_ONCE: usize = 50;

/// The addresses that are written in the sources of the API as they are, without the document knowing.
pub fn plain_routes() -> BTreeSet<String> {
    let mut files = vec!["src/api.rs".into()];
    files.extend(std::fs::read_dir("src/api").unwrap().map(|file| file.unwrap().path()));
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        for part in text.split(".route(").skip(1) {
            if let Some(rest) = part.trim_start().strip_prefix('"') {
                found.insert(rest.split('"').next().unwrap().replace("{*", "{"));
            }
        }
    }
    found
}

/// Every method of every address that the document describes.
async fn described(house: &House) -> Vec<(Method, String)> {
    let document = house.get("/api/openapi.json").await.good();
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, methods): (&String, &serde_json::Value)| {
        let methods: Vec<String> = methods.as_object().unwrap().keys().cloned().collect();
        let path = path.clone();
        methods
            .into_iter()
            .map(move |method| (method.to_uppercase().parse().unwrap(), path.clone()))
    };
    paths.iter().flat_map(of).collect()
}

#[tokio::test]
async fn every_address_has_a_rule_and_every_rule_an_address() {
    let house = House::new().await;
    let described = described(&house).await;
    let (routes, functions) = named_addresses();

    let nameless = |method: &Method, path: &str| class_of(method, path).is_none();
    let forgotten: Vec<String> = described
        .iter()
        .filter(|(method, path)| nameless(method, path))
        .map(|(method, path)| format!("{method} {path}"))
        .chain(pages().into_iter().filter(|page| nameless(&Method::GET, page)))
        .chain(plain_routes().into_iter().filter(|path| !routes.contains(&path.as_str())))
        .chain(
            server_functions()
                .into_iter()
                .filter(|path| nameless(&Method::POST, path))
                .map(Into::into),
        )
        .collect();
    assert_eq!(forgotten, Vec::<String>::new(), "say in src/server/rules.rs who may use them");

    let known: BTreeSet<String> = described.into_iter().map(|(_, path)| path).collect();
    let known: BTreeSet<String> = known.into_iter().chain(pages()).chain(plain_routes()).collect();
    let gone: Vec<&str> = routes.into_iter().filter(|path| !known.contains(*path)).collect();
    assert_eq!(gone, Vec::<&str>::new());
    let named: Vec<&str> =
        server_functions().into_iter().map(|path| path.trim_start_matches("/fn/")).collect();
    let gone: Vec<&str> = functions.into_iter().filter(|name| !named.contains(name)).collect();
    assert_eq!(gone, Vec::<&str>::new());
}

#[test]
fn decisions_are_never_a_programs() {
    for what in ["approve", "reject", "reopen"] {
        let path = format!("/api/pending-changes/{{id}}/{what}");
        assert_eq!(class_of(&Method::POST, &path), Some(Class::Decider));
        assert_eq!(class_of(&Method::GET, &path), None);
    }
    for function in server_functions() {
        let decides =
            ["approve", "reject", "decide", "reopen"].iter().any(|word| function.contains(word));
        let is_decision = class_of(&Method::POST, function) == Some(Class::Decider);
        assert_eq!(decides, is_decision, "{function}");
    }
}

/// Who may use an address, its name, and one way to ask for it.
type Asked = (Class, String, Box<dyn Fn() -> Request<Body>>);

/// Every method of every address that has a rule: no address is without one.
pub fn ruled() -> Vec<(Method, &'static str)> {
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let (mut routes, _) = named_addresses();
    routes.sort_unstable();
    let of = |path| methods.clone().map(|method| (method, path));
    let all = routes.into_iter().flat_map(of);
    all.filter(|(method, path)| class_of(method, path).is_some()).collect()
}

/// All of them.
fn asked() -> Vec<Asked> {
    let filled = |path: &str| {
        let parts =
            path.split('/').map(|part| if part.starts_with('{') { "optimist" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    let mut all: Vec<Asked> = Vec::new();
    for (method, path) in ruled() {
        let class = class_of(&method, path).unwrap();
        let address = filled(path);
        let body = (method != Method::GET).then(|| b"{}".to_vec());
        let name = format!("{method} {path}");
        all.push((class, name, Box::new(move || request(method.clone(), &address, body.clone()))));
    }
    for path in server_functions() {
        let class = class_of(&Method::POST, path).unwrap();
        let ask = move || form_request(path, "/", &[], "application/json");
        all.push((class, path.into(), Box::new(ask)));
    }
    all
}

async fn every_rule_holds_for_everybody(house: House) {
    let asked = asked();
    assert!(asked.len() > 200, "only {} addresses", asked.len());
    let house = house.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer)]).await;
    let over = house.seen_by(header::COOKIE, "sid=over");
    let forged = house.seen_by(header::AUTHORIZATION, "Bearer greenroom_forged");
    let eve = house.signed_in("eve").await;
    let read = house.with_token("ann", TokenScope::Read).await;
    let write = house.with_token("ann", TokenScope::Write).await;
    let eves = house.with_token("eve", TokenScope::Write).await;

    let ambient = "/api/conversations/ambient";
    let before = house.read().await.audit(None, 200).await.unwrap();

    for some in asked.chunks(AT_ONCE) {
        // Nobody is told to slow down meanwhile.
        let strangers = [house.afresh(), over.afresh(), forged.afresh()];
        let (eve, eves) = (eve.afresh(), eves.afresh());
        let (read, write) = (read.afresh(), write.afresh());
        for (class, name, ask) in some {
            for stranger in &strangers {
                let status = stranger.status(ask()).await.as_u16();
                assert_eq!(*class != Class::Public, status == 401, "{name}: {status}");
            }
            let looks = matches!(class, Class::Public | Class::Viewer);
            for (who, may) in [
                (&eve, looks || *class == Class::Person),
                (&eves, looks),
                (&read, looks),
                (&write, looks || *class == Class::Editor),
            ] {
                // The companion is made by whoever may change something, when they first look for it.
                let makes = name == &format!("GET {ambient}") && std::ptr::eq(who, &write);
                // Whoever may do it would: that is tested elsewhere. Anybody may sign out.
                if may && (!looks || makes || name == "POST /logout") {
                    continue;
                }
                let status = who.status(ask()).await.as_u16();
                assert!(status != 401 && status != 429, "{name}: {status}");
                assert_eq!(!may, status == 403, "{name}: {status}");
            }
        }
    }
    let (house, over) = (house.afresh(), over.afresh());
    for page in pages() {
        let address = page.replace("{id}", "optimist").replace("{session}", "x");
        assert_eq!(house.page(&address).await.status, 303, "{page}");
        assert_eq!(over.page(&address).await.status, 303, "{page}");
        let seen = eve.page(&address).await.status.as_u16();
        assert!(matches!(seen, 200 | 404), "{page}: {seen}");
    }
    // Nothing was changed by anybody who may not.
    assert_eq!(house.read().await.audit(None, 200).await.unwrap(), before);
    let (eve, ann) = (eve.afresh(), house.signed_in("ann").await);
    assert_eq!(eve.get(ambient).await.status, 404);
    let made = ann.get(ambient).await.good();
    assert_eq!(eve.get(ambient).await.good(), made);
}
