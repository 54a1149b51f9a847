//! DELTA_BINARY_PACKED by AVX2.
//!
//! A vector is two halves that hardly exchange anything. Of a unit of 32 values the lower half takes the first 16, and the
//! upper one the others, so that both are unpacked and summed up alike; the total of the lower half is added to the upper
//! one at the end. The kernels are classed by the largest width that they take, and the constants of a width come from
//! `tables`, as with AVX-512.
//!
//! | file | job |
//! |---|---|
//! | `tables` | constants to unpack each width |
//! | `int32`, `int64` | packed deltas to values |
//! | `in_range` | packed deltas to verdicts on the values |
//! | `sum` | packed deltas to their sum |
//!
//! All functions are inlined into the shells below, which have the features, and name none themselves: with
//! `#[target_feature]` they could not be `#[inline(always)]`, and what a loop keeps in registers would go to memory.
//!
//! Each `unsafe fn` needs a processor with the features of the shells; `# Safety` says what it needs beside that.

use std::arch::x86_64::*;

mod in_range;
mod int32;
mod int64;
mod sum;
mod tables;

use crate::kernels::delta::{Shells, shells};
use in_range::{InRange32, InRange64};
use int32::Int32;
use int64::Int64;
use sum::{Sum32, Sum64};
use tables::{Bytes, FOURS, HALVES, Halves, Lanes, PAIRS, TWOS, lanes};

pub(in crate::kernels) const I32: Shells<i32> =
    shells!(i32, Int32, Sum32, InRange32, #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]);

pub(in crate::kernels) const I64: Shells<i64> =
    shells!(i64, Int64, Sum64, InRange64, #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]);

#[inline(always)]
unsafe fn constant(bytes: &Bytes) -> __m256i {
    // SAFETY: 32 bytes that are aligned to 32; the features are the caller's.
    unsafe { _mm256_load_si256(bytes.0.as_ptr().cast()) }
}

/// 16 bytes from `low` on, and 16 from `high` on.
///
/// # Safety
/// They lie in `packed`.
#[inline(always)]
unsafe fn load(packed: &[u8], low: usize, high: usize) -> __m256i {
    debug_assert!(low.max(high) + 16 <= packed.len());
    // SAFETY: the caller's.
    unsafe { _mm256_loadu2_m128i(packed.as_ptr().add(high).cast(), packed.as_ptr().add(low).cast()) }
}

/// The lower half of `values` in the upper one, and zeros below it.
#[inline(always)]
unsafe fn low_to_high(values: __m256i) -> __m256i {
    // SAFETY: the features are the caller's.
    unsafe { _mm256_permute2x128_si256::<0x08>(values, values) }
}

/// The running sums of the 4 lanes of 32 bits in each half.
#[inline(always)]
unsafe fn sums_of_4(values: __m256i) -> __m256i {
    // SAFETY: the features are the caller's.
    unsafe {
        let sums = _mm256_add_epi32(values, _mm256_slli_si256::<4>(values));
        _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums))
    }
}

/// The bytes that the steps of [`sums_of_8`] add to the lanes after them.
const SECOND: Bytes = lanes!(u8, |i| if i % 8 < 4 { 0x80 } else { i / 8 * 8 + 2 + i % 2 });
const FOURTH: Bytes = lanes!(u8, |i| if i < 8 { 0x80 } else { 6 + i % 2 });

/// The running sums of the 8 lanes of 16 bits in each half.
#[inline(always)]
unsafe fn sums_of_8(values: __m256i) -> __m256i {
    // SAFETY: the features are the caller's.
    unsafe {
        let sums = _mm256_add_epi16(values, _mm256_slli_epi32::<16>(values));
        let sums = _mm256_add_epi16(sums, _mm256_shuffle_epi8(sums, constant(&SECOND)));
        _mm256_add_epi16(sums, _mm256_shuffle_epi8(sums, constant(&FOURTH)))
    }
}

/// Of 32 values up to 8 bits the even and the odd ones, in lanes of 16 bits.
///
/// # Safety
/// 16 bytes from `at + 2 * width` on lie in `packed`; `width` is at most 8.
#[inline(always)]
unsafe fn unpack_halves(packed: &[u8], at: usize, width: usize) -> (__m256i, __m256i) {
    // SAFETY: the caller's.
    unsafe {
        let [even, odd] = HALVES.get_unchecked(width);
        let bytes = load(packed, at, at + 2 * width);
        (shift_halves(bytes, even), shift_halves(bytes, odd))
    }
}

/// The values in lanes of 16 bits.
#[inline(always)]
unsafe fn shift_halves(bytes: __m256i, halves: &Halves) -> __m256i {
    // SAFETY: `Bytes` are aligned as vectors are; the features are the caller's.
    unsafe {
        let values = _mm256_and_si256(_mm256_shuffle_epi8(bytes, constant(&halves.bytes)), constant(&halves.mask));
        // Volatile, as the compiler widens factors that a loop keeps, and then multiplies half as many at a time.
        let factors = (&raw const halves.factors).cast::<__m256i>().read_volatile();
        _mm256_mulhi_epu16(values, factors)
    }
}

/// Of the 8 values from `at` on, and of those that are 16 values after them, the even and the odd ones.
///
/// # Safety
/// 16 bytes from `at + 2 * width` on lie in `packed`; `width` is at most 16.
#[inline(always)]
unsafe fn unpack_pairs(packed: &[u8], at: usize, width: usize) -> (__m256i, __m256i) {
    // SAFETY: the caller's.
    unsafe {
        let table = PAIRS.get_unchecked(width);
        let bytes = load(packed, at, at + 2 * width);
        let mask = constant(&table.mask);
        (
            _mm256_and_si256(unpack_32::<false>(bytes, &table.even), mask),
            _mm256_and_si256(unpack_32::<false>(bytes, &table.odd), mask),
        )
    }
}

/// Widths that `unpack_fours` unpacks from four bytes of each value: no shift puts more bits out of them.
const MAX_UNSTRADDLED: u32 = 26;

/// Of a unit from `at` on the values from `4 * four` on, and those that are 16 values after them; from 27 bits on they are
/// `STRADDLING`.
///
/// # Safety
/// 16 bytes from `at + 4 * width` on lie in `packed`; `width` is at most 32, and at most 26 unless `STRADDLING`.
#[inline(always)]
unsafe fn unpack_fours<const STRADDLING: bool>(packed: &[u8], at: usize, width: usize, four: usize) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let table = FOURS.get_unchecked(width);
        let at = at + four * width / 2;
        let values = unpack_32::<STRADDLING>(load(packed, at, at + 2 * width), &table.lanes[four % 2]);
        _mm256_and_si256(values, constant(&table.mask))
    }
}

/// Of 16 values from `at` on those from `2 * two` on, and those that are 8 values after them; from 58 bits on they are
/// `STRADDLING`.
///
/// # Safety
/// 17 bytes from `at + 2 * width` on lie in `packed`; `width` is at most 64, and at most 57 unless `STRADDLING`; `two` is
/// less than 4.
#[inline(always)]
unsafe fn unpack_twos<const STRADDLING: bool>(packed: &[u8], at: usize, width: usize, two: usize) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let table = TWOS.get_unchecked(width);
        let lanes = table.lanes.get_unchecked(two);
        let at = at + two * width / 4;
        let bytes = _mm256_shuffle_epi8(load(packed, at, at + width), constant(&lanes.bytes));
        let mut values = _mm256_srlv_epi64(bytes, constant(&lanes.shifts));
        if STRADDLING {
            let high = load(packed, at + 1, at + 1 + width);
            let high = _mm256_shuffle_epi8(high, constant(&lanes.high_bytes));
            values = _mm256_or_si256(values, _mm256_sllv_epi64(high, constant(&lanes.high_shifts)));
        }
        _mm256_and_si256(values, constant(&table.mask))
    }
}

/// The values at the low end of 8 lanes.
#[inline(always)]
unsafe fn unpack_32<const STRADDLING: bool>(bytes: __m256i, lanes: &Lanes) -> __m256i {
    // SAFETY: the features are the caller's.
    unsafe {
        let values = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, constant(&lanes.bytes)), constant(&lanes.shifts));
        if !STRADDLING {
            return values;
        }
        let high = _mm256_shuffle_epi8(bytes, constant(&lanes.high_bytes));
        _mm256_or_si256(values, _mm256_sllv_epi32(high, constant(&lanes.high_shifts)))
    }
}
