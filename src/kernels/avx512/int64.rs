//! INT64. Up to 25 bits the running sums of 32 values fit into 32-bit lanes, and are widened afterwards.

use super::tables::{NARROW, WIDE};
use super::*;

/// What all units need.
#[derive(Clone, Copy)]
struct Constants {
    scan: Scan,
    /// Factors of the halves of a lane.
    both: __m512i,
    /// For each eight of 32 values, where they stand among 16 even and 16 odd ones; the upper halves are masked off.
    widen: [__m512i; 4],
    lower: __mmask16,
    /// Interleave eight even and eight odd values.
    low: __m512i,
    high: __m512i,
    last: __m512i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new() -> Self {
        macro_rules! widen {
            ($eight:literal) => {
                constant(opaque(&const { lanes!(u32, |i| (8 * $eight + i / 2) / 2 + i / 2 % 2 * 16) }))
            };
        }
        Self {
            scan: Scan::new(),
            both: _mm512_set1_epi16(1),
            widen: [widen!(0), widen!(1), widen!(2), widen!(3)],
            lower: opaque(0x5555),
            low: constant(opaque(&const { lanes!(u64, |i| i / 2 + i % 2 * 8) })),
            high: constant(opaque(&const { lanes!(u64, |i| 4 + i / 2 + i % 2 * 8) })),
            last: opaque(_mm512_set1_epi64(7)),
        }
    }
}

/// The last lane in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn last_lane(values: __m512i, c: &Constants) -> __m512i {
    _mm512_permutexvar_epi64(c.last, values)
}

/// The running sums of 8 lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums(values: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let sums = _mm512_add_epi64(values, _mm512_alignr_epi64::<7>(values, zero));
    let sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<6>(sums, zero));
    _mm512_add_epi64(sums, _mm512_alignr_epi64::<4>(sums, zero))
}

/// Multiples of `min_delta`: by 1 to 32.
#[derive(Clone, Copy)]
struct MinDelta([__m512i; 4]);

impl MinDelta {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn new(min_delta: i64) -> Self {
        let first = _mm512_mullo_epi64(_mm512_set1_epi64(min_delta), constant(&const { lanes!(u64, |i| i + 1) }));
        let eight = _mm512_set1_epi64(min_delta.wrapping_mul(8));
        let second = _mm512_add_epi64(first, eight);
        let third = _mm512_add_epi64(second, eight);
        Self([first, second, third, _mm512_add_epi64(third, eight)])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn once(&self) -> __m512i {
        _mm512_broadcastq_epi64(_mm512_castsi512_si128(self.0[0]))
    }
}

/// Stores 32 values of whose deltas, less `min_delta`, `pairs` are the sums of two each, and `odd` the second of the two.
#[inline]
#[target_feature(enable = "avx512f")]
fn narrow_pairs(
    pairs: __m512i,
    odd: __m512i,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Constants,
    out: &mut [i64; 32],
) {
    let odds = c.scan.sums(pairs);
    let evens = _mm512_sub_epi32(odds, odd);
    for (eight, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let sums = _mm512_maskz_permutex2var_epi32(c.lower, evens, c.widen[eight], odds);
        let values = _mm512_add_epi64(_mm512_add_epi64(sums, min_delta.0[eight]), *carry);
        store(out, values);
        if eight == 3 {
            *carry = last_lane(values, c);
        }
    }
}

/// Widths up to 15.
///
/// # Safety
/// 64 bytes from `position` on lie in `packed`; `width` is at most 15.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
unsafe fn halves(
    packed: &[u8],
    position: usize,
    width: usize,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Constants,
    out: &mut [i64; 32],
) {
    // SAFETY: the caller's.
    let (bytes, table) = unsafe { (load(packed, position), NARROW.get_unchecked(width)) };
    let halves = _mm512_permutexvar_epi8(constant(&table.halves), bytes);
    let halves = _mm512_multishift_epi64_epi8(constant(&table.halves_shifts), halves);
    let halves = _mm512_and_si512(halves, constant(&table.halves_mask));
    let sums = _mm512_dpwssd_epi32(_mm512_setzero_si512(), halves, c.both);
    narrow_pairs(sums, _mm512_srli_epi32::<16>(halves), min_delta, carry, c, out);
}

/// Widths up to 25.
///
/// # Safety
/// 64 bytes from `position + 2 * width` on lie in `packed`; `width` is at most 25.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn evens_and_odds(
    packed: &[u8],
    position: usize,
    width: usize,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Constants,
    out: &mut [i64; 32],
) {
    // SAFETY: the caller's.
    let (even, odd) = unsafe { unpack_evens_and_odds(packed, position, width) };
    narrow_pairs(_mm512_add_epi32(even, odd), odd, min_delta, carry, c, out);
}

/// Widths up to 32: 16 values at a time.
///
/// # Safety
/// 64 bytes from `position + 2 * width` on lie in `packed`; `width` is at most 32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn wide_pairs(
    packed: &[u8],
    position: usize,
    width: usize,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Constants,
    out: &mut [i64; 32],
) {
    // SAFETY: the caller's.
    let table = unsafe { WIDE.get_unchecked(width) };
    let once = min_delta.once();
    for (half, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let bytes = unsafe { load(packed, position + 2 * width * half) };
        let unpack = |lanes: &Bytes, shifts: &Bytes| {
            let values = _mm512_srlv_epi64(_mm512_permutexvar_epi8(constant(lanes), bytes), constant(shifts));
            _mm512_add_epi64(_mm512_and_si512(values, constant(&table.mask)), once)
        };
        let (even, odd) = (unpack(&table.even, &table.even_shifts), unpack(&table.odd, &table.odd_shifts));
        let odds = _mm512_add_epi64(sums(_mm512_add_epi64(even, odd)), *carry);
        *carry = last_lane(odds, c);
        let evens = _mm512_sub_epi64(odds, odd);
        store(&mut out[..8], _mm512_permutex2var_epi64(evens, c.low, odds));
        store(&mut out[8..], _mm512_permutex2var_epi64(evens, c.high, odds));
    }
}

/// All widths: 8 values at a time, from the eight bytes in which each begins, and `STRADDLING` from 58 bits on from the
/// eight after them too.
///
/// # Safety
/// 64 bytes from `position + 3 * width` on lie in `packed`; `width` is at most 64.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
unsafe fn natural<const STRADDLING: bool>(
    packed: &[u8],
    position: usize,
    width: usize,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Constants,
    out: &mut [i64; 32],
) {
    // SAFETY: the caller's.
    let table = unsafe { WIDE.get_unchecked(width) };
    let once = min_delta.once();
    for (eight, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let bytes = unsafe { load(packed, position + width * eight) };
        let low = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
        let shifts = constant(&table.natural_shifts);
        let values = if STRADDLING {
            _mm512_shrdv_epi64(low, _mm512_permutexvar_epi8(constant(&table.natural_high), bytes), shifts)
        } else {
            _mm512_srlv_epi64(low, shifts)
        };
        let values = _mm512_add_epi64(_mm512_and_si512(values, constant(&table.mask)), once);
        let values = _mm512_add_epi64(sums(values), *carry);
        *carry = last_lane(values, c);
        store(out, values);
    }
}

/// Width 0.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn progression(min_delta: i64, carry: &mut __m512i, c: &Constants, out: &mut [i64]) {
    let mut values = _mm512_add_epi64(*carry, MinDelta::new(min_delta).0[0]);
    let step = _mm512_set1_epi64(min_delta.wrapping_mul(8));
    for out in out.as_chunks_mut::<8>().0 {
        store(out, values);
        *carry = values;
        values = _mm512_add_epi64(values, step);
    }
    *carry = last_lane(*carry, c);
}

/// Whole blocks: see [`Lane::decode_blocks`](crate::kernels::Lane::decode_blocks).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,bmi2")]
pub(crate) fn decode_blocks(
    page: &[u8],
    position: &mut usize,
    values_per_miniblock: usize,
    last: &mut i64,
    out: &mut [i64],
) -> usize {
    match values_per_miniblock {
        32 => blocks::<1, 128>(page, position, last, out),
        64 => blocks::<2, 256>(page, position, last, out),
        _ => 0,
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,bmi2")]
fn blocks<const UNITS: usize, const BLOCK: usize>(
    page: &[u8],
    position: &mut usize,
    last: &mut i64,
    out: &mut [i64],
) -> usize {
    let c = Constants::new();
    let mut carry = _mm512_set1_epi64(*last);
    let mut done = 0;
    for out in out.as_chunks_mut::<BLOCK>().0 {
        let Some(header) = Header::read(page, *position) else { break };
        let widths = header.widths;
        let largest = largest(widths);
        let bytes = 4 * UNITS * sum(widths);
        if largest > 64 || page.len() - header.end < bytes + SLACK {
            break;
        }
        let min_delta = MinDelta::new(header.min_delta);
        let mut at = header.end;
        *position = at + bytes;
        macro_rules! units {
            ($unit:expr) => {
                for (unit, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                    let width = (widths >> (8 * (unit / UNITS)) & 0xff) as usize;
                    // SAFETY: the widths are at most the largest, and a slack is left after the block.
                    unsafe { $unit(page, at, width, min_delta, &mut carry, &c, out) };
                    at += 4 * width;
                }
            };
        }
        match largest {
            0 => progression(header.min_delta, &mut carry, &c, out),
            1..=15 => units!(halves),
            16..=25 => units!(evens_and_odds),
            26..=32 => units!(wide_pairs),
            33..=57 => units!(natural::<false>),
            _ => units!(natural::<true>),
        }
        done += BLOCK;
    }
    *last = _mm_cvtsi128_si64(_mm512_castsi512_si128(carry));
    done
}
