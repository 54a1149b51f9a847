//! Values of up to 64 bytes that begin as the one before does: a register holds the value, and nothing is read back.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::kernels::front_coding::{FrontCoded, LONGEST};
use crate::kernels::views::INLINE_LEN;

/// # Safety
/// The processor has the features; the rest is what [`crate::kernels::Kernels::front_coded_long`] checks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
pub(in crate::kernels) unsafe fn front_coded_long(
    values: &FrontCoded<'_>,
    value: &mut [u8; LONGEST],
    data: &mut [MaybeUninit<u8>],
    place: (u32, u32),
    out: &mut [u128],
) -> usize {
    let (buffer_index, first) = place;
    let mut write = 0;
    // SAFETY: what a mask leaves out is not loaded. All others are suffixes, which are in the page. Behind the data that is
    // written there is room for a register.
    unsafe {
        let mut register = _mm512_loadu_si512(value.as_ptr().cast());
        let mut at = values.bytes.as_ptr().add(values.start);
        for (slot, (prefix, suffix)) in out.iter_mut().zip(values.lengths()) {
            let length = prefix + suffix;
            let kept = _bzhi_u64(u64::MAX, prefix as u32);
            let added = _bzhi_u64(u64::MAX, length as u32) & !kept;
            let from = at.wrapping_sub(prefix).cast();
            register = _mm512_mask_loadu_epi8(_mm512_maskz_mov_epi8(kept, register), added, from);
            _mm512_storeu_si512(data.as_mut_ptr().add(write).cast(), register);
            let start = _mm512_castsi512_si128(register);
            // Bytes past the end of the value are zeros.
            let low = _mm_cvtsi128_si64(start) as u64;
            let high = _mm_cvtsi128_si64(_mm_srli_si128::<4>(start)) as u64;
            let is_long = length > INLINE_LEN;
            let place = u64::from(buffer_index) | (u64::from(first) + write as u64) << 32;
            let high = if is_long { place } else { high };
            *slot = u128::from(length as u64 | low << 32) | u128::from(high) << 64;
            write += if is_long { length } else { 0 };
            at = at.add(suffix);
        }
        _mm512_storeu_si512(value.as_mut_ptr().cast(), register);
    }
    write
}
