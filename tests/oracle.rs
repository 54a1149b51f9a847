//! What a query answers by Miniblock and by DataFusion's own reader, and whether that is the same.
//!
//! The oracle runs without pruning, page index, bloom filters, filter pushdown and statistics, so that no code that
//! decides what is read is shared.

use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::FutureExt;
use miniblock::{MiniblockOptions, SessionContextExt};

/// How a session runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) batch_size: usize,
    pub(crate) partitions: usize,
    /// Whether strings arrive as views.
    pub(crate) view_types: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { batch_size: 8192, partitions: 2, view_types: true }
    }
}

/// A table: files at a path.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) schema: Option<SchemaRef>,
    pub(crate) partition_cols: Vec<(String, DataType)>,
}

impl Table {
    pub(crate) fn new(name: &str, path: impl Into<String>) -> Self {
        Self { name: name.into(), path: path.into(), schema: None, partition_cols: Vec::new() }
    }

    /// A file or folder of `tests/data`.
    pub(crate) fn data(name: &str, file: &str) -> Self {
        Self::new(name, data_path(file))
    }
}

/// Where a file of `tests/data` is.
pub(crate) fn data_path(file: &str) -> String {
    format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// The configuration of a session in which Miniblock reads.
pub(crate) fn config(settings: Settings) -> SessionConfig {
    let mut config = SessionConfig::new().with_target_partitions(settings.partitions);
    let options = config.options_mut();
    options.execution.batch_size = ConfigNonZeroUsize::try_new(settings.batch_size).unwrap();
    options.execution.parquet.schema_force_view_types = settings.view_types;
    // Small files are split by byte ranges too.
    options.optimizer.repartition_file_min_size = 0;
    config
}

/// A session in which Miniblock reads.
pub(crate) fn miniblock_session(settings: Settings) -> SessionContext {
    SessionContext::new_with_config(config(settings))
}

/// A session for the oracle.
pub(crate) fn oracle_session(settings: Settings) -> SessionContext {
    let mut config = config(Settings { partitions: 1, batch_size: 8192, ..settings });
    let options = config.options_mut();
    options.execution.collect_statistics = false;
    options.execution.parquet.pruning = false;
    options.execution.parquet.enable_page_index = false;
    options.execution.parquet.bloom_filter_on_read = false;
    options.execution.parquet.pushdown_filters = false;
    // The switch for all of them is one that is thrown by SET alone.
    options.optimizer.enable_dynamic_filter_pushdown = false;
    options.optimizer.enable_topk_dynamic_filter_pushdown = false;
    options.optimizer.enable_join_dynamic_filter_pushdown = false;
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    SessionContext::new_with_config(config)
}

/// Registers `table` with Miniblock.
pub(crate) async fn register_miniblock(ctx: &SessionContext, table: &Table) -> Result<()> {
    let mut options = MiniblockOptions::new().with_table_partition_cols(table.partition_cols.clone());
    if let Some(schema) = &table.schema {
        options = options.with_schema(Arc::clone(schema));
    }
    guarded(ctx.register_miniblock(&table.name, &table.path, options)).await
}

/// Registers `table` with DataFusion's reader.
pub(crate) async fn register_oracle(ctx: &SessionContext, table: &Table) -> Result<()> {
    // A single file may have any name.
    let file_extension = if table.path.ends_with('/') { ".parquet" } else { "" };
    let options = ParquetReadOptions {
        file_extension,
        schema: table.schema.as_deref(),
        table_partition_cols: table.partition_cols.clone(),
        ..ParquetReadOptions::default()
    };
    guarded(ctx.register_parquet(&table.name, &table.path, options)).await
}

/// Says something that a run of all tests should show: the harness keeps to itself what a passing test prints.
pub(crate) fn announce(what: &str) {
    let _ = std::io::stderr().write_all(format!("\n{what}\n").as_bytes());
}

/// A panic as an error, so that the message of a failed case says which case it was.
async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("of another kind");
        Err(datafusion::error::DataFusionError::Execution(format!("PANIC: {message}")))
    })
}

/// Rows, and the plan that made them.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) plan: Arc<dyn ExecutionPlan>,
}

/// Runs `sql`.
pub(crate) async fn run(ctx: &SessionContext, sql: &str) -> Result<Answer> {
    guarded(async {
        let plan = ctx.sql(sql).await?.create_physical_plan().await?;
        let batches = collect(Arc::clone(&plan), ctx.task_ctx()).await?;
        Ok(Answer { schema: plan.schema(), batches, plan })
    })
    .await
}

/// Runs `sql` by Miniblock; the answer must be there.
pub(crate) async fn answer(settings: Settings, tables: &[Table], sql: &str) -> Answer {
    let ctx = miniblock_session(settings);
    for table in tables {
        register_miniblock(&ctx, table).await.unwrap();
    }
    run(&ctx, sql).await.unwrap_or_else(|error| panic!("{sql}\n{error}"))
}

/// Runs `sql` by the oracle.
pub(crate) async fn expected(settings: Settings, tables: &[Table], sql: &str) -> Answer {
    let ctx = oracle_session(settings);
    for table in tables {
        register_oracle(&ctx, table).await.unwrap();
    }
    run(&ctx, sql).await.unwrap_or_else(|error| panic!("oracle: {sql}\n{error}"))
}

/// Asserts that both readers answer `sql` with the same rows in any order.
pub(crate) async fn assert_same(settings: Settings, tables: &[Table], sql: &str) -> Answer {
    let expected = expected(settings, tables, sql).await;
    let found = answer(settings, tables, sql).await;
    if let Err(difference) = compare(&expected, &found, How::AnyOrder) {
        panic!("{sql}\n{settings:?}\n{difference}");
    }
    found
}

/// How two answers have to agree.
#[derive(Debug, Clone, Copy)]
pub(crate) enum How {
    /// The same rows.
    AnyOrder,
    /// The same rows in the same order.
    SameOrder,
    /// As many of the expected rows as the limit allows.
    AnyRows(usize),
}

/// Whether the answers agree: types, row counts and exact values, floats by their bits.
pub(crate) fn compare(expected: &Answer, found: &Answer, how: How) -> Result<(), String> {
    same_schema(&expected.schema, &found.schema)?;
    for batch in &found.batches {
        same_schema(&found.schema, &batch.schema())
            .map_err(|difference| format!("batch against plan: {difference}"))?;
    }
    if let How::AnyRows(limit) = how {
        let (wanted, got) = (expected.num_rows().min(limit), found.num_rows());
        if wanted != got {
            return Err(format!("{wanted} rows of {} expected, {got} found", expected.num_rows()));
        }
    }
    let (mut wanted, mut got) = (expected.rows(), found.rows());
    if let How::SameOrder = how {
        if let Some(row) = (0..wanted.len().max(got.len())).find(|&row| wanted.get(row) != got.get(row)) {
            return Err(format!("row {row}: expected {:?}, found {:?}", wanted.get(row), got.get(row)));
        }
        return Ok(());
    }
    wanted.sort();
    got.sort();
    let (missing, extra) = difference(&wanted, &got);
    let subset = matches!(how, How::AnyRows(_));
    if extra.is_empty() && (subset || missing.is_empty()) {
        return Ok(());
    }
    let mut message = format!("{} rows expected, {} found", wanted.len(), got.len());
    for (name, rows) in [("missing", missing), ("not expected", extra)] {
        if subset && name == "missing" {
            continue;
        }
        let _ = write!(message, "\n{} {name}", rows.len());
        for row in rows.iter().take(3) {
            let _ = write!(message, "\n    {}", row.text());
        }
    }
    Err(message)
}

/// Whether both sessions see the same columns in table `name`, types, nullability and all.
pub(crate) async fn same_table(expected: &SessionContext, found: &SessionContext, name: &str) -> Result<(), String> {
    let fields = async |ctx: &SessionContext| {
        let schema = ctx.table(name).await.unwrap().schema().inner().clone();
        schema.fields().iter().map(|field| format!("{field:?}")).collect::<Vec<_>>()
    };
    let (expected, found) = (fields(expected).await, fields(found).await);
    if expected == found { Ok(()) } else { Err(format!("columns {expected:?} expected, {found:?} found")) }
}

/// Names and types; whether a plan's column is nullable depends on whether statistics answered.
fn same_schema(expected: &Schema, found: &Schema) -> Result<(), String> {
    let columns = |schema: &Schema| {
        schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect::<Vec<_>>()
    };
    let (expected, found) = (columns(expected), columns(found));
    if expected == found { Ok(()) } else { Err(format!("columns {expected:?} expected, {found:?} found")) }
}

/// What is in the first of two sorted lists alone, and what in the second.
fn difference<'a>(left: &'a [Row], right: &'a [Row]) -> (Vec<&'a Row>, Vec<&'a Row>) {
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < left.len() || j < right.len() {
        let order = match (left.get(i), right.get(j)) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        if order.is_lt() {
            missing.push(&left[i]);
        } else if order.is_gt() {
            extra.push(&right[j]);
        }
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    (missing, extra)
}

/// A row as bytes that are equal where the row is, and where to find it.
struct Row {
    key: Vec<u8>,
    batch: RecordBatch,
    index: usize,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Row {}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl Row {
    fn text(&self) -> String {
        row_text(&self.batch, self.index)
    }
}

fn row_text(batch: &RecordBatch, index: usize) -> String {
    let options = FormatOptions::default().with_null("NULL");
    let cells = batch.columns().iter().map(|column| {
        ArrayFormatter::try_new(column.as_ref(), &options)
            .and_then(|formatter| formatter.value(index).try_to_string())
            .unwrap_or_else(|error| format!("<{error}>"))
    });
    cells.collect::<Vec<_>>().join(" | ")
}

impl Answer {
    pub(crate) fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The only value of an answer of one row and one column, as text.
    pub(crate) fn scalar(&self) -> String {
        assert_eq!((self.num_rows(), self.schema.fields().len()), (1, 1), "not a single value");
        let batch = self.batches.iter().find(|batch| batch.num_rows() == 1).unwrap();
        row_text(batch, 0)
    }

    fn rows(&self) -> Vec<Row> {
        let fields: Vec<SortField> =
            self.schema.fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
        let converter = RowConverter::supports_fields(&fields).then(|| RowConverter::new(fields).unwrap());
        let mut rows = Vec::with_capacity(self.num_rows());
        for batch in &self.batches {
            let len = batch.num_rows();
            let keys: Vec<Vec<u8>> = match &converter {
                _ if batch.num_columns() == 0 => vec![Vec::new(); len],
                Some(converter) => {
                    let converted = converter.convert_columns(batch.columns()).unwrap();
                    converted.iter().map(|row| row.as_ref().to_vec()).collect()
                }
                None => (0..len).map(|row| row_text(batch, row).into_bytes()).collect(),
            };
            rows.extend(keys.into_iter().enumerate().map(|(index, key)| Row { key, batch: batch.clone(), index }));
        }
        rows
    }
}

/// The nodes of `plan` that are called `name`.
pub(crate) fn nodes<'a>(plan: &'a Arc<dyn ExecutionPlan>, name: &str) -> Vec<&'a Arc<dyn ExecutionPlan>> {
    let mut found: Vec<_> = plan.children().into_iter().flat_map(|child| nodes(child, name)).collect();
    if plan.name() == name {
        found.push(plan);
    }
    found
}
