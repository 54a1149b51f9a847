//! Lookups in small dictionaries of 4-byte values, which are held in registers and permuted.

use std::arch::x86_64::*;

use crate::kernels::select;

/// The body of `Value::gather`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(in crate::kernels) fn gather_u32(dictionary: &[u32], indices: &[u32], out: &mut [u32]) -> bool {
    let entries = dictionary.len();
    if entries > 16 {
        return select::gather(dictionary, indices, out);
    }
    let mut padded = [0; 16];
    padded[..entries].copy_from_slice(dictionary);
    // SAFETY: both halves of `padded`.
    let (low, high) =
        unsafe { (_mm256_loadu_si256(padded.as_ptr().cast()), _mm256_loadu_si256(padded.as_ptr().add(8).cast())) };
    let out = &mut out[..indices.len()];
    let (vectors, rest) = indices.as_chunks::<8>();
    let (out_vectors, out_rest) = out.as_chunks_mut::<8>();
    let mut max = _mm256_setzero_si256();
    for (indices, out) in vectors.iter().zip(out_vectors) {
        // SAFETY: whole vectors.
        unsafe {
            let indices = _mm256_loadu_si256(indices.as_ptr().cast());
            max = _mm256_max_epu32(max, indices);
            let mut values = _mm256_permutevar8x32_epi32(low, indices);
            if entries > 8 {
                let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, indices));
                let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(indices));
                values = _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(values), high, upper));
            }
            _mm256_storeu_si256(out.as_mut_ptr().cast(), values);
        }
    }
    let mut largest = [0u32; 8];
    // SAFETY: a whole vector.
    unsafe { _mm256_storeu_si256(largest.as_mut_ptr().cast(), max) };
    let hold = vectors.is_empty() || largest.iter().all(|&index| (index as usize) < entries);
    hold && select::gather(dictionary, rest, out_rest)
}
