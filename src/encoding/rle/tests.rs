use super::*;

/// Xorshift: tests need variety, and the same variety each time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

fn uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The hybrid encoder of the tests: runs as they are told.
pub(crate) fn repeated(out: &mut Vec<u8>, bit_width: u32, value: u32, count: u64) {
    uleb(out, count << 1);
    out.extend_from_slice(&value.to_le_bytes()[..bit_width.div_ceil(8) as usize]);
}

pub(crate) fn packed(out: &mut Vec<u8>, bit_width: u32, values: &[u32]) {
    let groups = values.len().div_ceil(8);
    uleb(out, (groups as u64) << 1 | 1);
    let mut bits = vec![0u8; groups * bit_width as usize];
    for (index, value) in values.iter().enumerate() {
        for bit in 0..bit_width as usize {
            let at = index * bit_width as usize + bit;
            bits[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
        }
    }
    out.extend_from_slice(&bits);
}

/// Random runs of `bit_width` bits, some of length zero, and the values that they stand for.
pub(crate) fn random_runs(random: &mut Random, bit_width: u32, runs: usize) -> (Vec<u8>, Vec<u32>) {
    let mask = if bit_width == 0 { 0 } else { u32::MAX >> (32 - bit_width) };
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        if random.below(2) == 0 {
            let value = random.next() as u32 & mask;
            let count = random.below(40);
            repeated(&mut bytes, bit_width, value, count as u64);
            values.extend(std::iter::repeat_n(value, count));
        } else {
            let count = random.below(12) * 8;
            let run: Vec<u32> = (0..count).map(|_| random.next() as u32 & mask).collect();
            packed(&mut bytes, bit_width, &run);
            values.extend(run);
        }
    }
    (bytes, values)
}

fn bit(words: &[u64], at: usize) -> bool {
    words[at / 64] >> (at % 64) & 1 == 1
}

#[test]
fn hybrid_reads_every_width() {
    let mut random = Random::new(1);
    let mut hybrid = Hybrid::default();
    for bit_width in 0..=32 {
        for runs in [0, 1, 2, 3, 30] {
            let (bytes, values) = random_runs(&mut random, bit_width, runs);
            hybrid.reset(bit_width).unwrap();
            let mut out = vec![7; values.len()];
            hybrid.read(&bytes, &mut out).unwrap();
            assert_eq!(out, values, "bit width {bit_width}");
            if bit_width > 0 {
                assert!(hybrid.read(&bytes, &mut [0]).is_err());
                assert!(hybrid.skip(&bytes, 1).is_err());
            }
        }
    }
    assert!(hybrid.reset(33).is_err());
    assert!(hybrid.reset(u32::MAX).is_err());
}

#[test]
fn hybrid_reads_and_skips_in_any_split() {
    let mut random = Random::new(2);
    let mut hybrid = Hybrid::default();
    for round in 0..400 {
        let bit_width = round % 33;
        let (bytes, values) = random_runs(&mut random, bit_width, 12);
        hybrid.reset(bit_width).unwrap();
        let mut done = 0;
        while done < values.len() {
            let most = if random.below(3) == 0 { 100 } else { 11 };
            let n = random.below(most).min(values.len() - done);
            if random.below(3) == 0 {
                hybrid.skip(&bytes, n).unwrap();
            } else {
                let mut out = vec![9; n];
                hybrid.read(&bytes, &mut out).unwrap();
                assert_eq!(out, values[done..done + n], "bit width {bit_width}, value {done}");
            }
            done += n;
        }
    }
}

#[test]
fn hybrid_that_is_cut_short_gives_what_is_there_or_an_error() {
    let mut random = Random::new(3);
    let mut hybrid = Hybrid::default();
    for bit_width in 1..=32 {
        let (bytes, values) = random_runs(&mut random, bit_width, 5);
        for len in 0..bytes.len() {
            let bytes = &bytes[..len];
            hybrid.reset(bit_width).unwrap();
            let mut read = 0;
            let mut out = [0];
            while hybrid.read(bytes, &mut out).is_ok() {
                assert_eq!(out[0], values[read], "bit width {bit_width}, {len} bytes, value {read}");
                read += 1;
            }
            hybrid.reset(bit_width).unwrap();
            hybrid.skip(bytes, read).unwrap();
            assert!(hybrid.skip(bytes, 1).is_err());
            hybrid.reset(bit_width).unwrap();
            assert!(hybrid.read(bytes, &mut vec![0; read + 1]).is_err());
        }
    }
}

#[test]
fn hybrid_survives_any_bytes() {
    let mut random = Random::new(4);
    let mut hybrid = Hybrid::default();
    let mut levels = Levels::default();
    let mut out = vec![0; 1000];
    let mut words = [0; 16];
    for round in 0..4000 {
        let len = random.below(40);
        let bytes = random.bytes(len);
        let bit_width = round % 33;
        hybrid.reset(bit_width).unwrap();
        while bit_width > 0 && hybrid.read(&bytes, &mut out).is_ok() && random.below(20) > 0 {
            let _ = hybrid.skip(&bytes, random.next() as usize);
        }
        levels.reset();
        while levels.read(&bytes, 1000, &mut words, 0).is_ok() && random.below(20) > 0 {
            let _ = levels.skip(&bytes, random.below(100_000));
        }
    }
}

#[test]
fn runs_of_length_zero_end() {
    for byte in [0, 1] {
        let bytes = vec![byte; 10_000];
        let mut hybrid = Hybrid::default();
        hybrid.reset(8).unwrap();
        let error = hybrid.read(&bytes, &mut [0]);
        if byte == 1 {
            assert!(error.is_err());
        }
        // Width 1: a header of zero and a value of zero, or a bit-packed run of no groups.
        let mut levels = Levels::default();
        assert!(levels.read(&vec![byte & 1; 10_000], 1, &mut [0], 0).is_err());
    }
    let mut hybrid = Hybrid::default();
    let bytes = vec![0; 10_000];
    hybrid.reset(32).unwrap();
    assert!(hybrid.read(&bytes, &mut [0]).is_err());
}

#[test]
fn runs_may_claim_more_than_is_asked() {
    let mut bytes = Vec::new();
    repeated(&mut bytes, 3, 5, u64::MAX >> 1);
    let mut hybrid = Hybrid::default();
    hybrid.reset(3).unwrap();
    hybrid.skip(&bytes, 1 << 40).unwrap();
    let mut out = [0; 9];
    hybrid.read(&bytes, &mut out).unwrap();
    assert_eq!(out, [5; 9]);

    // A bit-packed run that promises 2^60 groups and holds one of them, and half of another.
    let mut bytes = Vec::new();
    uleb(&mut bytes, 1 << 61 | 1);
    bytes.extend_from_slice(&[0x21, 0x43, 0x65, 0x87, 0xba, 0xdc]);
    hybrid.reset(4).unwrap();
    let mut out = [0; 12];
    hybrid.read(&bytes, &mut out).unwrap();
    assert_eq!(out, [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]);
    assert!(hybrid.read(&bytes, &mut out[..1]).is_err());
}

#[test]
fn values_wider_than_the_bit_width_are_refused() {
    for bit_width in [1, 7, 9, 31] {
        let mut bytes = Vec::new();
        repeated(&mut bytes, bit_width, 1 << bit_width, 4);
        let mut hybrid = Hybrid::default();
        hybrid.reset(bit_width).unwrap();
        assert!(hybrid.read(&bytes, &mut [0]).is_err());
    }
}

#[test]
fn levels_are_read_and_counted_in_any_split() {
    let mut random = Random::new(5);
    let mut levels = Levels::default();
    for _ in 0..400 {
        let (bytes, values) = random_runs(&mut random, 1, 20);
        levels.reset();
        let mut done = 0;
        while done < values.len() {
            let n = random.below(300).min(values.len() - done);
            let expected = values[done..done + n].iter().filter(|&&value| value == 1).count();
            if random.below(3) == 0 {
                assert_eq!(levels.skip(&bytes, n).unwrap(), expected);
            } else {
                // Bits around the target stay as they are.
                let start = random.below(130);
                let background = if random.below(2) == 0 { 0 } else { u64::MAX };
                let mut words = vec![background; (start + n).div_ceil(64) + 1];
                assert_eq!(levels.read(&bytes, n, &mut words, start).unwrap(), expected);
                for at in 0..words.len() * 64 {
                    let inside = at.checked_sub(start).filter(|&index| index < n);
                    let expected = inside.map_or(background != 0, |index| values[done + index] == 1);
                    assert_eq!(bit(&words, at), expected, "bit {at} of {n} from {start}");
                }
            }
            done += n;
        }
        assert!(levels.read(&bytes, 1, &mut [0], 0).is_err());
        assert!(levels.skip(&bytes, 1).is_err());
    }
}

#[test]
fn levels_by_the_parquet_crate() {
    use parquet::encodings::levels::LevelEncoder;
    let mut random = Random::new(6);
    for (len, sparseness) in [(1, 2), (7, 2), (8, 1), (1000, 1), (1000, 2), (5000, 100), (777, 9)] {
        let expected: Vec<i16> = (0..len).map(|_| i16::from(random.below(sparseness) == 0)).collect();
        let mut encoder = LevelEncoder::v2_streaming(1);
        encoder.put_with_observer(&expected, |_, _| ());
        let bytes = encoder.consume();
        let mut words = vec![0; expected.len().div_ceil(64)];
        let ones = Levels::default().read(&bytes, expected.len(), &mut words, 0).unwrap();
        assert_eq!(ones, expected.iter().filter(|&&level| level == 1).count());
        for (at, level) in expected.iter().enumerate() {
            assert_eq!(bit(&words, at), *level == 1);
        }
    }
}

#[test]
fn uniform_levels_are_seen() {
    let mut bytes = Vec::new();
    repeated(&mut bytes, 1, 1, 100);
    repeated(&mut bytes, 1, 0, 100);
    assert_eq!(Levels::uniform(&bytes, 100), Some(true));
    assert_eq!(Levels::uniform(&bytes, 101), None);
    assert_eq!(Levels::uniform(&bytes[3..], 100), Some(false));
    assert_eq!(Levels::uniform(&[], 1), None);
    assert_eq!(Levels::uniform(&[3, 255], 8), None);
    assert_eq!(Levels::uniform(&[200, 2], 8), None);
}
