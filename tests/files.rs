//! Files that tests write, and what a scan counts of them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Int32Array, Int64Array, RecordBatch, StringArray};
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::oracle::{Table, nodes};

/// A path of this test run, in a folder of the test module.
pub(crate) fn scratch(module: &str, name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(module).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

/// An empty folder of this test run, as a table's path.
pub(crate) fn folder(module: &str, name: &str) -> String {
    let path = scratch(module, name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    format!("{}/", path.to_str().unwrap())
}

/// Writes `batch` to `path`.
pub(crate) fn write_to(path: impl Into<PathBuf>, batch: &RecordBatch, properties: WriterProperties) {
    let path = path.into();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Writes `batch` as table `t`.
pub(crate) fn write(module: &str, name: &str, batch: &RecordBatch, properties: WriterProperties) -> Table {
    let path = scratch(module, name);
    write_to(&path, batch, properties);
    Table::new("t", path.to_str().unwrap())
}

/// `id` counts up, `k` repeats, `s` is text; row groups of 1000 rows, pages of 100.
pub(crate) fn sample(rows: usize) -> RecordBatch {
    let ids = 0..i64::try_from(rows).unwrap();
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone())) as _, false),
        (
            "k",
            Arc::new(ids.clone().map(|id| (id % 5 != 0).then_some((id % 37) as i32)).collect::<Int32Array>()) as _,
            true,
        ),
        ("s", Arc::new(ids.map(|id| Some(format!("text-{:04}", id % 100))).collect::<StringArray>()) as _, true),
    ])
    .unwrap()
}

/// What [`sample`] is written with: DELTA, V2 pages.
pub(crate) fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("s".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .build()
}

/// What columns of any types are written with, `s` apart as [`properties`] has it.
pub(crate) fn plain() -> WriterProperties {
    properties().into_builder().set_encoding(Encoding::PLAIN).build()
}

/// The footer of a file.
pub(crate) fn footer(path: &str) -> ParquetMetaData {
    ParquetMetaDataReader::new().parse_and_finish(&fs::File::open(path).unwrap()).unwrap()
}

/// The leaf that reads the table with the given file name.
pub(crate) fn scan<'a>(plan: &'a Arc<dyn ExecutionPlan>, file: &str) -> &'a Arc<dyn ExecutionPlan> {
    let scans = nodes(plan, "DataSourceExec");
    let of_file = |scan: &&&Arc<dyn ExecutionPlan>| displayable(scan.as_ref()).one_line().to_string().contains(file);
    scans.iter().find(of_file).unwrap_or_else(|| panic!("no scan of {file}:\n{}", text(plan)))
}

/// A plan as EXPLAIN shows it.
pub(crate) fn text(plan: &Arc<dyn ExecutionPlan>) -> String {
    displayable(plan.as_ref()).indent(false).to_string()
}

/// A counter of a scan.
pub(crate) fn metric(scan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    scan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |value| value.as_usize())
}

/// What a scan has pruned, by a metric that counts both what was pruned and what was not.
pub(crate) fn pruned(scan: &Arc<dyn ExecutionPlan>, metric: &str) -> usize {
    let metrics = scan.metrics().unwrap_or_default();
    let counts = metrics.iter().filter_map(|found| match found.value() {
        MetricValue::PruningMetrics { name, pruning_metrics } if name == metric => Some(pruning_metrics.pruned()),
        _ => None,
    });
    counts.sum()
}

/// Rows that a scan delivered.
pub(crate) fn output_rows(scan: &Arc<dyn ExecutionPlan>) -> usize {
    scan.metrics().and_then(|metrics| metrics.output_rows()).expect("a scan counts its rows")
}
