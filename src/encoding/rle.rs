//! The RLE / bit-packed hybrid of the specification ("Run Length Encoding / Bit-Packing Hybrid", RLE = 3).
//!
//! [`Hybrid`] reads values of any width (dictionary indices), [`Levels`] the definition levels of flat OPTIONAL
//! columns and RLE booleans, which are one bit wide: it copies bits and never widens them.
//!
//! A run's header is a promise of the file: a run may claim more values than are asked for, and nothing is ever sized by
//! it. Every header takes at least one byte, so that runs of length zero cannot keep a reader busy. A last bit-packed run
//! that stops short of its padding is legal enough (old writers do it): the values whose bits are there can be read.

use crate::encoding::varint::read_uleb;
use crate::error::{Error, Result};
use crate::kernels::{kernels, low_ones};

/// Values in a group of a bit-packed run.
const GROUP: usize = 8;

/// Decoder of the RLE / bit-packed hybrid, up to 32 bits a value.
///
/// It owns no bytes: the same slice is given to each call.
#[derive(Debug, Clone, Default)]
pub struct Hybrid {
    bit_width: u32,
    /// Byte position of what comes next: a group of the current bit-packed run, or a run header.
    position: usize,
    /// Values left of the current RLE run.
    repeated: usize,
    value: u32,
    /// Values left of the current bit-packed run, beyond `overhang`.
    packed: usize,
    /// The group that was unpacked last; its values from `taken` on were not handed out yet.
    overhang: [u32; GROUP],
    taken: usize,
    /// End of the valid values of `overhang`.
    filled: usize,
}

impl Hybrid {
    /// Starts at the beginning of the bytes that the next calls give, which hold values of `bit_width` bits.
    ///
    /// # Errors
    /// A `bit_width` over 32.
    pub fn reset(&mut self, bit_width: u32) -> Result<()> {
        if bit_width > 32 {
            return Err(Error::corrupt(format!("RLE bit width {bit_width} is over 32")));
        }
        *self = Self { bit_width, ..Self::default() };
        Ok(())
    }

    /// Fills `out` with the next values.
    ///
    /// # Errors
    /// The bytes end before `out` is full, or hold a malformed run.
    pub fn read(&mut self, bytes: &[u8], out: &mut [u32]) -> Result<()> {
        if self.bit_width == 0 {
            // Nothing but zeros can be meant, and some writers leave the runs out.
            out.fill(0);
            return Ok(());
        }
        let mut rest = out;
        while !rest.is_empty() {
            if self.taken < self.filled {
                let n = rest.len().min(self.filled - self.taken);
                let (now, later) = rest.split_at_mut(n);
                now.copy_from_slice(&self.overhang[self.taken..self.taken + n]);
                self.taken += n;
                rest = later;
            } else if self.repeated > 0 {
                let n = rest.len().min(self.repeated);
                let (now, later) = rest.split_at_mut(n);
                now.fill(self.value);
                self.repeated -= n;
                rest = later;
            } else if self.packed > 0 {
                let whole = rest.len().min(self.packed) / GROUP * GROUP;
                if whole == 0 {
                    self.load_group(bytes);
                    continue;
                }
                let (now, later) = rest.split_at_mut(whole);
                let Some(packed) = bytes.get(self.position..self.position + self.size(whole)) else {
                    return Err(too_short());
                };
                kernels().unpack(packed, self.bit_width, now);
                self.advance(whole);
                rest = later;
            } else {
                self.next_run(bytes)?;
            }
        }
        Ok(())
    }

    /// Steps over the next `n` values.
    ///
    /// # Errors
    /// The bytes end before, or hold a malformed run.
    pub fn skip(&mut self, bytes: &[u8], n: usize) -> Result<()> {
        if self.bit_width == 0 {
            return Ok(());
        }
        let mut rest = n;
        while rest > 0 {
            if self.taken < self.filled {
                let n = rest.min(self.filled - self.taken);
                self.taken += n;
                rest -= n;
            } else if self.repeated > 0 {
                let n = rest.min(self.repeated);
                self.repeated -= n;
                rest -= n;
            } else if self.packed > 0 {
                let whole = rest.min(self.packed) / GROUP * GROUP;
                if whole == 0 {
                    self.load_group(bytes);
                    continue;
                }
                self.advance(whole);
                rest -= whole;
            } else {
                self.next_run(bytes)?;
            }
        }
        Ok(())
    }

    /// Bytes of `whole` bit-packed values, a multiple of eight.
    fn size(&self, whole: usize) -> usize {
        whole / GROUP * self.bit_width as usize
    }

    /// Steps over `whole` values (a multiple of eight) of the current bit-packed run.
    fn advance(&mut self, whole: usize) {
        self.packed -= whole;
        self.position += self.size(whole);
    }

    /// Unpacks the next group of the current bit-packed run, which may be cut short by the end of the bytes.
    fn load_group(&mut self, bytes: &[u8]) {
        let width = self.bit_width as usize;
        let group = bytes.get(self.position..).unwrap_or_default();
        if group.len() >= width {
            kernels().unpack(group, self.bit_width, &mut self.overhang);
        } else {
            let mut padded = [0u8; 32];
            padded[..group.len()].copy_from_slice(group);
            kernels().unpack(&padded, self.bit_width, &mut self.overhang);
        }
        self.taken = 0;
        self.filled = self.packed.min(GROUP);
        self.packed -= self.filled;
        self.position = self.position.saturating_add(width).min(bytes.len());
    }

    #[inline(never)]
    fn next_run(&mut self, bytes: &[u8]) -> Result<()> {
        match Run::parse(bytes, &mut self.position, self.bit_width)? {
            Run::Repeated { value, count } => {
                self.value = value;
                self.repeated = count;
            }
            Run::Packed { count } => self.packed = count,
        }
        Ok(())
    }
}

#[cold]
fn too_short() -> Error {
    Error::corrupt("RLE data ends before the values that the page promises")
}

/// A run header, and for RLE runs the value behind it.
enum Run {
    /// `count` times the same value; the position stands on the next run header.
    Repeated { value: u32, count: usize },
    /// Bit-packed values, as many as the header promises and the bytes hold; the position stands on the first of them.
    Packed { count: usize },
}

impl Run {
    /// Parses the run header at `position`. `bit_width` is not zero.
    fn parse(bytes: &[u8], position: &mut usize, bit_width: u32) -> Result<Self> {
        if *position >= bytes.len() {
            return Err(too_short());
        }
        let header = read_uleb(bytes, position)?;
        let count = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        if header & 1 == 1 {
            let available = bytes.len().saturating_sub(*position).saturating_mul(8) / bit_width as usize;
            return Ok(Self::Packed { count: count.saturating_mul(GROUP).min(available) });
        }
        let size = bit_width.div_ceil(8) as usize;
        let end = position.saturating_add(size);
        let Some(stored) = bytes.get(*position..end) else {
            return Err(Error::corrupt("RLE run without its value"));
        };
        let mut little_endian = [0u8; 4];
        little_endian[..size].copy_from_slice(stored);
        let value = u32::from_le_bytes(little_endian);
        if u64::from(value) >> bit_width != 0 {
            return Err(Error::corrupt(format!("RLE run of value {value}, which has more than {bit_width} bits")));
        }
        *position = end;
        Ok(Self::Repeated { value, count })
    }
}

/// Decoder of the RLE / bit-packed hybrid at one bit a value: definition levels of flat OPTIONAL columns.
///
/// A set bit is a value that is there. It owns no bytes: the same slice is given to each call.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// Byte position of the next run header.
    position: usize,
    /// Values left of the current RLE run.
    repeated: usize,
    value: bool,
    /// Bits left of the current bit-packed run.
    packed: usize,
    /// Bit position of the first of them.
    bit: usize,
}

impl Levels {
    /// Starts at the beginning of the bytes that the next calls give.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Writes the next `len` bits to `words` at `start_bit`, other bits untouched, and returns how many are set.
    ///
    /// `words` must hold `start_bit + len` bits.
    ///
    /// # Errors
    /// The bytes end before, or hold a malformed run.
    pub fn read(&mut self, bytes: &[u8], len: usize, words: &mut [u64], start_bit: usize) -> Result<usize> {
        let mut out = Writer::new(words, start_bit);
        let mut left = len;
        while left > 0 {
            if self.repeated > 0 {
                let n = self.repeated.min(left);
                out.fill(self.value, n);
                self.repeated -= n;
                left -= n;
            } else if self.packed > 0 {
                let n = self.packed.min(left);
                out.copy(bytes, self.bit, n);
                self.bit += n;
                self.packed -= n;
                left -= n;
            } else {
                self.next_run(bytes)?;
            }
        }
        out.finish();
        Ok(kernels().count_range(words, start_bit, len))
    }

    /// Steps over the next `len` bits and returns how many of them are set.
    ///
    /// # Errors
    /// The bytes end before, or hold a malformed run.
    pub fn skip(&mut self, bytes: &[u8], len: usize) -> Result<usize> {
        const WINDOW: usize = 1024;
        let (mut rest, mut ones) = (len, 0);
        while rest > 0 {
            if self.repeated >= rest.min(WINDOW) {
                let n = self.repeated.min(rest);
                ones += if self.value { n } else { 0 };
                self.repeated -= n;
                rest -= n;
            } else {
                let n = rest.min(WINDOW);
                ones += self.read(bytes, n, &mut [0; WINDOW / 64], 0)?;
                rest -= n;
            }
        }
        Ok(ones)
    }

    /// The bit that all of the first `len` values share, where one RLE run says so; `None` says nothing.
    pub fn uniform(bytes: &[u8], len: usize) -> Option<bool> {
        match Run::parse(bytes, &mut 0, 1) {
            Ok(Run::Repeated { value, count }) if count >= len => Some(value == 1),
            _ => None,
        }
    }

    /// Where NULLs are scattered, runs are short: their headers have one byte.
    #[inline]
    fn next_run(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(&[header @ ..0x80, value @ ..2]) = bytes.get(self.position..).and_then(|rest| rest.first_chunk())
            && header & 1 == 0
        {
            self.position += 2;
            self.repeated = usize::from(header >> 1);
            self.value = value == 1;
            return Ok(());
        }
        if let Some((&header @ ..0x80, rest)) = bytes.get(self.position..).and_then(|rest| rest.split_first())
            && header & 1 == 1
        {
            let groups = usize::from(header >> 1).min(rest.len());
            self.bit = (self.position + 1) * 8;
            self.position += 1 + groups;
            self.packed = groups * GROUP;
            return Ok(());
        }
        self.next_long_run(bytes)
    }

    fn next_long_run(&mut self, bytes: &[u8]) -> Result<()> {
        match Run::parse(bytes, &mut self.position, 1)? {
            Run::Repeated { value, count } => {
                self.value = value == 1;
                self.repeated = count;
            }
            Run::Packed { count } => {
                self.packed = count;
                self.bit = self.position * 8;
                // `count` is cut to what the bytes hold, in whole bytes.
                self.position += count / 8;
            }
        }
        Ok(())
    }
}

/// Writes bits one run after the other; the word that is not full yet stays in a register.
struct Writer<'a> {
    words: &'a mut [u64],
    /// The word that `pending` is part of, of which `used` bits, fewer than 64, are known.
    index: usize,
    pending: u64,
    used: u32,
}

impl<'a> Writer<'a> {
    /// Writes from bit `start` on.
    fn new(words: &'a mut [u64], start: usize) -> Self {
        let (index, used) = (start / 64, (start % 64) as u32);
        let pending = words.get(index).map_or(0, |word| word & low_ones(used));
        Self { words, index, pending, used }
    }

    /// Writes the low `count` bits of `bits`, of 1 to 64; the others are zero.
    #[inline(always)]
    fn push(&mut self, bits: u64, count: u32) {
        self.pending |= bits << self.used;
        if self.used + count >= 64 {
            self.words[self.index] = self.pending;
            self.index += 1;
            // In two steps, as a shift by 64 is none.
            self.pending = bits >> 1 >> (63 - self.used);
        }
        self.used = (self.used + count) % 64;
    }

    #[inline(always)]
    fn fill(&mut self, value: bool, count: usize) {
        let bits = if value { u64::MAX } else { 0 };
        let mut left = count;
        while left > 64 {
            self.push(bits, 64);
            left -= 64;
        }
        if left > 0 {
            self.push(bits & low_ones(left as u32), left as u32);
        }
    }

    /// Copies `count` bits of `bytes` from `bit` on; they are there.
    #[inline(always)]
    fn copy(&mut self, bytes: &[u8], bit: usize, count: usize) {
        let (mut bit, mut left) = (bit, count);
        while left > 0 {
            let rest = &bytes[bit / 8..];
            let word = match rest.first_chunk() {
                Some(word) => u64::from_le_bytes(*word),
                None => {
                    let mut padded = [0; 8];
                    padded[..rest.len()].copy_from_slice(rest);
                    u64::from_le_bytes(padded)
                }
            };
            let some = left.min(64 - bit % 8);
            self.push(word >> (bit % 8) & low_ones(some as u32), some as u32);
            bit += some;
            left -= some;
        }
    }

    /// Writes the last word; its bits that are not known stay as they were.
    fn finish(self) {
        if self.used > 0 {
            let word = &mut self.words[self.index];
            *word = self.pending | *word & !low_ones(self.used);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
