//! Byte arrays, written one after the other: loads of as many bytes as there are by masks, and stores of whole vectors.
//!
//! Nothing depends on how long a value is up to 64 bytes, so that lengths in no order mispredict no jump.

use std::arch::x86_64::*;

/// A mask of the first `len` bytes of a vector, or of all.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn mask(len: usize) -> u64 {
    _bzhi_u64(u64::MAX, len.min(64) as u32)
}

/// The first 64 bytes, and zeros after the last one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn load(bytes: &[u8]) -> __m512i {
    // SAFETY: the mask keeps the load to the slice.
    unsafe { _mm512_maskz_loadu_epi8(mask(bytes.len()), bytes.as_ptr().cast()) }
}

/// Copies `bytes` to `out`.
///
/// # Safety
/// As many bytes and 64 from `out` on may be written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
unsafe fn copy(bytes: &[u8], out: *mut u8) {
    // SAFETY: the caller's: no store begins after the end of the bytes.
    unsafe {
        _mm512_storeu_si512(out.cast(), load(bytes));
        let mut at = 64;
        while at < bytes.len() {
            _mm512_storeu_si512(out.add(at).cast(), load(bytes.get_unchecked(at..)));
            at += 64;
        }
    }
}

/// The body of `Kernels::append`.
///
/// # Safety
/// What that checks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt")]
pub(in crate::kernels) unsafe fn append(values: &[&[u8]], out: &mut [u8]) -> usize {
    let mut at = 0;
    for value in values {
        // SAFETY: there is room for all values, and a vector more.
        unsafe { copy(value, out.as_mut_ptr().add(at)) };
        at += value.len();
    }
    at
}

/// The body of `Kernels::front_code`.
///
/// # Safety
/// What that checks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt")]
pub(in crate::kernels) unsafe fn front_code(
    previous: &[u8],
    values: &[&[u8]],
    (prefixes, suffixes): (&mut [i32], &mut [i32]),
    out: &mut [u8],
) -> usize {
    let (mut at, mut previous, mut before) = (0, previous, load(previous));
    for ((&value, prefix), suffix) in values.iter().zip(prefixes).zip(suffixes) {
        let len = value.len().min(previous.len());
        let bytes = load(value);
        // Zeros after the end of the one may be bytes of the other.
        let mut common = (_mm512_cmpneq_epi8_mask(bytes, before).trailing_zeros() as usize).min(len);
        if common == 64 {
            common = long_prefix(previous, value);
        }
        // SAFETY: no more is common than there is of the value; and there is room for all values, and a vector more.
        let rest = unsafe {
            let rest = value.get_unchecked(common..);
            copy(rest, out.as_mut_ptr().add(at));
            rest
        };
        (*prefix, *suffix) = (common as i32, rest.len() as i32);
        at += rest.len();
        (previous, before) = (value, bytes);
    }
    at
}

/// How many bytes both begin with, of which the first 64 are known.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
fn long_prefix(left: &[u8], right: &[u8]) -> usize {
    let len = left.len().min(right.len());
    let mut at = 64;
    while at < len {
        let different = _mm512_cmpneq_epi8_mask(load(&left[at..len]), load(&right[at..len]));
        if different != 0 {
            return at + different.trailing_zeros() as usize;
        }
        at += 64;
    }
    len
}
