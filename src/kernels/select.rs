//! Moving the selected values of a slice together, apart, and by index.

use super::bits::{count_ones, low_ones};

#[inline(always)]
pub(super) fn compact<U: Copy>(values: &[U], words: &[u64], out: &mut [U]) -> usize {
    let mut count = 0;
    let (chunks, rest) = values.as_chunks::<64>();
    for (chunk, &word) in chunks.iter().zip(words) {
        // `count` is at most the number of values seen, and `out` holds as many as `values`.
        let Some(out) = out.get_mut(count..).and_then(|out| out.first_chunk_mut::<64>()) else { break };
        count += compact_word(chunk, word, out);
    }
    if let (false, Some(word)) = (rest.is_empty(), words.get(chunks.len())) {
        let mut word = word & low_ones(rest.len() as u32);
        while word != 0 {
            out[count] = rest[word.trailing_zeros() as usize];
            count += 1;
            word &= word - 1;
        }
    }
    count
}

#[inline(always)]
fn compact_word<U: Copy>(values: &[U; 64], mut word: u64, out: &mut [U; 64]) -> usize {
    let selected = word.count_ones() as usize;
    if selected == 64 {
        *out = *values;
        return selected;
    }
    // Four at a time, up to three too many: a loop of which the length is easier to foresee.
    let (fours, _) = out.as_chunks_mut::<4>();
    for four in &mut fours[..selected.div_ceil(4)] {
        for slot in four {
            *slot = values[(word.trailing_zeros() % 64) as usize];
            word &= word.wrapping_sub(1);
        }
    }
    selected
}

#[inline(always)]
pub(super) fn expand<U: Copy + Default>(dense: &[U], words: &[u64], len: usize, out: &mut [U]) -> usize {
    let mut used = 0;
    let (chunks, rest) = out[..len].as_chunks_mut::<64>();
    let full = chunks.len();
    for (chunk, &word) in chunks.iter_mut().zip(words) {
        let dense = &dense[used..];
        used += match dense.first_chunk::<64>() {
            Some(dense) => expand_word(dense, word, chunk),
            None => expand_tail(dense, word, chunk),
        };
    }
    if !rest.is_empty() {
        used += expand_tail(&dense[used..], words[full] & low_ones(rest.len() as u32), rest);
    }
    used
}

#[inline(always)]
fn expand_word<U: Copy + Default>(dense: &[U; 64], mut word: u64, out: &mut [U; 64]) -> usize {
    let selected = word.count_ones() as usize;
    if selected == 64 {
        *out = *dense;
        return selected;
    }
    *out = [U::default(); 64];
    // Four at a time, as in `compact_word`, but none too many.
    let (fours, rest) = dense[..selected].as_chunks::<4>();
    for four in fours {
        for &value in four {
            out[(word.trailing_zeros() % 64) as usize] = value;
            word &= word.wrapping_sub(1);
        }
    }
    for &value in rest {
        out[(word.trailing_zeros() % 64) as usize] = value;
        word &= word.wrapping_sub(1);
    }
    selected
}

/// As [`expand_word`], with fewer than 64 values left in `dense`.
#[inline(always)]
fn expand_tail<U: Copy + Default>(dense: &[U], mut word: u64, out: &mut [U]) -> usize {
    out.fill(U::default());
    let dense = &dense[..count_ones(&[word])];
    for &value in dense {
        out[word.trailing_zeros() as usize] = value;
        word &= word - 1;
    }
    dense.len()
}

#[inline(always)]
pub(super) fn gather<U: Copy>(dictionary: &[U], indices: &[u32], out: &mut [U]) -> bool {
    for (indices, out) in indices.chunks(256).zip(out.chunks_mut(256)) {
        let max = indices.iter().fold(0, |max, &index| index.max(max));
        if max as usize >= dictionary.len() {
            return false;
        }
        for (slot, &index) in out.iter_mut().zip(indices) {
            // SAFETY: no index of this chunk is over `max`, which is in bounds. The checked form costs a branch a value.
            *slot = unsafe { *dictionary.get_unchecked(index as usize) };
        }
    }
    true
}
