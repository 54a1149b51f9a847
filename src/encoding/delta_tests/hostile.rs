//! Bytes that no writer should produce: errors, in time and memory that the bytes pay for.

use crate::encoding::byte_array::ViewBuffer;
use crate::encoding::delta_binary_packed::DeltaBinaryPacked;
use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::encoding::delta_length_byte_array::DeltaLengthByteArray;
use crate::error::{Error, Result};
use crate::kernels::Lane;

use super::Random;
use super::reference::{SHAPES, Shape, encode, encode_delta_byte_array, encode_delta_length, encode_i32};
use super::reference::{write_header, write_uleb, write_zigzag};

/// Reads, or skips, up to `count` values.
fn walk<T: Lane>(page: &[u8], count: usize, skip: bool) -> Result<Vec<T>> {
    let mut decoder = DeltaBinaryPacked::<T>::default();
    decoder.reset(page)?;
    let _ = decoder.end(page);
    let count = count.min(decoder.remaining());
    let mut values = vec![T::default(); count];
    if skip && count > 0 {
        decoder.skip(page, count - 1)?;
        decoder.read(page, &mut values[..1])?;
    } else {
        decoder.read(page, &mut values)?;
    }
    Ok(values)
}

fn refused(page: &[u8]) {
    for skip in [false, true] {
        assert!(matches!(walk::<i32>(page, 100, skip), Err(Error::Corrupt(_))), "{page:?}");
        assert!(matches!(walk::<i64>(page, 100, skip), Err(Error::Corrupt(_))), "{page:?}");
    }
}

fn header(block_size: u64, miniblocks: u64, count: u64) -> Vec<u8> {
    let mut page = Vec::new();
    write_uleb(&mut page, block_size);
    write_uleb(&mut page, miniblocks);
    write_uleb(&mut page, count);
    page.push(0);
    page
}

#[test]
fn blocks_that_cannot_be() {
    let fill = |mut page: Vec<u8>| {
        page.extend([0; 200]);
        page
    };
    for (block_size, miniblocks) in [
        (0, 4),
        (128, 0),
        (0, 0),
        (128, 3),
        (128, 256),
        (100, 1),
        (4, 4),
        (u64::MAX, 1),
        (1 << 63, u64::MAX),
        // More miniblocks than the page has bytes.
        (1 << 40, 1 << 35),
    ] {
        refused(&fill(header(block_size, miniblocks, 50)));
    }
    // One miniblock of 2^63 values: of width 0 it holds whatever is promised, of another it is cut short.
    let mut page = header(1 << 63, 1, 50);
    page.extend([0, 0]);
    assert_eq!(walk::<i64>(&page, 50, false).unwrap(), [0; 50]);
    *page.last_mut().unwrap() = 1;
    refused(&page);
    *page.last_mut().unwrap() = 64;
    refused(&page);
}

#[test]
fn counts_are_promises() {
    // A million miniblocks, and one value that needs none of them.
    let mut page = vec![0x80, 0x80, 0x80, 0x10, 0x80, 0x80, 0x40, 0x01, 0x00];
    assert_eq!(walk::<i32>(&page, 100, false).unwrap(), [0]);
    page[7] = 2;
    page.extend([0; 100]);
    refused(&page);
    for count in [2, 1000, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
        let page = header(128, 4, count);
        refused(&page);
        let mut decoder = DeltaBinaryPacked::<i64>::default();
        decoder.reset(&page).unwrap();
        assert_eq!(decoder.remaining() as u64, count);
        assert!(decoder.end(&page).is_err());
        // Only the first value is there.
        decoder.read(&page, &mut [1]).unwrap();
        assert!(decoder.read(&page, &mut [1]).is_err());
    }
    // A skip past the end is refused at once.
    let mut decoder = DeltaBinaryPacked::<i32>::default();
    let page = encode(&[1, 2, 3], SHAPES[0]);
    decoder.reset(&page).unwrap();
    assert!(decoder.skip(&page, usize::MAX).is_err());
    // No values, and no blocks.
    let page = header(128, 4, 0);
    decoder.reset(&page).unwrap();
    assert_eq!((decoder.remaining(), decoder.end(&page).unwrap()), (0, page.len()));
}

#[test]
fn every_truncation() {
    let mut random = Random(31);
    for shape in SHAPES {
        let values: Vec<i64> = (0..shape.values_per_miniblock + 40).map(|_| random.next() as i64 >> 40).collect();
        let page = encode(&values, shape);
        for end in 1..page.len() {
            let cut = &page[..end];
            assert!(walk::<i64>(cut, usize::MAX >> 8, false).is_err(), "{shape:?}, {end} of {}", page.len());
            let mut decoder = DeltaBinaryPacked::<i64>::default();
            assert!(decoder.reset(cut).and_then(|()| decoder.end(cut)).is_err());
        }
    }
}

#[test]
fn widths_that_cannot_be() {
    for width in 65..=255 {
        let mut page = header(128, 4, 100);
        page.extend([0, width, 0, 0, 0]);
        page.extend([0; 3000]);
        refused(&page);
        // The same width is garbage where no values are left.
        page[5..9].copy_from_slice(&[0, 0, 0, 0]);
        page[8] = width;
        page[3] = 0;
        let mut page = header(128, 4, 97);
        page.extend([0, 0, 0, 0, width]);
        assert_eq!(walk::<i64>(&page, 97, false).unwrap(), [0; 97]);
        let mut decoder = DeltaBinaryPacked::<i64>::default();
        decoder.reset(&page).unwrap();
        assert_eq!(decoder.end(&page).unwrap(), page.len());
    }
}

#[test]
fn long_varints() {
    for position in 0..4 {
        let mut page = Vec::new();
        for field in 0..4 {
            page.extend(if field == position { &[0xff; 11][..] } else { &[0x80, 1] });
        }
        page.extend([0; 100]);
        refused(&page);
    }
    let mut page = header(128, 4, 100);
    page.extend([0xff; 200]);
    refused(&page);
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(32);
    let mut length = DeltaLengthByteArray::default();
    let mut delta = DeltaByteArray::default();
    let mut out = ViewBuffer::default();
    for round in 0..20_000 {
        let len = random.below(200);
        let mut page = random.bytes(len);
        // A good start goes further.
        match round % 4 {
            0 => {}
            1 => page.splice(0..0, [0x80, 1, 4]).for_each(drop),
            2 => page.splice(0..0, [32, 1, 40, 2, 0, 3]).for_each(drop),
            _ => {
                let values: Vec<Vec<u8>> = (0..60).map(|_| vec![7; random.below(20)]).collect();
                page = match random.below(3) {
                    0 => encode_delta_length(&values, SHAPES[1]),
                    1 => encode_delta_byte_array(&[], &values, SHAPES[6], |common| common),
                    _ => encode_i32(&values.iter().map(|value| value.len() as i32).collect::<Vec<_>>(), SHAPES[0]),
                };
                for _ in 0..1 + random.below(3) {
                    let at = random.below(page.len());
                    page[at] = random.next() as u8;
                }
            }
        }
        for skip in [false, true] {
            let _ = walk::<i32>(&page, 500, skip);
            let _ = walk::<i64>(&page, 500, skip);
        }
        out.clear();
        if length.reset(&page).is_ok() {
            let count = length.remaining().min(300);
            let _ = length.skip(&page, count / 3);
            let _ = length.read(&page, count / 2, &mut out);
        }
        if delta.reset(&page, round % 2 == 0).is_ok() {
            let count = delta.remaining().min(300);
            let _ = delta.skip(&page, count / 3);
            let _ = delta.read(&page, count / 2, &mut out);
        }
    }
}

/// A DELTA_BYTE_ARRAY page of any prefix and suffix lengths.
fn delta_page(prefixes: &[i32], suffixes: &[i32], bytes: usize) -> Vec<u8> {
    let mut page = encode_i32(prefixes, SHAPES[0]);
    page.extend(encode_i32(suffixes, SHAPES[0]));
    page.resize(page.len() + bytes, b'x');
    page
}

#[test]
fn lengths_that_cannot_be() {
    let length_refused = |lengths: &[i32], bytes: usize| {
        let mut page = encode_i32(lengths, SHAPES[0]);
        page.resize(page.len() + bytes, b'x');
        for skip in [false, true] {
            let mut decoder = DeltaLengthByteArray::default();
            decoder.reset(&page).unwrap();
            let result = if skip {
                decoder.skip(&page, lengths.len())
            } else {
                decoder.read(&page, lengths.len(), &mut ViewBuffer::default())
            };
            assert!(matches!(result, Err(Error::Corrupt(_))), "{lengths:?}");
        }
    };
    length_refused(&[-1], 10);
    length_refused(&[3, -1, 3], 10);
    length_refused(&[i32::MIN, i32::MIN], 10);
    length_refused(&[11], 10);
    length_refused(&[5, 6], 10);
    length_refused(&[i32::MAX; 200], 10);
    length_refused(&[100, -90], 10);

    let delta_refused = |prefixes: &[i32], suffixes: &[i32], bytes: usize| {
        let page = delta_page(prefixes, suffixes, bytes);
        for skip in [false, true] {
            let mut decoder = DeltaByteArray::default();
            decoder.reset(&page, false).unwrap();
            let result = if skip {
                decoder.skip(&page, prefixes.len())
            } else {
                decoder.read(&page, prefixes.len(), &mut ViewBuffer::default())
            };
            assert!(matches!(result, Err(Error::Corrupt(_))), "{prefixes:?}, {suffixes:?}");
        }
    };
    delta_refused(&[1], &[1], 10);
    delta_refused(&[0, 4], &[3, 1], 10);
    delta_refused(&[0, -1], &[3, 1], 10);
    delta_refused(&[0, 1], &[3, -1], 10);
    delta_refused(&[0, 3, 5], &[3, 1, 1], 10);
    delta_refused(&[0, 3], &[3, 8], 10);
    delta_refused(&[0; 100], &[i32::MAX; 100], 10);
    delta_refused(&[0, i32::MAX], &[3, i32::MAX], 10);

    // The prefix of the first value of a batch, against the last one of the batch before.
    let mut prefixes = vec![0; 257];
    prefixes[256] = 3;
    let page = delta_page(&prefixes, &vec![2; 257], 600);
    let mut decoder = DeltaByteArray::default();
    decoder.reset(&page, false).unwrap();
    decoder.skip(&page, 256).unwrap();
    assert!(decoder.skip(&page, 1).is_err());

    // Streams of different lengths.
    assert!(decoder.reset(&delta_page(&[0, 0], &[1], 10), false).is_err());
    assert!(decoder.reset(&delta_page(&[0], &[1, 1], 10), false).is_err());
    // The second stream is missing altogether.
    assert!(decoder.reset(&encode_i32(&[0, 0], SHAPES[0]), false).is_err());
}

#[test]
fn a_bomb_of_prefixes_is_a_limit() {
    // 2000 values that repeat two megabytes each, in two megabytes.
    let len = 2 << 20;
    let mut prefixes = vec![len; 2000];
    prefixes[0] = 0;
    let mut suffixes = vec![0; 2000];
    suffixes[0] = len;
    let page = delta_page(&prefixes, &suffixes, len as usize);
    let mut decoder = DeltaByteArray::default();
    decoder.reset(&page, false).unwrap();
    decoder.skip(&page, 1999).unwrap();
    decoder.reset(&page, false).unwrap();
    let mut out = ViewBuffer { data: Vec::new(), ..ViewBuffer::default() };
    decoder.read(&page, 1, &mut out).unwrap();
    // 256 at a time would be half a gigabyte: the buffer is full before any of it is allocated.
    out.data.clear();
    let full = ViewBuffer { data: vec![0; (i32::MAX as usize) - (100 << 20)], ..ViewBuffer::default() };
    out = full;
    assert!(matches!(decoder.read(&page, 256, &mut out), Err(Error::Limit(_))));
}

#[test]
fn padding_after_the_values_is_not_read_as_a_header() {
    let shape = Shape { values_per_miniblock: 32, miniblocks: 4 };
    let mut page = Vec::new();
    write_header(&mut page, shape, 3, 10);
    write_zigzag(&mut page, 1);
    page.extend([0, 0xff, 0x80, 0x41]);
    let end = page.len();
    page.extend([0xff; 50]);
    let mut decoder = DeltaBinaryPacked::<i32>::default();
    decoder.reset(&page).unwrap();
    assert_eq!(decoder.end(&page).unwrap(), end);
    let mut out = [0; 3];
    decoder.read(&page, &mut out).unwrap();
    assert_eq!(out, [10, 11, 12]);
    assert_eq!(decoder.end(&page).unwrap(), end);
}
