//! Byte arrays of which each begins with some bytes of the one before: lengths, and short values.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::Kernels;
use super::views::INLINE_LEN;

/// The longest value that [`Kernels::front_coded_long`] takes.
pub const LONGEST: usize = 255;

/// Bytes of the registers that hold it.
pub const REGISTERS: usize = 256;

/// Bytes before and after a suffix that [`Kernels::front_coded`] may load.
pub const MARGIN: usize = 16;

/// Values of which each begins with some bytes of the value before: there is none whose lengths do not fit together.
#[derive(Debug, Clone, Copy)]
pub struct FrontCoded<'a> {
    pub(super) prefixes: &'a [i32],
    pub(super) suffixes: &'a [i32],
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
    end: usize,
    longest: usize,
    total: usize,
}

/// What is wrong with lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// One is negative, or that of a value exceeds 31 bits.
    Length,
    /// A value begins with more than there is of the one before.
    Prefix,
    /// The suffixes run past the end of the bytes.
    End,
}

/// What there is to know of the lengths of some values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Whether one is negative, or that of a value exceeds 31 bits; the rest means nothing then.
    misfit: bool,
    /// Whether a prefix is longer than the value before.
    long_prefix: bool,
    longest: i32,
    /// Of all values.
    total: u64,
    /// Of all suffixes.
    own: u64,
}

impl<'a> FrontCoded<'a> {
    /// Values that begin with `prefixes` bytes of the value before each, of `before` bytes at first, and go on with as many
    /// bytes as `suffixes` says, which follow each other in `bytes` from `start` on.
    ///
    /// # Errors
    /// See [`Misfit`].
    ///
    /// # Panics
    /// There are not as many suffixes as prefixes.
    pub fn new(
        kernels: &Kernels,
        (prefixes, suffixes): (&'a [i32], &'a [i32]),
        before: usize,
        bytes: &'a [u8],
        start: usize,
    ) -> Result<Self, Misfit> {
        assert_eq!(prefixes.len(), suffixes.len(), "each value has a prefix and a suffix");
        // SAFETY: there is a reference to this table, so the processor has its features.
        let lengths = unsafe { (kernels.front_coded_lengths)(prefixes, suffixes) };
        if lengths.misfit {
            return Err(Misfit::Length);
        }
        if lengths.long_prefix || prefixes.first().is_some_and(|&prefix| prefix as usize > before) {
            return Err(Misfit::Prefix);
        }
        // No page has more.
        let own = u32::try_from(lengths.own).ok();
        let end = own.and_then(|own| start.checked_add(own as usize));
        let Some(end) = end.filter(|end| *end <= bytes.len()) else { return Err(Misfit::End) };
        let total = usize::try_from(lengths.total).unwrap_or(usize::MAX);
        Ok(Self { prefixes, suffixes, bytes, start, end, longest: lengths.longest as usize, total })
    }

    /// How many values.
    pub fn count(&self) -> usize {
        self.prefixes.len()
    }

    /// How long the prefix and the suffix of each value is.
    #[inline(always)]
    pub fn lengths(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + 'a {
        self.lengths_of(0..self.count())
    }

    /// How long the prefix and the suffix of some of the values is.
    ///
    /// # Panics
    /// There are fewer values.
    #[inline(always)]
    pub fn lengths_of(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, usize)> + 'a {
        let lengths = self.prefixes[range.clone()].iter().zip(&self.suffixes[range]);
        lengths.map(|(&prefix, &suffix)| (prefix as usize, suffix as usize))
    }

    /// Bytes of the suffixes of some of the values.
    ///
    /// # Panics
    /// There are fewer values.
    #[inline(always)]
    pub fn suffixes(&self, range: Range<usize>) -> usize {
        // All together have 32 bits.
        self.suffixes[range].iter().fold(0_u32, |sum, suffix| sum.wrapping_add(suffix.cast_unsigned())) as usize
    }

    /// Where the suffixes begin.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Where the suffixes end.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Where the suffixes are.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes of the longest value.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Bytes of all values together.
    pub fn total(&self) -> usize {
        self.total
    }
}

/// Of as many prefixes and suffixes.
#[inline(always)]
pub(super) fn lengths(prefixes: &[i32], suffixes: &[i32]) -> Lengths {
    // All tests are of sign bits: a sum that overflows is negative.
    let (mut any, mut short_before, mut longest) = (0, 0, 0);
    let (mut total, mut own) = (0_u32, 0_u32);
    for (&prefix, &suffix) in prefixes.iter().zip(suffixes) {
        let length = prefix.wrapping_add(suffix);
        any |= prefix | suffix | length;
        longest = longest.max(length);
        total = total.wrapping_add(length.cast_unsigned());
        own = own.wrapping_add(suffix.cast_unsigned());
    }
    for ((&prefix, &suffix), &next) in prefixes.iter().zip(suffixes).zip(prefixes.iter().skip(1)) {
        short_before |= prefix.wrapping_add(suffix).wrapping_sub(next);
    }
    let (mut total, mut own) = (u64::from(total), u64::from(own));
    if longest.cast_unsigned() as usize > u32::MAX as usize / prefixes.len().max(1) {
        // The sums may have wrapped.
        let sum = |lengths: &[i32]| lengths.iter().map(|length| u64::from(length.cast_unsigned())).sum::<u64>();
        own = sum(suffixes);
        total = own + sum(prefixes);
    }
    Lengths { misfit: any < 0, long_prefix: short_before < 0, longest, total, own }
}

/// Masks of the bytes of values in a view, by their length.
static PAYLOAD: [u128; INLINE_LEN + 1] = {
    let mut masks = [0; INLINE_LEN + 1];
    let mut len = 0;
    while len <= INLINE_LEN {
        masks[len] = ((1 << (8 * len)) - 1) << 32;
        len += 1;
    }
    masks
};

impl Kernels {
    /// Makes the views of values of at most 12 bytes. `previous` is the view of the value before the first; what comes back is
    /// the last.
    ///
    /// # Panics
    /// `out` is not of as many, a value is longer than 12 bytes, or there are no [`MARGIN`] bytes before the first suffix, or
    /// after the last.
    pub fn front_coded(&self, values: FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
        assert_eq!(values.count(), out.len(), "a view for each value");
        assert!(values.longest <= INLINE_LEN, "values fit into their views");
        assert!(values.start >= MARGIN && values.bytes.len() - values.end >= MARGIN, "margins");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.front_coded)(&values, previous, out) }
    }

    /// Makes the views of values that have nothing in common, which stay where they are: they begin at `offset` of buffer
    /// `buffer_index`. How many of their bytes are those of values longer than 12.
    ///
    /// # Panics
    /// As [`Kernels::front_coded_heads`], or they do not end within 31 bits.
    pub fn views_in_place(
        &self,
        values: FrontCoded<'_>,
        (buffer_index, offset): (u32, usize),
        out: &mut [u128],
    ) -> usize {
        assert_eq!(values.count(), out.len(), "a view for each value");
        assert!(values.start >= MARGIN && values.bytes.len() - values.end >= MARGIN, "margins");
        assert!(offset + (values.end - values.start) <= i32::MAX as usize, "offsets fit in 31 bits");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.views_in_place)(&values, u64::from(buffer_index) | (offset as u64) << 32, out) }
    }

    /// Makes the heads of values of any length: their lengths, and the first 12 bytes of each, padded with zeros. `previous` is that
    /// of the value before the first.
    ///
    /// # Panics
    /// `out` is not of as many, or there are no [`MARGIN`] bytes before the first suffix, or after the last.
    pub fn front_coded_heads(&self, values: FrontCoded<'_>, previous: u128, out: &mut [u128]) {
        assert_eq!(values.count(), out.len(), "a head for each value");
        assert!(values.start >= MARGIN && values.bytes.len() - values.end >= MARGIN, "margins");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.front_coded_heads)(&values, previous, out) }
    }

    /// Makes values of at most [`LONGEST`] bytes: views, and the bytes of those longer than 12 in `data`, of which the number
    /// comes back. `value` is the one before the first, with zeros behind, and then the last; `place` is what the views say of
    /// `data`: the index of the buffer, and where in it `data` begins. None, and nothing is done, where there is no quick way.
    ///
    /// # Panics
    /// `out` is not of as many, a value is too long, or `data` has no room for all values and [`REGISTERS`] more.
    pub fn front_coded_long(
        &self,
        values: FrontCoded<'_>,
        value: &mut [u8; REGISTERS],
        data: &mut [MaybeUninit<u8>],
        place: (u32, u32),
        out: &mut [u128],
    ) -> Option<usize> {
        let kernel = self.front_coded_long?;
        assert_eq!(values.count(), out.len(), "a view for each value");
        assert!(values.longest <= LONGEST, "values fit into registers");
        assert!(values.total.checked_add(REGISTERS).is_some_and(|room| room <= data.len()), "room for all values");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        Some(unsafe { kernel(&values, value, data, place, out) })
    }
}

/// Makes views, or heads where values may be longer than views have room for.
///
/// # Safety
/// What [`Kernels::front_coded`] checks, or for `HEADS` [`Kernels::front_coded_heads`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn front_coded<const HEADS: bool>(values: &FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
    use std::arch::x86_64::*;
    let within = |len: usize| if HEADS { len.min(INLINE_LEN) } else { len };
    // SAFETY: every x86-64 processor has SSE2; lengths are those of the masks; a load begins at most 16 bytes before its suffix,
    // and ends at most 16 bytes after the beginning of it.
    unsafe {
        let mask = |len: usize| _mm_loadu_si128(PAYLOAD.as_ptr().add(len).cast());
        let mut view = _mm_loadu_si128(std::ptr::from_ref(&previous).cast());
        let mut at = values.bytes.as_ptr().add(values.start);
        for (slot, (prefix, suffix)) in out.iter_mut().zip(values.lengths()) {
            let length = prefix + suffix;
            let kept = mask(within(prefix));
            // The mask of the prefix is part of that of the value.
            let added = _mm_loadu_si128(at.sub(within(prefix) + 4).cast());
            let added = _mm_and_si128(added, _mm_andnot_si128(kept, mask(within(length))));
            let added = _mm_or_si128(added, _mm_cvtsi32_si128(length as i32));
            // The chain from value to value.
            view = _mm_or_si128(_mm_and_si128(view, kept), added);
            _mm_storeu_si128(std::ptr::from_mut(slot).cast(), view);
            at = at.add(suffix);
        }
        let mut last = 0;
        _mm_storeu_si128(std::ptr::from_mut(&mut last).cast(), view);
        last
    }
}

/// # Safety
/// As for x86-64; nothing depends on it here.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) unsafe fn front_coded<const HEADS: bool>(values: &FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
    let (mut view, mut position) = (previous, values.start);
    for (slot, (prefix, suffix)) in out.iter_mut().zip(values.lengths()) {
        let (kept, length) = (prefix.min(INLINE_LEN), prefix + suffix);
        let added = values.bytes[position..].first_chunk::<16>().map_or(0, |chunk| u128::from_le_bytes(*chunk));
        // A shift by all bits is none: the mask leaves nothing of it.
        let added = added.wrapping_shl(8 * (kept as u32 + 4)) & (PAYLOAD[length.min(INLINE_LEN)] ^ PAYLOAD[kept]);
        view = view & PAYLOAD[kept] | added | length as u128;
        *slot = view;
        position += suffix;
    }
    view
}

/// `place`: the upper half of a long view of the first value.
///
/// # Safety
/// What [`Kernels::views_in_place`] checks.
#[inline(always)]
pub(super) unsafe fn views_in_place(values: &FrontCoded<'_>, mut place: u64, out: &mut [u128]) -> usize {
    let (mut at, mut long) = (values.start, 0);
    for (view, &suffix) in out.iter_mut().zip(values.suffixes) {
        let length = u64::from(suffix.cast_unsigned());
        // SAFETY: the suffix begins within the bytes, after four and before twelve of them.
        let chunk = unsafe { values.bytes.as_ptr().add(at - 4).cast::<[u8; 16]>().read() };
        let value = u128::from_le_bytes(chunk) & PAYLOAD[(length as usize).min(INLINE_LEN)];
        // All bits if it is long. No branch: nobody can predict it.
        let is_long = ((INLINE_LEN as i64 - length.cast_signed()) >> 63).cast_unsigned();
        let upper = (value >> 64) as u64 & !is_long | place & is_long;
        *view = u128::from(value as u64 | length) | u128::from(upper) << 64;
        long += length & is_long;
        place += length << 32;
        at += length as usize;
    }
    long as usize
}
