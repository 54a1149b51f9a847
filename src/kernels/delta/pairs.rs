//! Two streams in step, which are compared without being decoded.

use super::stream::{Header, SLACK};
use super::{Blocks, UNIT, Widths};
use crate::kernels::Comparison;

/// A block of each of two streams, of the same shape.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Pair<'a> {
    pub(in crate::kernels) left: Side<'a>,
    pub(in crate::kernels) right: Side<'a>,
    /// Units before the block.
    pub(in crate::kernels) done: usize,
}

/// One of them.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Side<'a> {
    /// The packed deltas, and what follows them.
    pub(in crate::kernels) packed: &'a [u8],
    pub(in crate::kernels) widths: Widths,
    pub(in crate::kernels) min_delta: i64,
}

/// What is done with blocks of two streams.
pub(in crate::kernels) trait PairEngine {
    /// The largest width it takes.
    const MAX_WIDTH: u32;

    /// Takes the next blocks, of four miniblocks of `UNITS` units; false, and nothing happened, if it cannot.
    ///
    /// # Safety
    /// Widths are at most `MAX_WIDTH`; [`SLACK`] bytes follow the packed deltas of either side; the processor has the features
    /// of the instruction set.
    unsafe fn pair<const UNITS: usize>(&mut self, pair: Pair<'_>) -> bool;
}

/// Feeds blocks of four miniblocks to `engine`, as long as both streams have them and it takes them, after `done` units and up
/// to `wanted` in all; returns how many it was in all. Ends of pages are left.
///
/// # Safety
/// The processor has the features of the engine's instruction set.
#[inline(always)]
pub(in crate::kernels) unsafe fn feed_pairs<E: PairEngine>(
    pages: [&[u8]; 2],
    [left, right]: [&mut Blocks; 2],
    done: usize,
    wanted: usize,
    engine: &mut E,
) -> usize {
    let begins =
        |blocks: &Blocks| blocks.left == 0 && blocks.widths == blocks.widths_end && blocks.miniblocks_per_block == 4;
    let values = left.values_per_miniblock;
    if !begins(left) || !begins(right) || right.values_per_miniblock != values {
        return done;
    }
    // SAFETY: the caller's.
    unsafe {
        match values {
            32 => feed_blocks::<E, 1>(pages, [left, right], done, wanted, engine),
            64 => feed_blocks::<E, 2>(pages, [left, right], done, wanted, engine),
            _ => done,
        }
    }
}

/// # Safety
/// As [`feed_pairs`].
#[inline(always)]
unsafe fn feed_blocks<E: PairEngine, const UNITS: usize>(
    [left_page, right_page]: [&[u8]; 2],
    [left, right]: [&mut Blocks; 2],
    first: usize,
    wanted: usize,
    engine: &mut E,
) -> usize {
    let blocks = left.deltas.min(right.deltas) / (4 * UNITS * UNIT);
    let last = first + ((wanted - first) / (4 * UNITS)).min(blocks) * (4 * UNITS);
    let (mut left_at, mut right_at, mut done) = (left.position, right.position, first);
    while done < last {
        let sides = (Side::read::<E, UNITS>(left_page, left_at), Side::read::<E, UNITS>(right_page, right_at));
        let (Some((left, left_end)), Some((right, right_end))) = sides else {
            break;
        };
        // SAFETY: the widths fit, and the bytes were compared with what is there before the slack; the features are the
        // caller's.
        if !unsafe { engine.pair::<UNITS>(Pair { left, right, done }) } {
            break;
        }
        (left_at, right_at) = (left_end, right_end);
        done += 4 * UNITS;
    }
    (left.position, right.position) = (left_at, right_at);
    left.deltas -= (done - first) * UNIT;
    right.deltas -= (done - first) * UNIT;
    done
}

impl<'a> Side<'a> {
    /// The block at `position`, and where it ends, if it is whole and of widths that fit.
    #[inline(always)]
    fn read<E: PairEngine, const UNITS: usize>(page: &'a [u8], position: usize) -> Option<(Self, usize)> {
        let slack = page.len().saturating_sub(SLACK);
        // SAFETY: a page that is shorter than the slack has no header before it.
        let Header { min_delta, widths, end: at } = unsafe { Header::read(page, position, slack) }?;
        if !widths.fit(E::MAX_WIDTH) {
            return None;
        }
        let end = at + UNIT / 8 * UNITS * if E::MAX_WIDTH < 64 { widths.sum_narrow() } else { widths.sum() };
        // SAFETY: it begins before it ends.
        (end <= slack).then(|| (Self { packed: unsafe { page.get_unchecked(at..) }, widths, min_delta }, end))
    }
}

/// Calls `$unit` for each unit of a pair, with its number, and of either side where its packed deltas begin, and their width.
/// In place, since closures are not always inlined.
macro_rules! each_unit_of_pair {
    ($pair:ident, $units:ident, |$unit:ident, [$left_at:ident, $right_at:ident], [$left_width:ident, $right_width:ident]| $call:expr) => {{
        let (mut $left_at, mut $right_at) = (0, 0);
        for miniblock in 0..4 {
            let ($left_width, $right_width) = ($pair.left.widths.get(miniblock), $pair.right.widths.get(miniblock));
            for unit in 0..$units {
                let $unit = $pair.done + miniblock * $units + unit;
                $call;
                ($left_at, $right_at) = ($left_at + UNIT / 8 * $left_width, $right_at + UNIT / 8 * $right_width);
            }
        }
    }};
}
pub(in crate::kernels) use each_unit_of_pair;

/// The difference of two values that compare so: `difference - low` is at most `span`, in `bits` bits.
#[inline(always)]
pub(in crate::kernels) fn differences(op: Comparison, bits: u32) -> (i64, u64) {
    let most = u64::MAX >> (64 - bits);
    let half = most / 2 + 1;
    let least = -1 << (bits - 1);
    match op {
        Comparison::Eq => (0, 0),
        Comparison::NotEq => (1, most - 1),
        Comparison::Lt => (least, half - 1),
        Comparison::LtEq => (least, half),
        Comparison::Gt => (1, half - 2),
        Comparison::GtEq => (0, half - 1),
    }
}
