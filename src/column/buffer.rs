//! Dense values of one physical type, and how survivors move from one buffer to another.

use std::ops::Deref;

use arrow::buffer::Buffer as ArrowBuffer;

use crate::error::Result;
use crate::kernels::{self, Value, kernels, ones};
use crate::predicate::WINDOW_ROWS;

/// Values to make room for after a batch of `rows`: batches are alike but for a window, and a window more is written before
/// what is not selected of it is cut off. Without that room each batch would be moved into memory of twice its size.
pub(crate) fn room_after(rows: usize) -> usize {
    rows + 2 * rows.min(WINDOW_ROWS)
}

/// `values` without the memory that was made for many more.
pub(crate) fn fitted<T>(mut values: Vec<T>) -> Vec<T> {
    if values.capacity() > 2 * values.len() {
        values.shrink_to_fit();
    }
    values
}

/// Selected values up to which each is moved by itself.
const FEW: usize = 32;

/// A growing run of values of one physical type.
pub(crate) trait Buffer: Send {
    /// Values.
    fn len(&self) -> usize;

    /// Drops all values; keeps the memory.
    fn clear(&mut self);

    /// Appends those values of `source` that are set in `words`, of which there are `count`.
    fn append_selected(&mut self, source: &Self, words: &[u64], count: usize) -> Result<()>;

    /// Appends `rows` values: where `words` is set the next of `source`, elsewhere a default that means nothing.
    fn append_spread(&mut self, source: &Self, words: &[u64], rows: usize) -> Result<()>;

    /// Makes a finished buffer cheap to gather from: a dictionary.
    fn freeze(&mut self) {}

    /// Says how many bytes the buffer may hold beside a fixed number for each value.
    fn set_limit(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Bytes of memory that the buffer has taken. Shared ones do not count.
    fn memory(&self) -> usize;

    /// Bytes that the buffer holds beside a fixed number for each value. Shared ones do not count.
    fn extra_bytes(&self) -> usize {
        0
    }
}

/// Numbers, or the bits of them. The memory behind them stays as it was: a window that is filled again and again is not
/// zeroed each time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers<T> {
    /// The numbers, and what was written behind them some time.
    memory: Vec<T>,
    len: usize,
}

impl<T: Value> Numbers<T> {
    /// Room for `count` more, which are anything before they are written.
    pub(crate) fn grow(&mut self, count: usize) -> &mut [T] {
        let start = self.len;
        self.len += count;
        if let more @ 1.. = self.len.saturating_sub(self.memory.len()) {
            self.memory.reserve(more);
            self.memory.resize(self.memory.capacity(), T::default());
        }
        &mut self.memory[start..self.len]
    }

    /// Takes them, and makes room for as many.
    pub(crate) fn take(&mut self) -> Vec<T> {
        let mut numbers = std::mem::take(&mut self.memory);
        numbers.truncate(std::mem::take(&mut self.len));
        self.memory.reserve_exact(room_after(numbers.len()));
        fitted(numbers)
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[..self.len]
    }
}

impl<T: Value> Buffer for Numbers<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    fn memory(&self) -> usize {
        self.memory.capacity() * size_of::<T>()
    }

    fn append_selected(&mut self, source: &Self, words: &[u64], count: usize) -> Result<()> {
        if count == source.len {
            self.grow(count).copy_from_slice(source);
        } else if count <= FEW {
            self.grow(count).iter_mut().zip(ones(words)).for_each(|(slot, position)| *slot = source[position]);
        } else {
            // The kernel may write whole vectors: it gets room for all values, and what it did not fill is cut off.
            let written = T::compact(kernels(), source, words, self.grow(source.len));
            self.len -= source.len - written;
        }
        Ok(())
    }

    fn append_spread(&mut self, source: &Self, words: &[u64], rows: usize) -> Result<()> {
        T::expand(kernels(), source, words, rows, self.grow(rows));
        Ok(())
    }
}

/// Bits: booleans, and validity.
#[derive(Debug, Default, Clone)]
pub(crate) struct BitBuffer {
    words: Vec<u64>,
    len: usize,
}

impl BitBuffer {
    /// The words; bits from [`Buffer::len`] on are zero.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Room for `len` more bits, all zero: the words and the position of the first new bit.
    pub(crate) fn grow(&mut self, len: usize) -> (&mut [u64], usize) {
        let start = self.len;
        self.len += len;
        self.words.resize(self.len.div_ceil(64), 0);
        (&mut self.words, start)
    }

    /// Appends `len` bits that are set.
    pub(crate) fn append_ones(&mut self, len: usize) {
        let (words, start) = self.grow(len);
        kernels::fill_bits(words, start, len, true);
    }

    /// Appends the first `len` bits of `words`.
    pub(crate) fn append_bits(&mut self, bits: &[u64], len: usize) {
        let (words, start) = self.grow(len);
        kernels::copy_bits(bits, 0, words, start, len);
    }

    /// Takes the bits as an Arrow buffer.
    pub(crate) fn take(&mut self) -> arrow::buffer::BooleanBuffer {
        let len = std::mem::take(&mut self.len);
        arrow::buffer::BooleanBuffer::new(ArrowBuffer::from_vec(std::mem::take(&mut self.words)), 0, len)
    }
}

impl Buffer for BitBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    fn append_selected(&mut self, source: &Self, words: &[u64], count: usize) -> Result<()> {
        let mut packed = vec![0; words.len()];
        kernels().pext_words(&source.words, words, &mut packed);
        self.append_bits(&packed, count);
        Ok(())
    }

    fn append_spread(&mut self, source: &Self, words: &[u64], rows: usize) -> Result<()> {
        let mut spread = vec![0; words.len()];
        kernels().pdep_words(&source.words, words, &mut spread);
        self.append_bits(&spread, rows);
        Ok(())
    }
}
