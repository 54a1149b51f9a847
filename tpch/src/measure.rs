//! One measured run of a query, and the summary of many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;

use crate::Result;
use crate::dataset::Table;
use crate::machine::process_cpu_time;

/// What one run cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Planning and execution, to the last row.
    pub(crate) wall: Duration,
    /// CPU time of the process meanwhile.
    pub(crate) cpu: Option<Duration>,
    /// What the scan of the watched table, or of all, reports of itself.
    pub(crate) scan: Scan,
}

/// The metrics of scans, over all partitions; what a leaf does not measure is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    pub(crate) processing: Option<Duration>,
    pub(crate) rows: Option<usize>,
    pub(crate) bytes: Option<usize>,
}

/// A run's cost, result and executed plan.
pub(crate) struct Run {
    pub(crate) sample: Sample,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) plan: Arc<dyn ExecutionPlan>,
}

/// Plans and executes `sql`.
pub(crate) async fn run(ctx: &SessionContext, sql: &str, watched: Option<Table>) -> Result<Run> {
    let cpu_before = process_cpu_time();
    let start = Instant::now();
    let plan = ctx.sql(sql).await?.create_physical_plan().await?;
    let batches = collect(Arc::clone(&plan), ctx.task_ctx()).await?;
    let wall = start.elapsed();
    let cpu = process_cpu_time().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    let sample = Sample { wall, cpu, scan: scan(&plan, watched) };
    Ok(Run { sample, batches, plan })
}

fn scan(plan: &Arc<dyn ExecutionPlan>, table: Option<Table>) -> Scan {
    let mut leaves = Vec::new();
    find_leaves(plan, table, &mut leaves);
    let metrics: Vec<_> = leaves.iter().filter_map(|leaf| leaf.metrics()).collect();
    let total = |name: &str| {
        metrics.iter().filter_map(|of_leaf| of_leaf.sum_by_name(name)).reduce(|mut sum, value| {
            sum.aggregate(&value);
            sum
        })
    };
    let nanos = |time: MetricValue| Duration::from_nanos(time.as_usize() as u64);
    Scan {
        processing: total("time_elapsed_processing").map(nanos),
        rows: leaves.iter().filter_map(|leaf| rows(leaf)).reduce(|sum, rows| sum + rows),
        bytes: total("bytes_scanned").map(|value| value.as_usize()),
    }
}

/// A scan of memory counts nothing, but hands on all that it has.
fn rows(leaf: &DataSourceExec) -> Option<usize> {
    let in_memory = |memory: &MemorySourceConfig| memory.partitions().iter().flatten().map(RecordBatch::num_rows).sum();
    let counted = leaf.metrics().and_then(|metrics| metrics.output_rows());
    counted.or_else(|| leaf.data_source().downcast_ref::<MemorySourceConfig>().map(in_memory))
}

fn find_leaves<'a>(plan: &'a Arc<dyn ExecutionPlan>, table: Option<Table>, leaves: &mut Vec<&'a DataSourceExec>) {
    if let Some(leaf) = plan.downcast_ref::<DataSourceExec>()
        && table.is_none_or(|table| reads(leaf, table))
    {
        leaves.push(leaf);
    }
    for child in plan.children() {
        find_leaves(child, table, leaves);
    }
}

/// By the path of its files, whichever source reads them; a scan of memory has only its columns' names.
fn reads(leaf: &DataSourceExec, table: Table) -> bool {
    if let Some(config) = leaf.data_source().downcast_ref::<FileScanConfig>() {
        let file_name = table.file_name();
        let mut files = config.file_groups.iter().flat_map(|group| group.files());
        files.any(|file| file.object_meta.location.filename() == Some(file_name.as_str()))
    } else {
        leaf.schema().fields().iter().any(|field| field.name().starts_with(table.column_prefix()))
    }
}

/// Median and spread, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Summary {
    /// None for no durations at all.
    pub(crate) fn new(durations: impl IntoIterator<Item = Duration>) -> Option<Self> {
        let mut millis: Vec<f64> = durations.into_iter().map(|duration| duration.as_secs_f64() * 1e3).collect();
        millis.sort_by(f64::total_cmp);
        let (min, max) = (*millis.first()?, *millis.last()?);
        let median = (millis[(millis.len() - 1) / 2] + millis[millis.len() / 2]) / 2.0;
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let summary = |millis: &[u64]| Summary::new(millis.iter().map(|&millis| Duration::from_millis(millis)));
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[7]), Some(Summary { median: 7.0, min: 7.0, max: 7.0 }));
        assert_eq!(summary(&[9, 1, 5]), Some(Summary { median: 5.0, min: 1.0, max: 9.0 }));
        assert_eq!(summary(&[9, 1, 5, 2]), Some(Summary { median: 3.5, min: 1.0, max: 9.0 }));
    }
}
