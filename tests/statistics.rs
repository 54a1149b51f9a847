//! Statistics that are missing, cut short, in another order than the bytes, or silent about NaN: they never lose a row.

use std::fs;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt32Array, UInt64Array,
};
use parquet::basic::Encoding;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;

use crate::files::{pruned, scan, scratch, write, write_to};
use crate::oracle::{
    Answer, How, Settings, Table, assert_same, compare, config, oracle_session, register_miniblock, register_oracle,
    run,
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

/// A footer that does not say how many values are NULL does not say that none is.
#[tokio::test]
async fn missing_null_counts_are_not_zero() {
    let column: ArrayRef = Arc::new((0..100).map(|i| (i % 4 != 0).then_some(i)).collect::<Int64Array>());
    let batch = RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap();
    let path = scratch("statistics", "null-counts.parquet");
    let properties = properties().into_builder().set_statistics_enabled(EnabledStatistics::Chunk).build();
    write_to(&path, &batch, properties);
    let bytes = fs::read(&path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes.clone())).unwrap();
    let row_groups = metadata.row_groups().iter().map(|group| {
        let column = group.column(0);
        let Some(Statistics::Int64(all)) = column.statistics() else { panic!("statistics of integers") };
        let silent = Statistics::int64(all.min_opt().copied(), all.max_opt().copied(), None, None, false);
        let column = column.clone().into_builder().set_statistics(silent).build().unwrap();
        group.clone().into_builder().set_column_metadata(vec![column]).build().unwrap()
    });
    let row_groups = row_groups.collect();
    let metadata = metadata.into_builder().set_row_groups(row_groups).build();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    let mut changed = bytes[..bytes.len() - 8 - usize::try_from(length).unwrap()].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata).finish().unwrap();
    fs::write(&path, changed).unwrap();
    let table = Table::new("t", path.to_str().unwrap());
    // DataFusion answers count(c) from the footer, and takes the silence for none: the rows say otherwise.
    let ctx = crate::oracle::miniblock_session(Settings::default());
    register_miniblock(&ctx, &table).await.unwrap();
    assert_eq!(run(&ctx, "SELECT count(c) FROM t").await.unwrap().scalar(), "75");
    let queries = [
        "SELECT * FROM t WHERE c IS NULL",
        "SELECT * FROM t WHERE c IS NOT NULL",
        "SELECT * FROM t WHERE c IS NULL OR c = 7",
    ];
    check(&table, &queries.map(String::from)).await;
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
