//! Values put together from streams of their bytes, 16 at a time.

use std::arch::x86_64::*;

use super::tables::{Bytes, lanes};
use crate::kernels::bits::low_ones;

/// 16 bytes of each of four streams, one after the other.
///
/// # Safety
/// The bytes of the mask lie in all of them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn load(streams: [*const u8; 4], mask: __mmask16) -> __m512i {
    // SAFETY: the caller's.
    let [a, b, c, d] = streams.map(|stream| unsafe { _mm_maskz_loadu_epi8(mask, stream.cast()) });
    let vector = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(vector, c), d)
}

/// A permutation, which the compiler must not know: it would replace it by worse shuffles.
#[inline]
#[target_feature(enable = "avx512f")]
fn permutation(order: &Bytes) -> __m512i {
    // SAFETY: 64 bytes that are aligned to 64.
    unsafe { _mm512_load_si512(std::hint::black_box(order).0.as_ptr().cast()) }
}

/// The body of `Value::interleave`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(in crate::kernels) fn interleave_u32(streams: &[u8], stride: usize, out: &mut [u32]) {
    // Byte k of value i is byte i of the k-th 16.
    let order = permutation(&const { lanes!(u8, |i| i % 4 * 16 + i / 4) });
    let streams = [0, 1, 2, 3].map(|byte| streams[byte * stride..][..out.len()].as_ptr());
    let mut at = 0;
    let (vectors, rest) = out.as_chunks_mut::<16>();
    for out in vectors {
        // SAFETY: 16 bytes of each stream, which is as long as `out` was; and a whole vector.
        unsafe {
            let bytes = load(streams.map(|stream| stream.add(at)), u16::MAX);
            _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_permutexvar_epi8(order, bytes));
        }
        at += 16;
    }
    let mask = low_ones(rest.len() as u32) as __mmask16;
    // SAFETY: the mask keeps all inside.
    unsafe {
        let bytes = load(streams.map(|stream| stream.add(at)), mask);
        _mm512_mask_storeu_epi32(rest.as_mut_ptr().cast(), mask, _mm512_permutexvar_epi8(order, bytes));
    }
}

/// The body of `Value::interleave`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(in crate::kernels) fn interleave_u64(streams: &[u8], stride: usize, out: &mut [u64]) {
    // Of bytes in pairs, byte k of value i is in the 16 of pair k / 2.
    let order = permutation(&const { lanes!(u8, |i| i % 8 / 2 * 16 + i / 8 * 2 + i % 2) });
    let streams: [_; 8] = std::array::from_fn(|byte| streams[byte * stride..][..out.len()].as_ptr());
    let [a, b, c, d, e, f, g, h] = streams;
    // The first eight values and the others.
    let values = |at: usize, mask: __mmask16| {
        // SAFETY: the mask keeps the loads inside.
        let (even, odd) = unsafe {
            (
                load([a, c, e, g].map(|stream| stream.add(at)), mask),
                load([b, d, f, h].map(|stream| stream.add(at)), mask),
            )
        };
        (
            _mm512_permutexvar_epi8(order, _mm512_unpacklo_epi8(even, odd)),
            _mm512_permutexvar_epi8(order, _mm512_unpackhi_epi8(even, odd)),
        )
    };
    let mut at = 0;
    let (vectors, rest) = out.as_chunks_mut::<16>();
    for out in vectors {
        let (first, second) = values(at, u16::MAX);
        // SAFETY: two whole vectors.
        unsafe {
            _mm512_storeu_si512(out.as_mut_ptr().cast(), first);
            _mm512_storeu_si512(out.as_mut_ptr().add(8).cast(), second);
        }
        at += 16;
    }
    let mask = low_ones(rest.len() as u32) as __mmask16;
    let (first, second) = values(at, mask);
    // SAFETY: the masks keep the stores inside.
    unsafe {
        _mm512_mask_storeu_epi64(rest.as_mut_ptr().cast(), mask as __mmask8, first);
        _mm512_mask_storeu_epi64(rest.as_mut_ptr().wrapping_add(8).cast(), (mask >> 8) as __mmask8, second);
    }
}
