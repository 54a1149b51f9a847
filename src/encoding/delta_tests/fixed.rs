//! DELTA_BYTE_ARRAY of FIXED_LEN_BYTE_ARRAY: widths on both sides of a word, skips, and values of another length.

use std::sync::Arc;

use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType};
use parquet::encodings::encoding::get_encoder;
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};

use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::error::Error;

use super::Random;
use super::reference::{SHAPES, encode_delta_byte_array};

const WIDTHS: [usize; 12] = [1, 2, 3, 5, 8, 12, 15, 16, 17, 31, 32, 300];
const COUNTS: [usize; 7] = [0, 1, 2, 255, 256, 257, 700];

/// Values of `width` bytes that share prefixes with their neighbours.
fn values(random: &mut Random, width: usize, count: usize) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let mut value = random.bytes(width);
        if let Some(previous) = values.last() {
            let keep = random.below(width + 1);
            value[..keep].copy_from_slice(&previous[..keep]);
        }
        values.push(value);
    }
    if random.below(3) == 0 {
        values.sort();
    }
    values
}

fn check_walk(random: &mut Random, decoder: &mut DeltaByteArray, page: &[u8], values: &[Vec<u8>], width: usize) {
    let largest = random.pick(&[1, 3, 100, 300, 2000]);
    let skips = random.below(3);
    // What was there before stays.
    let mut out = vec![9; width];
    let mut expected = out.clone();
    let mut done = 0;
    while done < values.len() {
        let count = (1 + random.below(largest)).min(values.len() - done);
        if random.below(3) < skips {
            decoder.skip(page, count).unwrap();
        } else {
            decoder.read_fixed(page, count, width, &mut out).unwrap();
            expected.extend(values[done..done + count].iter().flatten());
        }
        done += count;
    }
    assert_eq!(out, expected);
    decoder.read_fixed(page, 0, width, &mut out).unwrap();
    assert!(decoder.read_fixed(page, 1, width, &mut out).is_err());
    assert_eq!(out, expected);
}

#[test]
fn reads_and_skips() {
    let mut random = Random(51);
    let mut decoder = DeltaByteArray::default();
    for width in WIDTHS {
        for count in COUNTS {
            let values = values(&mut random, width, count);
            let shape = random.pick(&SHAPES);
            let halves = random.below(2) == 0;
            let page = encode_delta_byte_array(&[], &values, shape, |common| if halves { common / 2 } else { common });
            decoder.reset(&page, false).unwrap();
            check_walk(&mut random, &mut decoder, &page, &values, width);
        }
    }
}

#[test]
fn pages_of_the_parquet_crate() {
    let mut random = Random(52);
    let mut decoder = DeltaByteArray::default();
    for width in WIDTHS {
        let column = Type::primitive_type_builder("column", PhysicalType::FIXED_LEN_BYTE_ARRAY);
        let column = column.with_length(width as i32).build().unwrap();
        let column = Arc::new(ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from("column")));
        let values = values(&mut random, width, 1000);
        let mut encoder = get_encoder::<FixedLenByteArrayType>(Encoding::DELTA_BYTE_ARRAY, &column).unwrap();
        let given: Vec<FixedLenByteArray> = values.iter().map(|value| value.clone().into()).collect();
        encoder.put(&given).unwrap();
        let page = encoder.flush_buffer().unwrap();
        decoder.reset(&page, false).unwrap();
        check_walk(&mut random, &mut decoder, &page, &values, width);
    }
}

#[test]
fn values_of_another_length_are_refused() {
    let mut random = Random(53);
    let mut decoder = DeltaByteArray::default();
    for width in WIDTHS {
        for other in [width - 1, width + 1, width + 16] {
            let mut values = values(&mut random, width, 20);
            values[10] = random.bytes(other);
            let page = encode_delta_byte_array(&[], &values, SHAPES[0], |common| common);
            decoder.reset(&page, false).unwrap();
            let refused = decoder.read_fixed(&page, 20, width, &mut Vec::new());
            assert!(matches!(refused, Err(Error::Corrupt(_))), "{width} and {other}");
            // Skipped ones are not looked at; what stands on them is.
            decoder.reset(&page, false).unwrap();
            decoder.skip(&page, 11).unwrap();
            let mut out = Vec::new();
            decoder.read_fixed(&page, 9, width, &mut out).unwrap();
            assert_eq!(out, values[11..].concat());
        }
    }
}

#[test]
fn every_truncation() {
    let mut random = Random(54);
    let mut decoder = DeltaByteArray::default();
    for width in [5, 16, 20] {
        let values = values(&mut random, width, 40);
        let page = encode_delta_byte_array(&[], &values, SHAPES[0], |common| common);
        for len in 0..page.len() {
            let page = &page[..len];
            if decoder.reset(page, false).is_ok() {
                assert!(decoder.read_fixed(page, 40, width, &mut Vec::new()).is_err(), "{len} of {width}");
            }
        }
    }
}

#[test]
fn any_bytes() {
    let mut random = Random(55);
    let mut decoder = DeltaByteArray::default();
    for round in 0..3000 {
        let width = random.pick(&WIDTHS);
        let mut page = encode_delta_byte_array(&[], &values(&mut random, width, 40), SHAPES[0], |common| common);
        for _ in 0..1 + round % 4 {
            let at = random.below(page.len());
            page[at] = random.next() as u8;
        }
        if decoder.reset(&page, false).is_ok() {
            let count = decoder.remaining().min(300);
            let mut out = Vec::new();
            let _ = decoder.skip(&page, count / 3);
            let _ = decoder.read_fixed(&page, count / 2, width, &mut out);
            assert!(out.len() <= count * width);
        }
    }
}
