//! The house's tests: whole rooms together, on real databases and through the real router.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod accounts;
mod api;
mod architecture;
mod archive;
mod bad_input;
mod budgets;
mod cards;
mod chats;
mod companion;
mod decisions;
mod fake_service;
mod faults;
mod fetching;
mod fuzzed;
mod guards;
mod hostile;
mod isolation;
mod knowledge;
mod knowledge_api;
mod knowledge_pages;
mod many_answers;
mod meaning;
mod open_drafts;
mod pages;
mod panics;
mod persona_agent;
mod pictures;
mod playground;
mod proposals;
mod publish;
mod ratings;
mod relay;
mod restart;
mod runs;
mod sandbox;
mod search;
mod sent_twice;
mod services;
mod site;
mod stories;
mod supply_chain;
mod support;
mod terminal;
mod toolbox;
mod traces;
mod walks;
mod workbench;
