//! What strings cost in memory where few of them are kept: of the pool, and in the arrays that a scan hands out.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use miniblock::{MiniblockOptions, SessionContextExt};
use parquet::basic::Encoding;

use crate::files::{plain, scratch, write_to};
use crate::oracle::{Settings, config};
use crate::pool::Peak;

const ROWS: i64 = 200_000;

fn mix(row: i64) -> u64 {
    (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A file of `id`, which counts, `a` from 0 to 9999 and `b` in no order, `l` as DELTA_LENGTH_BYTE_ARRAY, `d` as
/// DELTA_BYTE_ARRAY, both of more than twelve bytes. Pages of 20,000 rows.
fn path(name: &str) -> String {
    let path = scratch("string_memory", name);
    let text = |row| {
        let text = format!("{:016x}{:016x}{:016x}", mix(row), mix(row + ROWS), mix(row + 2 * ROWS));
        text[..20 + (mix(row + 1) % 25) as usize].to_string()
    };
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS))),
        ("a", Arc::new(Int32Array::from_iter_values((0..ROWS).map(|row| (mix(row) >> 33) as i32 % 10_000)))),
        ("b", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| mix(row) as i64 >> 20)))),
        ("l", Arc::new(StringArray::from_iter_values((0..ROWS).map(text)))),
        (
            "d",
            Arc::new(StringArray::from_iter_values(
                (0..ROWS).map(|row| format!("https://example.org/items/{row:09}/{}", row % 7)),
            )),
        ),
    ];
    let properties = plain()
        .into_builder()
        .set_column_encoding("id".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("a".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("b".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("l".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
        .set_column_encoding("d".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_max_row_group_row_count(Some(100_000))
        .set_data_page_row_count_limit(20_000)
        .set_write_batch_size(1000);
    write_to(&path, &RecordBatch::try_from_iter(columns).unwrap(), properties.build());
    path.to_str().unwrap().to_string()
}

/// A string column of a batch.
#[derive(Debug, Clone, Copy)]
struct Held {
    rows: usize,
    /// Bytes that it needs.
    needed: usize,
    /// Bytes of memory that it holds.
    memory: usize,
}

fn held(column: &ArrayRef) -> Option<Held> {
    let needed = if let Some(array) = column.as_string_view_opt() {
        array.iter().flatten().map(|text| size_of::<u128>() + if text.len() > 12 { text.len() } else { 0 }).sum()
    } else {
        let array = column.as_string_opt::<i32>()?;
        array.iter().flatten().map(|text| size_of::<i32>() + text.len()).sum()
    };
    Some(Held { rows: column.len(), needed, memory: column.get_array_memory_size() })
}

/// The string columns of the batches of a scan, and the most bytes of the pool that it took.
///
/// The file is mapped, so that its bytes are none of the pool's: what is left are pages and buffers of decoders, windows, and
/// rows that are no batch yet. Batches are dropped as they come, and are not the scan's.
async fn scan(path: &str, sql: &str, settings: Settings) -> (Vec<Held>, usize) {
    let pool = Peak::new(1 << 30);
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool) as _).build_arc().unwrap();
    let ctx = SessionContext::new_with_config_rt(config(settings), runtime);
    ctx.register_miniblock("t", path, MiniblockOptions::new().with_memory_map(true)).await.unwrap();
    let mut stream = ctx.sql(sql).await.unwrap().execute_stream().await.unwrap();
    let mut columns = Vec::new();
    while let Some(batch) = stream.next().await {
        columns.extend(batch.unwrap().columns().iter().filter_map(held));
    }
    drop(stream);
    assert_eq!(pool.reserved(), 0, "{sql}: bytes of the pool that are not given back");
    (columns, pool.get())
}

fn settings(view_types: bool, batch_size: usize) -> Settings {
    Settings { partitions: 1, view_types, batch_size }
}

/// One row in a thousand, here and there and all in one place.
const FEW: [&str; 2] = ["a < 10", "id BETWEEN 70100 AND 70299"];

/// Many rows in some places, and few in others.
const MANY_AND_FEW: [&str; 4] =
    ["id < 20000 OR a < 10", "a < 10 OR id > 180000", "id % 20000 < 4000 OR a < 10", "true"];

#[tokio::test]
async fn few_strings_take_little_of_the_pool() {
    let path = path("pool.parquet");
    for view_types in [true, false] {
        for (filter, slack) in FEW.into_iter().zip([0, 16 << 10]) {
            let settings = settings(view_types, 8192);
            let (_, without) = scan(&path, &format!("SELECT a, b FROM t WHERE {filter}"), settings).await;
            for columns in ["l", "d", "l, d"] {
                let sql = format!("SELECT a, b, {columns} FROM t WHERE {filter}");
                let (kept, with) = scan(&path, &sql, settings).await;
                let kept: usize = kept.iter().map(|column| column.needed).sum();
                assert!(
                    with <= 2 * without + kept + slack,
                    "{sql}: {with} bytes for {kept} of strings, where integers alone take {without}"
                );
            }
        }
    }
}

/// Arrays that hold more than twice what they need, and some.
async fn greedy(path: &str, filters: &[&str], view_types: bool) -> Vec<String> {
    let mut found = Vec::new();
    for filter in filters {
        for batch_size in [8192, 1024] {
            for column in ["l", "d"] {
                let sql = format!("SELECT a, {column} FROM t WHERE {filter}");
                let (columns, _) = scan(path, &sql, settings(view_types, batch_size)).await;
                let greedy = columns.iter().filter(|held| held.memory > 2 * held.needed + (32 << 10));
                if let Some(worst) = greedy.max_by_key(|held| held.memory / held.needed) {
                    let Held { rows, needed, memory } = worst;
                    found.push(format!("{sql}, batches of {batch_size}: {rows} rows hold {memory} bytes for {needed}"));
                }
            }
        }
    }
    found
}

#[tokio::test]
async fn arrays_of_few_strings_hold_little() {
    let path = path("few.parquet");
    for view_types in [true, false] {
        let greedy = greedy(&path, &FEW, view_types).await;
        assert!(greedy.is_empty(), "{greedy:#?}");
    }
}

#[tokio::test]
async fn arrays_with_offsets_hold_what_they_need() {
    let greedy = greedy(&path("offsets.parquet"), &MANY_AND_FEW, false).await;
    assert!(greedy.is_empty(), "{greedy:#?}");
}

/// A batch of few rows that comes after, or before, batches of many.
#[tokio::test]
async fn arrays_of_views_hold_what_they_need() {
    let greedy = greedy(&path("views.parquet"), &MANY_AND_FEW, true).await;
    assert!(greedy.is_empty(), "{greedy:#?}");
}

/// What a batch holds when it is handed out was held before, by the scan.
#[tokio::test]
async fn the_pool_knows_of_rows_that_are_no_batch_yet() {
    let path = path("known.parquet");
    let mut unknown = Vec::new();
    for filter in MANY_AND_FEW {
        for batch_size in [8192, 1024] {
            for column in ["l", "d"] {
                let sql = format!("SELECT {column} FROM t WHERE {filter}");
                let (columns, peak) = scan(&path, &sql, settings(true, batch_size)).await;
                let largest = columns.iter().map(|held| held.memory).max().unwrap_or_default();
                if largest > 2 * peak + (64 << 10) {
                    unknown.push(format!("{sql}, batches of {batch_size}: {largest} bytes, and {peak} of the pool"));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Windows are short before they are long strings, as far as the metadata tells.
#[tokio::test]
async fn strings_that_become_long() {
    let path = scratch("string_memory", "grow.parquet");
    let text = |row| if row < 5120 { "a".to_string() } else { "b".repeat(10_000) };
    let columns: [(&str, ArrayRef); 1] = [("c", Arc::new(StringArray::from_iter_values((0..10_240).map(text))))];
    let properties = plain().into_builder().set_max_row_group_row_count(None).build();
    write_to(&path, &RecordBatch::try_from_iter(columns).unwrap(), properties);
    for (sql, batch_size) in [("SELECT c FROM t WHERE c LIKE 'a%' OR c > 'b'", 1024), ("SELECT c FROM t", 1024)] {
        let ctx = SessionContext::new_with_config(config(settings(true, batch_size)));
        let options = MiniblockOptions::new().with_max_batch_size(16 << 20);
        ctx.register_miniblock("t", path.to_str().unwrap(), options).await.unwrap();
        let batches = ctx.sql(sql).await.unwrap().collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10_240, "{sql}");
    }
}
