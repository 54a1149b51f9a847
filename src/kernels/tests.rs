//! Every kernel on every instruction set of this machine, against value-by-value versions.

use super::*;

/// xorshift64*, so that runs repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A bitmap of one of several densities.
    fn words(&mut self, len: usize) -> Vec<u64> {
        let density = self.below(6);
        let mut word = || match density {
            0 => 0,
            1 => u64::MAX,
            2 => self.next() & self.next() & self.next() & self.next(),
            3 => self.next() | self.next() | self.next(),
            4 => [0, u64::MAX, 1, 1 << 63, self.next()][self.below(5)],
            _ => self.next(),
        };
        (0..len).map(|_| word()).collect()
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

fn tables() -> impl Iterator<Item = &'static Kernels> {
    Isa::ALL.into_iter().filter_map(kernels_for)
}

fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

fn unpack_one(packed: &[u8], bit_width: usize, index: usize) -> u64 {
    (0..bit_width).fold(0, |value, i| {
        let at = index * bit_width + i;
        value | u64::from(packed[at / 8] >> (at % 8) & 1) << i
    })
}

/// Lengths around every border that matters.
const LENGTHS: [usize; 17] = [0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 250, 1023, 1024];

#[test]
fn table_is_that_of_the_instruction_set() {
    for table in tables() {
        assert_eq!(kernels_for(table.isa()).unwrap().isa(), table.isa());
    }
    assert!(kernels_for(Isa::Portable).is_some());
    assert!(kernels().isa().is_available());
}

#[test]
fn override_is_checked() {
    assert_eq!(parse_override("portable").unwrap(), Isa::Portable);
    for isa in Isa::ALL {
        assert_eq!(parse_override(isa.name()).is_ok(), isa.is_available());
    }
    for name in ["", "AVX2", "sse2", "avx512 "] {
        assert!(parse_override(name).unwrap_err().to_string().contains(ISA_OVERRIDE));
    }
}

fn check_decode<T: Lane>() {
    let mut random = Random(1);
    for table in tables() {
        for bit_width in 0..=T::BITS {
            for groups in [0, 1, 2, 3, 4, 5, 8] {
                let count = 32 * groups;
                // Exactly the bytes that are needed: a read past them is seen by Miri and by sanitizers.
                let packed = random.bytes(count / 8 * bit_width as usize).into_boxed_slice();
                let extremes = [T::wrap(i64::MIN), T::wrap(i64::MAX), T::wrap(i64::from(i32::MIN)), T::wrap(-1)];
                let min_delta = [T::wrap(random.next() as i64), extremes[random.below(4)]][random.below(2)];
                let last = [T::wrap(random.next() as i64), extremes[random.below(4)]][random.below(2)];

                let mut value = last;
                let expected: Vec<T> = (0..count)
                    .map(|index| {
                        let delta = T::wrap(unpack_one(&packed, bit_width as usize, index) as i64);
                        value = value.add(min_delta).add(delta);
                        value
                    })
                    .collect();
                let mut out = vec![T::default(); count];
                let new_last = T::decode(table, &packed, bit_width, min_delta, last, &mut out);
                assert_eq!(out, expected, "{table:?}, width {bit_width}, {count} values");
                assert_eq!(new_last, value);
                let sum = T::sum(table, &packed, bit_width, min_delta, count);
                assert_eq!(last.add(sum), value, "{table:?}, width {bit_width}, {count} values");
            }
        }
    }
}

#[test]
fn decode_and_sum_at_every_width() {
    check_decode::<i32>();
    check_decode::<i64>();
}

#[test]
fn sum_of_a_long_run_of_the_largest_deltas() {
    for table in tables() {
        for bit_width in 1..=64usize {
            let count = 65536;
            let packed = vec![0xff; count / 8 * bit_width];
            let one = u64::MAX >> (64 - bit_width);
            let expected = one.wrapping_mul(count as u64) as i64;
            assert_eq!(i64::sum(table, &packed, bit_width as u32, 0, count), expected, "{table:?}, width {bit_width}");
            if bit_width <= 32 {
                assert_eq!(i32::sum(table, &packed, bit_width as u32, 0, count), expected as i32);
            }
        }
    }
}

#[test]
fn unpack_at_every_width() {
    let mut random = Random(2);
    for table in tables() {
        for bit_width in 0..=32 {
            for len in [0, 8, 16, 24, 32, 40, 128, 136, 1024] {
                let packed = random.bytes(len / 8 * bit_width).into_boxed_slice();
                let mut out = vec![7; len];
                table.unpack(&packed, bit_width as u32, &mut out);
                let expected: Vec<u32> = (0..len).map(|i| unpack_one(&packed, bit_width, i) as u32).collect();
                assert_eq!(out, expected, "{table:?}, width {bit_width}, {len} values");
            }
        }
    }
}

#[test]
fn short_input_panics_and_is_not_read_past() {
    for table in tables() {
        for bit_width in [1, 7, 8, 9, 17, 31, 32] {
            let packed = vec![0; 4 * bit_width - 1];
            let decode = || i32::decode(table, &packed, bit_width as u32, 0, 0, &mut [0; 32]);
            assert!(std::panic::catch_unwind(decode).is_err());
            let sum = || i32::sum(table, &packed, bit_width as u32, 0, 32);
            assert!(std::panic::catch_unwind(sum).is_err());
            let unpack = || table.unpack(&packed, bit_width as u32, &mut [0; 32]);
            assert!(std::panic::catch_unwind(unpack).is_err());
        }
        assert!(std::panic::catch_unwind(|| i32::decode(table, &[0; 512], 33, 0, 0, &mut [0; 32])).is_err());
        assert!(std::panic::catch_unwind(|| i64::decode(table, &[0; 512], 65, 0, 0, &mut [0; 32])).is_err());
        assert!(std::panic::catch_unwind(|| i64::decode(table, &[0; 512], 1, 0, 0, &mut [0; 31])).is_err());
        assert!(std::panic::catch_unwind(|| i64::sum(table, &[0; 512], 1, 0, 31)).is_err());
    }
}

/// Few distinct values, extremes among them, so that equality happens.
fn lanes<T: Lane>(random: &mut Random, len: usize) -> Vec<T> {
    let pool =
        [T::wrap(i64::MIN), T::wrap(i64::MAX), T::wrap(-1), T::wrap(0), T::wrap(1), T::wrap(i64::from(i32::MIN))];
    (0..len).map(|_| if random.below(3) == 0 { T::wrap(random.next() as i64) } else { pool[random.below(6)] }).collect()
}

fn check_words(words: &[u64], expected: &[bool], context: &str) {
    let used = expected.len().div_ceil(64);
    for (index, &expected) in expected.iter().enumerate() {
        assert_eq!(bit(words, index), expected, "{context}, bit {index} of {}", expected);
    }
    for index in expected.len()..64 * used {
        assert!(!bit(words, index), "{context}: bit {index} is past the end");
    }
    assert!(words[used..].iter().all(|&word| word == GARBAGE), "{context}: words past the end");
}

const GARBAGE: u64 = 0xdead_beef_dead_beef;

fn check_comparisons<T: Lane>(unsigned: impl Fn(T) -> u64) {
    use Comparison::*;
    let mut random = Random(3);
    for table in tables() {
        for len in LENGTHS {
            let left = lanes::<T>(&mut random, len);
            let right = lanes::<T>(&mut random, len);
            let mut words = vec![GARBAGE; len.div_ceil(64) + 1];
            for op in [Eq, NotEq, Lt, LtEq, Gt, GtEq] {
                for signed in [false, true] {
                    let holds = |(&left, &right): (&T, &T)| {
                        let order = if signed { left.cmp(&right) } else { unsigned(left).cmp(&unsigned(right)) };
                        match op {
                            Eq => order.is_eq(),
                            NotEq => order.is_ne(),
                            Lt => order.is_lt(),
                            LtEq => order.is_le(),
                            Gt => order.is_gt(),
                            GtEq => order.is_ge(),
                        }
                    };
                    let expected: Vec<bool> = left.iter().zip(&right).map(holds).collect();
                    T::compare(table, &left, &right, op, signed, &mut words);
                    check_words(&words, &expected, &format!("{table:?}, {op:?}, signed {signed}, {len} values"));
                }
            }
            for _ in 0..8 {
                let bounds = lanes::<T>(&mut random, 2);
                let (low, high) = (bounds[0], bounds[1]);
                let expected: Vec<bool> = left.iter().map(|value| (low..=high).contains(value)).collect();
                T::in_range(table, &left, low, high, &mut words);
                check_words(&words, &expected, &format!("{table:?}, {low:?}..={high:?}, {len} values"));
            }
        }
    }
}

#[test]
fn comparisons() {
    check_comparisons::<i32>(|value| u64::from(value.cast_unsigned()));
    check_comparisons::<i64>(i64::cast_unsigned);
}

#[test]
fn comparison_swaps() {
    for op in [Comparison::Eq, Comparison::NotEq, Comparison::Lt, Comparison::LtEq, Comparison::Gt, Comparison::GtEq] {
        for table in tables() {
            let (left, right) = ([1, 2, 3], [2, 2, 2]);
            let (mut direct, mut swapped) = ([0], [0]);
            i32::compare(table, &left, &right, op, true, &mut direct);
            i32::compare(table, &right, &left, op.swap(), true, &mut swapped);
            assert_eq!(direct, swapped);
        }
    }
}

fn check_moves<U: Value>(make: impl Fn(u64) -> U) {
    let mut random = Random(4);
    for table in tables() {
        for len in LENGTHS {
            for _ in 0..8 {
                let values: Vec<U> = (0..len).map(|_| make(random.next() | 1)).collect();
                // Bits past the end, and words past the end, must not matter.
                let words = random.words(len.div_ceil(64) + 1);
                let expected: Vec<U> = (0..len).filter(|&i| bit(&words, i)).map(|i| values[i]).collect();
                let mut out = vec![U::default(); len];
                let count = U::compact(table, &values, &words, &mut out);
                assert_eq!(&out[..count], expected, "{table:?}, {len} values");

                for spare in [0, 1, 100] {
                    let mut dense = expected.clone();
                    dense.extend((0..spare).map(|_| make(random.next())));
                    let mut out = vec![make(3); len + 3];
                    assert_eq!(U::expand(table, &dense, &words, len, &mut out), expected.len());
                    for i in 0..len {
                        let expected = if bit(&words, i) { values[i] } else { U::default() };
                        assert_eq!(out[i], expected, "{table:?}, {len} rows, row {i}");
                    }
                    assert!(out[len..].iter().all(|&value| value == make(3)));
                }
            }
        }
    }
}

#[test]
fn compact_and_expand() {
    check_moves(|bits| bits as u32);
    check_moves(|bits| bits as i32);
    check_moves(|bits| bits as u16 as f32);
    check_moves(|bits| bits);
    check_moves(|bits| bits as i64);
    check_moves(|bits| bits as u32 as f64);
    check_moves(|bits| u128::from(bits) << 64 | u128::from(!bits));
    check_moves(|bits| i128::from(bits) << 64 | i128::from(!bits));
}

#[test]
fn expand_of_too_few_values_panics() {
    for table in tables() {
        let expand = |len| u32::expand(table, &vec![1; len], &[u64::MAX >> 1, 1], 128, &mut [0; 128]);
        assert!(std::panic::catch_unwind(|| expand(63)).is_err());
        assert!(std::panic::catch_unwind(|| expand(0)).is_err());
        assert_eq!(expand(64), 64);
    }
}

fn check_gather<U: Value>(make: impl Fn(u64) -> U) {
    let mut random = Random(5);
    for table in tables() {
        for len in LENGTHS {
            for entries in [1, 2, 7, 1000] {
                let dictionary: Vec<U> = (0..entries).map(|_| make(random.next())).collect();
                let mut indices: Vec<u32> = (0..len).map(|_| random.below(entries) as u32).collect();
                let mut out = vec![U::default(); len + 1];
                assert!(U::gather(table, &dictionary, &indices, &mut out));
                for (value, &index) in out.iter().zip(&indices) {
                    assert_eq!(*value, dictionary[index as usize]);
                }
                if len > 0 {
                    for bad in [entries as u32, u32::MAX] {
                        let at = random.below(len);
                        let good = std::mem::replace(&mut indices[at], bad);
                        assert!(!U::gather(table, &dictionary, &indices, &mut out));
                        indices[at] = good;
                    }
                    assert!(!U::gather(table, &[], &indices, &mut out));
                }
            }
        }
        assert!(U::gather(table, &[], &[], &mut []));
    }
}

#[test]
fn gather() {
    check_gather(|bits| bits as u32);
    check_gather(|bits| bits);
    check_gather(|bits| u128::from(bits) << 64 | u128::from(!bits));
}

#[test]
fn extract_and_deposit() {
    let mut random = Random(6);
    for table in tables() {
        for len in 0..20 {
            for _ in 0..50 {
                let source = random.words(len);
                let mask = random.words(len);
                let selected: Vec<bool> = (0..64 * len).filter(|&i| bit(&mask, i)).map(|i| bit(&source, i)).collect();
                let mut dense = vec![GARBAGE; len + 1];
                assert_eq!(table.pext_words(&source, &mask, &mut dense), selected.len());
                check_words(&dense, &selected, &format!("{table:?}"));
                assert_eq!(table.count_ones(&mask), selected.len());

                let mut back = vec![GARBAGE; len + 1];
                let used = selected.len().div_ceil(64);
                assert_eq!(table.pdep_words(&dense[..used], &mask, &mut back), selected.len());
                let expected: Vec<bool> = (0..64 * len).map(|i| bit(&mask, i) && bit(&source, i)).collect();
                check_words(&back, &expected, &format!("{table:?}"));

                for (&word, &mask) in source.iter().zip(&mask) {
                    let mut expected = [GARBAGE];
                    table.pext_words(&[word], &[mask], &mut expected);
                    if mask != 0 {
                        assert_eq!(table.pext(word, mask), expected[0]);
                    }
                    assert_eq!(table.pdep(table.pext(word, mask), mask), word & mask);
                }
            }
        }
        // A source that ends early.
        let mut out = [GARBAGE; 2];
        assert_eq!(table.pdep_words(&[u64::MAX], &[u64::MAX, u64::MAX], &mut out), 128);
        assert_eq!(out, [u64::MAX, 0]);
        assert_eq!(table.pdep_words(&[], &[5], &mut out), 2);
        assert_eq!(out, [0, 0]);
    }
}

#[test]
fn ranges_and_copies_of_bits() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let source: Vec<u64> = (0..5).map(|_| random.next()).collect();
        let out: Vec<u64> = (0..5).map(|_| random.next()).collect();
        let end = [70, 321][random.below(2)];
        let len = random.below(end);
        let from = random.below(320 - len + 1);
        let to = random.below(320 - len + 1);

        let mut copied = out.clone();
        copy_bits(&source, from, &mut copied, to, len);
        let mut set = out.clone();
        set_range(&mut set, to, len);
        for i in 0..320 {
            let inside = i >= to && i < to + len;
            let expected = if inside { bit(&source, from + i - to) } else { bit(&out, i) };
            assert_eq!(bit(&copied, i), expected, "{len} bits from {from} to {to}: bit {i}");
            assert_eq!(bit(&set, i), inside || bit(&out, i), "{len} bits at {to}: bit {i}");
        }
    }
    copy_bits(&[], 0, &mut [], 0, 0);
    set_range(&mut [], 0, 0);
    assert!(std::panic::catch_unwind(|| copy_bits(&[0], 1, &mut [0, 0], 0, 64)).is_err());
    assert!(std::panic::catch_unwind(|| copy_bits(&[0, 0], 0, &mut [0], 1, 64)).is_err());
    assert!(std::panic::catch_unwind(|| set_range(&mut [0], 1, 64)).is_err());
}

/// Blocks of four miniblocks of these widths: the bytes, where each block ends, and the values.
fn blocks<T: Lane>(random: &mut Random, widths: &[[u8; 4]], values: usize, first: T) -> (Vec<u8>, Vec<usize>, Vec<T>) {
    let (mut page, mut ends, mut out, mut last) = (Vec::new(), Vec::new(), Vec::new(), first);
    for widths in widths {
        let wild = random.next() as i64;
        let min_delta = [0, 1, -1, -70, 9000, wild >> 32, wild >> 9, i64::from(i32::MIN)][random.below(8)];
        let mut code = (min_delta << 1 ^ min_delta >> 63) as u64;
        while code >= 0x80 {
            page.push(code as u8 | 0x80);
            code >>= 7;
        }
        page.push(code as u8);
        page.extend_from_slice(widths);
        for &width in widths {
            let packed = random.bytes(values / 8 * usize::from(width));
            for index in 0..values {
                let delta = T::wrap(unpack_one(&packed, usize::from(width), index) as i64);
                last = last.add(T::wrap(min_delta)).add(delta);
                out.push(last);
            }
            page.extend(packed);
        }
        ends.push(page.len());
    }
    (page, ends, out)
}

fn check_blocks<T: Lane>() {
    let mut random = Random(7);
    for table in tables() {
        for turn in 0..1500 {
            let values = [32, 64, 32, 64, 8, 96][turn % 6];
            let uniform = (turn / 6 % (T::BITS as usize + 1)) as u8;
            let bound = [9, 16, 17, 26, 33, 58, 65][turn / 7 % 7].min(T::BITS as usize + 1);
            let widths: Vec<[u8; 4]> = (0..1 + random.below(5))
                .map(|_| match turn % 5 {
                    0 | 1 => [uniform; 4],
                    2 => [random.below(bound) as u8; 4],
                    _ => std::array::from_fn(|_| random.below(bound) as u8),
                })
                .collect();
            let first = T::wrap(random.next() as i64);
            let (mut page, ends, expected) = blocks(&mut random, &widths, values, first);
            let slack = [0, 1, 63, 64, 200][random.below(5)];
            page.extend(random.bytes(slack));
            let page = page.into_boxed_slice();
            // Room that is no whole number of blocks, at any alignment.
            let shift = random.below(3);
            let room = expected.len() - random.below(2) * random.below(values);
            let mut out = vec![T::default(); room + shift];
            let (mut position, mut last) = (0, first);
            let count = T::decode_blocks(table, &page, &mut position, values, &mut last, &mut out[shift..]);
            let what = format!("{table:?}, {values} values a miniblock, widths {widths:?}, slack {slack}");
            assert_eq!(count % (4 * values), 0, "{what}");
            assert_eq!(out[shift..shift + count], expected[..count], "{what}");
            assert_eq!(last, count.checked_sub(1).map_or(first, |index| expected[index]), "{what}");
            let done = count / (4 * values);
            assert_eq!(position, if done == 0 { 0 } else { ends[done - 1] }, "{what}");
            let has_lane = table.isa() == Isa::Avx512 && matches!(values, 32 | 64);
            if has_lane && slack >= 64 {
                assert_eq!(done, room / (4 * values), "{what}");
            }
            assert!(has_lane || done == 0, "{what}");

            let wanted = random.below(widths.len() + 1);
            let (mut position, mut last) = (0, first);
            let skipped = T::skip_blocks(table, &page, &mut position, values, wanted, &mut last);
            assert!(skipped <= wanted && (skipped == wanted || !has_lane || slack < 64), "{what}");
            let index = (skipped * 4 * values).checked_sub(1);
            assert_eq!(last, index.map_or(first, |index| expected[index]), "{what}");
            assert_eq!(position, if skipped == 0 { 0 } else { ends[skipped - 1] }, "{what}");
        }
    }
}

#[test]
fn blocks_are_decoded_and_skipped() {
    check_blocks::<i32>();
    check_blocks::<i64>();
}

#[test]
fn blocks_out_of_the_ordinary_are_left_alone() {
    for table in tables() {
        let mut out = [0i32; 256];
        // No bytes, headers without an end, widths that cannot be, and blocks that are cut short.
        for page in [vec![], vec![0x80; 100], vec![1, 33, 0, 0, 0], [vec![2, 9, 9, 9, 255], vec![0; 400]].concat()] {
            let (mut position, mut last) = (0, 5);
            assert_eq!(i32::decode_blocks(table, &page, &mut position, 32, &mut last, &mut out), 0);
            assert_eq!(i32::skip_blocks(table, &page, &mut position, 32, 9, &mut last), 0);
            assert_eq!((position, last), (0, 5));
            // Beyond the end of the page.
            let mut position = page.len() + 7;
            assert_eq!(i32::decode_blocks(table, &page, &mut position, 32, &mut last, &mut out), 0);
        }
    }
}
