//! INT32 by SSE2, which every x86-64 processor has.
//!
//! A unit is four octets of whole bytes, and each of them a lane: the first delta of each is unpacked, then the second. So all
//! lanes are shifted alike, as SSE2 shifts, and an addition that waits for the one before it takes four values further.

use std::arch::x86_64::*;

use super::portable::progression;
use super::{Batch, Engine, Store, UNIT, Units, Widths, decode_runs, each_unit};

/// Decodes to units.
pub(super) struct Octets<'a> {
    last: i32,
    store: Store<'a, i32>,
}

/// Classes: one width, for which there is an instance; and several, since a jump to instances would be mispredicted.
const UNIFORM: usize = 0;
const MIXED: usize = 1;
const MIXED_WIDE: usize = 2;

impl<'a> Octets<'a> {
    #[inline(always)]
    pub(super) fn new(last: i32, store: Store<'a, i32>) -> Self {
        Self { last, store }
    }

    /// The value before the next one.
    #[inline(always)]
    pub(super) fn last(&self) -> i32 {
        self.last
    }
}

impl Engine for Octets<'_> {
    const MAX_WIDTH: u32 = 32;
    const MAX_UNITS: usize = <Store<'_, i32> as Units>::MAX_UNITS;
    const CLASSES: usize = 3;

    #[inline(always)]
    fn class(widths: Widths) -> usize {
        if widths.are_equal() {
            UNIFORM
        } else if widths.fit(25) {
            MIXED
        } else {
            MIXED_WIDE
        }
    }

    #[inline(always)]
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch) {
        if CLASS == UNIFORM || batch.miniblocks == 1 {
            // SAFETY: the caller's.
            self.last = unsafe { decode_runs(&mut self.store, packed, &batch, self.last) };
            return;
        }
        let mut sums = Sums::new(batch.min_delta as i32, self.last);
        self.store.begin(&batch);
        // SAFETY: the caller's; the units are those of the batch, and all are written.
        unsafe {
            each_unit!(batch, |at, width, unit| {
                let deltas = unpack_any::<CLASS>(packed.as_ptr().add(at), width);
                sums.decode(deltas, &mut self.store.units(unit, 1)[0]);
            });
            self.store.end(&batch);
        }
        self.last = sums.last();
    }
}

/// As [`super::decode`], for a multiple of 32 values.
pub(in crate::kernels) fn decode_octets<const W: usize>(
    packed: &[u8],
    min_delta: i32,
    last: i32,
    out: &mut [i32],
) -> i32 {
    if W == 0 {
        return progression(min_delta, last, out);
    }
    let mut sums = Sums::new(min_delta, last);
    let packed = &packed[..out.len() / 8 * W];
    for (packed, out) in packed.chunks_exact(UNIT / 8 * W).zip(out.as_chunks_mut().0) {
        let deltas = [
            unpack::<W, 0>(packed),
            unpack::<W, 1>(packed),
            unpack::<W, 2>(packed),
            unpack::<W, 3>(packed),
            unpack::<W, 4>(packed),
            unpack::<W, 5>(packed),
            unpack::<W, 6>(packed),
            unpack::<W, 7>(packed),
        ];
        sums.decode(deltas, out);
    }
    sums.last()
}

/// Running sums.
struct Sums {
    min_delta: __m128i,
    carry: __m128i,
}

impl Sums {
    #[inline(always)]
    fn new(min_delta: i32, last: i32) -> Self {
        Self { min_delta: splat(min_delta), carry: splat(last) }
    }

    #[inline(always)]
    fn last(&self) -> i32 {
        // SAFETY: SSE2 is there.
        unsafe { _mm_cvtsi128_si32(self.carry) }
    }

    /// Decodes a unit, of which there are the first, .., eighth delta of each octet.
    #[inline(always)]
    fn decode(&mut self, mut values: [__m128i; 8], out: &mut [i32; UNIT]) {
        // SAFETY: four values are stored to four. SSE2 is there.
        unsafe {
            let mut sum = _mm_setzero_si128();
            for value in &mut values {
                sum = _mm_add_epi32(sum, _mm_add_epi32(*value, self.min_delta));
                *value = sum;
            }
            let sums = _mm_add_epi32(sum, _mm_slli_si128::<4>(sum));
            let sums = _mm_add_epi32(sums, _mm_slli_si128::<8>(sums));
            let before = _mm_add_epi32(self.carry, _mm_slli_si128::<4>(sums));
            self.carry = _mm_add_epi32(self.carry, _mm_shuffle_epi32::<0xff>(sums));
            let mut store = |at: usize, values| _mm_storeu_si128(out[at..at + 4].as_mut_ptr().cast(), values);
            // Four vectors of a value of each octet become four values of each.
            for (half, values) in values.as_chunks().0.iter().enumerate() {
                let [a, b, c, d] = values.map(|values| _mm_add_epi32(values, before));
                let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
                store(4 * half, _mm_unpacklo_epi64(ab, cd));
                store(4 * half + 8, _mm_unpackhi_epi64(ab, cd));
                let (ab, cd) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
                store(4 * half + 16, _mm_unpacklo_epi64(ab, cd));
                store(4 * half + 24, _mm_unpackhi_epi64(ab, cd));
            }
        }
    }
}

/// The delta at `INDEX` of each octet of a unit, from the words that it lies in: each is loaded once for all that it holds.
#[inline(always)]
fn unpack<const W: usize, const INDEX: usize>(packed: &[u8]) -> __m128i {
    let bit = INDEX * W;
    // The last word ends with the octet.
    let last = W.saturating_sub(4);
    let first = if bit >= 8 * last { last } else { bit / 32 * 4 };
    let shift = bit - 8 * first;
    // SAFETY: SSE2 is there.
    unsafe {
        let count = |bits: usize| _mm_cvtsi32_si128(bits as i32);
        let mut deltas = _mm_srl_epi32(words::<W>(packed, first), count(shift));
        if shift + W > 32 {
            let second = last.min(first + 4);
            deltas = _mm_or_si128(deltas, _mm_sll_epi32(words::<W>(packed, second), count(8 * second - bit)));
        }
        if shift + W == 32 { deltas } else { _mm_and_si128(deltas, mask(W)) }
    }
}

/// Four bytes of each octet of a unit, from `byte` on.
#[inline(always)]
fn words<const W: usize>(packed: &[u8], byte: usize) -> __m128i {
    let word = |octet: usize| {
        let at = octet * W + byte;
        // Where there are fewer than four, those before are loaded with them.
        let start = at.min(4 * W - 4);
        let word = packed[start..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        (word >> (8 * (at - start))).cast_signed()
    };
    // SAFETY: SSE2 is there.
    unsafe { _mm_setr_epi32(word(0), word(1), word(2), word(3)) }
}

/// Where the deltas of an octet are: as many bits above the byte that they begin in.
#[repr(align(16))]
struct Row {
    shifts: [[u64; 2]; 8],
    bytes: [u8; 8],
}

/// By width.
static ROWS: [Row; 33] = {
    let mut rows = [const { Row { shifts: [[0; 2]; 8], bytes: [0; 8] } }; 33];
    let mut width = 0;
    while width < rows.len() {
        let mut index = 0;
        while index < 8 {
            let bit = index * width;
            rows[width].shifts[index][0] = (bit % 8) as u64;
            rows[width].bytes[index] = (bit / 8) as u8;
            index += 1;
        }
        width += 1;
    }
    rows
};

/// The first, .., eighth delta of each octet of a unit, of any width of `CLASS`.
///
/// # Safety
/// The unit, and 8 bytes after it, can be read.
#[inline(always)]
unsafe fn unpack_any<const CLASS: usize>(unit: *const u8, width: usize) -> [__m128i; 8] {
    let (row, mask) = (&ROWS[width], mask(width));
    // SAFETY: what is loaded begins inside of the unit. SSE2 is there.
    unsafe {
        std::array::from_fn(|index| {
            let from = |octet: usize| unit.add(octet * width + usize::from(row.bytes[index]));
            let shift = _mm_load_si128(row.shifts[index].as_ptr().cast());
            let deltas = if CLASS == MIXED_WIDE {
                let word = |octet| from(octet).cast::<i64>().read_unaligned();
                let low = _mm_srl_epi64(_mm_set_epi64x(word(1), word(0)), shift);
                let high = _mm_srl_epi64(_mm_set_epi64x(word(3), word(2)), shift);
                _mm_castps_si128(_mm_shuffle_ps::<0x88>(_mm_castsi128_ps(low), _mm_castsi128_ps(high)))
            } else {
                let word = |octet| from(octet).cast::<i32>().read_unaligned();
                _mm_srl_epi32(_mm_setr_epi32(word(0), word(1), word(2), word(3)), shift)
            };
            _mm_and_si128(deltas, mask)
        })
    }
}

/// As many bits as `width`.
#[inline(always)]
fn mask(width: usize) -> __m128i {
    splat(((1u64 << width) - 1) as i32)
}

#[inline(always)]
fn splat(value: i32) -> __m128i {
    // SAFETY: SSE2 is there.
    unsafe { _mm_set1_epi32(value) }
}
