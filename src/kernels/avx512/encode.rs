//! DELTA_BINARY_PACKED: deltas to packed blocks.
//!
//! Values are packed by halves: neighbours move together in lanes of 32 bits, these in lanes of 64, and these are put at the bit
//! and the bytes where they belong by a shift and two permutations of bytes, whose constants come from a table. A class of
//! widths is a path of its own, which takes all of its widths without a jump.
//!
//! Everything is inlined into the two shells, and names no features; each `unsafe fn` needs a processor with those of the
//! shells, and says what it needs beside that.

use std::arch::x86_64::*;

use super::tables::{Bytes, lanes};
use crate::kernels::encode::{MINIBLOCKS, put_min_delta};

/// Where eight lanes of `bits` bits go that follow each other: at the bit of their first byte by a shift, then by two or three
/// permutations, since a byte may hold the end of a lane, the beginning of the next one, and in between what the shift pushed
/// out.
#[derive(Clone, Copy)]
struct Places {
    shifts: Bytes,
    firsts: Bytes,
    seconds: Bytes,
    /// Of lanes of 59 bits and more: what is pushed out is shifted right by these, and goes to these bytes.
    overflow_shifts: Bytes,
    overflow: Bytes,
    overflow_bytes: u64,
}

/// Lanes that are in order.
const fn in_order(position: usize) -> usize {
    position
}

/// The lanes of a vector of two that were packed to half of the width: four values of the one follow four of the other.
const fn dealt(position: usize) -> usize {
    position % 4 * 2 + position / 4
}

macro_rules! places {
    ($bits:expr, $lane_of:ident) => {{
        let bits: usize = $bits;
        // By the place of a lane in memory, and then by lane.
        let mut places = Places {
            shifts: Bytes([0; 64]),
            firsts: Bytes([0; 64]),
            seconds: Bytes([0; 64]),
            overflow_shifts: Bytes([0; 64]),
            overflow: Bytes([0; 64]),
            overflow_bytes: 0,
        };
        let mut position = 0;
        while position < 8 {
            let lane = $lane_of(position);
            places.shifts.0[8 * lane] = (position * bits % 8) as u8;
            places.overflow_shifts.0[8 * lane] = (64 - position * bits % 8) as u8;
            position += 1;
        }
        // Nothing is said of the bytes after the last lane.
        let mut byte = 0;
        while byte < bits {
            let first = 8 * byte / bits;
            let within = byte - first * bits / 8;
            let next = if first < 7 && (first + 1) * bits < 8 * byte + 8 { 8 * $lane_of(first + 1) } else { 64 };
            if within < 8 {
                let index = 8 * $lane_of(first) + within;
                places.firsts.0[byte] = index as u8;
                places.seconds.0[byte] = if next < 64 { next } else { index } as u8;
            } else {
                // Which is never the last byte of a lane.
                places.firsts.0[byte] = next as u8;
                places.seconds.0[byte] = next as u8;
                places.overflow.0[byte] = (8 * $lane_of(first)) as u8;
                places.overflow_bytes |= 1 << byte;
            }
            byte += 1;
        }
        places
    }};
}

/// Constants of one width up to 32, in lanes of 32 bits.
#[derive(Clone, Copy)]
struct Narrow {
    /// The values of `width` bits in a lane, where each of two takes half of it.
    mask_32: Bytes,
    shifts_32: Bytes,
    /// The same of a lane of 64 bits whose halves take twice the width.
    mask_64: Bytes,
    shifts_64: Bytes,
    places: Places,
}

/// The widest values that go by fours into lanes of 64 bits.
const BY_FOURS: usize = 16;

static NARROW: [Narrow; 33] = {
    let none = Bytes([0; 64]);
    let places = places!(0, in_order);
    let mut tables = [Narrow { mask_32: none, shifts_32: none, mask_64: none, shifts_64: none, places }; 33];
    let mut width = 0;
    while width <= 32 {
        let table = &mut tables[width];
        if width <= BY_FOURS {
            table.mask_32 = lanes!(u32, |_i| (1_u64 << width) - 1);
            table.shifts_32 = lanes!(u32, |_i| 16 - width);
            table.mask_64 = lanes!(u64, |_i| (1_u64 << (2 * width)) - 1);
            table.shifts_64 = lanes!(u64, |_i| 32 - 2 * width);
            table.places = places!(4 * width, dealt);
        } else {
            table.mask_64 = lanes!(u64, |_i| (1_u64 << width) - 1);
            table.shifts_64 = lanes!(u64, |_i| 32 - width);
            table.places = places!(2 * width, in_order);
        }
        width += 1;
    }
    tables
};

/// Of widths over 32.
static WIDE: [Places; 65] = {
    let mut tables = [places!(0, in_order); 65];
    let mut width = 33;
    while width <= 64 {
        tables[width] = places!(width, in_order);
        width += 1;
    }
    tables
};

#[inline(always)]
unsafe fn constant(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes that are aligned to 64; the features are the caller's.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

/// # Safety
/// 64 bytes from `from` on may be read.
#[inline(always)]
unsafe fn load<T>(from: *const T) -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_loadu_si512(from.cast()) }
}

/// # Safety
/// 64 bytes from `out` on may be written.
#[inline(always)]
unsafe fn store(values: __m512i, out: *mut u8) {
    // SAFETY: the caller's.
    unsafe { _mm512_storeu_si512(out.cast(), values) }
}

/// The bits of `low` where `mask` has them, and those of `high` elsewhere.
#[inline(always)]
unsafe fn select(mask: __m512i, low: __m512i, high: __m512i) -> __m512i {
    // SAFETY: the features are the caller's.
    unsafe { _mm512_ternarylogic_epi64::<0xca>(mask, low, high) }
}

/// Moves lanes of 64 bits together. `OVERFLOW` where `places` says so.
#[inline(always)]
unsafe fn place<const OVERFLOW: bool>(values: __m512i, places: &Places) -> __m512i {
    // SAFETY: the features are the caller's.
    unsafe {
        let shifted = _mm512_sllv_epi64(values, constant(&places.shifts));
        let firsts = _mm512_permutexvar_epi8(constant(&places.firsts), shifted);
        let seconds = _mm512_permutexvar_epi8(constant(&places.seconds), shifted);
        let bytes = _mm512_or_si512(firsts, seconds);
        if !OVERFLOW {
            return bytes;
        }
        let over = _mm512_srlv_epi64(values, constant(&places.overflow_shifts));
        let over = _mm512_maskz_permutexvar_epi8(places.overflow_bytes, constant(&places.overflow), over);
        _mm512_or_si512(bytes, over)
    }
}

/// Packs 32 values of a width up to 32, and returns where they end.
///
/// # Safety
/// The values have no more bits, and `4 * width + 64` bytes from `out` on may be written.
#[inline(always)]
unsafe fn pack_unit([low, high]: [__m512i; 2], width: usize, out: *mut u8) -> *mut u8 {
    debug_assert!(width < NARROW.len());
    // SAFETY: the caller's; there is a table for each width.
    unsafe {
        let table = NARROW.get_unchecked(width);
        let (mask, shifts) = (constant(&table.mask_64), constant(&table.shifts_64));
        if width <= BY_FOURS {
            let halves = _mm512_packus_epi32(low, high);
            let pairs = _mm512_srlv_epi32(halves, constant(&table.shifts_32));
            let pairs = select(constant(&table.mask_32), halves, pairs);
            let fours = select(mask, pairs, _mm512_srlv_epi64(pairs, shifts));
            store(place::<false>(fours, &table.places), out);
        } else {
            let low = select(mask, low, _mm512_srlv_epi64(low, shifts));
            let high = select(mask, high, _mm512_srlv_epi64(high, shifts));
            // Pairs of any other width begin at bits from which they do not run past their lane.
            if width == 31 {
                store(place::<true>(low, &table.places), out);
                store(place::<true>(high, &table.places), out.add(2 * width));
            } else {
                store(place::<false>(low, &table.places), out);
                store(place::<false>(high, &table.places), out.add(2 * width));
            }
        }
        out.add(4 * width)
    }
}

/// The bits that any of some lanes have, folded to 128 bits.
#[inline(always)]
unsafe fn fold(bits: __m512i) -> __m128i {
    // SAFETY: the features are the caller's.
    unsafe {
        let bits = _mm256_or_si256(_mm512_castsi512_si256(bits), _mm512_extracti64x4_epi64::<1>(bits));
        _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256::<1>(bits))
    }
}

/// The widths that the lanes of four pairs of vectors need, a byte each.
#[inline(always)]
unsafe fn widths_32(deltas: &[__m512i; 8]) -> u32 {
    // SAFETY: the features are the caller's.
    unsafe {
        let (a, b) = (_mm512_or_si512(deltas[0], deltas[1]), _mm512_or_si512(deltas[2], deltas[3]));
        let (c, d) = (_mm512_or_si512(deltas[4], deltas[5]), _mm512_or_si512(deltas[6], deltas[7]));
        // Four by four, lanes of each take turns, and what lies above each other is folded.
        let ab = _mm512_or_si512(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let cd = _mm512_or_si512(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        let all = fold(_mm512_or_si512(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd)));
        let widths = _mm_sub_epi32(_mm_set1_epi32(32), _mm_lzcnt_epi32(all));
        _mm_cvtsi128_si32(_mm_cvtepi32_epi8(widths)).cast_unsigned()
    }
}

/// The least of all lanes, in all lanes of a part.
#[inline(always)]
unsafe fn least_32(values: __m512i) -> __m128i {
    // SAFETY: the features are the caller's.
    unsafe {
        let least = _mm256_min_epi32(_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64::<1>(values));
        let least = _mm_min_epi32(_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
        let least = _mm_min_epi32(least, _mm_shuffle_epi32::<0b01_00_11_10>(least));
        _mm_min_epi32(least, _mm_shuffle_epi32::<0b10_11_00_01>(least))
    }
}

#[inline(always)]
unsafe fn least_64(values: __m512i) -> __m128i {
    // SAFETY: the features are the caller's.
    unsafe {
        let least = _mm256_min_epi64(_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64::<1>(values));
        let least = _mm_min_epi64(_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
        _mm_min_epi64(least, _mm_shuffle_epi32::<0b01_00_11_10>(least))
    }
}

/// The body of `Lane::encode`.
///
/// # Safety
/// What that checks: `values` are whole blocks after one value, and `out` has room for them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt")]
pub(in crate::kernels) unsafe fn encode_i32(values: &[i32], out: &mut [u8]) -> usize {
    const BLOCK: usize = 128;
    let start = out.as_mut_ptr();
    let mut at = start;
    for first in (0..values.len() - 1).step_by(BLOCK) {
        // SAFETY: a block and the value before it from `first` on; and room for as many bytes and a vector from `at` on, as no
        // block takes more than its part of it.
        unsafe {
            let before = values.as_ptr().add(first);
            let mut deltas = [_mm512_setzero_si512(); BLOCK / 16];
            let mut least = [_mm512_set1_epi32(i32::MAX); 2];
            for (index, delta) in deltas.iter_mut().enumerate() {
                let before = before.add(16 * index);
                *delta = _mm512_sub_epi32(load(before.add(1)), load(before));
                least[index % 2] = _mm512_min_epi32(least[index % 2], *delta);
            }
            let least = least_32(_mm512_min_epi32(least[0], least[1]));
            at = put_min_delta(_mm_cvtsi128_si32(least), at);
            let min_delta = _mm512_broadcastd_epi32(least);
            for delta in &mut deltas {
                *delta = _mm512_sub_epi32(*delta, min_delta);
            }
            let widths = widths_32(&deltas);
            at.cast::<u32>().write_unaligned(widths);
            at = at.add(MINIBLOCKS);
            // Not a loop, which would look for the deltas in memory.
            let [a, b, c, d, e, f, g, h] = deltas;
            let [first, second, third, fourth] = widths.to_le_bytes();
            at = pack_unit([a, b], first.into(), at);
            at = pack_unit([c, d], second.into(), at);
            at = pack_unit([e, f], third.into(), at);
            at = pack_unit([g, h], fourth.into(), at);
        }
    }
    // SAFETY: in the same slice.
    unsafe { at.offset_from_unsigned(start) }
}

/// The body of `Lane::encode`.
///
/// # Safety
/// What that checks: `values` are whole blocks after one value, and `out` has room for them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt")]
pub(in crate::kernels) unsafe fn encode_i64(values: &[i64], out: &mut [u8]) -> usize {
    const BLOCK: usize = 256;
    let start = out.as_mut_ptr();
    let mut at = start;
    for first in (0..values.len() - 1).step_by(BLOCK) {
        // SAFETY: as in `encode_i32`.
        unsafe {
            let before = values.as_ptr().add(first);
            let delta = |index: usize| {
                let before = before.add(8 * index);
                _mm512_sub_epi64(load(before.add(1)), load(before))
            };
            let mut least = [_mm512_set1_epi64(i64::MAX); 4];
            for index in 0..BLOCK / 8 / 4 {
                for (part, least) in least.iter_mut().enumerate() {
                    *least = _mm512_min_epi64(*least, delta(4 * index + part));
                }
            }
            let [a, b, c, d] = least;
            let least = least_64(_mm512_min_epi64(_mm512_min_epi64(a, b), _mm512_min_epi64(c, d)));
            at = put_min_delta(_mm_cvtsi128_si64(least), at);
            let min_delta = _mm512_broadcastq_epi64(least);
            let widths = at;
            at = at.add(MINIBLOCKS);
            for miniblock in 0..MINIBLOCKS {
                // Again, as all of a block do not fit into the registers.
                let mut deltas = [min_delta; 8];
                let mut bits = _mm512_setzero_si512();
                for (index, slot) in deltas.iter_mut().enumerate() {
                    *slot = _mm512_sub_epi64(delta(8 * miniblock + index), min_delta);
                    bits = _mm512_or_si512(bits, *slot);
                }
                let bits = fold(bits);
                let bits = (_mm_cvtsi128_si64(bits) | _mm_extract_epi64::<1>(bits)).cast_unsigned();
                let width = 64 - bits.leading_zeros() as usize;
                *widths.add(miniblock) = width as u8;
                at = pack_miniblock(&deltas, width, at);
            }
        }
    }
    // SAFETY: in the same slice.
    unsafe { at.offset_from_unsigned(start) }
}

/// Packs 64 values, and returns where they end.
///
/// # Safety
/// They have no more than `width` bits, and `8 * width + 64` bytes from `out` on may be written.
#[inline(always)]
unsafe fn pack_miniblock(values: &[__m512i; 8], width: usize, out: *mut u8) -> *mut u8 {
    let &[a, b, c, d, e, f, g, h] = values;
    debug_assert!(width < WIDE.len());
    // SAFETY: the caller's; there is a table for each width.
    unsafe {
        if width <= 32 {
            let low_halves = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
            let (low, high) =
                (_mm512_permutex2var_epi32(a, low_halves, b), _mm512_permutex2var_epi32(c, low_halves, d));
            let out = pack_unit([low, high], width, out);
            let (low, high) =
                (_mm512_permutex2var_epi32(e, low_halves, f), _mm512_permutex2var_epi32(g, low_halves, h));
            return pack_unit([low, high], width, out);
        }
        let places = WIDE.get_unchecked(width);
        if places.overflow_bytes == 0 {
            for (index, &values) in values.iter().enumerate() {
                store(place::<false>(values, places), out.add(width * index));
            }
        } else {
            for (index, &values) in values.iter().enumerate() {
                store(place::<true>(values, places), out.add(width * index));
            }
        }
        out.add(8 * width)
    }
}
