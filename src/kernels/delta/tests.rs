//! Streams on every instruction set of this machine, against values that were packed bit by bit.

use super::*;
use crate::kernels::tests::{Random, bit, tables};
use crate::kernels::{Comparison, Isa, Kernels, Lane, kernels_for};

/// The shape of blocks: miniblocks, and values in each.
type Shape = (usize, usize);

/// What writers use (128 values of parquet-java and arrow, 256 of arrow for INT64, 2048 of DuckDB), and what they could.
const SHAPES: [Shape; 7] = [(4, 32), (4, 64), (8, 256), (1, 32), (3, 96), (2, 1024), (16, 32)];

/// A page of blocks without their stream's header, and the values in it.
#[derive(Clone)]
struct Blocks<T> {
    shape: Shape,
    first: T,
    page: Vec<u8>,
    values: Vec<T>,
}

impl<T: Lane> Blocks<T> {
    /// `width` and `min_delta` are asked for the index of a miniblock, and of a block.
    fn new(
        random: &mut Random,
        shape: Shape,
        count: usize,
        mut width: impl FnMut(&mut Random, usize) -> u32,
        mut min_delta: impl FnMut(&mut Random, usize) -> i64,
    ) -> Self {
        let (miniblocks, size) = shape;
        let first = T::wrap(min_delta(random, 0));
        let (mut page, mut values, mut last) = (Vec::new(), Vec::with_capacity(count), first);
        let mut block = 0;
        while values.len() < count {
            let min_delta = min_delta(random, block);
            let mut code = (min_delta << 1 ^ min_delta >> 63) as u64;
            while code >= 0x80 {
                page.push(code as u8 | 0x80);
                code >>= 7;
            }
            page.push(code as u8);
            let widths: Vec<u32> = (0..miniblocks).map(|index| width(random, block * miniblocks + index)).collect();
            page.extend(widths.iter().map(|&width| width as u8));
            for width in widths {
                if values.len() == count {
                    // No bytes for miniblocks after the last value.
                    break;
                }
                let (mut bits, mut used) = (0u128, 0);
                for _ in 0..size {
                    let delta = if width == 0 { 0 } else { random.next() >> (64 - width) };
                    bits |= u128::from(delta) << used;
                    used += width;
                    while used >= 8 {
                        page.push(bits as u8);
                        bits >>= 8;
                        used -= 8;
                    }
                    if values.len() < count {
                        last = last.add(T::wrap(min_delta)).add(T::wrap(delta as i64));
                        values.push(last);
                    }
                }
            }
            block += 1;
        }
        Self { shape, first, page, values }
    }

    fn stream(&self) -> Stream<T> {
        let mut stream = Stream::<T> { last: self.first, ..Stream::default() };
        stream.blocks.deltas = self.values.len();
        (stream.blocks.miniblocks_per_block, stream.blocks.values_per_miniblock) = self.shape;
        stream
    }

    /// Reads all in pieces, each in one of the ways.
    fn check_pieces(&self, kernels: &Kernels, random: &mut Random, page: &[u8]) {
        let Self { values, .. } = self;
        let context = format!("{kernels:?}, {:?}", self.shape);
        let mut stream = self.stream();
        let mut done = 0;
        while done < values.len() {
            let most = [2, 40, 300, 1100][random.below(4)];
            let count = random.below(most).min(values.len() - done);
            let expected = &values[done..done + count];
            match random.below(3) {
                0 => {
                    // Of any alignment.
                    let mut out = vec![T::default(); count + 16];
                    let offset = random.below(16);
                    let out = &mut out[offset..offset + count];
                    assert_eq!(T::decode(kernels, page, &mut stream, out), count, "{context}");
                    assert_eq!(out, expected, "{context}, from value {done}");
                }
                1 => assert_eq!(T::skip(kernels, page, &mut stream, count), count, "{context}"),
                _ => {
                    let (low, high) = range(random, values);
                    let mut words = vec![u64::MAX; count.div_ceil(64) + 1];
                    let compared = T::decode_in_range(kernels, page, &mut stream, count, low, high, &mut words);
                    assert_eq!(compared, count, "{context}");
                    for index in 0..64 * count.div_ceil(64) {
                        let expected = expected.get(index).is_some_and(|value| (low..=high).contains(value));
                        assert_eq!(
                            bit(&words, index),
                            expected,
                            "{context}, {low:?}..={high:?}, value {}",
                            done + index
                        );
                    }
                    assert_eq!(words.last(), Some(&u64::MAX), "{context}");
                }
            }
            done += count;
        }
    }
}

/// A range of which some values are, or that says something of the extremes.
fn range<T: Lane>(random: &mut Random, values: &[T]) -> (T, T) {
    let (min, max) = (T::wrap(i64::MIN >> (64 - T::BITS)), T::wrap(i64::MAX >> (64 - T::BITS)));
    let (one, other) = (values[random.below(values.len())], values[random.below(values.len())]);
    match random.below(6) {
        0 => (min, one),
        1 => (one, max),
        2 => (one, one),
        3 => [(min, max), (max, min), (max, max), (min, min)][random.below(4)],
        _ => (one.min(other), one.max(other)),
    }
}

fn min_delta(random: &mut Random, _: usize) -> i64 {
    let shift = random.below(64);
    [0, -1, 77, i64::MIN, i64::MAX, random.next() as i64 >> shift][random.below(6)]
}

fn each_width<T: Lane>(random: &mut Random, shape: Shape, count: usize, mut check: impl FnMut(&mut Random, Blocks<T>)) {
    for width in 0..=T::BITS {
        let uniform = Blocks::new(random, shape, count, |_, _| width, min_delta);
        check(random, uniform);
        // Steps that are small, so that values lie close together.
        let smooth = Blocks::new(random, shape, count, |_, _| width, |random, _| random.below(9) as i64 - 4);
        check(random, smooth);
        let sparse = |random: &mut Random, _| if random.below(3) == 0 { 0 } else { width };
        let sparse = Blocks::new(random, shape, count, sparse, min_delta);
        check(random, sparse);
        let mixed = |random: &mut Random, _| random.below(width as usize + 1) as u32;
        let mixed = Blocks::new(random, shape, count, mixed, min_delta);
        check(random, mixed);
    }
}

fn check_shapes<T: Lane>() {
    let mut random = Random(1);
    for shape in SHAPES {
        for count in [1, 31, 32, 33, 127, 128, 255, 1000, 1024, 2500] {
            each_width::<T>(&mut random, shape, count, |random, blocks| {
                for kernels in tables() {
                    blocks.check_pieces(kernels, random, &blocks.page);
                }
            });
        }
    }
}

#[test]
fn pieces_of_all_shapes() {
    check_shapes::<i32>();
    check_shapes::<i64>();
}

fn check_lengths<T: Lane>() {
    let mut random = Random(2);
    let shape = if T::BITS == 32 { (4, 32) } else { (4, 64) };
    each_width::<T>(&mut random, shape, 1100, |_, blocks| {
        let mut out = [T::default(); 1100];
        for kernels in tables() {
            for len in 0..=1100 {
                let mut stream = blocks.stream();
                assert_eq!(T::decode(kernels, &blocks.page, &mut stream, &mut out[..len]), len);
                assert_eq!(out[..len], blocks.values[..len], "{kernels:?}, {len} values");
                let mut stream = blocks.stream();
                assert_eq!(T::skip(kernels, &blocks.page, &mut stream, len), len);
                let next = (1100 - len).min(1);
                assert_eq!(T::decode(kernels, &blocks.page, &mut stream, &mut out[..next]), next);
                assert_eq!(out[..next], blocks.values[len..][..next], "{kernels:?}, {len} values skipped");
            }
        }
    });
}

#[test]
fn every_length() {
    check_lengths::<i32>();
    check_lengths::<i64>();
}

#[cfg(target_os = "linux")]
fn check_guards<T: Lane>() {
    use crate::kernels::tests::guarded::Guarded;

    let (mut random, mut memory, mut out) = (Random(3), Guarded::new(1 << 16), Guarded::new(1 << 16));
    for shape in SHAPES {
        each_width::<T>(&mut random, shape, 300, |random, blocks| {
            for kernels in tables() {
                let page = memory.copy(&blocks.page);
                blocks.check_pieces(kernels, random, page);
                let len = random.below(301);
                let values = out.end::<T>(len);
                assert_eq!(T::decode(kernels, page, &mut blocks.stream(), values), len);
                assert_eq!(values, &blocks.values[..len]);
                // A page that ends too early.
                let cut = random.below(blocks.page.len());
                let page = memory.copy(&blocks.page[..cut]);
                let mut stream = blocks.stream();
                let values = out.end::<T>(300);
                let decoded = T::decode(kernels, page, &mut stream, values);
                assert_eq!(values[..decoded], blocks.values[..decoded], "{kernels:?}, {cut} bytes");
                assert!(T::skip(kernels, page, &mut blocks.stream(), 300) <= 300);
                let page = memory.copy_to_start(&blocks.page);
                blocks.check_pieces(kernels, random, page);
            }
        });
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_past_the_page_is_read() {
    check_guards::<i32>();
    check_guards::<i64>();
}

/// Compares the streams of two pages, in pieces, of which those that are not compared in step are decoded.
fn check_compare<T: Lane>(kernels: &Kernels, random: &mut Random, pages: [&Blocks<T>; 2]) -> usize {
    use Comparison::*;
    let op = [Eq, NotEq, Lt, LtEq, Gt, GtEq][random.below(6)];
    let signed = random.below(2) == 1;
    let [left, right] = pages;
    let count = left.values.len();
    let expected = |index: usize| {
        let (left, right) = (left.values[index], right.values[index]);
        let order = if signed { left.cmp(&right) } else { left.unsigned().cmp(&right.unsigned()) };
        match op {
            Eq => order.is_eq(),
            NotEq => order.is_ne(),
            Lt => order.is_lt(),
            LtEq => order.is_le(),
            Gt => order.is_gt(),
            GtEq => order.is_ge(),
        }
    };
    let mut streams = pages.map(Blocks::stream);
    let (mut done, mut in_step) = (0, 0);
    while done < count {
        let wanted = random.below(1100).min(count - done);
        let from = random.below(64);
        let before = random.next();
        let mut words = vec![before; (from + wanted).div_ceil(64)];
        let [left_stream, right_stream] = &mut streams;
        let both = [(left.page.as_slice(), left_stream), (right.page.as_slice(), right_stream)];
        let compared = T::compare_streams(kernels, both, wanted, (op, signed), &mut words, from);
        assert!(compared <= wanted);
        for index in 0..compared {
            let context = format!("{kernels:?}, {:?}, {op:?}, signed {signed}, value {}", left.shape, done + index);
            assert_eq!(bit(&words, from + index), expected(done + index), "{context}");
        }
        assert!(words.is_empty() || (0..from).all(|index| bit(&words, index) == bit(&[before], index)));
        (done, in_step) = (done + compared, in_step + compared);
        let rest = random.below(300).min(count - done);
        for (stream, blocks) in streams.iter_mut().zip(pages) {
            let mut values = vec![T::default(); rest];
            assert_eq!(T::decode(kernels, &blocks.page, stream, &mut values), rest);
            assert_eq!(values, blocks.values[done..done + rest], "{kernels:?}, after {done} values");
        }
        done += rest;
    }
    in_step
}

fn check_compares<T: Lane>() {
    let mut random = Random(6);
    let mut in_step = 0;
    for shape in [(4, 32), (4, 64), (8, 256)] {
        for width in 0..=T::BITS {
            for kind in 0..5 {
                let mut blocks = || {
                    let width = |random: &mut Random, _| match kind {
                        0 => width,
                        _ => random.below(width as usize + 1) as u32,
                    };
                    let half = ((1i128 << width(&mut Random(1), 0)) / 2) as i64;
                    let min_delta = move |random: &mut Random, block: usize| match kind {
                        // Around the start, which is near an end of the type, or far from the other's.
                        0..=2 if block > 0 => (random.below(9) as i64 - 4).wrapping_sub(half),
                        0 | 1 => random.below(1 << 14) as i64,
                        2 => T::wrap(i64::MAX >> (64 - T::BITS)).widen() - random.below(1 << 14) as i64,
                        3 => min_delta(random, block),
                        _ => random.next() as i64 >> 20,
                    };
                    Blocks::<T>::new(&mut random, shape, 3000, width, min_delta)
                };
                let pages = [&blocks(), &blocks()];
                for kernels in tables() {
                    in_step += check_compare(kernels, &mut random, pages);
                }
            }
        }
    }
    // Or nothing was tested.
    assert!(in_step > 0 || kernels_for(Isa::Avx512).is_none());
}

#[test]
fn streams_are_compared() {
    check_compares::<i32>();
    check_compares::<i64>();
}

#[test]
fn a_page_that_ends_early_gives_what_it_holds() {
    let mut random = Random(4);
    for kernels in tables() {
        for width in [0, 1, 7, 20, 32] {
            let blocks = Blocks::<i32>::new(&mut random, (4, 32), 300, |_, _| width, |_, _| -3);
            let mut before = 0;
            for cut in 0..blocks.page.len() {
                let (mut stream, mut out) = (blocks.stream(), vec![0; 300]);
                let decoded = i32::decode(kernels, &blocks.page[..cut], &mut stream, &mut out);
                assert_eq!(out[..decoded], blocks.values[..decoded]);
                // Whole miniblocks: bytes that are there are not left.
                assert!(decoded >= before, "{kernels:?}, {cut} bytes");
                before = decoded;
                assert_eq!(stream.held, 0);
            }
        }
    }
}

#[test]
fn sums_of_the_largest_deltas() {
    for kernels in tables() {
        for width in 1..=64u32 {
            let count = 1 << 16;
            for shape in [(4, 32), (4, 64), (2, 1 << 14)] {
                let mut page = Vec::new();
                for _ in 0..count / (shape.0 * shape.1) {
                    page.push(0);
                    page.extend(vec![width as u8; shape.0]);
                    page.extend(vec![0xff; shape.0 * shape.1 / 8 * width as usize]);
                }
                let expected = (u64::MAX >> (64 - width)).wrapping_mul(count as u64) as i64;
                let blocks = Blocks { shape, first: 0, page, values: vec![0i64; count] };
                let mut stream = blocks.stream();
                assert_eq!(i64::skip(kernels, &blocks.page, &mut stream, count), count);
                assert_eq!(stream.last, expected, "{kernels:?}, {width} bits, {shape:?}");
                if width <= 32 {
                    let blocks = Blocks { shape, first: 0, page: blocks.page, values: vec![0i32; count] };
                    let mut stream = blocks.stream();
                    assert_eq!(i32::skip(kernels, &blocks.page, &mut stream, count), count);
                    assert_eq!(stream.last, expected as i32, "{kernels:?}, {width} bits, {shape:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_odd_is_left() {
    for kernels in tables() {
        let decode = |shape: Shape, page: &[u8]| {
            let blocks = Blocks::<i32> { shape, first: 0, page: page.to_vec(), values: vec![0; 64] };
            i32::decode(kernels, page, &mut blocks.stream(), &mut [0; 64])
        };
        let block = |widths: [u8; 2]| [&[2], widths.as_slice(), &[0; 1024]].concat();
        assert_eq!(decode((2, 32), &block([3, 4])), 64);
        // Miniblocks that are no multiple of 32.
        assert_eq!(decode((2, 8), &block([3, 4])), 0);
        assert_eq!(decode((2, 48), &block([3, 4])), 0);
        // Wider than the type, or than any.
        assert_eq!(decode((2, 32), &block([3, 33])), 32);
        assert_eq!(decode((2, 32), &block([200, 4])), 0);
        // Shapes and varints that no page holds.
        assert_eq!(decode((usize::MAX, 32), &block([3, 4])), 0);
        assert_eq!(decode((2, usize::MAX / 32 * 32), &block([3, 4])), 0);
        assert_eq!(decode((2, 32), &[0x80; 200]), 0);
        assert_eq!(decode((2, 32), &[0xff; 200]), 0);
        assert_eq!(decode((2, 32), &[]), 0);
        // The rest of a miniblock whose first values were decoded otherwise.
        let blocks = Blocks::<i32> { shape: (2, 64), first: 0, page: vec![0; 2048], values: vec![0; 64] };
        let mut stream = blocks.stream();
        (stream.blocks.bit_width, stream.blocks.left) = (40, 32);
        assert_eq!(i32::decode(kernels, &blocks.page, &mut stream, &mut [0; 64]), 0);
        // Nothing to unpack.
        assert_eq!(decode((2, usize::MAX / 32 * 32), &block([0, 0])), 64);
    }
}

#[test]
fn what_has_no_bytes_is_skipped_at_once() {
    for kernels in tables() {
        let count = 1 << 40;
        let mut stream = Stream::<i64>::default();
        stream.blocks.deltas = count;
        (stream.blocks.miniblocks_per_block, stream.blocks.values_per_miniblock) = (1, count);
        // A block of deltas that are 3.
        let page = [&[6, 0], [0; 64].as_slice()].concat();
        assert_eq!(i64::skip(kernels, &page, &mut stream, count - 5), count - 5);
        let mut rest = [0; 5];
        assert_eq!(i64::decode(kernels, &page, &mut stream, &mut rest), 5);
        assert_eq!(rest[4], 3 * count as i64, "{kernels:?}");
    }
}

#[test]
fn streams_near_the_ends_of_the_type_are_compared() {
    let mut random = Random(7);
    for first in [i64::MAX, i64::MIN, 3 << 61, 1 << 61, -1 << 61] {
        for kernels in tables() {
            let mut blocks = || {
                let steps = move |random: &mut Random, block| if block == 0 { first } else { random.below(9) as i64 };
                let width = [3, 30, 50, 53][random.below(4)];
                Blocks::<i64>::new(&mut random, (4, 64), 2000, |_, _| width, steps)
            };
            let pages = [&blocks(), &blocks()];
            for _ in 0..24 {
                check_compare(kernels, &mut random, pages);
            }
        }
    }
}

#[test]
fn odd_deltas() {
    let mut random = Random(5);
    for width in 0..=64u32 {
        let packed: Vec<u8> = (0..4 * width).map(|_| random.next() as u8).collect();
        let (min_delta, first) = (random.next() as i64, random.next() as i64);
        let delta = |index: u32| {
            (0..width).fold(0u64, |delta, i| {
                let at = (index * width + i) as usize;
                delta | u64::from(packed[at / 8] >> (at % 8) & 1) << i
            })
        };
        let mut last = first;
        let expected: Vec<i64> = (0..32)
            .map(|index| {
                last = last.wrapping_add(min_delta).wrapping_add(delta(index) as i64);
                last
            })
            .collect();
        for count in [0, 8, 24, 32] {
            let mut wide = vec![0i64; count];
            let last = i64::decode_odd(&packed, width, min_delta, first, &mut wide);
            assert_eq!(wide, expected[..count]);
            assert_eq!(last, *wide.last().unwrap_or(&first));
            let mut narrow = vec![0i32; count];
            i32::decode_odd(&packed, width, min_delta, first as i32, &mut narrow);
            assert!(narrow.iter().zip(&expected).all(|(&narrow, &wide)| narrow == wide as i32));
        }
    }
}
