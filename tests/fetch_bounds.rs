//! What fetching may cost: memory, bytes, requests and time that stay in proportion to what is read.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::DefaultParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::Operator;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::physical_expr::expressions::{binary, col, lit};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use miniblock::{MiniblockOptions, MiniblockSource, SessionContextExt};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use crate::files::scratch;
use crate::oracle::{How, Settings, compare, config, miniblock_session, run};
use crate::pool::Peak;
use crate::store::RemoteStore;

fn mix(row: i64) -> u64 {
    (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

fn text(row: i64) -> String {
    format!("{:020}", mix(row))
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_dictionary_enabled(false).set_encoding(Encoding::PLAIN)
}

fn file<const N: usize>(columns: [(&str, ArrayRef); N], properties: WriterPropertiesBuilder) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// `a` is a number, `b` a longer text, both mixed.
fn numbers_and_texts(rows: i64, group: usize) -> Vec<u8> {
    let columns: [(&str, ArrayRef); 2] = [
        ("a", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| mix(row) as i64)))),
        ("b", Arc::new(StringArray::from_iter_values((0..rows).map(text)))),
    ];
    file(columns, plain().set_max_row_group_row_count(Some(group)))
}

async fn far(files: &[Vec<u8>], latency: Duration) -> Arc<RemoteStore> {
    let memory = InMemory::new();
    for (index, file) in files.iter().enumerate() {
        memory.put(&format!("t/{index}.parquet").into(), file.clone().into()).await.unwrap();
    }
    RemoteStore::new(Arc::new(memory), latency)
}

async fn session(
    store: &Arc<RemoteStore>,
    pool: Arc<dyn MemoryPool>,
    partitions: usize,
    options: MiniblockOptions,
) -> SessionContext {
    let ctx = in_pool(pool, partitions);
    ctx.register_object_store(ObjectStoreUrl::parse("far://away").unwrap().as_ref(), Arc::clone(store) as _);
    ctx.register_miniblock("t", "far://away/t/", options).await.unwrap();
    ctx
}

fn in_pool(pool: Arc<dyn MemoryPool>, partitions: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().unwrap();
    SessionContext::new_with_config_rt(config(Settings { partitions, ..Settings::default() }), runtime)
}

/// Row groups of a megabyte after a smaller one, and pools of a few: what is still on its way for later ones makes room for
/// what is needed now.
#[tokio::test]
async fn read_ahead_makes_room() {
    let numbers = |rows: std::ops::Range<i64>| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.map(|row| mix(row) as i64)))
    };
    let batch = |rows| RecordBatch::try_from_iter([("a", numbers(rows))]).unwrap();
    let properties = plain().set_compression(Compression::SNAPPY).set_data_page_row_count_limit(usize::MAX);
    let first = batch(0..40_000);
    let mut writer = ArrowWriter::try_new(Vec::new(), first.schema(), Some(properties.build())).unwrap();
    writer.write(&first).unwrap();
    writer.flush().unwrap();
    for group in 0..8 {
        writer.write(&batch(group * 125_000..(group + 1) * 125_000)).unwrap();
        writer.flush().unwrap();
    }
    let memory = InMemory::new();
    memory.put(&"t/0.parquet".into(), writer.into_inner().unwrap().into()).await.unwrap();
    // The first row group is there when the others are not.
    let store = RemoteStore::slow(Arc::new(memory), Duration::from_millis(2), 20);
    let mut failed = Vec::new();
    for size in (4000..5000).step_by(50) {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(size << 10));
        let ctx = session(&store, Arc::clone(&pool), 1, MiniblockOptions::new()).await;
        if let Err(error) = run(&ctx, "SELECT sum(a) FROM t").await {
            failed.push((size, error.strip_backtrace().lines().last().unwrap_or_default().to_string()));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// What was given up is asked for again when it is needed, not over and over.
#[tokio::test]
async fn what_is_given_up_is_not_asked_for_at_once() {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..2_000_000).map(|row| mix(row) as i64)));
    let properties = plain().set_compression(Compression::SNAPPY).set_data_page_row_count_limit(usize::MAX);
    let file = file([("a", column)], properties.set_max_row_group_row_count(Some(125_000)));
    let size = file.len();
    let store = far(&[file], Duration::ZERO).await;
    let mut worst = Vec::new();
    for pool_size in (3000..8000).step_by(250) {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(pool_size << 10));
        let ctx = session(&store, Arc::clone(&pool), 1, MiniblockOptions::new()).await;
        store.take_counts();
        if run(&ctx, "SELECT sum(a) FROM t").await.is_ok() {
            let (requests, bytes) = store.take_counts();
            if bytes > size + size / 4 {
                worst.push((pool_size, requests, bytes));
            }
        }
    }
    assert!(worst.is_empty(), "file of {size} bytes; pool KiB, requests, bytes: {worst:?}");
}

/// What one partition reads ahead does not keep another from what it needs.
#[tokio::test]
async fn partitions_share_a_pool() {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1_000_000).map(|row| mix(row) as i64)));
    let file = file([("a", column)], plain().set_max_row_group_row_count(Some(125_000)));
    let store = far(&vec![file; 4], Duration::from_millis(5)).await;
    // Each has room for three row groups.
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(12 << 20));
    let ctx = session(&store, pool, 4, MiniblockOptions::new()).await;
    let found = run(&ctx, "SELECT sum(a) FROM t").await;
    assert!(found.is_ok(), "{}", found.unwrap_err().strip_backtrace());
}

/// Bytes of a column of which no row is wanted are let go as the scan passes them.
#[tokio::test]
async fn what_is_passed_is_let_go() {
    let store = far(&[numbers_and_texts(2_000_000, usize::MAX >> 1)], Duration::ZERO).await;
    let pool = Peak::new(1 << 30);
    let options = MiniblockOptions::new().with_read_ahead_bytes(16 << 20);
    let ctx = session(&store, Arc::clone(&pool) as _, 1, options).await;
    assert_eq!(run(&ctx, "SELECT b FROM t WHERE a = 5").await.unwrap().num_rows(), 0);
    let peak = pool.get() >> 20;
    assert!(peak <= 32, "{peak} MiB where 16 may be read ahead");
}

/// A column whose pages are asked for one by one does not have all parts of the others fetched first.
#[tokio::test]
async fn one_page_is_one_request() {
    let group = 2_000_000;
    let store = far(&[numbers_and_texts(2 * group, group as usize)], Duration::ZERO).await;
    let pool = Peak::new(1 << 30);
    let options = MiniblockOptions::new().with_read_ahead_bytes(8 << 20);
    let ctx = session(&store, Arc::clone(&pool) as _, 1, options).await;
    let sql = format!("SELECT a FROM t WHERE b IN ('{}', '{}')", text(3), text(group + 3));
    assert_eq!(run(&ctx, &sql).await.unwrap().num_rows(), 2);
    let peak = pool.get() >> 20;
    assert!(peak <= 36, "{peak} MiB where 8 may be read ahead");
}

/// `id` counts; `s` is 100 bytes of text in pages of 100 rows, without an index.
fn small_pages(rows: i64, encoding: Encoding) -> Vec<u8> {
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("s", Arc::new(StringArray::from_iter_values((0..rows).map(|row| text(row).repeat(5))))),
    ];
    let properties = plain()
        .set_column_encoding("s".into(), encoding)
        .set_max_row_group_row_count(Some(usize::MAX >> 1))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100);
    file(columns, properties)
}

/// Passing over many small pages costs no more than reading them.
#[tokio::test]
async fn many_pages_are_passed_in_time() {
    let path = scratch("fetch_bounds", "many.parquet");
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY] {
        for rows in [100_000, 300_000] {
            fs::write(&path, small_pages(rows, encoding)).unwrap();
            let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
            ctx.register_miniblock("t", path.to_str().unwrap(), MiniblockOptions::new()).await.unwrap();
            let start = Instant::now();
            run(&ctx, "SELECT max(s) FROM t").await.unwrap();
            let all = start.elapsed();
            let start = Instant::now();
            let sql = format!("SELECT s FROM t WHERE id = {}", rows - 1);
            assert_eq!(run(&ctx, &sql).await.unwrap().num_rows(), 1);
            let one = start.elapsed();
            assert!(one < 10 * all, "{encoding}, {rows} rows: all {all:?}, the last {one:?}");
        }
    }
}

/// Where all rows are read within a pool, the last alone is.
#[tokio::test]
async fn one_row_takes_no_more_memory_than_all() {
    let path = scratch("fetch_bounds", "one.parquet");
    let mut found = Vec::new();
    for encoding in [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        fs::write(&path, small_pages(300_000, encoding)).unwrap();
        let mut peaks = Vec::new();
        for sql in ["SELECT s FROM t", "SELECT s FROM t WHERE id = 299999"] {
            let pool = Peak::new(1 << 30);
            let ctx = in_pool(Arc::clone(&pool) as _, 1);
            ctx.register_miniblock("t", path.to_str().unwrap(), MiniblockOptions::new()).await.unwrap();
            run(&ctx, sql).await.unwrap();
            peaks.push(pool.get() >> 10);
        }
        found.push((encoding, peaks[0], peaks[1]));
    }
    assert!(found.iter().all(|(_, all, one)| *one <= all + 1024), "KiB for all rows and for one: {found:?}");
}

/// A source whose readers the user makes: what pages and limits leave out is not asked for.
#[tokio::test]
async fn own_readers() {
    let rows = 400_000;
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("b", Arc::new(StringArray::from_iter_values((0..rows).map(text)))),
    ];
    let file = file(columns, plain().set_max_row_group_row_count(Some(100_000)));
    let size = file.len();
    let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    memory.put(&"t.parquet".into(), file.into()).await.unwrap();
    let store = RemoteStore::new(memory, Duration::from_millis(2));
    let schema = Arc::new(arrow::datatypes::Schema::new(vec![
        arrow::datatypes::Field::new("id", arrow::datatypes::DataType::Int64, false),
        arrow::datatypes::Field::new("b", arrow::datatypes::DataType::Utf8View, false),
    ]));
    let ctx = SessionContext::new();
    let url = ObjectStoreUrl::parse("far://away").unwrap();
    ctx.register_object_store(url.as_ref(), Arc::clone(&store) as _);
    let factory = Arc::new(DefaultParquetFileReaderFactory::new(Arc::clone(&store) as _));
    let bytes = async |with: &dyn Fn(MiniblockSource) -> MiniblockSource,
                       also: &dyn Fn(FileScanConfigBuilder) -> FileScanConfigBuilder| {
        let source = with(MiniblockSource::new(Arc::clone(&schema)).with_reader_factory(Arc::clone(&factory) as _));
        let builder = FileScanConfigBuilder::new(url.clone(), Arc::new(source))
            .with_file(PartitionedFile::new("t.parquet", size as u64));
        let config: FileScanConfig = also(builder).build();
        let plan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config);
        store.take_counts();
        let batches = collect(plan, ctx.task_ctx()).await.unwrap();
        (batches.iter().map(RecordBatch::num_rows).sum::<usize>(), store.take_counts().1)
    };
    let one = binary(col("id", &schema).unwrap(), Operator::Eq, lit(150_000_i64), &schema).unwrap();
    let (rows, by_page) = bytes(&|source| source.with_filters([Arc::clone(&one)]), &|config| config).await;
    assert_eq!(rows, 1);
    let (rows, by_limit) =
        bytes(&|source| source, &|config| config.with_limit(Some(10)).with_preserve_order(true)).await;
    assert_eq!(rows, 10);
    let percent = (by_page * 100 / size, by_limit * 100 / size);
    // Stores read what lies between two ranges that are near.
    assert!(
        percent.0 < 15 && percent.1 < 35,
        "percent of the file for a page of two columns, and for ten rows: {percent:?}"
    );
}

/// Row groups that come in parts, of which some columns let go what they pass: the rows are those of a local file.
#[tokio::test]
async fn row_groups_in_parts() {
    let file = numbers_and_texts(1_500_000, 1_000_000);
    let path = scratch("fetch_bounds", "parts.parquet");
    fs::write(&path, &file).unwrap();
    let local = miniblock_session(Settings { partitions: 1, ..Settings::default() });
    local.register_miniblock("t", path.to_str().unwrap(), MiniblockOptions::new()).await.unwrap();
    let store = far(&[file], Duration::ZERO).await;
    let options = MiniblockOptions::new().with_read_ahead_bytes(8 << 20);
    let ctx = session(&store, Arc::new(GreedyMemoryPool::new(1 << 30)), 1, options).await;
    for sql in [
        "SELECT b FROM t WHERE a % 1000 = 7",
        "SELECT b FROM t WHERE a % 400000 = 7",
        "SELECT a FROM t WHERE b < '00001'",
        "SELECT a, b FROM t WHERE b LIKE '%77777%'",
        "SELECT a FROM t WHERE b LIKE '%123456%' AND a % 2 = 0",
        "SELECT sum(a), max(b) FROM t",
    ] {
        let (expected, found) = (run(&local, sql).await.unwrap(), run(&ctx, sql).await.unwrap());
        compare(&expected, &found, How::AnyOrder).unwrap_or_else(|error| panic!("{sql}\n{error}"));
        assert!(expected.num_rows() > 0, "{sql}");
    }
}
