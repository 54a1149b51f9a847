//! Decoders of whole pages against those of the parquet crate, on the same bytes.
//!
//! DELTA_BINARY_PACKED is read in every way that there is, at many widths and on each instruction set of the machine; the
//! rest is decoded on the one that is chosen. Cases are named `FACE/TYPE/WIDTH/COUNT/ISA`.
//!
//! Numbers go into slices for both. Strings become views for both: the peer is the parquet crate's reader of view arrays;
//! both make sure that they are UTF-8 (they are ASCII here). Every case has one page, required unless it says nullable.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot run has nothing to report")]

#[path = "support/delta.rs"]
mod delta;
mod support;

use std::cell::RefCell;
use std::ops::RangeInclusive;
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
use miniblock::internals::kernels::{Comparison, Isa, Kernels, Value, kernels, kernels_for};
use parquet::arrow::ArrowWriter;
use parquet::arrow::array_reader::{
    ArrayReader, PrimitiveArrayReader, make_byte_view_array_reader, make_fixed_len_byte_array_reader,
};
use parquet::basic::Encoding;
use parquet::column::page::{self, PageIterator, PageMetadata, PageReader};
use parquet::data_type::{BoolType, DataType as PhysicalType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::encodings::decoding::{Decoder, DictDecoder, PlainDecoder, get_decoder};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;

use delta::{Integer, Page};
use support::{Bench, Buffer, PEER, random};

/// Values of a page of DELTA_BINARY_PACKED.
const COUNTS: [usize; 2] = [1024, 65_536];

/// Values of the other pages.
const VALUES: usize = 65_536;

/// Pages of one chunk, as the parquet crate's writer makes them: a dictionary page, if there is one, and a data page.
#[derive(Clone)]
struct Chunk {
    pages: Vec<page::Page>,
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
        let pages: Vec<page::Page> = row_group.get_column_page_reader(0).unwrap().map(Result::unwrap).collect();
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
    pages: Vec<page::Page>,
    next: usize,
}

impl Iterator for Pages {
    type Item = Result<page::Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<page::Page>> {
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
    let mut bench = Bench::from_args();
    delta_binary_packed::<i32>(&mut bench);
    delta_binary_packed::<i64>(&mut bench);
    arrow_go(&mut bench);
    byte_arrays(&mut bench);
    fixed_byte_arrays(&mut bench);
    byte_stream_split(&mut bench);
    plain(&mut bench);
    dictionaries(&mut bench);
    booleans(&mut bench);
    nullable(&mut bench);
    bench.finish();
}

/// A case of the instruction set that is chosen.
fn name(case: &str) -> String {
    format!("{case}/n{VALUES}/{}", kernels().isa().name())
}

/// Widths that all miniblocks have, or that are drawn for each.
fn widths<T: Integer>() -> Vec<RangeInclusive<u32>> {
    let mut widths = [0, 1, 2, 4, 7, 8, 12, 16, 20, 24, 28, 31, 32].map(|width| width..=width).to_vec();
    widths.extend([9..=14, 1..=8, 10..=24, 0..=32]);
    if T::BITS == 64 {
        widths.extend([33, 40, 48, 56, 57, 58, 63, 64].map(|width| width..=width));
        widths.push(0..=63);
    }
    widths
}

fn delta_binary_packed<T: Integer>(bench: &mut Bench) {
    for widths in widths::<T>() {
        let kind = match widths.clone().count() {
            1 => format!("w{}", widths.start()),
            _ => format!("w{}-{}", widths.start(), widths.end()),
        };
        for count in COUNTS {
            let mut seed = 1;
            let page = Page::<T>::new(&mut seed, count, &widths);
            let near = [(); 2].map(|()| Page::<T>::near(&mut seed, count, &widths));
            for kernels in tables() {
                decode(bench, kernels, &kind, &page);
                sum(bench, kernels, &kind, &page);
                range(bench, kernels, &kind, &page);
                compare(bench, kernels, &kind, &near);
            }
        }
    }
    // Velox has a strategy for each of these bands.
    let bands = [("velox-0", 0..=0), ("velox-1-16", 1..=16), ("velox-17-32", 17..=32), ("velox-33-64", 33..=64)];
    for (kind, band) in bands.into_iter().filter(|(_, band)| *band.end() <= T::BITS) {
        for count in COUNTS {
            let page = Page::<T>::new(&mut 2, count, &band);
            for kernels in tables() {
                decode(bench, kernels, kind, &page);
            }
        }
    }
}

/// The values of arrow-go's benchmark, which are all the same, and such as rise slowly.
fn arrow_go(bench: &mut Bench) {
    for count in COUNTS {
        let (mut seed, mut last) = (3, 64);
        let mut next = || {
            last += (random(&mut seed) % 8) as i32;
            last
        };
        let rising: Vec<i32> = (0..count).map(|_| next()).collect();
        let (small, constant) = (Page::written(&rising), Page::written(&vec![64; count]));
        for kernels in tables() {
            decode(bench, kernels, "arrow-go-small", &small);
            decode(bench, kernels, "arrow-go-constant", &constant);
        }
    }
}

fn tables() -> impl Iterator<Item = &'static Kernels> {
    Isa::ALL.into_iter().filter_map(kernels_for)
}

fn delta_name<T: Integer>(face: &str, kind: &str, page: &Page<T>, kernels: &Kernels) -> String {
    format!("{face}/{}/{kind}/n{}/{}", T::NAME, page.values.len(), kernels.isa().name())
}

/// Decodes a whole page.
fn read<T: Integer>(ours: &mut DeltaBinaryPacked<T>, page: &Page<T>, out: &mut [T]) {
    ours.reset(&page.bytes).unwrap();
    ours.read(&page.bytes, out).unwrap();
}

/// The same by the parquet crate.
fn read_peer<T: Integer>(peer: &mut dyn Decoder<T::Physical>, page: &Page<T>, out: &mut [T]) {
    peer.set_data(page.bytes.clone(), out.len()).unwrap();
    assert_eq!(peer.get(out).unwrap(), out.len());
}

/// Room for the values of a page: the first one is that of its header, and the second one is where decoding begins.
fn decoded<T: Integer>(count: usize) -> Buffer<T> {
    Buffer::aligned_at(1, count)
}

fn decode<T: Integer>(bench: &mut Bench, kernels: &'static Kernels, kind: &str, page: &Page<T>) {
    let name = delta_name("decode", kind, page, kernels);
    let count = page.values.len();
    let (mut ours, mut peer) = (DeltaBinaryPacked::<T>::new(kernels), T::peer());
    // All share it, so that less is in the cache.
    let out = RefCell::new(decoded(count));
    read(&mut ours, page, &mut out.borrow_mut());
    assert!(**out.borrow() == *page.values, "{name}");
    read_peer(&mut *peer, page, &mut out.borrow_mut());
    assert!(**out.borrow() == *page.values, "{name}");
    bench
        .case(&name, count, || read(&mut ours, page, &mut out.borrow_mut()))
        .against(PEER, || read_peer(&mut *peer, page, &mut out.borrow_mut()))
        .buffer("page", page.bytes.len())
        .memcpy(&page.values, &out)
        .run();
}

/// Skips all values but the last one, which is then read, so that the sum of what was skipped has to be right.
fn sum<T: Integer>(bench: &mut Bench, kernels: &'static Kernels, kind: &str, page: &Page<T>) {
    let name = delta_name("sum", kind, page, kernels);
    let count = page.values.len();
    let (mut ours, mut peer) = (DeltaBinaryPacked::<T>::new(kernels), T::peer());
    let (mut decoder, mut out) = (DeltaBinaryPacked::<T>::new(kernels), Buffer::new(count));
    let mut sum = || {
        let mut last = [T::default()];
        ours.reset(&page.bytes).unwrap();
        ours.skip(&page.bytes, count - 1).unwrap();
        ours.read(&page.bytes, &mut last).unwrap();
        last
    };
    let mut peer_sum = || {
        let mut last = [T::default()];
        peer.set_data(page.bytes.clone(), count).unwrap();
        assert_eq!(peer.skip(count - 1).unwrap(), count - 1);
        peer.get(&mut last).unwrap();
        last
    };
    assert_eq!(sum(), page.values[count - 1..], "{name}");
    assert_eq!(peer_sum(), page.values[count - 1..], "{name}");
    bench
        .case(&name, count, sum)
        .against(PEER, peer_sum)
        .against("decode", || read(&mut decoder, page, &mut out))
        .buffer("page", page.bytes.len())
        .run();
}

/// Compares with a range that holds half of the values. Beside it the parquet crate decodes and our kernels compare, and we
/// decode alone.
fn range<T: Integer>(bench: &mut Bench, kernels: &'static Kernels, kind: &str, page: &Page<T>) {
    let name = delta_name("range", kind, page, kernels);
    let count = page.values.len();
    let mut sorted = page.values.to_vec();
    sorted.sort_unstable();
    let (low, high) = (sorted[count / 4], sorted[count / 4 * 3]);
    let (mut ours, mut words) = (DeltaBinaryPacked::<T>::new(kernels), Buffer::new(count / 64));
    let (mut peer, mut peer_words) = (T::peer(), Buffer::new(count / 64));
    let mut decoder = DeltaBinaryPacked::<T>::new(kernels);
    // The others share it, so that less is in the cache.
    let out = RefCell::new(decoded(count));
    ours.reset(&page.bytes).unwrap();
    ours.read_in_range(&page.bytes, count, low, high, &mut words).unwrap();
    T::in_range(kernels, &page.values, low, high, &mut peer_words);
    assert!(*words == *peer_words, "{name}");
    bench
        .case(&name, count, || {
            ours.reset(&page.bytes).unwrap();
            ours.read_in_range(&page.bytes, count, low, high, &mut words).unwrap();
        })
        .against(PEER, || {
            let out = &mut *out.borrow_mut();
            read_peer(&mut *peer, page, out);
            T::in_range(kernels, out, low, high, &mut peer_words);
        })
        .against("decode", || read(&mut decoder, page, &mut out.borrow_mut()))
        .buffer("page", page.bytes.len())
        .buffer("bitmap", count / 8)
        .run();
}

/// Compares the values of two pages, which are near each other as two dates of a row are. Beside it both are decoded as a whole, by the parquet crate or by us, and our kernels
/// compare.
fn compare<T: Integer>(bench: &mut Bench, kernels: &'static Kernels, kind: &str, [page, other]: &[Page<T>; 2]) {
    let name = delta_name("compare", kind, page, kernels);
    let count = page.values.len();
    let mut words = Buffer::new(count / 64);
    let [mut ours, mut others, mut left, mut right] = [(); 4].map(|()| DeltaBinaryPacked::<T>::new(kernels));
    let mut peer = T::peer();
    // The others share them, so that less is in the cache.
    let outs = RefCell::new(([(); 2].map(|()| decoded(count)), Buffer::new(count / 64)));
    let compare_values = |left: &[T], right: &[T], words: &mut [u64]| {
        T::compare(kernels, left, right, Comparison::Lt, true, words);
    };
    let mut compare = |words: &mut [u64]| {
        ours.reset(&page.bytes).unwrap();
        others.reset(&other.bytes).unwrap();
        ours.compare(&page.bytes, (&mut others, &other.bytes), count, (Comparison::Lt, true), words).unwrap();
    };
    let mut expected = vec![0; count / 64];
    compare_values(&page.values, &other.values, &mut expected);
    compare(&mut words);
    assert!(*words == expected, "{name}");
    bench
        .case(&name, count, || compare(&mut words))
        .against(PEER, || {
            let ([one, two], words) = &mut *outs.borrow_mut();
            read_peer(&mut *peer, page, one);
            read_peer(&mut *peer, other, two);
            compare_values(one, two, words);
        })
        .against("decode", || {
            let ([one, two], words) = &mut *outs.borrow_mut();
            read(&mut left, page, one);
            read(&mut right, other, two);
            compare_values(one, two, words);
        })
        .buffer("pages", page.bytes.len() + other.bytes.len())
        .buffer("bitmap", count / 8)
        .run();
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

fn byte_arrays(bench: &mut Bench) {
    for kind in ["shipmode", "comment", "key"] {
        let array = strings(kind);
        let chunk_of = |encoding| Chunk::new(Arc::clone(&array), false, encoding, false);
        let mut out = ViewBuffer::default();

        let chunk = chunk_of(Encoding::PLAIN);
        let (page, mut ours, mut peer) = (chunk.data(), PlainByteArray::default(), views(&chunk));
        bench
            .case(&name(&format!("plain/views/{kind}")), VALUES, || {
                out.clear();
                ours.reset();
                assert!(ours.is_ascii(&page));
                ours.read(&page, VALUES, &mut out).unwrap();
            })
            .against(PEER, || next(peer.as_mut()))
            .run();

        let chunk = chunk_of(Encoding::DELTA_LENGTH_BYTE_ARRAY);
        let (page, mut ours, mut peer) = (chunk.data(), DeltaLengthByteArray::default(), views(&chunk));
        bench
            .case(&name(&format!("delta-length-byte-array/views/{kind}")), VALUES, || {
                out.clear();
                ours.reset(&page).unwrap();
                assert!(ours.is_ascii(&page));
                ours.read(&page, VALUES, &mut out).unwrap();
            })
            .against(PEER, || next(peer.as_mut()))
            .run();

        let chunk = chunk_of(Encoding::DELTA_BYTE_ARRAY);
        let (page, mut ours, mut peer) = (chunk.data(), DeltaByteArray::default(), views(&chunk));
        bench
            .case(&name(&format!("delta-byte-array/views/{kind}")), VALUES, || {
                out.clear();
                ours.reset(&page, false).unwrap();
                assert!(ours.is_ascii(&page));
                ours.read(&page, VALUES, &mut out).unwrap();
            })
            .against(PEER, || next(peer.as_mut()))
            .run();
    }
}

/// Keys that share prefixes.
fn fixed_byte_arrays(bench: &mut Bench) {
    for width in [5, 16] {
        let mut seed = 11;
        let values = (0..VALUES as u128).map(|i| {
            let key = i << 20 | u128::from(random(&mut seed) % (1 << 20));
            key.to_be_bytes()[16 - width..].to_vec()
        });
        let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(values).unwrap());
        for (face, encoding) in [
            ("plain", Encoding::PLAIN),
            ("delta-byte-array", Encoding::DELTA_BYTE_ARRAY),
            ("byte-stream-split", Encoding::BYTE_STREAM_SPLIT),
        ] {
            let chunk = Chunk::new(Arc::clone(&array), false, encoding, false);
            let page = chunk.data();
            let (mut plain, mut delta) = (PlainFixedByteArray::default(), DeltaByteArray::default());
            let mut split = ByteStreamSplit::default();
            let mut out = Vec::new();
            let mut peer =
                make_fixed_len_byte_array_reader(chunk.endless(), chunk.column.clone(), None, VALUES, None).unwrap();
            bench
                .case(&name(&format!("{face}/fixed/w{width}")), VALUES, || {
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
                })
                .against(PEER, || next(peer.as_mut()))
                .run();
        }
    }
}

/// Numbers, which both read into slices, and a copy of them.
fn numbers<T: Copy + Default, P: PhysicalType>(
    bench: &mut Bench,
    case: &str,
    page: &Bytes,
    mut ours: impl FnMut(&mut [T]),
    peer: &mut dyn Decoder<P>,
) {
    let out = RefCell::new(Buffer::new(VALUES));
    let mut peer_out = vec![P::T::default(); VALUES];
    ours(&mut out.borrow_mut());
    let values = Buffer::copy_of(&out.borrow());
    bench
        .case(&name(case), VALUES, || ours(&mut out.borrow_mut()))
        .against(PEER, || {
            peer.set_data(page.clone(), VALUES).unwrap();
            peer.get(&mut peer_out).unwrap()
        })
        .buffer("page", page.len())
        .memcpy(&values, &out)
        .run();
}

fn byte_stream_split(bench: &mut Bench) {
    let mut ours = ByteStreamSplit::default();
    let array: ArrayRef = Arc::new(Float32Array::from_iter_values((0..VALUES).map(|i| i as f32 / 8.0)));
    let chunk = Chunk::new(array, false, Encoding::BYTE_STREAM_SPLIT, false);
    let page = chunk.data();
    let mut peer = decoder::<FloatType>(&chunk, Encoding::BYTE_STREAM_SPLIT);
    let read = |out: &mut [i32]| {
        ours.reset(&page, 4).unwrap();
        ours.read(&page, out).unwrap();
    };
    numbers(bench, "byte-stream-split/f32/w32", &page, read, &mut *peer);
    let array: ArrayRef = Arc::new(Float64Array::from_iter_values((0..VALUES).map(|i| i as f64 / 8.0)));
    let chunk = Chunk::new(array, false, Encoding::BYTE_STREAM_SPLIT, false);
    let page = chunk.data();
    let mut peer = decoder::<DoubleType>(&chunk, Encoding::BYTE_STREAM_SPLIT);
    let read = |out: &mut [i64]| {
        ours.reset(&page, 8).unwrap();
        ours.read(&page, out).unwrap();
    };
    numbers(bench, "byte-stream-split/f64/w64", &page, read, &mut *peer);
}

fn plain(bench: &mut Bench) {
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(of_width(20).map(|value| value as i32)));
    let page = Chunk::new(array, false, Encoding::PLAIN, false).data();
    let mut ours = PlainFixed::<i32>::default();
    let read = |out: &mut [i32]| {
        ours.reset();
        ours.read(&page, out).unwrap();
    };
    numbers(bench, "plain/i32/w32", &page, read, &mut PlainDecoder::<Int32Type>::new(0));
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(of_width(40).map(|value| value as i64)));
    let page = Chunk::new(array, false, Encoding::PLAIN, false).data();
    let mut ours = PlainFixed::<i64>::default();
    let read = |out: &mut [i64]| {
        ours.reset();
        ours.read(&page, out).unwrap();
    };
    numbers(bench, "plain/i64/w64", &page, read, &mut PlainDecoder::<Int64Type>::new(0));
}

fn dictionaries(bench: &mut Bench) {
    for entries in [50, 2000] {
        let mut seed = 3;
        // Values below `entries`.
        let values = (0..VALUES).map(|_| (random(&mut seed) % entries) as i32 * 11);
        let chunk = Chunk::new(Arc::new(Int32Array::from_iter_values(values)), false, Encoding::PLAIN, true);
        let (page, dictionary_page) = (chunk.data(), chunk.dictionary());
        let entries_read = dictionary_page.len() / 4;
        let mut dictionary = vec![0i32; entries_read];
        PlainFixed::<i32>::default().read(&dictionary_page, &mut dictionary).unwrap();
        let (mut ours, mut indices) = (Indices::default(), vec![0; VALUES]);
        let mut entry_decoder = PlainDecoder::<Int32Type>::new(0);
        entry_decoder.set_data(dictionary_page, entries_read).unwrap();
        let mut peer = DictDecoder::<Int32Type>::new();
        peer.set_dict(Box::new(entry_decoder)).unwrap();
        let read = |out: &mut [i32]| {
            ours.reset(&page).unwrap();
            ours.read(&page, &mut indices).unwrap();
            assert!(i32::gather(kernels(), &dictionary, &indices, out));
        };
        numbers(bench, &format!("dictionary/i32/d{entries}"), &page, read, &mut peer);
    }
    let chunk = Chunk::new(strings("shipmode"), false, Encoding::PLAIN, true);
    let (page, dictionary_page) = (chunk.data(), chunk.dictionary());
    let (mut ours, mut indices, mut out) = (Indices::default(), vec![0; VALUES], vec![0u128; VALUES]);
    let mut dictionary = ViewBuffer::default();
    let mut entries = PlainByteArray::default();
    let mut peer = views(&chunk);
    bench
        .case(&name("dictionary/views/shipmode"), VALUES, || {
            dictionary.clear();
            entries.reset();
            entries.read(&dictionary_page, chunk.pages[0].num_values() as usize, &mut dictionary).unwrap();
            ours.reset(&page).unwrap();
            ours.read(&page, &mut indices).unwrap();
            assert!(u128::gather(kernels(), &dictionary.views, &indices, &mut out));
        })
        .against(PEER, || next(peer.as_mut()))
        .run();
}

fn booleans(bench: &mut Bench) {
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
        bench
            .case(&name(&format!("rle/bool/{kind}")), VALUES, || {
                ours.reset(&page).unwrap();
                ours.read(&page, VALUES, &mut words, 0).unwrap();
            })
            .against(PEER, || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap()
            })
            .run();

        let chunk = Chunk::new(array, false, Encoding::PLAIN, false);
        let (page, mut ours) = (chunk.data(), PlainBoolean::default());
        let mut peer = decoder::<BoolType>(&chunk, Encoding::PLAIN);
        bench
            .case(&name(&format!("plain/bool/{kind}")), VALUES, || {
                ours.reset();
                ours.read(&page, VALUES, &mut words, 0).unwrap();
            })
            .against(PEER, || {
                peer.set_data(page.clone(), VALUES).unwrap();
                peer.get(&mut peer_out).unwrap()
            })
            .run();
    }
}

/// Levels, dense values, and the values at their places; the peer is the parquet crate's array reader.
fn nullable(bench: &mut Bench) {
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
        bench
            .case(&name(&format!("nullable/i32/w12-null{percent}")), VALUES, || {
                validity.reset();
                let set = validity.read(&levels, VALUES, &mut words, 0).unwrap();
                ours.reset(&dense_page).unwrap();
                ours.read(&dense_page, &mut dense[..set]).unwrap();
                i32::expand(kernels(), &dense[..set], &words, VALUES, &mut out)
            })
            .against(PEER, || next(&mut peer))
            .run();
    }
}
