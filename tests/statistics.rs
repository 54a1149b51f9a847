//! Statistics that prove less than they seem to: rows must not get lost, and no query may be answered from them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray, UInt32Array};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;

use crate::oracle::{Settings, Table, answer, expected};

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

    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("statistics");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
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
