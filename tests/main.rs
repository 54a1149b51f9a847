//! The integration tests, in one binary: each one links DataFusion again.

mod allocations;
mod differential;
mod fixtures;
mod floors;
mod oracle;
mod plans;
mod shapes;
