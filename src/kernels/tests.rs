//! Every kernel on every instruction set of this machine, against value-by-value versions.

use super::*;

#[cfg(target_os = "linux")]
pub(super) mod guarded;

/// xorshift64*, so that runs repeat.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A bitmap of one of several densities.
    fn words(&mut self, len: usize) -> Vec<u64> {
        let density = self.below(8);
        let word = |index: usize| match density {
            0 => 0,
            1 => u64::MAX,
            2 => self.next() & self.next() & self.next() & self.next(),
            3 => self.next() | self.next() | self.next(),
            4 => [0, u64::MAX, 1, 1 << 63, self.next()][self.below(5)],
            5 => 1 << self.below(64),
            // Long runs of one answer.
            6 => [0, u64::MAX, self.next()][index / 5 % 3],
            _ => self.next(),
        };
        (0..len).map(word).collect()
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

pub(super) fn tables() -> impl Iterator<Item = &'static Kernels> {
    Isa::ALL.into_iter().filter_map(kernels_for)
}

pub(super) fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

fn unpack_one(packed: &[u8], bit_width: usize, index: usize) -> u64 {
    (0..bit_width).fold(0, |value, i| {
        let at = index * bit_width + i;
        value | u64::from(packed[at / 8] >> (at % 8) & 1) << i
    })
}

/// Every short length, and those around the borders that matter.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=330).chain([511, 512, 513, 575, 576, 577, 700, 767, 768, 769, 1023, 1024, 1025, 1100])
}

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

#[test]
fn unpack_at_every_width() {
    let mut random = Random(2);
    for table in tables() {
        for bit_width in 0..=32 {
            for len in (0..=1104).step_by(8) {
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
            let unpack = || table.unpack(&packed, bit_width as u32, &mut [0; 32]);
            assert!(std::panic::catch_unwind(unpack).is_err());
        }
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
        for len in lengths() {
            let shift = random.below(17);
            let (left, right) = (lanes::<T>(&mut random, shift + len), lanes::<T>(&mut random, shift + len));
            let (left, right) = (left.into_boxed_slice(), right.into_boxed_slice());
            let (left, right) = (&left[shift..], &right[shift..]);
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
                    let expected: Vec<bool> = left.iter().zip(right).map(holds).collect();
                    T::compare(table, left, right, op, signed, &mut words);
                    check_words(&words, &expected, &format!("{table:?}, {op:?}, signed {signed}, {len} values"));
                }
            }
            for _ in 0..8 {
                let bounds = lanes::<T>(&mut random, 2);
                let (low, high) = (bounds[0], bounds[1]);
                let expected: Vec<bool> = left.iter().map(|value| (low..=high).contains(value)).collect();
                T::in_range(table, left, low, high, &mut words);
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

fn check_sets<T: Lane>(unsigned: impl Fn(T) -> u64) {
    let mut random = Random(8);
    let extremes = [T::wrap(i64::MIN), T::wrap(i64::MAX), T::wrap(-1), T::wrap(0)];
    for table in tables() {
        for len in (0..200usize).chain([1023, 1024, 1100]) {
            let shift = random.below(17);
            let mut words = vec![GARBAGE; len.div_ceil(64) + 1];
            let size = [0, 1, 2, 4, 5, 8, 16, 17, 32, 33, 1024][random.below(11)];
            let bitmap = random.words(size).into_boxed_slice();
            let base = if random.below(2) == 0 { extremes[random.below(4)] } else { T::wrap(random.next() as i64) };
            let near = |random: &mut Random| base.add(T::wrap(random.below(80 * size + 64) as i64 - 32));
            let values: Vec<T> = (0..shift + len)
                .map(|_| if random.below(8) == 0 { T::wrap(random.next() as i64) } else { near(&mut random) })
                .collect();
            for outside in [false, true] {
                let holds = |value: &T| {
                    let at = unsigned(value.sub(base)) as usize;
                    if at < 64 * size { bit(&bitmap, at) } else { outside }
                };
                let expected: Vec<bool> = values[shift..].iter().map(holds).collect();
                T::in_bitmap(table, &values[shift..], base, &bitmap, outside, &mut words);
                check_words(&words, &expected, &format!("{table:?}, {size} words from {base:?}, {len} values"));
            }

            for size in [random.below(70), [11, 12, 13, 16, 17, 31, 32, 33, 63, 64, 65, 1000][random.below(12)]] {
                let mut set = lanes::<T>(&mut random, size);
                set.sort();
                if random.below(2) == 0 {
                    set.dedup();
                }
                let set = set.into_boxed_slice();
                let values: Vec<T> = lanes::<T>(&mut random, shift + len)
                    .into_iter()
                    .map(|value| if size > 0 && random.below(2) == 0 { set[random.below(set.len())] } else { value })
                    .collect();
                let expected: Vec<bool> = values[shift..].iter().map(|value| set.contains(value)).collect();
                T::in_sorted(table, &values[shift..], &set, &mut words);
                check_words(&words, &expected, &format!("{table:?}, set {set:?}, {len} values"));
            }
        }
    }
}

#[test]
fn members_of_sets() {
    check_sets::<i32>(|value| u64::from(value.cast_unsigned()));
    check_sets::<i64>(i64::cast_unsigned);
}

fn check_moves<U: Value>(make: impl Fn(u64) -> U) {
    let mut random = Random(4);
    for table in tables() {
        for len in lengths() {
            for _ in 0..3 {
                let shift = random.below(17);
                let values: Box<[U]> = (0..shift + len).map(|_| make(random.next() | 1)).collect();
                let values = &values[shift..];
                // Bits past the end, and words past the end, must not matter.
                let more = random.below(2);
                let words = random.words(len.div_ceil(64) + more).into_boxed_slice();
                let expected: Vec<U> = (0..len).filter(|&i| bit(&words, i)).map(|i| values[i]).collect();
                let mut out = vec![make(3); shift + len].into_boxed_slice();
                let count = U::compact(table, values, &words, &mut out[shift..]);
                assert_eq!(out[shift..][..count], expected, "{table:?}, {len} values");
                assert!(out[..shift].iter().all(|&value| value == make(3)));

                for spare in [0, 1, 100] {
                    let mut dense = vec![make(5); shift];
                    dense.extend(&expected);
                    dense.extend((0..spare).map(|_| make(random.next())));
                    let dense = dense.into_boxed_slice();
                    let mut out = vec![make(3); len + 3];
                    assert_eq!(U::expand(table, &dense[shift..], &words, len, &mut out), expected.len());
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
        for len in lengths() {
            for entries in [1, 2, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 1000] {
                let dictionary: Box<[U]> = (0..entries).map(|_| make(random.next())).collect();
                let mut indices: Box<[u32]> = (0..len).map(|_| random.below(entries) as u32).collect();
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

fn check_interleave<U: Value, const W: usize>(value: impl Fn([u8; W]) -> U) {
    let mut random = Random(10);
    for table in tables() {
        for len in (0..300).chain([1023, 1024, 1100]) {
            let (before, stride) = (random.below(17), len + [0, 1, 500][random.below(3)]);
            // No byte more than there must be.
            let streams = random.bytes(before + (W - 1) * stride + len).into_boxed_slice();
            let expected: Vec<U> =
                (0..len).map(|i| value(std::array::from_fn(|byte| streams[before + byte * stride + i]))).collect();
            let mut out = vec![U::default(); before + len];
            U::interleave(table, &streams[before..], stride, &mut out[before..]);
            assert_eq!(out[before..], expected, "{table:?}, {len} values, {stride} apart");
            if len > 0 {
                let short = || U::interleave(table, &streams[before + 1..], stride, &mut vec![U::default(); len]);
                assert!(std::panic::catch_unwind(short).is_err());
            }
        }
        let huge = || U::interleave(table, &[0; 64], usize::MAX / 2, &mut [U::default()]);
        assert!(std::panic::catch_unwind(huge).is_err());
    }
}

#[test]
fn interleave() {
    check_interleave(u32::from_le_bytes);
    check_interleave(u64::from_le_bytes);
    check_interleave(u128::from_le_bytes);
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
        // Bytes whose last one is that of the last bit.
        let bytes: Vec<u8> = source.iter().flat_map(|word| word.to_le_bytes()).take((from + len).div_ceil(8)).collect();
        let mut unpacked = out.clone();
        copy_packed_bits(&bytes, from, &mut unpacked, to, len);
        assert_eq!(unpacked, copied);
        let ones = (from..from + len).filter(|&i| bit(&source, i)).count();
        assert!(tables().all(|kernels| kernels.count_range(&source, from, len) == ones));
        let mut set = out.clone();
        let value = random.below(2) == 1;
        fill_bits(&mut set, to, len, value);
        for i in 0..320 {
            let inside = i >= to && i < to + len;
            let expected = if inside { bit(&source, from + i - to) } else { bit(&out, i) };
            assert_eq!(bit(&copied, i), expected, "{len} bits from {from} to {to}: bit {i}");
            assert_eq!(bit(&set, i), if inside { value } else { bit(&out, i) }, "{len} bits at {to}: bit {i}");
        }
    }
    copy_bits(&[], 0, &mut [], 0, 0);
    fill_bits(&mut [], 0, 0, true);
    assert!(std::panic::catch_unwind(|| copy_bits(&[0], 1, &mut [0, 0], 0, 64)).is_err());
    assert!(std::panic::catch_unwind(|| copy_bits(&[0, 0], 0, &mut [0], 1, 64)).is_err());
    assert!(std::panic::catch_unwind(|| fill_bits(&mut [0], 1, 64, true)).is_err());
}

/// Inputs and outputs that end before pages without access: whoever reads or writes past them ends the process.
#[test]
#[cfg(target_os = "linux")]
fn nothing_past_the_slices_is_touched() {
    use guarded::Guarded;

    fn check<T: Lane + Value>() {
        let mut random = Random(11);
        let [mut first, mut second, mut third, mut fourth] = [(); 4].map(|()| Guarded::new(1 << 16));
        for table in tables() {
            for len in lengths() {
                let values = first.copy(&lanes::<T>(&mut random, len));
                let selection = second.copy(&random.words(len.div_ceil(64)));
                let out = third.end::<T>(len);
                let count = T::compact(table, values, selection, out);
                let dense = fourth.copy(&out[..count]);
                assert_eq!(T::expand(table, dense, selection, len, out), count);
                for (row, value) in out.iter().enumerate() {
                    assert_eq!(*value, if bit(selection, row) { values[row] } else { T::default() });
                }

                let other = second.copy(&lanes::<T>(&mut random, len));
                let words = third.end::<u64>(len.div_ceil(64));
                T::in_range(table, values, T::wrap(-1), T::wrap(1), words);
                for op in [Comparison::Eq, Comparison::LtEq] {
                    T::compare(table, values, other, op, random.below(2) == 1, words);
                }
                let members = random.below(80);
                let mut set = lanes::<T>(&mut random, members);
                set.sort();
                T::in_sorted(table, values, fourth.copy(&set), words);
                let size = random.below(40);
                T::in_bitmap(table, values, T::wrap(-20), fourth.copy(&random.words(size)), true, words);

                let entries = 1 + random.below(70);
                let indices: Vec<u32> = (0..len).map(|_| random.below(entries) as u32).collect();
                let dictionary = lanes::<T>(&mut random, entries);
                let out = third.end::<T>(len);
                assert!(T::gather(table, second.copy(&dictionary), first.copy(&indices), out));
                T::interleave(table, first.copy(&random.bytes(size_of::<T>() * len)), len, out);

                let (len, bit_width) = (len / 8 * 8, random.below(33));
                let packed = first.copy(&random.bytes(len / 8 * bit_width));
                table.unpack(packed, bit_width as u32, third.end(len));
            }
        }
    }
    check::<i32>();
    check::<i64>();
}

#[test]
fn bits_by_index() {
    let mut random = Random(8);
    for table in tables() {
        for entries in [1, 64, 100, 1000, 5000] {
            let bitmap = random.words(usize::div_ceil(entries, 64));
            for len in lengths() {
                let indices: Vec<u32> = (0..len)
                    .map(|_| match random.below(20) {
                        0 => u32::MAX - random.below(3) as u32,
                        _ => random.below(entries + 100) as u32,
                    })
                    .collect();
                let mut words = vec![GARBAGE; len.div_ceil(64) + 1];
                table.gather_bits(&bitmap, &indices, &mut words);
                let expected: Vec<bool> = indices
                    .iter()
                    .map(|&index| (index as usize) < 64 * bitmap.len() && bit(&bitmap, index as usize))
                    .collect();
                check_words(&words, &expected, &format!("{table:?}, {entries} entries"));
            }
        }
    }
}

#[test]
fn front_coded_values() {
    let mut random = Random(31);
    for len in (0..70).chain([256, 1000]) {
        for _ in 0..8 {
            let alike = random.below(4);
            let (mut prefixes, mut suffixes, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            let mut bytes = random.bytes(MARGIN + random.0 as usize % 3);
            let start = bytes.len();
            let mut value = random.bytes(5);
            let previous = view_of(&value);
            for _ in 0..len {
                let prefix = if alike == 0 { 0 } else { random.below(value.len() + 1) };
                let suffix = random.below(if alike == 3 { 2 } else { 13 }.min(13 - prefix));
                value.truncate(prefix);
                value.extend(random.bytes(suffix));
                bytes.extend_from_slice(&value[prefix..]);
                prefixes.push(prefix as i32);
                suffixes.push(suffix as i32);
                expected.push(view_of(&value));
            }
            bytes.extend(random.bytes(MARGIN));
            for table in tables() {
                let mut out = vec![7; len];
                let values = FrontCoded::new(table, (&prefixes, &suffixes), 5, &bytes, start).unwrap();
                let last = table.front_coded(values, previous, &mut out);
                assert_eq!(out, expected, "{table:?}");
                assert_eq!(last & !0xffff_ffff, expected.last().copied().unwrap_or(previous) & !0xffff_ffff);
            }
        }
    }
    let refused = |prefixes: &[i32], suffixes: &[i32], len: usize, start: usize| {
        let bytes = vec![0; len];
        let values = FrontCoded::new(&isa::PORTABLE, (prefixes, suffixes), 20, &bytes, start).unwrap();
        let call = || isa::PORTABLE.front_coded(values, 0, &mut vec![0; prefixes.len()]);
        assert!(std::panic::catch_unwind(call).is_err());
    };
    refused(&[0], &[4], 100, 15);
    refused(&[0], &[4], 35, 16);
    refused(&[9], &[4], 100, 16);
}

#[test]
fn front_coded_heads() {
    let mut random = Random(35);
    let head = |value: &[u8]| view_of(&value[..value.len().min(12)]) & !0xffff_ffff | value.len() as u128;
    for len in (0..40).chain([256, 1000]) {
        for most in [3, 12, 13, 20, 200] {
            let (mut prefixes, mut suffixes, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            let mut bytes = random.bytes(MARGIN);
            let mut value = random.bytes(most / 2);
            let before = value.clone();
            for _ in 0..len {
                let prefix = random.below(value.len() + 1);
                value.truncate(prefix);
                value.extend(random.bytes(random.0 as usize % (most + 1 - prefix)));
                bytes.extend_from_slice(&value[prefix..]);
                prefixes.push(prefix as i32);
                suffixes.push((value.len() - prefix) as i32);
                expected.push(head(&value));
            }
            bytes.extend(random.bytes(MARGIN));
            for table in tables() {
                let mut out = vec![7; len];
                let values = FrontCoded::new(table, (&prefixes, &suffixes), before.len(), &bytes, MARGIN).unwrap();
                table.front_coded_heads(values, head(&before), &mut out);
                assert_eq!(out, expected, "{table:?}");
            }
        }
    }
}

#[test]
fn views_of_values_in_place() {
    let mut random = Random(37);
    for len in (0..40).chain([256, 1000]) {
        for most in [0, 3, 12, 13, 20, 200] {
            let mut bytes = random.bytes(MARGIN + random.0 as usize % 3);
            let start = bytes.len();
            let values: Vec<Vec<u8>> = (0..len)
                .map(|_| {
                    let len = random.below(most + 1);
                    random.bytes(len)
                })
                .collect();
            let lengths: Vec<i32> = values.iter().map(|value| value.len() as i32).collect();
            bytes.extend(values.iter().flatten());
            bytes.extend(random.bytes(MARGIN));
            let expected_long: usize = values.iter().map(Vec::len).filter(|&len| len > 12).sum();
            let mut offset = 100;
            let expected: Vec<u128> = values
                .iter()
                .map(|value| {
                    let place = 3 << 64 | (offset as u128) << 96;
                    offset += value.len();
                    let beginning = view_of(&value[..value.len().min(12)]) & !0xffff_ffff | value.len() as u128;
                    if value.len() > 12 { beginning & u128::from(u64::MAX) | place } else { beginning }
                })
                .collect();
            for table in tables() {
                let zeros = vec![0; len];
                let coded = FrontCoded::new(table, (&zeros, &lengths), 0, &bytes, start).unwrap();
                let mut out = vec![7; len];
                assert_eq!(table.views_in_place(coded, (3, 100), &mut out), expected_long);
                assert_eq!(out, expected, "{table:?}");
            }
        }
    }
}

#[test]
fn front_coded_lengths() {
    let bytes = [0; 100];
    let wide = i32::MAX / 2;
    for table in tables() {
        for before in 0..40 {
            // Wherever it is.
            let with = |prefix: i32, suffix: i32| {
                let mut lengths = (vec![0; 40], vec![2; 40]);
                (lengths.0[before], lengths.1[before]) = (prefix, suffix);
                FrontCoded::new(table, (&lengths.0, &lengths.1), 9, &bytes, 16).err()
            };
            assert_eq!(with(2, 4), None);
            assert_eq!(with(3, 1), (before > 0).then_some(Misfit::Prefix));
            assert_eq!(with(10, 1), Some(Misfit::Prefix));
            assert_eq!(with(-1, 4), Some(Misfit::Length));
            assert_eq!(with(0, -1), Some(Misfit::Length));
            assert_eq!(with(i32::MAX, 1), Some(Misfit::Length));
            assert_eq!(with(i32::MIN, i32::MIN), Some(Misfit::Length));
            assert_eq!(with(0, 7), Some(Misfit::End));
            assert_eq!(with(0, 6), None);
        }
        // Sums that wrap in 32 bits.
        for count in 2..40 {
            let (prefixes, suffixes) = (vec![0; count], vec![wide; count]);
            assert_eq!(FrontCoded::new(table, (&prefixes, &suffixes), 0, &bytes, 0).err(), Some(Misfit::End));
            let (mut prefixes, mut suffixes) = (vec![wide; count], vec![0; count]);
            (prefixes[0], suffixes[0]) = (wide - 100, 100);
            let values = FrontCoded::new(table, (&prefixes, &suffixes), usize::MAX, &bytes, 0).unwrap();
            assert_eq!((values.total(), values.longest(), values.end()), (wide as usize * count, wide as usize, 100));
        }
    }
}

fn view_of(value: &[u8]) -> u128 {
    let mut view = [0; 16];
    view[0] = value.len() as u8;
    view[4..4 + value.len()].copy_from_slice(value);
    u128::from_le_bytes(view)
}

#[test]
fn views_in_sets() {
    let mut random = Random(32);
    for len in 0..300_usize {
        let few: Vec<u128> = (0..5).map(|_| u128::from(random.next()) << 64 | u128::from(random.next())).collect();
        // Views that share a half with another.
        let pick = |random: &mut Random| few[random.below(5)] & u128::from(u64::MAX) | few[random.below(5)] >> 64 << 64;
        let views: Vec<u128> = (0..len).map(|_| pick(&mut random)).collect();
        let set: Vec<u128> = (0..random.below(4)).map(|_| pick(&mut random)).collect();
        for table in tables() {
            let mut words = vec![u64::MAX; len.div_ceil(64) + 1];
            table.in_views(&views, &set, &mut words);
            for index in 0..len.div_ceil(64) * 64 {
                assert_eq!(bit(&words, index), views.get(index).is_some_and(|view| set.contains(view)), "{table:?}");
            }
            assert_eq!(words.last(), Some(&u64::MAX));
            words.fill(u64::MAX);
            table.in_view_beginnings(&views, &set, &mut words);
            let begins = |view: &u128| set.iter().any(|one| *one as u64 == *view as u64);
            for index in 0..len.div_ceil(64) * 64 {
                assert_eq!(bit(&words, index), views.get(index).is_some_and(begins), "{table:?}");
            }
            assert_eq!(words.last(), Some(&u64::MAX));
        }
    }
}

#[test]
fn front_coded_long_values() {
    let mut random = Random(33);
    for len in (0..40).chain([256, 1000]) {
        for _ in 0..12 {
            let (alike, most) = (random.below(4), [12, 16, 40, 64, 65, 128, 129, 192, LONGEST][random.below(9)]);
            let (mut prefixes, mut suffixes, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            let start = random.below(4);
            let mut bytes = random.bytes(start);
            let mut value = random.bytes(most / 2);
            let mut register = [0; REGISTERS];
            register[..value.len()].copy_from_slice(&value);
            let before = register;
            for _ in 0..len {
                let prefix = if alike == 0 { 0 } else { random.below(value.len() + 1) };
                let suffix = random.below(if alike == 3 { 2 } else { most + 1 }.min(most + 1 - prefix));
                value.truncate(prefix);
                value.extend(random.bytes(suffix));
                bytes.extend_from_slice(&value[prefix..]);
                prefixes.push(prefix as i32);
                suffixes.push(suffix as i32);
                expected.push(value.clone());
            }
            // The page ends with the last suffix.
            let bytes = bytes.into_boxed_slice();
            let total: usize = expected.iter().map(Vec::len).sum();
            for table in tables() {
                let (mut out, mut register) = (vec![7; len], before);
                let mut data = vec![MaybeUninit::new(9); total + REGISTERS];
                let values = FrontCoded::new(table, (&prefixes, &suffixes), LONGEST, &bytes, start).unwrap();
                let Some(written) = table.front_coded_long(values, &mut register, &mut data, (3, 100), &mut out) else {
                    continue;
                };
                // SAFETY: initialised above.
                let data: Vec<u8> = data.iter().map(|byte| unsafe { byte.assume_init() }).collect();
                assert_eq!(written, expected.iter().map(Vec::len).filter(|&len| len > 12).sum::<usize>());
                for (view, value) in out.iter().zip(&expected) {
                    if value.len() <= 12 {
                        assert_eq!(*view, view_of(value), "{table:?}");
                    } else {
                        let [length, first, buffer, offset] = [0, 32, 64, 96].map(|shift| (view >> shift) as u32);
                        assert_eq!((length as usize, buffer), (value.len(), 3));
                        assert_eq!(first.to_le_bytes(), value[..4]);
                        assert_eq!(data[offset as usize - 100..][..value.len()], **value, "{table:?}");
                    }
                }
                let last = expected.last().map_or(&before[..], |last| last);
                assert_eq!(register[..last.len()], *last);
                assert!(register[last.len()..].iter().all(|&byte| byte == 0));
            }
        }
    }
}
