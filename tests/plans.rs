//! What plans look like, what they count, and what errors say.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::DataType;
use datafusion::physical_plan::displayable;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::files::{self, metric, output_rows, properties, sample, scan, text};
use crate::oracle::{
    Answer, How, Settings, Table, answer, assert_same, compare, data_path, expected, miniblock_session, nodes,
    register_miniblock, run,
};
use crate::shapes::Q12;

const PARTITIONS: [usize; 3] = [1, 2, 7];

fn tpch() -> [Table; 2] {
    [
        Table::data("lineitem", "tpch_delta_none_lineitem.parquet"),
        Table::data("orders", "tpch_delta_none_orders.parquet"),
    ]
}

fn scratch(name: &str) -> PathBuf {
    files::scratch("plans", name)
}

fn write(name: &str, batch: &RecordBatch, properties: WriterProperties) -> Table {
    files::write("plans", name, batch, properties)
}

#[tokio::test]
async fn q12_has_no_filter_above_lineitem() {
    let found = answer(Settings::default(), &tpch(), Q12).await;
    assert!(nodes(&found.plan, "FilterExec").is_empty(), "{}", text(&found.plan));
    let line = displayable(scan(&found.plan, "lineitem").as_ref()).one_line().to_string();
    assert!(line.contains("file_type=miniblock"), "{line}");
    assert!(line.contains("predicate=") && line.contains("l_shipmode"), "{line}");
}

#[tokio::test]
async fn explain_says_who_evaluates_what() {
    let sql = "EXPLAIN VERBOSE SELECT l_orderkey FROM lineitem WHERE l_quantity < 10 AND l_orderkey % 3 = 1";
    let found = answer(Settings::default(), &tpch(), sql).await;
    let plan = arrow::util::pretty::pretty_format_batches(&found.batches).unwrap().to_string();
    assert!(plan.contains("native_predicates=[l_quantity"), "{plan}");
    assert!(plan.contains("residual_predicates=[l_orderkey"), "{plan}");
}

#[tokio::test]
async fn counts_add_up() {
    let table = write("counts.parquet", &sample(10_000), properties());
    for partitions in PARTITIONS {
        let settings = Settings { partitions, ..Settings::default() };
        // Neither statistics nor the page index prune by these.
        for (filter, pruned) in
            [("k = 3", true), ("k % 5 = 2", false), ("k = 3 AND id % 2 = 0", true), ("s LIKE '%7'", false)]
        {
            let sql = format!("SELECT id, s FROM t WHERE {filter}");
            let found = assert_same(settings, std::slice::from_ref(&table), &sql).await;
            let scan = scan(&found.plan, "counts.parquet");
            let (matched, discarded) = (metric(scan, "pushdown_rows_matched"), metric(scan, "pushdown_rows_pruned"));
            assert_eq!(matched, found.num_rows(), "{sql}");
            assert_eq!(output_rows(scan), found.num_rows(), "{sql}");
            assert_eq!(matched + discarded, 10_000, "{sql} {pruned}");
            assert!(metric(scan, "bytes_scanned") > 0, "{sql}");
        }
        let found = assert_same(settings, std::slice::from_ref(&table), "SELECT id FROM t").await;
        assert_eq!(output_rows(scan(&found.plan, "counts.parquet")), 10_000);
    }
}

#[tokio::test]
async fn pruned_rows_add_up() {
    let table = write("pruned.parquet", &sample(10_000), properties());
    let found = assert_same(
        Settings { partitions: 1, ..Settings::default() },
        &[table],
        "SELECT * FROM t WHERE id BETWEEN 2150 AND 2349",
    )
    .await;
    let scan = scan(&found.plan, "pruned.parquet");
    assert_eq!(output_rows(scan), 200);
    assert_eq!(metric(scan, "pushdown_rows_matched"), 200);
    // One row group of ten is left, and three of its pages.
    let metrics = format!("{:?}", scan.metrics().unwrap().aggregate_by_name());
    let decided = metric(scan, "pushdown_rows_matched") + metric(scan, "pushdown_rows_pruned");
    assert!(decided <= 1000, "{decided} rows were looked at: {metrics}");
}

#[tokio::test]
async fn explain_analyze_shows_the_counts() {
    let sql = "EXPLAIN ANALYZE SELECT l_orderkey FROM lineitem WHERE l_shipmode = 'MAIL'";
    let found = answer(Settings::default(), &tpch(), sql).await;
    let plan = arrow::util::pretty::pretty_format_batches(&found.batches).unwrap().to_string();
    for name in [
        "pushdown_rows_matched=",
        "pushdown_rows_pruned=",
        "bytes_scanned=",
        "output_rows=",
        "time_elapsed_processing=",
    ] {
        assert!(plan.contains(name), "no {name} in\n{plan}");
    }
    assert!(!plan.contains("FilterExec"), "{plan}");
}

#[tokio::test]
async fn each_row_comes_once() {
    let table = write("once.parquet", &sample(5_500), properties());
    for partitions in PARTITIONS {
        let settings = Settings { partitions, ..Settings::default() };
        let found = answer(
            settings,
            std::slice::from_ref(&table),
            "SELECT count(*), count(DISTINCT id), sum(id) FROM t WHERE id >= 0 OR k = 1",
        )
        .await;
        let row = arrow::util::pretty::pretty_format_batches(&found.batches).unwrap().to_string();
        assert!(row.contains("| 5500     | 5500                 | 15122250  |"), "{partitions} partitions:\n{row}");
        assert_same(settings, std::slice::from_ref(&table), "SELECT * FROM t").await;
        assert_same(settings, &tpch(), Q12).await;
    }
}

#[tokio::test]
async fn byte_ranges_split_a_file() {
    let table = write("split.parquet", &sample(10_000), properties());
    let found =
        answer(Settings { partitions: 7, ..Settings::default() }, &[table], "SELECT id FROM t WHERE k = 1").await;
    let scan = scan(&found.plan, "split.parquet");
    assert_eq!(scan.properties().partitioning.partition_count(), 7, "{}", text(&found.plan));
}

#[tokio::test]
async fn counting_is_right_under_a_filter() {
    let table = write("count.parquet", &sample(3_000), properties());
    let tables = std::slice::from_ref(&table);
    let settings = Settings::default();
    assert_eq!(answer(settings, tables, "SELECT count(*) FROM t WHERE id < 17").await.scalar(), "17");
    assert_eq!(answer(settings, tables, "SELECT count(*) FROM t WHERE k IS NULL").await.scalar(), "600");
    assert_eq!(answer(settings, tables, "SELECT count(k) FROM t WHERE id < 10").await.scalar(), "8");
    assert_eq!(answer(settings, tables, "SELECT max(id) FROM t WHERE k = 0 AND id < 100").await.scalar(), "74");
    assert_eq!(
        answer(settings, tables, "SELECT count(*) FROM (SELECT * FROM t WHERE id < 17 LIMIT 20)").await.scalar(),
        "17"
    );
    let unfiltered = answer(settings, tables, "SELECT count(*), max(id) FROM t").await;
    assert!(nodes(&unfiltered.plan, "DataSourceExec").is_empty(), "statistics answer:\n{}", text(&unfiltered.plan));
}

#[tokio::test]
async fn statistics_are_inexact_under_a_filter() {
    use datafusion::common::stats::Precision;
    use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
    let table = write("statistics.parquet", &sample(3_000), properties());
    let found = answer(Settings::default(), std::slice::from_ref(&table), "SELECT id FROM t WHERE k = 1").await;
    let scan = scan(&found.plan, "statistics.parquet");
    for partition in [None, Some(0)] {
        let args = StatisticsArgs::new().with_partition(partition);
        let rows = StatisticsContext::new().compute(scan.as_ref(), &args).unwrap().num_rows;
        assert!(!matches!(rows, Precision::Exact(_)), "partition {partition:?} has {rows:?}");
    }
}

#[tokio::test]
async fn volatile_filters_stay_above_the_scan() {
    let table = write("volatile.parquet", &sample(2_000), properties());
    let found =
        answer(Settings::default(), std::slice::from_ref(&table), "SELECT id FROM t WHERE random() < 2 AND k = 1")
            .await;
    let filters = nodes(&found.plan, "FilterExec");
    assert_eq!(filters.len(), 1, "{}", text(&found.plan));
    assert!(displayable(filters[0].as_ref()).one_line().to_string().contains("random"));
    let all = expected(Settings::default(), &[table], "SELECT id FROM t WHERE k = 1").await;
    compare(&all, &found, How::AnyOrder).unwrap();
}

#[tokio::test]
async fn limits_stop_and_are_exact() {
    let table = write("limit.parquet", &sample(10_000), properties());
    for partitions in PARTITIONS {
        let settings = Settings { partitions, batch_size: 100, ..Settings::default() };
        for (filter, matching) in [("true", 10_000), ("k = 3", 216), ("id % 100 = 7 AND k > 3", 71)] {
            let all =
                expected(settings, std::slice::from_ref(&table), &format!("SELECT id, s FROM t WHERE {filter}")).await;
            assert!(all.num_rows() >= matching.min(60), "{filter} gives {} rows", all.num_rows());
            for limit in [0, 1, 5, 99, 100, 101, 20_000] {
                let sql = format!("SELECT id, s FROM t WHERE {filter} LIMIT {limit}");
                let found = answer(settings, std::slice::from_ref(&table), &sql).await;
                compare(&all, &found, How::AnyRows(limit)).unwrap_or_else(|difference| panic!("{sql}\n{difference}"));
            }
        }
    }
}

#[tokio::test]
async fn a_limit_that_is_gathered_reads_no_further() {
    let table = write("limit_bytes.parquet", &sample(20_000), properties());
    // The limit crosses the border of a batch, and those of row groups.
    for sql in ["SELECT id, s FROM t LIMIT 8500", "SELECT id, s FROM t WHERE id % 2 = 0 LIMIT 4250"] {
        let settings = Settings { partitions: 1, batch_size: 8192, ..Settings::default() };
        let all = answer(settings, std::slice::from_ref(&table), "SELECT id, s FROM t").await;
        let some = answer(settings, std::slice::from_ref(&table), sql).await;
        let [all, some] = [&all, &some].map(|answer| metric(scan(&answer.plan, "limit_bytes"), "bytes_scanned"));
        assert!(some > 0 && some * 20 <= all * 10, "{sql} reads {some} bytes of {all}");
    }
}

#[tokio::test]
async fn dynamic_filters_change_no_answer() {
    let table = write("dynamic.parquet", &sample(10_000), properties());
    for partitions in PARTITIONS {
        let settings = Settings { partitions, batch_size: 500, ..Settings::default() };
        for sql in [
            "SELECT a.id, b.s FROM t a JOIN (SELECT * FROM t WHERE id BETWEEN 4000 AND 4010) b ON a.id = b.id",
            "SELECT a.id FROM t a JOIN (SELECT DISTINCT k FROM t WHERE k > 33) b ON a.k = b.k WHERE a.id % 3 = 0",
            "SELECT a.id, b.id FROM t a LEFT JOIN (SELECT * FROM t WHERE id < 5) b ON a.id = b.id WHERE a.id < 50",
            "SELECT a.id, b.k FROM t a RIGHT JOIN (SELECT id + 9995 AS id, k FROM t WHERE id < 10) b ON a.id = b.id",
            "SELECT id FROM t WHERE k IN (SELECT k FROM t WHERE id = 9999)",
            "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM t u WHERE u.id = t.id + 10)",
            "SELECT max(id), min(id) FROM t WHERE k > 5",
            "SELECT * FROM t ORDER BY id DESC LIMIT 3",
            "SELECT id FROM t WHERE k = 3 ORDER BY s, id LIMIT 10",
            "SELECT k, id FROM t ORDER BY k NULLS FIRST, id DESC LIMIT 30",
        ] {
            assert_same(settings, std::slice::from_ref(&table), sql).await;
        }
    }
}

#[tokio::test]
async fn projections_of_expressions() {
    for sql in [
        "SELECT l_extendedprice * (1 - l_discount) AS revenue, upper(l_shipmode) FROM lineitem WHERE l_quantity < 5",
        "SELECT 1, l_shipmode, l_shipmode AS again, l_orderkey + 1 FROM lineitem",
        "SELECT 'x' FROM lineitem WHERE l_tax > 0.05",
        "SELECT count(*) FROM lineitem WHERE l_tax > 0.05",
        "SELECT l_shipdate, l_shipdate + interval '1' day, l_comment FROM lineitem WHERE l_comment LIKE '%fluff%'",
    ] {
        assert_same(Settings::default(), &tpch(), sql).await;
    }
}

#[tokio::test]
async fn partition_columns_of_folders() {
    let mut table = Table::data("t", "dir_hive/");
    table.partition_cols = vec![("year".into(), DataType::Int32), ("month".into(), DataType::Int32)];
    for partitions in PARTITIONS {
        let settings = Settings { partitions, ..Settings::default() };
        for (sql, rows) in [
            ("SELECT * FROM t", 879),
            ("SELECT id, year FROM t WHERE year = 2022 AND i32 > 0", 185),
            ("SELECT month, year, s FROM t WHERE month >= 2 AND i64n IS NULL", 185),
            ("SELECT i32 FROM t WHERE year < 2022 AND month = 12 AND i32 < 40", 95),
            ("SELECT year FROM t WHERE year - 2000 > month", 879),
            ("SELECT month FROM t WHERE i32 > year - 2000 OR month = 1", 0),
        ] {
            let found = assert_same(settings, std::slice::from_ref(&table), sql).await;
            assert!(rows == 0 || found.num_rows() == rows, "{sql} gives {} rows", found.num_rows());
        }
    }
}

#[tokio::test]
async fn wrong_paths_are_named() {
    let ctx = miniblock_session(Settings::default());
    let error = register_miniblock(&ctx, &Table::new("t", "/no/such/file.parquet")).await.unwrap_err().to_string();
    assert!(error.contains("no/such/file.parquet"), "{error}");
}

/// What a query over a broken file says; it must not panic.
async fn failure(table: &Table, sql: &str) -> String {
    let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
    let result: datafusion::error::Result<Answer> = match register_miniblock(&ctx, table).await {
        Ok(()) => run(&ctx, sql).await,
        Err(error) => Err(error),
    };
    let message = result.expect_err("a broken file was read").to_string();
    assert!(!message.contains("PANIC"), "{message}");
    message
}

/// Where the bodies of the pages of column `column` in row group `row_group` begin, found by the parquet crate's index.
fn pages(bytes: &[u8], row_group: usize, column: usize) -> Vec<(usize, usize)> {
    use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
    let metadata = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(&bytes::Bytes::copy_from_slice(bytes))
        .unwrap();
    metadata.offset_index().unwrap()[row_group][column]
        .page_locations()
        .iter()
        .map(|page| (usize::try_from(page.offset).unwrap(), usize::try_from(page.compressed_page_size).unwrap()))
        .collect()
}

#[tokio::test]
async fn errors_name_the_place() {
    let properties = properties().into_builder().set_compression(Compression::ZSTD(Default::default())).build();
    let table = write("whole.parquet", &sample(3_000), properties);
    let bytes = fs::read(&table.path).unwrap();
    // A zstd frame in the middle of the second row group, column `s`, page 4.
    let (offset, len) = pages(&bytes, 1, 2)[4];
    let mut broken = bytes.clone();
    for byte in &mut broken[offset + len * 2 / 3..offset + len] {
        *byte = !*byte;
    }
    let path = scratch("broken-page.parquet");
    fs::write(&path, broken).unwrap();
    let message = failure(&Table::new("t", path.to_str().unwrap()), "SELECT s FROM t").await;
    for part in ["broken-page.parquet", "row group 1", "column s", "page 4"] {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
    // By a predicate too.
    let message = failure(&Table::new("t", path.to_str().unwrap()), "SELECT id FROM t WHERE s > 'text-00'").await;
    for part in ["broken-page.parquet", "row group 1", "column s", "page 4"] {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
    // The other columns are readable.
    let ctx = miniblock_session(Settings::default());
    register_miniblock(&ctx, &Table::new("t", path.to_str().unwrap())).await.unwrap();
    let rest = run(&ctx, "SELECT id, k FROM t").await.unwrap();
    assert_eq!(rest.num_rows(), 3_000);
}

#[tokio::test]
async fn garbage_page_headers_are_named() {
    let table = write("headers.parquet", &sample(3_000), properties());
    let bytes = fs::read(&table.path).unwrap();
    let (offset, _) = pages(&bytes, 2, 1)[3];
    for filler in [0x00, 0xff, 0x88] {
        let mut broken = bytes.clone();
        broken[offset..offset + 10].fill(filler);
        let path = scratch(&format!("broken-header-{filler}.parquet"));
        fs::write(&path, broken).unwrap();
        let message = failure(&Table::new("t", path.to_str().unwrap()), "SELECT * FROM t").await;
        for part in ["broken-header", "row group 2", "column k", "page 3"] {
            assert!(message.contains(part), "no {part:?} in: {message}");
        }
    }
}

#[tokio::test]
async fn truncated_files_are_errors() {
    let table = write("long.parquet", &sample(3_000), properties());
    let bytes = fs::read(&table.path).unwrap();
    for len in [0, 3, 8, 100, bytes.len() / 2, bytes.len() - 9, bytes.len() - 1] {
        let path = scratch(&format!("truncated-{len}.parquet"));
        fs::write(&path, &bytes[..len]).unwrap();
        let message = failure(&Table::new("t", path.to_str().unwrap()), "SELECT * FROM t").await;
        assert!(message.contains(&format!("truncated-{len}")), "{len} bytes: {message}");
    }
}

/// Any one byte of the column chunks may be anything: an error, or some rows, but no panic.
#[tokio::test]
async fn flipped_bytes_do_not_panic() {
    for file in [
        "rs_nulls_pages.parquet",
        "jv_big_block_few_rows.parquet",
        "pa_mixed_snappy_v2.parquet",
        "rs_dict_fallback_v1.parquet",
    ] {
        let bytes = fs::read(data_path(file)).unwrap();
        let metadata = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap().metadata().clone();
        let end = metadata.row_groups().iter().flat_map(|row_group| row_group.columns()).map(|column| {
            let (start, len) = column.byte_range();
            usize::try_from(start + len).unwrap()
        });
        let end = end.max().unwrap();
        let path = scratch(&format!("flipped-{file}"));
        for step in 0..60 {
            let mut broken = bytes.clone();
            let position = 4 + step * 7919 % (end - 4);
            broken[position] ^= [0x01, 0x80, 0xff, 0x10][step % 4];
            fs::write(&path, broken).unwrap();
            let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
            let table = Table::new("t", path.to_str().unwrap());
            let result = match register_miniblock(&ctx, &table).await {
                Ok(()) => run(&ctx, "SELECT * FROM t").await,
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                let message = error.to_string();
                assert!(!message.contains("PANIC"), "{file}, byte {position}: {message}");
                assert!(message.contains("flipped-"), "{file}, byte {position}: no file in: {message}");
            }
        }
    }
}

/// Of a sorted key, few miniblocks are unpacked where few rows are wanted, however they are asked for.
#[tokio::test]
async fn headers_decide_on_sorted_keys() {
    let rows = 0..200_000_i64;
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("key", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row * 3 + row % 2))), false),
        (
            "day",
            Arc::new(Int32Array::from_iter(
                rows.clone().map(|row| (row / 50_000 != 2).then_some((row * 2 / 3) as i32)),
            )),
            true,
        ),
        ("n", Arc::new(Int32Array::from_iter_values(rows.map(|row| (row * 7919 % 1000) as i32))), false),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    // Neither statistics nor a page index help.
    let properties = properties()
        .into_builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(None)
        .set_data_page_row_count_limit(50_000)
        .build();
    let table = write("sorted.parquet", &batch, properties);
    for (sql, most) in [
        ("SELECT n FROM t WHERE key = 300000", 200),
        ("SELECT key, n FROM t WHERE key BETWEEN 300000 AND 300600", 200),
        ("SELECT count(*) FROM t WHERE key >= 300000", 100),
        ("SELECT count(*) FROM t WHERE key <> 30000", 100),
        ("SELECT n FROM t WHERE day = 10000", 300),
        ("SELECT n FROM t WHERE day IN (10000, 10001)", 300),
        ("SELECT count(*) FROM t WHERE day < 10000 OR day > 20000", 400),
    ] {
        let found =
            assert_same(Settings { partitions: 1, ..Settings::default() }, std::slice::from_ref(&table), sql).await;
        let scan = scan(&found.plan, "sorted.parquet");
        let (decided, unpacked) = (metric(scan, "miniblocks_decided"), metric(scan, "miniblocks_unpacked"));
        // There are 6250 of `day`, half as many of `key`.
        assert!(unpacked <= most && decided > 2500, "{unpacked} unpacked, {decided} decided: {sql}");
    }
    let sql = "SELECT count(*) FROM t WHERE n = 5";
    let found = assert_same(Settings { partitions: 1, ..Settings::default() }, &[table], sql).await;
    assert_eq!(metric(scan(&found.plan, "sorted.parquet"), "miniblocks_decided"), 0);
}

#[tokio::test]
async fn miniblocks_are_counted_once() {
    let mixed = |row: i64| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed() >> 40;
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(0..8192));
    let b: ArrayRef = Arc::new(Int64Array::from_iter_values((0..8192).map(mixed)));
    let properties = properties()
        .into_builder()
        .set_max_row_group_row_count(None)
        .set_data_page_row_count_limit(8192)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let batch = RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap();
    let table = files::write("plans", "counted.parquet", &batch, properties);
    let settings = Settings { partitions: 1, ..Settings::default() };
    let found = answer(settings, &[table], "SELECT count(*) FROM t WHERE a >= 0 AND b > 0").await;
    let count = |name| metric(scan(&found.plan, "counted.parquet"), name);
    assert!(count("miniblocks_decided") + count("miniblocks_unpacked") <= 2 * 8192 / 64);
}
