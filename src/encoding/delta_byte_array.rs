//! DELTA_BYTE_ARRAY: how much of the value before stays (DELTA_BINARY_PACKED), then what follows it
//! (DELTA_LENGTH_BYTE_ARRAY).

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::kernels::{FrontCoded, LONGEST, REGISTERS, kernels, ones};
use crate::predicate::Attempts;

use super::byte_array::{
    HEADS, INLINE_LEN, LONG, PAYLOAD, ViewBuffer, load_at, load_payload, long_view, make_head, make_heads,
    make_inline_view, make_short_views, misfit, view_bytes,
};
use super::delta_binary_packed::DeltaBinaryPacked;

mod matches;

/// Values whose lengths are decoded together: whole words of a bitmap.
const BATCH: usize = HEADS;

/// Bytes that are copied at once; what is written too many is written over, or cut off.
const CHUNK: usize = 32;

/// The longest copy that is done in chunks.
const CHUNKED: usize = 4 * CHUNK;

/// The widest value of fixed length that is put together in a register.
const WORD: usize = size_of::<u128>();

/// Masks of the first bytes of a word, by their number.
static FIRST: [u128; WORD + 1] = {
    let mut masks = [u128::MAX; WORD + 1];
    let mut len = 0;
    while len < WORD {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

/// A cursor over the values of one DELTA_BYTE_ARRAY stream.
///
/// Each call takes the page of the last `reset`, and may panic on another.
#[derive(Debug, Clone)]
pub struct DeltaByteArray {
    lengths: Lengths,
    previous: Vec<u8>,
    /// Whether tests are decided by heads.
    heads: Attempts,
    /// Values that are tested as a whole.
    values: ViewBuffer,
    /// For heads.
    memory: Vec<u128>,
}

/// Batches whose heads may leave much open before there is a pause.
const PATIENCE: u32 = 1;

/// The lengths of the values, and where their suffixes are.
#[derive(Debug, Clone, Default)]
struct Lengths {
    prefixes: DeltaBinaryPacked<i32>,
    suffixes: DeltaBinaryPacked<i32>,
    /// Where the stream of suffix lengths is.
    suffixes_start: usize,
    /// Where the next suffix is.
    position: usize,
    /// Those of the batch.
    prefix_lengths: Vec<i32>,
    suffix_lengths: Vec<i32>,
}

impl Lengths {
    fn reset(&mut self, page: &[u8]) -> Result<()> {
        self.prefixes.reset(page)?;
        self.suffixes_start = self.prefixes.end(page)?;
        let rest = &page[self.suffixes_start..];
        self.suffixes.reset(rest)?;
        if self.prefixes.remaining() != self.suffixes.remaining() {
            return Err(Error::corrupt(format!(
                "DELTA_BYTE_ARRAY of {} prefixes and {} suffixes",
                self.prefixes.remaining(),
                self.suffixes.remaining()
            )));
        }
        self.position = self.suffixes_start + self.suffixes.end(rest)?;
        self.prefix_lengths.resize(BATCH, 0);
        self.suffix_lengths.resize(BATCH, 0);
        Ok(())
    }

    /// The next values, up to [`BATCH`] of them after one of `before` bytes.
    fn next_batch<'a>(&'a mut self, page: &'a [u8], count: usize, before: usize) -> Result<FrontCoded<'a>> {
        let prefixes = &mut self.prefix_lengths[..count];
        let suffixes = &mut self.suffix_lengths[..count];
        self.prefixes.read(page, prefixes)?;
        self.suffixes.read(&page[self.suffixes_start..], suffixes)?;
        let values = FrontCoded::new(kernels(), (prefixes, suffixes), before, page, self.position).map_err(misfit)?;
        self.position = values.end();
        Ok(values)
    }
}

impl Default for DeltaByteArray {
    fn default() -> Self {
        Self {
            lengths: Lengths::default(),
            previous: Vec::new(),
            heads: Attempts::new(PATIENCE),
            values: ViewBuffer::default(),
            memory: vec![0; HEADS],
        }
    }
}

impl DeltaByteArray {
    /// Starts over with the stream at the start of `page`, which it fills. No bytes are no values.
    ///
    /// `keep_previous` goes on from the last value of the page before, as old versions of parquet-java wrote
    /// (PARQUET-246): all values of the page before must have been read or skipped.
    ///
    /// # Errors
    /// Corrupt: the lengths are cut short, or break the specification.
    pub fn reset(&mut self, page: &[u8], keep_previous: bool) -> Result<()> {
        if !keep_previous {
            self.previous.clear();
        }
        self.lengths.reset(page)
    }

    /// Forgets the last value: nothing goes on from it.
    pub fn forget(&mut self) {
        self.previous.clear();
    }

    /// Whether all bytes of the values that are left are ASCII: each value is UTF-8 then.
    pub fn is_ascii(&self, page: &[u8]) -> bool {
        self.previous.is_ascii() && page[self.lengths.position..].is_ascii()
    }

    /// Values that are left, by the header's word.
    pub fn remaining(&self) -> usize {
        self.lengths.prefixes.remaining()
    }

    /// Appends the next `count` values to `out`.
    ///
    /// # Errors
    /// Corrupt: fewer are left, a length is negative or past the end of the page, or a prefix is longer than the value
    /// before. Limit: `out` is full.
    pub fn read(&mut self, page: &[u8], count: usize, out: &mut ViewBuffer) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let values = self.lengths.next_batch(page, BATCH.min(count - first), self.previous.len())?;
            if values.longest().max(self.previous.len()) <= INLINE_LEN {
                make_short(values, &mut self.previous, out.grow(values.count()));
            } else if !read_registers(values, &mut self.previous, out)? {
                read_any(values, &mut self.previous, &mut self.memory[..values.count()], out)?;
            }
        }
        Ok(())
    }

    /// Appends the next `count` values of a FIXED_LEN_BYTE_ARRAY of `width` bytes to `out`.
    ///
    /// # Errors
    /// As [`DeltaByteArray::read`], and Corrupt: a value has another length.
    pub fn read_fixed(&mut self, page: &[u8], count: usize, width: usize, out: &mut Vec<u8>) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let values = self.lengths.next_batch(page, BATCH.min(count - first), self.previous.len())?;
            if values.lengths().fold(false, |other, (prefix, suffix)| other | (prefix + suffix != width)) {
                return Err(Error::corrupt(format!("DELTA_BYTE_ARRAY with values that are not of {width} bytes")));
            }
            // The first prefix is within the value before, whatever its length was.
            self.previous.resize(width, 0);
            if width <= WORD {
                read_words(values, &mut self.previous, width, out);
            } else {
                read_rows(values, &mut self.previous, width, out);
            }
        }
        Ok(())
    }

    /// Moves past the next `count` values.
    ///
    /// # Errors
    /// As [`DeltaByteArray::read`].
    pub fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let values = self.lengths.next_batch(page, BATCH.min(count - first), self.previous.len())?;
            rebuild(&mut self.previous, values, 0..values.count(), values.end());
        }
        Ok(())
    }

    /// Moves past the next `count` values, and appends those that are set in `words` to `out`: of the others it copies what these
    /// begin with.
    ///
    /// # Errors
    /// As [`DeltaByteArray::read`].
    pub fn read_selected(&mut self, page: &[u8], count: usize, words: &[u64], out: &mut ViewBuffer) -> Result<()> {
        for first in (0..count).step_by(BATCH) {
            let batch = BATCH.min(count - first);
            let values = self.lengths.next_batch(page, batch, self.previous.len())?;
            let words = &words[first / 64..(first + batch).div_ceil(64)];
            if values.longest().max(self.previous.len()) <= INLINE_LEN {
                pick_short(values, &mut self.previous, words, out);
            } else {
                pick_any(values, &mut self.previous, words, out)?;
            }
        }
        Ok(())
    }
}

/// Appends those values that are set in `words`.
fn pick_any(values: FrontCoded<'_>, previous: &mut Vec<u8>, words: &[u64], out: &mut ViewBuffer) -> Result<()> {
    let (mut done, mut end) = (0, values.start());
    for index in ones(words) {
        end += values.suffixes(done..index + 1);
        rebuild(previous, values, done..index + 1, end);
        out.push(previous)?;
        done = index + 1;
    }
    rebuild(previous, values, done..values.count(), values.end());
    Ok(())
}

/// Appends those values that are set in `words`, all at most of [`INLINE_LEN`] bytes after one such.
fn pick_short(values: FrontCoded<'_>, previous: &mut Vec<u8>, words: &[u64], out: &mut ViewBuffer) {
    let mut view = make_inline_view(previous).unwrap_or_default();
    let (mut done, mut end) = (0, values.start());
    for index in ones(words) {
        end += values.suffixes(done..index + 1);
        view = rebuild_view(view, values, done..index + 1, end);
        out.views.push(view);
        done = index + 1;
    }
    view = rebuild_view(view, values, done..values.count(), values.end());
    previous.clear();
    previous.extend_from_slice(view_bytes(&view, &[]));
}

/// Makes the views of values of at most [`INLINE_LEN`] bytes after one such.
fn make_short(values: FrontCoded<'_>, previous: &mut Vec<u8>, out: &mut [u128]) {
    let last = make_short_views(values, make_inline_view(previous).unwrap_or_default(), out);
    previous.clear();
    previous.extend_from_slice(view_bytes(&last, &[]));
}

/// Appends values if they fit into registers, and the processor has such.
fn read_registers(values: FrontCoded<'_>, previous: &mut Vec<u8>, out: &mut ViewBuffer) -> Result<bool> {
    if values.longest().max(previous.len()) > LONGEST {
        return Ok(false);
    }
    let mut register = [0; REGISTERS];
    register[..previous.len()].copy_from_slice(previous);
    let buffer_index = out.buffer_index;
    // SAFETY: the kernel says how many bytes it wrote.
    let done = unsafe {
        out.append_with(values.count(), values.total().saturating_add(REGISTERS), |data, first, views| {
            kernels().front_coded_long(values, &mut register, data, (buffer_index, first), views)
        })
    };
    let done = done?;
    if done && let Some((prefix, suffix)) = values.lengths().next_back() {
        previous.clear();
        previous.extend_from_slice(&register[..prefix + suffix]);
    }
    Ok(done)
}

/// Appends values of any length; `heads` is memory for those of as many.
///
/// All are written to the buffer, and the next one over those that fit in their views.
fn read_any(values: FrontCoded<'_>, last: &mut Vec<u8>, heads: &mut [u128], out: &mut ViewBuffer) -> Result<()> {
    make_heads(values, make_head(last), heads);
    let slack = last.len() + CHUNK;
    let buffer_index = out.buffer_index;
    let mut kept = std::mem::take(last);
    let write = |data: &mut [MaybeUninit<u8>], first: u32, views: &mut [u128]| {
        // As if it were a short value that the first one of the batch is written over.
        data[..kept.len()].copy_from_slice(as_uninit(&kept));
        let (mut previous, mut write) = (0, 0);
        let (page, mut position) = (values.bytes(), values.start());
        for ((view, head), (prefix, suffix)) in views.iter_mut().zip(&*heads).zip(values.lengths()) {
            if previous != write {
                copy_prefix(data, previous, write, prefix);
            }
            copy_suffix(data, write + prefix, page, position, suffix);
            position += suffix;
            previous = write;
            *view = *head;
            let length = prefix + suffix;
            if length > INLINE_LEN {
                // The end of the data fits in 31 bits.
                *view =
                    head & (PAYLOAD[LONG] | u128::from(u32::MAX)) | long_view(0, 0, buffer_index, first + write as u32);
                write += length;
            }
        }
        kept.clear();
        if let Some((prefix, suffix)) = values.lengths().next_back() {
            let value = &data[previous..previous + prefix + suffix];
            // SAFETY: the last value was written there.
            kept.extend(value.iter().map(|byte| unsafe { byte.assume_init() }));
        }
        Some(write)
    };
    // SAFETY: each value is written behind the long ones before it.
    unsafe { out.append_with(values.count(), values.total().saturating_add(slack), write)? };
    *last = kept;
    Ok(())
}

/// Bytes as memory that may be anything.
fn as_uninit(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: of the same layout, and nothing can be written through it.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Appends values of `width` bytes, at most [`WORD`] of them: a register is the state.
fn read_words(values: FrontCoded<'_>, previous: &mut [u8], width: usize, out: &mut Vec<u8>) {
    let mut word = load_at(previous, 0, 0, width);
    let (page, mut position) = (values.bytes(), values.start());
    let mut write = out.len();
    // Words are written whole: what is too much is overwritten by the next one, or cut off.
    out.resize(write + values.count() * width + WORD - width, 0);
    for (prefix, suffix) in values.lengths() {
        let kept = FIRST[prefix.min(WORD)];
        word = (word & kept) | (load_at(page, position, prefix, suffix) & !kept);
        out[write..write + WORD].copy_from_slice(&word.to_le_bytes());
        write += width;
        position += suffix;
    }
    out.truncate(write);
    previous.copy_from_slice(&word.to_le_bytes()[..width]);
}

/// Appends values of `width` bytes, each from the one before.
fn read_rows(values: FrontCoded<'_>, last: &mut [u8], width: usize, out: &mut Vec<u8>) {
    let first = out.len();
    out.resize(first + values.count() * width, 0);
    let (page, mut position) = (values.bytes(), values.start());
    let mut previous = &*last;
    for (row, (prefix, suffix)) in out[first..].chunks_exact_mut(width).zip(values.lengths()) {
        row[..prefix].copy_from_slice(&previous[..prefix]);
        row[prefix..].copy_from_slice(&page[position..position + suffix]);
        position += suffix;
        previous = row;
    }
    last.copy_from_slice(&out[out.len() - width..]);
}

/// Makes `previous`, which is the value before `range`, the last one of it without those between: from `end`, that of its suffix,
/// backwards each value gives the bytes after its prefix that no later one has replaced.
fn rebuild(previous: &mut Vec<u8>, values: FrontCoded<'_>, range: Range<usize>, end: usize) {
    let mut position = end;
    let mut missing = None;
    for (prefix, suffix) in values.lengths_of(range).rev() {
        position -= suffix;
        let end = *missing.get_or_insert_with(|| {
            previous.resize(prefix + suffix, 0);
            prefix + suffix
        });
        if prefix < end {
            previous[prefix..end].copy_from_slice(&values.bytes()[position..position + end - prefix]);
            missing = Some(prefix);
        }
        if prefix == 0 {
            break;
        }
    }
}

/// As [`rebuild`], of values that are views.
#[inline(always)]
fn rebuild_view(previous: u128, values: FrontCoded<'_>, range: Range<usize>, end: usize) -> u128 {
    let mask = |length: usize| PAYLOAD[length % PAYLOAD.len()];
    let mut position = end;
    let mut lengths = values.lengths_of(range).rev();
    let Some((prefix, suffix)) = lengths.next() else { return previous };
    position -= suffix;
    let length = prefix + suffix;
    let mut view = load_payload(values.bytes(), position, prefix, suffix) & (mask(length) ^ mask(prefix));
    let mut missing = prefix;
    for (prefix, suffix) in lengths {
        if missing == 0 {
            break;
        }
        position -= suffix;
        if prefix < missing {
            view |= load_payload(values.bytes(), position, prefix, suffix) & (mask(missing) ^ mask(prefix));
            missing = prefix;
        }
    }
    view | previous & mask(missing) | length as u128
}

/// Copies the start of the value at `from` to `to`, which is not before the end of that value.
#[inline(always)]
fn copy_prefix(data: &mut [MaybeUninit<u8>], from: usize, to: usize, len: usize) {
    if len > CHUNKED {
        return data.copy_within(from..from + len, to);
    }
    let mut done = 0;
    while done < len {
        // Reads of bytes that were overwritten are those of bytes past the prefix.
        data.copy_within(from + done..from + done + CHUNK, to + done);
        done += CHUNK;
    }
}

#[inline(always)]
fn copy_suffix(data: &mut [MaybeUninit<u8>], to: usize, page: &[u8], position: usize, len: usize) {
    if len > CHUNKED || page.len() - position < len.next_multiple_of(CHUNK) {
        return data[to..to + len].copy_from_slice(as_uninit(&page[position..position + len]));
    }
    let mut done = 0;
    while done < len {
        let chunk = as_uninit(&page[position + done..position + done + CHUNK]);
        data[to + done..to + done + CHUNK].copy_from_slice(chunk);
        done += CHUNK;
    }
}
