//! Tests of byte arrays that are read, against those of the same values.

use super::*;
use crate::column::matcher::Matcher;
use crate::encoding::delta_tests::Random;
use crate::encoding::delta_tests::reference::{SHAPES, encode_delta_byte_array, encode_delta_length};
use crate::predicate::{BytesSet, IntSet, LengthUnit, ValueSet};

/// Values that have their beginnings in common with others, up to 12, 13 and more bytes.
fn values(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let beginning = random.pick(&[0, 3, 4, 5, 11, 12, 13, 20]);
    let (letters, longest) = (random.pick(&[1, 2, 3, 256]), random.pick(&[1, 4, 13, 30, 200]));
    let value = |random: &mut Random| {
        let mut value = vec![b'x'; beginning];
        value.extend(random.bytes(random.0 as usize % longest).iter().map(|byte| (usize::from(*byte) % letters) as u8));
        value.truncate(random.pick(&[usize::MAX, usize::MAX, 12, beginning]));
        value
    };
    let mut values: Vec<_> = (0..count).map(|_| value(random)).collect();
    if random.below(2) == 0 {
        values.sort();
    }
    values
}

/// Some lengths, of values that need not be UTF-8.
fn lengths(random: &mut Random) -> ValueSet {
    let unit = random.pick(&[LengthUnit::Bytes, LengthUnit::Characters]);
    let length = |random: &mut Random| random.pick(&[-1, 0, 1, 3, 4, 11, 12, 13, 14, 20, 33, 100]);
    let (low, high) = (length(random), length(random));
    let set = IntSet::closed(low, high).union(&IntSet::points([length(random)]));
    ValueSet::Lengths(unit, if random.below(2) == 0 { set.complement() } else { set })
}

fn contains(set: &ValueSet, value: &[u8]) -> bool {
    match set {
        ValueSet::Bytes(set) => set.contains(value),
        ValueSet::Lengths(LengthUnit::Bytes, set) => set.contains(&(value.len() as i64)),
        ValueSet::Lengths(LengthUnit::Characters, set) => {
            set.contains(&(value.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as i64))
        }
        other => panic!("{other:?}"),
    }
}

/// A set of intervals, or of some of the values.
fn set(random: &mut Random, values: &[Vec<u8>]) -> BytesSet {
    let value = |random: &mut Random| {
        let mut value = values[random.below(values.len())].clone();
        match random.below(6) {
            0 => value.push(random.pick(&[0, 1, 255])),
            1 => value.truncate(random.below(value.len() + 1)),
            2 => value.clear(),
            _ => {}
        }
        value
    };
    let count = random.pick(&[1, 1, 2, 3, 8, 9, 40]);
    let mut set = BytesSet::none();
    match random.below(3) {
        0 => set = BytesSet::points((0..count).map(|_| value(random)).collect::<Vec<_>>()),
        1 => {
            let (low, high) = (value(random), value(random));
            set = BytesSet::half_open(Some(low).filter(|_| count > 1), Some(high).filter(|_| count != 2));
        }
        _ => {
            for _ in 0..count {
                let (a, b) = (value(random), value(random));
                set = set.union(&BytesSet::half_open(Some(a.clone().min(b.clone())), Some(a.max(b))));
            }
        }
    }
    if random.below(2) == 0 { set.complement() } else { set }
}

#[test]
fn values_match_as_they_are_read() {
    let mut random = Random(77);
    for round in 0..600 {
        let count = random.pick(&[1, 2, 63, 64, 65, 700, 1024, 1025, 5000]);
        let values = values(&mut random, count);
        let shape = random.pick(&SHAPES);
        let (encoding, page) = match round % 3 {
            0 => (Encoding::DeltaLengthByteArray, encode_delta_length(&values, shape)),
            1 => (Encoding::DeltaByteArray, encode_delta_byte_array(&[], &values, shape, |common| common)),
            _ => {
                let stored = |value: &Vec<u8>| [&(value.len() as u32).to_le_bytes(), value.as_slice()].concat();
                (Encoding::Plain, values.iter().flat_map(stored).collect())
            }
        };
        let set = match random.below(4) {
            0 => lengths(&mut random),
            _ => ValueSet::Bytes(set(&mut random, &values)),
        };
        let matcher = ByteMatcher::new(&set).unwrap();
        let mut decoder = ByteEncodings::new(false, false, usize::MAX);
        let page = Bytes::from(page);
        decoder.start(encoding, &page, Some(&page).filter(|_| random.below(2) == 0)).unwrap();
        let mut done = 0;
        while done < count {
            let most = random.pick(&[2, 100, 3000]);
            let some = (1 + random.below(most)).min(count - done);
            let expected = &values[done..done + some];
            match random.below(4) {
                0 => decoder.skip(&page, some).unwrap(),
                1 => {
                    let mut out = decoder.buffer();
                    decoder.read(&page, some, &mut out).unwrap();
                    assert!(out.views().iter().zip(expected).all(|(view, value)| out.bytes(view) == value));
                    let mut words = vec![u64::MAX; some.div_ceil(64)];
                    matcher.select(&out, &mut words);
                    check(&words, expected, &set);
                }
                _ => {
                    let mut words = vec![u64::MAX; some.div_ceil(64)];
                    decoder.read_matches(&page, some, &matcher, &mut words).unwrap();
                    check(&words, expected, &set);
                }
            }
            done += some;
        }
    }
}

#[test]
fn arenas_of_values_from_pages_are_sealed() {
    let (value, count) = (vec![b'a'; 1 << 20], 100);
    let stored = [&(value.len() as u32).to_le_bytes(), value.as_slice()].concat();
    let page = Bytes::from(stored.repeat(count));
    let mut decoder = ByteEncodings::new(true, false, usize::MAX);
    decoder.start(Encoding::Plain, &page, Some(&page)).unwrap();
    let mut out = decoder.buffer();
    for _ in 0..count {
        // So little of the page is copied.
        decoder.read(&page, 1, &mut out).unwrap();
    }
    assert!(out.arena().len() < 64 << 20);
    assert!(out.views().iter().all(|view| out.bytes(view) == value));
}

/// Values that are put together one by one are tested as others are.
#[test]
fn long_values_match() {
    let mut random = Random(78);
    let long = |random: &mut Random, row: usize| {
        let mut value = "\u{e9}".repeat(1000 + random.below(1000)).into_bytes();
        value.extend(format!("{:04}", row * 7919 % 3000).bytes());
        value
    };
    let mut values: Vec<Vec<u8>> = (0..2000).map(|row| long(&mut random, row)).collect();
    values.sort();
    let page = encode_delta_byte_array(&[], &values, SHAPES[0], |common| common);
    let sets = [
        ValueSet::Lengths(LengthUnit::Characters, IntSet::closed(1200, 1500)),
        ValueSet::Bytes(BytesSet::points((0..40).map(|index| values[index * 50].clone()))),
    ];
    for set in sets {
        let matcher = ByteMatcher::new(&set).unwrap();
        let mut decoder = ByteEncodings::new(true, false, usize::MAX);
        decoder.start(Encoding::DeltaByteArray, &page, None).unwrap();
        let mut words = vec![u64::MAX; values.len().div_ceil(64)];
        decoder.read_matches(&page, values.len(), &matcher, &mut words).unwrap();
        check(&words, &values, &set);
    }
}

fn check(words: &[u64], values: &[Vec<u8>], set: &ValueSet) {
    for (index, word) in words.iter().enumerate() {
        let expected = values.iter().skip(64 * index).take(64).enumerate();
        let expected = expected.fold(0, |word, (bit, value)| word | u64::from(contains(set, value)) << bit);
        assert_eq!(*word, expected, "word {index}, {set:?}");
    }
}
