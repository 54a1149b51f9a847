//! DELTA_BINARY_PACKED: widths, shapes, extremes, and every way to divide a stream into reads and skips.

use crate::encoding::delta_binary_packed::DeltaBinaryPacked;
use crate::kernels::{Comparison, Isa, Kernels, Lane, kernels_for};

use super::Random;
use super::reference::{SHAPES, Shape, decode, encode, encode_i32, pack, write_header, write_zigzag};

fn read_all<T: Lane>(bytes: &[u8]) -> Vec<T> {
    let mut decoder = DeltaBinaryPacked::<T>::default();
    decoder.reset(bytes).unwrap();
    let mut values = vec![T::default(); decoder.remaining()];
    decoder.read(bytes, &mut values).unwrap();
    assert_eq!(decoder.remaining(), 0);
    values
}

fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Reads, comparisons and skips of random lengths, in a page that goes on after the stream, on every instruction set.
fn check_walks<T: Lane>(random: &mut Random, stream: &[u8], expected: &[T], context: &str) {
    for kernels in Isa::ALL.into_iter().filter_map(kernels_for) {
        check_walks_by(kernels, random, stream, expected, &format!("{context}, {kernels:?}"));
    }
}

fn check_walks_by<T: Lane>(
    kernels: &'static Kernels,
    random: &mut Random,
    stream: &[u8],
    expected: &[T],
    context: &str,
) {
    let mut page = stream.to_vec();
    page.extend(random.bytes(7));
    let mut decoder = DeltaBinaryPacked::<T>::new(kernels);
    for largest in [1, 2, 33, 100, 1024, 5000] {
        if largest == 1 && expected.len() > 1000 {
            continue;
        }
        for skips in [0, 1, 2] {
            decoder.reset(&page).unwrap();
            let mut done = 0;
            while done < expected.len() {
                assert_eq!(decoder.remaining(), expected.len() - done);
                assert_eq!(decoder.end(&page).unwrap(), stream.len(), "{context}");
                let count = random.below(largest.min(expected.len() - done) + 1).max(usize::from(largest == 1));
                let expected = &expected[done..done + count];
                if let Some((low, high)) = decoder.bounds(&page, count) {
                    assert!(
                        expected.iter().all(|value| (low..=high).contains(value)),
                        "{context}: not in {low:?}..={high:?}"
                    );
                }
                if random.below(3) < skips {
                    decoder.skip(&page, count).unwrap();
                } else if random.below(3) == 0 {
                    let bounds = [0, 1].map(|_| expected.get(random.below(count + 1)).copied().unwrap_or_default());
                    let mut words = vec![u64::MAX; count.div_ceil(64)];
                    decoder.read_in_range(&page, count, bounds[0], bounds[1], &mut words).unwrap();
                    for index in 0..64 * words.len() {
                        let inside = expected.get(index).is_some_and(|value| (bounds[0]..=bounds[1]).contains(value));
                        assert_eq!(bit(&words, index), inside, "{context}, value {} in {bounds:?}", done + index);
                    }
                } else {
                    let mut values = vec![T::wrap(0x55); count];
                    decoder.read(&page, &mut values).unwrap();
                    assert_eq!(values, expected, "{context}, {count} values after {done}");
                }
                done += count;
            }
            assert_eq!(decoder.end(&page).unwrap(), stream.len(), "{context}");
            assert!(decoder.read(&page, &mut [T::default()]).is_err());
            assert!(decoder.skip(&page, 1).is_err());
            decoder.read(&page, &mut []).unwrap();
            decoder.skip(&page, 0).unwrap();
        }
    }
}

/// Compares two streams of the same number of values, in pieces of random lengths.
fn check_compare<T: Lane>(random: &mut Random, streams: [&[u8]; 2], expected: [&[T]; 2]) {
    for kernels in Isa::ALL.into_iter().filter_map(kernels_for) {
        let [left, right] = &mut streams.map(|_| DeltaBinaryPacked::<T>::new(kernels));
        left.reset(streams[0]).unwrap();
        right.reset(streams[1]).unwrap();
        let mut done = 0;
        while left.remaining() > 0 {
            let count = random.below(left.remaining() + 1);
            let mut words = vec![u64::MAX; count.div_ceil(64)];
            left.compare(streams[0], (right, streams[1]), count, (Comparison::LtEq, true), &mut words).unwrap();
            for index in 0..64 * words.len() {
                let holds = index < count && expected[0][done + index] <= expected[1][done + index];
                assert_eq!(bit(&words, index), holds, "{kernels:?}, value {}", done + index);
            }
            done += count;
        }
        assert!(left.compare(streams[0], (right, streams[1]), 1, (Comparison::Eq, true), &mut [0]).is_err());
    }
}

#[test]
fn two_streams_are_compared() {
    let mut random = Random(11);
    for shapes in SHAPES.into_iter().zip(SHAPES.into_iter().cycle().skip(1)).chain(SHAPES.map(|shape| (shape, shape))) {
        for width in [0, 3, 12, 20, 30, 40] {
            let mut stream = |shape| stream_of_widths(&mut random, shape, 3000, -(1 << width >> 1), |_| width);
            let streams = [stream(shapes.0), stream(shapes.1)];
            let (left, right) = (read_all::<i64>(&streams[0]), read_all::<i64>(&streams[1]));
            check_compare::<i64>(&mut random, [&streams[0], &streams[1]], [&left, &right]);
            let (left, right) = (read_all::<i32>(&streams[0]), read_all::<i32>(&streams[1]));
            check_compare::<i32>(&mut random, [&streams[0], &streams[1]], [&left, &right]);
        }
    }
}

#[test]
fn a_comparison_that_fails_takes_nothing() {
    let mut random = Random(12);
    let streams = [9, 5].map(|count| stream_of_widths(&mut random, SHAPES[0], count, 0, |_| 3));
    let [left, right] = &mut [(); 2].map(|()| DeltaBinaryPacked::<i32>::default());
    left.reset(&streams[0]).unwrap();
    right.reset(&streams[1]).unwrap();
    assert!(left.compare(&streams[0], (right, &streams[1]), 7, (Comparison::Eq, true), &mut [0]).is_err());
    assert_eq!((left.remaining(), right.remaining()), (9, 5));
    left.compare(&streams[0], (right, &streams[1]), 5, (Comparison::Eq, true), &mut [0]).unwrap();
    assert_eq!((left.remaining(), right.remaining()), (4, 0));
}

/// A stream of `count` values with the given width in each miniblock.
fn stream_of_widths(
    random: &mut Random,
    shape: Shape,
    count: usize,
    min_delta: i64,
    mut width: impl FnMut(&mut Random) -> u32,
) -> Vec<u8> {
    let mut out = Vec::new();
    let first = random.next() as i64;
    write_header(&mut out, shape, count as u64, first);
    let mut left = count.saturating_sub(1);
    while left > 0 {
        write_zigzag(&mut out, min_delta);
        let widths: Vec<u32> = (0..shape.miniblocks).map(|_| width(random)).collect();
        out.extend(widths.iter().map(|&width| width as u8));
        for width in widths {
            if left == 0 {
                break;
            }
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let deltas: Vec<u64> = (0..shape.values_per_miniblock).map(|_| random.next() & mask).collect();
            pack(&mut out, &deltas, width);
            left = left.saturating_sub(shape.values_per_miniblock);
        }
    }
    out
}

#[test]
fn every_width_in_both_lanes() {
    let mut random = Random(11);
    for width in 0..=64 {
        for shape in SHAPES {
            let block = shape.values_per_miniblock * shape.miniblocks;
            let count = random.pick(&[1, 2, 31, 33, block, block + 1, block + 2, 2 * block + 7]);
            let min_delta = random.pick(&[0, -5, i64::MIN, i64::MAX, i64::from(i32::MIN), random.0 as i64]);
            let stream = stream_of_widths(&mut random, shape, count, min_delta, |_| width);
            let (expected, end) = decode(&stream);
            assert_eq!(end, stream.len());
            let context = format!("width {width}, {shape:?}");
            check_walks::<i64>(&mut random, &stream, &expected, &context);
            // Deltas of INT32 in 64 bits: more than 32 bits wide, and minima outside of 32 bits.
            let wrapped: Vec<i32> = expected.iter().map(|&value| value as i32).collect();
            check_walks::<i32>(&mut random, &stream, &wrapped, &context);
        }
    }
}

#[test]
fn bounds_by_headers() {
    let mut random = Random(13);
    let shape = Shape { values_per_miniblock: 32, miniblocks: 4 };
    let mut sorted = vec![-5000];
    while sorted.len() < 5000 {
        sorted.push(sorted[sorted.len() - 1] + random.below(8) as i64);
    }
    let page = encode(&sorted, shape);
    let mut decoder = DeltaBinaryPacked::<i64>::default();
    decoder.reset(&page).unwrap();
    assert_eq!(decoder.bounds(&page, 0), None);
    assert_eq!(decoder.bounds(&page, 5001), None);
    let mut done = 0;
    for count in [1, 1, 30, 100, 1024, 1024, 1000] {
        let (low, high) = decoder.bounds(&page, count).unwrap();
        assert!(low <= sorted[done] && sorted[done + count - 1] <= high);
        // Each delta is in 0..8.
        assert!(high - low <= 7 * count as i64 && sorted[done] - low <= 7, "{count} values in {low}..={high}");
        decoder.skip(&page, count).unwrap();
        done += count;
    }
    // Where values may wrap, nothing is said.
    let wrapping: Vec<i32> = (0..1000_i32).map(|i| i.wrapping_mul(0x1000_0001)).collect();
    let page = encode_i32(&wrapping, shape);
    let mut decoder = DeltaBinaryPacked::<i32>::default();
    decoder.reset(&page).unwrap();
    assert_eq!(decoder.bounds(&page, 500), None);
}

#[test]
fn mixed_widths() {
    let mut random = Random(12);
    for _ in 0..60 {
        let shape = random.pick(&SHAPES);
        let count = random.below(3000);
        let few = random.below(64) as u32;
        let min_delta = random.next() as i64;
        // Runs of equal widths inside of blocks, too.
        let stream = stream_of_widths(&mut random, shape, count, min_delta, |random| match random.below(3) {
            0 => random.below(65) as u32,
            _ => few,
        });
        let (expected, _) = decode(&stream);
        check_walks::<i64>(&mut random, &stream, &expected, &format!("{shape:?}"));
        let wrapped: Vec<i32> = expected.iter().map(|&value| value as i32).collect();
        check_walks::<i32>(&mut random, &stream, &wrapped, &format!("{shape:?}"));
    }
}

#[test]
fn round_trip_of_extremes() {
    let mut random = Random(13);
    let pool = [i64::MIN, i64::MAX, 0, 1, -1, i64::from(i32::MIN), i64::from(i32::MAX)];
    for shape in SHAPES {
        for count in [0, 1, 2, 3, 32, 33, 34, 129, 257, 600] {
            let values: Vec<i64> = (0..count).map(|_| random.pick(&pool)).collect();
            let stream = encode(&values, shape);
            assert_eq!(decode(&stream), (values.clone(), stream.len()));
            assert_eq!(read_all::<i64>(&stream), values);
            check_walks(&mut random, &stream, &values, &format!("{shape:?}"));

            let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            let stream = encode_i32(&values, shape);
            assert_eq!(read_all::<i32>(&stream), values);
            check_walks(&mut random, &stream, &values, &format!("{shape:?}"));
        }
    }
    // DuckDB #7652: width 64.
    assert_eq!(read_all::<i64>(&encode(&[1, 0, 2], SHAPES[0])), [1, 0, 2]);
}

#[test]
fn progressions() {
    for step in [0, 1, -1, 1000, i64::MAX] {
        let values: Vec<i64> = (0..1000).map(|i| step.wrapping_mul(i)).collect();
        let stream = encode(&values, SHAPES[0]);
        check_walks(&mut Random(14), &stream, &values, "progression");
    }
}

#[test]
fn no_bytes_are_no_values() {
    let mut decoder = DeltaBinaryPacked::<i32>::default();
    assert_eq!(decoder.remaining(), 0);
    decoder.reset(&encode_i32(&[5, 6, 7], SHAPES[0])).unwrap();
    decoder.reset(&[]).unwrap();
    assert_eq!(decoder.remaining(), 0);
    assert_eq!(decoder.end(&[]).unwrap(), 0);
    decoder.read(&[], &mut []).unwrap();
    assert!(decoder.read(&[], &mut [0]).is_err());
}

#[test]
fn reset_forgets_the_page_before() {
    let mut random = Random(15);
    let mut decoder = DeltaBinaryPacked::<i64>::default();
    for round in 0..200 {
        let shape = random.pick(&SHAPES);
        let len = 1 + random.below(400);
        let values: Vec<i64> = (0..len).map(|_| random.next() as i64 >> (round % 64)).collect();
        let stream = encode(&values, shape);
        decoder.reset(&stream).unwrap();
        // Stops anywhere, or after an error.
        let mut out = vec![0; random.below(len + 1)];
        decoder.read(&stream, &mut out).unwrap();
        assert_eq!(out, values[..out.len()]);
        if round % 3 == 0 {
            let cut = &stream[..random.below(stream.len())];
            let _ = decoder.reset(cut).and_then(|()| decoder.read(cut, &mut vec![0; len]));
        }
    }
}
