//! The house's tests: whole rooms together, on real databases and through the real router.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod api;
mod architecture;
mod budgets;
mod chats;
mod companion;
mod fake_service;
mod fetching;
mod guards;
mod isolation;
mod knowledge;
mod knowledge_api;
mod knowledge_pages;
mod many_answers;
mod meaning;
mod pages;
mod persona_agent;
mod pictures;
mod playground;
mod proposals;
mod publish;
mod relay;
mod restart;
mod runs;
mod sandbox;
mod search;
mod services;
mod site;
mod stories;
mod support;
mod traces;
mod walks;
mod workbench;
