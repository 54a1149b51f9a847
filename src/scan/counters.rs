//! What a scan counts, readable while it runs.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Plain counters of a scan; the top floor turns them into metrics.
#[derive(Debug, Default)]
pub struct Counters {
    /// Rows that the predicates and residuals discarded.
    pub rows_pruned: Counter,
    /// Rows that passed all predicates and residuals, where there are any.
    pub rows_matched: Counter,
    /// Bytes of column chunks that were fetched.
    pub bytes_fetched: Counter,
    /// Nanoseconds in which the scan fetched, or waited for what it had asked for.
    pub fetch_nanos: Counter,
    /// Pages whose values were read.
    pub pages_read: Counter,
    /// Pages that were skipped by their headers, without decompression.
    pub pages_skipped: Counter,
    /// Bytes after decompression of the pages that were read.
    pub bytes_decompressed: Counter,
    /// Miniblocks in windows on which the headers of DELTA_BINARY_PACKED blocks have decided a predicate.
    pub miniblocks_decided: Counter,
    /// Miniblocks that were unpacked. The others were passed over by their sums, or not at all.
    pub miniblocks_unpacked: Counter,
    /// Row groups of which the gate has said before they were entered that no row is wanted.
    pub row_groups_skipped: Counter,
    /// Windows in which the predicates left no row.
    pub windows_skipped: Counter,
    /// Columns of row groups that went through the parquet crate.
    pub fallback_columns: Counter,
}

/// A number that grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: usize) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
