//! Values of up to 255 bytes that begin as the one before does: registers hold the value, and nothing is read back.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::kernels::front_coding::{FrontCoded, REGISTERS};
use crate::kernels::views::INLINE_LEN;

/// # Safety
/// The processor has the features; the rest is what [`crate::kernels::Kernels::front_coded_long`] checks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
pub(in crate::kernels) unsafe fn front_coded_long(
    values: &FrontCoded<'_>,
    value: &mut [u8; REGISTERS],
    data: &mut [MaybeUninit<u8>],
    place: (u32, u32),
    out: &mut [u128],
) -> usize {
    // The value before may be longer than those that follow: of it what they begin with is needed.
    // SAFETY: the caller's.
    unsafe {
        match values.longest().div_ceil(64) {
            0 | 1 => in_registers::<1>(values, value, data, place, out),
            2 => in_registers::<2>(values, value, data, place, out),
            _ => in_registers::<4>(values, value, data, place, out),
        }
    }
}

/// # Safety
/// As [`front_coded_long`], of values that fit in `N` registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
unsafe fn in_registers<const N: usize>(
    values: &FrontCoded<'_>,
    value: &mut [u8; REGISTERS],
    data: &mut [MaybeUninit<u8>],
    (buffer_index, first): (u32, u32),
    out: &mut [u128],
) -> usize {
    let mut write = 0;
    // SAFETY: what a mask leaves out is not loaded. All others are suffixes, which are in the page. Behind the data that is
    // written there is room for all registers.
    unsafe {
        let mut registers: [__m512i; N] =
            std::array::from_fn(|index| _mm512_loadu_si512(value.as_ptr().add(64 * index).cast()));
        let mut at = values.bytes.as_ptr().add(values.start);
        for (slot, (prefix, suffix)) in out.iter_mut().zip(values.lengths()) {
            let length = prefix + suffix;
            let from = at.wrapping_sub(prefix);
            let to = data.as_mut_ptr().add(write);
            for (index, register) in registers.iter_mut().enumerate() {
                // The first bytes of a register, by a number of 8 bits.
                let first = |len: usize| _bzhi_u64(u64::MAX, len.saturating_sub(64 * index) as u32);
                let kept = first(prefix);
                let added = first(length) & !kept;
                let from = from.wrapping_add(64 * index).cast();
                *register = _mm512_mask_loadu_epi8(_mm512_maskz_mov_epi8(kept, *register), added, from);
                _mm512_storeu_si512(to.add(64 * index).cast(), *register);
            }
            let start = _mm512_castsi512_si128(registers[0]);
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
        for (index, register) in registers.iter().enumerate() {
            _mm512_storeu_si512(value.as_mut_ptr().add(64 * index).cast(), *register);
        }
        if !out.is_empty() {
            value[64 * N..].fill(0);
        }
    }
    write
}
