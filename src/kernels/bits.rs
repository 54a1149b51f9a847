//! Tools for bitmaps.

use super::tools::Tools;

/// The `count` low bits set, for `count` up to 64.
#[inline(always)]
pub fn low_ones(count: u32) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - count) }
}

/// Positions of the bits that are set.
#[inline]
pub fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            Some(index * 64 + bit)
        })
    })
}

#[inline(always)]
pub(super) fn count_ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// # Safety
/// The processor has the instruction set of `B`.
#[inline(always)]
pub(super) unsafe fn pext_words<B: Tools>(source: &[u64], mask: &[u64], out: &mut [u64]) -> usize {
    let mut written = 0;
    // The bits of the word that is not full yet: `written % 64` of them.
    let mut pending = 0u64;
    for (&word, &mask) in source.iter().zip(mask) {
        // SAFETY: the caller's.
        let bits = unsafe { B::pext(word, mask) };
        let count = mask.count_ones();
        let used = (written % 64) as u32;
        pending |= bits << used;
        if used + count >= 64 {
            out[written / 64] = pending;
            // `used` is not 0 unless all 64 bits went into the word before.
            pending = if used == 0 { 0 } else { bits >> (64 - used) };
        }
        written += count as usize;
    }
    if !written.is_multiple_of(64) {
        out[written / 64] = pending;
    }
    written
}

/// # Safety
/// The processor has the instruction set of `B`.
#[inline(always)]
pub(super) unsafe fn pdep_words<B: Tools>(source: &[u64], mask: &[u64], out: &mut [u64]) -> usize {
    let mut read = 0;
    for (out, &mask) in out.iter_mut().zip(mask) {
        let used = (read % 64) as u32;
        let word = |index: usize| source.get(index).copied().unwrap_or(0);
        let mut bits = word(read / 64) >> used;
        if used != 0 {
            bits |= word(read / 64 + 1) << (64 - used);
        }
        // SAFETY: the caller's.
        *out = unsafe { B::pdep(bits, mask) };
        read += mask.count_ones() as usize;
    }
    read
}

/// Writes `len` times `value`, from bit `from` on; the other bits stay.
///
/// # Panics
/// The range ends past `words`.
pub fn fill_bits(words: &mut [u64], from: usize, len: usize, value: bool) {
    if len == 0 {
        return;
    }
    let (first, last) = (from / 64, (from + len - 1) / 64);
    let fill = |word: &mut u64, mask: u64| *word = if value { *word | mask } else { *word & !mask };
    let first_mask = u64::MAX << (from % 64);
    let last_mask = low_ones(((from + len - 1) % 64) as u32 + 1);
    if first == last {
        fill(&mut words[first], first_mask & last_mask);
        return;
    }
    fill(&mut words[first], first_mask);
    fill(&mut words[last], last_mask);
    words[first + 1..last].fill(if value { u64::MAX } else { 0 });
}

/// Copies `len` bits from bit `source_bit` of `source` to bit `out_bit` of `out`; the other bits of `out` stay.
///
/// # Panics
/// Either range ends past its slice.
pub fn copy_bits(source: &[u64], source_bit: usize, out: &mut [u64], out_bit: usize, len: usize) {
    if len == 0 {
        return;
    }
    let source = &source[source_bit / 64..=(source_bit + len - 1) / 64];
    let load = |bit: usize| {
        let bit = source_bit % 64 + bit;
        let (word, shift) = (bit / 64, bit % 64);
        // In two steps, as a shift by 64 is none.
        source[word] >> shift | source.get(word + 1).map_or(0, |word| word << 1 << (63 - shift))
    };
    copy(load, out, out_bit, len);
}

/// As [`copy_bits`], from bytes: bit `i` of the source is bit `i % 8` of byte `i / 8`.
///
/// # Panics
/// Either range ends past its slice.
pub fn copy_packed_bits(source: &[u8], source_bit: usize, out: &mut [u64], out_bit: usize, len: usize) {
    if len == 0 {
        return;
    }
    let source = &source[source_bit / 8..=(source_bit + len - 1) / 8];
    let load = |bit: usize| {
        let bit = source_bit % 8 + bit;
        let (rest, shift) = (&source[bit / 8..], bit % 8);
        let Some((low, rest)) = rest.split_first_chunk() else {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            return u64::from_le_bytes(padded) >> shift;
        };
        let high = rest.first().map_or(0, |&high| u64::from(high));
        u64::from_le_bytes(*low) >> shift | high << 1 << (63 - shift)
    };
    copy(load, out, out_bit, len);
}

/// Copies `len` bits, which `load` gives 64 at a time from any of them on, zeros or what you like after the last.
#[inline(always)]
fn copy(load: impl Fn(usize) -> u64, out: &mut [u64], out_bit: usize, len: usize) {
    let out = &mut out[out_bit / 64..=(out_bit + len - 1) / 64];
    let out_bit = out_bit % 64;
    let merge = |out: &mut u64, bits: u64, mask: u64| *out = (*out & !mask) | (bits & mask);
    let head = len.min(64 - out_bit);
    merge(&mut out[0], load(0) << out_bit, low_ones(head as u32) << out_bit);
    let mut done = head;
    for out in &mut out[1..] {
        let count = (len - done).min(64);
        merge(out, load(done), low_ones(count as u32));
        done += count;
    }
}
