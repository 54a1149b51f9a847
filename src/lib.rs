//! Miniblock scans Parquet files for DataFusion, and DELTA-encoded ones fast.
//!
//! DELTA encodings make small files, and readers that decode them value by value make slow queries. This crate decodes
//! whole miniblocks at a time, decides filters on the values while they are in a small window, and builds Arrow arrays of
//! the rows that survive alone, all in one pass over the file.
//!
//! ```
//! use datafusion::prelude::*;
//! use miniblock::{MiniblockOptions, SessionContextExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let ctx = SessionContext::new();
//! ctx.register_miniblock("t", "tests/data/pa_ints_v2_snappy.parquet", MiniblockOptions::default()).await?;
//! let rows = ctx.sql("SELECT count(*) FROM t").await?.collect().await?;
//! # assert_eq!(rows[0].num_rows(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # The house
//!
//! Seven floors; each knows those below it alone, and a test says so.
//!
//! | floor | module | what it is |
//! |---|---|---|
//! | 6 | [`provider`] | everything that knows DataFusion: table, format, source, opener, pruning, translation of filters |
//! | 5 | [`scan`] | one file in one pass: windows, predicates, survivors, batches |
//! | 4 | `column` | a column chunk as a cursor over rows that filters and gathers |
//! | 3 | `page` | page headers, decompression, levels |
//! | 2 | `encoding` | bytes to values of one encoding |
//! | 1 | [`predicate`] | filters as plain data: sets of values, selections |
//! | 0 | `kernels` | loops over slices, for each instruction set |
//!
//! What users need is at the root: [`SessionContextExt`], [`MiniblockTable`], [`MiniblockFormat`], [`MiniblockOptions`].

mod column;
#[doc(hidden)]
pub mod encoding;
pub mod error;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod page;
pub mod predicate;
pub mod provider;
pub mod scan;

pub use error::{Error, Result};
pub use provider::{
    MiniblockFormat, MiniblockFormatFactory, MiniblockOptions, MiniblockSource, MiniblockTable, SessionContextExt,
};

/// The floors below the public ones, for the benches and tests of this repository alone: no promise of any kind.
#[doc(hidden)]
pub mod internals {
    pub use crate::{encoding, kernels, page};
}
