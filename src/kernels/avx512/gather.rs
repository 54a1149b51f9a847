//! Lookups in small dictionaries, which are held in registers and permuted.
//!
//! From larger ones `vpgatherdd` and `vpgatherdq` are no faster than single loads.

use std::arch::x86_64::*;

use crate::kernels::bits::low_ones;
use crate::kernels::select;

macro_rules! gather {
    ($bits:ident, $lanes:literal, $mask:ty, $gather:ident, $indices:ident, $widen:ident, $load:ident, $store:ident,
        $permute:ident, $permute2:ident, $test:ident, $blend:ident, $set1:ident) => {
        /// The body of `Value::gather`.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
        pub(in crate::kernels) fn $gather(dictionary: &[$bits], indices: &[u32], out: &mut [$bits]) -> bool {
            let entries = dictionary.len();
            if entries <= 4 * $lanes {
                let mut padded = [0; 4 * $lanes];
                padded[..entries].copy_from_slice(dictionary);
                let [first, second, third, fourth] = [0, 1, 2, 3].map(|vector| {
                    // SAFETY: a whole vector of `padded`.
                    unsafe { _mm512_loadu_si512(padded.as_ptr().add(vector * $lanes).cast()) }
                });
                return if entries <= $lanes {
                    permute(indices, out, entries, |indices| $permute(indices, first))
                } else if entries <= 2 * $lanes {
                    permute(indices, out, entries, |indices| $permute2(first, indices, second))
                } else {
                    let half = $set1(2 * $lanes);
                    permute(indices, out, entries, |indices| {
                        let upper = $test(indices, half);
                        $blend(upper, $permute2(first, indices, second), $permute2(third, indices, fourth))
                    })
                };
            }
            return select::gather(dictionary, indices, out);

            /// Looks up by `values`, which gets indices in lanes; whether all were below `entries`.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
            fn permute(
                indices: &[u32],
                out: &mut [$bits],
                entries: usize,
                values: impl Fn(__m512i) -> __m512i,
            ) -> bool {
                let out = &mut out[..indices.len()];
                let mut max = _mm512_setzero_si512();
                let (vectors, rest) = indices.as_chunks::<$lanes>();
                let (out_vectors, out_rest) = out.as_chunks_mut::<$lanes>();
                for (indices, out) in vectors.iter().zip(out_vectors) {
                    // SAFETY: whole vectors.
                    unsafe {
                        let indices = $widen($indices(indices.as_ptr().cast()));
                        max = _mm512_max_epu32(max, indices);
                        _mm512_storeu_si512(out.as_mut_ptr().cast(), values(indices));
                    }
                }
                // SAFETY: the mask keeps both inside.
                unsafe {
                    let mask = low_ones(rest.len() as u32) as $mask;
                    let indices = $widen($load(mask, rest.as_ptr().cast()));
                    max = _mm512_max_epu32(max, indices);
                    $store(out_rest.as_mut_ptr().cast(), mask, values(indices));
                }
                indices.is_empty() || (_mm512_reduce_max_epu32(max) as usize) < entries
            }
        }
    };
}

/// Indices as wide as the lanes.
#[inline(always)]
fn same(indices: __m512i) -> __m512i {
    indices
}

/// # Safety
/// 64 bytes may be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_16(indices: *const __m512i) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_loadu_si512(indices) }
}

/// # Safety
/// 32 bytes may be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_8(indices: *const __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_loadu_si256(indices) }
}

gather!(
    u32,
    16,
    __mmask16,
    gather_u32,
    load_16,
    same,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_permutexvar_epi32,
    _mm512_permutex2var_epi32,
    _mm512_test_epi32_mask,
    _mm512_mask_blend_epi32,
    _mm512_set1_epi32
);
gather!(
    u64,
    8,
    __mmask8,
    gather_u64,
    load_8,
    _mm512_cvtepu32_epi64,
    _mm256_maskz_loadu_epi32,
    _mm512_mask_storeu_epi64,
    _mm512_permutexvar_epi64,
    _mm512_permutex2var_epi64,
    _mm512_test_epi64_mask,
    _mm512_mask_blend_epi64,
    _mm512_set1_epi64
);
