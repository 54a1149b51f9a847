//! Files whose parts contradict each other or the format: an error that names the place, or the right rows; never others.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::files::{scratch, write_to};
use crate::oracle::{Answer, How, Settings, Table, assert_same, compare, miniblock_session, register_miniblock, run};

const ROWS: usize = 100;

fn plain(version: WriterVersion) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
}

/// One column `v`, not nullable, so that a page's body begins with its values.
fn written(name: &str, values: ArrayRef, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let path = scratch("wrong_values", name);
    write_to(&path, &RecordBatch::try_from_iter([("v", values)]).unwrap(), properties.build());
    fs::read(path).unwrap()
}

/// The bytes with the only occurrence of `from` made `to`.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let found: Vec<usize> = (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert_eq!(found.len(), 1, "{from:02x?} occurs {} times", found.len());
    let mut bytes = bytes.to_vec();
    bytes[found[0]..found[0] + to.len()].copy_from_slice(to);
    bytes
}

/// The file with its footer changed.
fn with_footer(bytes: &[u8], change: impl Fn(RowGroupMetaData) -> RowGroupMetaData) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::copy_from_slice(bytes)).unwrap();
    let row_groups = metadata.row_groups().iter().cloned().map(change).collect();
    let metadata: ParquetMetaData = metadata.into_builder().set_row_groups(row_groups).build();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    let mut changed = bytes[..bytes.len() - 8 - usize::try_from(length).unwrap()].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata).finish().unwrap();
    changed
}

async fn ask(name: &str, bytes: &[u8], sql: &str) -> Result<Answer, String> {
    let path = scratch("wrong_values", name);
    fs::write(&path, bytes).unwrap();
    let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
    let answer = match register_miniblock(&ctx, &Table::new("t", path.to_str().unwrap())).await {
        Ok(()) => run(&ctx, sql).await,
        Err(error) => Err(error),
    };
    answer.map_err(|error| {
        let error = error.to_string();
        assert!(!error.contains("PANIC"), "{name}: {sql}\n{error}");
        assert!(error.contains(name), "{name} is not named: {error}");
        error
    })
}

/// Asks for all values: whole, by a filter of the scan's, and by an expression. `value` is one of the column.
fn queries(value: &str) -> [String; 3] {
    [
        "SELECT v FROM t".to_string(),
        format!("SELECT v FROM t WHERE v = {value}"),
        "SELECT v FROM t WHERE length(CAST(v AS VARCHAR)) > 0".to_string(),
    ]
}

async fn refused(name: &str, bytes: &[u8], value: &str, part: &str) {
    for sql in queries(value) {
        let error = match ask(name, bytes, &sql).await {
            Ok(found) => panic!("{name}: {sql} has {} rows", found.num_rows()),
            Err(error) => error,
        };
        assert!(error.contains("column v") && error.contains(part), "{name}: no {part:?} in: {error}");
    }
}

fn integers() -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|i| i * i % 71)))
}

fn strings() -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| format!("value {}", i % 7))))
}

/// The page header of [`ROWS`] values: their number, then, in a V1 page, the encoding.
const V1_PLAIN: [u8; 5] = [0x15, 0xc8, 0x01, 0x15, 0x00];

#[tokio::test]
async fn encodings_that_are_not_those_of_the_type() {
    let as_type = |to| arrow::compute::cast(&integers(), &to).unwrap();
    use arrow::datatypes::DataType::{Boolean, Float32, Float64, Int32};
    // BIT_PACKED, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY and others, and one that does not exist.
    for (name, values, value, encodings) in [
        ("float.parquet", as_type(Float32), "3", &[4, 5, 6, 7, 3, 1, 63][..]),
        ("double.parquet", as_type(Float64), "3", &[4, 5, 6, 7, 3, 63]),
        ("int32.parquet", as_type(Int32), "3", &[4, 6, 7, 3, 63]),
        ("int64.parquet", integers(), "3", &[4, 6, 7, 3, 63]),
        ("boolean.parquet", as_type(Boolean), "true", &[5, 6, 7, 8, 2, 63]),
        ("string.parquet", strings(), "'value 3'", &[4, 5, 3, 9, 63]),
    ] {
        let bytes = written(name, values, plain(WriterVersion::PARQUET_1_0));
        for &encoding in encodings {
            let mut header = V1_PLAIN;
            // Zigzag.
            header[4] = encoding * 2;
            refused(name, &patched(&bytes, &V1_PLAIN, &header), value, "row group 0").await;
        }
    }
}

#[tokio::test]
async fn dictionaries_without_the_entry() {
    for (name, values, value, distinct) in
        [("entry-int.parquet", integers(), "3", 36_u8), ("entry-string.parquet", strings(), "'value 3'", 7)]
    {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bytes = written(name, Arc::clone(&values), plain(version).set_dictionary_enabled(true));
            // The dictionary's header: the number of entries.
            let header = [0x4c, 0x15, distinct * 2, 0x15];
            for entries in [0, 1, distinct - 1] {
                let bytes = patched(&bytes, &header, &[0x4c, 0x15, entries * 2, 0x15]);
                refused(name, &bytes, value, "row group 0").await;
            }
            // More entries than there are bytes.
            refused(name, &patched(&bytes, &header, &[0x4c, 0x15, (distinct + 1) * 2, 0x15]), value, "page 0").await;
        }
    }
}

#[tokio::test]
async fn delta_headers_that_count_other_values_than_the_page() {
    let name = "count.parquet";
    for (encoding, values, value) in
        [(Encoding::DELTA_BINARY_PACKED, integers(), "3"), (Encoding::DELTA_LENGTH_BYTE_ARRAY, strings(), "'value 3'")]
    {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bytes = written(name, Arc::clone(&values), plain(version).set_encoding(encoding));
            let mut whole = Vec::new();
            for sql in queries(value) {
                whole.push(ask(name, &bytes, &sql).await.unwrap());
            }
            assert_eq!(whole[0].num_rows(), ROWS);
            // Blocks of 128 or 256 values in four miniblocks.
            let block = [[0x80, 0x01, 0x04, 0x64], [0x80, 0x02, 0x04, 0x64]];
            let block = block.into_iter().find(|block| bytes.windows(4).any(|window| window == block)).unwrap();
            let with_count = |count| patched(&bytes, &block, &[block[0], block[1], block[2], count]);
            for count in [0, 1, 99] {
                refused(name, &with_count(count), value, "page 0").await;
            }
            // What is promised besides may be passed over.
            for count in [101, 127] {
                for (sql, whole) in queries(value).iter().zip(&whole) {
                    if let Ok(found) = ask(name, &with_count(count), sql).await {
                        compare(whole, &found, How::SameOrder)
                            .unwrap_or_else(|difference| panic!("{sql}\n{difference}"));
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn footers_that_promise_other_rows() {
    let name = "rows.parquet";
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED] {
        let bytes = written(name, integers(), plain(WriterVersion::PARQUET_2_0).set_encoding(encoding));
        for rows in [101, 200, 5000, i64::from(i32::MAX)] {
            let bytes = with_footer(&bytes, |group| group.into_builder().set_num_rows(rows).build().unwrap());
            for sql in ["SELECT v FROM t", "SELECT v FROM t WHERE v >= 0", "SELECT count(*) FROM t WHERE v % 2 = 0"] {
                let error = ask(name, &bytes, sql).await.expect_err(sql);
                assert!(error.contains("row group 0"), "{error}");
            }
        }
        let bytes = with_footer(&bytes, |group| {
            let columns = group.columns().iter().cloned();
            let columns = columns.map(|column| column.into_builder().set_num_values(101).build().unwrap()).collect();
            group.into_builder().set_column_metadata(columns).set_num_rows(101).build().unwrap()
        });
        refused(name, &bytes, "3", "row group 0").await;
    }
}

/// A file of one text column whose values nobody has looked at.
fn texts(name: &str, values: &[&[u8]], encoding: Encoding, dictionary: bool) -> Vec<u8> {
    let schema = Arc::new(parse_message_type("message m { required binary v (UTF8); }").unwrap());
    let properties =
        plain(WriterVersion::PARQUET_2_0).set_encoding(encoding).set_dictionary_enabled(dictionary).build();
    let path = scratch("wrong_values", name);
    let mut writer = SerializedFileWriter::new(fs::File::create(&path).unwrap(), schema, Arc::new(properties)).unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    let mut column = row_group.next_column().unwrap().unwrap();
    let values: Vec<ByteArray> = values.iter().map(|value| value.to_vec().into()).collect();
    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    row_group.close().unwrap();
    writer.close().unwrap();
    fs::read(path).unwrap()
}

#[tokio::test]
async fn text_that_is_not_utf8() {
    let name = "utf8.parquet";
    for (encoding, dictionary) in [
        (Encoding::PLAIN, false),
        (Encoding::PLAIN, true),
        (Encoding::DELTA_LENGTH_BYTE_ARRAY, false),
        (Encoding::DELTA_BYTE_ARRAY, false),
    ] {
        for values in [
            // One character in two values: together they are UTF-8.
            &[&b"a\xc3"[..], b"\xa9b"][..],
            &[b"short", b"\xe6\xb0", b"\xb4 and a value of more than twelve bytes"],
            &[b"a value of more than twelve bytes \xf0\x9f", b"\x98\x80", b"x"],
            &[b"\xff"],
            &[b"fine", b"a surrogate of UTF-16: \xed\xa0\x80"],
        ] {
            let bytes = texts(name, values, encoding, dictionary);
            let error = ask(name, &bytes, "SELECT v FROM t").await.expect_err("not UTF-8");
            assert!(error.contains("UTF-8") && error.contains("column v"), "{encoding} {dictionary}: {error}");
        }
        let bytes =
            texts(name, &["é".as_bytes(), "水 and a value of more than twelve bytes".as_bytes()], encoding, dictionary);
        assert_eq!(ask(name, &bytes, "SELECT v FROM t").await.unwrap().num_rows(), 2);
    }
}

/// Not wrong, but late: the first value that is not NULL comes after whole batches, windows and pages of NULLs.
#[tokio::test]
async fn values_that_begin_late() {
    for first in [1, 1023, 1024, 5000] {
        let ids = 0..6000_i64;
        let v: ArrayRef = Arc::new(ids.clone().map(|id| (id >= first).then_some(id)).collect::<Int64Array>());
        let s: ArrayRef = Arc::new(ids.map(|id| (id >= first).then(|| format!("text {id}"))).collect::<StringArray>());
        let batch = RecordBatch::try_from_iter_with_nullable([("v", v, true), ("s", s, true)]).unwrap();
        for (encoding, text) in [
            (Encoding::PLAIN, Encoding::PLAIN),
            (Encoding::DELTA_BINARY_PACKED, Encoding::DELTA_LENGTH_BYTE_ARRAY),
            (Encoding::DELTA_BINARY_PACKED, Encoding::DELTA_BYTE_ARRAY),
        ] {
            let path = scratch("wrong_values", "late.parquet");
            let properties = plain(WriterVersion::PARQUET_2_0)
                .set_encoding(encoding)
                .set_column_encoding("s".into(), text)
                .set_data_page_row_count_limit(700)
                .set_write_batch_size(100);
            write_to(&path, &batch, properties.build());
            let table = Table::new("t", path.to_str().unwrap());
            for batch_size in [1000, 8192] {
                let settings = Settings { batch_size, ..Settings::default() };
                for sql in
                    ["SELECT * FROM t", "SELECT s FROM t WHERE v > 5100", "SELECT v FROM t WHERE s = 'text 5500'"]
                {
                    assert_same(settings, std::slice::from_ref(&table), sql).await;
                }
            }
        }
    }
}

/// A selection in many pieces must not hold the same bytes many times.
#[tokio::test]
async fn fragmented_selections_hold_their_bytes_once() {
    let ids = 0..20_000_i64;
    let v: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone()));
    let s: ArrayRef =
        Arc::new(StringArray::from_iter_values(ids.map(|id| format!("a text of more than twelve bytes {id:06}"))));
    let batch = RecordBatch::try_from_iter([("v", v), ("s", s)]).unwrap();
    for (encoding, dictionary) in [
        (Encoding::PLAIN, false),
        (Encoding::PLAIN, true),
        (Encoding::DELTA_LENGTH_BYTE_ARRAY, false),
        (Encoding::DELTA_BYTE_ARRAY, false),
    ] {
        let path = scratch("wrong_values", "fragments.parquet");
        let properties = plain(WriterVersion::PARQUET_2_0)
            .set_column_dictionary_enabled("s".into(), dictionary)
            .set_column_encoding("s".into(), encoding);
        write_to(&path, &batch, properties.build());
        let ctx = miniblock_session(Settings { partitions: 1, ..Settings::default() });
        register_miniblock(&ctx, &Table::new("t", path.to_str().unwrap())).await.unwrap();
        let found = run(&ctx, "SELECT s FROM t WHERE v % 3 = 0").await.unwrap();
        assert_eq!(found.num_rows(), 6667);
        for batch in &found.batches {
            let held: usize = batch.column(0).as_string_view().data_buffers().iter().map(|buffer| buffer.len()).sum();
            let (rows, all) = (batch.num_rows() * 39, 20_000 * 39);
            assert!(held <= 2 * all.max(rows), "{encoding} {dictionary}: {held} bytes for {rows}");
        }
    }
}
