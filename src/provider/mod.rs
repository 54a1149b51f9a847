//! Floor 6: everything that knows DataFusion.
//!
//! | module | what it is for DataFusion |
//! | --- | --- |
//! | `session` | registers tables |
//! | `table` | the table: lists files, and gives filters to the scan |
//! | `format` | the file format: schemas and statistics, by DataFusion's own |
//! | `source` | the leaf of a plan under `DataSourceExec`: takes filters and projections |
//! | `opener` | one file: footer, adaptation to the table, pruning, and the scan as a stream |
//! | `prune` | which row groups and pages are read |
//! | `statistics` | what statistics prove, and what they only seem to |
//! | `reader`, `local` | the bytes of a file, and none beyond its end: by DataFusion's readers, and of local files |
//! | `memory` | the memory pool as the budget of a scan, and buffers that are used again |
//! | `cloud` | stores by URL (feature `cloud`) |
//! | `filter` | the conjuncts of a filter by who evaluates them |
//! | `expr`, `literal` | conjuncts as predicates in the physical domain |
//! | `fields` | which fields of structs are read |
//! | `simplify` | simplification that is exact |
//! | `residual` | conjuncts that stay expressions |
//! | `dynamic` | filters that change while the query runs |
//! | `metrics`, `options` | what it counts, and what a user may say |
//! | `footer` | footers and indexes that are looked at before they are believed |
//! | `panics` | panics as errors of the file |

#[cfg(feature = "cloud")]
mod cloud;
mod conditions;
mod dynamic;
mod expr;
mod fields;
mod filter;
mod footer;
mod format;
mod literal;
mod local;
mod memory;
mod metrics;
mod opener;
mod options;
mod panics;
mod prune;
mod reader;
mod residual;
mod runs;
mod session;
mod simplify;
mod source;
mod statistics;
mod table;
mod tabulate;

pub use format::{MiniblockFormat, MiniblockFormatFactory};
pub use options::{MiniblockOptions, StoreOptions};
pub use session::SessionContextExt;
pub use source::MiniblockSource;
pub use table::MiniblockTable;
