//! Sums: what a skip adds to the last value.

use super::tables::{NARROW, WIDE};
use super::*;

/// Adds up whole blocks of four miniblocks.
macro_rules! skip {
    ($name:ident, $lane:ty, $body:ident) => {
        /// Whole blocks: see [`Lane::skip_blocks`](crate::kernels::Lane::skip_blocks).
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,bmi2")]
        pub(crate) fn $name(
            page: &[u8],
            position: &mut usize,
            values_per_miniblock: usize,
            blocks: usize,
            last: &mut $lane,
        ) -> usize {
            match values_per_miniblock {
                32 => $body::<1>(page, position, blocks, last),
                64 => $body::<2>(page, position, blocks, last),
                _ => 0,
            }
        }
    };
}

skip!(skip_blocks_i32, i32, skip_i32);
skip!(skip_blocks_i64, i64, skip_i64);

/// Accumulators of 32-bit lanes; several, since a dot product takes five cycles.
#[derive(Clone, Copy)]
struct Sums([__m512i; 4]);

impl Sums {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Self {
        Self([_mm512_setzero_si512(); 4])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fold(self) -> __m512i {
        let [a, b, c, d] = self.0;
        _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d))
    }
}

/// Adds the deltas of a block of widths up to 25 to `sums`: in 32-bit lanes those of 512 values cannot overflow.
///
/// # Safety
/// The block's packed deltas begin at `at`, are of at most 25 bits, and 64 bytes follow them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
unsafe fn add_narrow<const UNITS: usize>(page: &[u8], mut at: usize, widths: u32, sums: &mut Sums) {
    if widths == (widths & 0xff) * 0x101_0101 && widths & 0xff <= 8 {
        let width = (widths & 0xff) as usize;
        // SAFETY: the caller's.
        let table = unsafe { NARROW.get_unchecked(width) };
        let (lanes, shifts, mask) =
            (constant(&table.quads), constant(&table.quads_shifts), constant(&table.quads_mask));
        let ones = _mm512_set1_epi8(1);
        for unit in 0..2 * UNITS {
            // SAFETY: the caller's.
            let bytes = _mm512_permutexvar_epi8(lanes, unsafe { load(page, at) });
            let bytes = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, bytes), mask);
            sums.0[unit % 4] = _mm512_dpbusd_epi32(sums.0[unit % 4], bytes, ones);
            at += 8 * width;
        }
        return;
    }
    let all_halves = (widths + 0x7070_7070) & 0x8080_8080 == 0;
    let ones = _mm512_set1_epi16(1);
    for (miniblock, width) in widths.to_le_bytes().map(usize::from).into_iter().enumerate() {
        // SAFETY: the caller's.
        let table = unsafe { NARROW.get_unchecked(width) };
        let sum = &mut sums.0[miniblock];
        for _ in 0..UNITS {
            if all_halves {
                // SAFETY: the caller's.
                let halves = _mm512_permutexvar_epi8(constant(&table.halves), unsafe { load(page, at) });
                let halves = _mm512_multishift_epi64_epi8(constant(&table.halves_shifts), halves);
                let halves = _mm512_and_si512(halves, constant(&table.halves_mask));
                *sum = _mm512_dpwssd_epi32(*sum, halves, ones);
            } else {
                for half in 0..2 {
                    // SAFETY: the caller's.
                    let bytes = unsafe { load(page, at + 2 * width * half) };
                    let values = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
                    let values = _mm512_srlv_epi32(values, constant(&table.natural_shifts));
                    *sum = _mm512_add_epi32(*sum, _mm512_and_si512(values, constant(&table.mask)));
                }
            }
            at += 4 * width;
        }
    }
}

/// # Safety
/// The block's packed deltas begin at `at`, are of at most 32 bits, and 64 bytes follow them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
unsafe fn add_wrapping<const UNITS: usize>(page: &[u8], mut at: usize, widths: u32, sums: &mut Sums) {
    for (miniblock, width) in widths.to_le_bytes().map(usize::from).into_iter().enumerate() {
        // SAFETY: the caller's.
        let table = unsafe { NARROW.get_unchecked(width) };
        for half in 0..2 * UNITS {
            // SAFETY: the caller's.
            let bytes = unsafe { load(page, at + 2 * width * half) };
            let low = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
            let high = _mm512_permutexvar_epi8(constant(&table.natural_high), bytes);
            let values = _mm512_shrdv_epi32(low, high, constant(&table.natural_shifts));
            sums.0[miniblock] = _mm512_add_epi32(sums.0[miniblock], _mm512_and_si512(values, constant(&table.mask)));
        }
        at += 4 * UNITS * width;
    }
}

/// # Safety
/// The block's packed deltas begin at `at`, and 64 bytes follow them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
unsafe fn add_wide<const UNITS: usize>(page: &[u8], mut at: usize, widths: u32, sum: &mut [__m512i; 2]) {
    for width in widths.to_le_bytes().map(usize::from) {
        // SAFETY: the caller's.
        let table = unsafe { WIDE.get_unchecked(width) };
        for eight in 0..4 * UNITS {
            // SAFETY: the caller's.
            let bytes = unsafe { load(page, at + width * eight) };
            let low = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
            let high = _mm512_permutexvar_epi8(constant(&table.natural_high), bytes);
            let values = _mm512_shrdv_epi64(low, high, constant(&table.natural_shifts));
            sum[eight % 2] = _mm512_add_epi64(sum[eight % 2], _mm512_and_si512(values, constant(&table.mask)));
        }
        at += 4 * UNITS * width;
    }
}

/// The widths of the block before, and what follows from them: where they repeat, the address of the next header is
/// foreseen rather than computed.
struct Shape {
    widths: u32,
    largest: u32,
    bytes: usize,
}

impl Shape {
    fn new() -> Self {
        Self { widths: 0, largest: 0, bytes: 0 }
    }

    #[inline(always)]
    fn update(&mut self, widths: u32, units: usize) {
        if widths != self.widths {
            *self = Self { widths, largest: largest(widths), bytes: 4 * units * sum(widths) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,bmi2")]
fn skip_i32<const UNITS: usize>(page: &[u8], position: &mut usize, blocks: usize, last: &mut i32) -> usize {
    let mut sums = Sums::zero();
    let mut min_deltas = 0i32;
    let mut shape = Shape::new();
    let mut done = 0;
    while done < blocks {
        let Some(header) = Header::read(page, *position) else { break };
        shape.update(header.widths, UNITS);
        if shape.largest > 32 || page.len() - header.end < shape.bytes + SLACK {
            break;
        }
        // SAFETY: the widths are at most the largest, and a slack is left after the block.
        unsafe {
            if shape.largest <= 25 {
                add_narrow::<UNITS>(page, header.end, header.widths, &mut sums);
            } else {
                add_wrapping::<UNITS>(page, header.end, header.widths, &mut sums);
            }
        }
        min_deltas = min_deltas.wrapping_add(header.min_delta as i32);
        *position = header.end + shape.bytes;
        done += 1;
    }
    let values = 128 * UNITS as i32;
    let sum = _mm512_reduce_add_epi32(sums.fold());
    *last = last.wrapping_add(sum).wrapping_add(min_deltas.wrapping_mul(values));
    done
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,bmi2")]
fn skip_i64<const UNITS: usize>(page: &[u8], position: &mut usize, blocks: usize, last: &mut i64) -> usize {
    let mut wide = [_mm512_setzero_si512(); 2];
    let mut min_deltas = 0i64;
    let mut shape = Shape::new();
    let mut done = 0;
    while done < blocks {
        let Some(header) = Header::read(page, *position) else { break };
        shape.update(header.widths, UNITS);
        if shape.largest > 64 || page.len() - header.end < shape.bytes + SLACK {
            break;
        }
        // SAFETY: the widths are at most the largest, and a slack is left after the block.
        unsafe {
            if shape.largest <= 25 {
                let mut sums = Sums::zero();
                add_narrow::<UNITS>(page, header.end, header.widths, &mut sums);
                let sum = sums.fold();
                wide[0] = _mm512_add_epi64(wide[0], _mm512_srli_epi64::<32>(sum));
                wide[1] = _mm512_add_epi64(wide[1], _mm512_and_si512(sum, _mm512_set1_epi64(0xffff_ffff)));
            } else {
                add_wide::<UNITS>(page, header.end, header.widths, &mut wide);
            }
        }
        min_deltas = min_deltas.wrapping_add(header.min_delta);
        *position = header.end + shape.bytes;
        done += 1;
    }
    let values = 128 * UNITS as i64;
    let sum = _mm512_reduce_add_epi64(_mm512_add_epi64(wide[0], wide[1]));
    *last = last.wrapping_add(sum).wrapping_add(min_deltas.wrapping_mul(values));
    done
}
