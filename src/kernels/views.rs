//! Arrow views of byte arrays: 16 bytes, the length in the first four, then up to 12 bytes padded with zeros.

use std::mem::MaybeUninit;

use super::Kernels;

/// The longest value that lives in its view.
pub(super) const INLINE_LEN: usize = 12;

/// The longest value that [`Kernels::front_coded_long`] takes.
pub const LONGEST: usize = 64;

/// Values of which each begins with some bytes of the one before.
#[derive(Debug, Clone, Copy)]
pub struct FrontCoded<'a> {
    /// How many bytes of the value before each value begins with.
    pub prefixes: &'a [i32],
    /// How many bytes of its own follow them.
    pub suffixes: &'a [i32],
    /// Where these are, one after the other from `start` on.
    pub bytes: &'a [u8],
    /// See `bytes`.
    pub start: usize,
}

impl FrontCoded<'_> {
    /// The lengths added up and the longest value, if there are `count` of which none is negative, and the suffixes are in
    /// `bytes` with `margin` bytes around them.
    #[inline(always)]
    fn check(&self, count: usize, margin: usize) -> Option<(usize, usize)> {
        if self.prefixes.len() != count || self.suffixes.len() != count || count > 1 << 16 {
            return None;
        }
        let (mut any, mut longest, mut total, mut own) = (0, 0, 0_i32, 0_i32);
        for (&prefix, &suffix) in self.prefixes.iter().zip(self.suffixes) {
            let length = prefix.wrapping_add(suffix);
            any |= prefix | suffix | length;
            longest = longest.max(length);
            total = total.wrapping_add(length);
            own = own.wrapping_add(suffix);
        }
        // So many short lengths do not wrap.
        if any < 0 || longest > LONGEST as i32 {
            return None;
        }
        let end = self.start.checked_add(own as usize)?.checked_add(margin)?;
        (self.start >= margin && end <= self.bytes.len()).then_some((total as usize, longest as usize))
    }
}

/// Bytes before and after a suffix that [`Kernels::front_coded`] may load.
pub const MARGIN: usize = 16;

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
    /// The slices differ in length, a length is negative, a value is longer than 12 bytes, or there are no [`MARGIN`] bytes
    /// before the first suffix, or after the last.
    pub fn front_coded(&self, input: FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
        let checked = input.check(out.len(), MARGIN);
        assert!(
            checked.is_some_and(|(_, longest)| longest <= INLINE_LEN),
            "values fit into their views, within margins"
        );
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.front_coded)(&input, previous, out) }
    }

    /// Makes values of at most [`LONGEST`] bytes: views, and the bytes of those longer than 12 in `data`, of which the number
    /// comes back. `value` is the one before the first, with zeros behind, and then the last; `place` is what the views say of
    /// `data`: the index of the buffer, and where in it `data` begins. None, and nothing is done, where there is no quick way.
    ///
    /// # Panics
    /// The slices differ in length, a length is negative or too long, the suffixes run past the end of the bytes, or `data` has
    /// no room for all values and [`LONGEST`] bytes more.
    pub fn front_coded_long(
        &self,
        input: FrontCoded<'_>,
        value: &mut [u8; LONGEST],
        data: &mut [MaybeUninit<u8>],
        place: (u32, u32),
        out: &mut [u128],
    ) -> Option<usize> {
        let kernel = self.front_coded_long?;
        let total = input.check(out.len(), 0).map(|(total, _)| total);
        assert!(total.is_some_and(|total| total + LONGEST <= data.len()), "short values, and room for them");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        Some(unsafe { kernel(&input, value, data, place, out) })
    }

    /// Sets bit `i` where `views[i]` is one of `set`, and clears it elsewhere, up to the end of the last word.
    ///
    /// # Panics
    /// `words` is shorter than `views.len().div_ceil(64)`; further words are untouched.
    pub fn in_views(&self, views: &[u128], set: &[u128], words: &mut [u64]) {
        let words = &mut words[..views.len().div_ceil(64)];
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { (self.in_views)(views, set, words) }
    }
}

/// # Safety
/// What [`Kernels::front_coded`] checks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn front_coded(input: &FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
    let FrontCoded { prefixes, suffixes, bytes, start } = *input;
    use std::arch::x86_64::*;
    // SAFETY: every x86-64 processor has SSE2; lengths are those of the masks; a load begins at most 16 bytes before its suffix,
    // and ends at most 16 bytes after the beginning of it.
    unsafe {
        let mask = |len: usize| _mm_loadu_si128(PAYLOAD.as_ptr().add(len).cast());
        let mut view = _mm_loadu_si128(std::ptr::from_ref(&previous).cast());
        let mut at = bytes.as_ptr().add(start);
        for (slot, (&prefix, &suffix)) in out.iter_mut().zip(prefixes.iter().zip(suffixes)) {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            let length = prefix + suffix;
            let kept = mask(prefix);
            // The mask of the prefix is part of that of the value.
            let added = _mm_and_si128(_mm_loadu_si128(at.sub(prefix + 4).cast()), _mm_andnot_si128(kept, mask(length)));
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
pub(super) unsafe fn front_coded(input: &FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
    let FrontCoded { prefixes, suffixes, bytes, start } = *input;
    let (mut view, mut position) = (previous, start);
    for (slot, (&prefix, &suffix)) in out.iter_mut().zip(prefixes.iter().zip(suffixes)) {
        let (prefix, suffix) = (prefix as usize, suffix as usize);
        let length = prefix + suffix;
        let added = bytes[position..].first_chunk::<16>().map_or(0, |chunk| u128::from_le_bytes(*chunk));
        let added = added << (8 * (prefix + 4)) & (PAYLOAD[length] ^ PAYLOAD[prefix]);
        view = view & PAYLOAD[prefix] | added | length as u128;
        *slot = view;
        position += suffix;
    }
    view
}

#[inline(always)]
pub(super) fn in_views(views: &[u128], set: &[u128], words: &mut [u64]) {
    // By eight, which compilers make of compares and a move of sign bits.
    for (views, word) in views.chunks(64).zip(words) {
        *word = 0;
        for &one in set {
            *word |= views.iter().enumerate().fold(0, |word, (bit, view)| word | u64::from(*view == one) << bit);
        }
    }
}
