//! Verdicts of comparisons, packed.

/// Bits of `words` for the verdicts on units, from bit `used` of the first word on.
///
/// They are written as if the first unit began at the first bit, so that none waits for the one before, and moved up by
/// `used` bits in the end.
#[derive(Default)]
pub(in crate::kernels) struct Verdicts<'a> {
    words: &'a mut [u64],
    used: u32,
    /// The bits before, which are kept.
    before: u64,
}

impl<'a> Verdicts<'a> {
    /// `used` is less than 64.
    #[inline(always)]
    pub(in crate::kernels) fn new(words: &'a mut [u64], used: u32) -> Self {
        let first = words.first().copied().unwrap_or(0);
        let before = if used == 0 { 0 } else { first & (u64::MAX >> (64 - used)) };
        Self { words, used, before }
    }

    /// The verdicts on a unit, of which there is room for all that are fed.
    #[inline(always)]
    pub(in crate::kernels) fn set_unit(&mut self, unit: usize, verdicts: u32) {
        if let Some(word) = self.words.get_mut(unit / 2) {
            let shift = unit % 2 * 32;
            *word = *word & !(0xffff_ffff << shift) | u64::from(verdicts) << shift;
        }
    }

    /// Those of the unit from value `value` on, a multiple of 8: a mask is stored by itself, which takes less than to put some
    /// of them together in registers.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(in crate::kernels) fn set<const N: usize>(&mut self, unit: usize, value: usize, mask: [u8; N]) {
        let byte = 4 * unit + value / 8;
        if byte + N <= size_of_val(self.words) {
            // SAFETY: inside of the words, as was asked; any bytes are integers.
            unsafe { self.words.as_mut_ptr().cast::<u8>().add(byte).cast::<[u8; N]>().write(mask) };
        }
    }

    /// Moves the verdicts on `units` to where they belong, and clears what is after them in their last word.
    #[inline(always)]
    pub(in crate::kernels) fn finish(self, units: usize) {
        let Self { words, used, before } = self;
        if !units.is_multiple_of(2)
            && let Some(half) = words.get_mut(units / 2)
        {
            *half &= 0xffff_ffff;
        }
        if used == 0 {
            return;
        }
        let mut previous = before << (64 - used);
        let len = (units.div_ceil(2) + 1).min(words.len());
        if let Some(last) = words.get_mut(units.div_ceil(2)) {
            // It takes what the ones before have no room for.
            *last = 0;
        }
        for word in &mut words[..len] {
            let this = *word;
            *word = this << used | previous >> (64 - used);
            previous = this;
        }
    }
}
