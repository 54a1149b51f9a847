//! Membership in sets of integers, to bitmaps.

use super::Lane;
use super::bits::low_ones;
use super::tools::Tools;

/// Members up to which all of them are compared with each value, where lanes have 32 bits and where they have more.
const FEW: [usize; 2] = [12, 2];

#[inline(always)]
pub(super) fn in_bitmap<T: Lane>(values: &[T], base: T, bitmap: &[u64], outside: bool, words: &mut [u64]) {
    let words = &mut words[..values.len().div_ceil(64)];
    let holds = |value: T| {
        let bit = value.sub(base).unsigned().into();
        let word = usize::try_from(bit / 64).ok().and_then(|index| bitmap.get(index));
        word.map_or(outside, |word| word >> (bit % 64) & 1 == 1)
    };
    for (values, word) in values.chunks(64).zip(words) {
        *word = values.iter().enumerate().fold(0, |word, (index, &value)| word | u64::from(holds(value)) << index);
    }
}

#[inline(always)]
pub(super) fn in_sorted<T: Lane, V: Tools>(values: &[T], set: &[T], words: &mut [u64]) {
    let words = &mut words[..values.len().div_ceil(64)];
    if set.is_empty() {
        words.fill(0);
        return;
    }
    let few = FEW[usize::from(T::BITS > 32)];
    let word_of = |values: &[T; 64]| {
        if set.len() <= few {
            set.iter().fold(0, |word, member| word | V::pack(T::BITS, |index| values[index] == *member))
        } else {
            search::<T, V>(values, set)
        }
    };
    let (chunks, rest) = values.as_chunks::<64>();
    for (chunk, word) in chunks.iter().zip(words.iter_mut()) {
        *word = word_of(chunk);
    }
    if let (false, Some(word)) = (rest.is_empty(), words.last_mut()) {
        let mut chunk = [T::default(); 64];
        chunk[..rest.len()].copy_from_slice(rest);
        *word = word_of(&chunk) & low_ones(rest.len() as u32);
    }
}

/// Binary searches of all values at once, a step of each in turn: how far they go depends on the set alone.
#[inline(always)]
fn search<T: Lane, V: Tools>(values: &[T; 64], set: &[T]) -> u64 {
    if set.is_empty() {
        return 0;
    }
    let mut positions = [0usize; 64];
    let mut left = set.len();
    while left > 1 {
        let half = left / 2;
        for (position, value) in positions.iter_mut().zip(values) {
            // SAFETY: `left` members from each position on are left, which is more than `half`.
            let upper = unsafe { *set.get_unchecked(*position + half) } <= *value;
            *position = std::hint::select_unpredictable(upper, *position + half, *position);
        }
        left -= half;
    }
    // SAFETY: one member from each position on is left.
    V::pack(T::BITS, |index| unsafe { *set.get_unchecked(positions[index]) } == values[index])
}
