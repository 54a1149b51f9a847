//! Statistics that are missing, cut short, in another order than the bytes, or silent about NaN: they never lose a row.

use std::fs;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt32Array, UInt64Array,
};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;

use crate::files::{pruned, scan, scratch, write};
use crate::oracle::{
    Answer, How, Settings, Table, answer, assert_same, compare, config, expected, oracle_session, register_miniblock,
    register_oracle, run,
};

/// Row groups of ten rows, pages of five.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(10))
        .set_data_page_row_count_limit(5)
        .set_write_batch_size(5)
        .build()
}

async fn check(table: &Table, queries: &[String]) {
    for sql in queries {
        for partitions in [1, 3] {
            let settings = Settings { partitions, ..Settings::default() };
            assert_same(settings, std::slice::from_ref(table), sql).await;
        }
    }
}

fn filters(column: &str, values: &[&str]) -> Vec<String> {
    let mut queries = Vec::new();
    for value in values {
        for op in ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"] {
            queries.push(format!("SELECT * FROM t WHERE {column} {op} {value}"));
            queries.push(format!("SELECT count(*) FROM t WHERE NOT ({column} {op} {value})"));
        }
    }
    for test in ["IS NULL", "IS NOT NULL"] {
        queries.push(format!("SELECT * FROM t WHERE {column} {test}"));
    }
    queries.push(format!("SELECT count(*), count({column}), min({column}), max({column}) FROM t"));
    queries.push(format!("SELECT {column} FROM t ORDER BY {column} DESC NULLS LAST LIMIT 3"));
    queries
}

fn one(name: &str, column: ArrayRef, properties: WriterProperties) -> Table {
    write("statistics", name, &RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap(), properties)
}

#[tokio::test]
async fn unsigned_and_decimal_order() {
    let big = [0_u64, 1, 5, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1];
    let spread = |i: usize| big[i * i % big.len()].wrapping_add(i as u64 / 20);
    let wide: ArrayRef = Arc::new((0..100).map(|i| (i % 11 != 0).then(|| spread(i))).collect::<UInt64Array>());
    let values = ["0", "5", "9223372036854775807", "9223372036854775808", "18446744073709551615"];
    check(&one("u64.parquet", wide, properties()), &filters("c", &values)).await;
    let narrow: ArrayRef = Arc::new((0..100).map(|i| (i % 11 != 0).then(|| spread(i) as u32)).collect::<UInt32Array>());
    check(
        &one("u32.parquet", narrow, properties()),
        &filters("c", &["0", "5", "2147483648", "4294967295", "-1", "4294967296"]),
    )
    .await;
    for (name, precision) in [("d9.parquet", 9), ("d18.parquet", 18), ("d30.parquet", 30)] {
        let values = (0..100_i128).map(|i| (i % 11 != 0).then(|| (i * 37 % 101 - 50) * 3));
        let column = values.collect::<Decimal128Array>().with_precision_and_scale(precision, 2).unwrap();
        check(
            &one(name, Arc::new(column), properties()),
            &filters("c", &["0", "-0.03", "1.5", "-1.47", "100", "0.005"]),
        )
        .await;
    }
    let bytes = (0..100_u8).map(|i| vec![i.wrapping_mul(37), 0x80 ^ i]);
    let column = FixedSizeBinaryArray::try_from_iter(bytes).unwrap();
    check(
        &one("flba.parquet", Arc::new(column), properties()),
        &filters("c", &["arrow_cast(X'8080', 'FixedSizeBinary(2)')", "arrow_cast(X'00ff', 'FixedSizeBinary(2)')"]),
    )
    .await;
}

#[tokio::test]
async fn nan_and_zeros() {
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 1.5, -1.5, -f64::NAN, 1e-300];
    // Row groups of NaN alone, of NaN and numbers, and of numbers.
    let value = |i: usize| match i / 10 {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => -0.0,
        3 => 0.0,
        4 => 7.0,
        _ => special[i * i % special.len()],
    };
    let values = ["0.0", "-0.0", "1.5", "arrow_cast('NaN', 'Float64')", "arrow_cast('inf', 'Float64')", "-1e300"];
    let column: ArrayRef = Arc::new((0..100).map(|i| (i % 13 != 5).then(|| value(i))).collect::<Float64Array>());
    check(&one("f64.parquet", column, properties()), &filters("c", &values)).await;
    let column: ArrayRef = Arc::new((0..100).map(|i| (i % 13 != 5).then(|| value(i) as f32)).collect::<Float32Array>());
    check(&one("f32.parquet", column, properties()), &filters("c", &values)).await;
}

#[tokio::test]
async fn row_groups_of_nulls_and_without_statistics() {
    let column: ArrayRef = Arc::new((0..100).map(|i| (i / 10 % 3 != 0).then_some(i)).collect::<Int32Array>());
    for level in [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page] {
        let properties = properties().into_builder().set_statistics_enabled(level).build();
        let table = one(&format!("nulls-{level:?}.parquet"), Arc::clone(&column), properties);
        check(&table, &filters("c", &["15", "-1", "200"])).await;
        check(
            &table,
            &["SELECT count(*) FROM t".to_string(), "SELECT sum(c) FROM t WHERE c IS NULL OR c > 80".to_string()],
        )
        .await;
    }
    let column: ArrayRef = Arc::new(Int32Array::from(vec![None; 30]));
    check(&one("all-null.parquet", column, properties()), &filters("c", &["0"])).await;
}

#[tokio::test]
async fn bounds_that_are_cut_short() {
    let text = |i: usize| {
        format!("{}{}", "long common prefix ".repeat(5), ["", "\u{10ffff}", "a", "é"][i % 4]) + &format!("{:02}", i / 3)
    };
    let column: ArrayRef = Arc::new((0..60).map(|i| (i % 7 != 0).then(|| text(i))).collect::<StringArray>());
    let exact = text(31);
    let values = [
        format!("'{exact}'"),
        format!("'{}'", &exact[..64]),
        format!("'{}b'", &exact[..64]),
        "'long'".into(),
        "'m'".into(),
    ];
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    for (length, encoding) in
        [(1, Encoding::PLAIN), (64, Encoding::DELTA_BYTE_ARRAY), (95, Encoding::DELTA_LENGTH_BYTE_ARRAY)]
    {
        let properties = properties()
            .into_builder()
            .set_statistics_truncate_length(Some(length))
            .set_column_index_truncate_length(Some(length))
            .set_encoding(encoding)
            .build();
        let table = one(&format!("cut-{length}.parquet"), Arc::clone(&column), properties);
        check(&table, &filters("c", &values)).await;
    }
    let bytes: ArrayRef =
        Arc::new((0..60_u8).map(|i| Some([vec![0xff; 70], vec![i]].concat())).collect::<arrow::array::BinaryArray>());
    let values = [
        "X'ff'",
        "X'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff05'",
    ];
    let properties =
        properties().into_builder().set_statistics_truncate_length(Some(8)).set_column_index_truncate_length(Some(8));
    check(&one("cut-bytes.parquet", bytes, properties.build()), &filters("c", &values)).await;
}

/// A file of `batch` whose chunks have the statistics that `change` gives them, by row group and column.
fn with_statistics(
    name: &str,
    batch: &RecordBatch,
    row_group_rows: usize,
    change: impl Fn(usize, usize) -> Option<Statistics>,
) -> Table {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(row_group_rows))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();

    let bytes = Bytes::from(file.clone());
    let metadata =
        ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip).parse_and_finish(&bytes).unwrap();
    let footer = u32::from_le_bytes(*file[file.len() - 8..].first_chunk().unwrap()) as usize + 8;
    file.truncate(file.len() - footer);
    ParquetMetaDataWriter::new(&mut file, &changed(metadata, change)).finish().unwrap();

    let path = scratch("statistics", name);
    fs::write(&path, file).unwrap();
    Table::new("t", path.to_str().unwrap())
}

fn changed(metadata: ParquetMetaData, change: impl Fn(usize, usize) -> Option<Statistics>) -> ParquetMetaData {
    let mut builder = metadata.into_builder();
    let row_groups = builder.take_row_groups().into_iter().enumerate().map(|(row_group, metadata)| {
        let columns = metadata.columns().iter().cloned().enumerate().map(|(column, chunk)| {
            let chunk =
                chunk.into_builder().set_offset_index_offset(None).set_offset_index_length(None).clear_statistics();
            match change(row_group, column) {
                Some(statistics) => chunk.set_statistics(statistics).build().unwrap(),
                None => chunk.build().unwrap(),
            }
        });
        let columns = columns.collect();
        metadata.into_builder().set_column_metadata(columns).build().unwrap()
    });
    let row_groups = row_groups.collect();
    builder.set_row_groups(row_groups).build()
}

fn batch(columns: [(&str, ArrayRef); 1]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

/// Both readers answer `sql` with `value`; the oracle looks at no statistics.
async fn both_say(table: &Table, sql: &str, value: &str) {
    for partitions in [1, 2] {
        let settings = Settings { partitions, ..Settings::default() };
        let tables = std::slice::from_ref(table);
        assert_eq!(expected(settings, tables, sql).await.scalar(), value, "oracle: {sql}");
        assert_eq!(answer(settings, tables, sql).await.scalar(), value, "{sql}");
    }
}

#[tokio::test]
async fn a_missing_null_count_is_not_zero() {
    let column = Arc::new(Int32Array::from(vec![Some(5), Some(5), None])) as ArrayRef;
    let table = with_statistics("null_count.parquet", &batch([("x", column)]), 3, |_, _| {
        Some(Statistics::int32(Some(5), Some(5), None, None, false))
    });
    for (filter, count) in [
        ("x IS DISTINCT FROM 5", "1"),
        ("NOT (x IS NOT DISTINCT FROM 5)", "1"),
        ("x IS NULL", "1"),
        ("x IS NOT NULL", "2"),
        ("x = 5", "2"),
        ("x IS NOT DISTINCT FROM NULL", "1"),
    ] {
        both_say(&table, &format!("SELECT count(*) FROM t WHERE {filter}"), count).await;
    }
    both_say(&table, "SELECT count(x) FROM t", "2").await;
}

#[tokio::test]
async fn bounds_of_some_row_groups_are_not_those_of_the_file() {
    let column = Arc::new(Int32Array::from_iter_values([1, 10, 50, -3])) as ArrayRef;
    let table = with_statistics("some_bounds.parquet", &batch([("x", column)]), 2, |row_group, _| {
        (row_group == 0).then(|| Statistics::int32(Some(1), Some(10), None, Some(0), false))
    });
    for (filter, count) in [("x = 50", "1"), ("x < 0", "1"), ("x > 10", "1"), ("x BETWEEN 2 AND 60", "2")] {
        both_say(&table, &format!("SELECT count(*) FROM t WHERE {filter}"), count).await;
    }
    both_say(&table, "SELECT max(x) FROM t", "50").await;
    both_say(&table, "SELECT min(x) FROM t", "-3").await;
}

#[tokio::test]
async fn deprecated_bounds_are_in_another_order() {
    // By signed bytes "é" comes before "a", and by signed integers 3000000000 before 1.
    let strings = Arc::new(StringArray::from(vec!["é", "z", "a", "m"])) as ArrayRef;
    let table = with_statistics("deprecated_strings.parquet", &batch([("x", strings)]), 4, |_, _| {
        let bound = |text: &str| Some(ByteArray::from(text.as_bytes().to_vec()));
        Some(Statistics::byte_array(bound("é"), bound("z"), None, Some(0), true))
    });
    for (filter, count) in [("x = 'a'", "1"), ("x < 'b'", "1"), ("x > 'z'", "1"), ("x LIKE 'a%'", "1")] {
        both_say(&table, &format!("SELECT count(*) FROM t WHERE {filter}"), count).await;
    }
    both_say(&table, "SELECT min(x) FROM t", "a").await;
    both_say(&table, "SELECT max(x) FROM t", "é").await;

    let unsigned = Arc::new(UInt32Array::from_iter_values([1, 3_000_000_000, 7])) as ArrayRef;
    let table = with_statistics("deprecated_unsigned.parquet", &batch([("x", unsigned)]), 3, |_, _| {
        Some(Statistics::int32(Some(3_000_000_000_u32.cast_signed()), Some(7), None, Some(0), true))
    });
    for (filter, count) in [("x > 100", "1"), ("x = 3000000000", "1"), ("x < 5", "1")] {
        both_say(&table, &format!("SELECT count(*) FROM t WHERE {filter}"), count).await;
    }
    both_say(&table, "SELECT max(x) FROM t", "3000000000").await;
}

/// Each way to prune on its own gives the rows that no pruning gives, and does prune.
#[tokio::test]
async fn each_way_to_prune_keeps_the_rows() {
    let ids = 0..1000_i64;
    let c: ArrayRef = Arc::new(ids.clone().map(|id| (id % 9 != 0).then_some(id)).collect::<Int64Array>());
    let s: ArrayRef = Arc::new(ids.map(|id| Some(format!("{:04}", id * 7 % 1000))).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter_with_nullable([("c", c, true), ("s", s, true)]).unwrap();
    let properties = properties()
        .into_builder()
        .set_max_row_group_row_count(Some(100))
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_max_ndv(100)
        .build();
    let table = write("statistics", "ways.parquet", &batch, properties);
    let oracle = oracle_session(Settings::default());
    register_oracle(&oracle, &table).await.unwrap();
    let mut total = [0; 3];
    for filter in [
        "c = 555",
        "c IN (5, 50, 500)",
        "c > 980 OR c < 3",
        "s = '0700'",
        "s = 'nowhere'",
        "c BETWEEN 495 AND 505 AND s > '5'",
    ] {
        let sql = format!("SELECT * FROM t WHERE {filter}");
        let expected: Answer = run(&oracle, &sql).await.unwrap();
        for way in 0..3 {
            let mut config = config(Settings { partitions: 1, ..Settings::default() });
            let options = config.options_mut();
            options.execution.collect_statistics = false;
            options.execution.parquet.pruning = way == 0;
            options.execution.parquet.enable_page_index = way == 1;
            options.execution.parquet.bloom_filter_on_read = way == 2;
            let ctx = datafusion::prelude::SessionContext::new_with_config(config);
            register_miniblock(&ctx, &table).await.unwrap();
            let found = run(&ctx, &sql).await.unwrap();
            compare(&expected, &found, How::AnyOrder).unwrap_or_else(|difference| panic!("{sql}, {way}\n{difference}"));
            let name =
                ["row_groups_pruned_statistics", "page_index_rows_pruned", "row_groups_pruned_bloom_filter"][way];
            total[way] += pruned(scan(&found.plan, "ways.parquet"), name);
        }
    }
    assert!(total.iter().all(|&pruned| pruned > 0), "{total:?}");
}
