//! Floor 4: a column of a file as a cursor over rows that filters and gathers.
//!
//! A [`Column`] lives as long as the scan of its file. For each row group it gets a column chunk; for each window it is
//! skipped, read into its window, filtered, or appended to the array that it builds. It acts late: rows that are
//! skipped are only counted, and the debt is settled when the column is next asked for a value.
//!
//! | file | job |
//! |---|---|
//! | `kind` | which pairs of Parquet and Arrow types are read here, and in which domain they are filtered |
//! | `buffer` | dense values of one physical type, and how survivors move from one buffer to another |
//! | `values` | the decoders of one physical type, over all its encodings |
//! | `byte_buffer`, `byte_encodings`, `byte_matcher` | byte arrays: views and what they point into, decoders, tests |
//! | `fixed` | the same for byte arrays of a fixed length |
//! | `window` | rows on their way: a window for the predicates, and the survivors |
//! | `cursor` | pages, levels and debts of one column chunk |
//! | `matcher` | a set of values made ready to test windows |
//! | `reader` | the column itself: cursor, window, matchers and builder |
//! | `array` | dense values and validity to Arrow arrays |
//! | `decimal` | decimals from big-endian bytes |

use std::ops::Range;

use arrow::array::ArrayRef;
use bytes::Bytes;

use crate::error::Result;
use crate::page::{LargePage, PageReader};
use crate::predicate::{Matches, Selection, Verdict};

mod array;
mod buffer;
mod byte_buffer;
mod byte_encodings;
mod byte_matcher;
mod cursor;
mod decimal;
mod fixed;
mod kind;
mod matcher;
mod reader;
mod values;
mod window;

pub(crate) use array::integer_array;
pub(crate) use cursor::PageCounts;
pub(crate) use kind::ColumnKind;
pub use kind::Domain;
pub(crate) use reader::open;

/// A column over all row groups of a file. See the module's documentation.
pub(crate) trait Column: Send {
    /// Goes to the chunk of the next row group; debts of the one before are dropped.
    fn start_chunk(&mut self, pages: PageReader);

    /// Lets go of the chunk's bytes; what was gathered stays.
    fn end_chunk(&mut self);

    /// Registers a condition; the slot that comes back names it in [`Column::filter`].
    ///
    /// Conditions come and go with row groups: [`Column::clear_conditions`].
    fn add_condition(&mut self, matches: &Matches) -> Result<usize>;

    /// Forgets all conditions, and that values are needed.
    fn clear_conditions(&mut self);

    /// Passes over `rows` rows; decodes nothing.
    fn skip(&mut self, rows: usize);

    /// Which bytes of the chunk have to be supplied before `rows` more rows can be read once `skip` are passed; None if all
    /// are there, as far as can be told. When they are supplied, more may be missing.
    ///
    /// # Errors
    /// As [`Column::read_window`].
    fn missing(&mut self, skip: usize, rows: usize) -> Result<Option<Range<usize>>>;

    /// Takes the bytes of the chunk at `offset`.
    fn supply(&mut self, offset: usize, bytes: Bytes);

    /// The next page that has to be decompressed before `rows` more rows can be read once `skip` are passed, if it is large
    /// and was not supplied. Reading decompresses it where nobody else has.
    fn large_page(&mut self, skip: usize, rows: usize) -> Option<LargePage>;

    /// Takes a page that was decompressed.
    fn supply_page(&mut self, page: LargePage);

    /// Reads the next `selection.len()` rows into the window; where that is quicker the selected ones alone, and nobody may ask
    /// for others.
    ///
    /// # Errors
    /// If the bytes are corrupt, or the chunk has fewer rows.
    fn read_window(&mut self, selection: &Selection) -> Result<()>;

    /// Has values read into the window even if all conditions are NULL tests.
    fn need_values(&mut self);

    /// Which of the next `rows` rows meet the condition in `slot`, as far as it can be told without reading them.
    ///
    /// # Errors
    /// As [`Column::read_window`].
    fn verdict(&mut self, slot: usize, rows: usize) -> Result<Verdict>;

    /// Counts the next `rows` rows among those on which headers have decided.
    fn count_decided(&mut self, rows: usize);

    /// Whether headers that did not decide on rows may well decide on some of them.
    fn hopes_of_headers(&self, slot: usize) -> bool;

    /// Reads the next rows, all that `selection` is about, and keeps of it those that meet the condition in `slot`. There is no
    /// window of them after it: nobody else looks at the column.
    ///
    /// # Errors
    /// As [`Column::read_window`].
    fn filter_unread(&mut self, slot: usize, selection: &mut Selection) -> Result<()>;

    /// Keeps of `selection` the rows of the window that meet the condition in `slot`.
    fn filter(&mut self, slot: usize, selection: &mut Selection);

    /// Makes [`Column::integers`] answer for the window.
    ///
    /// # Errors
    /// If the window's indices cannot be decoded.
    fn prepare_integers(&mut self) -> Result<()>;

    /// The window's values with a place for each row, and the validity words (None: no NULL).
    ///
    /// # Errors
    /// If the column is not of integers.
    fn integers(&self) -> Result<Integers<'_>>;

    /// Appends the selected rows of the window to the array that is being built.
    fn append_window(&mut self, selection: &Selection) -> Result<()>;

    /// Reads the next `selection.len()` rows and appends the selected ones to the array that is being built.
    fn append(&mut self, selection: &Selection) -> Result<()>;

    /// The rows that were appended, as an array; starts the next one.
    fn finish(&mut self) -> Result<ArrayRef>;

    /// Bytes of the rows that were appended, beside a fixed number for each.
    fn extra_bytes(&self) -> usize;

    /// Bytes of the window, beside a fixed number for each row.
    fn window_bytes(&self) -> usize;

    /// Bytes of memory that the column keeps, beside those of the chunk.
    fn memory(&self) -> usize;

    /// Pages so far, over all chunks.
    fn page_counts(&self) -> PageCounts;
}

/// A window of integers, one for each row; those of NULL rows mean nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Integers<'a> {
    /// INT32.
    I32(&'a [i32], Option<&'a [u64]>),
    /// INT64.
    I64(&'a [i64], Option<&'a [u64]>),
}

impl<'a> Integers<'a> {
    /// The validity words; None if no row is NULL.
    pub(crate) fn validity(self) -> Option<&'a [u64]> {
        match self {
            Self::I32(_, validity) | Self::I64(_, validity) => validity,
        }
    }
}
