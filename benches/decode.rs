//! Decoders of whole pages against those of the parquet crate, on the same bytes.
//!
//! Numbers go into slices for both. Strings become views for both: the peer is the parquet crate's reader of view arrays;
//! both make sure that they are UTF-8 (they are ASCII here). Every case has one page, required unless it says nullable.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot run has nothing to report")]

mod support;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow::datatypes::DataType;
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
use miniblock::internals::kernels::{Value, kernels};
use parquet::arrow::ArrowWriter;
use parquet::arrow::array_reader::{
    ArrayReader, PrimitiveArrayReader, make_byte_view_array_reader, make_fixed_len_byte_array_reader,
};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::data_type::{BoolType, DataType as PhysicalType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::encodings::decoding::{Decoder, DictDecoder, PlainDecoder, get_decoder};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;

use support::Comparison;

const VALUES: usize = 65_536;

/// Pages of one chunk, as the parquet crate's writer makes them: a dictionary page, if there is one, and a data page.
#[derive(Clone)]
struct Chunk {
    pages: Vec<Page>,
    column: ColumnDescPtr,
}

impl Chunk {
    fn new(array: ArrayRef, nullable: bool, encoding: Encoding, dictionary: bool) -> Self {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", array, nullable)]).unwrap();
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(dictionary)
            .set_encoding(encoding)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_data_page_row_count_limit(VALUES)
            .set_data_page_size_limit(usize::MAX)
            .set_dictionary_page_size_limit(usize::MAX)
            .set_write_batch_size(VALUES)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let reader = SerializedFileReader::new(Bytes::from(writer.into_inner().unwrap())).unwrap();
        let column = reader.metadata().file_metadata().schema_descr().column(0);
        let row_group = reader.get_row_group(0).unwrap();
        let pages: Vec<Page> = row_group.get_column_page_reader(0).unwrap().map(Result::unwrap).collect();
        assert_eq!(pages.len(), 1 + usize::from(dictionary), "one data page");
        assert_eq!(pages[pages.len() - 1].num_values() as usize, VALUES);
        Self { pages, column }
    }

    fn data(&self) -> Bytes {
        self.pages[self.pages.len() - 1].buffer().clone()
    }

    fn dictionary(&self) -> Bytes {
        assert!(self.pages[0].is_dictionary_page());
        self.pages[0].buffer().clone()
    }

    /// The same chunk again and again.
    fn endless(&self) -> Box<dyn PageIterator> {
        Box::new(Endless(self.clone()))
    }
}

struct Endless(Chunk);

impl Iterator for Endless {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(Ok(Box::new(Pages { pages: self.0.pages.clone(), next: 0 })))
    }
}

impl PageIterator for Endless {}

struct Pages {
    pages: Vec<Page>,
    next: usize,
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.next += 1;
        Ok(self.pages.get(self.next - 1).cloned())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(self.pages.get(self.next).map(|page| PageMetadata {
            num_rows: None,
            num_levels: Some(page.num_values() as usize),
            is_dict: page.is_dictionary_page(),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.next += 1;
        Ok(())
    }
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Values whose deltas take `width` bits.
fn of_width(width: u32) -> impl Iterator<Item = u64> {
    let (mut seed, mut last) = (u64::from(width), 0u64);
    (0..VALUES).map(move |i| {
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        // Both ends in every miniblock, so that no block is narrower.
        let delta = match i % 16 {
            3 => 0,
            7 => mask,
            _ => random(&mut seed) & mask,
        };
        last = last.wrapping_add(delta);
        last
    })
}

fn decoder<T: PhysicalType>(chunk: &Chunk, encoding: Encoding) -> Box<dyn Decoder<T>> {
    get_decoder(chunk.column.clone(), encoding).unwrap()
}

fn main() {
    let mut bench = Comparison::from_args();
    delta_binary_packed(&mut bench);
    byte_arrays(&mut bench);
    fixed_byte_arrays(&mut bench);
    byte_stream_split(&mut bench);
    plain(&mut bench);
    dictionaries(&mut bench);
    booleans(&mut bench);
    nullable(&mut bench);
    bench.finish();
}

fn name(case: &str) -> String {
    format!("decode/{case}/n{VALUES}/{}", kernels().isa().name())
}

fn delta_binary_packed(bench: &mut Comparison) {
    for width in [0, 1, 4, 8, 12, 16, 20, 24, 32] {
        // The low 32 bits, on purpose.
        let values = of_width(width).map(|value| value as i32);
        let chunk =
            Chunk::new(Arc::new(Int32Array::from_iter_values(values)), false, Encoding::DELTA_BINARY_PACKED, false);
        let page = chunk.data();
        let (mut ours, mut out) = (DeltaBinaryPacked::<i32>::default(), vec![0; VALUES]);
        let (mut peer, mut peer_out) = (decoder::<Int32Type>(&chunk, Encoding::DELTA_BINARY_PACKED), vec![0; VALUES]);
        ours.reset(&page).unwrap();
        ours.read(&page, &mut out).unwrap();
        peer.set_data(page.clone(), VALUES).unwrap();
        peer.get(&mut peer_out).unwrap();
        assert_eq!(out, peer_out, "width {width}");
        bench.case(
            &name(&format!("i32/w{width}")),
            VALUES,
            || {
                ours.reset(&page).unwrap();
                ours.read(&page, &mut out).unwrap();
                out[VALUES - 1]
            },
            || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap();
                peer_out[VALUES - 1]
            },
        );
    }
    for width in [0, 8, 16, 24, 32, 48, 64] {
        let values = of_width(width).map(|value| value as i64);
        let chunk =
            Chunk::new(Arc::new(Int64Array::from_iter_values(values)), false, Encoding::DELTA_BINARY_PACKED, false);
        let page = chunk.data();
        let (mut ours, mut out) = (DeltaBinaryPacked::<i64>::default(), vec![0; VALUES]);
        let (mut peer, mut peer_out) = (decoder::<Int64Type>(&chunk, Encoding::DELTA_BINARY_PACKED), vec![0; VALUES]);
        ours.reset(&page).unwrap();
        ours.read(&page, &mut out).unwrap();
        peer.set_data(page.clone(), VALUES).unwrap();
        peer.get(&mut peer_out).unwrap();
        assert_eq!(out, peer_out, "width {width}");
        bench.case(
            &name(&format!("i64/w{width}")),
            VALUES,
            || {
                ours.reset(&page).unwrap();
                ours.read(&page, &mut out).unwrap();
                out[VALUES - 1]
            },
            || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap();
                peer_out[VALUES - 1]
            },
        );
    }
}

/// Kinds of strings by name: few and short; sentences; sorted keys that share prefixes.
fn strings(kind: &str) -> ArrayRef {
    const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    const WORDS: [&str; 12] = [
        "furiously",
        "quickly",
        "the",
        "ironic",
        "deposits",
        "sleep",
        "above",
        "final",
        "requests",
        "among",
        "pending",
        "even",
    ];
    let mut seed = 7;
    let values = (0..VALUES).map(|i| match kind {
        "shipmode" => MODES[random(&mut seed) as usize % MODES.len()].to_string(),
        "comment" => {
            let words = 2 + random(&mut seed) as usize % 5;
            (0..words).map(|_| WORDS[random(&mut seed) as usize % WORDS.len()]).collect::<Vec<_>>().join(" ")
        }
        _ => format!("Customer#{:09}", i * 3 + random(&mut seed) as usize % 3),
    });
    Arc::new(StringArray::from_iter_values(values))
}

fn views(chunk: &Chunk) -> Box<dyn ArrayReader> {
    make_byte_view_array_reader(chunk.endless(), chunk.column.clone(), Some(DataType::Utf8View), VALUES, None).unwrap()
}

fn next(reader: &mut dyn ArrayReader) -> ArrayRef {
    let array = reader.next_batch(VALUES).unwrap();
    assert_eq!(array.len(), VALUES);
    array
}

fn byte_arrays(bench: &mut Comparison) {
    for kind in ["shipmode", "comment", "key"] {
        let array = strings(kind);
        let chunk_of = |encoding| Chunk::new(Arc::clone(&array), false, encoding, false);
        let mut out = ViewBuffer::default();

        let chunk = chunk_of(Encoding::PLAIN);
        let (page, mut ours, mut peer) = (chunk.data(), PlainByteArray::default(), views(&chunk));
        bench.case(
            &name(&format!("plain-byte-array/{kind}")),
            VALUES,
            || {
                out.clear();
                ours.reset(&page);
                ours.read(&page, VALUES, &mut out).unwrap();
                assert!(ours.is_ascii());
            },
            || next(peer.as_mut()),
        );

        let chunk = chunk_of(Encoding::DELTA_LENGTH_BYTE_ARRAY);
        let (page, mut ours, mut peer) = (chunk.data(), DeltaLengthByteArray::default(), views(&chunk));
        bench.case(
            &name(&format!("delta-length-byte-array/{kind}")),
            VALUES,
            || {
                out.clear();
                ours.reset(&page).unwrap();
                ours.read(&page, VALUES, &mut out).unwrap();
                assert!(ours.is_ascii());
            },
            || next(peer.as_mut()),
        );

        let chunk = chunk_of(Encoding::DELTA_BYTE_ARRAY);
        let (page, mut ours, mut peer) = (chunk.data(), DeltaByteArray::default(), views(&chunk));
        bench.case(
            &name(&format!("delta-byte-array/{kind}")),
            VALUES,
            || {
                out.clear();
                ours.reset(&page, false).unwrap();
                ours.read(&page, VALUES, &mut out).unwrap();
                assert!(ours.is_ascii());
            },
            || next(peer.as_mut()),
        );
    }
}

/// Keys that share prefixes.
fn fixed_byte_arrays(bench: &mut Comparison) {
    for width in [5, 16] {
        let mut seed = 11;
        let values = (0..VALUES as u128).map(|i| {
            let key = i << 20 | u128::from(random(&mut seed) % (1 << 20));
            key.to_be_bytes()[16 - width..].to_vec()
        });
        let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(values).unwrap());
        for encoding in [Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT] {
            let chunk = Chunk::new(Arc::clone(&array), false, encoding, false);
            let page = chunk.data();
            let (mut plain, mut delta) = (PlainFixedByteArray::default(), DeltaByteArray::default());
            let mut split = ByteStreamSplit::default();
            let mut out = Vec::new();
            let mut peer =
                make_fixed_len_byte_array_reader(chunk.endless(), chunk.column.clone(), None, VALUES, None).unwrap();
            bench.case(
                &name(&format!("fixed-len-byte-array/{encoding}/w{width}")),
                VALUES,
                || {
                    out.clear();
                    match encoding {
                        Encoding::DELTA_BYTE_ARRAY => {
                            delta.reset(&page, false).unwrap();
                            delta.read_fixed(&page, VALUES, width, &mut out).unwrap();
                        }
                        Encoding::BYTE_STREAM_SPLIT => {
                            split.reset(&page, width).unwrap();
                            split.read_fixed(&page, VALUES, &mut out).unwrap();
                        }
                        _ => {
                            plain.reset();
                            plain.read(&page, VALUES, width, &mut out).unwrap();
                        }
                    }
                },
                || next(peer.as_mut()),
            );
        }
    }
}

fn byte_stream_split(bench: &mut Comparison) {
    let array: ArrayRef = Arc::new(Float32Array::from_iter_values((0..VALUES).map(|i| i as f32 / 8.0)));
    let chunk = Chunk::new(array, false, Encoding::BYTE_STREAM_SPLIT, false);
    let page = chunk.data();
    let (mut ours, mut out) = (ByteStreamSplit::default(), vec![0; VALUES]);
    let (mut peer, mut peer_out) = (decoder::<FloatType>(&chunk, Encoding::BYTE_STREAM_SPLIT), vec![0.0; VALUES]);
    bench.case(
        &name("byte-stream-split/f32"),
        VALUES,
        || {
            ours.reset(&page, 4).unwrap();
            ours.read::<i32>(&page, &mut out).unwrap();
        },
        || {
            peer.set_data(page.clone(), VALUES).unwrap();
            peer.get(&mut peer_out).unwrap()
        },
    );
    let array: ArrayRef = Arc::new(Float64Array::from_iter_values((0..VALUES).map(|i| i as f64 / 8.0)));
    let chunk = Chunk::new(array, false, Encoding::BYTE_STREAM_SPLIT, false);
    let page = chunk.data();
    let (mut ours, mut out) = (ByteStreamSplit::default(), vec![0; VALUES]);
    let (mut peer, mut peer_out) = (decoder::<DoubleType>(&chunk, Encoding::BYTE_STREAM_SPLIT), vec![0.0; VALUES]);
    bench.case(
        &name("byte-stream-split/f64"),
        VALUES,
        || {
            ours.reset(&page, 8).unwrap();
            ours.read::<i64>(&page, &mut out).unwrap();
        },
        || {
            peer.set_data(page.clone(), VALUES).unwrap();
            peer.get(&mut peer_out).unwrap()
        },
    );
}

fn plain(bench: &mut Comparison) {
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(of_width(20).map(|value| value as i32)));
    let chunk = Chunk::new(array, false, Encoding::PLAIN, false);
    let page = chunk.data();
    let (mut ours, mut out) = (PlainFixed::<i32>::default(), vec![0; VALUES]);
    let (mut peer, mut peer_out) = (PlainDecoder::<Int32Type>::new(0), vec![0; VALUES]);
    bench.case(
        &name("plain/i32"),
        VALUES,
        || {
            ours.reset();
            ours.read(&page, &mut out).unwrap();
        },
        || {
            peer.set_data(page.clone(), VALUES).unwrap();
            peer.get(&mut peer_out).unwrap()
        },
    );
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(of_width(40).map(|value| value as i64)));
    let chunk = Chunk::new(array, false, Encoding::PLAIN, false);
    let page = chunk.data();
    let (mut ours, mut out) = (PlainFixed::<i64>::default(), vec![0; VALUES]);
    let (mut peer, mut peer_out) = (PlainDecoder::<Int64Type>::new(0), vec![0; VALUES]);
    bench.case(
        &name("plain/i64"),
        VALUES,
        || {
            ours.reset();
            ours.read(&page, &mut out).unwrap();
        },
        || {
            peer.set_data(page.clone(), VALUES).unwrap();
            peer.get(&mut peer_out).unwrap()
        },
    );
}

fn dictionaries(bench: &mut Comparison) {
    for entries in [50, 2000] {
        let mut seed = 3;
        // Values below `entries`.
        let values = (0..VALUES).map(|_| (random(&mut seed) % entries) as i32 * 11);
        let chunk = Chunk::new(Arc::new(Int32Array::from_iter_values(values)), false, Encoding::PLAIN, true);
        let (page, dictionary_page) = (chunk.data(), chunk.dictionary());
        let entries_read = dictionary_page.len() / 4;
        let mut dictionary = vec![0i32; entries_read];
        PlainFixed::<i32>::default().read(&dictionary_page, &mut dictionary).unwrap();
        let (mut ours, mut indices, mut out) = (Indices::default(), vec![0; VALUES], vec![0i32; VALUES]);
        let mut entry_decoder = PlainDecoder::<Int32Type>::new(0);
        entry_decoder.set_data(dictionary_page, entries_read).unwrap();
        let (mut peer, mut peer_out) = (DictDecoder::<Int32Type>::new(), vec![0; VALUES]);
        peer.set_dict(Box::new(entry_decoder)).unwrap();
        bench.case(
            &name(&format!("dictionary/i32/d{entries}")),
            VALUES,
            || {
                ours.reset(&page).unwrap();
                ours.read(&page, &mut indices).unwrap();
                assert!(i32::gather(kernels(), &dictionary, &indices, &mut out));
            },
            || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap()
            },
        );
    }
    let chunk = Chunk::new(strings("shipmode"), false, Encoding::PLAIN, true);
    let (page, dictionary_page) = (chunk.data(), chunk.dictionary());
    let (mut ours, mut indices, mut out) = (Indices::default(), vec![0; VALUES], vec![0u128; VALUES]);
    let mut dictionary = ViewBuffer::default();
    let mut entries = PlainByteArray::default();
    let mut peer = views(&chunk);
    bench.case(
        &name("dictionary/views/shipmode"),
        VALUES,
        || {
            dictionary.clear();
            entries.reset(&dictionary_page);
            entries.read(&dictionary_page, chunk.pages[0].num_values() as usize, &mut dictionary).unwrap();
            ours.reset(&page).unwrap();
            ours.read(&page, &mut indices).unwrap();
            assert!(u128::gather(kernels(), &dictionary.views, &indices, &mut out));
        },
        || next(peer.as_mut()),
    );
}

fn booleans(bench: &mut Comparison) {
    for (kind, run) in [("mixed", 1), ("runs", 300)] {
        let mut seed = 5;
        let mut value = false;
        let values: Vec<bool> = (0..VALUES)
            .map(|i| {
                if i % run == 0 {
                    value = random(&mut seed).is_multiple_of(2);
                }
                value
            })
            .collect();
        let array: ArrayRef = Arc::new(BooleanArray::from(values));
        let mut words = vec![0u64; VALUES / 64];
        let mut peer_out = vec![false; VALUES];

        let chunk = Chunk::new(Arc::clone(&array), false, Encoding::RLE, false);
        let (page, mut ours) = (chunk.data(), RleBoolean::default());
        let mut peer = decoder::<BoolType>(&chunk, Encoding::RLE);
        bench.case(
            &name(&format!("rle-boolean/{kind}")),
            VALUES,
            || {
                ours.reset(&page).unwrap();
                ours.read(&page, VALUES, &mut words, 0).unwrap();
            },
            || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap()
            },
        );

        let chunk = Chunk::new(array, false, Encoding::PLAIN, false);
        let (page, mut ours) = (chunk.data(), PlainBoolean::default());
        let mut peer = decoder::<BoolType>(&chunk, Encoding::PLAIN);
        bench.case(
            &name(&format!("plain-boolean/{kind}")),
            VALUES,
            || {
                ours.reset();
                ours.read(&page, VALUES, &mut words, 0).unwrap();
            },
            || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap()
            },
        );
    }
}

/// Levels, dense values, and the values at their places; the peer is the parquet crate's array reader.
fn nullable(bench: &mut Comparison) {
    for percent in [0, 10, 50] {
        let mut seed = 9;
        let values = of_width(12).map(|value| (random(&mut seed) % 100 >= percent).then_some(value as i32));
        let array: ArrayRef = Arc::new(Int32Array::from_iter(values));
        let chunk = Chunk::new(array, true, Encoding::DELTA_BINARY_PACKED, false);
        let page = chunk.data();
        // Pages of version 1: the size of the levels, the levels, the values.
        let size = u32::from_le_bytes(page[..4].try_into().unwrap()) as usize;
        let (levels, dense_page) = (page.slice(4..4 + size), page.slice(4 + size..));
        let (mut ours, mut validity, mut words) =
            (DeltaBinaryPacked::<i32>::default(), Levels::default(), vec![0; VALUES / 64]);
        let (mut dense, mut out) = (vec![0; VALUES], vec![0; VALUES]);
        let mut peer =
            PrimitiveArrayReader::<Int32Type>::new(chunk.endless(), chunk.column.clone(), None, VALUES, None).unwrap();
        bench.case(
            &name(&format!("nullable/i32/w12/null{percent}")),
            VALUES,
            || {
                validity.reset();
                let set = validity.read(&levels, VALUES, &mut words, 0).unwrap();
                ours.reset(&dense_page).unwrap();
                ours.read(&dense_page, &mut dense[..set]).unwrap();
                i32::expand(kernels(), &dense[..set], &words, VALUES, &mut out)
            },
            || next(&mut peer),
        );
    }
}
