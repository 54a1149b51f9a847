//! As `encoder`, for byte arrays: of views, offsets and widths.

use std::ops::Range;

use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType};

use crate::encoding::byte_array::{ViewBuffer, view_bytes};
use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::encoding::delta_length_byte_array::DeltaLengthByteArray;
use crate::encoding::encoder::delta_byte_array::DeltaByteArrayEncoder;
use crate::encoding::encoder::delta_length_byte_array::DeltaLengthByteArrayEncoder;
use crate::encoding::encoder::{slices, views};
use crate::error::Error;
use crate::kernels::Kernels;

use super::Random;
use super::encoder::{Peer, tables};

/// The same values as views and as slices of one buffer, of which each ends with nothing to spare.
struct Values {
    values: Vec<Vec<u8>>,
    views: Vec<u128>,
    /// Long views point into one or the other.
    buffers: [Box<[u8]>; 2],
    offsets: Vec<i32>,
    bytes: Box<[u8]>,
}

impl Values {
    fn new(values: Vec<Vec<u8>>) -> Self {
        let mut buffers = [0, 1].map(|buffer_index| ViewBuffer { buffer_index, ..ViewBuffer::default() });
        let (mut views, mut offsets) = (Vec::new(), vec![0]);
        for (index, value) in values.iter().enumerate() {
            let buffer = &mut buffers[index / 3 % 2];
            buffer.push(value).unwrap();
            views.extend(buffer.views.last());
            offsets.push(offsets[index] + value.len() as i32);
        }
        let buffers = buffers.map(|buffer| buffer.data.into_boxed_slice());
        let bytes = values.concat().into_boxed_slice();
        Self { values, views, buffers, offsets, bytes }
    }

    /// Pieces of up to `largest` values.
    fn pieces(&self, random: &mut Random, largest: usize) -> Vec<Range<usize>> {
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < self.values.len() {
            let end = (done + random.below(largest + 1)).min(self.values.len());
            pieces.push(done..end);
            done = end;
        }
        pieces
    }

    fn views(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        views(&self.views[range], &self.buffers)
    }

    fn offsets(&self, range: Range<usize>) -> &[i32] {
        &self.offsets[range.start..=range.end]
    }

    fn slices(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        slices(self.offsets(range), &self.bytes)
    }
}

/// Encoders by every instruction set, beside the parquet crate's.
struct Encoders {
    length: Vec<(&'static Kernels, DeltaLengthByteArrayEncoder)>,
    delta: Vec<(&'static Kernels, DeltaByteArrayEncoder)>,
    length_peer: Peer<ByteArrayType>,
    delta_peer: Peer<ByteArrayType>,
}

impl Encoders {
    fn new() -> Self {
        Self {
            length: tables().map(|kernels| (kernels, DeltaLengthByteArrayEncoder::new(kernels))).collect(),
            delta: tables().map(|kernels| (kernels, DeltaByteArrayEncoder::new(kernels))).collect(),
            length_peer: Peer::new(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            delta_peer: Peer::new(Encoding::DELTA_BYTE_ARRAY),
        }
    }

    fn check(&mut self, random: &mut Random, values: Vec<Vec<u8>>, largest: usize, context: &str) {
        let values = Values::new(values);
        let count = values.values.len();
        let given: Vec<ByteArray> = values.values.iter().map(|value| value.clone().into()).collect();
        let (mut out, mut page) = (ViewBuffer::default(), Vec::new());

        let expected = self.length_peer.encode(&given);
        for (kernels, encoder) in &mut self.length {
            for way in 0..3 {
                for piece in values.pieces(random, largest) {
                    match way {
                        0 => encoder.put(values.views(piece)).unwrap(),
                        1 => encoder.put(values.slices(piece)).unwrap(),
                        _ => encoder.put_offsets(values.offsets(piece), &values.bytes).unwrap(),
                    }
                }
                assert_eq!(encoder.count(), count);
                let estimate = encoder.estimated_len();
                page.clear();
                encoder.finish(&mut page);
                assert!((page.len()..page.len() + 600).contains(&estimate), "{context}: {estimate} of {}", page.len());
                assert!(page == expected, "{context}, {kernels:?}, {way}");
            }
        }
        let mut decoder = DeltaLengthByteArray::default();
        decoder.reset(&page).unwrap();
        decoder.read(&page, count, &mut out).unwrap();
        assert!(out.views.iter().map(|view| view_bytes(view, &out.data)).eq(&values.values), "{context}");
        assert!(self.length_peer.decode(&page, count) == given, "{context}");

        let expected = self.delta_peer.encode(&given);
        for (kernels, encoder) in &mut self.delta {
            for way in 0..2 {
                for piece in values.pieces(random, largest) {
                    match way {
                        0 => encoder.put(values.views(piece)).unwrap(),
                        _ => encoder.put(values.slices(piece)).unwrap(),
                    }
                }
                assert_eq!(encoder.count(), count);
                let estimate = encoder.estimated_len();
                page.clear();
                encoder.finish(&mut page);
                assert!((page.len()..page.len() + 1200).contains(&estimate), "{context}: {estimate} of {}", page.len());
                assert!(page == expected, "{context}, {kernels:?}, {way}");
            }
        }
        let mut decoder = DeltaByteArray::default();
        decoder.reset(&page, false).unwrap();
        out.clear();
        decoder.read(&page, count, &mut out).unwrap();
        assert!(out.views.iter().map(|view| view_bytes(view, &out.data)).eq(&values.values), "{context}");
        if count > 0 {
            assert!(self.delta_peer.decode(&page, count) == given, "{context}");
        }
    }
}

/// Values of up to `longest` bytes, zeros among them, that share prefixes with those before.
fn related(random: &mut Random, count: usize, longest: usize) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let len = random.below(longest + 1);
        let mut value: Vec<u8> = (0..len).map(|_| [0, 0, 1, 255][random.below(4)]).collect();
        if let Some(previous) = values.last() {
            let keep = random.below(previous.len().min(len) + 1);
            value[..keep].copy_from_slice(&previous[..keep]);
            if random.below(4) == 0 {
                value.clone_from(previous);
            }
        }
        values.push(value);
    }
    values
}

#[test]
fn every_count_and_length() {
    let mut random = Random(71);
    let mut encoders = Encoders::new();
    for longest in [0, 1, 3, 7, 8, 9, 12, 13, 16, 33, 64, 65, 70, 130, 700] {
        for count in [0, 1, 2, 33, 128, 129, 255, 256, 257, 600, 1100] {
            let values = related(&mut random, count, longest);
            let largest = random.pick(&[1, 5, 256, 300, 5000]);
            let context = format!("{count} values of up to {longest} bytes, in pieces of up to {largest}");
            encoders.check(&mut random, values, largest, &context);
        }
    }
}

/// All pairs of lengths, with every common prefix.
#[test]
fn every_prefix() {
    let mut random = Random(72);
    let mut encoders = Encoders::new();
    let lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 66, 127, 128, 129, 200];
    for fill in [0, b'x'] {
        for left in lengths {
            let mut values = Vec::new();
            for right in lengths {
                for common in 0..=left.min(right) {
                    let left = vec![fill; left];
                    let mut right = vec![fill; right];
                    if let Some(byte) = right.get_mut(common) {
                        *byte ^= 1 << random.below(8);
                    }
                    values.extend([left, right]);
                }
            }
            encoders.check(&mut random, values, 1000, &format!("{left} bytes of {fill}"));
        }
    }
}

#[test]
fn fixed_widths() {
    let mut random = Random(73);
    let mut decoder = DeltaByteArray::default();
    for (kernels, width) in tables().flat_map(|kernels| [1, 7, 16, 20].map(|width| (kernels, width))) {
        let mut encoder = DeltaByteArrayEncoder::new(kernels);
        let values = random.bytes(777 * width);
        let (mut page, mut out) = (Vec::new(), Vec::new());
        encoder.put(values.chunks_exact(width)).unwrap();
        encoder.finish(&mut page);
        decoder.reset(&page, false).unwrap();
        decoder.read_fixed(&page, 777, width, &mut out).unwrap();
        assert!(out == values);
    }
}

#[test]
fn pages_begin_with_whole_values() {
    let mut encoder = DeltaByteArrayEncoder::default();
    let mut pages = [Vec::new(), Vec::new(), Vec::new()];
    for page in &mut pages[..2] {
        encoder.put([&b"prefix"[..], b"prefix one", b"prefix two"]).unwrap();
        encoder.finish(page);
    }
    encoder.put([&b"prefix"[..]]).unwrap();
    encoder.clear();
    encoder.put([&b"prefix"[..], b"prefix one", b"prefix two"]).unwrap();
    encoder.finish(&mut pages[2]);
    assert!(pages[1..].iter().all(|page| *page == pages[0]));
    let mut decoder = DeltaByteArray::default();
    decoder.reset(&pages[1], false).unwrap();
    decoder.read(&pages[1], 3, &mut ViewBuffer::default()).unwrap();
}

#[test]
fn offsets_of_64_bits_that_begin_anywhere() {
    let mut encoder = DeltaLengthByteArrayEncoder::default();
    let (mut page, mut expected) = (Vec::new(), Vec::new());
    encoder.put([&b"bc"[..], b"", b"def"]).unwrap();
    encoder.finish(&mut expected);
    encoder.put_offsets(&[1_i64, 3, 3, 6], b"abcdefgh").unwrap();
    encoder.put_offsets::<i64>(&[], b"abcdefgh").unwrap();
    encoder.put_offsets(&[5], b"abcdefgh").unwrap();
    encoder.finish(&mut page);
    assert_eq!(page, expected);
}

#[test]
fn lengths_that_cannot_be() {
    // Memory that nobody touches.
    let long = vec![0; i32::MAX as usize + 1];
    let mut length = DeltaLengthByteArrayEncoder::default();
    let mut delta = DeltaByteArrayEncoder::default();
    assert!(matches!(length.put([&long[..]]), Err(Error::Limit(_))));
    assert!(matches!(length.put_offsets(&[0, long.len() as i64], &long), Err(Error::Limit(_))));
    assert!(matches!(delta.put([&b"x"[..], &long]), Err(Error::Limit(_))));
    let descend = || DeltaLengthByteArrayEncoder::default().put_offsets(&[0, 5, 3, 8], b"abcdefgh");
    assert!(std::panic::catch_unwind(descend).is_err());
}
