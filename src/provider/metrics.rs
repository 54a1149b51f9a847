//! Metrics of a file's scan: Parquet's names where they fit, ours at the level of developers.

use std::sync::Arc;
use std::time::Duration;

use datafusion::datasource::physical_plan::ParquetFileMetrics;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricType, Time};

use crate::scan::Counters;

/// The metrics of one file in one partition.
pub(super) struct FileMetrics {
    /// Metrics that DataFusion's Parquet reader has too.
    pub(super) parquet: ParquetFileMetrics,
    /// Time in which batches were made.
    pub(super) elapsed_compute: Time,
    /// Predicates that could not be made into pruning predicates.
    pub(super) predicate_creation_errors: Count,
    /// Conditions without a translation that were made sets of values.
    pub(super) conditions_tabulated: Count,
    /// Time in which the scan waited for bytes.
    fetch_time: Time,
    counters: Arc<Counters>,
    reported: Vec<Reported>,
    reported_nanos: usize,
}

/// A counter, what was reported of it already, and where it is reported.
type Reported = (fn(&Counters) -> usize, usize, Count);

type Source = (&'static str, fn(&Counters) -> usize);

/// Names of our own, and the counters behind them.
const OWN: [Source; 8] = [
    ("pages_read", |counters| counters.pages_read.get()),
    ("pages_skipped", |counters| counters.pages_skipped.get()),
    ("bytes_fetched", |counters| counters.bytes_fetched.get()),
    ("bytes_decompressed", |counters| counters.bytes_decompressed.get()),
    ("miniblocks_decided", |counters| counters.miniblocks_decided.get()),
    ("miniblocks_unpacked", |counters| counters.miniblocks_unpacked.get()),
    ("windows_skipped", |counters| counters.windows_skipped.get()),
    ("fallback_columns", |counters| counters.fallback_columns.get()),
];

impl FileMetrics {
    /// Registers the metrics of `file` in `partition`.
    pub(super) fn new(
        partition: usize,
        file: &str,
        metrics: &ExecutionPlanMetricsSet,
        counters: Arc<Counters>,
    ) -> Self {
        let parquet = ParquetFileMetrics::new(partition, file, metrics);
        let mut reported: Vec<Reported> = vec![
            (|counters| counters.rows_pruned.get(), 0, parquet.pushdown_rows_pruned.clone()),
            (|counters| counters.rows_matched.get(), 0, parquet.pushdown_rows_matched.clone()),
            (|counters| counters.row_groups_skipped.get(), 0, parquet.row_groups_pruned_dynamic_filter.clone()),
        ];
        for (name, counter) in OWN {
            let count = MetricBuilder::new(metrics).with_type(MetricType::Dev).counter(name, partition);
            reported.push((counter, 0, count));
        }
        Self {
            parquet,
            elapsed_compute: MetricBuilder::new(metrics).elapsed_compute(partition),
            predicate_creation_errors: MetricBuilder::new(metrics).global_counter("num_predicate_creation_errors"),
            conditions_tabulated: MetricBuilder::new(metrics)
                .with_type(MetricType::Dev)
                .counter("conditions_tabulated", partition),
            fetch_time: MetricBuilder::new(metrics).with_type(MetricType::Dev).subset_time("fetch_time", partition),
            counters,
            reported,
            reported_nanos: 0,
        }
    }

    /// Reports what was counted since the last time.
    pub(super) fn report(&mut self) {
        for (counter, before, count) in &mut self.reported {
            let now = counter(&self.counters);
            count.add(now.saturating_sub(*before));
            *before = now;
        }
        let nanos = self.counters.fetch_nanos.get();
        if nanos > self.reported_nanos {
            self.fetch_time.add_duration(Duration::from_nanos((nanos - self.reported_nanos) as u64));
            self.reported_nanos = nanos;
        }
    }
}

impl Drop for FileMetrics {
    fn drop(&mut self) {
        // A stream may be dropped before its end.
        self.report();
    }
}
