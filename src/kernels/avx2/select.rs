//! Selected values moved together and apart by `vpermd`, whose permutations stand in tables.
//!
//! `out` has room for a whole vector wherever one is stored, for no more values are selected than were seen.

use std::arch::x86_64::*;

use crate::kernels::bits::low_ones;
use crate::kernels::select;
use crate::kernels::select::{RUN, expand_by_word};

/// Selected values of a run up to which they are moved one by one.
const FEW: usize = 32;

/// For each mask of eight lanes a byte for each lane: the selected lanes in order, and 0 after them.
static TOGETHER: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// For each mask of eight lanes a byte for each lane: its rank among the selected ones, or 0x80 where it is none.
static APART: [[u8; 8]; 256] = {
    let mut table = [[0x80; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][lane] = count;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// A vector of indices.
#[repr(C, align(32))]
struct Lanes([u32; 8]);

/// As [`TOGETHER`] for four lanes of two halves.
static TOGETHER_PAIRS: [Lanes; 16] = {
    let mut table = [const { Lanes([0; 8]) }; 16];
    let mut mask = 0;
    while mask < 16 {
        let mut lane = 0;
        while lane < 4 {
            let from = TOGETHER[mask][lane] as u32;
            table[mask].0[2 * lane] = 2 * from;
            table[mask].0[2 * lane + 1] = 2 * from + 1;
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// As [`APART`] for four lanes of two halves; the sign bit stays where there is none.
static APART_PAIRS: [Lanes; 16] = {
    let mut table = [const { Lanes([0; 8]) }; 16];
    let mut mask = 0;
    while mask < 16 {
        let mut lane = 0;
        while lane < 4 {
            let from = APART[mask][lane] as u32;
            let selected = from < 0x80;
            table[mask].0[2 * lane] = if selected { 2 * from } else { 1 << 31 };
            table[mask].0[2 * lane + 1] = if selected { 2 * from + 1 } else { 1 << 31 };
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// # Safety
/// A vector may be read from `values`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn together_u32(values: *const u32, mask: u64) -> __m256i {
    // SAFETY: the caller's; and a row of the table.
    unsafe {
        let lanes = _mm_loadl_epi64(TOGETHER.as_ptr().add(mask as usize & 0xff).cast());
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(values.cast()), _mm256_cvtepu8_epi32(lanes))
    }
}

/// # Safety
/// A vector may be read from `values`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn together_u64(values: *const u64, mask: u64) -> __m256i {
    // SAFETY: the caller's; and a row of the table.
    unsafe {
        let lanes = _mm256_load_si256(TOGETHER_PAIRS.as_ptr().add(mask as usize & 0xf).cast());
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(values.cast()), lanes)
    }
}

/// # Safety
/// A vector may be read from `dense`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn apart_u32(dense: *const u32, mask: u64) -> __m256i {
    // SAFETY: the caller's; and a row of the table.
    unsafe {
        let lanes = _mm256_cvtepi8_epi32(_mm_loadl_epi64(APART.as_ptr().add(mask as usize & 0xff).cast()));
        let values = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(dense.cast()), lanes);
        _mm256_andnot_si256(_mm256_srai_epi32::<31>(lanes), values)
    }
}

/// # Safety
/// A vector may be read from `dense`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn apart_u64(dense: *const u64, mask: u64) -> __m256i {
    // SAFETY: the caller's; and a row of the table.
    unsafe {
        let lanes = _mm256_load_si256(APART_PAIRS.as_ptr().add(mask as usize & 0xf).cast());
        let values = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(dense.cast()), lanes);
        _mm256_andnot_si256(_mm256_srai_epi32::<31>(lanes), values)
    }
}

/// The selected values of a run of words in which they are few.
#[inline(always)]
fn compact_few<U: Copy>(values: &[U; 64 * RUN], words: &[u64], selected: usize, out: &mut [U]) {
    // So many at a time that there is mostly one turn for a word, which is foreseen.
    if selected <= 16 { compact_by::<U, 4>(values, words, out) } else { compact_by::<U, 8>(values, words, out) }
}

#[inline(always)]
fn compact_by<U: Copy, const N: usize>(values: &[U; 64 * RUN], words: &[u64], mut out: &mut [U]) {
    for (values, &word) in values.as_chunks::<64>().0.iter().zip(words) {
        let Some(slots) = out.first_chunk_mut::<64>() else { return };
        let mut rest = word;
        for slots in slots.as_chunks_mut::<N>().0 {
            for slot in slots {
                *slot = values[(rest.trailing_zeros() % 64) as usize];
                rest &= rest.wrapping_sub(1);
            }
            if rest == 0 {
                break;
            }
        }
        out = &mut out[word.count_ones() as usize..];
    }
}

macro_rules! select {
    ($bits:ident, $lanes:literal, $compact:ident, $few:ident, $together:ident, $expand:ident, $expand_word:ident, $apart:ident) => {
        /// The body of `Value::compact`.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $compact(values: &[$bits], words: &[u64], out: &mut [$bits]) -> usize {
            let out = &mut out[..values.len()];
            let words = &words[..values.len().div_ceil(64)];
            let mut count = 0;
            for (values, words) in values.chunks(64 * RUN).zip(words.chunks(RUN)) {
                let selected = words.iter().map(|word| word.count_ones()).sum::<u32>() as usize;
                if selected == 0 {
                    continue;
                }
                let Some(values) = values.as_array::<{ 64 * RUN }>() else {
                    count += select::compact(values, words, &mut out[count..]);
                    continue;
                };
                if selected == 64 * RUN {
                    out[count..count + 64 * RUN].copy_from_slice(values);
                } else if selected <= FEW {
                    $few(values, words, selected, &mut out[count..]);
                } else {
                    let mut out = out[count..].as_mut_ptr();
                    for (chunk, &word) in values.as_chunks::<64>().0.iter().zip(words) {
                        for index in 0..64 / $lanes {
                            let mask = word >> (index * $lanes) & low_ones($lanes);
                            // SAFETY: a whole vector of the chunk; and of `out`, as at most all values before were selected.
                            unsafe {
                                let values = $together(chunk.as_ptr().add(index * $lanes), mask);
                                _mm256_storeu_si256(out.cast(), values);
                                out = out.add(mask.count_ones() as usize);
                            }
                        }
                    }
                }
                count += selected;
            }
            count
        }

        /// The selected values of a run of words in which they are few; apart, for with AVX-512 the compiler would gather.
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $few(values: &[$bits; 64 * RUN], words: &[u64], selected: usize, out: &mut [$bits]) {
            compact_few(values, words, selected, out);
        }

        /// The body of `Value::expand`.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $expand(dense: &[$bits], words: &[u64], len: usize, out: &mut [$bits]) -> usize {
            expand_by_word!(dense, words, len, out, $expand_word)
        }

        /// # Safety
        /// 64 values may be read from `dense`.
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn $expand_word(dense: *const $bits, word: u64, out: &mut [$bits; 64]) -> usize {
            let mut used = 0;
            for (index, out) in out.as_chunks_mut::<$lanes>().0.iter_mut().enumerate() {
                let mask = word >> (index * $lanes) & low_ones($lanes);
                // SAFETY: a whole vector of the 64 values, as `used` is no more than the rows before; and of `out`.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), $apart(dense.add(used), mask)) };
                used += mask.count_ones() as usize;
            }
            used
        }
    };
}

select!(u32, 8, compact_u32, compact_few_u32, together_u32, expand_u32, expand_word_u32, apart_u32);
select!(u64, 4, compact_u64, compact_few_u64, together_u64, expand_u64, expand_word_u64, apart_u64);
