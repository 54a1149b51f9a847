//! DELTA_BINARY_PACKED by hand, for AVX-512 with VBMI, VBMI2 and VNNI.
//!
//! A unit of 32 values is unpacked into two vectors, summed up, and stored. The kernels are classed by the largest width
//! that they take, not by width: the constants of a width come from `tables`, so that widths which change from miniblock to
//! miniblock mispredict no jump.
//!
//! | file | job |
//! |---|---|
//! | `tables` | constants to unpack each width |
//! | `int32`, `int64` | whole blocks to values |
//! | `skip` | whole blocks to their sums |

use std::arch::x86_64::*;

mod int32;
mod int64;
mod skip;
mod tables;

pub(super) use int32::decode_blocks as decode_blocks_i32;
pub(super) use int64::decode_blocks as decode_blocks_i64;
pub(super) use skip::{skip_blocks_i32, skip_blocks_i64};

use tables::{Bytes, NARROW, lanes, quad};

/// Bytes past the packed values that a kernel may load.
pub(super) const SLACK: usize = 64;

#[inline]
#[target_feature(enable = "avx512f")]
fn constant(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes that are aligned to 64.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

/// 64 bytes from `position` on.
///
/// # Safety
/// They lie in `packed`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(packed: &[u8], position: usize) -> __m512i {
    debug_assert!(position + 64 <= packed.len());
    // SAFETY: the caller's.
    unsafe { _mm512_loadu_si512(packed.as_ptr().add(position).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<T>(out: &mut [T], values: __m512i) {
    assert!(size_of_val(out) == 64);
    // SAFETY: 64 bytes, as the assertion says.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), values) }
}

/// Constants that a compiler must not see through: it would replace masked additions by worse shuffles.
#[derive(Clone, Copy)]
struct Scan {
    /// Lanes that take on a sum from before them, in the steps of 2, 4 and 8 lanes.
    twos: __mmask16,
    fours: __mmask16,
    eights: __mmask16,
    /// Lanes whose value is passed on in the steps of 4 and 8 lanes, and at the end.
    third: __m512i,
    seventh: __m512i,
    last: __m512i,
}

impl Scan {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        Self {
            twos: opaque(0xcccc),
            fours: opaque(0xf0f0),
            eights: opaque(0xff00),
            third: constant(opaque(&const { lanes!(u32, |i| if i < 8 { 3 } else { 11 }) })),
            seventh: opaque(_mm512_set1_epi32(7)),
            last: opaque(_mm512_set1_epi32(15)),
        }
    }

    /// The running sums of 16 lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sums(&self, values: __m512i) -> __m512i {
        let sums = _mm512_add_epi32(values, _mm512_slli_epi64::<32>(values));
        let sums = _mm512_mask_add_epi32(sums, self.twos, sums, _mm512_shuffle_epi32::<0x55>(sums));
        let sums = _mm512_mask_add_epi32(sums, self.fours, sums, _mm512_permutexvar_epi32(self.third, sums));
        _mm512_mask_add_epi32(sums, self.eights, sums, _mm512_permutexvar_epi32(self.seventh, sums))
    }

    /// The last lane in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn carry(&self, sums: __m512i) -> __m512i {
        _mm512_permutexvar_epi32(self.last, sums)
    }
}

/// `value`, of which the compiler knows nothing.
#[inline(always)]
fn opaque<T>(value: T) -> T {
    std::hint::black_box(value)
}

/// Of 32 values the even and the odd ones.
///
/// # Safety
/// 64 bytes from `position + 2 * width` on lie in `packed`; `width` is at most 25.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn unpack_evens_and_odds(packed: &[u8], position: usize, width: usize) -> (__m512i, __m512i) {
    // SAFETY: the caller's.
    let (first, second, table) =
        unsafe { (load(packed, position), load(packed, position + 2 * width), NARROW.get_unchecked(width)) };
    let upper = opaque(0xffff_ffff_0000_0000);
    let unpack = |bytes: &Bytes, shifts: &Bytes| {
        let bytes = constant(bytes);
        let values = _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(bytes, first), upper, bytes, second);
        _mm512_and_si512(_mm512_srlv_epi32(values, constant(shifts)), constant(&table.mask))
    };
    (unpack(&table.even, &table.even_shifts), unpack(&table.odd, &table.odd_shifts))
}

/// The largest of four widths.
#[inline(always)]
fn largest(widths: u32) -> u32 {
    let [a, b, c, d] = widths.to_le_bytes();
    u32::from(a.max(b).max(c.max(d)))
}

/// The sum of four widths.
#[inline(always)]
fn sum(widths: u32) -> usize {
    widths.to_le_bytes().into_iter().map(usize::from).sum()
}

/// The header of a block of four miniblocks.
struct Header {
    min_delta: i64,
    widths: u32,
    end: usize,
}

impl Header {
    /// None where it is not plainly there: the end of the page is near, or the varint is longer than most.
    #[inline(always)]
    fn read(page: &[u8], position: usize) -> Option<Self> {
        let bytes = page.get(position..position.checked_add(16)?)?;
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        // A branch for each length: the address of what follows is then foreseen rather than computed.
        let (code, len) = if word & 0x80 == 0 {
            (word & 0x7f, 1)
        } else if word & 0x8000 == 0 {
            (word & 0x7f | word >> 1 & 0x3f80, 2)
        } else if word & 0x80_0000 == 0 {
            (word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000, 3)
        } else {
            let len = ((!word & 0x8080_8080_8080_8080).trailing_zeros() / 8 + 1) as usize;
            if len > 8 {
                return None;
            }
            let mut code = 0;
            for (index, byte) in bytes[..len].iter().enumerate() {
                code |= u64::from(byte & 0x7f) << (7 * index);
            }
            (code, len)
        };
        let widths = u32::from_le_bytes(*bytes.get(len..)?.first_chunk()?);
        let min_delta = (code >> 1).cast_signed() ^ -(code & 1).cast_signed();
        Some(Self { min_delta, widths, end: position + len + 4 })
    }
}
