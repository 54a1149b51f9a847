//! Verdicts of comparisons, packed.

/// Verdicts on values that come 32 at a time, as bits that fill words.
#[derive(Default)]
pub(in crate::kernels) struct Verdicts<'a> {
    words: &'a mut [u64],
    word: usize,
    pending: u64,
    used: u32,
    /// Those of a unit that the next one goes with.
    even: u32,
}

impl<'a> Verdicts<'a> {
    /// Goes on from bit `used` of the first word, less than 64, whose bits before it are kept.
    #[inline(always)]
    pub(in crate::kernels) fn new(words: &'a mut [u64], used: u32) -> Self {
        let before = words.first().copied().unwrap_or(0);
        let pending = if used == 0 { 0 } else { before & (u64::MAX >> (64 - used)) };
        Self { words, word: 0, pending, used, even: 0 }
    }

    /// Takes those of the unit at `index` of a batch: two units are one word.
    #[inline(always)]
    pub(in crate::kernels) fn push_unit(&mut self, index: usize, verdicts: u32) {
        if index.is_multiple_of(2) {
            self.even = verdicts;
        } else {
            self.push_word(u64::from(self.even) | u64::from(verdicts) << 32);
        }
    }

    /// Ends a batch of `count` units.
    #[inline(always)]
    pub(in crate::kernels) fn end(&mut self, count: usize) {
        if !count.is_multiple_of(2) {
            self.push(self.even);
        }
    }

    #[inline(always)]
    pub(in crate::kernels) fn push(&mut self, verdicts: u32) {
        self.pending |= u64::from(verdicts) << self.used;
        if self.used >= 32 {
            if let Some(word) = self.words.get_mut(self.word) {
                *word = self.pending;
            }
            self.word += 1;
            // In two steps, as a shift by 64 is none.
            self.pending = u64::from(verdicts) >> 1 >> (63 - self.used);
            self.used -= 32;
        } else {
            self.used += 32;
        }
    }

    #[inline(always)]
    pub(in crate::kernels) fn push_word(&mut self, verdicts: u64) {
        self.pending |= verdicts << self.used;
        if let Some(word) = self.words.get_mut(self.word) {
            *word = self.pending;
        }
        self.word += 1;
        // In two steps, as a shift by 64 is none.
        self.pending = verdicts >> 1 >> (63 - self.used);
    }

    /// Writes the word that is not full.
    #[inline(always)]
    pub(in crate::kernels) fn finish(self) {
        if let (true, Some(word)) = (self.used > 0, self.words.get_mut(self.word)) {
            *word = self.pending;
        }
    }
}
