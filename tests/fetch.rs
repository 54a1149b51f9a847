//! How the bytes of files get to the scan: from far away and from local files, ahead of the decoder, within a memory pool.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int32Array, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder};
use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::{FairSpillPool, GreedyMemoryPool, MemoryPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::object_store::limit::LimitStore;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use futures::StreamExt;
use miniblock::{MiniblockOptions, SessionContextExt};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::files::{metric, output_rows, scan, scratch, write};
use crate::oracle::{How, Settings, assert_same, compare, config, miniblock_session, oracle_session, run};
use crate::store::RemoteStore;

const ROWS: usize = 60_000;
const GROUP: usize = 10_000;

/// Sorted keys, dates with NULLs, short and long strings, a dictionary, and lists, which the parquet crate reads.
fn batch() -> RecordBatch {
    let rows = 0..ROWS as i64;
    let mix = |row: i64| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    let dates = rows.clone().map(|row| (row % 11 != 0).then(|| 9000 + (mix(row) % 2500) as i32));
    let texts = rows.clone().map(|row| format!("{:0width$}", mix(row), width = 8 + (row % 40) as usize));
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in rows.clone() {
        for value in 0..row % 4 {
            lists.values().append_value(format!("{value} of {row}"));
        }
        lists.append(row % 13 != 0);
    }
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row * 3)))),
        ("day", Arc::new(dates.collect::<Int32Array>())),
        ("other", Arc::new(Int32Array::from_iter_values(rows.clone().map(|row| 9000 + (mix(row + 7) % 2500) as i32)))),
        (
            "mode",
            Arc::new(StringArray::from_iter_values(rows.clone().map(|row| ["AIR", "MAIL", "SHIP"][row as usize % 3]))),
        ),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        ("list", Arc::new(lists.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn file(compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled("mode".into(), true)
        .set_column_encoding("id".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("day".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("other".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_compression(compression)
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(1500)
        .set_write_batch_size(500)
        .build();
    let batch = batch();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// A store far away with `t.parquet`, at `far://away/`.
async fn remote(latency: Duration) -> Arc<RemoteStore> {
    let memory = InMemory::new();
    memory.put(&"t.parquet".into(), file(Compression::SNAPPY).into()).await.unwrap();
    RemoteStore::new(Arc::new(memory), latency)
}

fn far_away() -> ObjectStoreUrl {
    ObjectStoreUrl::parse("far://away").unwrap()
}

async fn ours(store: &Arc<RemoteStore>, options: MiniblockOptions) -> SessionContext {
    let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
    ctx.register_object_store(far_away().as_ref(), Arc::clone(store) as _);
    ctx.register_miniblock("t", "far://away/t.parquet", options).await.unwrap();
    ctx
}

async fn theirs(store: &Arc<RemoteStore>) -> SessionContext {
    let ctx = oracle_session(Settings { partitions: 1, ..Settings::default() });
    ctx.register_object_store(far_away().as_ref(), Arc::clone(store) as _);
    ctx.register_parquet("t", "far://away/t.parquet", ParquetReadOptions::default()).await.unwrap();
    ctx
}

const QUERIES: [&str; 10] = [
    "SELECT * FROM t",
    "SELECT id, text FROM t WHERE day BETWEEN 9100 AND 9120",
    "SELECT text, id FROM t WHERE id = 30000",
    "SELECT text FROM t WHERE id BETWEEN 29000 AND 31500 OR id = 150000",
    "SELECT list, text FROM t WHERE id BETWEEN 60000 AND 61500 AND day < other",
    "SELECT list FROM t WHERE day > 11400",
    "SELECT text FROM t WHERE mode = 'MAIL' AND substr(text, 1, 3) = '000' AND day < 9900",
    "SELECT count(*), min(text) FROM t WHERE day IS NULL",
    "SELECT id FROM t WHERE mode IN ('AIR') AND text LIKE '%77%'",
    "SELECT id, text, mode FROM t ORDER BY id LIMIT 10",
];

#[tokio::test]
async fn however_it_is_fetched() {
    let store = remote(Duration::ZERO).await;
    let oracle = theirs(&store).await;
    let path = scratch("fetch", "however.parquet");
    fs::write(&path, file(Compression::SNAPPY)).unwrap();
    let path = path.to_str().unwrap();
    for sql in QUERIES {
        let expected = run(&oracle, sql).await.unwrap();
        for read_ahead in [0, 1 << 20, 64 << 20] {
            let ctx = ours(&store, MiniblockOptions::new().with_read_ahead_bytes(read_ahead)).await;
            let found = run(&ctx, sql).await.unwrap();
            compare(&expected, &found, How::AnyOrder).unwrap_or_else(|error| panic!("{read_ahead}: {sql}\n{error}"));
        }
        for memory_map in [false, true] {
            let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
            let options = MiniblockOptions::new().with_memory_map(memory_map);
            ctx.register_miniblock("t", path, options).await.unwrap();
            let found = run(&ctx, sql).await.unwrap();
            compare(&expected, &found, How::AnyOrder)
                .unwrap_or_else(|error| panic!("map {memory_map}: {sql}\n{error}"));
        }
    }
}

#[tokio::test]
async fn no_more_requests_and_bytes() {
    let store = remote(Duration::ZERO).await;
    let ours = ours(&store, MiniblockOptions::new()).await;
    // With its own defaults: it prunes.
    let theirs = SessionContext::new_with_config(config(Settings { partitions: 1, ..Settings::default() }));
    theirs.register_object_store(far_away().as_ref(), Arc::clone(&store) as _);
    theirs.register_parquet("t", "far://away/t.parquet", ParquetReadOptions::default()).await.unwrap();
    store.take_counts();
    // Of columns that the parquet crate reads, no page is passed over.
    for sql in QUERIES.into_iter().filter(|sql| !sql.contains("list")) {
        run(&theirs, sql).await.unwrap();
        let (their_requests, their_bytes) = store.take_counts();
        run(&ours, sql).await.unwrap();
        let (requests, bytes) = store.take_counts();
        assert!(requests <= their_requests, "{requests} requests, {their_requests} by DataFusion: {sql}");
        assert!(bytes * 100 <= their_bytes * 101, "{bytes} bytes, {their_bytes} by DataFusion: {sql}");
    }
}

/// Row groups are asked for together where the budget allows, and one after the other where it does not.
#[tokio::test]
async fn row_groups_are_fetched_ahead() {
    let store = remote(Duration::from_millis(50)).await;
    let sql = "SELECT sum(id), sum(other) FROM t WHERE day < other";
    let mut waits = Vec::new();
    for read_ahead in [0, 64 << 20] {
        let ctx = ours(&store, MiniblockOptions::new().with_read_ahead_bytes(read_ahead)).await;
        let start = Instant::now();
        run(&ctx, sql).await.unwrap();
        waits.push(start.elapsed().as_millis());
    }
    let groups = (ROWS / GROUP) as u128;
    assert!(waits[0] >= groups * 50 && waits[1] >= 50 && waits[1] + (groups - 3) * 50 < waits[0], "{waits:?}");
}

/// Of a column that few rows are wanted of, pages are asked for one by one where bytes cost more than requests.
#[tokio::test]
async fn pages_one_by_one_where_that_pays() {
    let memory = InMemory::new();
    memory.put(&"t.parquet".into(), file(Compression::SNAPPY).into()).await.unwrap();
    // A megabyte a second.
    let store = RemoteStore::slow(Arc::new(memory), Duration::from_millis(2), 1000);
    let sql = "SELECT text FROM t WHERE id % 30000 = 15";
    let oracle = theirs(&store).await;
    store.take_counts();
    let expected = run(&oracle, sql).await.unwrap();
    let (_, their_bytes) = store.take_counts();
    let ctx = ours(&store, MiniblockOptions::new().with_read_ahead_bytes(0)).await;
    store.take_counts();
    let found = run(&ctx, sql).await.unwrap();
    let (requests, bytes) = store.take_counts();
    compare(&expected, &found, How::AnyOrder).unwrap();
    assert!(bytes * 2 < their_bytes, "{bytes} bytes in {requests} requests, {their_bytes} by DataFusion");
}

#[tokio::test]
async fn what_is_dropped_is_cancelled() {
    let store = remote(Duration::from_millis(50)).await;
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 30));
    let ctx = in_pool(&pool, 1);
    ctx.register_object_store(far_away().as_ref(), Arc::clone(&store) as _);
    ctx.register_miniblock("t", "far://away/t.parquet", MiniblockOptions::new()).await.unwrap();
    let mut rows = ctx.sql("SELECT * FROM t").await.unwrap().execute_stream().await.unwrap();
    let first = futures::future::select(rows.next(), Box::pin(tokio::time::sleep(Duration::from_millis(10)))).await;
    assert!(matches!(first, futures::future::Either::Right(_)));
    assert!(store.open_requests() > 1);
    assert!(pool.reserved() > 0);
    drop(first);
    drop(rows);
    for _ in 0..100 {
        // Tasks that are cancelled are dropped when their turn comes.
        tokio::task::yield_now().await;
    }
    assert_eq!((store.open_requests(), pool.reserved()), (0, 0));
}

fn in_pool(pool: &Arc<dyn MemoryPool>, partitions: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(pool)).build_arc().unwrap();
    SessionContext::new_with_config_rt(config(Settings { partitions, ..Settings::default() }), runtime)
}

/// From pools that are too small for anything to those that are large enough: an error that says what was wanted, or all
/// rows; and nothing stays behind.
#[tokio::test]
async fn memory_pools_of_any_size() {
    let far = remote(Duration::ZERO).await;
    let path = scratch("fetch", "pools.parquet");
    fs::write(&path, file(Compression::ZSTD(ZstdLevel::default()))).unwrap();
    for (path, enough) in [(path.to_str().unwrap(), 8 << 20), ("far://away/t.parquet", 16 << 20)] {
        let mut failed = 0;
        for size in [0, 10 << 10, 100 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 64 << 20] {
            for partitions in [1, 2] {
                let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(size));
                let ctx = in_pool(&pool, partitions);
                ctx.register_object_store(far_away().as_ref(), Arc::clone(&far) as _);
                ctx.register_miniblock("t", path, MiniblockOptions::new()).await.unwrap();
                let mut rows = ctx.sql("SELECT * FROM t").await.unwrap().execute_stream().await.unwrap();
                let mut count = 0;
                let mut error = None;
                while let Some(batch) = rows.next().await {
                    match batch {
                        Ok(batch) => count += batch.num_rows(),
                        Err(found) => error = Some(found),
                    }
                }
                match error {
                    None => assert_eq!(count, ROWS, "{size}"),
                    Some(error) => {
                        assert!(size < enough, "{size}: {error}");
                        assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error:?}");
                        let text = error.to_string();
                        assert!(
                            text.contains("column ") && text.contains(".parquet") && text.contains("MiniblockScan"),
                            "{text}"
                        );
                        failed += 1;
                    }
                }
                drop(rows);
                assert_eq!(pool.reserved(), 0, "{size}");
            }
        }
        assert!(failed > 3, "{path}");
    }
}

/// A pool that is shared with an operator that spills: what is enough with DataFusion's reader, which accounts for nothing, is
/// enough.
#[tokio::test]
async fn a_sort_above_the_scan() {
    let path = scratch("fetch", "sort.parquet");
    fs::write(&path, file(Compression::SNAPPY)).unwrap();
    let path = path.to_str().unwrap();
    let mut enough = 0;
    for size in [24 << 20, 25 << 20, 26 << 20, 28 << 20, 32 << 20] {
        let sort = async |ours: bool| {
            let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(size));
            let ctx = in_pool(&pool, 2);
            if ours {
                ctx.register_miniblock("t", path, MiniblockOptions::new()).await.unwrap();
            } else {
                ctx.register_parquet("t", path, ParquetReadOptions::default()).await.unwrap();
            }
            let rows = run(&ctx, "SELECT text, id FROM t ORDER BY text, id").await.map(|found| found.num_rows());
            assert_eq!(pool.reserved(), 0);
            rows
        };
        if sort(false).await.is_ok() {
            assert_eq!(sort(true).await.unwrap(), ROWS, "{size}");
            enough += 1;
        }
    }
    assert!(enough > 2);
}

/// Others wrap stores of local files, and offer them as streams or as files.
#[tokio::test]
async fn wrapped_local_stores() {
    let path = scratch("fetch", "wrapped.parquet");
    fs::write(&path, file(Compression::SNAPPY)).unwrap();
    let local = || -> Arc<dyn ObjectStore> { Arc::new(LocalFileSystem::new()) };
    let stores: [Arc<dyn ObjectStore>; 2] =
        [Arc::new(LimitStore::new(local(), 2)), RemoteStore::new(local(), Duration::ZERO)];
    for store in stores {
        let ctx = miniblock_session(Settings { partitions: 2, ..Settings::default() });
        ctx.register_object_store(ObjectStoreUrl::local_filesystem().as_ref(), store);
        ctx.register_miniblock("t", path.to_str().unwrap(), MiniblockOptions::new()).await.unwrap();
        let found = run(&ctx, "SELECT id, text FROM t WHERE day < other").await.unwrap();
        assert!(found.num_rows() > 1000);
    }
}

/// A local file is read in small pieces; what is pruned by pages is not read.
#[tokio::test]
async fn local_files_are_read_by_pages() {
    let path = scratch("fetch", "pages.parquet");
    fs::write(&path, file(Compression::UNCOMPRESSED)).unwrap();
    let path = path.to_str().unwrap();
    let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
    ctx.register_miniblock("t", path, MiniblockOptions::new()).await.unwrap();
    let all = run(&ctx, "SELECT text FROM t WHERE id >= 0").await.unwrap();
    let one = run(&ctx, "SELECT text FROM t WHERE id = 30000").await.unwrap();
    let (all, one) = (scan(&all.plan, "pages.parquet"), scan(&one.plan, "pages.parquet"));
    assert_eq!(output_rows(one), 1);
    assert!(metric(one, "bytes_scanned") * 10 < metric(all, "bytes_scanned"));
}

/// Pages that are decompressed on another thread, beside small ones, with NULLs and with a dictionary.
#[tokio::test]
async fn large_pages() {
    let rows = 0..600_000_i64;
    let mix = |row: i64| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("n", Arc::new(rows.clone().map(|row| (row % 3 != 0).then(|| mix(row) as i64 % 1000)).collect::<Int64Array>())),
        ("s", Arc::new(StringArray::from_iter_values(rows.map(|row| format!("{:020}", mix(row)))))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    for compression in [Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder()
                .set_writer_version(version)
                .set_compression(compression)
                .set_encoding(Encoding::PLAIN)
                .set_dictionary_enabled(false)
                .set_column_dictionary_enabled("s".into(), true)
                .set_dictionary_page_size_limit(64 << 20)
                .set_data_page_size_limit(3 << 20)
                .set_data_page_row_count_limit(usize::MAX)
                .build();
            let table = write("fetch", "large.parquet", &batch, properties);
            for sql in
                ["SELECT * FROM t", "SELECT s, n FROM t WHERE id % 1000 = 7", "SELECT n, s FROM t WHERE id > 550000"]
            {
                assert_same(Settings::default(), std::slice::from_ref(&table), sql).await;
            }
        }
    }
}

/// A file that is not what it was when it was listed.
#[tokio::test]
async fn files_that_change() {
    let path = scratch("fetch", "changes.parquet");
    let whole = file(Compression::SNAPPY);
    for length in [4, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole).unwrap();
        let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
        ctx.register_miniblock("t", path.to_str().unwrap(), MiniblockOptions::new()).await.unwrap();
        fs::write(&path, &whole[..length]).unwrap();
        let error = run(&ctx, "SELECT text FROM t").await;
        let error = error.map(|answer| answer.num_rows()).expect_err("a file was cut short").to_string();
        assert!(error.contains("changes.parquet"), "{error}");
    }
}
