//! A column chunk as a cursor over rows: pages, levels and debts.

use std::ops::Range;

use bytes::Bytes;

use super::buffer::{BitBuffer, Buffer};
use super::matcher::Matcher;
use super::values::{Encodings, Values};
use super::window::{Rows, Window, Words, selected_values};
use crate::encoding::rle::Levels;
use crate::error::{Error, Result};
use crate::kernels::{self, kernels};
use crate::page::{LargePage, PageBuffer, PageReader};
use crate::predicate::Selection;

/// Bytes after which a page is large: some milliseconds of decompression, in which a thread serves nobody else.
const LARGE_PAGE: usize = 2 << 20;

/// Data pages that a cursor has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PageCounts {
    /// Pages that were loaded.
    pub(crate) read: usize,
    /// Pages that were skipped by their headers.
    pub(crate) skipped: usize,
    /// Bytes of the pages that were loaded, after decompression.
    pub(crate) bytes: usize,
    /// Miniblocks of which the headers have said enough.
    pub(crate) decided: usize,
    /// Miniblocks that were unpacked.
    pub(crate) unpacked: usize,
}

/// The cursor. It lags: what is skipped is owed until a value is asked for, and then passed over by whole pages, unread,
/// where that will do.
pub(crate) struct Cursor<E: Encodings> {
    pages: Option<PageReader>,
    page: PageBuffer,
    values: Values<E>,
    levels: Levels,
    optional: bool,
    /// Whether a page's values need those of the page before: no page is skipped.
    continues: bool,
    /// Rows to pass over before the next that is read.
    owed_rows: usize,
    /// Values of the present page to pass over before the next that is read.
    owed_values: usize,
    /// Rows left in the present page, those owed included.
    left: usize,
    /// Of the segment being read.
    validity: BitBuffer,
    dense: E::Buffer,
    counts: PageCounts,
}

/// Rows of one page of which some are selected.
struct SelectedLevels {
    /// How many of them have a value.
    values: usize,
    /// Which of these are selected.
    selected: Words,
    /// How many.
    wanted: usize,
    /// Which of the selected rows have a value, if there are NULLs.
    validity: Option<Words>,
}

impl SelectedLevels {
    fn selected_words(&self) -> &[u64] {
        &self.selected[..self.values.div_ceil(64)]
    }
}

impl<E: Encodings> Cursor<E> {
    /// `continues`: whether a page's values need those of the page before; buffers for the values of a segment, and for values of
    /// which some are selected.
    pub(crate) fn new(encodings: E, optional: bool, continues: bool, [dense, all]: [E::Buffer; 2]) -> Self {
        Self {
            pages: None,
            page: PageBuffer::default(),
            values: Values::new(encodings, all),
            levels: Levels::default(),
            optional,
            continues,
            owed_rows: 0,
            owed_values: 0,
            left: 0,
            validity: BitBuffer::default(),
            dense,
            counts: PageCounts::default(),
        }
    }

    /// Pages so far.
    pub(crate) fn counts(&self) -> PageCounts {
        self.counts
    }

    /// Goes to another chunk.
    pub(crate) fn start_chunk(&mut self, pages: PageReader) {
        self.pages = Some(pages);
        self.values.start_chunk();
        self.owed_rows = 0;
        self.owed_values = 0;
        self.left = 0;
    }

    /// Lets go of the chunk's bytes.
    pub(crate) fn end_chunk(&mut self) {
        self.pages = None;
        self.page.release();
        self.values.end_chunk();
        self.dense.clear();
        self.left = 0;
    }

    /// Bytes of the chunk that have to be there before `rows` more rows can be read once `skip` are passed.
    ///
    /// What is owed is paid by whole pages as far as they are there, so that their bytes can go.
    pub(crate) fn missing(&mut self, skip: usize, rows: usize) -> Result<Option<Range<usize>>> {
        if self.beyond_page(skip, rows).is_none() {
            return Ok(None);
        }
        if self.left <= self.owed_rows && !self.continues {
            self.owed_rows -= std::mem::take(&mut self.left);
            self.pass_pages()?;
        }
        let missing = self.beyond_page(skip, rows).zip(self.pages.as_ref());
        Ok(missing.and_then(|((skip, rows), pages)| pages.missing(skip, rows, self.continues)))
    }

    /// Passes over pages all of whose rows are owed, as far as they are there, and reads the dictionary before them. The
    /// present page is done.
    fn pass_pages(&mut self) -> Result<()> {
        let Some(pages) = &mut self.pages else { return Ok(()) };
        loop {
            if !self.continues
                && let Some(rows) = pages.pass_page(self.owed_rows)?
            {
                self.owed_rows -= rows;
                self.counts.skipped += 1;
            } else if pages.is_dictionary_there() {
                pages.next_page()?;
                pages.load(&mut self.page)?;
                let read = self.values.read_dictionary(&self.page);
                read.map_err(|error| error.at_page(pages.page_index()))?;
            } else {
                return Ok(());
            }
        }
    }

    /// The next page that has to be decompressed before `rows` more rows can be read once `skip` are passed, if it is large.
    pub(crate) fn large_page(&mut self, skip: usize, rows: usize) -> Option<LargePage> {
        let (skip, rows) = self.beyond_page(skip, rows)?;
        self.pages.as_ref()?.large_page(skip, rows, self.continues, LARGE_PAGE, &mut self.page)
    }

    /// Takes a page that was decompressed.
    pub(crate) fn supply_page(&mut self, page: LargePage) {
        self.page.supply(page);
    }

    /// How many rows after the present page are passed and then read, if any are read.
    fn beyond_page(&self, skip: usize, rows: usize) -> Option<(usize, usize)> {
        let passed = self.owed_rows + skip;
        let beyond = (passed + rows).checked_sub(self.left).filter(|beyond| *beyond > 0)?;
        Some((passed.saturating_sub(self.left), beyond.min(rows)))
    }

    /// Takes the bytes of the chunk at `offset`.
    pub(crate) fn supply(&mut self, offset: usize, bytes: Bytes) {
        if let Some(pages) = &mut self.pages {
            pages.supply(offset, bytes);
        }
    }

    /// Bytes of memory that are kept for pages and dictionaries.
    pub(crate) fn memory(&self) -> usize {
        self.page.memory() + self.dense.memory() + self.values.memory()
    }

    /// Passes over `rows` rows.
    pub(crate) fn skip(&mut self, rows: usize) {
        self.owed_rows += rows;
    }

    /// The dictionary's entries, if the chunk has had one so far.
    pub(crate) fn values(&self) -> &Values<E> {
        &self.values
    }

    /// Reads the next `rows` rows into `window`, in place of what it held; their validity alone unless `with_values`.
    pub(crate) fn read_window(&mut self, rows: usize, with_values: bool, window: &mut Window<E::Buffer>) -> Result<()> {
        window.clear();
        window.rows = rows;
        let mut left = rows;
        while left > 0 {
            let len = self.settle(left)?;
            let set = self.read_levels_into(len, &mut window.validity)?;
            window.nulls += len - set;
            if !with_values {
                self.owed_values += set;
            } else if set > 0 {
                self.read_values(set, window).map_err(|error| self.at_page(error))?;
            }
            self.left -= len;
            left -= len;
        }
        Ok(())
    }

    /// Reads the levels of the next rows into `window`, and which of their values match into `words`; the values go. Not, where that
    /// is no quicker than [`Self::read_window`] or [`Self::pick_window`]: nothing is read then.
    pub(crate) fn read_matches(
        &mut self,
        selection: &Selection,
        matcher: &E::Matcher,
        window: &mut Window<E::Buffer>,
        words: &mut Words,
    ) -> Result<bool> {
        let (mut left, count) = (selection.len(), selection.count());
        self.settle(left)?;
        if !self.values.can_match(matcher) || self.values.can_pick(left, count) {
            return Ok(false);
        }
        window.clear();
        window.rows = left;
        let mut values = 0;
        while left > 0 {
            let len = self.settle(left)?;
            let set = self.read_levels_into(len, &mut window.validity)?;
            window.nulls += len - set;
            if set > 0 && values == 0 {
                self.match_values(set, matcher, window, words)?;
            } else if set > 0 {
                let mut more: Words = [0; _];
                self.match_values(set, matcher, window, &mut more)?;
                kernels::copy_bits(&more, 0, words, values, set);
            }
            values += set;
            self.left -= len;
            left -= len;
        }
        Ok(true)
    }

    /// Which of the next `set` values match, into `words`.
    fn match_values(
        &mut self,
        set: usize,
        matcher: &E::Matcher,
        window: &mut Window<E::Buffer>,
        words: &mut Words,
    ) -> Result<()> {
        self.settle_values().map_err(|error| self.at_page(error))?;
        self.counts.unpacked += self.values.miniblocks(set);
        let words = &mut words[..set.div_ceil(64)];
        let read = if self.values.can_match(matcher) {
            self.values.read_matches(self.page.values(), set, matcher, words)
        } else {
            // A page in another encoding.
            window.values.clear();
            let read = self.values.read(self.page.values(), set, &mut window.values);
            read.map(|()| matcher.select(&window.values, words))
        };
        read.map_err(|error| self.at_page(error))
    }

    /// Bounds of the next `rows` rows, and whether none of them is NULL; None where the page says nothing of them, or they
    /// reach into the next one.
    ///
    /// Goes to the first of them: what is owed is paid.
    pub(crate) fn bounds(&mut self, rows: usize) -> Result<Option<(i64, i64, bool)>> {
        if self.settle(rows)? < rows {
            return Ok(None);
        }
        self.settle_values().map_err(|error| self.at_page(error))?;
        let all_valid = !self.optional || self.page.is_all_valid();
        // Of fewer values the bounds are within these.
        let bounds = self.values.bounds(self.page.values(), rows);
        Ok(bounds.map(|(low, high)| (low, high, all_valid)))
    }

    /// Whether there are blocks in the present page whose headers could be asked.
    pub(crate) fn has_headers(&self) -> bool {
        self.values.miniblocks(1) > 0
    }

    /// Counts the next `rows` rows among those of which the headers have said enough.
    pub(crate) fn count_decided(&mut self, rows: usize) {
        self.counts.decided += self.values.miniblocks(rows);
    }

    fn read_values(&mut self, set: usize, window: &mut Window<E::Buffer>) -> Result<()> {
        self.settle_values()?;
        self.counts.unpacked += self.values.miniblocks(set);
        let page = self.page.values();
        if self.values.is_coded() && window.values.len() == 0 {
            window.coded = true;
            return self.values.read_indices(page, set, &mut window.indices);
        }
        // A page in another encoding follows: the window goes on with values.
        self.values.decode_window(window)?;
        self.values.read(page, set, &mut window.values)
    }

    /// Appends the next `rows` rows to `out`.
    pub(crate) fn read_rows(&mut self, rows: usize, out: &mut Rows<E::Buffer>) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            let len = self.settle(left)?;
            self.read_segment(len, out).map_err(|error| self.at_page(error))?;
            self.left -= len;
            left -= len;
        }
        Ok(())
    }

    fn read_segment(&mut self, len: usize, out: &mut Rows<E::Buffer>) -> Result<()> {
        let mut validity = std::mem::take(&mut self.validity);
        validity.clear();
        let set = self.read_levels_into(len, &mut validity)?;
        self.settle_values()?;
        let page = self.page.values();
        self.counts.unpacked += self.values.miniblocks(set);
        if set == len {
            self.values.read(page, set, &mut out.values)?;
            out.append_validity(None, len);
        } else {
            self.dense.clear();
            if set > 0 {
                self.values.read(page, set, &mut self.dense)?;
            }
            out.values.append_spread(&self.dense, validity.words(), len)?;
            out.append_validity(Some(validity.words()), len);
        }
        self.validity = validity;
        Ok(())
    }

    /// Appends those of the next rows that are selected to `out`.
    pub(crate) fn read_selected(&mut self, selection: &Selection, out: &mut Rows<E::Buffer>) -> Result<()> {
        let mut done = 0;
        while done < selection.len() {
            let len = self.settle(selection.len() - done)?;
            let part = selection.slice(done, done + len);
            self.read_selected_segment(&part, out).map_err(|error| self.at_page(error))?;
            self.left -= len;
            done += len;
        }
        Ok(())
    }

    fn read_selected_segment(&mut self, selection: &Selection, out: &mut Rows<E::Buffer>) -> Result<()> {
        let count = selection.count();
        let levels = self.read_selected_levels(selection)?;
        if count == 0 {
            self.owed_values += levels.values;
            return Ok(());
        }
        self.settle_values()?;
        let page = self.page.values();
        self.counts.unpacked += self.values.miniblocks(levels.values);
        let words = levels.selected_words();
        let Some(validity) = levels.validity else {
            self.values.read_selected(page, levels.values, words, levels.wanted, &mut out.values)?;
            out.append_validity(None, count);
            return Ok(());
        };
        self.dense.clear();
        if levels.values > 0 {
            self.values.read_selected(page, levels.values, words, levels.wanted, &mut self.dense)?;
        }
        out.values.append_spread(&self.dense, &validity[..count.div_ceil(64)], count)?;
        out.append_validity(Some(&validity), count);
        Ok(())
    }

    /// Reads the next rows into `window`, of them those that are selected alone. Not, where that is no quicker than
    /// [`Self::read_window`]: nothing is read then.
    pub(crate) fn pick_window(&mut self, selection: &Selection, window: &mut Window<E::Buffer>) -> Result<bool> {
        let (rows, count) = (selection.len(), selection.count());
        if self.settle(rows)? < rows || !self.values.can_pick(rows, count) {
            return Ok(false);
        }
        window.clear();
        let levels = self.read_selected_levels(selection)?;
        window.held = Some(selection.clone());
        window.rows = count;
        window.nulls = count - levels.wanted;
        if let Some(validity) = levels.validity {
            window.validity.append_bits(&validity, count);
        }
        self.left -= rows;
        if levels.wanted == 0 {
            self.owed_values += levels.values;
            return Ok(true);
        }
        let read = self.settle_values().and_then(|()| {
            let (page, words) = (self.page.values(), levels.selected_words());
            self.values.read_selected(page, levels.values, words, levels.wanted, &mut window.values)
        });
        read.map_err(|error| self.at_page(error))?;
        Ok(true)
    }

    /// Reads the levels of the next rows.
    fn read_selected_levels(&mut self, selection: &Selection) -> Result<SelectedLevels> {
        let mut validity = std::mem::take(&mut self.validity);
        validity.clear();
        let values = self.read_levels_into(selection.len(), &mut validity)?;
        let levels = if values == selection.len() {
            let mut selected: Words = [0; _];
            selected[..selection.words().len()].copy_from_slice(selection.words());
            SelectedLevels { values, selected, wanted: selection.count(), validity: None }
        } else {
            let (selected, of_rows) = selected_values(selection, validity.words());
            let wanted = kernels().count_ones(&selected);
            SelectedLevels { values, selected, wanted, validity: Some(of_rows) }
        };
        self.validity = validity;
        Ok(levels)
    }

    /// Appends the validity of the next `len` rows of the page; the number of those that have a value.
    fn read_levels_into(&mut self, len: usize, validity: &mut BitBuffer) -> Result<usize> {
        if !self.optional {
            return Ok(len);
        }
        if self.page.is_all_valid() {
            validity.append_ones(len);
            return Ok(len);
        }
        let (words, start) = validity.grow(len);
        let levels = self.page.definition_levels();
        self.levels.read(levels, len, words, start).map_err(|error| self.at_page(error))
    }

    fn settle_values(&mut self) -> Result<()> {
        match std::mem::take(&mut self.owed_values) {
            0 => Ok(()),
            owed => self.values.skip(self.page.values(), owed),
        }
    }

    /// Pays what is owed and goes to a page with rows; how many of the next `rows` rows it has.
    fn settle(&mut self, rows: usize) -> Result<usize> {
        loop {
            if self.left == 0 {
                if self.continues {
                    self.settle_values().map_err(|error| self.at_page(error))?;
                }
                self.next_page()?;
            } else if self.owed_rows > 0 {
                let len = self.owed_rows.min(self.left);
                self.owed_rows -= len;
                self.left -= len;
                if self.left > 0 || self.continues {
                    let levels = self.page.definition_levels();
                    self.owed_values += if self.optional && !self.page.is_all_valid() {
                        self.levels.skip(levels, len).map_err(|error| self.at_page(error))?
                    } else {
                        len
                    };
                }
            } else {
                return Ok(rows.min(self.left));
            }
        }
    }

    /// Goes to the next page that has a row which is not owed, and loads it.
    fn next_page(&mut self) -> Result<()> {
        self.pass_pages()?;
        let Some(pages) = &mut self.pages else {
            return Err(Error::corrupt("no column chunk"));
        };
        let Some(header) = pages.next_page()? else {
            return Err(Error::corrupt("the column chunk has fewer rows than its row group"));
        };
        pages.load(&mut self.page)?;
        let (page, index) = (&self.page, pages.page_index());
        let Some(rows) = header.data_values() else {
            // A dictionary whose end is not there was refused.
            return Err(Error::corrupt("dictionary page that is not there").at_page(index));
        };
        self.counts.read += 1;
        self.counts.bytes += header.uncompressed_size;
        self.left = rows;
        self.owed_values = 0;
        if self.optional {
            self.levels.reset();
        }
        // A page of NULLs alone may lack value bytes, or have any: nothing is parsed that nobody can ask for.
        if page.values().is_empty() || page.is_all_null() {
            self.values.start_empty_page();
            return Ok(());
        }
        self.values.start_page(page).map_err(|error| error.at_page(index))
    }

    fn at_page(&self, error: Error) -> Error {
        match &self.pages {
            Some(pages) => error.at_page(pages.page_index()),
            None => error,
        }
    }
}
