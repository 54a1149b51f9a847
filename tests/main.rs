//! The integration tests, in one binary: each one links DataFusion again.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod access_plan;
mod allocations;
mod allocator;
mod cloud;
mod conjunctions;
mod differential;
mod dynamic;
mod encode_allocations;
mod encryption;
mod fetch;
mod fetch_bounds;
mod files;
mod fixtures;
mod floors;
mod hostile;
mod instruction_sets;
mod nested;
mod oracle;
mod parquet_testing;
mod partitions;
mod plans;
mod pool;
mod schemas;
mod settings;
mod shapes;
mod statistics;
mod store;
mod string_memory;
mod types;
mod wrong_values;
