//! Rows on their way: a window for the predicates, and the survivors.

use super::buffer::{BitBuffer, Buffer, Numbers};
use crate::kernels::kernels;
use crate::predicate::{Selection, WINDOW_ROWS};

/// A bit for each row of a window, or for each of its values.
pub(super) type Words = [u64; WINDOW_ROWS / 64];

/// Of rows of which some are NULL: which of the values are selected, and which of the selected rows have one.
pub(super) fn selected_values(selection: &Selection, validity: &[u64]) -> (Words, Words) {
    let (mut of_values, mut of_rows): (Words, Words) = ([0; _], [0; _]);
    kernels().pext_words(selection.words(), validity, &mut of_values);
    kernels().pext_words(validity, selection.words(), &mut of_rows);
    (of_values, of_rows)
}

/// Rows that were read for the predicates: dense values, and where they belong.
pub(crate) struct Window<B> {
    /// Which rows of the scan's window are here, if not all.
    pub(crate) held: Option<Selection>,
    /// Rows.
    pub(crate) rows: usize,
    /// Rows that are NULL.
    pub(crate) nulls: usize,
    /// Which rows have a value; meaningful where there are NULLs.
    pub(crate) validity: BitBuffer,
    /// The values, unless `coded`.
    pub(crate) values: B,
    /// Whether `indices` stand for the values.
    pub(crate) coded: bool,
    /// Indices into the dictionary of the chunk.
    pub(crate) indices: Numbers<u32>,
}

impl<B: Buffer> Window<B> {
    /// With the buffer for its values.
    pub(crate) fn new(values: B) -> Self {
        Self {
            held: None,
            rows: 0,
            nulls: 0,
            validity: BitBuffer::default(),
            values,
            coded: false,
            indices: Numbers::default(),
        }
    }

    /// Drops all rows; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.held = None;
        self.rows = 0;
        self.nulls = 0;
        self.validity.clear();
        self.values.clear();
        self.coded = false;
        self.indices.clear();
    }

    /// The validity words, if any row is NULL.
    pub(crate) fn validity(&self) -> Option<&[u64]> {
        (self.nulls > 0).then(|| self.validity.words())
    }
}

/// Rows that survived, on their way to an Arrow array.
pub(crate) struct Rows<B> {
    /// A value for each row; that of a NULL means nothing.
    pub(crate) values: B,
    /// Which rows have a value, from the first NULL on that was met.
    pub(crate) validity: Option<BitBuffer>,
}

impl<B: Buffer> Rows<B> {
    /// With the buffer for their values.
    pub(crate) fn new(values: B) -> Self {
        Self { values, validity: None }
    }

    /// Says of the `len` rows appended last which have a value.
    pub(crate) fn append_validity(&mut self, words: Option<&[u64]>, len: usize) {
        match (&mut self.validity, words) {
            (None, None) => {}
            (Some(validity), None) => validity.append_ones(len),
            (Some(validity), Some(words)) => validity.append_bits(words, len),
            (None, Some(words)) => {
                let mut validity = BitBuffer::default();
                validity.append_ones(self.values.len() - len);
                validity.append_bits(words, len);
                self.validity = Some(validity);
            }
        }
    }
}
