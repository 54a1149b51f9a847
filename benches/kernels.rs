//! Kernels over slices on each instruction set, against a plain loop, or the kernel of arrow where there is one that does
//! the same work.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot run has nothing to report")]

mod support;

use std::cell::RefCell;
use std::hint::black_box;

use arrow::array::{
    Array, ArrowPrimitiveType, BooleanArray, Decimal128Array, PrimitiveArray, UInt32Array, UInt64Array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;
use arrow::compute::{filter, take};
use arrow::datatypes::{Int32Type, Int64Type};
use bytes::Bytes;
use miniblock::internals::kernels::{Comparison, Isa, Kernels, Lane, Value, kernels_for};
use parquet::util::bit_util::BitReader;

use support::{Bench, Buffer, PEER, random};

/// A window of the scan, and a page.
const COUNTS: [usize; 2] = [1024, 65_536];

/// Of the rows.
const PERCENT_SELECTED: [u64; 4] = [1, 10, 50, 90];

fn main() {
    let mut bench = Bench::from_args();
    for count in COUNTS {
        comparisons::<i32, Int32Type>(&mut bench, "i32", count);
        comparisons::<i64, Int64Type>(&mut bench, "i64", count);
        moves(&mut bench, "u32", count, |bits| bits as u32, |values| UInt32Array::from(values.to_vec()));
        moves(&mut bench, "u64", count, |bits| bits, |values| UInt64Array::from(values.to_vec()));
        moves(&mut bench, "u128", count, u128::from, |values| {
            Decimal128Array::from_iter_values(values.iter().map(|value| value.cast_signed()))
        });
        unpack(&mut bench, count);
        bitmaps(&mut bench, count);
    }
    bench.finish();
}

fn tables() -> impl Iterator<Item = &'static Kernels> {
    Isa::ALL.into_iter().filter_map(kernels_for)
}

fn name(case: &str, count: usize, kernels: &Kernels) -> String {
    format!("{case}/n{count}/{}", kernels.isa().name())
}

/// A bitmap with about so many bits set.
fn bitmap(seed: &mut u64, count: usize, percent: u64) -> Vec<u64> {
    let mut word = || (0..64).fold(0, |word, bit| word | u64::from(random(seed) % 100 < percent) << bit);
    (0..count / 64).map(|_| word()).collect()
}

fn is_set(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

fn booleans(words: &[u64]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(64 * words.len(), |index| is_set(words, index))
}

/// Ranges that hold half of the values, and comparisons of two columns.
fn comparisons<T: Lane, A: ArrowPrimitiveType<Native = T>>(bench: &mut Bench, lane: &str, count: usize) {
    let mut seed = 1;
    let [left, right] = [(); 2].map(|()| {
        let values: Vec<T> = (0..count).map(|_| T::wrap((random(&mut seed) % 4000) as i64)).collect();
        Buffer::copy_of(&values)
    });
    let (low, high) = (T::wrap(1000), T::wrap(2999));
    let in_range = |words: &mut [u64]| {
        for (values, word) in left.chunks(64).zip(words) {
            let verdict = |value: T| u64::from(low <= value && value <= high);
            *word = values.iter().rev().fold(0, |word, &value| word << 1 | verdict(value));
        }
    };
    let [left_array, right_array] =
        [&left, &right].map(|values| PrimitiveArray::<A>::from_iter_values(values.to_vec()));
    for kernels in tables() {
        let [mut words, mut peer_words] = [(); 2].map(|()| Buffer::new(count / 64));
        T::in_range(kernels, &left, low, high, &mut words);
        in_range(&mut peer_words);
        assert!(*words == *peer_words);
        bench
            .case(&name(&format!("in-range/{lane}/half"), count, kernels), count, || {
                T::in_range(kernels, &left, low, high, &mut words);
            })
            .against(PEER, || in_range(black_box(&mut peer_words)))
            .run();
        bench
            .case(&name(&format!("compare/{lane}/lt"), count, kernels), count, || {
                T::compare(kernels, &left, &right, Comparison::Lt, true, &mut words);
            })
            .against(PEER, || cmp::lt(&left_array, &right_array).unwrap())
            .run();
    }
}

/// Selections, their inverse, and dictionaries.
fn moves<U: Value, A: Array>(
    bench: &mut Bench,
    value: &str,
    count: usize,
    make: impl Fn(u64) -> U,
    array: impl Fn(&[U]) -> A,
) {
    let mut seed = 2;
    let mut make = |len: usize| {
        let values: Vec<U> = (0..len).map(|_| make(random(&mut seed))).collect();
        Buffer::copy_of(&values)
    };
    let values = make(count);
    let values_array = array(&values);
    for percent in PERCENT_SELECTED {
        let words = bitmap(&mut 3, count, percent);
        let selection = BooleanArray::from(booleans(&words));
        let expand = |out: &mut [U]| {
            let mut used = 0;
            for (index, slot) in out.iter_mut().enumerate() {
                let is_set = is_set(&words, index);
                *slot = if is_set { values[used] } else { U::default() };
                used += usize::from(is_set);
            }
        };
        for kernels in tables() {
            let (out, mut peer_out) = (RefCell::new(Buffer::new(count)), Buffer::new(count));
            bench
                .case(&name(&format!("compact/{value}/s{percent}"), count, kernels), count, || {
                    U::compact(kernels, &values, &words, &mut out.borrow_mut())
                })
                .against(PEER, || filter(&values_array, &selection).unwrap())
                .run();
            U::expand(kernels, &values, &words, count, &mut out.borrow_mut());
            expand(&mut peer_out);
            assert!(**out.borrow() == *peer_out);
            bench
                .case(&name(&format!("expand/{value}/s{percent}"), count, kernels), count, || {
                    U::expand(kernels, &values, &words, count, &mut out.borrow_mut())
                })
                .against(PEER, || expand(black_box(&mut peer_out)))
                .memcpy(&values, &out)
                .run();
        }
    }
    for entries in [8, 100, 10_000] {
        let dictionary = make(entries);
        let dictionary_array = array(&dictionary);
        let mut seed = 4;
        let indices: Vec<u32> = (0..count).map(|_| (random(&mut seed) % entries as u64) as u32).collect();
        let indices_array = UInt32Array::from(indices.clone());
        for kernels in tables() {
            let out = RefCell::new(Buffer::new(count));
            bench
                .case(&name(&format!("gather/{value}/d{entries}"), count, kernels), count, || {
                    assert!(U::gather(kernels, &dictionary, &indices, &mut out.borrow_mut()));
                })
                .against(PEER, || take(&dictionary_array, &indices_array, None).unwrap())
                .memcpy(&values, &out)
                .run();
        }
    }
}

/// Levels and indices; the peer is the parquet crate's.
fn unpack(bench: &mut Bench, count: usize) {
    let mut seed = 5;
    for width in 0..=32 {
        let packed: Bytes = (0..count / 8 * width).map(|_| random(&mut seed) as u8).collect();
        for kernels in tables() {
            let (out, mut values) = (RefCell::new(Buffer::new(count)), Buffer::new(count));
            kernels.unpack(&packed, width as u32, &mut values);
            let mut peer_out = Buffer::<u32>::new(count);
            let mut peer = || {
                let mut reader = BitReader::new(packed.clone());
                assert_eq!(reader.get_batch(&mut peer_out, width), count);
            };
            bench
                .case(&name(&format!("unpack/u32/w{width}"), count, kernels), count, || {
                    kernels.unpack(&packed, width as u32, &mut out.borrow_mut());
                })
                .against(PEER, &mut peer)
                .memcpy(&values, &out)
                .run();
            peer();
            assert!(*peer_out == *values);
        }
    }
}

/// Bits of rows to those of values and back, a value being a row.
fn bitmaps(bench: &mut Bench, count: usize) {
    for percent in PERCENT_SELECTED {
        let (source, mask) = (bitmap(&mut 6, count, 50), bitmap(&mut 7, count, percent));
        let extract = |out: &mut [u64]| {
            let mut written = 0;
            for (&word, &mask) in source.iter().zip(&mask) {
                let mut mask = mask;
                while mask != 0 {
                    let bit = word >> mask.trailing_zeros() & 1;
                    let slot = &mut out[written / 64];
                    *slot = *slot & !(1 << (written % 64)) | bit << (written % 64);
                    written += 1;
                    mask &= mask - 1;
                }
            }
        };
        let deposit = |out: &mut [u64]| {
            let mut read = 0;
            for (slot, &mask) in out.iter_mut().zip(&mask) {
                let mut mask = mask;
                *slot = 0;
                while mask != 0 {
                    *slot |= (source[read / 64] >> (read % 64) & 1) << mask.trailing_zeros();
                    read += 1;
                    mask &= mask - 1;
                }
            }
        };
        for kernels in tables() {
            let [mut out, mut peer_out] = [(); 2].map(|()| Buffer::new(count / 64));
            let case = |face: &str| name(&format!("{face}/bits/s{percent}"), count, kernels);
            kernels.pext_words(&source, &mask, &mut out);
            extract(&mut peer_out);
            assert!(*out == *peer_out);
            bench
                .case(&case("pext-words"), count, || kernels.pext_words(&source, &mask, &mut out))
                .against(PEER, || extract(black_box(&mut peer_out)))
                .run();
            kernels.pdep_words(&source, &mask, &mut out);
            deposit(&mut peer_out);
            assert!(*out == *peer_out);
            bench
                .case(&case("pdep-words"), count, || kernels.pdep_words(&source, &mask, &mut out))
                .against(PEER, || deposit(black_box(&mut peer_out)))
                .run();
            bench
                .case(&case("count-ones"), count, || kernels.count_ones(&mask))
                .against(PEER, || black_box(&mask).iter().map(|word| word.count_ones()).sum::<u32>())
                .run();
        }
    }
}
