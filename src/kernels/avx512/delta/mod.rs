//! DELTA_BINARY_PACKED by AVX-512 with VBMI, VBMI2 and VNNI.
//!
//! Units of 32 values are unpacked into two vectors, summed up, and stored or compared. The kernels are classed by the
//! largest width that they take, not by width: the constants of a width come from `super::tables`, so that widths which change from
//! miniblock to miniblock mispredict no jump.
//!
//! | file | job |
//! |---|---|
//! | `int32`, `int64` | packed deltas to values |
//! | `in_range` | packed deltas to verdicts on the values |
//! | `compare`, `compare_wide`, `compare_decoded`, `compare_decoded_wide` | packed deltas of two streams to verdicts on their values |
//! | `sum` | packed deltas to their sum |
//!
//! All functions are inlined into the shells below, which have the features, and name none themselves: with
//! `#[target_feature]` they could not be `#[inline(always)]`, and what a loop keeps in registers would go to memory.
//!
//! Each `unsafe fn` needs a processor with the features of the shells; `# Safety` says what it needs beside that.

use std::arch::asm;
use std::arch::x86_64::*;

mod compare;
mod compare_decoded;
mod compare_decoded_wide;
mod compare_wide;
mod in_range;
mod int32;
mod int64;
mod sum;

use super::tables::{self, Bytes, NARROW, lanes, quad};
use crate::kernels::Comparison;
use crate::kernels::delta::{Blocks, PairEngine, Shells, Verdicts, feed_pairs, shells};
use compare::Compare;
use compare_decoded::CompareDecoded32;
use compare_decoded_wide::CompareDecoded64;
use compare_wide::CompareWide;
use in_range::{InRange32, InRange64};
use int32::Int32;
use int64::Int64;
use sum::{Sum32, Sum64};

pub(in crate::kernels) const I32: Shells<i32> = {
    let mut shells = shells!(
        i32,
        Int32,
        Sum32,
        InRange32,
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512vnni,bmi1,bmi2,lzcnt")]
    );
    shells.compare = compare::<32>;
    shells
};

pub(in crate::kernels) const I64: Shells<i64> = {
    let mut shells = shells!(
        i64,
        Int64,
        Sum64,
        InRange64,
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512vnni,bmi1,bmi2,lzcnt")]
    );
    shells.compare = compare::<64>;
    shells
};

/// Compares two streams of `BITS`: as far as their differences are known to have 32 bits by these, and the rest otherwise.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512vnni,bmi1,bmi2,lzcnt")]
fn compare<const BITS: u32>(
    pages: [&[u8]; 2],
    [left, right]: [&mut Blocks; 2],
    last: &mut [i64; 2],
    limits: (i64, i64),
    units: usize,
    op: Comparison,
    mut verdicts: Verdicts<'_>,
) -> usize {
    let mut done = 0;
    loop {
        let first = done;
        macro_rules! by {
            ($engine:ident) => {
                (done, verdicts) =
                    compare_by::<$engine<'_>>(pages, [left, right], last, limits, (done, units), op, verdicts);
            };
        }
        by!(Compare);
        if BITS == 32 {
            by!(CompareDecoded32);
        } else {
            by!(CompareWide);
            by!(CompareDecoded64);
        }
        if done == first {
            verdicts.finish(done);
            return done;
        }
    }
}

/// Compares two streams.
///
/// # Safety of all functions
/// The processor has the features.
trait Comparer<'a>: PairEngine + Sized {
    /// After `done` units. `last` are the values before the next ones, as they are ordered, and `limits` what values may be, no
    /// more than 2^61; or the verdicts come back.
    unsafe fn new(
        last: [i64; 2],
        limits: (i64, i64),
        op: Comparison,
        done: usize,
        verdicts: Verdicts<'a>,
    ) -> Result<Self, Verdicts<'a>>;

    /// The values before the next ones, and the verdicts.
    unsafe fn finish(self) -> ([i64; 2], Verdicts<'a>);
}

/// Compares units from the first of `units` to the second one at most, and returns where it stopped.
///
/// A function for each engine: together, they would not be kept in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512vnni,bmi1,bmi2,lzcnt")]
#[inline(never)]
fn compare_by<'a, C: Comparer<'a>>(
    pages: [&[u8]; 2],
    blocks: [&mut Blocks; 2],
    last: &mut [i64; 2],
    limits: (i64, i64),
    units: (usize, usize),
    op: Comparison,
    verdicts: Verdicts<'a>,
) -> (usize, Verdicts<'a>) {
    // SAFETY: the features are those of the function.
    unsafe {
        let mut engine = match C::new(*last, limits, op, units.0, verdicts) {
            Ok(engine) => engine,
            Err(verdicts) => return (units.0, verdicts),
        };
        let done = feed_pairs(pages, blocks, units.0, units.1, &mut engine);
        let verdicts;
        (*last, verdicts) = engine.finish();
        (done, verdicts)
    }
}

#[inline(always)]
unsafe fn constant(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes that are aligned to 64; the features are the caller's.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

/// 64 bytes from `at` on.
///
/// # Safety
/// They lie in `packed`.
#[inline(always)]
unsafe fn load(packed: &[u8], at: usize) -> __m512i {
    debug_assert!(at + 64 <= packed.len());
    // SAFETY: the caller's.
    unsafe { _mm512_loadu_si512(packed.as_ptr().add(at).cast()) }
}

/// Fetches what is loaded from `at` on some units later: of two streams, more loads wait for the cache of the second level than a
/// processor looks ahead.
#[inline(always)]
unsafe fn fetch(packed: &[u8], at: usize) {
    const AHEAD: usize = 512;
    // SAFETY: nothing is accessed.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(packed.as_ptr().wrapping_add(at + AHEAD).cast()) }
}

#[inline(always)]
unsafe fn store<T>(out: &mut [T], values: __m512i) {
    assert!(size_of_val(out) == 64);
    // SAFETY: 64 bytes, as the assertion says; the features are the caller's.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), values) }
}

/// `value`, of which the compiler knows nothing: it would replace masked additions and permutations by worse shuffles.
#[inline(always)]
fn opaque<T>(value: T) -> T {
    std::hint::black_box(value)
}

/// `sums` and the dot products of the pairs of 16-bit integers in each lane.
///
/// In assembly, as the compiler makes a multiplication and an addition of the intrinsic; and with the features, which that
/// takes.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_halves(mut sums: __m512i, halves: __m512i, factors: __m512i) -> __m512i {
    // SAFETY: computes, and nothing else; whoever can call this has the features.
    unsafe {
        asm!(
            "vpdpwssd {sums}, {halves}, {factors}",
            sums = inout(zmm_reg) sums, halves = in(zmm_reg) halves, factors = in(zmm_reg) factors,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sums
}

/// `sums` and the dot products of the four unsigned bytes in each lane with signed factors; in assembly as [`dot_halves`].
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_bytes(mut sums: __m512i, bytes: __m512i, factors: __m512i) -> __m512i {
    // SAFETY: computes, and nothing else; whoever can call this has the features.
    unsafe {
        asm!(
            "vpdpbusd {sums}, {bytes}, {factors}",
            sums = inout(zmm_reg) sums, bytes = in(zmm_reg) bytes, factors = in(zmm_reg) factors,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sums
}

/// `sums`, into which the compiler is not to look: it would add the carry before they are complete, and the next unit would
/// wait for that.
#[inline]
#[target_feature(enable = "avx512f")]
fn complete(mut sums: __m512i) -> __m512i {
    // SAFETY: does nothing.
    unsafe { asm!("/* {0} */", inout(zmm_reg) sums, options(pure, nomem, nostack, preserves_flags)) };
    sums
}

/// Running sums of 16 lanes of 32 bits.
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
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            Self {
                twos: opaque(0xcccc),
                fours: opaque(0xf0f0),
                eights: opaque(0xff00),
                third: constant(opaque(&const { lanes!(u32, |i| if i < 8 { 3 } else { 11 }) })),
                seventh: opaque(_mm512_set1_epi32(7)),
                last: opaque(_mm512_set1_epi32(15)),
            }
        }
    }

    #[inline(always)]
    unsafe fn sums(&self, values: __m512i) -> __m512i {
        // SAFETY: the features are the caller's.
        unsafe {
            let sums = _mm512_add_epi32(values, _mm512_slli_epi64::<32>(values));
            let sums = _mm512_mask_add_epi32(sums, self.twos, sums, _mm512_shuffle_epi32::<0x55>(sums));
            let sums = _mm512_mask_add_epi32(sums, self.fours, sums, _mm512_permutexvar_epi32(self.third, sums));
            let before = _mm512_permutexvar_epi32(self.seventh, sums);
            complete(_mm512_mask_add_epi32(sums, self.eights, sums, before))
        }
    }

    /// The last lane in all lanes.
    #[inline(always)]
    unsafe fn carry(&self, sums: __m512i) -> __m512i {
        // SAFETY: the features are the caller's.
        unsafe { _mm512_permutexvar_epi32(self.last, sums) }
    }
}

/// 64 values up to 8 bits, in the bytes of lanes, in order or as `quad` deals the lanes.
///
/// # Safety
/// 64 bytes from `at` on lie in `packed`; `width` is at most 8.
#[inline(always)]
unsafe fn unpack_bytes<const DEALT: bool>(packed: &[u8], at: usize, width: usize) -> __m512i {
    // SAFETY: the caller's.
    unsafe {
        let table = NARROW.get_unchecked(width);
        let (lanes, shifts) =
            if DEALT { (&table.dealt, &table.dealt_shifts) } else { (&table.bytes, &table.bytes_shifts) };
        let bytes = _mm512_permutexvar_epi8(constant(lanes), load(packed, at));
        let bytes = _mm512_multishift_epi64_epi8(constant(shifts), bytes);
        _mm512_and_si512(bytes, constant(&table.bytes_mask))
    }
}

/// What [`unpack_halves`] leaves out of each value: the halves that dot products take are signed.
const HALVES_BIAS: i64 = 1 << 15;

/// The constant of [`unpack_halves`].
#[inline(always)]
unsafe fn halves_bias() -> __m512i {
    // SAFETY: the features are the caller's.
    unsafe { _mm512_set1_epi16(i16::MIN) }
}

/// 32 values up to 16 bits, in the halves of lanes, less `HALVES_BIAS`.
///
/// # Safety
/// 64 bytes from `at` on lie in `packed`; `width` is at most 16.
#[inline(always)]
unsafe fn unpack_halves(packed: &[u8], at: usize, width: usize, bias: __m512i) -> __m512i {
    const MASK_AND_FLIP: i32 = 0x6a;
    // SAFETY: the caller's.
    unsafe {
        let table = NARROW.get_unchecked(width);
        let halves = _mm512_permutexvar_epi8(constant(&table.halves), load(packed, at));
        let halves = _mm512_multishift_epi64_epi8(constant(&table.halves_shifts), halves);
        _mm512_ternarylogic_epi32::<MASK_AND_FLIP>(halves, constant(&table.halves_mask), bias)
    }
}

/// Signed sums in lanes of 32 bits, added up in lanes of 64 bits.
#[inline(always)]
unsafe fn widen_sums(sums: __m512i) -> __m512i {
    // SAFETY: the features are the caller's.
    unsafe {
        let even = _mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(sums));
        _mm512_add_epi64(even, _mm512_srai_epi64::<32>(sums))
    }
}

/// Of 32 values up to 25 bits the even and the odd ones: from the four bytes in which each begins; `upper` masks the last 32
/// bytes, and is opaque.
///
/// # Safety
/// 64 bytes from `at + 2 * width` on lie in `packed`; `width` is at most 25.
#[inline(always)]
unsafe fn unpack_evens_and_odds(packed: &[u8], at: usize, width: usize, upper: __mmask64) -> (__m512i, __m512i) {
    // SAFETY: the caller's.
    unsafe {
        let table = NARROW.get_unchecked(width);
        let (first, second) = (load(packed, at), load(packed, at + 2 * width));
        // In place, since closures are not always inlined.
        macro_rules! unpack {
            ($lanes:expr, $shifts:expr) => {{
                let lanes = constant($lanes);
                let values = _mm512_permutexvar_epi8(lanes, first);
                let values = _mm512_mask_permutexvar_epi8(values, upper, lanes, second);
                _mm512_and_si512(_mm512_srlv_epi32(values, constant($shifts)), constant(&table.mask))
            }};
        }
        (unpack!(&table.even, &table.even_shifts), unpack!(&table.odd, &table.odd_shifts))
    }
}

/// Of 32 values the even and the odd ones: from the two words that each lies in.
///
/// # Safety
/// 64 bytes from `at + 4 * width` on lie in `packed`; `width` is at most 32.
#[inline(always)]
unsafe fn unpack_words(packed: &[u8], at: usize, width: usize) -> (__m512i, __m512i) {
    // SAFETY: the caller's.
    unsafe {
        let table = tables::WORDS.get_unchecked(width);
        let (first, second) = (load(packed, at), load(packed, at + table.second));
        macro_rules! unpack {
            ($words:expr) => {{
                let [low, high, shifts] = $words;
                let low = _mm512_permutex2var_epi32(first, constant(low), second);
                let high = _mm512_permutex2var_epi32(first, constant(high), second);
                _mm512_and_si512(_mm512_shrdv_epi32(low, high, constant(shifts)), constant(&table.mask))
            }};
        }
        (unpack!(&table.even), unpack!(&table.odd))
    }
}

/// Takes even and odd lanes apart.
#[derive(Clone, Copy)]
struct Deal {
    evens: __m512i,
    odds: __m512i,
}

impl Deal {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            Self {
                evens: constant(opaque(&const { lanes!(u32, |i| 2 * i) })),
                odds: constant(opaque(&const { lanes!(u32, |i| 2 * i + 1) })),
            }
        }
    }

    /// The even and the odd ones of 32 values.
    #[inline(always)]
    unsafe fn deal(&self, [first, second]: [__m512i; 2]) -> (__m512i, __m512i) {
        // SAFETY: the features are the caller's.
        unsafe {
            (_mm512_permutex2var_epi32(first, self.evens, second), _mm512_permutex2var_epi32(first, self.odds, second))
        }
    }
}

/// Takes even and odd lanes of 64 bits apart.
#[derive(Clone, Copy)]
struct DealWide {
    evens: __m512i,
    odds: __m512i,
}

impl DealWide {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the features are the caller's.
        unsafe {
            Self {
                evens: constant(opaque(&const { lanes!(u64, |i| 2 * i) })),
                odds: constant(opaque(&const { lanes!(u64, |i| 2 * i + 1) })),
            }
        }
    }

    /// The even and the odd ones of 16 values.
    #[inline(always)]
    unsafe fn deal(&self, [first, second]: [__m512i; 2]) -> (__m512i, __m512i) {
        // SAFETY: the features are the caller's.
        unsafe {
            (_mm512_permutex2var_epi64(first, self.evens, second), _mm512_permutex2var_epi64(first, self.odds, second))
        }
    }
}

/// 16 values: from the four bytes in which each begins, and if they are `STRADDLING` those after them.
///
/// # Safety
/// 64 bytes from `at` on lie in `packed`; `width` is at most 32, and at most 25 unless `STRADDLING`.
#[inline(always)]
unsafe fn unpack_16<const STRADDLING: bool>(packed: &[u8], at: usize, width: usize) -> __m512i {
    // SAFETY: the caller's.
    unsafe {
        let table = NARROW.get_unchecked(width);
        let bytes = load(packed, at);
        let low = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
        let shifts = constant(&table.natural_shifts);
        let values = if STRADDLING {
            _mm512_shrdv_epi32(low, _mm512_permutexvar_epi8(constant(&table.natural_high), bytes), shifts)
        } else {
            _mm512_srlv_epi32(low, shifts)
        };
        _mm512_and_si512(values, constant(&table.mask))
    }
}

/// As [`unpack_16`], twice.
///
/// # Safety
/// 64 bytes from `at + 2 * width` on lie in `packed`; as above.
#[inline(always)]
unsafe fn unpack_32<const STRADDLING: bool>(packed: &[u8], at: usize, width: usize) -> [__m512i; 2] {
    // SAFETY: the caller's.
    unsafe { [unpack_16::<STRADDLING>(packed, at, width), unpack_16::<STRADDLING>(packed, at + 2 * width, width)] }
}

/// Of 16 values up to 32 bits the even and the odd ones, in lanes of 64 bits.
///
/// # Safety
/// 64 bytes from `at` on lie in `packed`; `width` is at most 32.
#[inline(always)]
unsafe fn unpack_wide_pairs(packed: &[u8], at: usize, width: usize) -> (__m512i, __m512i) {
    // SAFETY: the caller's.
    unsafe {
        let table = tables::WIDE.get_unchecked(width);
        let (mask, bytes) = (constant(&table.mask), load(packed, at));
        let even = _mm512_permutexvar_epi8(constant(&table.even), bytes);
        let odd = _mm512_permutexvar_epi8(constant(&table.odd), bytes);
        let even = _mm512_srlv_epi64(even, constant(&table.even_shifts));
        let odd = _mm512_srlv_epi64(odd, constant(&table.odd_shifts));
        (_mm512_and_si512(even, mask), _mm512_and_si512(odd, mask))
    }
}

/// 8 values: from the eight bytes in which each begins, and if they are `STRADDLING` those after them.
///
/// # Safety
/// 64 bytes from `at` on lie in `packed`; `width` is at most 64, and at most 57 unless `STRADDLING`.
#[inline(always)]
unsafe fn unpack_8<const STRADDLING: bool>(packed: &[u8], at: usize, width: usize) -> __m512i {
    // SAFETY: the caller's.
    unsafe {
        let table = tables::WIDE.get_unchecked(width);
        let bytes = load(packed, at);
        let low = _mm512_permutexvar_epi8(constant(&table.natural), bytes);
        let shifts = constant(&table.natural_shifts);
        let values = if STRADDLING {
            _mm512_shrdv_epi64(low, _mm512_permutexvar_epi8(constant(&table.natural_high), bytes), shifts)
        } else {
            _mm512_srlv_epi64(low, shifts)
        };
        _mm512_and_si512(values, constant(&table.mask))
    }
}

/// As [`unpack_8`], twice.
///
/// # Safety
/// As above, from `at` and from `at + width` on.
#[inline(always)]
unsafe fn unpack_16_wide<const STRADDLING: bool>(packed: &[u8], at: usize, width: usize) -> [__m512i; 2] {
    // SAFETY: the caller's.
    unsafe { [unpack_8::<STRADDLING>(packed, at, width), unpack_8::<STRADDLING>(packed, at + width, width)] }
}
