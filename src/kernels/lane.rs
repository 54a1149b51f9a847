//! The faces of the kernels over INT32 and INT64 lanes.

use super::compare::Comparison;
use super::delta::{Runs, Shells, Stream, UNIT, Verdicts};
use super::encode::{Pack, encoded_room};
use super::{Kernels, copy_bits, isa};

/// The kernels of one lane type.
pub(super) struct Table<T: 'static> {
    pub(super) delta: Shells<T>,
    pub(super) encode: unsafe fn(&[T], &mut [u8]) -> usize,
    pub(super) in_range: unsafe fn(&[T], T, T, &mut [u64]),
    pub(super) compare: unsafe fn(&[T], &[T], Comparison, bool, &mut [u64]),
    pub(super) in_bitmap: unsafe fn(&[T], T, &[u64], bool, &mut [u64]),
    pub(super) in_sorted: unsafe fn(&[T], &[T], &mut [u64]),
}

/// A physical type that DELTA_BINARY_PACKED knows: `i32` or `i64`.
pub trait Lane: Copy + Default + Ord + std::fmt::Debug + Send + Sync + 'static + sealed::Lane {
    /// The width in bits, and the largest `bit_width`.
    const BITS: u32;

    /// The values of a block that [`Lane::encode`] writes.
    const BLOCK: usize;

    /// The low bits of `value`: arithmetic in 64 bits, then this, is arithmetic that wraps at the width of the lane.
    fn wrap(value: i64) -> Self;

    /// The value in 64 bits.
    fn widen(self) -> i64;

    /// The value as an unsigned one, in 64 bits.
    fn widen_unsigned(self) -> i64;

    /// `self + other`, wrapping.
    #[must_use]
    fn add(self, other: Self) -> Self;

    /// `self * other`, wrapping.
    #[must_use]
    fn mul(self, other: Self) -> Self;

    /// `self - other`, wrapping.
    #[must_use]
    fn sub(self, other: Self) -> Self;

    /// Decodes the next values of `stream` into `out`, held ones first, and returns their number.
    ///
    /// It is less than `out.len()` where no more deltas are left, or where what follows is malformed or of a shape that the
    /// kernels do not know: miniblocks that are no multiple of 32, widths over [`Lane::BITS`]. `stream` then stands before
    /// that, and holds nothing.
    #[inline]
    fn decode(kernels: &Kernels, page: &[u8], stream: &mut Stream<Self>, out: &mut [Self]) -> usize {
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).delta.decode)(page, stream, out) }
    }

    /// Passes over the next `count` values of `stream`, without unpacking more than their sums, and returns their number: as
    /// [`Lane::decode`].
    #[inline]
    fn skip(kernels: &Kernels, page: &[u8], stream: &mut Stream<Self>, count: usize) -> usize {
        let held = stream.held.min(count);
        stream.held -= held;
        let count = (count - held).min(stream.blocks.deltas);
        // SAFETY: there is a reference to the table, so the processor has its features.
        let (units, sum) = unsafe { (Self::table(kernels).delta.sum)(page, &mut stream.blocks, count / UNIT) };
        stream.last = stream.last.add(sum);
        let mut done = units * UNIT;
        if count - done < UNIT && count > done {
            done += Self::decode(kernels, page, stream, &mut [Self::default(); UNIT][..count - done]);
        }
        held + done
    }

    /// Compares the next `count` values of `stream` as [`Lane::in_range`] does, without writing them anywhere, and returns
    /// their number: as [`Lane::decode`].
    ///
    /// # Panics
    /// `words` is shorter than `count.div_ceil(64)`; further words are untouched.
    #[inline]
    fn decode_in_range(
        kernels: &Kernels,
        page: &[u8],
        stream: &mut Stream<Self>,
        count: usize,
        low: Self,
        high: Self,
        words: &mut [u64],
    ) -> usize {
        let words = &mut words[..count.div_ceil(64)];
        if low > high {
            words.fill(0);
            return Self::skip(kernels, page, stream, count);
        }
        let mut some = [Self::default(); UNIT];
        let mut word = [0];
        let held = stream.take_held(&mut some[..count.min(UNIT)]);
        Self::in_range(kernels, &some[..held], low, high, &mut word[..held.div_ceil(64)]);
        if let (true, Some(first)) = (held > 0, words.first_mut()) {
            *first = word[0];
        }
        let wanted = (count - held).min(stream.blocks.deltas);
        let verdicts = Verdicts::new(words, held as u32);
        // SAFETY: there is a reference to the table, so the processor has its features.
        let units =
            unsafe { (Self::table(kernels).delta.in_range)(page, stream, wanted / UNIT, (low, high), verdicts) };
        let done = held + units * UNIT;
        let rest = wanted - units * UNIT;
        if rest == 0 || rest >= UNIT {
            return done;
        }
        let rest = Self::decode(kernels, page, stream, &mut some[..rest]);
        Self::in_range(kernels, &some[..rest], low, high, &mut word[..rest.div_ceil(64)]);
        words[done.div_ceil(64)..].fill(0);
        copy_bits(&word, 0, words, done, rest);
        done + rest
    }

    /// Compares the next values of two streams as [`Lane::compare`] does, without decoding them, into the bits of `words` from
    /// `from` on; returns their number, which is at most `count`.
    ///
    /// It may be any: streams are compared so where their blocks stand in step. Bits after those, up to the end of their word,
    /// are cleared.
    ///
    /// # Panics
    /// `words` is shorter than `(from + count).div_ceil(64)`.
    fn compare_streams(
        kernels: &Kernels,
        [left, right]: [(&[u8], &mut Stream<Self>); 2],
        count: usize,
        (op, signed): (Comparison, bool),
        words: &mut [u64],
        from: usize,
    ) -> usize {
        let words = &mut words[..(from + count).div_ceil(64)];
        let [(left_page, left), (right_page, right)] = [left, right];
        let held = left.held;
        if held != right.held || held > count {
            return 0;
        }
        if held > 0 {
            let mut word = [0];
            Self::compare(kernels, left.held(), right.held(), op, signed, &mut word);
            copy_bits(&word, 0, words, from, held);
        }
        let from = from + held;
        let verdicts = Verdicts::new(&mut words[from / 64..], (from % 64) as u32);
        let order = |value: Self| if signed { value.widen() } else { value.widen_unsigned() };
        let limits = match (Self::BITS, signed) {
            (32, true) => (i32::MIN.into(), i32::MAX.into()),
            (32, false) => (0, u32::MAX.into()),
            (_, true) => (-1 << 61, 1 << 61),
            (_, false) => (0, 1 << 61),
        };
        let mut last = [order(left.last), order(right.last)];
        let wanted = (count - held) / UNIT;
        let blocks = [&mut left.blocks, &mut right.blocks];
        // SAFETY: there is a reference to the table, so the processor has its features.
        let units = unsafe {
            (Self::table(kernels).delta.compare)(
                [left_page, right_page],
                blocks,
                &mut last,
                limits,
                wanted,
                op,
                verdicts,
            )
        };
        if units == 0 {
            // The held ones are left, too.
            return 0;
        }
        (left.held, right.held) = (0, 0);
        (left.last, right.last) = (Self::wrap(last[0]), Self::wrap(last[1]));
        held + units * UNIT
    }

    /// Unpacks `out.len()` deltas of any width up to 64, adds `min_delta` to each and writes their running sum from `last`:
    /// what is too odd for [`Lane::decode`]. Returns the last value.
    ///
    /// # Panics
    /// `out.len()` is no multiple of 8, `bit_width` is over 64, or `packed` is shorter than `out.len() / 8 * bit_width`.
    fn decode_odd(packed: &[u8], bit_width: u32, min_delta: i64, last: Self, out: &mut [Self]) -> Self {
        assert!(out.len().is_multiple_of(8), "deltas are decoded in groups of 8");
        let decode = <i64 as sealed::Lane>::runs().decode[bit_width as usize];
        let mut last = last.widen();
        let mut eight = [0; 8];
        for (index, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            last = decode(&packed[index * bit_width as usize..], min_delta, last, &mut eight);
            *out = eight.map(Self::wrap);
        }
        Self::wrap(last)
    }

    /// Encodes blocks of [`Lane::BLOCK`] deltas in [`MINIBLOCKS`](super::MINIBLOCKS) miniblocks to the front of `out`, and
    /// returns the number of bytes: of `values`, the first one is that before the blocks. Bytes after those may be overwritten.
    ///
    /// # Panics
    /// `values` are not whole blocks and one, or `out` is shorter than their [`encoded_room`].
    #[inline]
    fn encode(kernels: &Kernels, values: &[Self], out: &mut [u8]) -> usize {
        assert!(values.len() % Self::BLOCK == 1, "whole blocks, and the value before");
        assert!(out.len() >= encoded_room::<Self>(values.len() / Self::BLOCK), "room for the blocks");
        // SAFETY: there is a reference to the table, so the processor has its features; the rest was checked.
        unsafe { (Self::table(kernels).encode)(values, out) }
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

    /// Sets bit `i` where bit `values[i] - base` of `bitmap` is set, and clears it elsewhere, up to the end of the last word.
    ///
    /// The difference wraps and is unsigned; `outside` is the answer where it lies past the end of `bitmap`.
    ///
    /// # Panics
    /// `words` is shorter than `values.len().div_ceil(64)`; further words are untouched.
    #[inline]
    fn in_bitmap(kernels: &Kernels, values: &[Self], base: Self, bitmap: &[u64], outside: bool, words: &mut [u64]) {
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).in_bitmap)(values, base, bitmap, outside, words) }
    }

    /// Sets bit `i` where `values[i]` is in `set`, and clears it elsewhere, up to the end of the last word.
    ///
    /// `set` ascends; meant for some tens of members that lie too far apart for [`Lane::in_bitmap`].
    ///
    /// # Panics
    /// `words` is shorter than `values.len().div_ceil(64)`; further words are untouched.
    #[inline]
    fn in_sorted(kernels: &Kernels, values: &[Self], set: &[Self], words: &mut [u64]) {
        debug_assert!(set.is_sorted(), "the set ascends");
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).in_sorted)(values, set, words) }
    }
}

pub(super) mod sealed {
    /// What the bodies need of a lane.
    pub trait Lane: Sized {
        /// The unsigned type of the same width.
        type Unsigned: Copy + Ord + Into<u64>;
        /// The same bits.
        fn unsigned(self) -> Self::Unsigned;
        /// The ZigZag code, which has no more bits than the lane.
        fn zigzag(self) -> Self::Unsigned;
        /// The low bits.
        fn truncate(value: u64) -> Self;
        #[expect(private_interfaces, reason = "the trait is sealed")]
        fn table(kernels: &super::Kernels) -> &super::Table<Self>;
        /// The portable kernels of all widths.
        #[expect(private_interfaces, reason = "the trait is sealed")]
        fn runs() -> &'static super::Runs<Self>;
        /// The kernels that pack units, by width.
        fn pack() -> &'static [super::Pack<Self>];
    }
}

macro_rules! lane {
    ($lane:ident, $unsigned:ident, $block:literal, $runs:ident, $pack:ident) => {
        impl Lane for $lane {
            const BITS: u32 = $lane::BITS;
            const BLOCK: usize = $block;

            #[inline(always)]
            fn wrap(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn widen(self) -> i64 {
                i64::from(self)
            }

            #[inline(always)]
            fn widen_unsigned(self) -> i64 {
                self.cast_unsigned() as i64
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
            fn zigzag(self) -> $unsigned {
                (self << 1 ^ self >> (Self::BITS - 1)).cast_unsigned()
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

            #[expect(private_interfaces, reason = "the trait is sealed")]
            #[inline(always)]
            fn runs() -> &'static Runs<Self> {
                &isa::$runs
            }

            #[inline(always)]
            fn pack() -> &'static [Pack<Self>] {
                isa::$pack
            }
        }
    };
}

// Blocks as the parquet crate writes them, so that all readers have met them.
lane!(i32, u32, 128, RUNS_I32, PACK_I32);
lane!(i64, u64, 256, RUNS_I64, PACK_I64);
