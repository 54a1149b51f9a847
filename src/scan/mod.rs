//! Floor 5: the scan of one file in one pass.
//!
//! [`Scan`] says what is wanted; [`Scan::into_stream`] reads it, window by window. What the scan needs from outside
//! stands behind narrow traits that the top floor implements, so that nothing here knows DataFusion.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use bytes::Bytes;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::ParquetMetaData;

use crate::column::ColumnKind;
use crate::error::Result;
use crate::predicate::Predicate;

mod chunks;
mod counters;
mod engine;
mod fallback;
mod feed;
mod filter;
mod memory;
mod output;
mod parts;
mod residuals;
mod stream;
mod traffic;
mod windows;

pub(crate) use chunks::check_counts;
pub use counters::{Counter, Counters};
pub(crate) use memory::lock;
pub use memory::{Budget, Reserved};

pub use crate::column::Domain;
pub(crate) use crate::column::integer_array;
pub use crate::page::Limits;

/// What to read of one file.
pub struct Scan {
    /// Location of the file, for errors.
    pub file: Arc<str>,
    /// Length of the file in bytes, beyond which nothing is fetched.
    pub file_size: u64,
    /// The footer; with the page index, pages that nobody wants need not be fetched.
    pub metadata: Arc<ParquetMetaData>,
    /// The columns of the file as the Arrow types in which they are delivered.
    pub schema: SchemaRef,
    /// Root columns that are delivered, in this order.
    pub projection: Vec<usize>,
    /// Columns of which not all leaves are read: delivered, and shown to residuals, with the others left out.
    pub parts: Vec<Part>,
    /// Conjuncts that the scan evaluates itself; each column of them is one for which [`native_column`] answers yes.
    pub predicates: Vec<Predicate>,
    /// Conjuncts that are evaluated over arrays of survivors, cheapest first.
    pub residuals: Vec<Arc<dyn Residual>>,
    /// Row groups to read, in this order, with the rows that are left of each.
    pub row_groups: Vec<RowGroup>,
    /// Rows of a batch, at most.
    pub batch_size: usize,
    /// Rows that are delivered, at most.
    pub limit: Option<usize>,
    /// What hostile bytes may ask for.
    pub limits: Limits,
    /// Whether the checksums of pages are verified.
    pub verify_checksums: bool,
    /// Bytes that are fetched ahead of the decoder, where requests cost time.
    pub read_ahead_bytes: usize,
    /// Who says how much memory the scan may hold.
    pub budget: Arc<dyn Budget>,
    /// What the scan counts.
    pub counters: Arc<Counters>,
}

/// A nested column of which not all leaves are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Index of the root column.
    pub root: usize,
    /// Its type without what is not read.
    pub data_type: DataType,
    /// The leaves that are read, counted from the first of the column.
    pub leaves: Vec<usize>,
}

/// A row group to read.
#[derive(Debug, Clone)]
pub struct RowGroup {
    /// Index in the file.
    pub index: usize,
    /// Rows to read, if not all: what pruning by pages or a caller has left.
    pub rows: Option<RowSelection>,
}

/// A conjunct that is evaluated over arrays.
pub trait Residual: Send + Sync {
    /// Root columns that it reads.
    fn columns(&self) -> &[usize];

    /// The rows for which it is true; NULL counts as false. `batch` has the columns of [`Residual::columns`] in that order.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray>;
}

/// Conditions that change while the scan runs. They only help: whoever makes them looks again at what comes out.
///
/// It is asked before a row group is fetched, before it is scanned, and while it is.
pub trait Gate: Send {
    /// Whether `row_group` is still wanted, and what filters it besides the conditions of the scan.
    fn enter(&mut self, row_group: usize) -> Result<Admission>;

    /// A number that is another one when answers have changed; costs next to nothing where they have not.
    fn version(&mut self) -> Result<u64>;

    /// Whether its answers will not change any more.
    fn is_final(&self) -> bool;
}

/// The answer of a [`Gate`].
pub enum Admission {
    /// No row of the row group is wanted.
    Skip,
    /// Scan it; these conditions apply too.
    Enter(Conditions),
}

/// Conditions on columns that the scan reads anyway, none of which has to be kept.
#[derive(Clone, Default)]
pub struct Conditions {
    /// As [`Scan::predicates`].
    pub predicates: Vec<Predicate>,
    /// As [`Scan::residuals`], each evaluated where that is measured to pay.
    pub residuals: Vec<Arc<dyn Residual>>,
}

/// Where the bytes of a file come from.
pub trait Fetch: Send {
    /// The bytes of each range, whole. It may be called again before what it returned is done; dropping that ends it.
    fn fetch(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'static, Result<Vec<Bytes>>>;

    /// How many bytes are best read at once, where a request costs next to nothing: then each is read when it is needed, and
    /// counted in the memory of whoever fetches. None where requests cost time: then they are few, and made ahead.
    fn piece_bytes(&self) -> Option<usize> {
        None
    }

    /// Gives memory back that is kept for later; whether there was any.
    fn release(&mut self) -> bool {
        false
    }
}

/// The domain in which the scan filters root column `root` of the file, delivered as the field of `schema`; None if the
/// column goes through the parquet crate, and conditions on it are for a [`Residual`].
pub fn native_column(metadata: &ParquetMetaData, schema: &Schema, root: usize) -> Option<Domain> {
    ColumnKind::of(metadata, root, schema.fields().get(root)?).map(|kind| kind.domain())
}
