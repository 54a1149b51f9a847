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
