//! The faces of the kernels over INT32 and INT64 lanes.

use super::compare::Comparison;
use super::{Kernels, delta};

/// Decodes deltas of one width.
pub(super) type Decode<T> = unsafe fn(&[u8], T, T, &mut [T]) -> T;

/// Decodes whole blocks.
pub(super) type DecodeBlocks<T> = unsafe fn(&[u8], &mut usize, usize, &mut T, &mut [T]) -> usize;

/// Passes over whole blocks.
pub(super) type SkipBlocks<T> = unsafe fn(&[u8], &mut usize, usize, usize, &mut T) -> usize;

/// The kernels of one lane type.
pub(super) struct Table<T: 'static> {
    pub(super) decode_blocks: DecodeBlocks<T>,
    pub(super) skip_blocks: SkipBlocks<T>,
    /// One for each width.
    pub(super) decode: &'static [Decode<T>],
    pub(super) in_range: unsafe fn(&[T], T, T, &mut [u64]),
    pub(super) compare: unsafe fn(&[T], &[T], Comparison, bool, &mut [u64]),
}

/// A physical type that DELTA_BINARY_PACKED knows: `i32` or `i64`.
pub trait Lane: Copy + Default + Ord + std::fmt::Debug + Send + Sync + 'static + sealed::Lane {
    /// The width in bits, and the largest `bit_width`.
    const BITS: u32;

    /// The low bits of `value`: arithmetic in 64 bits, then this, is arithmetic that wraps at the width of the lane.
    fn wrap(value: i64) -> Self;

    /// The value in 64 bits.
    fn widen(self) -> i64;

    /// `self + other`, wrapping.
    #[must_use]
    fn add(self, other: Self) -> Self;

    /// `self * other`, wrapping.
    #[must_use]
    fn mul(self, other: Self) -> Self;

    /// `self - other`, wrapping.
    #[must_use]
    fn sub(self, other: Self) -> Self;

    /// Unpacks `out.len()` deltas, adds `min_delta` to each and writes their running sum from `last`, wrapping.
    ///
    /// Returns the last value written, or `last` if there is none. One call may span miniblocks of one block that have the same width.
    ///
    /// # Panics
    /// `out.len()` is no multiple of 32, `bit_width` is over [`Lane::BITS`], or `packed` is shorter than
    /// `out.len() / 8 * bit_width` bytes.
    #[inline]
    fn decode(kernels: &Kernels, packed: &[u8], bit_width: u32, min_delta: Self, last: Self, out: &mut [Self]) -> Self {
        assert!(out.len().is_multiple_of(delta::GROUP), "deltas are decoded in groups of 32");
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { Self::table(kernels).decode[bit_width as usize](packed, min_delta, last, out) }
    }

    /// Decodes whole blocks of four miniblocks, headers included, from `position` in `page` on, as long as they fit into
    /// `out`; `last` is the value before them. Returns the number of values, and leaves `position` at the next block.
    ///
    /// A fast lane: it stops before a block that is out of the ordinary, near the end of the page or malformed, and whoever
    /// calls decodes that one otherwise. Some instruction sets have none, and return 0.
    #[inline]
    fn decode_blocks(
        kernels: &Kernels,
        page: &[u8],
        position: &mut usize,
        values_per_miniblock: usize,
        last: &mut Self,
        out: &mut [Self],
    ) -> usize {
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).decode_blocks)(page, position, values_per_miniblock, last, out) }
    }

    /// Moves `last` past up to `blocks` blocks, as [`Lane::decode_blocks`] would; returns the number of blocks.
    #[inline]
    fn skip_blocks(
        kernels: &Kernels,
        page: &[u8],
        position: &mut usize,
        values_per_miniblock: usize,
        blocks: usize,
        last: &mut Self,
    ) -> usize {
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).skip_blocks)(page, position, values_per_miniblock, blocks, last) }
    }

    /// The wrapping sum of `count` packed deltas, `min_delta` added to each: what a skip adds to the last value.
    ///
    /// # Panics
    /// As [`Lane::decode`] with `count` for `out.len()`.
    #[inline]
    fn sum(kernels: &Kernels, packed: &[u8], bit_width: u32, min_delta: Self, count: usize) -> Self {
        assert!(count.is_multiple_of(delta::GROUP), "deltas are summed in groups of 32");
        assert!(bit_width <= Self::BITS, "bit width {bit_width} of {}-bit lanes", Self::BITS);
        // SAFETY: there is a reference to the table, so the processor has its features.
        let sum = unsafe { kernels.sum[bit_width as usize](packed, count) };
        // All of this wraps at the width of the lane.
        Self::truncate(sum).add(min_delta.mul(Self::truncate(count as u64)))
    }

    /// Sets bit `i` where `low <= values[i] <= high`, and clears it elsewhere, up to the end of the last word.
    ///
    /// # Panics
    /// `words` is shorter than `values.len().div_ceil(64)`; further words are untouched.
    #[inline]
    fn in_range(kernels: &Kernels, values: &[Self], low: Self, high: Self, words: &mut [u64]) {
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).in_range)(values, low, high, words) }
    }

    /// Sets bit `i` where `left[i] op right[i]`, and clears it elsewhere, up to the end of the last word.
    ///
    /// The lanes are compared as unsigned integers where `signed` is false.
    ///
    /// # Panics
    /// `left` and `right` differ in length, or `words` is shorter than `left.len().div_ceil(64)`; further words are
    /// untouched.
    #[inline]
    fn compare(kernels: &Kernels, left: &[Self], right: &[Self], op: Comparison, signed: bool, words: &mut [u64]) {
        assert_eq!(left.len(), right.len(), "the columns have the same rows");
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).compare)(left, right, op, signed, words) }
    }
}

pub(super) mod sealed {
    /// What the bodies need of a lane.
    pub trait Lane: Sized {
        /// The unsigned type of the same width.
        type Unsigned: Copy + Ord;
        /// The same bits.
        fn unsigned(self) -> Self::Unsigned;
        /// The low bits.
        fn truncate(value: u64) -> Self;
        #[expect(private_interfaces, reason = "the trait is sealed")]
        fn table(kernels: &super::Kernels) -> &super::Table<Self>;
    }
}

macro_rules! lane {
    ($lane:ident, $unsigned:ident) => {
        impl Lane for $lane {
            const BITS: u32 = $lane::BITS;

            #[inline(always)]
            fn wrap(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn widen(self) -> i64 {
                i64::from(self)
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }

        impl sealed::Lane for $lane {
            type Unsigned = $unsigned;

            #[inline(always)]
            fn unsigned(self) -> $unsigned {
                self.cast_unsigned()
            }

            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as Self
            }

            #[expect(private_interfaces, reason = "the trait is sealed")]
            #[inline(always)]
            fn table(kernels: &Kernels) -> &Table<Self> {
                &kernels.$lane
            }
        }
    };
}

lane!(i32, u32);
lane!(i64, u64);
