//! Every file of `tests/data`, by writers of all kinds: beside what its writer was given, by `MANIFEST.json` and the Arrow
//! files, and beside DataFusion's reader, whole, column by column, and filtered by its own values.

use std::fs::{self, File};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options, concat_batches};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::ipc::reader::FileReader;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;

use crate::oracle::{
    Answer, How, Settings, Table, assert_same, compare, data_path, miniblock_session, oracle_session,
    register_miniblock, register_oracle, run, same_table,
};

/// Files that DataFusion's reader refuses and ours reads: see the manifest's `flag`.
const BEYOND_THE_ORACLE: [&str; 4] =
    ["dk_q33_all.parquet", "dk_q33_jump.parquet", "nc_shape_64_2.parquet", "nc_shape_64_8.parquet"];

/// A file or folder of the manifest.
struct Fixture {
    table: Table,
    /// What the writer was given.
    contents: RecordBatch,
    order_by: Option<String>,
    rows: usize,
    flag: Option<String>,
    /// Filters, and the rows that they leave by the writer's side.
    predicates: Vec<(String, i64)>,
}

fn contents(file: &str) -> RecordBatch {
    let reader = FileReader::try_new(File::open(data_path(file)).unwrap(), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// The manifest has one fixture a line.
fn manifest() -> Vec<Fixture> {
    let text = fs::read_to_string(data_path("MANIFEST.json")).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(',')).filter(|line| line.len() > 1).collect();
    let utf8 = |name: &str| Field::new(name, DataType::Utf8, true);
    let predicate = vec![utf8("sql"), Field::new("expected", DataType::Int64, false)];
    let predicate = Field::new("item", DataType::Struct(predicate.into()), true);
    let schema = Schema::new(vec![
        utf8("name"),
        utf8("path"),
        utf8("expected"),
        Field::new("directory", DataType::Boolean, false),
        utf8("kind"),
        utf8("order_by"),
        Field::new("rows", DataType::Int64, false),
        utf8("flag"),
        Field::new("predicates", DataType::List(Arc::new(predicate)), false),
    ]);
    let mut decoder = arrow::json::ReaderBuilder::new(Arc::new(schema)).with_batch_size(1000).build_decoder().unwrap();
    assert_eq!(decoder.decode(lines.join("\n").as_bytes()).unwrap(), lines.join("\n").len());
    let batch = decoder.flush().unwrap().unwrap();
    assert_eq!(batch.num_rows(), lines.len());
    let column = |name: &str| Arc::clone(batch.column_by_name(name).unwrap());
    let text = |name: &str, row: usize| {
        let column = column(name);
        let strings = column.as_string::<i32>();
        strings.is_valid(row).then(|| strings.value(row).to_string())
    };
    let fixture = |row: usize| {
        let contents = contents(&text("expected", row).unwrap());
        let directory = column("directory").as_boolean().value(row);
        let path = text("path", row).unwrap() + if directory { "/" } else { "" };
        let mut table = Table::data("t", &path);
        match text("kind", row).as_deref() {
            Some("evolve") => table.schema = Some(contents.schema()),
            Some("hive") => {
                table.partition_cols = vec![("year".into(), DataType::Int32), ("month".into(), DataType::Int32)];
            }
            _ => {}
        }
        let predicates = column("predicates").as_list::<i32>().value(row);
        let predicates = predicates.as_struct();
        let (sql, expected) = (predicates.column(0).as_string::<i32>(), predicates.column(1));
        let expected = expected.as_primitive::<Int64Type>().values();
        Fixture {
            table,
            contents,
            order_by: text("order_by", row),
            rows: usize::try_from(column("rows").as_primitive::<Int64Type>().value(row)).unwrap(),
            flag: text("flag", row),
            predicates: sql.iter().map(|sql| sql.unwrap().to_string()).zip(expected.iter().copied()).collect(),
        }
    };
    (0..lines.len()).map(fixture).collect()
}

/// `array` as `to`, with every value kept.
fn lossless(array: &ArrayRef, to: &DataType) -> ArrayRef {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |array: &ArrayRef, to: &DataType| {
        cast_with_options(array, to, &options).unwrap_or_else(|error| panic!("{} as {to}: {error}", array.data_type()))
    };
    let there = cast(array, to);
    let back = cast(&there, array.data_type());
    assert!(*back == **array, "{} as {to} loses something", array.data_type());
    there
}

/// The contents as a table with the columns `schema`.
async fn register_contents(ctx: &SessionContext, contents: &RecordBatch, schema: &Schema) {
    assert_eq!(contents.num_columns(), schema.fields().len());
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let columns = fields.iter().map(|field| {
        let column = contents.column_by_name(field.name()).unwrap_or_else(|| panic!("no column {}", field.name()));
        lossless(column, field.data_type())
    });
    let schema: SchemaRef = Arc::new(Schema::new(fields.clone()));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap();
    let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
    ctx.register_table("t", Arc::new(table)).unwrap();
}

async fn check_fixture(fixture: &Fixture, settings: Settings) -> usize {
    let Fixture { table, contents, order_by, rows, predicates, .. } = fixture;
    let mut table = table.clone();
    if table.path.ends_with("dir_writers/") {
        // The strings of its writers are of two types, which DataFusion does not merge.
        table.schema = Some(contents.schema());
    }
    let ours = miniblock_session(settings);
    register_miniblock(&ours, &table).await.unwrap_or_else(|error| panic!("{}: {error}", table.path));
    let schema = ours.table("t").await.unwrap().schema().inner().clone();
    let oracle = oracle_session(settings);
    register_contents(&oracle, contents, &schema).await;

    let order = order_by.as_ref().map(|column| format!(" ORDER BY {column}")).unwrap_or_default();
    let in_order = settings.partitions == 1 || order_by.is_some();
    let mut queries = vec![(format!("SELECT * FROM t{order}"), in_order, *rows)];
    for (filter, count) in predicates {
        queries.push((format!("SELECT * FROM t WHERE {filter}"), false, usize::try_from(*count).unwrap()));
    }
    for (sql, in_order, count) in &queries {
        let place = format!("{}: {sql}\n{settings:?}", table.path);
        let expected = run(&oracle, sql).await.unwrap_or_else(|error| panic!("{place}\n{error}"));
        assert_eq!(expected.num_rows(), *count, "{place}");
        let found = run(&ours, sql).await.unwrap_or_else(|error| panic!("{place}\n{error}"));
        compare(&expected, &found, if *in_order { How::SameOrder } else { How::AnyOrder })
            .unwrap_or_else(|difference| panic!("{place}\n{difference}"));
    }
    for (filter, count) in predicates {
        let sql = format!("SELECT count(*) FROM t WHERE {filter}");
        let found = run(&ours, &sql).await.unwrap_or_else(|error| panic!("{}: {sql}\n{error}", table.path));
        assert_eq!(found.scalar(), count.to_string(), "{}: {sql}\n{settings:?}", table.path);
    }
    queries.len() + predicates.len()
}

async fn check_fixtures(part: usize) {
    let mut checked = 0;
    for (turn, fixture) in manifest().iter().enumerate() {
        // Flagged files may be refused; these are read.
        assert!(fixture.flag.is_none() || BEYOND_THE_ORACLE.iter().any(|file| fixture.table.path.ends_with(file)));
        if turn % 2 != part {
            continue;
        }
        for (view_types, partitions, batch_size) in
            [(true, 1, 8192), (false, 3, 37), (true, 2, 1023), (false, 1, if fixture.rows < 600 { 1 } else { 7 })]
        {
            checked += check_fixture(fixture, Settings { batch_size, partitions, view_types }).await;
        }
    }
    assert!(checked > 2000, "{checked} queries");
}

#[tokio::test]
async fn contents_and_predicates_of_the_manifest_first_half() {
    check_fixtures(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contents_and_predicates_of_the_manifest_second_half() {
    check_fixtures(1).await;
}

#[test]
fn the_manifest_has_every_file() {
    let fixtures = manifest();
    let known = |name: &str| fixtures.iter().any(|fixture| fixture.table.path.trim_end_matches('/').ends_with(name));
    let missing: Vec<String> =
        files().into_iter().filter(|name| !FROM_PARQUET_TESTING.contains(&name.as_str()) && !known(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(
        fixtures.iter().all(|fixture| fixture.contents.num_rows() == fixture.rows && fixture.predicates.len() == 3)
    );
}

/// Files of apache/parquet-testing that are always there.
const FROM_PARQUET_TESTING: [&str; 4] = [
    "datapage_v1-snappy-compressed-checksum.parquet",
    "datapage_v2.snappy.parquet",
    "datapage_v2_empty_datapage.snappy.parquet",
    "rle_boolean_encoding.parquet",
];

pub(crate) fn files() -> Vec<String> {
    let entries = fs::read_dir(data_path("")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".parquet"));
    names.sort();
    assert!(names.len() > 150, "{} files", names.len());
    names
}

/// Filters by values of the file: a few for each column.
pub(crate) fn filters(whole: &Answer) -> Vec<String> {
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

/// What came of reading a file with both readers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As many queries gave the same rows.
    Same(usize),
    /// DataFusion's reader refuses the file; what ours says, if it does too.
    Refused(Option<String>),
}

/// Compares the readers on `table`, which is named `t`.
pub(crate) async fn check_table(table: &Table, settings: Settings) -> Outcome {
    let path = &table.path;
    let oracle = oracle_session(settings);
    let ours = miniblock_session(settings);
    let registered = register_miniblock(&ours, table).await;
    let whole = match register_oracle(&oracle, table).await {
        Ok(()) => run(&oracle, "SELECT * FROM t").await,
        Err(error) => Err(error),
    };
    let Ok(whole) = whole else {
        let said = match registered {
            Ok(()) => run(&ours, "SELECT * FROM t").await.err(),
            Err(error) => Some(error),
        };
        return Outcome::Refused(said.map(|error| error.to_string()));
    };
    registered.unwrap_or_else(|error| panic!("{path}: {error}"));
    same_table(&oracle, &ours, "t").await.unwrap_or_else(|difference| panic!("{path}: {difference}"));
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
        let found = run(&ours, &sql).await.unwrap_or_else(|error| panic!("{path}: {sql}\n{error}"));
        compare(&expected, &found, How::AnyOrder)
            .unwrap_or_else(|difference| panic!("{path}: {sql}\n{settings:?}\n{difference}"));
        compared += 1;
    }
    Outcome::Same(compared)
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
            match check_table(&Table::data("t", file), settings).await {
                Outcome::Same(queries) => compared += queries,
                Outcome::Refused(said) => {
                    assert_eq!(said, None, "{file}");
                    assert!(BEYOND_THE_ORACLE.contains(&file.as_str()), "{file} is beyond the oracle");
                }
            }
        }
    }
    assert!(compared > 1000, "{compared} queries compared");
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
        for filter in ["s IS NULL AND x = 7", "i IN (1, 2, 3, 100000)", "i < x", "NOT (x > 60)"] {
            let sql = format!("SELECT * FROM t WHERE {filter}");
            assert_same(settings, std::slice::from_ref(&table), &sql).await;
        }
        assert_same(settings, std::slice::from_ref(&table), "SELECT s, id, i, x FROM t").await;
    }
}

#[tokio::test]
async fn checksums_are_compared_where_asked() {
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
