//! Every file of `tests/data`, by writers of all kinds: whole, column by column, and filtered by its own values.

use std::fs;
use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::oracle::{
    Answer, How, Settings, Table, answer, assert_same, compare, data_path, miniblock_session, oracle_session,
    register_miniblock, register_oracle, run, same_table,
};

/// What the oracle refuses, and a count that the writer knows.
const BEYOND_THE_ORACLE: [(&str, &str, &str); 6] = [
    ("dk_q33_jump.parquet", "jump < 0", "140"),
    ("dk_q33_jump.parquet", "jump > 2147483600", "16"),
    ("dk_q33_jump.parquet", "id BETWEEN 20 AND 90", "71"),
    ("dk_q33_all.parquet", "i32r > 0", "160"),
    ("dk_q33_all.parquet", "jump < 0 AND i32w > 5", "88"),
    ("dk_q33_all.parquet", "u32r > 3000000000", "98"),
];

fn files() -> Vec<String> {
    let entries = fs::read_dir(data_path("")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".parquet"));
    names.sort();
    assert!(names.len() > 40, "{} files", names.len());
    names
}

/// Filters by values of the file: a few for each column.
fn filters(whole: &Answer) -> Vec<String> {
    let mut filters = Vec::new();
    let options = FormatOptions::default();
    for (index, field) in whole.schema.fields().iter().enumerate() {
        let name = format!("\"{}\"", field.name().replace('"', "\"\""));
        filters.push(format!("{name} IS NULL"));
        let Some(batch) = whole.batches.iter().find(|batch| batch.num_rows() > 0) else { continue };
        let column = batch.column(index);
        let Some(row) = (0..column.len()).rev().map(|row| row / 2).find(|&row| column.is_valid(row)) else { continue };
        let data_type = field.data_type();
        if data_type.is_nested() || matches!(data_type, DataType::Float16 | DataType::Interval(_) | DataType::Null) {
            continue;
        }
        let formatter = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
        let text = formatter.value(row).to_string().replace('\'', "''");
        let value = match data_type {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => format!("X'{text}'"),
            DataType::FixedSizeBinary(_) => format!("arrow_cast(X'{text}', '{data_type}')"),
            other => format!("arrow_cast('{text}', '{}')", other.to_string().replace('\'', "''")),
        };
        filters.push(format!("{name} = {value}"));
        filters.push(format!("{name} < {value}"));
        filters.push(format!("{name} >= {value} OR {name} IS NULL"));
    }
    filters
}

/// Compares all of a table, named `t`, with what the oracle reads; the number of queries that it had an answer to.
pub(crate) async fn check_table(table: &Table, settings: Settings) -> usize {
    let file = table.path.rsplit('/').next().unwrap();
    let oracle = oracle_session(settings);
    let ours = miniblock_session(settings);
    register_oracle(&oracle, table).await.unwrap();
    register_miniblock(&ours, table).await.unwrap_or_else(|error| panic!("{file}: {error}"));
    same_table(&oracle, &ours, "t").await.unwrap_or_else(|difference| panic!("{file}: {difference}"));
    let Ok(whole) = run(&oracle, "SELECT * FROM t").await else {
        assert!(BEYOND_THE_ORACLE.iter().any(|(beyond, ..)| *beyond == file), "{file} is beyond the oracle");
        return 0;
    };
    let mut queries = vec!["SELECT * FROM t".to_string(), "SELECT count(*) FROM t".to_string()];
    for field in whole.schema.fields() {
        queries.push(format!("SELECT \"{}\" FROM t", field.name().replace('"', "\"\"")));
    }
    for filter in filters(&whole) {
        queries.push(format!("SELECT * FROM t WHERE {filter}"));
    }
    let mut compared = 0;
    for sql in queries {
        let Ok(expected) = run(&oracle, &sql).await else { continue };
        let found = run(&ours, &sql).await.unwrap_or_else(|error| panic!("{file}: {sql}\n{error}"));
        compare(&expected, &found, How::AnyOrder)
            .unwrap_or_else(|difference| panic!("{file}: {sql}\n{settings:?}\n{difference}"));
        compared += 1;
    }
    compared
}

async fn check_files(part: usize) {
    let mut compared = 0;
    for (turn, file) in files().iter().enumerate() {
        if turn % 2 == part {
            let settings = Settings {
                partitions: [1, 3][turn / 2 % 2],
                batch_size: [8192, 100][turn / 4 % 2],
                view_types: turn % 5 != 0,
            };
            compared += check_table(&Table::data("t", file), settings).await;
        }
    }
    assert!(compared > 200, "{compared} queries compared");
}

#[tokio::test]
async fn files_of_all_writers_first_half() {
    check_files(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_all_writers_second_half() {
    check_files(1).await;
}

#[tokio::test]
async fn widths_over_32_in_int32_columns() {
    for (file, filter, count) in BEYOND_THE_ORACLE {
        let sql = format!("SELECT count(*) FROM t WHERE {filter}");
        let found = answer(Settings::default(), &[Table::data("t", file)], &sql).await;
        assert_eq!(found.scalar(), count, "{file}: {filter}");
    }
}

#[tokio::test]
async fn a_folder_whose_files_differ() {
    let mut table = Table::data("t", "dir_evolve/");
    table.schema = Some(Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("i", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("x", DataType::Int32, true),
    ])));
    for partitions in [1, 3] {
        let settings = Settings { partitions, ..Settings::default() };
        for (filter, rows) in [
            ("x IS NULL", 412),
            ("i > 50 AND s LIKE 'a%'", 13),
            ("x > 60 OR id < 40", 337),
            ("s IS NULL AND x = 7", 0),
            ("i IN (1, 2, 3, 100000)", 0),
            ("i < x", 0),
            ("NOT (x > 60)", 0),
        ] {
            let found =
                assert_same(settings, std::slice::from_ref(&table), &format!("SELECT * FROM t WHERE {filter}")).await;
            assert!(rows == 0 || found.num_rows() == rows, "{filter} gives {} rows", found.num_rows());
        }
        assert_same(settings, std::slice::from_ref(&table), "SELECT s, id, i, x FROM t").await;
    }
}

#[tokio::test]
async fn checksums_are_compared_where_asked() {
    use datafusion::prelude::SessionContext;
    use miniblock::{MiniblockOptions, SessionContextExt};
    let path = data_path("datapage_v1-snappy-compressed-checksum.parquet");
    let ctx = SessionContext::new();
    ctx.register_miniblock("t", &path, MiniblockOptions::new().with_verify_checksums(true)).await.unwrap();
    assert!(run(&ctx, "SELECT * FROM t").await.unwrap().num_rows() > 0);
    // One bit of the first page's body.
    let mut broken = fs::read(&path).unwrap();
    broken[200] ^= 1;
    let path = format!("{}/broken-checksum.parquet", env!("CARGO_TARGET_TMPDIR"));
    fs::write(&path, broken).unwrap();
    ctx.register_miniblock("u", &path, MiniblockOptions::new().with_verify_checksums(true)).await.unwrap();
    let error = run(&ctx, "SELECT * FROM u").await.unwrap_err().to_string();
    assert!(error.contains("CRC") && error.contains("broken-checksum") && error.contains("page 0"), "{error}");
}
