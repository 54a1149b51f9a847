//! The integration tests, in one binary: each one links DataFusion again.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod allocations;
mod differential;
mod fixtures;
mod floors;
mod oracle;
mod plans;
mod shapes;
mod types;
