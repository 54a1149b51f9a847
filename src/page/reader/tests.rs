use std::sync::Arc;

use parquet::column::page::Page;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::SerializedPageReader;

use super::*;
use crate::encoding::rle::tests::Random;
use crate::page::PageStart;

fn data(name: &str) -> Bytes {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    Bytes::from(std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}")))
}

/// The bytes of each column chunk of flat columns, with a reader of it and the pages by the parquet crate.
fn chunks(file: &Bytes) -> Vec<(PageReader, Vec<Page>)> {
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let mut chunks = Vec::new();
    for row_group in reader.metadata().row_groups() {
        for column in row_group.columns() {
            let levels = column.column_descr();
            if levels.max_rep_level() > 0 || levels.max_def_level() > 1 {
                continue;
            }
            let (start, len) = column.byte_range();
            let pages = PageReader::new(
                file.slice(start as usize..(start + len) as usize),
                column.compression().try_into().unwrap(),
                levels.max_def_level(),
                column.num_values() as u64,
                Limits::default(),
                true,
            )
            .unwrap();
            let rows = row_group.num_rows() as usize;
            let oracle = SerializedPageReader::new(Arc::new(file.clone()), column, rows, None).unwrap();
            chunks.push((pages, oracle.map(|page| page.unwrap()).collect()));
        }
    }
    chunks
}

fn check(pages: &PageReader, header: &PageHeader, buffer: &PageBuffer, expected: &Page) {
    assert_eq!(buffer.num_values(), expected.num_values() as usize);
    assert_eq!(buffer.encoding().to_string(), expected.encoding().to_string());
    assert_eq!(header.data_values().is_some(), expected.is_data_page());
    let (bytes, values, levels) = (expected.buffer(), buffer.values(), buffer.definition_levels());
    match expected {
        Page::DataPage { .. } => {
            assert!(matches!(header.kind, PageKind::DataV1 { .. }));
            if pages.max_definition_level > 0 {
                let size = (levels.len() as u32).to_le_bytes();
                assert!([&size, levels, values].concat() == *bytes);
            } else {
                assert!(values == bytes);
            }
        }
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, num_nulls, .. } => {
            assert_eq!(levels.len(), *def_levels_byte_len as usize);
            assert_eq!(buffer.num_nulls(), Some(*num_nulls as usize));
            // Some writers give flat columns repetition levels.
            assert!([levels, values].concat() == bytes[*rep_levels_byte_len as usize..]);
        }
        Page::DictionaryPage { .. } => {
            assert!(matches!(header.kind, PageKind::Dictionary { .. }));
            assert!(values == bytes);
        }
    }
    let has_levels = pages.max_definition_level > 0 && expected.is_data_page();
    assert_eq!(buffer.has_definition_levels(), has_levels);
    if has_levels {
        let len = buffer.num_values();
        let valid = Levels::default().skip(levels, len).unwrap();
        assert!(!buffer.is_all_valid() || valid == len);
        assert!(!buffer.is_all_null() || valid == 0);
        if let Some(num_nulls) = buffer.num_nulls() {
            assert_eq!(valid + num_nulls, len);
        }
    } else {
        assert!(buffer.is_all_valid());
    }
}

fn files() -> Vec<String> {
    let folder = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".parquet")).collect()
}

#[test]
fn pages_are_those_of_the_parquet_crate() {
    let mut buffer = PageBuffer::default();
    let mut read = 0;
    for name in files() {
        for (mut pages, expected) in chunks(&data(&name)) {
            if pages.remaining_values() == 0 {
                // A dictionary of no entries may be there, for no values.
                assert!(expected.iter().all(|page| page.num_values() == 0));
                assert_eq!(pages.next_page().unwrap(), None);
                continue;
            }
            for page in &expected {
                let header = pages.next_page().unwrap_or_else(|e| panic!("{name}: {e}")).unwrap();
                pages.load(&mut buffer).unwrap_or_else(|e| panic!("{name}: {e}"));
                check(&pages, &header, &buffer, page);
                read += 1;
            }
            assert_eq!(pages.next_page().unwrap(), None, "{name}");
            assert_eq!(pages.remaining_values(), 0);
            assert!(pages.load(&mut buffer).is_err());
        }
    }
    assert!(read > 500, "{read} pages");
}

#[test]
fn pages_are_skipped_by_their_headers() {
    let mut random = Random::new(1);
    let mut buffer = PageBuffer::default();
    for (mut pages, expected) in chunks(&data("rs_nulls_pages.parquet")) {
        for (index, page) in expected.iter().enumerate() {
            let header = pages.next_page().unwrap().unwrap();
            assert_eq!(pages.page_index(), index);
            if random.below(2) == 0 {
                pages.load(&mut buffer).unwrap();
                check(&pages, &header, &buffer, page);
            }
        }
        assert_eq!(pages.next_page().unwrap(), None);
    }
}

#[test]
fn stored_pages_are_not_copied() {
    let file = data("pa_mixed_none_v1.parquet");
    let mut buffer = PageBuffer::default();
    for (mut pages, _) in chunks(&file) {
        while pages.next_page().unwrap().is_some() {
            pages.load(&mut buffer).unwrap();
            let stored = buffer.stored_values().unwrap();
            assert!(file.as_ptr_range().contains(&stored.as_ptr()) || stored.is_empty());
            assert_eq!(buffer.decompressed.capacity(), 0);
        }
    }
}

#[test]
fn a_wrong_crc_is_refused_where_it_is_asked_for() {
    let file = data("datapage_v1-snappy-compressed-checksum.parquet");
    let mut buffer = PageBuffer::default();
    for (mut pages, _) in chunks(&file) {
        while let Some(header) = pages.next_page().unwrap() {
            assert!(header.crc.is_some());
            pages.load(&mut buffer).unwrap();
            if let Some((header, _)) = &mut pages.current {
                header.crc = header.crc.map(|crc| crc ^ 0x100);
            }
            let error = pages.load(&mut buffer).unwrap_err();
            assert_eq!(error.place().page, Some(pages.page_index()));
            assert_eq!(buffer.num_values(), 0);
            pages.verify_crc = false;
            pages.load(&mut buffer).unwrap();
            pages.verify_crc = true;
        }
    }
}

/// Reads all that there is of a chunk; its pages were good or an error came.
fn drain(mut pages: PageReader, buffer: &mut PageBuffer) -> Result<usize> {
    let mut values = 0;
    while let Some(header) = pages.next_page()? {
        pages.load(buffer)?;
        values += header.data_values().unwrap_or(0);
    }
    Ok(values)
}

#[test]
fn chunks_that_are_cut_short_are_refused() {
    let mut buffer = PageBuffer::default();
    for name in ["pa_mixed_none_v1.parquet", "jv_shape_128_1.parquet", "rs_nulls_pages.parquet"] {
        for (pages, _) in chunks(&data(name)).into_iter().take(4) {
            for len in (0..pages.chunk.len()).step_by(3) {
                let mut pages = pages.clone();
                pages.chunk = pages.chunk.rest(0).slice(..len).into();
                assert!(drain(pages, &mut buffer).is_err(), "{name} cut to {len}");
            }
        }
    }
}

#[test]
fn chunks_of_any_bytes_are_read_or_refused() {
    let mut random = Random::new(2);
    let mut buffer = PageBuffer::default();
    for name in files() {
        for (mut pages, _) in chunks(&data(&name)).into_iter().filter(|(pages, _)| !pages.chunk.is_empty()).take(6) {
            // A page of 2 GiB by its header is an error and no allocation.
            pages.limits.max_page_size = 4 << 20;
            pages.verify_crc = random.below(2) == 0;
            for _ in 0..8 {
                let mut bytes = pages.chunk.rest(0).to_vec();
                for _ in 0..=random.below(4) {
                    let at = random.below(bytes.len().min(400));
                    bytes[at] = random.next() as u8;
                }
                let mut pages = pages.clone();
                pages.chunk = Bytes::from(bytes).into();
                let promised = pages.remaining_values();
                if let Ok(values) = drain(pages, &mut buffer) {
                    assert_eq!(values as u64, promised);
                }
            }
        }
    }
    assert!(buffer.decompressed.capacity() <= 4 << 20);
}

/// Values of the pages that are read when rows are skipped and read as `random` says, and what was supplied of the chunk.
fn walk(mut pages: PageReader, whole: &Bytes, random: &mut Random, supply: bool) -> Result<(Vec<Vec<u8>>, usize)> {
    let mut buffer = PageBuffer::default();
    let (mut read, mut supplied) = (Vec::new(), 0);
    let mut owed = 0;
    while pages.remaining_values() > 0 {
        let skip = random.below(3) * random.below(500);
        owed += skip;
        let more = random.next() as usize % 20_000;
        while supply && let Some(range) = pages.missing(owed, 1, false) {
            assert!(!range.is_empty() && range.end <= whole.len());
            let end = (range.end + more).min(whole.len());
            supplied += end - range.start;
            pages.supply(range.start, whole.slice(range.start..end));
        }
        if random.below(2) == 0
            && let Some(rows) = pages.pass_page(owed)?
        {
            owed -= rows;
            continue;
        }
        let Some(header) = pages.next_page()? else { break };
        match header.data_values() {
            Some(rows) if rows <= owed => owed -= rows,
            _ => {
                owed = 0;
                pages.load(&mut buffer)?;
                read.push(buffer.values().to_vec());
            }
        }
    }
    Ok((read, supplied))
}

#[test]
fn chunks_in_pieces_are_as_whole_ones() {
    let mut pieces = 0;
    for name in files() {
        for (pages, _) in chunks(&data(&name)).into_iter().filter(|(pages, _)| !pages.chunk.is_empty()).take(6) {
            let whole = pages.chunk.rest(0);
            for seed in 0..8 {
                let expected = walk(pages.clone(), &whole, &mut Random::new(seed), false);
                let mut absent = pages.clone();
                absent.chunk = Chunk::absent(whole.len(), None, true);
                let found = walk(absent, &whole, &mut Random::new(seed), true);
                match (expected, found) {
                    (Ok((expected, _)), Ok((found, supplied))) => {
                        assert!(expected == found, "{name}");
                        pieces += usize::from(supplied != whole.len());
                    }
                    (Err(_), Err(_)) => {}
                    (expected, found) => panic!("{name}: {expected:?} is not {found:?}"),
                }
            }
        }
    }
    assert!(pieces > 100);
}

#[test]
fn absent_pages_are_passed_by_the_index() {
    let page = v1(2, &[1, 2]);
    let whole = Bytes::from(page.repeat(4));
    let starts: Vec<PageStart> = (0..5).map(|index| PageStart { offset: index * page.len(), row: index * 2 }).collect();
    let mut pages = reader(whole.to_vec(), 0, 8);
    pages.chunk = Chunk::absent(whole.len(), Some(starts.into()), true);
    assert_eq!(pages.missing(5, 1, false), Some(2 * page.len()..2 * page.len() + 256.min(2 * page.len())));
    assert_eq!(pages.missing(5, 1, true).map(|range| range.start), Some(0));
    assert_eq!(pages.pass_page(1).unwrap(), None);
    assert_eq!(pages.pass_page(5).unwrap(), Some(2));
    assert_eq!(pages.pass_page(3).unwrap(), Some(2));
    assert_eq!(pages.pass_page(1).unwrap(), None);
    let at = 2 * page.len();
    pages.supply(at, whole.slice(at..at + page.len()));
    assert_eq!(pages.missing(1, 1, false), None);
    let mut buffer = PageBuffer::default();
    assert_eq!(pages.next_page().unwrap().and_then(|header| header.data_values()), Some(2));
    pages.load(&mut buffer).unwrap();
    assert_eq!(buffer.values(), [1, 2]);
    assert_eq!(pages.missing(0, 1, false).map(|range| range.start), Some(3 * page.len()));
    assert!(pages.next_page().is_err());
}

/// A page with an uncompressed body, `fields` being the bytes of the header after the sizes.
fn page(kind: u8, fields: &[u8], body: &[u8]) -> Vec<u8> {
    let size = (body.len() * 2) as u8;
    let mut page = vec![0x15, kind * 2, 0x15, size, 0x15, size];
    page.extend_from_slice(fields);
    page.extend_from_slice(body);
    page
}

/// A V1 page of PLAIN values with RLE levels.
fn v1(num_values: u8, body: &[u8]) -> Vec<u8> {
    page(0, &[0x2c, 0x15, num_values * 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0], body)
}

/// A V2 page of PLAIN values.
fn v2([num_values, nulls, rows, definition, repetition]: [u8; 5], body: &[u8]) -> Vec<u8> {
    let fields = [num_values, nulls, rows, 0, definition, repetition];
    let mut header = vec![0x5c];
    header.extend(fields.iter().flat_map(|field| [0x15, field * 2]));
    header.extend_from_slice(&[0, 0]);
    page(3, &header, body)
}

fn reader(chunk: Vec<u8>, max_definition_level: i16, num_values: u64) -> PageReader {
    let limits = Limits::default();
    PageReader::new(Bytes::from(chunk), Codec::Uncompressed, max_definition_level, num_values, limits, true).unwrap()
}

#[test]
fn levels_and_values_are_told_apart() {
    let mut buffer = PageBuffer::default();
    let mut load = |chunk, level, num_values| -> Result<(Vec<u8>, Vec<u8>)> {
        let mut pages = reader(chunk, level, num_values);
        assert!(pages.next_page()?.is_some());
        pages.load(&mut buffer)?;
        Ok((buffer.definition_levels().to_vec(), buffer.values().to_vec()))
    };
    // V1: levels behind their size; none in a REQUIRED column; a size past the end; no size; no values.
    assert_eq!(load(v1(3, &[2, 0, 0, 0, 6, 1, 9, 9]), 1, 3).unwrap(), (vec![6, 1], vec![9, 9]));
    assert_eq!(load(v1(3, &[2, 0, 0, 0, 6, 1, 9, 9]), 0, 3).unwrap(), (vec![], vec![2, 0, 0, 0, 6, 1, 9, 9]));
    assert!(load(v1(3, &[5, 0, 0, 0, 6, 1, 9, 9]), 1, 3).is_err());
    assert!(load(v1(3, &[255, 255, 255, 255, 6, 1, 9, 9]), 1, 3).is_err());
    assert!(load(v1(3, &[0, 0]), 1, 3).is_err());
    assert_eq!(load(v1(0, &[]), 1, 3).unwrap(), (vec![], vec![]));
    // V2: repetition levels first, which a flat column does not need.
    assert_eq!(load(v2([3, 0, 3, 2, 0], &[6, 1, 9, 9]), 1, 3).unwrap(), (vec![6, 1], vec![9, 9]));
    assert_eq!(load(v2([3, 0, 3, 2, 1], &[7, 6, 1, 9]), 1, 3).unwrap(), (vec![6, 1], vec![9]));
    assert_eq!(load(v2([3, 0, 3, 2, 1], &[7, 6, 1, 9]), 0, 3).unwrap(), (vec![], vec![9]));
    // More bytes of levels than there are, rows that are not the values, too many nulls, nulls in a REQUIRED column.
    assert!(load(v2([3, 0, 3, 2, 3], &[7, 6, 1, 9]), 1, 3).is_err());
    assert!(load(v2([3, 0, 2, 2, 0], &[6, 1, 9, 9]), 1, 3).is_err());
    assert!(load(v2([3, 4, 3, 2, 0], &[6, 1, 9, 9]), 1, 3).is_err());
    assert!(load(v2([3, 1, 3, 2, 0], &[6, 1, 9, 9]), 0, 3).is_err());
}

#[test]
fn bit_packed_levels_are_not_supported() {
    let chunk = page(0, &[0x2c, 0x15, 2, 0x15, 0, 0x15, 8, 0x15, 8, 0, 0], &[1, 9]);
    let mut buffer = PageBuffer::default();
    let mut pages = reader(chunk.clone(), 1, 1);
    pages.next_page().unwrap();
    assert!(matches!(pages.load(&mut buffer), Err(Error::Unsupported(_))));
    // In a REQUIRED column there are none.
    let mut pages = reader(chunk, 0, 1);
    pages.next_page().unwrap();
    pages.load(&mut buffer).unwrap();
}

#[test]
fn counts_of_the_metadata_and_of_the_pages_must_agree() {
    let mut buffer = PageBuffer::default();
    let chunk = [v1(3, &[1; 3]), v1(2, &[1; 2])].concat();
    assert_eq!(drain(reader(chunk.clone(), 0, 5), &mut buffer).unwrap(), 5);
    // Fewer in the metadata: the chunk ends with the page that completes them, or the page has too many.
    assert_eq!(drain(reader(chunk.clone(), 0, 3), &mut buffer).unwrap(), 3);
    assert_eq!(drain(reader(chunk.clone(), 0, 0), &mut buffer).unwrap(), 0);
    let error = drain(reader(chunk.clone(), 0, 4), &mut buffer).unwrap_err();
    assert_eq!(error.place().page, Some(1));
    // More in the metadata.
    let error = drain(reader(chunk, 0, 6), &mut buffer).unwrap_err();
    assert_eq!(error.place().page, Some(2));
}

#[test]
fn index_pages_and_pages_without_values_are_stepped_over() {
    let mut buffer = PageBuffer::default();
    let index = page(1, &[0x3c, 0, 0], &[7; 5]);
    let unknown = page(9, &[0], &[7; 4]);
    let chunk = [index.clone(), v1(0, &[]), unknown, v1(2, &[1; 2]), index].concat();
    let mut pages = reader(chunk, 0, 2);
    assert_eq!(pages.next_page().unwrap().unwrap().data_values(), Some(0));
    assert_eq!(pages.page_index(), 1);
    pages.load(&mut buffer).unwrap();
    assert!(buffer.values().is_empty());
    assert_eq!(pages.next_page().unwrap().unwrap().data_values(), Some(2));
    assert_eq!(pages.page_index(), 3);
    assert_eq!(pages.next_page().unwrap(), None);
}

#[test]
fn a_dictionary_comes_first_or_not_at_all() {
    let mut buffer = PageBuffer::default();
    let dictionary = page(2, &[0x4c, 0x15, 4, 0x15, 0, 0, 0], &[8; 2]);
    let chunk = [dictionary.clone(), v1(2, &[1; 2])].concat();
    assert_eq!(drain(reader(chunk, 1, 2), &mut buffer).err().map(|e| e.place().page), Some(Some(1)));
    let chunk = [dictionary.clone(), v1(2, &[1; 2])].concat();
    let mut pages = reader(chunk, 0, 2);
    pages.next_page().unwrap();
    pages.load(&mut buffer).unwrap();
    assert_eq!((buffer.num_values(), buffer.values()), (2, &[8, 8][..]));
    for chunk in [[dictionary.clone(), dictionary.clone(), v1(2, &[1; 2])], [v1(1, &[1]), dictionary, v1(1, &[1])]] {
        assert!(drain(reader(chunk.concat(), 0, 2), &mut buffer).is_err());
    }
}

#[test]
fn endless_pages_without_values_end() {
    let mut buffer = PageBuffer::default();
    assert!(drain(reader(v1(0, &[]).repeat(10_000), 0, 2), &mut buffer).is_err());
}

#[test]
fn columns_that_are_not_flat_are_not_supported() {
    for level in [-1, 2, i16::MAX] {
        let pages = PageReader::new(Bytes::new(), Codec::Snappy, level, 1, Limits::default(), false);
        assert!(matches!(pages, Err(Error::Unsupported(_))));
    }
}
