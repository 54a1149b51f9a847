//! DELTA_BYTE_ARRAY: how much of the value before stays (DELTA_BINARY_PACKED), then what follows it
//! (DELTA_LENGTH_BYTE_ARRAY).

use crate::error::{Error, Result};
use crate::kernels::{FrontCoded, LONGEST, MARGIN, kernels};

use super::byte_array::{
    INLINE_LEN, LONG, PAYLOAD, ViewBuffer, load_at, load_payload, long_view, make_inline_view, view_bytes,
};
use super::delta_binary_packed::DeltaBinaryPacked;

/// Values whose lengths are decoded together.
const BATCH: usize = 256;

/// Bytes that are copied at once; what is written too many is overwritten.
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
#[derive(Debug, Clone, Default)]
pub struct DeltaByteArray {
    prefixes: DeltaBinaryPacked<i32>,
    suffixes: DeltaBinaryPacked<i32>,
    /// Where the stream of suffix lengths is.
    suffixes_start: usize,
    /// Where the next suffix is.
    position: usize,
    is_ascii: bool,
    previous: Vec<u8>,
    prefix_lengths: Vec<i32>,
    suffix_lengths: Vec<i32>,
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
        self.is_ascii = page[self.position..].is_ascii() && self.previous.is_ascii();
        self.prefix_lengths.resize(BATCH, 0);
        self.suffix_lengths.resize(BATCH, 0);
        Ok(())
    }

    /// Forgets the last value: nothing goes on from it.
    pub fn forget(&mut self) {
        self.previous.clear();
    }

    /// Whether all bytes of the values are ASCII: each value is UTF-8 then.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// Values that are left, by the header's word.
    pub fn remaining(&self) -> usize {
        self.prefixes.remaining()
    }

    /// Appends the next `count` values to `out`.
    ///
    /// # Errors
    /// Corrupt: fewer are left, a length is negative or past the end of the page, or a prefix is longer than the value
    /// before. Limit: `out` is full.
    pub fn read(&mut self, page: &[u8], count: usize, out: &mut ViewBuffer) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            let start = self.position;
            let are_short = self.next_batch(page, batch)?;
            if are_short && self.previous.len() <= INLINE_LEN {
                self.read_short(page, start, batch, out);
            } else {
                self.read_any(page, start, batch, out)?;
            }
            left -= batch;
        }
        Ok(())
    }

    /// Appends the next `count` values of a FIXED_LEN_BYTE_ARRAY of `width` bytes to `out`.
    ///
    /// # Errors
    /// As [`DeltaByteArray::read`], and Corrupt: a value has another length.
    pub fn read_fixed(&mut self, page: &[u8], count: usize, width: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            let start = self.position;
            self.next_batch(page, batch)?;
            let lengths = self.prefix_lengths[..batch].iter().zip(&self.suffix_lengths[..batch]);
            if lengths.fold(false, |other, (&prefix, &suffix)| other | ((prefix + suffix) as usize != width)) {
                return Err(Error::corrupt(format!("DELTA_BYTE_ARRAY with values that are not of {width} bytes")));
            }
            // The first prefix is within the value before, whatever its length was.
            self.previous.resize(width, 0);
            if width <= WORD {
                self.read_words(page, start, batch, width, out);
            } else {
                self.read_rows(page, start, batch, width, out);
            }
            left -= batch;
        }
        Ok(())
    }

    /// Moves past the next `count` values.
    ///
    /// # Errors
    /// As [`DeltaByteArray::read`].
    pub fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            self.next_batch(page, batch)?;
            self.rebuild_previous(page, batch);
            left -= batch;
        }
        Ok(())
    }

    /// Decodes and checks the lengths of the next values into the scratch, and moves past their suffixes;
    /// returns whether all values fit in their views.
    fn next_batch(&mut self, page: &[u8], count: usize) -> Result<bool> {
        let prefixes = &mut self.prefix_lengths[..count];
        let suffixes = &mut self.suffix_lengths[..count];
        self.prefixes.read(page, prefixes)?;
        self.suffixes.read(&page[self.suffixes_start..], suffixes)?;

        // All checks are sign bits. A sum that overflows is negative, and the length of a value that no view can have.
        let (mut negative, mut short_before, mut long) = (0, 0, 0);
        for (&prefix, &suffix) in prefixes.iter().zip(&*suffixes) {
            let length = prefix.wrapping_add(suffix);
            negative |= prefix | suffix | length;
            long |= (INLINE_LEN as i32).wrapping_sub(length);
        }
        for ((&prefix, &suffix), &next) in prefixes.iter().zip(&*suffixes).zip(prefixes.iter().skip(1)) {
            short_before |= prefix.wrapping_add(suffix).wrapping_sub(next);
        }
        if negative < 0 {
            return Err(Error::corrupt("byte array length is negative, or exceeds 31 bits"));
        }
        if short_before < 0 || prefixes.first().is_some_and(|&prefix| prefix as usize > self.previous.len()) {
            return Err(Error::corrupt("prefix is longer than the value before"));
        }
        let bytes = total_length(suffixes);
        if bytes > (page.len() - self.position) as u64 {
            return Err(Error::corrupt("byte array lengths exceed the page"));
        }
        self.position += bytes as usize;
        Ok(long >= 0)
    }

    /// Appends values of at most [`INLINE_LEN`] bytes after one such: the views themselves are the state.
    fn read_short(&mut self, page: &[u8], start: usize, count: usize, out: &mut ViewBuffer) {
        let mut view = make_inline_view(&self.previous).unwrap_or_default();
        if start >= MARGIN && page.len() - self.position >= MARGIN {
            let (prefixes, suffixes) = (&self.prefix_lengths[..count], &self.suffix_lengths[..count]);
            let input = FrontCoded { prefixes, suffixes, bytes: page, start };
            view = kernels().front_coded(input, view, out.grow(count));
            self.previous.clear();
            self.previous.extend_from_slice(view_bytes(&view, &[]));
            return;
        }
        let mut position = start;
        let lengths = self.prefix_lengths[..count].iter().zip(&self.suffix_lengths[..count]);
        for (slot, (&prefix, &suffix)) in out.grow(count).iter_mut().zip(lengths) {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            let length = prefix + suffix;
            let kept = PAYLOAD[prefix % PAYLOAD.len()];
            // The mask of the prefix is part of that of the value.
            let added = PAYLOAD[length % PAYLOAD.len()] ^ kept;
            let payload = load_payload(page, position, prefix, suffix) & added;
            // Two steps are on the chain from value to value.
            view = (view & kept) | (payload | length as u128);
            *slot = view;
            position += suffix;
        }
        self.previous.clear();
        self.previous.extend_from_slice(view_bytes(&view, &[]));
    }

    /// Appends values of any length.
    ///
    /// All are written to the buffer, and the next one over those that fit in their views.
    fn read_any(&mut self, page: &[u8], start: usize, count: usize, out: &mut ViewBuffer) -> Result<()> {
        if self.read_registers(page, start, count, out)? {
            return Ok(());
        }
        let slack = self.previous.len() + CHUNK;
        let total = total_length(&self.prefix_lengths[..count]) + total_length(&self.suffix_lengths[..count]);
        // What does not fit an address does not fit the buffer.
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let mut write = out.reserve(total.saturating_add(slack))?;
        out.data.resize(write + total + slack, 0);
        let buffer_index = out.buffer_index;
        // Apart, so that the loop can fill both.
        let mut data = std::mem::take(&mut out.data);
        let bytes = &mut data[..];
        // As if it were a short value that the first one of the batch is written over.
        bytes[write..write + self.previous.len()].copy_from_slice(&self.previous);
        let mut previous = write;
        let mut length = self.previous.len();
        let mut position = start;
        let lengths = self.prefix_lengths[..count].iter().zip(&self.suffix_lengths[..count]);
        for (slot, (&prefix, &suffix)) in out.grow(count).iter_mut().zip(lengths) {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            if previous != write {
                copy_prefix(bytes, previous, write, prefix);
            }
            copy_suffix(bytes, write + prefix, page, position, suffix);
            position += suffix;
            length = prefix + suffix;
            previous = write;
            // There is slack after the last value.
            let payload = bytes[write..].first_chunk::<12>().map_or(0, inline_payload);
            *slot = (payload & PAYLOAD[length.min(LONG)]) | length as u128;
            if length > INLINE_LEN {
                // The end of the data fits in 31 bits.
                *slot |= long_view(0, 0, buffer_index, write as u32);
                write += length;
            }
        }
        self.previous.clear();
        self.previous.extend_from_slice(&bytes[previous..previous + length]);
        data.truncate(write);
        out.data = data;
        Ok(())
    }

    /// Appends values if none of them is longer than a register, and the processor has such.
    fn read_registers(&mut self, page: &[u8], start: usize, count: usize, out: &mut ViewBuffer) -> Result<bool> {
        let (prefixes, suffixes) = (&self.prefix_lengths[..count], &self.suffix_lengths[..count]);
        let (longest, total) = prefixes.iter().zip(suffixes).fold((0, 0), |(longest, total), (&prefix, &suffix)| {
            let length = prefix.wrapping_add(suffix);
            (length.max(longest), length.wrapping_add(total))
        });
        let Some(value) = self.previous.get(..).filter(|value| value.len() <= LONGEST && longest <= LONGEST as i32)
        else {
            return Ok(false);
        };
        let mut register = [0; LONGEST];
        register[..value.len()].copy_from_slice(value);
        let input = FrontCoded { prefixes, suffixes, bytes: page, start };
        let buffer_index = out.buffer_index;
        // SAFETY: the kernel says how many bytes it wrote.
        let done = unsafe {
            out.append_with(count, total as usize + LONGEST, |data, first, views| {
                kernels().front_coded_long(input, &mut register, data, (buffer_index, first), views)
            })
        };
        let done = done?;
        if done && let (Some(prefix), Some(suffix)) = (prefixes.last(), suffixes.last()) {
            let length = (prefix + suffix) as usize;
            self.previous.clear();
            self.previous.extend_from_slice(&register[..length]);
        }
        Ok(done)
    }

    /// Appends values of at most [`WORD`] bytes: a register is the state.
    fn read_words(&mut self, page: &[u8], start: usize, count: usize, width: usize, out: &mut Vec<u8>) {
        let mut word = load_at(&self.previous, 0, 0, width);
        let mut position = start;
        let mut write = out.len();
        // Words are written whole: what is too much is overwritten by the next one, or cut off.
        out.resize(write + count * width + WORD - width, 0);
        let lengths = self.prefix_lengths[..count].iter().zip(&self.suffix_lengths[..count]);
        for (&prefix, &suffix) in lengths {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            let kept = FIRST[prefix.min(WORD)];
            word = (word & kept) | (load_at(page, position, prefix, suffix) & !kept);
            out[write..write + WORD].copy_from_slice(&word.to_le_bytes());
            write += width;
            position += suffix;
        }
        out.truncate(write);
        self.previous.copy_from_slice(&word.to_le_bytes()[..width]);
    }

    /// Appends values of `width` bytes, each from the one before.
    fn read_rows(&mut self, page: &[u8], start: usize, count: usize, width: usize, out: &mut Vec<u8>) {
        let first = out.len();
        out.resize(first + count * width, 0);
        let lengths = self.prefix_lengths[..count].iter().zip(&self.suffix_lengths[..count]);
        let mut position = start;
        let mut previous = self.previous.as_slice();
        for (row, (&prefix, &suffix)) in out[first..].chunks_exact_mut(width).zip(lengths) {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            row[..prefix].copy_from_slice(&previous[..prefix]);
            row[prefix..].copy_from_slice(&page[position..position + suffix]);
            position += suffix;
            previous = row;
        }
        self.previous.copy_from_slice(&out[out.len() - width..]);
    }

    /// Makes `previous` the last value of the batch without those before it: from the end backwards, each value gives
    /// the bytes after its prefix that no later one has replaced.
    fn rebuild_previous(&mut self, page: &[u8], count: usize) {
        let lengths = self.prefix_lengths[..count].iter().zip(&self.suffix_lengths[..count]);
        let mut position = self.position;
        let mut missing = None;
        for (&prefix, &suffix) in lengths.rev() {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            position -= suffix;
            let end = *missing.get_or_insert_with(|| {
                self.previous.resize(prefix + suffix, 0);
                prefix + suffix
            });
            if prefix < end {
                self.previous[prefix..end].copy_from_slice(&page[position..position + end - prefix]);
                missing = Some(prefix);
            }
            if prefix == 0 {
                break;
            }
        }
    }
}

/// The sum of lengths of a batch, none of which is negative.
fn total_length(lengths: &[i32]) -> u64 {
    lengths.iter().map(|length| u64::from(length.cast_unsigned())).sum()
}

/// The bytes as the payload of a view.
#[inline(always)]
fn inline_payload(bytes: &[u8; 12]) -> u128 {
    let mut view = [0; 16];
    view[4..].copy_from_slice(bytes);
    u128::from_le_bytes(view)
}

/// Copies the start of the value at `from` to `to`, which is not before the end of that value.
#[inline(always)]
fn copy_prefix(data: &mut [u8], from: usize, to: usize, len: usize) {
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
fn copy_suffix(data: &mut [u8], to: usize, page: &[u8], position: usize, len: usize) {
    if len > CHUNKED || page.len() - position < len.next_multiple_of(CHUNK) {
        return data[to..to + len].copy_from_slice(&page[position..position + len]);
    }
    let mut done = 0;
    while done < len {
        data[to + done..to + done + CHUNK].copy_from_slice(&page[position + done..position + done + CHUNK]);
        done += CHUNK;
    }
}
