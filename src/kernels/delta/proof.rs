//! What headers prove of two streams whose values nobody has seen: that neither wraps, and that their difference fits.

use super::Pair;

/// Blocks that are known to keep the values of both streams inside of limits, and not too far apart.
///
/// It is proved once for many blocks: as many as may come if none of them has a wider or larger delta than was foreseen.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Proof {
    /// What values may be: no more than 2^61.
    limits: (i64, i64),
    /// The largest difference.
    most: i64,
    /// The widths that were foreseen.
    width: u32,
    /// The minima that were, and the number of them less 1.
    least: i64,
    span: u64,
    /// How many blocks may come.
    blocks: i64,
}

impl Proof {
    /// Of no block yet. `last` are the values before the next ones; None if they are not in `limits`, or more than `most` apart.
    #[inline(always)]
    pub(in crate::kernels) fn new(last: [i64; 2], limits: (i64, i64), most: i64) -> Option<Self> {
        let inside = |value: i64| limits.0 <= value && value <= limits.1;
        (inside(last[0]) && inside(last[1]) && (last[0] - last[1]).abs() <= most).then_some(Self {
            limits,
            most,
            width: 0,
            least: 0,
            span: 0,
            blocks: 0,
        })
    }

    /// Takes the next blocks, if they are known to be harmless.
    #[inline(always)]
    pub(in crate::kernels) fn covers(&mut self, pair: &Pair<'_>) -> bool {
        let Pair { left, right, .. } = pair;
        let foreseen = |min_delta: i64| min_delta.wrapping_sub(self.least).cast_unsigned() <= self.span;
        let covers = self.blocks > 0
            && (left.widths.fit(self.width) & right.widths.fit(self.width))
            && (foreseen(left.min_delta) & foreseen(right.min_delta));
        self.blocks -= i64::from(covers);
        covers
    }

    /// How far blocks may go from `last`, the values before the next ones; None if these may not come. A block is of `count`
    /// values; deltas that are less than a power of two can be added up as often as `room` holds it.
    ///
    /// By value: an engine of which a part is referred to is kept in memory.
    #[cold]
    pub(in crate::kernels) fn renewed(self, last: [i64; 2], pair: Pair<'_>, count: i64, room: i64) -> Option<Self> {
        let (left, right) = (pair.left, pair.right);
        let inside = |value: i64| (value - self.limits.0).min(self.limits.1 - value);
        // Both may go apart.
        let apart = (self.most - (last[0] - last[1]).abs()) / 2;
        let way = inside(last[0]).min(inside(last[1])).min(apart);
        let width = left.widths.largest().max(right.widths.largest()) as u32;
        let (least, most) = (left.min_delta.min(right.min_delta), left.min_delta.max(right.min_delta));
        let blocks = |width: u32, least: i64, most: i64| {
            let up = most.saturating_add((1 << width) - 1);
            let step = least.saturating_neg().max(up).saturating_mul(count);
            // Halves are added up as they are.
            (way / step.max(1)).min(room >> width.max(16))
        };
        // What was foreseen may come again, unless it leaves nothing.
        let wider =
            (width.max(self.width), least.min(self.least), most.max(self.least.saturating_add_unsigned(self.span)));
        let narrow = (width, least, most);
        let (width, least, most) = if blocks(wider.0, wider.1, wider.2) >= AT_LEAST { wider } else { narrow };
        let span = most.wrapping_sub(least).cast_unsigned();
        let mut proof = Self { width, least, span, blocks: blocks(width, least, most), ..self };
        proof.covers(&pair).then_some(proof)
    }
}

/// Blocks that it is worthwhile to foresee what is not there.
const AT_LEAST: i64 = 4;
