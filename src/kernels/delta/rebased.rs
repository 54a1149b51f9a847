//! Ranges of 64-bit values in 32 bits.

use super::{Batch, UNIT};

/// A range for the values of one batch, where they are known to lie within 2^32: in lanes of 32 bits, the distance of a value
/// from `low` is at most `span` if the value is in the range.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Rebased {
    /// The least value that the batch could have.
    lowest: i64,
    /// The lower bound, as a distance from the lowest value.
    low: u32,
    pub(in crate::kernels) span: u32,
}

impl Rebased {
    /// Units of a batch, at most: its bounds do not overflow then.
    pub(in crate::kernels) const MAX_UNITS: usize = 256;

    /// None where the header does not prove it. `last` is the value before the batch.
    #[inline(always)]
    pub(in crate::kernels) fn new(batch: &Batch, last: i64, low: i64, high: i64) -> Option<Self> {
        let count = (batch.miniblocks * batch.units * UNIT) as i64;
        // Wider sums may wrap.
        let min_delta = i64::from(i32::try_from(batch.min_delta).ok()?);
        let max_delta = min_delta + (1 << batch.widths.largest()) - 1;
        let (down, up) = (count * min_delta.min(0), count * max_delta.max(0));
        let lowest = last.checked_add(down)?;
        lowest.checked_add(up - down)?;
        let size = u32::try_from(up - down).ok()?;
        let distance = |bound: i64| bound.saturating_sub(lowest);
        let (low, high) = (distance(low).max(0), distance(high).min(size.into()));
        // An empty range is one that no value is in.
        let (low, span) = if low <= high { (low as u32, (high - low) as u32) } else { (size.wrapping_add(1), 0) };
        Some(Self { lowest, low, span })
    }

    /// A value of the batch, or the one before, as its distance from the lower bound.
    #[inline(always)]
    pub(in crate::kernels) fn narrow(&self, value: i64) -> u32 {
        (value.wrapping_sub(self.lowest) as u32).wrapping_sub(self.low)
    }

    /// The inverse.
    #[inline(always)]
    pub(in crate::kernels) fn widen(&self, distance: u32) -> i64 {
        self.lowest + i64::from(distance.wrapping_add(self.low))
    }
}
