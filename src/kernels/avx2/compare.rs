//! Comparisons of lanes to masks.

use std::arch::x86_64::*;

use crate::kernels::Comparison;
use crate::kernels::bits::low_ones;

/// Calls `holds` with a vector of `left` and of `right` at a time, and joins its masks to words.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn to_words<T: Copy + Default>(
    left: &[T],
    right: &[T],
    words: &mut [u64],
    holds: impl Fn(__m256i, __m256i) -> __m256i,
) {
    let lanes = const {
        assert!(matches!(size_of::<T>(), 4 | 8));
        32 / size_of::<T>()
    };
    let word_of = |left: &[T; 64], right: &[T; 64]| {
        let mut joined = 0;
        for at in (0..64).step_by(lanes) {
            // SAFETY: a whole vector of either chunk.
            let verdicts = unsafe {
                let left = _mm256_loadu_si256(left.as_ptr().add(at).cast());
                holds(left, _mm256_loadu_si256(right.as_ptr().add(at).cast()))
            };
            let mask = if lanes == 8 {
                _mm256_movemask_ps(_mm256_castsi256_ps(verdicts))
            } else {
                _mm256_movemask_pd(_mm256_castsi256_pd(verdicts))
            };
            joined |= u64::from(mask.cast_unsigned()) << at;
        }
        joined
    };
    let (left_chunks, left_rest) = left.as_chunks::<64>();
    let (right_chunks, right_rest) = right[..left.len()].as_chunks::<64>();
    let words = &mut words[..left.len().div_ceil(64)];
    for ((left, right), word) in left_chunks.iter().zip(right_chunks).zip(words.iter_mut()) {
        *word = word_of(left, right);
    }
    if let (false, Some(word)) = (left_rest.is_empty(), words.last_mut()) {
        let (mut left, mut right) = ([T::default(); 64], [T::default(); 64]);
        left[..left_rest.len()].copy_from_slice(left_rest);
        right[..right_rest.len()].copy_from_slice(right_rest);
        *word = word_of(&left, &right) & low_ones(left_rest.len() as u32);
    }
}

macro_rules! compare {
    ($lane:ident, $in_range:ident, $compare:ident, $set1:ident, $sub:ident, $xor:ident, $eq:ident, $gt:ident) => {
        /// The body of `Lane::in_range`.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $in_range(values: &[$lane], low: $lane, high: $lane, words: &mut [u64]) {
            if low > high {
                words[..values.len().div_ceil(64)].fill(0);
                return;
            }
            let low_bound = $set1(low.wrapping_add($lane::MIN));
            let span = $set1(high.wrapping_sub(low).wrapping_add($lane::MIN));
            // One comparison decides both bounds; both sides are moved so that it may be a signed one.
            to_words(values, values, words, |value, _| $gt($sub(value, low_bound), span));
            invert(words, values.len());
        }

        /// The body of `Lane::compare`.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $compare(
            left: &[$lane],
            right: &[$lane],
            op: Comparison,
            signed: bool,
            words: &mut [u64],
        ) {
            let sign = $set1($lane::MIN);
            match (op, signed) {
                (Comparison::Eq | Comparison::NotEq, _) => to_words(left, right, words, |l, r| $eq(l, r)),
                (Comparison::Lt | Comparison::GtEq, true) => to_words(left, right, words, |l, r| $gt(r, l)),
                (Comparison::Gt | Comparison::LtEq, true) => to_words(left, right, words, |l, r| $gt(l, r)),
                (Comparison::Lt | Comparison::GtEq, false) => {
                    to_words(left, right, words, |l, r| $gt($xor(r, sign), $xor(l, sign)));
                }
                (Comparison::Gt | Comparison::LtEq, false) => {
                    to_words(left, right, words, |l, r| $gt($xor(l, sign), $xor(r, sign)));
                }
            }
            if matches!(op, Comparison::NotEq | Comparison::LtEq | Comparison::GtEq) {
                invert(words, left.len());
            }
        }
    };
}

/// Of the words of `len` rows.
pub(super) fn invert(words: &mut [u64], len: usize) {
    let words = &mut words[..len.div_ceil(64)];
    words.iter_mut().for_each(|word| *word = !*word);
    if let (true, Some(last)) = (!len.is_multiple_of(64), words.last_mut()) {
        *last &= low_ones((len % 64) as u32);
    }
}

compare!(
    i32,
    in_range_i32,
    compare_i32,
    _mm256_set1_epi32,
    _mm256_sub_epi32,
    _mm256_xor_si256,
    _mm256_cmpeq_epi32,
    _mm256_cmpgt_epi32
);
compare!(
    i64,
    in_range_i64,
    compare_i64,
    _mm256_set1_epi64x,
    _mm256_sub_epi64,
    _mm256_xor_si256,
    _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi64
);
