//! Tables whose files differ from them: in types, in columns, in order, in names.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float32Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampNanosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use parquet::file::properties::WriterProperties;

use crate::files::{folder, write_to};
use crate::oracle::{
    How, Settings, Table, compare, miniblock_session, oracle_session, register_miniblock, register_oracle, run,
};

/// DELTA where there is one, several row groups and pages, so that pruning has something to do.
fn properties(dictionary: bool) -> WriterProperties {
    let properties = crate::files::plain().into_builder();
    properties
        .set_dictionary_enabled(dictionary)
        .set_max_row_group_row_count(Some(8))
        .set_data_page_row_count_limit(4)
        .build()
}

/// Asks both readers; true if the other answers. What it refuses may be refused here, or not: without a panic.
async fn same(settings: Settings, table: &Table, sql: &str) -> bool {
    let (oracle, ours) = (oracle_session(settings), miniblock_session(settings));
    let expected = match register_oracle(&oracle, table).await {
        Ok(()) => run(&oracle, sql).await,
        Err(error) => Err(error),
    };
    let found = match register_miniblock(&ours, table).await {
        Ok(()) => run(&ours, sql).await,
        Err(error) => Err(error),
    };
    let place = format!("{}: {sql}\n{settings:?}\n{:?}", table.path, table.schema);
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            compare(&expected, &found, How::AnyOrder).unwrap_or_else(|difference| panic!("{place}\n{difference}"));
            true
        }
        (Ok(_), Err(error)) => panic!("{place}\n{error}"),
        (Err(_), Ok(_)) => false,
        (Err(_), Err(error)) => {
            assert!(!error.to_string().contains("PANIC"), "{place}\n{error}");
            false
        }
    }
}

/// A folder with a file for each of `files`, of columns `id` and `v`, and one that has no `v`.
fn table(name: &str, data_type: &DataType, files: &[ArrayRef]) -> Table {
    let path = folder("schemas", name);
    let ids = |rows: usize| Arc::new(Int64Array::from_iter_values(0..i64::try_from(rows).unwrap())) as ArrayRef;
    for (index, values) in files.iter().enumerate() {
        let ids = ids(values.len());
        // In turn the other way round.
        let columns = [("id", ids, true), ("v", Arc::clone(values), true)];
        let columns: Vec<_> = if index % 2 == 0 { columns.into() } else { columns.into_iter().rev().collect() };
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        write_to(format!("{path}{index}.parquet"), &batch, properties(index % 3 == 2));
    }
    let batch = RecordBatch::try_from_iter([("id", ids(3))]).unwrap();
    write_to(format!("{path}none.parquet"), &batch, properties(false));
    let mut table = Table::new("t", path);
    table.schema = Some(Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("v", data_type.clone(), true),
    ])));
    table
}

/// Reads `files` as `data_type` under `filters`; as many of the queries as `answered` says must have an answer.
async fn check(name: &str, data_type: &DataType, files: &[ArrayRef], filters: &[&str], answered: usize) {
    let table = table(name, data_type, files);
    let mut count = 0;
    let general = ["true", "v IS NULL", "v IS NOT NULL AND id > 2"];
    for (turn, filter) in general.iter().chain(filters).enumerate() {
        let settings =
            Settings { partitions: [1, 3][turn % 2], batch_size: [8192, 5][turn / 2 % 2], view_types: turn % 3 != 0 };
        for columns in ["*", "id", "v, id"] {
            let sql = format!("SELECT {columns} FROM t WHERE {filter}");
            count += usize::from(same(settings, &table, &sql).await);
        }
    }
    assert!(count >= answered, "{name}: {count} queries were answered");
}

fn all(filters: &[&str]) -> usize {
    3 * (filters.len() + 3)
}

fn cast_to(array: &ArrayRef, types: &[DataType]) -> Vec<ArrayRef> {
    types.iter().map(|to| cast(array, to).unwrap()).collect()
}

/// Small integers, some of them NULL, in no order.
fn small() -> ArrayRef {
    Arc::new((0..40).map(|i| (i % 9 != 4).then_some(i * 37 % 101)).collect::<Int64Array>())
}

const INTEGERS: [&str; 12] = [
    "v = 5",
    "v > 60",
    "v <= 17",
    "v <> 37",
    "v IN (1, 74, 300, 5000000000)",
    "v BETWEEN -200 AND 40",
    "v = 300",
    "v < 70000",
    "v > 5000000000 OR v = 10",
    "NOT (v > 30)",
    "v % 3 = 1",
    "v < id",
];

#[tokio::test]
async fn integers_of_other_widths() {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let every = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
    for table in &every {
        let files = cast_to(&small(), &every);
        check(&format!("ints-{table}"), table, &files, &INTEGERS, all(&INTEGERS)).await;
    }
}

#[tokio::test]
async fn integers_that_do_not_fit() {
    use DataType::{Int8, Int16, Int32, Int64, UInt32, UInt64};
    let large: ArrayRef = Arc::new(
        [i64::MIN, -70_000, -1, 0, 1, 200, 40_000, 3_000_000_000, i64::MAX]
            .into_iter()
            .map(Some)
            .collect::<Int64Array>(),
    );
    let negative: ArrayRef = Arc::new((-20..20).map(Some).collect::<Int32Array>());
    for (name, table, file) in [
        ("narrow-8", Int8, &large),
        ("narrow-16", Int16, &large),
        ("narrow-32", Int32, &large),
        ("unsigned-32", UInt32, &negative),
        ("unsigned-64", UInt64, &negative),
        ("unsigned-64-large", UInt64, &large),
    ] {
        // DataFusion casts the column, which fails; where a filter decides before the cast, rows may come.
        check(name, &table, std::slice::from_ref(file), &INTEGERS, 0).await;
    }
    check("wide-64", &Int64, &[large, negative], &INTEGERS, all(&INTEGERS)).await;
}

#[tokio::test]
async fn floats_decimals_booleans() {
    use DataType::{Boolean, Decimal128, Float32, Float64, Int32, Int64, UInt8};
    let filters = ["v > 1.5", "v = 2", "v < -0.5 OR v = 0", "v <> 1.25", "v BETWEEN 1 AND 20"];
    let floats: ArrayRef = Arc::new(
        [1.25, -0.0, 0.0, f32::NAN, f32::INFINITY, -1.5, 2.0, 1e30].into_iter().map(Some).collect::<Float32Array>(),
    );
    check("floats", &Float64, &[floats, small(), cast(&small(), &Int32).unwrap()], &filters, all(&filters)).await;
    check("floats-32", &Float32, &cast_to(&small(), &[Int64, Int32, UInt8, Float64]), &filters, all(&filters)).await;
    let decimals: ArrayRef = Arc::new(
        (0..40).map(|i| Some(i * 125 - 1000)).collect::<Decimal128Array>().with_precision_and_scale(9, 2).unwrap(),
    );
    for to in [Decimal128(9, 2), Decimal128(18, 2), Decimal128(20, 4), Decimal128(10, 1)] {
        let files = cast_to(&decimals, &[Decimal128(9, 2), Decimal128(18, 2), Decimal128(30, 2), Decimal128(12, 3)]);
        check(&format!("decimals-{to}"), &to, &files, &filters, all(&filters)).await;
    }
    check("decimals-int", &Decimal128(10, 2), &cast_to(&small(), &[Int32, Int64, UInt8]), &filters, all(&filters))
        .await;
    let booleans: ArrayRef = Arc::new((0..20).map(|i| (i % 5 != 0).then_some(i % 2 == 0)).collect::<BooleanArray>());
    check("booleans", &Boolean, &[Arc::clone(&booleans), small()], &["v", "NOT v", "v IS TRUE"], 18).await;
    check("boolean-ints", &Int32, &[booleans], &["v = 1", "v < 1", "v > 1"], 18).await;
}

#[tokio::test]
async fn timestamps_of_other_units() {
    let stamp = |unit| DataType::Timestamp(unit, None);
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    // Around zero and around a value, with what coarser units cut off.
    let around = |center: i64| {
        [-2_000_000_001, -1_000_000, -999, -1, 0, 1, 999, 1_000_001, 1_500_000_000].map(|d| Some(center + d))
    };
    let mut values: Vec<Option<i64>> = around(0).into_iter().chain(around(1_700_000_000_000_000_000)).collect();
    values.push(None);
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(values));
    let filters = [
        "v = TIMESTAMP '1970-01-01 00:00:00'",
        "v > TIMESTAMP '1970-01-01 00:00:00'",
        "v < TIMESTAMP '1970-01-01 00:00:00'",
        "v >= TIMESTAMP '1970-01-01 00:00:00.000001'",
        "v <= TIMESTAMP '1969-12-31 23:59:59.999999999'",
        "v = TIMESTAMP '2023-11-14 22:13:20.001'",
        "v BETWEEN TIMESTAMP '2023-11-14 22:13:20' AND TIMESTAMP '2023-11-14 22:13:21.5'",
        "v IN (TIMESTAMP '2023-11-14 22:13:20', TIMESTAMP '1970-01-01 00:00:00.000000001')",
        "v <> TIMESTAMP '2023-11-14 22:13:20'",
        "v = DATE '1970-01-01'",
    ];
    for unit in units {
        let files = cast_to(&nanos, &units.map(stamp));
        check(&format!("stamps-{unit:?}"), &stamp(unit), &files, &filters, all(&filters)).await;
        let dates = cast_to(&nanos, &[DataType::Date32, DataType::Date64]);
        check(&format!("dates-{unit:?}"), &stamp(unit), &dates, &filters, all(&filters)).await;
        // The other way a day swallows the time.
        let to_date = format!("stamps-{unit:?}-as-dates");
        check(&to_date, &DataType::Date32, &files, &["v = DATE '1970-01-01'", "v > DATE '2023-11-13'"], 15).await;
        let zoned = DataType::Timestamp(unit, Some("UTC".into()));
        let files = cast_to(&nanos, &units.map(|unit| DataType::Timestamp(unit, Some("UTC".into()))));
        check(&format!("zoned-{unit:?}"), &zoned, &files, &filters[..4], 21).await;
    }
}

#[tokio::test]
async fn strings_of_other_kinds() {
    use DataType::{Binary, BinaryView, Int32, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let text: ArrayRef = Arc::new(
        ["b", "", "a string of more than twelve bytes", "a string of more than twelve", "zz", "é", "10", "9"]
            .into_iter()
            .map(Some)
            .chain([None])
            .collect::<StringArray>(),
    );
    let dictionary = || DataType::Dictionary(Box::new(Int32), Box::new(Utf8));
    let filters = [
        "v = 'b'",
        "v > 'a string of more than twelve'",
        "v LIKE 'a%'",
        "v LIKE '%twelve'",
        "v IN ('', 'zz', 'nowhere')",
        "v <> 'é'",
        "v < 'a' OR v >= 'z'",
        "length(v) > 2",
    ];
    let kinds = [Utf8, LargeUtf8, Utf8View, dictionary(), Binary, LargeBinary, BinaryView];
    for to in [Utf8, LargeUtf8, Utf8View, dictionary()] {
        check(&format!("strings-{to}"), &to, &cast_to(&text, &kinds), &filters, all(&filters)).await;
    }
    let filters = ["v = X'62'", "v > X'61'", "v IN (X'', X'7a7a')", "v <> X'39'"];
    for to in [Binary, LargeBinary, BinaryView] {
        check(&format!("bytes-{to}"), &to, &cast_to(&text, &kinds), &filters, all(&filters)).await;
    }
    // Not UTF-8: an error where it is read as text.
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values([&[0xff, 0xfe][..], b"ok", &[0xc3]]));
    check("not-utf8", &Utf8, &[bytes], &["v = 'ok'", "id = 1"], 0).await;
}

/// A cast that changes the order of values must not be asked of statistics, nor of a set of integers.
#[tokio::test]
async fn casts_that_change_the_order() {
    use DataType::{Int32, Int64, UInt16, Utf8, Utf8View};
    let filters =
        ["v = '5'", "v > '10'", "v <= '37'", "v IN ('1', '74', '007')", "v LIKE '1%'", "v BETWEEN '2' AND '3'"];
    for to in [Utf8, Utf8View] {
        check(&format!("ints-as-{to}"), &to, &cast_to(&small(), &[Int32, Int64, UInt16]), &filters, all(&filters))
            .await;
    }
    let texts = cast_to(&small(), &[Utf8, Utf8View]);
    check("strings-as-ints", &Int32, &texts, &INTEGERS, all(&INTEGERS)).await;
}

#[tokio::test]
async fn missing_columns_are_null() {
    let filters = [
        "v = 1",
        "v IS NULL AND id = 1",
        "v IS NULL OR id = 2",
        "coalesce(v, 7) = 7",
        "v IS DISTINCT FROM 3",
        "NOT (v = 5)",
        "v + id > 50",
        "(v > 3) IS NULL",
    ];
    check("missing", &DataType::Int32, &cast_to(&small(), &[DataType::Int32]), &filters, all(&filters)).await;
    // In every file.
    let nowhere = table("nowhere", &DataType::Utf8, &[]);
    for filter in ["v IS NULL", "v = 'a'", "v = 'a' OR id = 1", "true"] {
        assert!(same(Settings::default(), &nowhere, &format!("SELECT * FROM t WHERE {filter}")).await);
        assert!(same(Settings::default(), &nowhere, &format!("SELECT count(*), count(v) FROM t WHERE {filter}")).await);
    }
}

#[tokio::test]
async fn names_of_every_kind() {
    let names =
        ["a.b", "a", "with space", "UPPER", "upper", "q\"uote", "it's", "é", "select", "a.b.c", " ", "t.a", "", "s.x"];
    let columns = names.iter().enumerate().map(|(at, name)| {
        let at = i64::try_from(at).unwrap();
        (*name, Arc::new(Int64Array::from_iter_values((0..20).map(|i| i * 7 % 20 + at))) as ArrayRef, true)
    });
    let path = folder("schemas", "names");
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    write_to(format!("{path}a.parquet"), &batch, properties(false));
    // Another file has them the other way round, and some of them in other letters.
    let other: Vec<_> = batch
        .columns()
        .iter()
        .zip(names)
        .rev()
        .map(|(column, name)| (if name == "select" { "SELECT" } else { name }, Arc::clone(column), true))
        .collect();
    write_to(format!("{path}b.parquet"), &RecordBatch::try_from_iter_with_nullable(other).unwrap(), properties(true));
    let mut table = Table::new("t", path);
    table.schema = Some(batch.schema());
    assert!(same(Settings::default(), &table, "SELECT * FROM t").await);
    let mut answered = 0;
    for name in names {
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        for sql in [
            format!("SELECT {quoted} FROM t"),
            format!("SELECT {quoted}, \"a.b\" FROM t WHERE {quoted} > 12"),
            format!("SELECT \"a\" FROM t WHERE {quoted} IS NULL OR {quoted} % 5 = 1"),
            format!("SELECT count(*) FROM t WHERE {quoted} = 30"),
        ] {
            answered += usize::from(same(Settings::default(), &table, &sql).await);
        }
    }
    // The empty name cannot be said in SQL.
    assert!(answered >= 4 * (names.len() - 1), "{answered} queries were answered");
}

#[tokio::test]
async fn duplicate_names() {
    let path = folder("schemas", "duplicates");
    let fields = ["a", "b", "a"].map(|name| Field::new(name, DataType::Int64, true));
    let column = |add: i64| Arc::new(Int64Array::from_iter_values((0..20).map(|i| i + add))) as ArrayRef;
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), vec![column(0), column(10), column(20)]).unwrap();
    write_to(format!("{path}a.parquet"), &batch, properties(false));
    let mut table = Table::new("t", path);
    // As they are, and as a table that has each once.
    for sql in ["SELECT * FROM t", "SELECT b FROM t WHERE b > 12", "SELECT count(*) FROM t"] {
        same(Settings::default(), &table, sql).await;
    }
    table.schema = Some(Arc::new(Schema::new(vec![fields[1].clone(), fields[0].clone()])));
    for sql in ["SELECT * FROM t", "SELECT b FROM t WHERE b > 12", "SELECT a FROM t WHERE a = 3 OR b = 29"] {
        same(Settings::default(), &table, sql).await;
    }
}

/// Deltas of INT32 that wrap at 32 bits are summed in 32 bits, and widened then.
#[tokio::test]
async fn wrapped_deltas_are_widened_after() {
    let wide = ["i32", "i32r", "i8"].map(|name| Field::new(name, DataType::Int64, true));
    let wide = Arc::new(Schema::new(wide.to_vec()));
    let filters =
        ["i32 = -2147483648", "i32 > 2147483646 OR i8 = 127", "i32r < 0", "i32 + i32r > 3000000000", "i32 <> i32r"];
    for file in ["pa_wrap_none_v1.parquet", "jv_wrap.parquet", "rs_wrap.parquet", "hy_wrap.parquet", "sp_wrap.parquet"]
    {
        let mut table = Table::data("t", file);
        table.schema = Some(Arc::clone(&wide));
        for filter in ["true"].iter().chain(&filters) {
            let sql = format!("SELECT * FROM t WHERE {filter}");
            assert!(same(Settings::default(), &table, &sql).await, "{file}: {sql}");
        }
    }
}
