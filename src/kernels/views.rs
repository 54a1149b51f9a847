//! Arrow views of byte arrays: 16 bytes, the length in the first four, then up to 12 bytes padded with zeros.

use super::Kernels;

/// The longest value that lives in its view.
pub(super) const INLINE_LEN: usize = 12;

impl Kernels {
    /// Sets bit `i` where `views[i]` is one of `set`, and clears it elsewhere, up to the end of the last word.
    ///
    /// # Panics
    /// `words` is shorter than `views.len().div_ceil(64)`; further words are untouched.
    pub fn in_views(&self, views: &[u128], set: &[u128], words: &mut [u64]) {
        let words = &mut words[..views.len().div_ceil(64)];
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { (self.in_views)(views, set, words) }
    }

    /// Sets bit `i` where the first eight bytes of `views[i]`, its length and the first four of its value, are those of one of `set`,
    /// and clears it elsewhere, up to the end of the last word.
    ///
    /// # Panics
    /// As [`Kernels::in_views`].
    pub fn in_view_beginnings(&self, views: &[u128], set: &[u128], words: &mut [u64]) {
        let words = &mut words[..views.len().div_ceil(64)];
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { (self.in_view_beginnings)(views, set, words) }
    }
}

#[inline(always)]
pub(super) fn in_view_beginnings(views: &[u128], set: &[u128], words: &mut [u64]) {
    for (views, word) in views.chunks(64).zip(words) {
        *word = 0;
        for &one in set {
            let is_same = |view: &u128| *view as u64 == one as u64;
            *word |= views.iter().enumerate().fold(0, |word, (bit, view)| word | u64::from(is_same(view)) << bit);
        }
    }
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
