//! Bit-packed values to 32-bit lanes, 16 at a time.

use std::arch::x86_64::*;

use super::tables::NARROW;
use crate::kernels::bits::low_ones;

/// The body of `Kernels::unpack`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(in crate::kernels) fn unpack<const W: usize>(packed: &[u8], out: &mut [u32]) {
    if W == 0 {
        out.fill(0);
        return;
    }
    let packed = &packed[..out.len() / 8 * W];
    // Nothing that the compiler knows: it would replace permutations by worse shuffles.
    let table = std::hint::black_box(&NARROW[W]);
    // SAFETY: 64 bytes each, aligned to as many.
    let [bytes, high, shifts, mask] = [&table.natural, &table.natural_high, &table.natural_shifts, &table.mask]
        .map(|bytes| unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) });
    let values = |loaded: __m512i| {
        let lanes = _mm512_permutexvar_epi8(bytes, loaded);
        let lanes = if W.is_multiple_of(8) {
            lanes
        } else if W <= 25 {
            _mm512_srlv_epi32(lanes, shifts)
        } else {
            // A value may begin at any bit but the first of its byte, and end in the fifth byte.
            _mm512_shrdv_epi32(lanes, _mm512_permutexvar_epi8(high, loaded), shifts)
        };
        _mm512_and_si512(lanes, mask)
    };
    // As long as 64 bytes may be loaded; then by masks.
    let mut vectors = out.as_chunks_mut::<16>().0.iter_mut();
    let whole = if packed.len() < 64 { 0 } else { (packed.len() - 64) / (2 * W) + 1 };
    let mut at = 0;
    for out in vectors.by_ref().take(whole) {
        // SAFETY: 64 bytes from `at` on; and a whole vector.
        unsafe {
            let loaded = _mm512_loadu_si512(packed.as_ptr().add(at).cast());
            _mm512_storeu_si512(out.as_mut_ptr().cast(), values(loaded));
        }
        at += 2 * W;
    }
    for out in vectors {
        // SAFETY: the mask keeps the load to the 16 values; and a whole vector.
        unsafe {
            let loaded = _mm512_maskz_loadu_epi8(low_ones(2 * W as u32), packed.as_ptr().add(at).cast());
            _mm512_storeu_si512(out.as_mut_ptr().cast(), values(loaded));
        }
        at += 2 * W;
    }
    if let [.., last] = out.as_chunks_mut::<8>().0
        && at < packed.len()
    {
        // SAFETY: the mask keeps the load to the last 8 values; and half a vector.
        unsafe {
            let loaded = _mm512_maskz_loadu_epi8(low_ones(W as u32), packed.as_ptr().add(at).cast());
            _mm256_storeu_si256(last.as_mut_ptr().cast(), _mm512_castsi512_si256(values(loaded)));
        }
    }
}
