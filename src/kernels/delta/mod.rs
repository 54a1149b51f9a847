//! DELTA_BINARY_PACKED: the walk over blocks, which is the same for all, and what is done with the packed deltas.
//!
//! [`feed`] walks over headers and hands batches of packed deltas to an [`Engine`]: one that decodes, or adds up, or compares,
//! in the language of one instruction set. It checks what the engines rely on.
//!
//! | file | job |
//! |---|---|
//! | `stream` | the walk: headers, whole blocks, parts of them, the end of the page |
//! | `pairs` | the walk over two streams in step |
//! | `proof` | how far two streams go, by their headers |
//! | `shells` | the functions of an instruction set, made of its engines |
//! | `store` | where decoded values go |
//! | `verdicts` | where verdicts go |
//! | `rebased` | ranges of 64-bit values in 32 bits |
//! | `portable` | the engines that the compiler vectorises |
//! | `octets` | INT32 by what every x86-64 processor has |

#[cfg(target_arch = "x86_64")]
mod octets;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod portable;
#[cfg(target_arch = "x86_64")]
mod proof;
#[cfg(target_arch = "x86_64")]
mod rebased;
mod shells;
mod store;
mod stream;
#[cfg(test)]
mod tests;
mod verdicts;

#[cfg(target_arch = "x86_64")]
pub(super) use octets::decode_octets;
#[cfg(target_arch = "x86_64")]
pub(super) use pairs::{Pair, PairEngine, differences, each_unit_of_pair, feed_pairs};
#[cfg(target_arch = "x86_64")]
pub(super) use portable::decode_runs;
pub(super) use portable::{PORTABLE_I32, PORTABLE_I64, Runs, decode, sum};
#[cfg(target_arch = "x86_64")]
pub(super) use proof::Proof;
#[cfg(target_arch = "x86_64")]
pub(super) use rebased::Rebased;
pub(super) use shells::{Shells, no_compare, shells};
pub(super) use store::{Aside, Store, Units};
pub(super) use stream::feed;
pub use stream::{Blocks, Stream};
pub(super) use verdicts::Verdicts;

/// Values that are decoded together: 32 values of any width are whole bytes, and miniblocks are multiples of 32.
pub const UNIT: usize = 32;

/// Miniblocks of one block that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    /// Where the packed deltas begin.
    pub(super) at: usize,
    pub(super) widths: Widths,
    /// At most 4.
    pub(super) miniblocks: usize,
    /// Units in each miniblock.
    pub(super) units: usize,
    pub(super) min_delta: i64,
    /// Units before the batch.
    pub(super) done: usize,
}

impl Batch {
    /// Bytes of all packed deltas.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.widths.sum() * (UNIT / 8 * self.units)
    }

    /// The packed deltas of miniblocks of equal width that follow each other.
    #[inline(always)]
    pub(super) fn runs<'a>(&self, packed: &'a [u8]) -> impl Iterator<Item = (usize, Run<'a>)> {
        let mut rest = &packed[self.at..];
        let mut miniblock = 0;
        std::iter::from_fn(move || {
            let width = (miniblock < self.miniblocks).then(|| self.widths.get(miniblock))?;
            let first = miniblock;
            while miniblock < self.miniblocks && self.widths.get(miniblock) == width {
                miniblock += 1;
            }
            let units = (miniblock - first) * self.units;
            let bytes;
            (bytes, rest) = rest.split_at(units * UNIT / 8 * width);
            Some((width, Run { units, bytes }))
        })
    }

    /// All units of the batch among those of the call.
    #[inline(always)]
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.done..self.done + self.miniblocks * self.units
    }
}

/// The bit widths of up to four miniblocks, a byte each, the first one lowest; those that are not there are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Widths(pub(super) u32);

impl Widths {
    #[inline(always)]
    pub(super) fn get(self, miniblock: usize) -> usize {
        (self.0 >> (8 * miniblock) & 0xff) as usize
    }

    /// Whether none is over `max`, which is less than 128.
    #[inline(always)]
    pub(super) fn fit(self, max: u32) -> bool {
        // A byte that is over sets its highest bit, unless it has it set already.
        (self.0.wrapping_add((0x7f - max) * 0x101_0101) | self.0) & 0x8080_8080 == 0
    }

    /// Whether all four are the same.
    #[inline(always)]
    pub(super) fn are_equal(self) -> bool {
        self.0 == self.0.rotate_left(8)
    }

    #[inline(always)]
    pub(super) fn largest(self) -> usize {
        let [a, b, c, d] = self.0.to_le_bytes();
        a.max(b).max(c.max(d)).into()
    }

    /// The sum of widths that are less than 64.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn sum_narrow(self) -> usize {
        (self.0.wrapping_mul(0x101_0101) >> 24) as usize
    }

    #[inline(always)]
    pub(super) fn sum(self) -> usize {
        let pairs = (self.0 & 0xff_00ff) + (self.0 >> 8 & 0xff_00ff);
        ((pairs & 0xffff) + (pairs >> 16)) as usize
    }
}

/// Packed deltas of one width.
pub(super) struct Run<'a> {
    pub(super) units: usize,
    pub(super) bytes: &'a [u8],
}

/// Calls `$unit` for each unit of a batch, with where its packed deltas begin, their width, and its number. In place, since
/// closures are not always inlined.
#[cfg(target_arch = "x86_64")]
macro_rules! each_unit {
    ($batch:ident, |$at:ident, $width:ident, $unit:ident| $call:expr) => {{
        let mut $at = $batch.at;
        for miniblock in 0..$batch.miniblocks {
            let $width = $batch.widths.get(miniblock);
            for unit in 0..$batch.units {
                let $unit = $batch.done + miniblock * $batch.units + unit;
                $call;
                $at += UNIT / 8 * $width;
            }
        }
    }};
}
#[cfg(target_arch = "x86_64")]
pub(super) use each_unit;

/// What is done with packed deltas.
pub(super) trait Engine {
    /// The largest width it takes.
    const MAX_WIDTH: u32;
    /// Units of a batch that it takes at most.
    const MAX_UNITS: usize = usize::MAX;
    /// Whether a batch takes no longer than to find the next one.
    const IS_SHORT: bool = false;

    /// Number of classes, at most 7.
    const CLASSES: usize;

    /// The class of a batch, by widths that fit: each has a loop of its own.
    fn class(widths: Widths) -> usize;

    /// Takes the next batch.
    ///
    /// # Safety
    /// The batch has at most four miniblocks, and `MAX_UNITS` units unless all widths are 0; `CLASS` is that of its widths,
    /// which are at most `MAX_WIDTH`; its packed deltas begin at `batch.at` in `packed`, and [`SLACK`](stream::SLACK) bytes
    /// follow them; the processor has the features of the instruction set.
    unsafe fn batch<const CLASS: usize>(&mut self, packed: &[u8], batch: Batch);
}
