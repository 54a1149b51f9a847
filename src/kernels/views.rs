//! Arrow views of byte arrays: 16 bytes, the length in the first four, then up to 12 bytes padded with zeros.

use super::Kernels;

/// The longest value that lives in its view.
const INLINE_LEN: usize = 12;

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
    /// Makes the views of values of at most 12 bytes, of which each begins with `prefixes[i]` bytes of the one before, and goes
    /// on with the next `suffixes[i]` bytes of `bytes` from `start` on. `previous` is the view of the value before the first;
    /// what comes back is the last.
    ///
    /// # Panics
    /// The slices differ in length, a length is negative, a value is longer than 12 bytes, or there are no [`MARGIN`] bytes
    /// before the first suffix, or after the last.
    pub fn front_coded(
        &self,
        prefixes: &[i32],
        suffixes: &[i32],
        bytes: &[u8],
        start: usize,
        previous: u128,
        out: &mut [u128],
    ) -> u128 {
        assert!(prefixes.len() == out.len() && suffixes.len() == out.len(), "a prefix and a suffix for each view");
        let (mut any, mut longest, mut total) = (0, 0, 0_u64);
        for (&prefix, &suffix) in prefixes.iter().zip(suffixes) {
            any |= prefix | suffix;
            longest = longest.max(prefix.wrapping_add(suffix));
            total += u64::from(suffix.cast_unsigned());
        }
        // Neither is negative, so that a sum that wraps is.
        assert!(any >= 0 && (any as usize) < 16 && longest as usize <= INLINE_LEN, "values fit into their views");
        let end = usize::try_from(total).ok().and_then(|total| start.checked_add(total)?.checked_add(MARGIN));
        assert!(start >= MARGIN && end.is_some_and(|end| end <= bytes.len()), "suffixes lie within their margins");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.front_coded)(prefixes, suffixes, bytes, start, previous, out) }
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
pub(super) unsafe fn front_coded(
    prefixes: &[i32],
    suffixes: &[i32],
    bytes: &[u8],
    start: usize,
    previous: u128,
    out: &mut [u128],
) -> u128 {
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
pub(super) unsafe fn front_coded(
    prefixes: &[i32],
    suffixes: &[i32],
    bytes: &[u8],
    start: usize,
    previous: u128,
    out: &mut [u128],
) -> u128 {
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
