//! Encoders of whole pages against those of the parquet crate, on the same values.
//!
//! ```sh
//! cargo bench --bench encode -- --quick                    # all cases
//! cargo bench --bench encode -- --quick i64/w12/n65536
//! ```
//!
//! Cases are named `FACE/TYPE/WIDTH/COUNT/ISA`, and measured as in `benches/decode.rs`, with lines of the same form. `encode` takes
//! the values of a page and delivers its bytes, which are those of the parquet crate. `headers` writes the headers of so many
//! blocks alone, minima and widths. `memcpy` is a copy of the values.
//!
//! Byte arrays come from Arrow's views (`delta`, `length`), or from offsets (`length-offsets`). The parquet crate's encoders take
//! its own byte arrays, which are made before and not counted.
//!
//! A line `allocations CASE OURS PEER` says how often a page allocates, when some were encoded before.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot run has nothing to report")]

#[allow(dead_code, reason = "its tests have no harness here, and it counts bytes too")]
#[path = "../tests/allocator.rs"]
mod allocator;
#[allow(dead_code, reason = "pages that are decoded")]
#[path = "support/delta.rs"]
mod delta;
#[allow(clippy::duplicate_mod, reason = "texts look for it here")]
#[path = "support/random.rs"]
mod random;
mod support;
#[allow(dead_code, reason = "files")]
#[path = "strings/texts.rs"]
mod texts;

use std::cell::RefCell;
use std::ops::RangeInclusive;

use arrow::array::{StringArray, StringViewArray};
use miniblock::internals::encoding::encoder::delta_binary_packed::DeltaBinaryPackedEncoder;
use miniblock::internals::encoding::encoder::delta_byte_array::DeltaByteArrayEncoder;
use miniblock::internals::encoding::encoder::delta_length_byte_array::DeltaLengthByteArrayEncoder;
use miniblock::internals::encoding::encoder::views;
use miniblock::internals::encoding::varint::{MAX_ULEB, to_zigzag, write_uleb};
use miniblock::internals::kernels::{Isa, Kernels, kernels_for};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::encodings::encoding::{
    DeltaBitPackEncoder, DeltaByteArrayEncoder as PeerDelta, DeltaLengthByteArrayEncoder as PeerLength, Encoder,
};
use parquet::util::bit_util::BitWriter;

use delta::{Integer, Page};
use support::{Bench, Buffer, PEER, random};
use texts::Kind;

type Error = Box<dyn std::error::Error>;

/// Values of a page of integers.
const COUNTS: [usize; 2] = [1024, 65_536];

/// Values of a page of byte arrays.
const STRINGS: usize = 16_384;

/// Blocks whose headers are written.
const HEADERS: usize = 4096;

fn main() {
    let mut bench = Bench::from_args();
    let mut allocations = Vec::new();
    integers::<i32>(&mut bench, &mut allocations);
    integers::<i64>(&mut bench, &mut allocations);
    for kind in [Kind::Shipmode, Kind::Comment, Kind::Urls, Kind::Uuid] {
        byte_arrays(&mut bench, &mut allocations, kind);
    }
    for (kind, bits) in [("1-byte", 5..=5), ("1-3-bytes", 1..=20), ("5-bytes", 31..=33), ("1-10-bytes", 1..=63)] {
        headers(&mut bench, &mut allocations, kind, bits);
    }
    bench.finish();
    let asked = |case: &str| std::env::args().skip(1).all(|arg| arg.starts_with('-') || case.contains(&arg));
    allocations.iter().filter(|line| asked(line)).for_each(|line| println!("{line}"));
}

fn tables() -> impl Iterator<Item = &'static Kernels> {
    Isa::ALL.into_iter().filter_map(kernels_for)
}

/// How often the tenth page allocates: ours, and the peer's.
fn count(allocations: &mut Vec<String>, name: &str, mut ours: impl FnMut(), mut peer: impl FnMut()) {
    let count = |work: &mut dyn FnMut()| {
        (0..9).for_each(|_| work());
        allocator::allocations(work)
    };
    allocations.push(format!("allocations {name} {} {}", count(&mut ours), count(&mut peer)));
}

/// Widths that all miniblocks have, or that are drawn for each.
fn widths<T: Integer>() -> Vec<RangeInclusive<u32>> {
    let mut widths = [0, 1, 2, 4, 7, 8, 10, 12, 16, 20, 24, 28, 31, 32].map(|width| width..=width).to_vec();
    widths.extend([9..=14, 1..=8, 10..=24, 0..=32]);
    if T::BITS == 64 {
        widths.extend([33, 40, 48, 56, 57, 58, 63, 64].map(|width| width..=width));
        widths.push(0..=63);
    }
    widths
}

fn integers<T: Integer>(bench: &mut Bench, allocations: &mut Vec<String>) {
    for widths in widths::<T>() {
        let kind = match widths.clone().count() {
            1 => format!("w{}", widths.start()),
            _ => format!("w{}-{}", widths.start(), widths.end()),
        };
        for len in COUNTS {
            let values = Page::<T>::new(&mut 1, len, &widths).values;
            for kernels in tables() {
                let name = format!("encode/{}/{kind}/n{len}/{}", T::NAME, kernels.isa().name());
                let mut ours = DeltaBinaryPackedEncoder::<T>::new(kernels);
                let mut peer = DeltaBitPackEncoder::<T::Physical>::new();
                let mut page = Vec::new();
                let mut encode = |page: &mut Vec<u8>| {
                    page.clear();
                    ours.put(&values);
                    ours.finish(page);
                };
                let mut encode_peer = || {
                    peer.put(&values).unwrap();
                    peer.flush_buffer().unwrap()
                };
                let expected = encode_peer();
                count(allocations, &name, || encode(&mut page), || drop(encode_peer()));
                assert!(page == expected, "{name}");
                let copy = RefCell::new(Buffer::new(len));
                bench
                    .case(&name, len, || encode(&mut page))
                    .against(PEER, &mut encode_peer)
                    .buffer("page", expected.len())
                    .memcpy(&values, &copy)
                    .run();
            }
        }
    }
}

fn byte_arrays(bench: &mut Bench, allocations: &mut Vec<String>, kind: Kind) {
    let texts = kind.texts(STRINGS);
    let given: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
    let array = StringViewArray::from_iter_values(&texts);
    let with_offsets = StringArray::from_iter_values(&texts);
    let values = || views(array.views(), array.data_buffers());
    for kernels in tables() {
        let name = |face: &str| format!("encode/{face}/{kind}/n{STRINGS}/{}", kernels.isa().name());
        let mut page = Vec::new();

        let mut peer = PeerDelta::<ByteArrayType>::new();
        let mut encode_peer = || {
            peer.put(&given).unwrap();
            peer.flush_buffer().unwrap()
        };
        let mut ours = DeltaByteArrayEncoder::new(kernels);
        let mut encode = |page: &mut Vec<u8>| {
            page.clear();
            ours.put(values()).unwrap();
            ours.finish(page);
        };
        let expected = encode_peer();
        count(allocations, &name("delta"), || encode(&mut page), || drop(encode_peer()));
        assert!(page == expected, "{kind}");
        let case = bench.case(&name("delta"), STRINGS, || encode(&mut page));
        case.against(PEER, &mut encode_peer).buffer("page", expected.len()).run();

        let mut peer = PeerLength::<ByteArrayType>::new();
        let mut encode_peer = || {
            peer.put(&given).unwrap();
            peer.flush_buffer().unwrap()
        };
        let mut ours = DeltaLengthByteArrayEncoder::new(kernels);
        let mut encode = |page: &mut Vec<u8>| {
            page.clear();
            ours.put(values()).unwrap();
            ours.finish(page);
        };
        let expected = encode_peer();
        count(allocations, &name("length"), || encode(&mut page), || drop(encode_peer()));
        assert!(page == expected, "{kind}");
        let case = bench.case(&name("length"), STRINGS, || encode(&mut page));
        case.against(PEER, &mut encode_peer).buffer("page", expected.len()).run();

        let mut encode = |page: &mut Vec<u8>| {
            page.clear();
            ours.put_offsets(with_offsets.value_offsets(), with_offsets.value_data()).unwrap();
            ours.finish(page);
        };
        count(allocations, &name("length-offsets"), || encode(&mut page), || drop(encode_peer()));
        assert!(page == expected, "{kind}");
        let case = bench.case(&name("length-offsets"), STRINGS, || encode(&mut page));
        case.against(PEER, &mut encode_peer).buffer("page", expected.len()).run();
    }
}

/// Headers of blocks whose minima have `bits` significant bits, into memory that is used again.
fn headers(bench: &mut Bench, allocations: &mut Vec<String>, kind: &str, bits: RangeInclusive<u32>) {
    const LEN: usize = MAX_ULEB + 4;
    let mut seed = 1;
    let mut min_delta = || {
        let bits = bits.start() + random(&mut seed) as u32 % (bits.end() - bits.start() + 1);
        let magnitude = (random(&mut seed) | 1 << 63) >> (64 - bits);
        if random(&mut seed).is_multiple_of(2) { magnitude.cast_signed() } else { -magnitude.cast_signed() }
    };
    let blocks: Vec<(i64, [u8; 4])> = (0..HEADERS).map(|_| (min_delta(), [12; 4])).collect();
    let name = format!("headers/i64/{kind}/n{HEADERS}/portable");
    let mut out = vec![0; HEADERS * LEN];
    let ours = |out: &mut [u8]| {
        let mut at = 0;
        for (min_delta, widths) in &blocks {
            let Some(room) = out[at..].first_chunk_mut::<LEN>() else { break };
            let Some(header) = room.first_chunk_mut() else { break };
            let len = write_uleb(to_zigzag(*min_delta), header);
            room[len..len + 4].copy_from_slice(widths);
            at += len + 4;
        }
        at
    };
    let mut writer = BitWriter::new(HEADERS * LEN);
    let peer = |writer: &mut BitWriter| {
        writer.clear();
        for (min_delta, widths) in &blocks {
            writer.put_zigzag_vlq_int(*min_delta);
            let offset = writer.skip(4);
            for (index, width) in widths.iter().enumerate() {
                writer.write_at(offset + index, *width);
            }
        }
        writer.bytes_written()
    };
    let len = ours(&mut out);
    assert_eq!(len, peer(&mut writer), "{name}");
    assert!(out[..len] == *writer.buffer(), "{name}");
    count(allocations, &name, || _ = ours(&mut out), || _ = peer(&mut writer));
    bench.case(&name, HEADERS, || ours(&mut out)).against(PEER, || peer(&mut writer)).run();
}
