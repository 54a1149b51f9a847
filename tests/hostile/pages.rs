//! Pages and chunks as writers may make them, and as they may not.

use std::io::Write;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use bytes::Bytes;
use miniblock::MiniblockOptions;
use miniblock::internals::page::PageKind;
use parquet::basic::{Compression, Encoding as ParquetEncoding, Type};
use parquet::encodings::encoding::get_encoder;
use parquet::file::metadata::{ColumnIndexBuilder, OffsetIndexBuilder, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::writer::TrackedWrite;

use super::parts::{Encoding, Page, Parts, levels, run_of};
use super::read::{answer, by_parquet};

const OPTIONAL: &str = "message m { optional int32 x; }";
const REQUIRED: &str = "message m { required int32 x; }";

fn plain(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn delta(values: &[i32]) -> Vec<u8> {
    let parts = Parts::new(REQUIRED);
    let mut encoder = get_encoder::<parquet::data_type::Int32Type>(
        ParquetEncoding::DELTA_BINARY_PACKED,
        &parts.file.schema_descr().column(0),
    )
    .unwrap();
    encoder.put(values).unwrap();
    encoder.flush_buffer().unwrap().to_vec()
}

/// Indices of 8 bits: one bit-packed run.
fn indices(values: &[u8]) -> Vec<u8> {
    let groups = values.len().div_ceil(8);
    let mut bytes = vec![8, (groups << 1 | 1) as u8];
    bytes.extend_from_slice(values);
    bytes.resize(2 + groups * 8, 0);
    bytes
}

/// A file of column `x` in one row group.
fn file(schema: &str, rows: i64, compression: Compression, pages: Vec<Page>) -> Parts {
    Parts::new(schema).row_group(rows, compression, vec![pages])
}

fn stored(schema: &str, rows: i64, pages: Vec<Page>) -> Parts {
    file(schema, rows, Compression::UNCOMPRESSED, pages)
}

fn ints(batches: &[RecordBatch]) -> Vec<Option<i32>> {
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().iter().collect::<Vec<_>>()).collect()
}

async fn count(bytes: &Bytes, options: MiniblockOptions, batch_size: usize, filter: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM t{filter}");
    let batches = answer(bytes, options, batch_size, &sql).await.unwrap();
    batches[0].column(0).as_primitive::<Int64Type>().value(0)
}

/// Asserts that the file has these rows, in windows and batches of any size, whole and filtered.
async fn has_rows(name: &str, parts: &Parts, expected: &[Option<i32>]) {
    let bytes = parts.assemble();
    let options = || MiniblockOptions::new().with_verify_checksums(true);
    for batch_size in [8192, 3, 1] {
        let rows = |sql: &'static str| {
            let bytes = &bytes;
            async move {
                let batches = answer(bytes, options(), batch_size, sql).await;
                ints(&batches.unwrap_or_else(|error| panic!("{name}: {sql}: {error}")))
            }
        };
        assert_eq!(rows("SELECT x FROM t").await, expected, "{name}");
        let filtered: Vec<_> = expected.iter().copied().filter(|x| x.is_some_and(|x| x >= 4)).collect();
        assert_eq!(rows("SELECT x FROM t WHERE x >= 4").await, filtered, "{name}");
        let odd: Vec<_> = expected.iter().copied().filter(|x| x.is_some_and(|x| x % 2 != 0)).collect();
        assert_eq!(rows("SELECT x FROM t WHERE x % 2 <> 0").await, odd, "{name}");
        let nulls = expected.iter().filter(|x| x.is_none()).count() as i64;
        assert_eq!(count(&bytes, options(), batch_size, " WHERE x IS NULL").await, nulls, "{name}");
        assert_eq!(count(&bytes, options(), batch_size, "").await, expected.len() as i64, "{name}");
    }
}

/// As [`has_rows`], and the parquet crate reads the same.
async fn has_rows_for_all(name: &str, parts: &Parts, expected: &[Option<i32>]) {
    has_rows(name, parts, expected).await;
    let oracle = by_parquet(&parts.assemble(), None, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(ints(&[oracle]), expected, "{name}");
}

/// Asserts that the file is refused: with the words of `message`, its name and, if it is known, the column.
async fn is_refused(name: &str, bytes: &Bytes, message: &str) {
    for sql in ["SELECT x FROM t", "SELECT count(*) FROM t WHERE x > 4"] {
        let error = answer(bytes, MiniblockOptions::new().with_verify_checksums(true), 8192, sql).await;
        let error = error.err().unwrap_or_else(|| panic!("{name}: {sql} has an answer")).to_string();
        assert!(error.contains(message) && error.contains("f.parquet"), "{name}: {sql}: {error}");
    }
}

fn all(range: std::ops::Range<i32>) -> Vec<Option<i32>> {
    range.map(Some).collect()
}

fn every_compression() -> [Compression; 7] {
    [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ]
}

/// V1 and V2, and all encodings, in one chunk; a dictionary that is left for others, and is come back to.
#[tokio::test]
async fn a_chunk_of_all_kinds_of_pages() {
    let null_first = [None, Some(20), Some(21), None].as_slice();
    let expected = [all(0..20).as_slice(), null_first, &all(30..36)].concat();
    for compression in every_compression() {
        let pages = vec![
            Page::dictionary(4, &plain(&[0, 1, 2, 3])),
            Page::v1(4, Encoding::RleDictionary, Some(&run_of(true, 4)), &indices(&[0, 1, 2, 3])),
            Page::v2([4, 0], Encoding::DeltaBinaryPacked, Some(&run_of(true, 4)), &delta(&[4, 5, 6, 7])),
            Page::v1(4, Encoding::Plain, Some(&levels(&[true; 4])), &plain(&[8, 9, 10, 11])),
            Page::v1(4, Encoding::DeltaBinaryPacked, Some(&levels(&[true; 4])), &delta(&[12, 13, 14, 15])),
            Page::v2([4, 0], Encoding::Plain, Some(&run_of(true, 4)), &plain(&[16, 17, 18, 19])),
            Page::v2([4, 2], Encoding::Plain, Some(&levels(&[false, true, true, false])), &plain(&[20, 21])),
            Page::v2([6, 0], Encoding::DeltaBinaryPacked, Some(&run_of(true, 6)), &delta(&[30, 31, 32, 33, 34, 35])),
        ];
        let pages = pages.into_iter().map(|page| page.compressed(compression)).collect();
        has_rows_for_all(&compression.to_string(), &file(OPTIONAL, 30, compression, pages), &expected).await;
    }
    // V2 pages that are stored in a chunk of compressed ones.
    let pages = vec![
        Page::v2([2, 0], Encoding::Plain, Some(&run_of(true, 2)), &plain(&[1, 2])),
        Page::v2([2, 0], Encoding::Plain, Some(&run_of(true, 2)), &plain(&[3, 4])).compressed(Compression::SNAPPY),
    ];
    has_rows_for_all("stored", &file(OPTIONAL, 4, Compression::SNAPPY, pages), &all(1..5)).await;
}

#[tokio::test]
async fn pages_without_rows() {
    for compression in every_compression() {
        let empty = |page: Page| page.compressed(compression);
        // A body of no bytes at all, whatever the codec, is what some writers make of nothing.
        let bare = |page: Page| page.compressed_by(|_| Vec::new());
        let pages = vec![
            empty(Page::v1(0, Encoding::Plain, Some(&[]), &[])),
            empty(Page::v2([0, 0], Encoding::Plain, Some(&[]), &[])),
            Page::v1(3, Encoding::Plain, Some(&run_of(true, 3)), &plain(&[1, 2, 3])).compressed(compression),
            bare(Page::v2([0, 0], Encoding::Plain, Some(&[]), &[])),
            empty(Page::v1(0, Encoding::DeltaBinaryPacked, Some(&[]), &delta(&[]))),
            Page::v1(3, Encoding::Plain, Some(&run_of(true, 3)), &plain(&[4, 5, 6])).compressed(compression),
            empty(Page::v1(0, Encoding::Plain, Some(&[]), &[])),
        ];
        has_rows(&compression.to_string(), &file(OPTIONAL, 6, compression, pages), &all(1..7)).await;
    }
}

#[tokio::test]
async fn pages_of_nulls() {
    let nothing: [Vec<u8>; 4] = [vec![], delta(&[]), vec![0], vec![0xff; 9]];
    for values in &nothing {
        for encoding in [Encoding::Plain, Encoding::DeltaBinaryPacked, Encoding::RleDictionary] {
            for levels in [run_of(false, 3), levels(&[false; 3])] {
                // Bytes that mean nothing are only looked at where a bit-packed run hides that all are NULL.
                let is_sound = match encoding {
                    Encoding::Plain => true,
                    Encoding::DeltaBinaryPacked => *values == delta(&[]),
                    _ => *values == [0],
                };
                if levels[0] & 1 == 1 && !values.is_empty() && !is_sound {
                    continue;
                }
                let pages = vec![
                    Page::dictionary(0, &[]),
                    Page::v1(3, encoding, Some(&levels), values),
                    Page::v2([3, 3], encoding, Some(&levels), values),
                    Page::v2([3, 3], encoding, Some(&levels), values).compressed(Compression::UNCOMPRESSED),
                    Page::v1(2, Encoding::Plain, Some(&run_of(true, 2)), &plain(&[4, 5])),
                ];
                let expected = [vec![None; 9], all(4..6)].concat();
                has_rows(&format!("{encoding} {values:?}"), &stored(OPTIONAL, 11, pages), &expected).await;
            }
        }
    }
    // A compressed V2 page with levels alone.
    for compression in every_compression() {
        let page = Page::v2([3, 3], Encoding::Plain, Some(&run_of(false, 3)), &[]);
        let pages = vec![page.clone().compressed(compression), page.compressed_by(|_| Vec::new())];
        has_rows(&compression.to_string(), &file(OPTIONAL, 6, compression, pages), &[None; 6]).await;
    }
}

#[tokio::test]
async fn pages_of_one_row() {
    let page = |x: i32| match x % 5 {
        0 => Page::v1(1, Encoding::Plain, Some(&levels(&[false])), &[]),
        1 => Page::v1(1, Encoding::Plain, Some(&levels(&[true])), &plain(&[x])),
        2 => Page::v2([1, 0], Encoding::DeltaBinaryPacked, Some(&run_of(true, 1)), &delta(&[x])),
        3 => Page::v1(1, Encoding::RleDictionary, Some(&run_of(true, 1)), &indices(&[1])),
        _ => Page::v2([1, 1], Encoding::RleDictionary, Some(&run_of(false, 1)), &[]),
    };
    let value = |x: i32| match x % 5 {
        1 | 2 => Some(x),
        3 => Some(-7),
        _ => None,
    };
    let pages = std::iter::once(Page::dictionary(2, &plain(&[9, -7]))).chain((0..300).map(page)).collect();
    let expected: Vec<_> = (0..300).map(value).collect();
    has_rows("one row a page", &stored(OPTIONAL, 300, pages), &expected).await;
}

#[tokio::test]
async fn dictionaries() {
    let nulls = || Page::v1(3, Encoding::RleDictionary, Some(&run_of(false, 3)), &[8]);
    has_rows_for_all("no entries", &stored(OPTIONAL, 3, vec![Page::dictionary(0, &[]), nulls()]), &[None; 3]).await;
    has_rows("no dictionary", &stored(OPTIONAL, 3, vec![nulls()]), &[None; 3]).await;

    let coded = |values: &[u8]| Page::v1(values.len(), Encoding::RleDictionary, None, &indices(values));
    let early = Page::v1(1, Encoding::Plain, None, &plain(&[5]));
    let refused = [
        ("none", vec![coded(&[0, 0])], "dictionary of 0 entries"),
        ("no entries", vec![Page::dictionary(0, &[]), coded(&[0, 0])], "dictionary of 0 entries"),
        ("past the end", vec![Page::dictionary(2, &plain(&[5, 6])), coded(&[1, 2])], "dictionary of 2 entries"),
        ("too few", vec![Page::dictionary(3, &plain(&[5, 6])), coded(&[1, 1])], "f.parquet"),
        ("too many", vec![Page::dictionary(1 << 30, &plain(&[5, 6])), coded(&[1, 1])], "dictionary of 1073741824"),
        ("late", vec![early, Page::dictionary(1, &plain(&[5])), coded(&[0])], "not the first"),
    ];
    for (name, pages, message) in refused {
        is_refused(name, &stored(REQUIRED, 2, pages).assemble(), message).await;
    }
}

/// The specification has it deprecated, and no writer of today makes it.
#[tokio::test]
async fn bit_packed_levels() {
    let mut page = Page::v1(4, Encoding::Plain, None, &[&[0b1011_0000], plain(&[1, 2, 3]).as_slice()].concat());
    if let PageKind::DataV1 { definition_level_encoding, .. } = &mut page.header.kind {
        *definition_level_encoding = Encoding::BitPacked;
    }
    is_refused("BIT_PACKED", &stored(OPTIONAL, 4, vec![page.clone()]).assemble(), "definition levels in BIT_PACKED")
        .await;
    // Where there are none, it means nothing.
    page.body.drain(..1);
    page.body.extend(plain(&[4]));
    page.resize();
    has_rows_for_all("no levels", &stored(REQUIRED, 4, vec![page]), &all(1..5)).await;
}

#[tokio::test]
async fn checksums() {
    let page = || Page::v1(4, Encoding::Plain, None, &plain(&[1, 2, 3, 4]));
    has_rows_for_all(
        "right",
        &stored(REQUIRED, 8, vec![page().with_crc(), page().with_crc()]),
        &[all(1..5), all(1..5)].concat(),
    )
    .await;
    for compression in every_compression() {
        let page = page().compressed(compression).with_crc();
        let mut wrong = page.clone();
        has_rows(&compression.to_string(), &file(REQUIRED, 4, compression, vec![page]), &all(1..5)).await;
        wrong.header.crc = wrong.header.crc.map(|crc| crc ^ 0x8000);
        let bytes = file(REQUIRED, 4, compression, vec![wrong]).assemble();
        is_refused(&compression.to_string(), &bytes, "CRC").await;
        let batches = answer(&bytes, MiniblockOptions::new(), 8192, "SELECT x FROM t").await.unwrap();
        assert_eq!(ints(&batches), all(1..5), "not asked for");
    }
}

#[tokio::test]
async fn compressions_in_several_parts() {
    let values = plain(&(0..100).collect::<Vec<_>>());
    let compress = |compression, bytes: &[u8]| Page::v1(0, Encoding::Plain, None, bytes).compressed(compression).body;
    let halves = |compression: Compression| {
        let values = &values;
        move |_: &[u8]| [compress(compression, &values[..150]), compress(compression, &values[150..])].concat()
    };
    let page = || Page::v1(100, Encoding::Plain, None, &values);
    for compression in [Compression::GZIP(Default::default()), Compression::ZSTD(Default::default())] {
        let page = page().compressed_by(halves(compression));
        has_rows_for_all(&compression.to_string(), &file(REQUIRED, 100, compression, vec![page]), &all(0..100)).await;
    }
    // LZ4 as Hadoop frames it: sizes before and after in front of each block; and without the frame.
    let framed = |bytes: &[u8]| {
        let block = compress(Compression::LZ4_RAW, bytes);
        [&(bytes.len() as u32).to_be_bytes(), &(block.len() as u32).to_be_bytes(), block.as_slice()].concat()
    };
    let hadoop = page().compressed_by(|bytes| [framed(&bytes[..150]), framed(&bytes[150..])].concat());
    let raw = page().compressed(Compression::LZ4_RAW);
    for page in [hadoop, raw] {
        has_rows_for_all("LZ4", &file(REQUIRED, 100, Compression::LZ4, vec![page]), &all(0..100)).await;
    }
}

#[tokio::test]
async fn row_groups_without_rows() {
    let page = |from: i32| Page::v1(3, Encoding::Plain, None, &plain(&[from, from + 1, from + 2]));
    let none = || Page::v1(0, Encoding::Plain, None, &[]);
    let parts = Parts::new(REQUIRED)
        .row_group(0, Compression::UNCOMPRESSED, vec![vec![]])
        .row_group(3, Compression::UNCOMPRESSED, vec![vec![page(1)]])
        .row_group(0, Compression::SNAPPY, vec![vec![none()]])
        .row_group(0, Compression::ZSTD(Default::default()), vec![vec![]])
        .row_group(3, Compression::UNCOMPRESSED, vec![vec![page(4)]])
        .row_group(0, Compression::UNCOMPRESSED, vec![vec![]]);
    has_rows("some", &parts, &all(1..7)).await;
    has_rows("all", &Parts::new(REQUIRED).row_group(0, Compression::UNCOMPRESSED, vec![vec![]]), &[]).await;
    has_rows("none", &Parts::new(REQUIRED), &[]).await;
}

#[tokio::test]
async fn counts_that_contradict_each_other() {
    let pages = || {
        let page = |from: i32| Page::v1(3, Encoding::Plain, None, &plain(&[from, from + 1, from + 2]));
        vec![page(1), page(4)]
    };
    // Metadata that agree, and pages with fewer rows or more.
    is_refused("more", &stored(REQUIRED, 7, pages()).assemble(), "1 values early").await;
    is_refused("fewer", &stored(REQUIRED, 5, pages()).assemble(), "page of 3 values, 2 are left").await;
    // Whole pages too many are not looked at.
    has_rows("a page too many", &stored(REQUIRED, 3, pages()), &all(1..4)).await;
    // Rows of the row group against values of the chunk.
    for rows in [-1, 0, 5, 7, i64::MAX] {
        let mut parts = stored(REQUIRED, 6, pages());
        parts.row_groups[0].rows = rows;
        let message = if rows < 0 { "row group of -1 rows" } else { "chunk of 6 values in a row group of" };
        let bytes = parts.assemble();
        is_refused("rows", &bytes, message).await;
        let counted = answer(&bytes, MiniblockOptions::new(), 8192, "SELECT count(*) FROM t").await;
        assert!(counted.unwrap_err().to_string().contains(message));
    }
    // More than so few bytes can hold.
    is_refused("huge", &stored(REQUIRED, i64::MAX, pages()).assemble(), "9223372036854775807 values in").await;
    // Rows that cannot be added up.
    let nulls =
        || vec![vec![Page::v1(i32::MAX as usize, Encoding::Plain, Some(&run_of(false, i32::MAX as usize)), &[])]];
    let parts = Parts::new(OPTIONAL).row_group(i64::from(i32::MAX), Compression::UNCOMPRESSED, nulls());
    let rows = count(&parts.assemble(), MiniblockOptions::new(), 8192, "").await;
    assert_eq!(rows, i64::from(i32::MAX));
}

/// Repetition levels that end early: the parquet crate reads them as an error, and would skip them forever.
#[tokio::test]
async fn repetition_levels_that_end_early() {
    let schema = "message m { required int32 x; \
                  optional group s (LIST) { repeated group list { required int32 element; } } }";
    let file = |repetition: &[u8]| {
        let part = |levels: &[u8]| [&(levels.len() as u32).to_le_bytes(), levels].concat();
        // Definition levels have two bits: one run of 2.
        let body = [part(repetition), part(&[12, 2]), plain(&[1, 2, 3, 4, 5, 6])].concat();
        let chunks = vec![
            vec![Page::v1(6, Encoding::Plain, None, &plain(&[1, 2, 3, 4, 5, 6]))],
            vec![Page::v1(6, Encoding::Plain, None, &body)],
        ];
        Parts::new(schema).row_group(6, Compression::UNCOMPRESSED, chunks).assemble()
    };
    let queries = ["SELECT s FROM t WHERE x = 6", "SELECT s FROM t WHERE x > 0", "SELECT s FROM t"];
    for (sql, rows) in queries.into_iter().zip([1, 6, 6]) {
        let found = answer(&file(&run_of(false, 6)), MiniblockOptions::new(), 8192, sql).await.unwrap();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), rows, "{sql}");
        let error = answer(&file(&run_of(false, 2)), MiniblockOptions::new(), 8192, sql).await.unwrap_err();
        assert!(error.to_string().contains("f.parquet"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn chunks_outside_of_the_file() {
    let page = || vec![Page::v1(3, Encoding::Plain, None, &plain(&[1, 2, 3]))];
    let good = stored(REQUIRED, 3, page()).assemble();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&good).unwrap();
    let (size, len) = (good.len() as i64, metadata.row_group(0).column(0).compressed_size());
    let ranges =
        [(-1, len), (4, -len), (size, len), (4, 2 * size), (4, i64::MAX), (i64::MAX, i64::MAX), (i64::MIN, len)];
    for (offset, length) in ranges {
        let column = metadata.row_group(0).column(0).clone().into_builder();
        let column = column.set_data_page_offset(offset).set_total_compressed_size(length).build().unwrap();
        let row_group = metadata.row_group(0).clone().into_builder().set_column_metadata(vec![column]).build().unwrap();
        let metadata = metadata.clone().into_builder().set_row_groups(vec![row_group]).build();
        let mut bytes = good[..4 + len as usize].to_vec();
        ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
        is_refused(&format!("{offset} {length}"), &bytes.into(), "column chunk of").await;
    }
}

/// Files whose rows are right and whose page index is not. What it prunes wrongly nobody can know; nothing else may happen.
#[tokio::test]
async fn page_indexes_that_are_wrong() {
    let page = |from: i32| Page::v1(3, Encoding::Plain, None, &plain(&[from, from + 1, from + 2]));
    let good = stored(REQUIRED, 6, vec![page(1), page(4)]).assemble();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&good).unwrap();
    let data = &good[..4 + metadata.row_group(0).column(0).compressed_size() as usize];
    // Rows of the pages by the offset index, of which the last does not count, and pages by the column index.
    let indexes: [(&[i64], i32); 8] =
        [(&[3, 3], 2), (&[6], 1), (&[3, 2, 1], 3), (&[-3, 3], 2), (&[100, 1], 2), (&[], 0), (&[3, 3], 1), (&[6], 2)];
    for (rows, bounds) in indexes {
        let mut offsets = OffsetIndexBuilder::new();
        for &rows in rows {
            offsets.append_row_count(rows);
            offsets.append_offset_and_size(4, 30);
        }
        let mut columns = ColumnIndexBuilder::new(Type::INT32);
        for index in 0..bounds {
            columns.append(false, plain(&[1 + 3 * index]), plain(&[3 + 3 * index]), 0);
        }
        let metadata = metadata
            .clone()
            .into_builder()
            .set_offset_index(Some(vec![vec![offsets.build()]]))
            .set_column_index(Some(vec![vec![columns.build().unwrap()]]))
            .build();
        let mut bytes = Vec::new();
        let mut file = TrackedWrite::new(&mut bytes);
        file.write_all(data).unwrap();
        ParquetMetaDataWriter::new_with_tracked(file, &metadata).finish().unwrap();
        let bytes = Bytes::from(bytes);
        let rows_of = async |sql| answer(&bytes, MiniblockOptions::new(), 8192, sql).await.map(|rows| ints(&rows));
        assert_eq!(rows_of("SELECT x FROM t").await.unwrap(), all(1..7), "{rows:?} {bounds}");
        match rows_of("SELECT x FROM t WHERE x >= 4").await {
            Ok(found) => {
                assert!(found == all(4..7) || rows != [3, 3] && found.is_empty(), "{rows:?} {bounds}: {found:?}")
            }
            Err(error) => assert!(error.to_string().contains("f.parquet"), "{error}"),
        }
        // And with bytes of the index changed.
        for at in data.len()..bytes.len() {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 0xff;
            let bytes = Bytes::from(bytes);
            match answer(&bytes, MiniblockOptions::new(), 8192, "SELECT x FROM t WHERE x >= 4").await {
                Ok(rows) => assert!(rows.iter().map(RecordBatch::num_rows).sum::<usize>() <= 6),
                Err(error) => assert!(error.to_string().contains("f.parquet"), "{error}"),
            }
        }
    }
}

/// DELTA_BYTE_ARRAY whose first prefix is that of `before`.
fn delta_byte_array(before: &str, values: &[String]) -> Vec<u8> {
    let mut previous = before;
    let (mut prefixes, mut suffixes, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        let prefix = previous.bytes().zip(value.bytes()).take_while(|(a, b)| a == b).count();
        prefixes.push(prefix as i32);
        suffixes.push((value.len() - prefix) as i32);
        bytes.extend_from_slice(&value.as_bytes()[prefix..]);
        previous = value;
    }
    [delta(&prefixes), delta(&suffixes), bytes].concat()
}

/// parquet-java before 1.8 went on from the last value of the page before (PARQUET-246).
#[tokio::test]
async fn prefixes_that_go_on_from_page_to_page() {
    let values: Vec<String> = (0..60).map(|i| format!("key-{:04}", i * i)).collect();
    let schema = "message m { required binary s (UTF8); required int32 x; }";
    let chunks = |rows: std::ops::Range<usize>| {
        let mut before = "";
        let (mut strings, mut numbers) = (Vec::new(), Vec::new());
        for (values, start) in values[rows.clone()].chunks(10).zip(rows.step_by(10)) {
            strings.push(Page::v1(values.len(), Encoding::DeltaByteArray, None, &delta_byte_array(before, values)));
            before = values.last().unwrap();
            let ids: Vec<i32> = (start..start + values.len()).map(|id| id as i32).collect();
            numbers.push(Page::v1(ids.len(), Encoding::Plain, None, &plain(&ids)));
        }
        vec![strings, numbers]
    };
    let parts = |writer: &str| {
        let parts = Parts::new(schema).created_by(writer);
        let parts = parts.row_group(40, Compression::UNCOMPRESSED, chunks(0..40));
        parts.row_group(20, Compression::UNCOMPRESSED, chunks(40..60)).assemble()
    };
    let bytes = parts("parquet-mr version 1.7.0 (build 1)");
    for (filter, rows) in [
        ("true", (0..60).collect::<Vec<_>>()),
        ("x IN (3, 9, 10, 27, 38, 41, 59)", vec![3, 9, 10, 27, 38, 41, 59]),
        ("x >= 35", (35..60).collect()),
        ("s = 'key-0729'", vec![27]),
        ("s LIKE '%4'", (0..60).filter(|i| i * i % 10 == 4).collect()),
    ] {
        for batch_size in [8192, 7, 1] {
            let sql = format!("SELECT s FROM t WHERE {filter}");
            let batches = answer(&bytes, MiniblockOptions::new(), batch_size, &sql).await.unwrap();
            let found: Vec<String> = batches
                .iter()
                .flat_map(|batch| {
                    batch.column(0).as_string_view().iter().map(|s| s.unwrap().to_string()).collect::<Vec<_>>()
                })
                .collect();
            let expected: Vec<String> = rows.iter().map(|&row: &usize| values[row].clone()).collect();
            assert_eq!(found, expected, "{filter}, batches of {batch_size}");
        }
    }
    // From any other writer it is no value.
    let error = answer(&parts("parquet-mr version 1.8.0"), MiniblockOptions::new(), 8192, "SELECT s FROM t").await;
    assert!(error.unwrap_err().to_string().contains("column s"));
}
