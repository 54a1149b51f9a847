//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: lengths around every border, and state across reads, skips and pages.

use crate::encoding::byte_array::{ViewBuffer, view_bytes};
use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::encoding::delta_length_byte_array::DeltaLengthByteArray;
use crate::error::Result;

use super::Random;
use super::reference::{SHAPES, encode_delta_byte_array, encode_delta_length};

/// Values of one of several distributions.
fn values(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let kind = random.below(7);
    let mut values: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let len = match kind {
            0 => random.below(13),
            1 => random.pick(&[3, 4, 5, 7]),
            2 => random.pick(&[0, 11, 12, 13, 14, 16]),
            3 => random.below(70),
            4 => random.pick(&[0, 1, 31, 32, 33, 127, 128, 129, 300]),
            5 => 40,
            // Short for long stretches, and a long one now and then.
            _ => random.pick(&[random.0 as usize % 12; 16]) + if random.below(200) == 0 { 60 } else { 0 },
        };
        let mut value = random.bytes(len);
        if let Some(previous) = values.last() {
            let keep = random.below(previous.len() + 1).min(len);
            value[..keep].copy_from_slice(&previous[..keep]);
        }
        values.push(value);
    }
    if random.below(3) == 0 {
        values.sort();
    }
    if random.below(3) == 0 {
        values.iter_mut().flatten().for_each(|byte| *byte &= 0x7f);
    }
    values
}

/// What both decoders have.
trait Decoder {
    fn remaining(&self) -> usize;
    fn read(&mut self, page: &[u8], count: usize, out: &mut ViewBuffer) -> Result<()>;
    fn read_selected(&mut self, page: &[u8], count: usize, words: &[u64], out: &mut ViewBuffer) -> Result<()>;
    fn skip(&mut self, page: &[u8], count: usize) -> Result<()>;
}

macro_rules! decoder {
    ($($decoder:ident)*) => {$(
        impl Decoder for $decoder {
            fn remaining(&self) -> usize {
                self.remaining()
            }
            fn read(&mut self, page: &[u8], count: usize, out: &mut ViewBuffer) -> Result<()> {
                self.read(page, count, out)
            }
            fn read_selected(&mut self, page: &[u8], count: usize, words: &[u64], out: &mut ViewBuffer) -> Result<()> {
                self.read_selected(page, count, words, out)
            }
            fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
                self.skip(page, count)
            }
        }
    )*};
}

decoder!(DeltaLengthByteArray DeltaByteArray);

fn check_walk(random: &mut Random, decoder: &mut impl Decoder, page: &[u8], values: &[Vec<u8>]) {
    let largest = random.pick(&[1, 3, 100, 300, 2000]);
    let skips = random.below(3);
    let mut out = ViewBuffer { buffer_index: 2, ..ViewBuffer::default() };
    let mut expected = Vec::new();
    let mut done = 0;
    while done < values.len() {
        assert_eq!(decoder.remaining(), values.len() - done);
        let count = (1 + random.below(largest)).min(values.len() - done);
        if random.below(3) < skips {
            decoder.skip(page, count).unwrap();
        } else if random.below(2) == 0 {
            let every = random.pick(&[1, 2, 30, 300, 3000]);
            let mut words = vec![0; count.div_ceil(64)];
            for index in (0..count).filter(|_| random.below(every) == 0).collect::<Vec<_>>() {
                words[index / 64] |= 1 << (index % 64);
                expected.push(&values[done + index]);
            }
            decoder.read_selected(page, count, &words, &mut out).unwrap();
        } else {
            decoder.read(page, count, &mut out).unwrap();
            expected.extend(&values[done..done + count]);
        }
        done += count;
    }
    assert_eq!(out.views.len(), expected.len());
    for (index, (view, value)) in out.views.iter().zip(expected).enumerate() {
        assert_eq!(view_bytes(view, &out.data), value, "value {index}");
        // The bits that no value fills are zeros, and those of a long one are in their places: views compare by bits.
        let mut canonical = ViewBuffer { data: vec![0; (*view >> 96) as usize], ..out.clone() };
        canonical.views.clear();
        if value.len() <= 12 {
            canonical.data.clear();
        }
        canonical.push(value).unwrap();
        assert_eq!(canonical.views[0], *view, "value {index}");
    }
    assert!(decoder.read(page, 1, &mut out).is_err());
    assert!(decoder.skip(page, 1).is_err());
    decoder.read(page, 0, &mut out).unwrap();
    decoder.skip(page, 0).unwrap();
    decoder.read_selected(page, 0, &[], &mut out).unwrap();
    assert!(decoder.read_selected(page, 1, &[1], &mut out).is_err());
}

#[test]
fn delta_length_reads_and_skips() {
    let mut random = Random(21);
    let mut decoder = DeltaLengthByteArray::default();
    for _ in 0..200 {
        let count = random.pick(&[0, 1, 2, 255, 256, 257, 700, 1024, 1025, 2500]);
        let values = values(&mut random, count);
        let shape = random.pick(&SHAPES);
        let page = encode_delta_length(&values, shape);
        decoder.reset(&page).unwrap();
        assert_eq!(decoder.is_ascii(&page), values.iter().all(|value| value.is_ascii()));
        check_walk(&mut random, &mut decoder, &page, &values);
    }
}

#[test]
fn delta_byte_array_reads_and_skips() {
    let mut random = Random(22);
    let mut decoder = DeltaByteArray::default();
    for _ in 0..300 {
        let count = random.pick(&[0, 1, 2, 255, 256, 257, 700, 1024, 1025, 2500]);
        let values = values(&mut random, count);
        let shape = random.pick(&SHAPES);
        let halves = random.below(2) == 0;
        let page = encode_delta_byte_array(&[], &values, shape, |common| if halves { common / 2 } else { common });
        decoder.reset(&page, false).unwrap();
        assert_eq!(decoder.is_ascii(&page), values.iter().all(|value| value.is_ascii()));
        check_walk(&mut random, &mut decoder, &page, &values);
    }
}

#[test]
fn delta_byte_array_goes_on_from_the_page_before() {
    let mut random = Random(23);
    let mut decoder = DeltaByteArray::default();
    for _ in 0..50 {
        let first = values(&mut random, 50);
        let mut second = values(&mut random, 50);
        let before = first.last().unwrap();
        second[0] = [before, &second[0][..]].concat();
        let shape = random.pick(&SHAPES);
        let page = encode_delta_byte_array(&[], &first, shape, |common| common);
        decoder.reset(&page, false).unwrap();
        check_walk(&mut random, &mut decoder, &page, &first);
        let page = encode_delta_byte_array(before, &second, shape, |common| common);
        decoder.reset(&page, true).unwrap();
        assert!(!decoder.is_ascii(&page) || second.iter().all(|value| value.is_ascii()));
        check_walk(&mut random, &mut decoder, &page, &second);
        if !before.is_empty() {
            decoder.reset(&page, false).unwrap();
            assert!(decoder.read(&page, 1, &mut ViewBuffer::default()).is_err(), "prefix of nothing");
        }
    }
}

#[test]
fn empty_pages() {
    let mut length = DeltaLengthByteArray::default();
    length.reset(&[]).unwrap();
    assert_eq!(length.remaining(), 0);
    check_walk(&mut Random(24), &mut length, &[], &[]);
    let mut delta = DeltaByteArray::default();
    delta.reset(&[], false).unwrap();
    assert_eq!(delta.remaining(), 0);
    check_walk(&mut Random(24), &mut delta, &[], &[]);
}

#[test]
fn allocations_are_kept() {
    let mut random = Random(25);
    let values: Vec<Vec<u8>> = (0..2000).map(|i| format!("value number {}", i % 300).into_bytes()).collect();
    let page = encode_delta_byte_array(&[], &values, SHAPES[0], |common| common);
    let mut decoder = DeltaByteArray::default();
    let mut out = ViewBuffer::default();
    let mut capacities = None;
    for _ in 0..5 {
        decoder.reset(&page, false).unwrap();
        out.clear();
        while decoder.remaining() > 0 {
            let count = decoder.remaining().min(1 + random.below(500));
            decoder.read(&page, count, &mut out).unwrap();
        }
        if let Some(capacities) = capacities {
            assert!(out.views.capacity() <= capacities);
        }
        capacities = Some(2 * out.views.capacity());
    }
}
