//! Membership in sets of integers: small ones are held in registers and looked up by permutations, others are gathered.

use std::arch::x86_64::*;

use super::compare::to_words;
use crate::kernels::sets;
use crate::kernels::tools::Wide;

/// A set in vectors: the last member fills what is left of them, which no search goes past.
macro_rules! members {
    ($set:expr, $lanes:expr, $vectors:literal, $lane:ident) => {{
        let set: &[$lane] = $set;
        let mut padded = [set[set.len() - 1]; $lanes * $vectors];
        padded[..set.len()].copy_from_slice(set);
        let mut vectors = [_mm512_setzero_si512(); $vectors];
        for (vector, members) in vectors.iter_mut().zip(padded.as_chunks::<{ $lanes }>().0) {
            // SAFETY: a whole vector of `padded`.
            *vector = unsafe { _mm512_loadu_si512(members.as_ptr().cast()) };
        }
        vectors
    }};
}

macro_rules! sets {
    ($lane:ident, $word:ident, $lanes:literal, $log:literal, $few:literal, $in_bitmap:ident, $in_sorted:ident,
        $set1:ident, $sub:ident, $srli:ident, $ror:ident, $cmp:ident, $cmp_unsigned:ident, $test:ident,
        $permute:ident, $blend:ident, $mask_gather:ident) => {
        /// The body of `Lane::in_bitmap`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $in_bitmap(
            values: &[$lane],
            base: $lane,
            bitmap: &[u64],
            outside: bool,
            words: &mut [u64],
        ) {
            let base = $set1(base);
            let last_bit = (bitmap.len() as u64).saturating_mul(64).saturating_sub(1);
            // The largest that is inside.
            let last = $set1($word::try_from(last_bit).unwrap_or($word::MAX).cast_signed());
            let one = $set1(1);
            // All bits where those outside are set.
            let outside = if outside { u64::MAX } else { 0 };
            if bitmap.is_empty() {
                to_words(values, values, words, |_, _| outside);
            } else if bitmap.len() <= 16 {
                let mut padded = [0u64; 16];
                padded[..bitmap.len()].copy_from_slice(bitmap);
                // SAFETY: both halves of `padded`.
                let (low, high) = unsafe {
                    (_mm512_loadu_si512(padded.as_ptr().cast()), _mm512_loadu_si512(padded.as_ptr().add(8).cast()))
                };
                to_words(values, values, words, |value, _| {
                    let bits = $sub(value, base);
                    let inside = $cmp_unsigned::<_MM_CMPINT_LE>(bits, last);
                    let words = $permute(low, $srli::<$log>(bits), high);
                    let set = $test(inside, $ror(words, bits), one);
                    u64::from(set) | !u64::from(inside) & outside
                });
            } else {
                let bitmap = bitmap.as_ptr();
                to_words(values, values, words, |value, _| {
                    let bits = $sub(value, base);
                    let inside = $cmp_unsigned::<_MM_CMPINT_LE>(bits, last);
                    let indices = $srli::<$log>(bits);
                    // SAFETY: the bits of the lanes inside are before the end of `bitmap`.
                    let words = unsafe { $mask_gather(_mm512_setzero_si512(), inside, indices, bitmap.cast()) };
                    let set = $test(inside, $ror(words, bits), one);
                    u64::from(set) | !u64::from(inside) & outside
                });
            }
        }

        /// The body of `Lane::in_sorted`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $in_sorted(values: &[$lane], set: &[$lane], words: &mut [u64]) {
            if set.len() <= $few {
                to_words(values, values, words, |value, _| {
                    set.iter().fold(0, |mask, &member| mask | $cmp::<_MM_CMPINT_EQ>(value, $set1(member))).into()
                });
            } else if set.len() <= 2 * $lanes {
                // The steps of a binary search: the position of the last member up to the value.
                let [low, high] = members!(set, $lanes, 2, $lane);
                let middle = $permute(low, $set1($lanes), high);
                to_words(values, values, words, |value, _| {
                    let upper = $cmp::<_MM_CMPINT_LE>(middle, value);
                    let mut position = $blend(upper, _mm512_setzero_si512(), $set1($lanes));
                    let mut step = $lanes / 2;
                    while step > 0 {
                        let probe = _mm512_or_si512(position, $set1(step));
                        let upper = $cmp::<_MM_CMPINT_LE>($permute(low, probe, high), value);
                        position = $blend(upper, position, probe);
                        step /= 2;
                    }
                    $cmp::<_MM_CMPINT_EQ>($permute(low, position, high), value).into()
                });
            } else if set.len() <= 4 * $lanes {
                let [low, second, third, high] = members!(set, $lanes, 4, $lane);
                let middle = $permute(third, $set1(0), third);
                to_words(values, values, words, |value, _| {
                    let half = $cmp::<_MM_CMPINT_LE>(middle, value);
                    let member =
                        |position| $blend(half, $permute(low, position, second), $permute(third, position, high));
                    let mut position = _mm512_setzero_si512();
                    let mut step = $lanes;
                    while step > 0 {
                        let probe = _mm512_or_si512(position, $set1(step));
                        let upper = $cmp::<_MM_CMPINT_LE>(member(probe), value);
                        position = $blend(upper, position, probe);
                        step /= 2;
                    }
                    $cmp::<_MM_CMPINT_EQ>(member(position), value).into()
                });
            } else {
                // Here the compiler gathers, for four vectors and more in turn.
                sets::in_sorted::<_, Wide<32>>(values, set, words);
            }
        }
    };
}

/// # Safety
/// `words` may be read at the indices of lanes in the mask.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn mask_gather_i32(none: __m512i, mask: __mmask16, indices: __m512i, words: *const i32) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_mask_i32gather_epi32::<4>(none, mask, indices, words) }
}

/// # Safety
/// `words` may be read at the indices of lanes in the mask.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn mask_gather_i64(none: __m512i, mask: __mmask8, indices: __m512i, words: *const i64) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_mask_i64gather_epi64::<8>(none, mask, indices, words) }
}

sets!(
    i32,
    u32,
    16,
    5,
    10,
    in_bitmap_i32,
    in_sorted_i32,
    _mm512_set1_epi32,
    _mm512_sub_epi32,
    _mm512_srli_epi32,
    _mm512_rorv_epi32,
    _mm512_cmp_epi32_mask,
    _mm512_cmp_epu32_mask,
    _mm512_mask_test_epi32_mask,
    _mm512_permutex2var_epi32,
    _mm512_mask_blend_epi32,
    mask_gather_i32
);
sets!(
    i64,
    u64,
    8,
    6,
    8,
    in_bitmap_i64,
    in_sorted_i64,
    _mm512_set1_epi64,
    _mm512_sub_epi64,
    _mm512_srli_epi64,
    _mm512_rorv_epi64,
    _mm512_cmp_epi64_mask,
    _mm512_cmp_epu64_mask,
    _mm512_mask_test_epi64_mask,
    _mm512_permutex2var_epi64,
    _mm512_mask_blend_epi64,
    mask_gather_i64
);
