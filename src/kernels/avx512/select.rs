//! Selected values moved together and apart by `vpcompress` and `vpexpand`.
//!
//! Both work in registers and load and store whole vectors: their memory forms are microcode on some processors. `out` has
//! room for a whole vector wherever one is stored, for no more values are selected than were seen. Four words are looked at
//! together, so that long runs of one answer cost one branch that is foreseen, and everything else costs none.

use std::arch::x86_64::*;

use crate::kernels::avx2::select::{compact_few_u32, compact_few_u64};
use crate::kernels::bits::low_ones;
use crate::kernels::select::{RUN, expand_by_word};

macro_rules! select {
    ($bits:ident, $lanes:literal, $few:literal, $mask:ty, $compact:ident, $compact_few:ident, $expand:ident, $expand_word:ident, $compress_lanes:ident, $expand_lanes:ident,
        $load:ident, $store:ident) => {
        /// The body of `Value::compact`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $compact(values: &[$bits], words: &[u64], out: &mut [$bits]) -> usize {
            let out = &mut out[..values.len()];
            let words = &words[..values.len().div_ceil(64)];
            let mut count = 0;
            let (chunks, rest) = values.as_chunks::<64>();
            let (chunk_words, rest_word) = words.split_at(chunks.len());
            for (chunks, words) in chunks.chunks(RUN).zip(chunk_words.chunks(RUN)) {
                let selected = words.iter().map(|word| word.count_ones()).sum::<u32>() as usize;
                if selected == 0 {
                    continue;
                }
                if selected == 64 * chunks.len() {
                    out[count..count + selected].copy_from_slice(chunks.as_flattened());
                } else if selected <= $few
                    && let Some(values) = chunks.as_flattened().as_array()
                {
                    $compact_few(values, words, selected, &mut out[count..]);
                } else {
                    let mut out = out[count..].as_mut_ptr();
                    for (chunk, &word) in chunks.iter().zip(words) {
                        // SAFETY: at most all values before this chunk were selected, and `out` holds as many as `values`.
                        unsafe { out = out.add(compact_chunk(chunk, word, out)) };
                    }
                }
                count += selected;
            }
            if let Some(&word) = rest_word.first() {
                let word = word & low_ones(rest.len() as u32);
                let mut at = 0;
                while at < rest.len() {
                    let inside = low_ones((rest.len() - at).min($lanes) as u32) as $mask;
                    let mask = (word >> at) as $mask;
                    // SAFETY: the masks keep both inside: of `rest`, and of `out` as much as there was of values.
                    unsafe {
                        let values = $load(inside, rest.as_ptr().add(at).cast());
                        let selected = low_ones(mask.count_ones()) as $mask;
                        $store(out.as_mut_ptr().add(count).cast(), selected, $compress_lanes(mask, values));
                    }
                    count += mask.count_ones() as usize;
                    at += $lanes;
                }
            }
            return count;

            /// # Safety
            /// 64 values may be written to `out`.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
            unsafe fn compact_chunk(values: &[$bits; 64], word: u64, out: *mut $bits) -> usize {
                for index in 0..64 / $lanes {
                    let before = (word & low_ones(index * $lanes)).count_ones() as usize;
                    let mask = (word >> (index * $lanes)) as $mask;
                    // SAFETY: a whole vector of `values`; of `out`, no more than was seen of `values`.
                    unsafe {
                        let values = _mm512_loadu_si512(values.as_ptr().add(index as usize * $lanes).cast());
                        _mm512_storeu_si512(out.add(before).cast(), $compress_lanes(mask, values));
                    }
                }
                word.count_ones() as usize
            }
        }

        /// The body of `Value::expand`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $expand(dense: &[$bits], words: &[u64], len: usize, out: &mut [$bits]) -> usize {
            expand_by_word!(dense, words, len, out, $expand_word)
        }

        /// # Safety
        /// 64 values may be read from `dense`.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn $expand_word(dense: *const $bits, word: u64, out: &mut [$bits; 64]) -> usize {
            for (index, out) in (0..).zip(out.as_chunks_mut::<$lanes>().0) {
                let before = (word & low_ones(index * $lanes)).count_ones() as usize;
                let mask = (word >> (index * $lanes)) as $mask;
                // SAFETY: a whole vector of the 64 values, as `before` is no more than the rows before; and of `out`.
                unsafe {
                    let values = _mm512_loadu_si512(dense.add(before).cast());
                    _mm512_storeu_si512(out.as_mut_ptr().cast(), $expand_lanes(mask, values));
                }
            }
            word.count_ones() as usize
        }
    };
}

select!(
    u32,
    16,
    16,
    __mmask16,
    compact_u32,
    compact_few_u32,
    expand_u32,
    expand_word_u32,
    _mm512_maskz_compress_epi32,
    _mm512_maskz_expand_epi32,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_storeu_epi32
);
select!(
    u64,
    8,
    32,
    __mmask8,
    compact_u64,
    compact_few_u64,
    expand_u64,
    expand_word_u64,
    _mm512_maskz_compress_epi64,
    _mm512_maskz_expand_epi64,
    _mm512_maskz_loadu_epi64,
    _mm512_mask_storeu_epi64
);
