//! The walk over a stream: headers, whole blocks, parts of them, and the end of the page.

use std::mem::MaybeUninit;

use super::{Batch, Engine, UNIT, Widths};
use crate::kernels::{Lane, read_uleb, zigzag};

/// Bytes past packed values that an [`Engine`] may load.
pub(in crate::kernels) const SLACK: usize = 64;

/// The last bytes of a page are copied, to have a slack behind them: at least as many as the slack, a header, and a unit; and
/// a block of 128 values, so that no page ends slowly.
const TAIL: usize = SLACK + 16 + 4 * UNIT / 8 * 32;

/// A DELTA_BINARY_PACKED stream between two calls: plain data, on which memory safety does not depend.
#[derive(Debug, Clone)]
pub struct Stream<T> {
    /// Where in the page, and in which block.
    pub blocks: Blocks,
    /// The value before the next delta.
    pub last: T,
    /// Decoded values that nobody took yet: the last `held` ones of the first [`UNIT`], after the stream's end the padding.
    pub(in crate::kernels) overhang: [[T; UNIT]; 2],
    /// How many they are.
    pub held: usize,
}

/// A position among blocks and miniblocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Blocks {
    /// Deltas that are left of the stream, by its header's word.
    pub deltas: usize,
    /// The shape of all blocks.
    pub miniblocks_per_block: usize,
    /// The shape of all blocks.
    pub values_per_miniblock: usize,
    /// Of the present block.
    pub min_delta: i64,
    /// Where the bit widths of the miniblocks that follow in the present block begin.
    pub widths: usize,
    /// Where they end.
    pub widths_end: usize,
    /// Where the packed deltas that follow are, or the next block.
    pub position: usize,
    /// Of the present miniblock.
    pub bit_width: u32,
    /// Deltas that are left of the present miniblock, those of the padding included.
    pub left: usize,
}

impl<T: Lane> Default for Stream<T> {
    fn default() -> Self {
        Self { blocks: Blocks::default(), last: T::default(), overhang: [[T::default(); UNIT]; 2], held: 0 }
    }
}

impl<T: Lane> Stream<T> {
    /// Holds `values`, at most [`UNIT`] of them, which come before the next delta.
    ///
    /// # Panics
    /// They are more.
    pub fn hold(&mut self, values: &[T]) {
        match values {
            // The first of a stream.
            [one] => self.overhang[0][UNIT - 1] = *one,
            many => self.overhang[0][UNIT - many.len()..].copy_from_slice(many),
        }
        self.held = values.len();
    }

    /// Held values.
    pub fn held(&self) -> &[T] {
        &self.overhang[0][UNIT - self.held..]
    }

    /// Moves held values to the front of `out`, and returns their number. What is after them is scratch.
    #[inline(always)]
    pub(in crate::kernels) fn take_held(&mut self, out: &mut [T]) -> usize {
        if self.held == 0 {
            return 0;
        }
        let held = &self.overhang.as_flattened()[UNIT - self.held..];
        let count = self.held.min(out.len());
        match (out.first_chunk_mut::<UNIT>(), held.first_chunk()) {
            // A copy of a length that the compiler knows, some of it for nothing.
            (Some(out), Some(held)) => *out = *held,
            _ => out[..count].copy_from_slice(&held[..count]),
        }
        self.held -= count;
        count
    }
}

/// Bytes with a slack behind them.
#[derive(Clone, Copy)]
struct Source<'a> {
    bytes: &'a [u8],
    /// The position in the page of the first byte.
    offset: usize,
    /// The position in the page that the slack begins at.
    end: usize,
}

/// Feeds the next `wanted` units to `engine`, and returns how many it was.
///
/// They are fewer where the stream ends, or goes on with what is malformed or no multiple of 32 values: `blocks` then stands
/// before it.
///
/// # Safety
/// The processor has the features of the engine's instruction set.
#[inline(always)]
pub(in crate::kernels) unsafe fn feed<E: Engine>(
    page: &[u8],
    blocks: &mut Blocks,
    wanted: usize,
    engine: &mut E,
) -> usize {
    let mut tail = MaybeUninit::uninit();
    // Early where it is known to be needed: loads would wait until the copy is in the cache.
    let early = !E::IS_SHORT && blocks.deltas.div_ceil(UNIT) <= wanted;
    if early {
        copy_tail(page, &mut tail);
    }
    let mut source = Source { bytes: page, offset: 0, end: page.len().saturating_sub(SLACK) };
    let mut done = 0;
    loop {
        // SAFETY: the caller's.
        unsafe { walk(page, source, blocks, wanted, &mut done, engine) };
        if done == wanted || source.end == page.len() || page.len().saturating_sub(blocks.position) > TAIL {
            return done;
        }
        if !early {
            copy_tail_late(page, &mut tail);
        }
        // SAFETY: written, now or before.
        let bytes = unsafe { tail.assume_init_ref() };
        source = Source { bytes, offset: page.len().saturating_sub(TAIL), end: page.len() };
    }
}

/// Out of the way of the loops.
#[cold]
fn copy_tail_late(page: &[u8], tail: &mut MaybeUninit<[u8; TAIL + SLACK]>) {
    copy_tail(page, tail);
}

/// Copies the last bytes of a page, which loads go past.
#[inline(always)]
fn copy_tail(page: &[u8], tail: &mut MaybeUninit<[u8; TAIL + SLACK]>) {
    #[cold]
    fn copy_all(page: &[u8], tail: &mut MaybeUninit<[u8; TAIL + SLACK]>) {
        tail.write([0; TAIL + SLACK])[..page.len()].copy_from_slice(page);
    }
    const { assert!(TAIL.is_multiple_of(2), "half and half") };
    let Some(last) = page.last_chunk::<TAIL>() else { return copy_all(page, tail) };
    let to = tail.as_mut_ptr().cast::<u8>();
    // Of sizes that are copied in place: a call would take the registers of the engine.
    // SAFETY: all of the tail is written.
    unsafe {
        let half = TAIL / 2;
        to.copy_from_nonoverlapping(last.as_ptr(), half);
        to.add(half).copy_from_nonoverlapping(last.as_ptr().add(half), half);
        to.add(TAIL).write_bytes(0, SLACK);
    }
}

/// # Safety
/// As [`feed`]; `source` is the page, or its end.
#[inline(always)]
unsafe fn walk<E: Engine>(
    page: &[u8],
    source: Source<'_>,
    blocks: &mut Blocks,
    wanted: usize,
    done: &mut usize,
    engine: &mut E,
) {
    let units = blocks.values_per_miniblock / UNIT;
    if units == 0 || !blocks.values_per_miniblock.is_multiple_of(UNIT) {
        return;
    }
    while *done < wanted && blocks.deltas > 0 {
        if blocks.left == 0 && blocks.widths == blocks.widths_end {
            if blocks.miniblocks_per_block == 4 {
                match units {
                    // SAFETY: the caller's.
                    1 => unsafe { whole_blocks::<E, 1>(source, blocks, wanted, done, engine) },
                    // SAFETY: the caller's.
                    2 => unsafe { whole_blocks::<E, 2>(source, blocks, wanted, done, engine) },
                    _ => {}
                }
                if *done == wanted || blocks.deltas == 0 {
                    return;
                }
            }
            if source.end < page.len() && blocks.position.saturating_add(TAIL) >= page.len() {
                // Not unit by unit, until the slack begins.
                return;
            }
            if blocks.position >= source.end {
                return;
            }
            // Inside of the slack, if nowhere else.
            let header = source.bytes.get(blocks.position - source.offset..).and_then(|bytes| bytes.first_chunk());
            let Some((min_delta, len)) = header.and_then(min_delta) else { return };
            let position = blocks.position + len;
            let widths_end = position.saturating_add(blocks.miniblocks_per_block);
            if widths_end > page.len() {
                return;
            }
            blocks.min_delta = min_delta;
            (blocks.widths, blocks.widths_end, blocks.position) = (position, widths_end, widths_end);
        }
        let mut batch =
            Batch { at: 0, widths: Widths(0), miniblocks: 1, units: 0, min_delta: blocks.min_delta, done: *done };
        // Widths may reach into the slack.
        let Some(mut fits) = source.end.checked_sub(blocks.position) else { return };
        if blocks.left == 0 {
            let widths = &page[blocks.widths..blocks.widths_end];
            // As many whole miniblocks as there are in what is wanted.
            let count =
                widths.len().min(4).min((wanted - *done) / units).min(blocks.deltas / blocks.values_per_miniblock);
            let mut bytes = 0usize;
            for (index, &width) in widths[..count].iter().enumerate() {
                batch.widths.0 |= u32::from(width) << (8 * index);
                bytes = bytes.saturating_add((UNIT / 8 * units).saturating_mul(width.into()));
            }
            if count > 0 && bytes <= fits && batch.widths.fit(E::MAX_WIDTH) && units <= E::MAX_UNITS / 4 {
                batch.miniblocks = count;
                batch.units = units;
                blocks.widths += count;
                blocks.deltas -= count * units * UNIT;
            } else {
                // Part of one, or an error that is not ours to report.
                let width = u32::from(widths[0]);
                let bytes = (UNIT / 8 * units).saturating_mul(width as usize);
                if width > E::MAX_WIDTH || bytes > page.len() - blocks.position {
                    return;
                }
                blocks.widths += 1;
                blocks.bit_width = width;
                blocks.left = blocks.values_per_miniblock;
            }
        }
        if blocks.left > 0 {
            let unit = UNIT / 8 * blocks.bit_width as usize;
            fits = fits.checked_div(unit).unwrap_or(usize::MAX);
            // What has no bytes takes no time, however much it is.
            let most = if E::IS_SHORT && blocks.bit_width == 0 { usize::MAX } else { E::MAX_UNITS };
            let left = (blocks.left / UNIT).min(blocks.deltas.div_ceil(UNIT)).min(most);
            batch.units = left.min(wanted - *done).min(fits);
            if batch.units == 0 || blocks.bit_width > E::MAX_WIDTH {
                return;
            }
            batch.widths = Widths(blocks.bit_width);
            blocks.left -= batch.units * UNIT;
            blocks.deltas = blocks.deltas.saturating_sub(batch.units * UNIT);
        }
        batch.at = blocks.position - source.offset;
        blocks.position += batch.bytes();
        if blocks.deltas == 0 {
            // Past the padding of the last miniblock.
            blocks.position += blocks.left / 8 * blocks.bit_width as usize;
            blocks.left = 0;
        }
        *done += batch.miniblocks * batch.units;
        // SAFETY: the widths fit, and the bytes were compared with what is there before the slack; the features are
        // the caller's.
        unsafe {
            match E::class(batch.widths) {
                0 => engine.batch::<0>(source.bytes, batch),
                1 => engine.batch::<1>(source.bytes, batch),
                2 => engine.batch::<2>(source.bytes, batch),
                3 => engine.batch::<3>(source.bytes, batch),
                4 => engine.batch::<4>(source.bytes, batch),
                5 => engine.batch::<5>(source.bytes, batch),
                _ => engine.batch::<6>(source.bytes, batch),
            }
        }
    }
}

/// Blocks of four miniblocks that are wanted as a whole: one batch each, of a shape that the compiler knows.
///
/// # Safety
/// As [`feed`].
#[inline(always)]
unsafe fn whole_blocks<E: Engine, const UNITS: usize>(
    source: Source<'_>,
    blocks: &mut Blocks,
    wanted: usize,
    done: &mut usize,
    engine: &mut E,
) {
    const { assert!(4 * UNITS <= E::MAX_UNITS, "a block is a batch") };
    let start = blocks.position.saturating_sub(source.offset);
    let end = source.end.saturating_sub(source.offset);
    let first = *done;
    // The last block is whole if there are deltas in each of its miniblocks.
    let whole = blocks.deltas.saturating_add(UNITS * UNIT - 1) / (4 * UNITS * UNIT);
    let last = first + ((wanted - first) / (4 * UNITS)).min(whole) * (4 * UNITS);
    let mut run = Run { bytes: source.bytes, end, at: start, done: first, last };
    while let Some(class) = run.class::<E>() {
        // SAFETY: the caller's.
        unsafe {
            match class {
                0 => run.feed::<E, UNITS, 0>(engine),
                1 => run.feed::<E, UNITS, 1>(engine),
                2 => run.feed::<E, UNITS, 2>(engine),
                3 => run.feed::<E, UNITS, 3>(engine),
                4 => run.feed::<E, UNITS, 4>(engine),
                5 => run.feed::<E, UNITS, 5>(engine),
                _ => run.feed::<E, UNITS, 6>(engine),
            }
        }
    }
    blocks.position += run.at - start;
    blocks.deltas = blocks.deltas.saturating_sub((run.done - first) * UNIT);
    *done = run.done;
}

/// Whole blocks. [`SLACK`] bytes follow `end` in `bytes`.
struct Run<'a> {
    bytes: &'a [u8],
    /// Where the slack begins.
    end: usize,
    at: usize,
    /// Units.
    done: usize,
    last: usize,
}

impl Run<'_> {
    /// The class of the next block, if there is one.
    #[inline(always)]
    fn class<E: Engine>(&mut self) -> Option<usize> {
        if self.done == self.last {
            return None;
        }
        // SAFETY: the slack is there.
        let header = unsafe { Header::read(self.bytes, self.at, self.end) }?;
        header.widths.fit(E::MAX_WIDTH).then(|| E::class(header.widths))
    }

    /// Feeds blocks as long as they are of one class.
    ///
    /// # Safety
    /// The processor has the features of the engine's instruction set.
    #[inline(always)]
    unsafe fn feed<E: Engine, const UNITS: usize, const CLASS: usize>(&mut self, engine: &mut E) {
        if CLASS >= E::CLASSES {
            return;
        }
        let Run { bytes, end, mut at, mut done, last } = *self;
        // SAFETY: the slack is there.
        let read = |at| unsafe { Header::read(bytes, at, end) };
        let mut next = read(at);
        'widths: while let Some(Header { widths, .. }) = next {
            if !widths.fit(E::MAX_WIDTH) || E::class(widths) != CLASS {
                break;
            }
            let len = UNIT / 8 * UNITS * widths.sum();
            // Where widths repeat, the address of the next header is foreseen rather than computed, and constants are kept.
            while let Some(header) = next
                && header.widths == widths
            {
                if header.end + len > end {
                    // Found again at the end of the loop around this one.
                    self.last = done;
                    break 'widths;
                }
                let Header { min_delta, end: at_packed, .. } = header;
                let batch = Batch { at: at_packed, widths, miniblocks: 4, units: UNITS, min_delta, done };
                // SAFETY: the widths fit, and the bytes were compared with what is there before the slack; the features
                // are the caller's.
                unsafe { engine.batch::<CLASS>(bytes, batch) };
                at = header.end + len;
                done += 4 * UNITS;
                if done >= last {
                    break 'widths;
                }
                next = read(at);
                if !E::IS_SHORT {
                    break;
                }
            }
        }
        (self.at, self.done) = (at, done);
    }
}

/// The header of a block of four miniblocks.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) min_delta: i64,
    pub(super) widths: Widths,
    pub(super) end: usize,
}

impl Header {
    /// None where the slack begins, or the varint exceeds 64 bits.
    ///
    /// # Safety
    /// [`SLACK`] bytes follow `end` in `bytes`.
    #[inline(always)]
    pub(super) unsafe fn read(bytes: &[u8], at: usize, end: usize) -> Option<Self> {
        if at >= end {
            return None;
        }
        // SAFETY: 16 bytes are inside of the slack, if nowhere else.
        let bytes: &[u8; 16] = unsafe { &*bytes.as_ptr().add(at).cast() };
        let (min_delta, len) = min_delta(bytes)?;
        let widths = Widths(u32::from_le_bytes(*bytes.get(len..)?.first_chunk()?));
        Some(Self { min_delta, widths, end: at + len + 4 })
    }
}

/// The `min_delta` that a block begins with, and its length. None where the varint exceeds 64 bits.
#[inline(always)]
fn min_delta(bytes: &[u8; 16]) -> Option<(i64, usize)> {
    read_uleb(bytes).map(|(code, len)| (zigzag(code), len))
}
