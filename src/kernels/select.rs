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

/// Words that are looked at together: long runs of one answer cost one branch, which is foreseen.
#[cfg(target_arch = "x86_64")]
pub(super) const RUN: usize = 4;

/// The body of `Value::expand` by hand, around `$expand_word`, which reads 64 values and writes 64 rows.
#[cfg(target_arch = "x86_64")]
macro_rules! expand_by_word {
    ($dense:ident, $words:ident, $len:ident, $out:ident, $expand_word:ident) => {{
        let (dense, words, len, out) = ($dense, $words, $len, $out);
        let out = &mut out[..len];
        let words = &words[..len.div_ceil(64)];
        let mut used = 0;
        let mut done = 0;
        for (out, words) in out.as_chunks_mut::<{ 64 * RUN }>().0.iter_mut().zip(words.chunks(RUN)) {
            let selected = words.iter().map(|word| word.count_ones()).sum::<u32>() as usize;
            if selected == 0 {
                out.fill(0);
            } else {
                let Some(dense) = dense[used..].first_chunk::<{ 64 * RUN }>() else { break };
                if selected == 64 * RUN {
                    *out = *dense;
                } else {
                    let mut dense = dense.as_ptr();
                    for (out, &word) in out.as_chunks_mut::<64>().0.iter_mut().zip(words) {
                        // SAFETY: `dense` began with 64 values for each word.
                        unsafe { dense = dense.add($expand_word(dense, word, out)) };
                    }
                }
                used += selected;
            }
            done += RUN;
        }
        // Where fewer values are left than rows, the last ones are read from a copy, with as many more after them.
        let mut copy = [0; 128];
        let mut copied = None;
        for (out, &word) in out[64 * done..].chunks_mut(64).zip(&words[done..]) {
            let word = word & low_ones(out.len() as u32);
            let selected = word.count_ones() as usize;
            let left = &dense[used..];
            assert!(selected <= left.len(), "a value for each set bit");
            let source = if left.len() >= 64 {
                left.as_ptr()
            } else {
                let start = *copied.get_or_insert_with(|| {
                    copy[..left.len()].copy_from_slice(left);
                    used
                });
                copy[used - start..][..64].as_ptr()
            };
            // SAFETY: 64 values from `source` on, as the slices say.
            unsafe {
                if let Some(out) = out.as_mut_array() {
                    $expand_word(source, word, out);
                } else {
                    let mut rows = [0; 64];
                    $expand_word(source, word, &mut rows);
                    out.copy_from_slice(&rows[..out.len()]);
                }
            }
            used += selected;
        }
        used
    }};
}
#[cfg(target_arch = "x86_64")]
pub(super) use expand_by_word;
