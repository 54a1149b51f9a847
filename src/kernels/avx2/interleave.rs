//! Values put together from streams of their bytes, 32 at a time: bytes to pairs, pairs to fours, and so on.

use std::arch::x86_64::*;

use crate::kernels::interleave::Interleave;

/// 32 bytes from `at` on of each stream.
///
/// # Safety
/// They lie in all of them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<const N: usize>(streams: &[*const u8; N], at: usize) -> [__m256i; N] {
    // SAFETY: the caller's.
    streams.map(|stream| unsafe { _mm256_loadu_si256(stream.add(at).cast()) })
}

/// The bytes of four streams in fours: in each half of a vector those of four values, the upper half 16 values later.
#[inline]
#[target_feature(enable = "avx2")]
fn fours([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (low, high) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
    let (next_low, next_high) = (_mm256_unpacklo_epi8(c, d), _mm256_unpackhi_epi8(c, d));
    [
        _mm256_unpacklo_epi16(low, next_low),
        _mm256_unpackhi_epi16(low, next_low),
        _mm256_unpacklo_epi16(high, next_high),
        _mm256_unpackhi_epi16(high, next_high),
    ]
}

/// Stores the lower halves of the vectors, and then the upper ones.
#[inline]
#[target_feature(enable = "avx2")]
fn store_halves<T, const N: usize>(vectors: [__m256i; N], out: &mut [T; 32]) {
    const { assert!(N * 32 == 32 * size_of::<T>()) };
    let out: *mut __m128i = out.as_mut_ptr().cast();
    for (index, vector) in vectors.into_iter().enumerate() {
        // SAFETY: `out` is as long as the vectors, as the assertion says.
        unsafe {
            _mm_storeu_si128(out.add(index), _mm256_castsi256_si128(vector));
            _mm_storeu_si128(out.add(N + index), _mm256_extracti128_si256::<1>(vector));
        }
    }
}

/// The body of `Value::interleave`.
#[target_feature(enable = "avx2")]
pub(in crate::kernels) fn interleave_u32(streams: &[u8], stride: usize, out: &mut [u32]) {
    let sources = [0, 1, 2, 3].map(|byte| streams[byte * stride..][..out.len()].as_ptr());
    let (chunks, rest) = out.as_chunks_mut::<32>();
    let done = 32 * chunks.len();
    for (index, out) in chunks.iter_mut().enumerate() {
        // SAFETY: each source is as long as `out` was.
        store_halves(fours(unsafe { load(&sources, 32 * index) }), out);
    }
    if !rest.is_empty() {
        u32::interleave(&streams[done..], stride, rest);
    }
}

/// The body of `Value::interleave`.
#[target_feature(enable = "avx2")]
pub(in crate::kernels) fn interleave_u64(streams: &[u8], stride: usize, out: &mut [u64]) {
    let sources: [_; 8] = std::array::from_fn(|byte| streams[byte * stride..][..out.len()].as_ptr());
    let (chunks, rest) = out.as_chunks_mut::<32>();
    let done = 32 * chunks.len();
    for (index, out) in chunks.iter_mut().enumerate() {
        // SAFETY: each source is as long as `out` was.
        let [a, b, c, d, e, f, g, h] = unsafe { load(&sources, 32 * index) };
        let (low, high) = (fours([a, b, c, d]), fours([e, f, g, h]));
        let eights: [_; 8] = std::array::from_fn(|index| {
            let (low, high) = (low[index / 2], high[index / 2]);
            if index % 2 == 0 { _mm256_unpacklo_epi32(low, high) } else { _mm256_unpackhi_epi32(low, high) }
        });
        store_halves(eights, out);
    }
    if !rest.is_empty() {
        u64::interleave(&streams[done..], stride, rest);
    }
}
