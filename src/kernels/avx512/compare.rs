//! Comparisons of lanes to masks.

use std::arch::x86_64::*;

use crate::kernels::Comparison;
use crate::kernels::bits::low_ones;

/// Calls `holds` with a vector of `left` and of `right` at a time, and makes words of its masks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn to_words<T>(left: &[T], right: &[T], words: &mut [u64], holds: impl Fn(__m512i, __m512i) -> u64) {
    let lanes = const {
        assert!(matches!(size_of::<T>(), 4 | 8));
        64 / size_of::<T>()
    };
    let (left_chunks, left_rest) = left.as_chunks::<64>();
    let (right_chunks, right_rest) = right[..left.len()].as_chunks::<64>();
    let words = &mut words[..left.len().div_ceil(64)];
    for ((left, right), word) in left_chunks.iter().zip(right_chunks).zip(words.iter_mut()) {
        let word = std::ptr::from_mut(word);
        for at in (0..64).step_by(lanes) {
            // SAFETY: a whole vector of either chunk, and the bits `at..at + lanes` of the word.
            unsafe {
                let left = _mm512_loadu_si512(left.as_ptr().add(at).cast());
                let right = _mm512_loadu_si512(right.as_ptr().add(at).cast());
                let mask = holds(left, right);
                // Each on its own: to join eight masks in a register takes longer than to compare.
                if lanes == 16 {
                    word.cast::<u16>().add(at / 16).write(mask as u16);
                } else {
                    word.cast::<u8>().add(at / 8).write(mask as u8);
                }
            }
        }
    }
    if let (false, Some(word)) = (left_rest.is_empty(), words.last_mut()) {
        *word = 0;
        for at in (0..left_rest.len()).step_by(lanes) {
            let inside = (left_rest.len() - at).min(lanes) as u32;
            let bytes = low_ones(inside * size_of::<T>() as u32);
            // SAFETY: the mask keeps both loads inside.
            let (left, right) = unsafe {
                (
                    _mm512_maskz_loadu_epi8(bytes, left_rest.as_ptr().add(at).cast()),
                    _mm512_maskz_loadu_epi8(bytes, right_rest.as_ptr().add(at).cast()),
                )
            };
            *word |= (holds(left, right) & low_ones(inside)) << at;
        }
    }
}

macro_rules! compare {
    ($lane:ident, $in_range:ident, $compare:ident, $set1:ident, $sub:ident, $signed:ident, $unsigned:ident) => {
        /// The body of `Lane::in_range`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $in_range(values: &[$lane], low: $lane, high: $lane, words: &mut [u64]) {
            if low > high {
                words[..values.len().div_ceil(64)].fill(0);
                return;
            }
            // One unsigned comparison decides both bounds.
            let (low, span) = ($set1(low), $set1(high.wrapping_sub(low)));
            to_words(values, values, words, |value, _| u64::from($unsigned::<_MM_CMPINT_LE>($sub(value, low), span)));
        }

        /// The body of `Lane::compare`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $compare(
            left: &[$lane],
            right: &[$lane],
            op: Comparison,
            signed: bool,
            words: &mut [u64],
        ) {
            macro_rules! by {
                ($compare_lanes:ident, $op:ident) => {
                    to_words(left, right, words, |left, right| u64::from($compare_lanes::<$op>(left, right)))
                };
            }
            match (op, signed) {
                (Comparison::Eq, _) => by!($signed, _MM_CMPINT_EQ),
                (Comparison::NotEq, _) => by!($signed, _MM_CMPINT_NE),
                (Comparison::Lt, true) => by!($signed, _MM_CMPINT_LT),
                (Comparison::LtEq, true) => by!($signed, _MM_CMPINT_LE),
                (Comparison::Gt, true) => by!($signed, _MM_CMPINT_NLE),
                (Comparison::GtEq, true) => by!($signed, _MM_CMPINT_NLT),
                (Comparison::Lt, false) => by!($unsigned, _MM_CMPINT_LT),
                (Comparison::LtEq, false) => by!($unsigned, _MM_CMPINT_LE),
                (Comparison::Gt, false) => by!($unsigned, _MM_CMPINT_NLE),
                (Comparison::GtEq, false) => by!($unsigned, _MM_CMPINT_NLT),
            }
        }
    };
}

compare!(
    i32,
    in_range_i32,
    compare_i32,
    _mm512_set1_epi32,
    _mm512_sub_epi32,
    _mm512_cmp_epi32_mask,
    _mm512_cmp_epu32_mask
);
compare!(
    i64,
    in_range_i64,
    compare_i64,
    _mm512_set1_epi64,
    _mm512_sub_epi64,
    _mm512_cmp_epi64_mask,
    _mm512_cmp_epu64_mask
);
