//! INT32.

use super::tables::NARROW;
use super::*;

/// What all units need.
#[derive(Clone, Copy)]
struct Constants {
    scan: Scan,
    /// Interleaves even and odd values.
    low: __m512i,
    high: __m512i,
    /// Factors of the halves of a lane: both, and the upper one.
    both: __m512i,
    upper: __m512i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new() -> Self {
        Self {
            scan: Scan::new(),
            low: constant(opaque(&const { lanes!(u32, |i| i / 2 + i % 2 * 16) })),
            high: constant(opaque(&const { lanes!(u32, |i| 8 + i / 2 + i % 2 * 16) })),
            both: _mm512_set1_epi16(1),
            upper: _mm512_set1_epi32(0x1_0000),
        }
    }
}

/// Constants of quads of bytes.
#[derive(Clone, Copy)]
struct Quads {
    masks: [__mmask16; 4],
    moves: [__m512i; 4],
    last: __m512i,
    /// Factors of one, two, three and four bytes of a lane.
    factors: [__m512i; 4],
}

/// Lanes that hold the quads from `by` on.
const fn quads_from(by: usize) -> u16 {
    let mut mask = 0;
    let mut lane = 0;
    while lane < 16 {
        if quad(lane) >= by {
            mask |= 1 << lane;
        }
        lane += 1;
    }
    mask
}

/// For each lane the one whose quad is `$by` before its own.
macro_rules! quads_before {
    ($by:literal) => {
        constant(opaque(&const { lanes!(u32, |i| if quad(i) >= $by { quad(quad(i) - $by) } else { 0 }) }))
    };
}

impl Quads {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        Self {
            masks: opaque([quads_from(1), quads_from(2), quads_from(4), quads_from(8)]),
            moves: [quads_before!(1), quads_before!(2), quads_before!(4), quads_before!(8)],
            last: opaque(_mm512_set1_epi32(15)),
            factors: [1, 0x101, 0x1_0101, 0x101_0101].map(|factor| _mm512_set1_epi32(factor)),
        }
    }
}

/// Multiples of `min_delta`, by one to four.
#[derive(Clone, Copy)]
struct MinDelta([__m512i; 4]);

impl MinDelta {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(min_delta: i32) -> Self {
        Self([1, 2, 3, 4].map(|times| _mm512_set1_epi32(min_delta.wrapping_mul(times))))
    }
}

/// Widths up to 8: 64 values. A lane holds four of them; their sum is scanned, and the other three go back from it.
///
/// # Safety
/// 64 bytes from `position` on lie in `packed`; `width` is at most 8.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
unsafe fn quads(
    packed: &[u8],
    position: usize,
    width: usize,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Quads,
    out: &mut [i32; 64],
) {
    // SAFETY: the caller's.
    let (bytes, table) = unsafe { (load(packed, position), NARROW.get_unchecked(width)) };
    let bytes = _mm512_permutexvar_epi8(constant(&table.quads), bytes);
    let bytes = _mm512_multishift_epi64_epi8(constant(&table.quads_shifts), bytes);
    let bytes = _mm512_and_si512(bytes, constant(&table.quads_mask));
    let [one, two, three, four] = min_delta.0;
    let fourth = _mm512_dpbusd_epi32(four, bytes, c.factors[3]);
    let mut sums = fourth;
    for step in 0..4 {
        sums = _mm512_add_epi32(sums, _mm512_maskz_permutexvar_epi32(c.masks[step], c.moves[step], sums));
    }
    let o3 = _mm512_add_epi32(sums, *carry);
    *carry = _mm512_permutexvar_epi32(c.last, o3);
    let before = _mm512_sub_epi32(o3, fourth);
    let o0 = _mm512_add_epi32(before, _mm512_dpbusd_epi32(one, bytes, c.factors[0]));
    let o1 = _mm512_add_epi32(before, _mm512_dpbusd_epi32(two, bytes, c.factors[1]));
    let o2 = _mm512_add_epi32(before, _mm512_dpbusd_epi32(three, bytes, c.factors[2]));
    // Lanes were dealt such that a transposition within 128 bits puts all values in order.
    let (a0, a1) = (_mm512_unpacklo_epi32(o0, o1), _mm512_unpackhi_epi32(o0, o1));
    let (b0, b1) = (_mm512_unpacklo_epi32(o2, o3), _mm512_unpackhi_epi32(o2, o3));
    store(&mut out[..16], _mm512_unpacklo_epi64(a0, b0));
    store(&mut out[16..32], _mm512_unpackhi_epi64(a0, b0));
    store(&mut out[32..48], _mm512_unpacklo_epi64(a1, b1));
    store(&mut out[48..], _mm512_unpackhi_epi64(a1, b1));
}

/// Stores 32 values of which `pairs` are the sums of two each, and `odd` the second of the two.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs(pairs: __m512i, odd: __m512i, carry: &mut __m512i, c: &Constants, out: &mut [i32; 32]) {
    let odds = _mm512_add_epi32(c.scan.sums(pairs), *carry);
    *carry = c.scan.carry(odds);
    let evens = _mm512_sub_epi32(odds, odd);
    store(&mut out[..16], _mm512_permutex2var_epi32(evens, c.low, odds));
    store(&mut out[16..], _mm512_permutex2var_epi32(evens, c.high, odds));
}

/// Widths up to 15: a lane holds two values, whose sum is a dot product.
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
    out: &mut [i32; 32],
) {
    // SAFETY: the caller's.
    let (bytes, table) = unsafe { (load(packed, position), NARROW.get_unchecked(width)) };
    let halves = _mm512_permutexvar_epi8(constant(&table.halves), bytes);
    let halves = _mm512_multishift_epi64_epi8(constant(&table.halves_shifts), halves);
    let halves = _mm512_and_si512(halves, constant(&table.halves_mask));
    let [one, two, ..] = min_delta.0;
    let sums = _mm512_dpwssd_epi32(two, halves, c.both);
    let odd = _mm512_dpwssd_epi32(one, halves, c.upper);
    pairs(sums, odd, carry, c, out);
}

/// Widths up to 25: even and odd values in vectors of their own.
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
    out: &mut [i32; 32],
) {
    // SAFETY: the caller's.
    let (even, odd) = unsafe { unpack_evens_and_odds(packed, position, width) };
    let [one, ..] = min_delta.0;
    let (even, odd) = (_mm512_add_epi32(even, one), _mm512_add_epi32(odd, one));
    pairs(_mm512_add_epi32(even, odd), odd, carry, c, out);
}

/// All widths: 16 values at a time, each from the eight bytes in which it begins.
///
/// # Safety
/// 64 bytes from `position + 2 * width` on lie in `packed`; `width` is at most 32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
unsafe fn natural(
    packed: &[u8],
    position: usize,
    width: usize,
    min_delta: MinDelta,
    carry: &mut __m512i,
    c: &Constants,
    out: &mut [i32; 32],
) {
    // SAFETY: the caller's.
    let table = unsafe { NARROW.get_unchecked(width) };
    for (half, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let bytes = unsafe { load(packed, position + 2 * width * half) };
        let low = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
        let high = _mm512_permutexvar_epi8(constant(&table.natural_high), bytes);
        let values = _mm512_shrdv_epi32(low, high, constant(&table.natural_shifts));
        let values = _mm512_add_epi32(_mm512_and_si512(values, constant(&table.mask)), min_delta.0[0]);
        let sums = _mm512_add_epi32(c.scan.sums(values), *carry);
        *carry = c.scan.carry(sums);
        store(out, sums);
    }
}

/// Width 0.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn progression(min_delta: i32, carry: &mut __m512i, c: &Constants, out: &mut [i32]) {
    let counts = constant(&const { lanes!(u32, |i| i + 1) });
    let mut values = _mm512_add_epi32(*carry, _mm512_mullo_epi32(_mm512_set1_epi32(min_delta), counts));
    let step = _mm512_set1_epi32(min_delta.wrapping_mul(16));
    for out in out.as_chunks_mut::<16>().0 {
        store(out, values);
        *carry = values;
        values = _mm512_add_epi32(values, step);
    }
    *carry = c.scan.carry(*carry);
}

/// Whole blocks: see [`Lane::decode_blocks`](crate::kernels::Lane::decode_blocks).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,bmi2")]
pub(crate) fn decode_blocks(
    page: &[u8],
    position: &mut usize,
    values_per_miniblock: usize,
    last: &mut i32,
    out: &mut [i32],
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
    last: &mut i32,
    out: &mut [i32],
) -> usize {
    let c = Constants::new();
    let q = Quads::new();
    let mut carry = _mm512_set1_epi32(*last);
    let mut done = 0;
    for out in out.as_chunks_mut::<BLOCK>().0 {
        let Some(header) = Header::read(page, *position) else { break };
        let widths = header.widths;
        let largest = largest(widths);
        let bytes = 4 * UNITS * sum(widths);
        if largest > 32 || page.len() - header.end < bytes + SLACK {
            break;
        }
        let min_delta = MinDelta::new(header.min_delta as i32);
        let mut at = header.end;
        *position = at + bytes;
        macro_rules! units {
            ($unit:ident) => {
                for (unit, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                    let width = (widths >> (8 * (unit / UNITS)) & 0xff) as usize;
                    // SAFETY: the widths are at most the largest, and a slack is left after the block.
                    unsafe { $unit(page, at, width, min_delta, &mut carry, &c, out) };
                    at += 4 * width;
                }
            };
        }
        let uniform = widths == (widths & 0xff) * 0x101_0101;
        match largest {
            0 => progression(header.min_delta as i32, &mut carry, &c, out),
            1..=8 if uniform => {
                let width = (widths & 0xff) as usize;
                for out in out.as_chunks_mut::<64>().0 {
                    // SAFETY: as above.
                    unsafe { quads(page, at, width, min_delta, &mut carry, &q, out) };
                    at += 8 * width;
                }
            }
            1..=15 => units!(halves),
            16..=25 => units!(evens_and_odds),
            _ => units!(natural),
        }
        done += BLOCK;
    }
    *last = _mm512_cvtsi512_si32(carry);
    done
}
