//! What differs between instruction sets although it is written in the same language.

use super::bits::low_ones;

/// Steps that a compiler does well for some instruction sets and badly for others.
pub(super) trait Tools {
    /// The bits of `word` at the set positions of `mask`, moved together.
    ///
    /// # Safety
    /// The processor has the instruction set.
    unsafe fn pext(word: u64, mask: u64) -> u64;
    /// The low bits of `word`, moved to the set positions of `mask`.
    ///
    /// # Safety
    /// The processor has the instruction set.
    unsafe fn pdep(word: u64, mask: u64) -> u64;
    /// The width of the lanes from which on [`reduce`] beats [`gather`].
    const REDUCE_FROM: u32;
    /// Whether vectors of 64-bit integers are compared in one step.
    const ORDERS_64: bool;

    /// A word of the verdicts on 64 rows, which compare lanes of `lane_bits`.
    #[inline(always)]
    fn pack(lane_bits: u32, verdict: impl Fn(usize) -> bool) -> u64 {
        if lane_bits >= Self::REDUCE_FROM { reduce(verdict) } else { gather(verdict) }
    }
}

/// For machines without vectors, or with those of 16 bytes.
pub(super) struct Portable;

impl Tools for Portable {
    // A step for each run of ones in the mask, so that dense and blocked masks are cheap.
    #[inline(always)]
    unsafe fn pext(word: u64, mut mask: u64) -> u64 {
        let mut out = 0;
        let mut written = 0;
        while mask != 0 {
            let start = mask.trailing_zeros();
            let run = (mask >> start).trailing_ones();
            out |= ((word >> start) & low_ones(run)) << written;
            written += run;
            mask &= !(low_ones(run) << start);
        }
        out
    }

    #[inline(always)]
    unsafe fn pdep(word: u64, mut mask: u64) -> u64 {
        let mut out = 0;
        let mut used = 0;
        while mask != 0 {
            let start = mask.trailing_zeros();
            let run = (mask >> start).trailing_ones();
            out |= ((word >> used) & low_ones(run)) << start;
            used += run;
            mask &= !(low_ones(run) << start);
        }
        out
    }

    const REDUCE_FROM: u32 = u32::MAX;
    const ORDERS_64: bool = false;
}

/// Becomes vectors of verdicts that shrink to bytes, and a product for each eight of them.
#[inline(always)]
fn gather(verdict: impl Fn(usize) -> bool) -> u64 {
    let mut verdicts = [0; 64];
    for (index, slot) in verdicts.iter_mut().enumerate() {
        *slot = u8::from(verdict(index));
    }
    let mut word = 0;
    for (index, bytes) in verdicts.as_chunks::<8>().0.iter().enumerate() {
        // Byte i holds 0 or 1: the product moves it to bit 56 + i, and no two of the terms meet.
        let gathered = u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= gathered << (8 * index);
    }
    word
}

/// Becomes vectors of bits, and one reduction of them.
#[inline(always)]
fn reduce(verdict: impl Fn(usize) -> bool) -> u64 {
    let mut word = 0;
    for index in 0..64 {
        word |= u64::from(verdict(index)) << index;
    }
    word
}

/// For AVX2 and AVX-512 with BMI2; `LANE_BITS` is [`Tools::REDUCE_FROM`].
#[cfg(target_arch = "x86_64")]
pub(super) struct Wide<const LANE_BITS: u32>;

#[cfg(target_arch = "x86_64")]
impl<const LANE_BITS: u32> Tools for Wide<LANE_BITS> {
    #[inline(always)]
    unsafe fn pext(word: u64, mask: u64) -> u64 {
        // SAFETY: the caller's.
        unsafe { std::arch::x86_64::_pext_u64(word, mask) }
    }

    #[inline(always)]
    unsafe fn pdep(word: u64, mask: u64) -> u64 {
        // SAFETY: the caller's.
        unsafe { std::arch::x86_64::_pdep_u64(word, mask) }
    }

    const REDUCE_FROM: u32 = LANE_BITS;
    const ORDERS_64: bool = true;
}
