//! The column itself: cursor, window, conditions and the rows that are gathered.

use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;

use super::array::FinishRows;
use super::buffer::{BitBuffer, Buffer, Numbers};
use super::byte_encodings::ByteEncodings;
use super::cursor::Cursor;
use super::fixed::FixedByteEncodings;
use super::matcher::Matcher;
use super::values::{BitEncodings, Encodings, FixedEncodings};
use super::window::{Rows, Window, Words, selected_values};
use super::{Column, ColumnKind, Domain, Integers, PageCounts};
use crate::error::{Error, Result};
use crate::kernels::{self, kernels};
use crate::page::{LargePage, Limits, PageReader};
use crate::predicate::{Attempts, IntSet, Matches, Selection, ValueSet, Verdict};

/// Opens a column; it has no chunk yet. What it decodes stays within `limits`.
///
/// # Errors
/// If its physical type is not read here.
pub(crate) fn open(kind: &ColumnKind, limits: &Limits) -> Result<Box<dyn Column>> {
    let kind = kind.clone();
    Ok(match kind.physical {
        PhysicalType::BOOLEAN => Box::new(Reader::new(BitEncodings::default(), kind, limits)),
        PhysicalType::INT32 => Box::new(Reader::new(FixedEncodings::<i32>::new(true), kind, limits)),
        PhysicalType::INT64 => Box::new(Reader::new(FixedEncodings::<i64>::new(true), kind, limits)),
        PhysicalType::FLOAT => Box::new(Reader::new(FixedEncodings::<i32>::new(false), kind, limits)),
        PhysicalType::DOUBLE => Box::new(Reader::new(FixedEncodings::<i64>::new(false), kind, limits)),
        PhysicalType::BYTE_ARRAY => {
            let utf8 = kind.domain() == Domain::Bytes { utf8: true };
            Box::new(Reader::new(ByteEncodings::new(utf8, kind.continues, limits.max_value_size), kind, limits))
        }
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            Box::new(Reader::new(FixedByteEncodings::new(kind.width, kind.continues), kind, limits))
        }
        other => return Err(Error::unsupported(format!("physical type {other}"))),
    })
}

/// A condition, and the verdict on each entry of the dictionary once a window of indices has asked for it.
struct Condition<M> {
    matcher: M,
    nulls: bool,
    /// The integers for which it holds.
    integers: Option<IntSet>,
    entries: Option<Vec<u64>>,
    /// Verdicts from the headers of blocks: asking takes a quarter of the time of decoding, and where data has no order it is in
    /// vain.
    headers: Attempts,
}

/// Rows of which some are wanted that are read at once, before the others of them go: their values stay in the L1 cache.
const MIXED_ROWS: usize = 1024;

/// Windows whose headers may be asked in vain before there is a pause.
const PATIENCE: u32 = 4;

struct Reader<E: Encodings> {
    kind: ColumnKind,
    cursor: Cursor<E>,
    window: Window<E::Buffer>,
    conditions: Vec<Condition<E::Matcher>>,
    /// Whether anything but NULL tests looks at the window.
    reads_values: bool,
    rows: Rows<E::Buffer>,
    /// The window with a place for each row.
    spread: E::Buffer,
    dense: E::Buffer,
    indices: Numbers<u32>,
}

impl<E: Encodings> Reader<E>
where
    E::Buffer: FinishRows,
{
    fn new(encodings: E, kind: ColumnKind, limits: &Limits) -> Self {
        let spread = encodings.buffer();
        let [window, rows, dense, segment, all] = std::array::from_fn(|_| {
            let mut buffer = encodings.buffer();
            buffer.set_limit(limits.max_batch_size);
            buffer
        });
        Self {
            cursor: Cursor::new(encodings, kind.optional, kind.continues, [segment, all]),
            kind,
            window: Window::new(window),
            conditions: Vec::new(),
            reads_values: false,
            rows: Rows::new(rows),
            spread,
            dense,
            indices: Numbers::default(),
        }
    }

    fn named(&self, error: Error) -> Error {
        error.at_column(&self.kind.path)
    }

    /// Writes which of the window's values meet the condition.
    fn select_values(&mut self, slot: usize, words: &mut [u64]) {
        let Some(condition) = self.conditions.get_mut(slot) else { return };
        if !self.window.coded {
            return condition.matcher.select(&self.window.values, words);
        }
        let entries = condition.entries.get_or_insert_with(|| {
            let dictionary = self.cursor.values().dictionary();
            let len = dictionary.map_or(0, Buffer::len);
            let mut verdicts = vec![0; len.div_ceil(64)];
            if let Some(dictionary) = dictionary {
                condition.matcher.select(dictionary, &mut verdicts);
            }
            verdicts
        });
        kernels().gather_bits(entries, &self.window.indices, words);
    }

    /// Keeps of `selection` the rows of the window whose values `words` has, and those that are NULL if `nulls`.
    fn narrow(&self, selection: &mut Selection, words: &Words, nulls: bool) {
        let mut rows = *words;
        if let Some(validity) = self.window.validity() {
            kernels().pdep_words(words, validity, &mut rows);
            if nulls {
                // Bits beyond the window stay clear in the selection.
                rows.iter_mut().zip(validity).for_each(|(row, valid)| *row |= !valid);
            }
        }
        match &self.window.held {
            None => selection.narrow(&rows),
            Some(held) => {
                let mut all: Words = [0; _];
                kernels().pdep_words(&rows, held.words(), &mut all);
                selection.narrow(&all);
            }
        }
    }

    fn read_window_inner(&mut self, selection: &Selection) -> Result<()> {
        if self.reads_values && self.cursor.pick_window(selection, &mut self.window)? {
            return Ok(());
        }
        self.cursor.read_window(selection.len(), self.reads_values, &mut self.window)
    }

    fn append_window_inner(&mut self, selection: &Selection) -> Result<()> {
        let window = &self.window;
        let count = selection.count();
        let Some(validity) = window.validity() else {
            if window.coded {
                self.indices.clear();
                self.indices.append_selected(&window.indices, selection.words(), count)?;
                self.cursor.values().gather(&self.indices, &mut self.rows.values)?;
            } else {
                self.rows.values.append_selected(&window.values, selection.words(), count)?;
            }
            self.rows.append_validity(None, count);
            return Ok(());
        };
        let (of_values, of_rows) = selected_values(selection, validity);
        let values = kernels().count_ones(&of_values);
        let words = (window.rows - window.nulls).div_ceil(64);
        self.dense.clear();
        if window.coded {
            self.indices.clear();
            self.indices.append_selected(&window.indices, &of_values[..words], values)?;
            self.cursor.values().gather(&self.indices, &mut self.dense)?;
        } else {
            self.dense.append_selected(&window.values, &of_values[..words], values)?;
        }
        self.rows.values.append_spread(&self.dense, &of_rows[..count.div_ceil(64)], count)?;
        self.rows.append_validity(Some(&of_rows), count);
        Ok(())
    }

    fn append_inner(&mut self, selection: &Selection) -> Result<()> {
        if selection.is_full() {
            return self.cursor.read_rows(selection.len(), &mut self.rows);
        }
        let mut passed = 0;
        // No row outside of a span is read: its page may not be there.
        for Range { start, end } in selection.spans(MIXED_ROWS) {
            self.cursor.skip(start - passed);
            let span = selection.slice(start, end);
            if span.is_full() {
                self.cursor.read_rows(span.len(), &mut self.rows)?;
            } else {
                self.cursor.read_selected(&span, &mut self.rows)?;
            }
            passed = end;
        }
        self.cursor.skip(selection.len() - passed);
        Ok(())
    }
}

/// The type that packs into a dictionary of `values` without a copy on the way.
fn packed_from(values: &DataType) -> &DataType {
    match values {
        DataType::Utf8 | DataType::LargeUtf8 => &DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => &DataType::BinaryView,
        other => other,
    }
}

impl<E: Encodings> Column for Reader<E>
where
    E::Buffer: FinishRows,
{
    fn start_chunk(&mut self, pages: PageReader) {
        self.cursor.start_chunk(pages);
        for condition in &mut self.conditions {
            condition.entries = None;
        }
    }

    fn end_chunk(&mut self) {
        self.cursor.end_chunk();
        self.window.clear();
        self.dense.clear();
        self.spread.clear();
    }

    fn add_condition(&mut self, matches: &Matches) -> Result<usize> {
        let matcher = E::Matcher::new(&matches.values).map_err(|error| self.named(error))?;
        self.reads_values |= !matches!(matches.values, ValueSet::All | ValueSet::None);
        let integers = match &matches.values {
            ValueSet::Ints(set) => Some(set.clone()),
            _ => None,
        };
        let nulls = matches.nulls;
        self.conditions.push(Condition { matcher, nulls, integers, entries: None, headers: Attempts::new(PATIENCE) });
        Ok(self.conditions.len() - 1)
    }

    fn clear_conditions(&mut self) {
        self.conditions.clear();
        self.reads_values = false;
    }

    fn need_values(&mut self) {
        self.reads_values = true;
    }

    fn skip(&mut self, rows: usize) {
        self.cursor.skip(rows);
    }

    fn missing(&mut self, skip: usize, rows: usize) -> Result<Option<Range<usize>>> {
        self.cursor.missing(skip, rows).map_err(|error| error.at_column(&self.kind.path))
    }

    fn supply(&mut self, offset: usize, bytes: Bytes) {
        self.cursor.supply(offset, bytes);
    }

    fn large_page(&mut self, skip: usize, rows: usize) -> Option<LargePage> {
        self.cursor.large_page(skip, rows)
    }

    fn supply_page(&mut self, page: LargePage) {
        self.cursor.supply_page(page);
    }

    fn read_window(&mut self, selection: &Selection) -> Result<()> {
        self.read_window_inner(selection).map_err(|error| self.named(error))
    }

    fn verdict(&mut self, slot: usize, rows: usize) -> Result<Verdict> {
        let Some(Condition { integers: Some(integers), nulls, headers, .. }) = self.conditions.get_mut(slot) else {
            return Ok(Verdict::Some);
        };
        if !headers.is_due() {
            return Ok(Verdict::Some);
        }
        let bounds = self.cursor.bounds(rows).map_err(|error| error.at_column(&self.kind.path))?;
        let Some((low, high, all_valid)) = bounds else {
            if self.cursor.has_headers() {
                headers.note(false);
            }
            return Ok(Verdict::Some);
        };
        // NULL rows have a verdict of their own, which is known where there are none.
        let verdict = match integers.verdict(&low, &high) {
            Verdict::All if all_valid || *nulls => Verdict::All,
            Verdict::None if all_valid || !*nulls => Verdict::None,
            _ => Verdict::Some,
        };
        headers.note(verdict != Verdict::Some);
        Ok(verdict)
    }

    fn count_decided(&mut self, rows: usize) {
        self.cursor.count_decided(rows);
    }

    fn hopes_of_headers(&self, slot: usize) -> bool {
        let condition = self.conditions.get(slot);
        self.cursor.has_headers()
            && condition.is_some_and(|condition| condition.integers.is_some() && condition.headers.is_hopeful())
    }

    fn filter_unread(&mut self, slot: usize, selection: &mut Selection) -> Result<()> {
        if let Some(condition) = self.conditions.get(slot)
            && self.reads_values
        {
            let mut words: Words = [0; _];
            let nulls = condition.nulls;
            let read = self.cursor.read_matches(selection, &condition.matcher, &mut self.window, &mut words);
            if read.map_err(|error| self.named(error))? {
                self.narrow(selection, &words, nulls);
                return Ok(());
            }
        }
        self.read_window(selection)?;
        self.filter(slot, selection);
        Ok(())
    }

    fn filter(&mut self, slot: usize, selection: &mut Selection) {
        let mut words: Words = [0; _];
        let values = self.window.rows - self.window.nulls;
        let nulls = self.conditions.get(slot).is_some_and(|condition| condition.nulls);
        if self.reads_values {
            self.select_values(slot, &mut words[..values.div_ceil(64)]);
        } else if let Some(condition) = self.conditions.get(slot)
            && condition.matcher.is_all()
        {
            kernels::fill_bits(&mut words, 0, values, true);
        }
        self.narrow(selection, &words, nulls);
    }

    fn prepare_integers(&mut self) -> Result<()> {
        let result = self.cursor.values().decode_window(&mut self.window).and_then(|()| {
            self.spread.clear();
            match self.window.validity() {
                None => Ok(()),
                Some(validity) => self.spread.append_spread(&self.window.values, validity, self.window.rows),
            }
        });
        result.map_err(|error| self.named(error))
    }

    fn integers(&self) -> Result<Integers<'_>> {
        let validity = self.window.validity();
        let values = if validity.is_some() { &self.spread } else { &self.window.values };
        values.integers(validity).ok_or_else(|| self.named(Error::unsupported("comparison of a column of no integers")))
    }

    fn append_window(&mut self, selection: &Selection) -> Result<()> {
        let appended = match &self.window.held {
            None => self.append_window_inner(selection),
            Some(held) => self.append_window_inner(&selection.within(held)),
        };
        appended.map_err(|error| self.named(error))
    }

    fn append(&mut self, selection: &Selection) -> Result<()> {
        self.append_inner(selection).map_err(|error| self.named(error))
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let validity = self.rows.validity.take();
        let nulls = validity.map(|mut bits: BitBuffer| arrow::buffer::NullBuffer::new(bits.take()));
        let array = match &self.kind.output {
            dictionary @ DataType::Dictionary(_, values) => {
                let values = self.rows.values.finish(nulls, packed_from(values));
                values.and_then(|values| Ok(cast(&values, dictionary)?))
            }
            output => self.rows.values.finish(nulls, output),
        };
        array.map_err(|error| self.named(error))
    }

    fn extra_bytes(&self) -> usize {
        self.rows.values.extra_bytes()
    }

    fn window_bytes(&self) -> usize {
        self.window.values.extra_bytes()
    }

    fn memory(&self) -> usize {
        let buffers = [&self.window.values, &self.rows.values, &self.spread, &self.dense];
        self.cursor.memory() + buffers.iter().map(|buffer| buffer.memory()).sum::<usize>()
    }

    fn page_counts(&self) -> PageCounts {
        self.cursor.counts()
    }
}
