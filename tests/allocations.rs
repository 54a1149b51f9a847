//! Decoding allocates nothing once its buffers have grown.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use bytes::Bytes;
use miniblock::internals::encoding::boolean::{PlainBoolean, RleBoolean};
use miniblock::internals::encoding::byte_array::ViewBuffer;
use miniblock::internals::encoding::byte_stream_split::ByteStreamSplit;
use miniblock::internals::encoding::delta_binary_packed::DeltaBinaryPacked;
use miniblock::internals::encoding::delta_byte_array::DeltaByteArray;
use miniblock::internals::encoding::delta_length_byte_array::DeltaLengthByteArray;
use miniblock::internals::encoding::dictionary::Indices;
use miniblock::internals::encoding::plain::{PlainByteArray, PlainFixed, PlainFixedByteArray};
use miniblock::internals::encoding::rle::Levels;
use miniblock::internals::page::{Codec, Limits, PageBuffer, PageKind, PageReader};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use crate::allocator::allocations;

const PAGE: usize = 65_536;
const PAGES: usize = 4;

/// Each page holds the same, or buffers would have to grow with it.
fn pseudo_random(i: usize) -> u64 {
    ((i % PAGE) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A column chunk of [`PAGES`] pages of [`PAGE`] values.
fn chunk(
    array: ArrayRef,
    nullable: bool,
    encoding: Encoding,
    dictionary: bool,
    compression: Compression,
    version: WriterVersion,
) -> (Bytes, Codec) {
    let batch = RecordBatch::try_from_iter_with_nullable([("c", array, nullable)]).unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(dictionary)
        .set_encoding(encoding)
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_row_count_limit(PAGE)
        .set_data_page_size_limit(usize::MAX)
        .set_dictionary_page_size_limit(usize::MAX)
        .set_write_batch_size(PAGE)
        .set_max_row_group_row_count(None)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes = Bytes::from(writer.into_inner().unwrap());
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    assert_eq!(metadata.num_row_groups(), 1);
    let column = metadata.row_group(0).column(0);
    let (start, len) = column.byte_range();
    let (start, len) = (usize::try_from(start).unwrap(), usize::try_from(len).unwrap());
    (bytes.slice(start..start + len), Codec::try_from(column.compression()).unwrap())
}

/// Reads the pages of a chunk by `read`, and counts what those after the first data page allocate.
fn check(name: &str, (bytes, codec): (Bytes, Codec), nullable: bool, mut read: impl FnMut(&PageBuffer, PageKind)) {
    let levels = i16::from(nullable);
    let mut reader = PageReader::new(bytes, codec, levels, (PAGE * PAGES) as u64, Limits::default(), false).unwrap();
    let mut buffer = PageBuffer::default();
    let mut data_pages = 0;
    loop {
        let mut kind = None;
        let count = allocations(|| {
            if let Some(header) = reader.next_page().unwrap() {
                reader.load(&mut buffer).unwrap();
                read(&buffer, header.kind);
                kind = Some(header.kind);
            }
        });
        let Some(kind) = kind else { break };
        if !matches!(kind, PageKind::Dictionary { .. }) {
            data_pages += 1;
            assert_eq!(buffer.num_values(), PAGE, "{name}");
            assert!(data_pages == 1 || count == 0, "{name}: {count} allocations in page {data_pages}");
        }
    }
    assert_eq!(data_pages, PAGES, "{name}");
}

/// Codecs whose crates can be used again without allocating.
fn compressions() -> [Compression; 4] {
    [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW, Compression::ZSTD(Default::default())]
}

fn everywhere(mut test: impl FnMut(Compression, WriterVersion)) {
    for compression in compressions() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            test(compression, version);
        }
    }
}

#[test]
fn delta_binary_packed() {
    let ints: ArrayRef =
        Arc::new(Int32Array::from_iter_values((0..PAGE * PAGES).map(|i| (pseudo_random(i) >> 52) as i32)));
    let longs: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..PAGE * PAGES).map(|i| pseudo_random(i) as i64 >> (i % PAGE / 500 % 64)),
    ));
    everywhere(|compression, version| {
        let chunk_of = |array: &ArrayRef| {
            chunk(Arc::clone(array), false, Encoding::DELTA_BINARY_PACKED, false, compression, version)
        };
        let (mut decoder, mut out) = (DeltaBinaryPacked::<i32>::default(), vec![0; PAGE]);
        check("INT32", chunk_of(&ints), false, |page, _| {
            decoder.reset(page.values()).unwrap();
            decoder.read(page.values(), &mut out).unwrap();
        });
        let (mut decoder, mut out) = (DeltaBinaryPacked::<i64>::default(), vec![0; 1024]);
        check("INT64 by windows", chunk_of(&longs), false, |page, _| {
            decoder.reset(page.values()).unwrap();
            for window in 0..PAGE / 1024 {
                if window % 3 == 0 {
                    decoder.skip(page.values(), 1024).unwrap();
                } else {
                    decoder.read(page.values(), &mut out).unwrap();
                }
            }
        });
    });
}

fn strings() -> ArrayRef {
    let text = |i: usize| format!("{:05}-{}", i % PAGE / 7, "x".repeat((pseudo_random(i) % 30) as usize));
    Arc::new(StringArray::from_iter_values((0..PAGE * PAGES).map(text)))
}

#[test]
fn byte_arrays() {
    let strings = strings();
    everywhere(|compression, version| {
        let chunk_of = |encoding| chunk(Arc::clone(&strings), false, encoding, false, compression, version);
        let (mut decoder, mut out) = (PlainByteArray::default(), ViewBuffer::default());
        check("PLAIN", chunk_of(Encoding::PLAIN), false, |page, _| {
            out.clear();
            decoder.reset();
            decoder.read(page.values(), PAGE, &mut out).unwrap();
        });
        let (mut decoder, mut out) = (DeltaLengthByteArray::default(), ViewBuffer::default());
        check("DELTA_LENGTH_BYTE_ARRAY", chunk_of(Encoding::DELTA_LENGTH_BYTE_ARRAY), false, |page, _| {
            out.clear();
            decoder.reset(page.values()).unwrap();
            decoder.read(page.values(), PAGE, &mut out).unwrap();
        });
        let (mut decoder, mut out) = (DeltaByteArray::default(), ViewBuffer::default());
        check("DELTA_BYTE_ARRAY", chunk_of(Encoding::DELTA_BYTE_ARRAY), false, |page, _| {
            out.clear();
            decoder.reset(page.values(), false).unwrap();
            decoder.read(page.values(), PAGE / 2, &mut out).unwrap();
            decoder.skip(page.values(), PAGE / 4).unwrap();
            decoder.read(page.values(), PAGE / 4, &mut out).unwrap();
        });
    });
}

#[test]
fn fixed_byte_arrays_and_byte_stream_split() {
    let doubles: ArrayRef =
        Arc::new(Float64Array::from_iter_values((0..PAGE * PAGES).map(|i| pseudo_random(i) as f64)));
    for width in [7, 16, 20] {
        let value = |i: usize| {
            let mut value = vec![(i % PAGE / 700) as u8; width];
            value[width - 3..].copy_from_slice(&pseudo_random(i).to_le_bytes()[..3]);
            value
        };
        let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter((0..PAGE * PAGES).map(value)).unwrap());
        everywhere(|compression, version| {
            let chunk_of = |encoding| chunk(Arc::clone(&array), false, encoding, false, compression, version);
            let (mut decoder, mut out) = (PlainFixedByteArray::default(), Vec::new());
            check("PLAIN", chunk_of(Encoding::PLAIN), false, |page, _| {
                out.clear();
                decoder.reset();
                decoder.read(page.values(), PAGE, width, &mut out).unwrap();
            });
            let (mut decoder, mut out) = (DeltaByteArray::default(), Vec::new());
            check("DELTA_BYTE_ARRAY", chunk_of(Encoding::DELTA_BYTE_ARRAY), false, |page, _| {
                out.clear();
                decoder.reset(page.values(), false).unwrap();
                decoder.read_fixed(page.values(), PAGE / 2, width, &mut out).unwrap();
                decoder.skip(page.values(), PAGE / 4).unwrap();
                decoder.read_fixed(page.values(), PAGE / 4, width, &mut out).unwrap();
            });
            let (mut decoder, mut out) = (ByteStreamSplit::default(), Vec::new());
            check("BYTE_STREAM_SPLIT", chunk_of(Encoding::BYTE_STREAM_SPLIT), false, |page, _| {
                out.clear();
                decoder.reset(page.values(), width).unwrap();
                decoder.read_fixed(page.values(), PAGE, &mut out).unwrap();
            });
        });
    }
    everywhere(|compression, version| {
        let (mut decoder, mut out) = (ByteStreamSplit::default(), vec![0; PAGE]);
        let chunk = chunk(Arc::clone(&doubles), false, Encoding::BYTE_STREAM_SPLIT, false, compression, version);
        check("BYTE_STREAM_SPLIT", chunk, false, |page, _| {
            decoder.reset(page.values(), 8).unwrap();
            decoder.read::<i64>(page.values(), &mut out).unwrap();
        });
    });
}

#[test]
fn plain_and_dictionary() {
    let ints: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..PAGE * PAGES).map(|i| (pseudo_random(i) >> 56) as i64)));
    everywhere(|compression, version| {
        let chunk_of = |dictionary| chunk(Arc::clone(&ints), false, Encoding::PLAIN, dictionary, compression, version);
        let (mut decoder, mut out) = (PlainFixed::<i64>::default(), vec![0; PAGE]);
        check("PLAIN", chunk_of(false), false, |page, _| {
            decoder.reset();
            decoder.read(page.values(), &mut out).unwrap();
        });
        let (mut decoder, mut out) = (Indices::default(), vec![0; PAGE]);
        check("RLE_DICTIONARY", chunk_of(true), false, |page, kind| {
            if !matches!(kind, PageKind::Dictionary { .. }) {
                decoder.reset(page.values()).unwrap();
                decoder.read(page.values(), &mut out).unwrap();
            }
        });
    });
}

#[test]
fn levels_and_booleans() {
    let nullable: ArrayRef = Arc::new(Int32Array::from_iter((0..PAGE * PAGES).map(|i| {
        (!pseudo_random(i).is_multiple_of(3) || (i % PAGE / 1000).is_multiple_of(2)).then_some((i % PAGE % 1000) as i32)
    })));
    let booleans: ArrayRef = Arc::new(BooleanArray::from_iter(
        (0..PAGE * PAGES).map(|i| Some(pseudo_random(i % PAGE / 9).is_multiple_of(2))),
    ));
    everywhere(|compression, version| {
        let (mut levels, mut words) = (Levels::default(), vec![0; PAGE / 64]);
        let (mut decoder, mut out) = (DeltaBinaryPacked::<i32>::default(), vec![0; PAGE]);
        let ints = chunk(Arc::clone(&nullable), true, Encoding::DELTA_BINARY_PACKED, false, compression, version);
        check("OPTIONAL INT32", ints, true, |page, _| {
            levels.reset();
            let set = levels.read(page.definition_levels(), PAGE, &mut words, 0).unwrap();
            decoder.reset(page.values()).unwrap();
            decoder.read(page.values(), &mut out[..set]).unwrap();
        });
        let (mut plain, mut rle) = (PlainBoolean::default(), RleBoolean::default());
        for encoding in [Encoding::PLAIN, Encoding::RLE] {
            let chunk = chunk(Arc::clone(&booleans), false, encoding, false, compression, version);
            check("BOOLEAN", chunk, false, |page, _| {
                if encoding == Encoding::RLE {
                    rle.reset(page.values()).unwrap();
                    rle.read(page.values(), PAGE, &mut words, 0).unwrap();
                } else {
                    plain.reset();
                    plain.read(page.values(), PAGE, &mut words, 0).unwrap();
                }
            });
        }
    });
}
