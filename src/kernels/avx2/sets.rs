//! Membership in sets of integers: by permutations of small bitmaps, by gathers, and by comparison with all members.

use std::arch::x86_64::*;

use super::compare::{invert, to_words};
use crate::kernels::bits::low_ones;
use crate::kernels::sets;
use crate::kernels::tools::Wide;

macro_rules! sets {
    ($lane:ident, $word:ident, $few:literal, $in_bitmap:ident, $in_sorted:ident, $search:ident,
        $set1:ident, $sub:ident, $srli:ident, $sign:ident, $eq:ident, $gt:ident,
        $mask_gather:ident) => {
        /// The body of `Lane::in_bitmap`.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $in_bitmap(
            values: &[$lane],
            base: $lane,
            bitmap: &[u64],
            outside: bool,
            words: &mut [u64],
        ) {
            // Signed comparisons of differences that are moved by as much.
            let base = $set1(base);
            let sign = $set1($lane::MIN);
            let bits = (bitmap.len() as u64).saturating_mul(64);
            if bits == 0 {
                words[..values.len().div_ceil(64)].fill(0);
            } else {
                let last = $set1(($word::try_from(bits - 1).unwrap_or($word::MAX).cast_signed()) ^ $lane::MIN);
                let past_end = |bits| $gt(_mm256_xor_si256(bits, sign), last);
                // A set bit is moved to the sign. Outside, the answer is no: what is asked then is which bits inside are unset.
                let flip = if outside { _mm256_set1_epi32(-1) } else { _mm256_setzero_si256() };
                let verdicts =
                    |past_end, words, bits| _mm256_andnot_si256(past_end, _mm256_xor_si256($sign(words, bits), flip));
                if bitmap.len() <= 4 {
                    let mut padded = [0; 4];
                    padded[..bitmap.len()].copy_from_slice(bitmap);
                    // SAFETY: all of `padded`.
                    let bitmap = unsafe { _mm256_loadu_si256(padded.as_ptr().cast()) };
                    to_words(values, values, words, |value, _| {
                        let bits = $sub(value, base);
                        let words = _mm256_permutevar8x32_epi32(bitmap, $srli::<5>(bits));
                        verdicts(past_end(bits), words, bits)
                    });
                } else {
                    let bitmap = bitmap.as_ptr();
                    to_words(values, values, words, |value, _| {
                        let bits = $sub(value, base);
                        let past_end = past_end(bits);
                        let inside = _mm256_xor_si256(past_end, _mm256_set1_epi32(-1));
                        // SAFETY: the bits of the lanes inside are before the end of `bitmap`.
                        let words = unsafe { $mask_gather(bitmap, $srli::<5>(bits), inside) };
                        verdicts(past_end, words, bits)
                    });
                }
            }
            if outside {
                invert(words, values.len());
            }
        }

        /// The body of `Lane::in_sorted`.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $in_sorted(values: &[$lane], set: &[$lane], words: &mut [u64]) {
            if set.len() <= $few {
                to_words(values, values, words, |value, _| {
                    set.iter()
                        .fold(_mm256_setzero_si256(), |any, &member| _mm256_or_si256(any, $eq(value, $set1(member))))
                });
            } else {
                $search(values, set, words);
            }
        }
    };
}

/// Binary searches.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn search_i64(values: &[i64], set: &[i64], words: &mut [u64]) {
    sets::in_sorted::<_, Wide<64>>(values, set, words);
}

/// Binary searches.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn search_i32(values: &[i32], set: &[i32], words: &mut [u64]) {
    // Lanes that index further than this would be negative.
    assert!(set.len() <= i32::MAX as usize, "a set of less than 2^31 members");
    let words = &mut words[..values.len().div_ceil(64)];
    let (chunks, rest) = values.as_chunks::<64>();
    for (chunk, word) in chunks.iter().zip(words.iter_mut()) {
        *word = search_word(chunk, set);
    }
    if let (false, Some(word)) = (rest.is_empty(), words.last_mut()) {
        let mut chunk = [0; 64];
        chunk[..rest.len()].copy_from_slice(rest);
        *word = search_word(&chunk, set) & low_ones(rest.len() as u32);
    }
}

/// Searches for all values at once, a step of each in turn: how far they go depends on the set alone.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn search_word(values: &[i32; 64], set: &[i32]) -> u64 {
    if set.is_empty() {
        return 0;
    }
    let members = set.as_ptr();
    let mut positions = [_mm256_setzero_si256(); 8];
    let mut left = set.len();
    while left > 1 {
        let half = left / 2;
        let step = _mm256_set1_epi32(half as i32);
        for (position, values) in positions.iter_mut().zip(values.as_chunks::<8>().0) {
            // SAFETY: a whole vector; and `left` members from each position on are left, which is more than `half`.
            let (values, member) = unsafe {
                let values = _mm256_loadu_si256(values.as_ptr().cast());
                (values, _mm256_i32gather_epi32::<4>(members, _mm256_add_epi32(*position, step)))
            };
            *position = _mm256_add_epi32(*position, _mm256_andnot_si256(_mm256_cmpgt_epi32(member, values), step));
        }
        left -= half;
    }
    let mut word = 0;
    for (index, (position, values)) in positions.iter().zip(values.as_chunks::<8>().0).enumerate() {
        // SAFETY: a whole vector; and one member from each position on is left.
        let verdicts = unsafe {
            let values = _mm256_loadu_si256(values.as_ptr().cast());
            _mm256_cmpeq_epi32(_mm256_i32gather_epi32::<4>(members, *position), values)
        };
        let mask = _mm256_movemask_ps(_mm256_castsi256_ps(verdicts));
        word |= u64::from(mask.cast_unsigned()) << (8 * index);
    }
    word
}

/// The bit of each lane at a position in its word, as the sign.
#[inline]
#[target_feature(enable = "avx2")]
fn sign_i32(words: __m256i, bits: __m256i) -> __m256i {
    let to_sign = _mm256_andnot_si256(bits, _mm256_set1_epi32(31));
    _mm256_sllv_epi32(words, to_sign)
}

/// As [`sign_i32`], with the words in the lower halves.
#[inline]
#[target_feature(enable = "avx2")]
fn sign_i64(words: __m256i, bits: __m256i) -> __m256i {
    _mm256_slli_epi64::<32>(sign_i32(words, bits))
}

/// Words of 32 bits in the lanes of the mask.
///
/// # Safety
/// They lie in `words` at the indices of these lanes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn mask_gather_i32(words: *const u64, indices: __m256i, mask: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_mask_i32gather_epi32::<4>(_mm256_setzero_si256(), words.cast(), indices, mask) }
}

/// As [`mask_gather_i32`], with 32 bits more after each.
///
/// # Safety
/// As [`mask_gather_i32`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn mask_gather_i64(words: *const u64, indices: __m256i, mask: __m256i) -> __m256i {
    // The word of 64 bits, for that is inside; then the half that the index names.
    let upper = _mm256_slli_epi64::<5>(_mm256_and_si256(indices, _mm256_set1_epi64x(1)));
    // SAFETY: the caller's.
    let words = unsafe {
        let indices = _mm256_srli_epi64::<1>(indices);
        _mm256_mask_i64gather_epi64::<8>(_mm256_setzero_si256(), words.cast(), indices, mask)
    };
    _mm256_srlv_epi64(words, upper)
}

sets!(
    i32,
    u32,
    24,
    in_bitmap_i32,
    in_sorted_i32,
    search_i32,
    _mm256_set1_epi32,
    _mm256_sub_epi32,
    _mm256_srli_epi32,
    sign_i32,
    _mm256_cmpeq_epi32,
    _mm256_cmpgt_epi32,
    mask_gather_i32
);
sets!(
    i64,
    u64,
    16,
    in_bitmap_i64,
    in_sorted_i64,
    search_i64,
    _mm256_set1_epi64x,
    _mm256_sub_epi64,
    _mm256_srli_epi64,
    sign_i64,
    _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi64,
    mask_gather_i64
);
