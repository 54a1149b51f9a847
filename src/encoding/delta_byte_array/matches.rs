//! Tests of values that nobody else looks at: by their first bytes, by what follows the prefixes, and as a whole only where
//! neither tells.

use std::cmp::Ordering;

use super::{BATCH, DeltaByteArray, make_short, read_any, read_registers, rebuild};
use crate::encoding::byte_array::{Border, ByteTest, HEADS, INLINE_LEN, make_head, make_heads, view_bytes};
use crate::error::Result;
use crate::kernels::{FrontCoded, fill_bits, kernels, ones};

impl DeltaByteArray {
    /// Moves past the next `count` values, and sets the bit of each that passes `test`; overwrites `words`, one for 64 values.
    /// `heads` is memory for [`HEADS`] of them.
    ///
    /// # Errors
    /// As [`DeltaByteArray::read`].
    pub fn read_matches(
        &mut self,
        page: &[u8],
        count: usize,
        test: &impl ByteTest,
        heads: &mut [u128; HEADS],
        words: &mut [u64],
    ) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let batch = BATCH.min(count - first);
            let words = &mut words[first / 64..(first + batch).div_ceil(64)];
            let values = self.lengths.next_batch(page, batch, self.previous.len())?;
            let (previous, heads) = (&mut self.previous, &mut heads[..batch]);
            if values.longest().max(previous.len()) <= INLINE_LEN {
                make_short(values, previous, heads);
                test.test_heads(heads, words, &mut [0; BATCH / 64][..words.len()]);
                continue;
            }
            if self.heads.is_due() {
                make_heads(values, make_head(previous), heads);
                let mut open = [0; BATCH / 64];
                test.test_heads(heads, words, &mut open[..words.len()]);
                let left = kernels().count_ones(&open);
                self.heads.note(left <= batch / MANY);
                if left <= batch / MANY {
                    test_some(values, previous, test, &open, words);
                    continue;
                }
            }
            if let Some((borders, begins_inside)) = test.borders() {
                test_by_borders(values, previous, borders, begins_inside, words);
                rebuild(previous, values, 0..values.count(), values.end());
            } else if values.total() > LARGE {
                words.fill(0);
                test_some(values, previous, test, &low_words(batch), words);
            } else {
                self.values.clear();
                if !read_registers(values, previous, &mut self.values)? {
                    read_any(values, previous, heads, &mut self.values)?;
                }
                words.fill(0);
                for (index, view) in self.values.views.iter().enumerate() {
                    words[index / 64] |= u64::from(test.test(view_bytes(view, &self.values.data))) << (index % 64);
                }
            }
        }
        Ok(())
    }
}

/// Bytes of values that are put together at once, and not one after the other.
const LARGE: usize = 1 << 20;

/// The first `count` bits.
fn low_words(count: usize) -> [u64; BATCH / 64] {
    let mut words = [0; BATCH / 64];
    fill_bits(&mut words, 0, count, true);
    words
}

/// One of so many values, or more, is many.
const MANY: usize = 16;

/// Tests those values that are set in `open`.
fn test_some(values: FrontCoded<'_>, previous: &mut Vec<u8>, test: &impl ByteTest, open: &[u64], passed: &mut [u64]) {
    let (mut done, mut end) = (0, values.start());
    for index in ones(open) {
        end += values.suffixes(done..index + 1);
        rebuild(previous, values, done..index + 1, end);
        passed[index / 64] |= u64::from(test.test(previous)) << (index % 64);
        done = index + 1;
    }
    rebuild(previous, values, done..values.count(), values.end());
}

/// Tests all values, and looks at a suffix only where the value before has no more in common with a border than it has with the
/// value.
fn test_by_borders(
    values: FrontCoded<'_>,
    previous: &[u8],
    borders: &[Border],
    begins_inside: bool,
    words: &mut [u64],
) {
    words.fill(if begins_inside { u64::MAX } else { 0 });
    if let Some(last) = words.get_mut(values.count() / 64) {
        *last &= (1 << (values.count() % 64)) - 1;
    }
    let bytes = values.bytes();
    for border in borders {
        let mut common = common_prefix(previous, &border.value);
        let mut flips = border.flips(previous, common);
        let mut position = values.start();
        for (index, (prefix, suffix)) in values.lengths().enumerate() {
            if prefix <= common {
                let (suffix, rest) = (&bytes[position..position + suffix], &border.value[prefix..]);
                let more = common_prefix(suffix, rest);
                common = prefix + more;
                flips = border.flips_at(suffix.get(more), rest.get(more));
            }
            words[index / 64] ^= u64::from(flips) << (index % 64);
            position += suffix;
        }
    }
}

impl Border {
    /// Whether a value is on the other side than the least values, which has `common` bytes in common with the border.
    fn flips(&self, value: &[u8], common: usize) -> bool {
        self.flips_at(value.get(common), self.value.get(common))
    }

    /// As [`Border::flips`], by the first bytes that differ.
    #[inline(always)]
    fn flips_at(&self, of_value: Option<&u8>, of_border: Option<&u8>) -> bool {
        match of_value.cmp(&of_border) {
            Ordering::Less => false,
            Ordering::Equal => self.at,
            Ordering::Greater => self.at ^ self.above,
        }
    }
}

/// How many bytes two strings begin with together.
#[inline(always)]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
