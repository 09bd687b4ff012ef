//! The house's tests: whole rooms together, on real databases and through the real router.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod api;
mod architecture;
mod guards;
mod isolation;
mod pages;
mod site;
mod stories;
mod support;
