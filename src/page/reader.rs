//! The pages of a column chunk, one after the other.

use std::ops::Range;

use bytes::Bytes;
use flate2::Crc;

use crate::encoding::rle::Levels;
use crate::error::{Error, Result};
use crate::page::chunk::Chunk;
use crate::page::compression::{Codec, Decompressor};
use crate::page::header::{Encoding, PageHeader, PageKind, parse};
use crate::page::limits::Limits;

/// Walks the pages of a column chunk of a flat column by their headers, and reads those that are wanted.
#[derive(Debug, Clone)]
pub struct PageReader {
    chunk: Chunk,
    /// Where the next page header is.
    position: usize,
    codec: Codec,
    max_definition_level: i16,
    limits: Limits,
    verify_crc: bool,
    /// Values that the column metadata promises and no header covered yet.
    remaining: u64,
    /// Index of the page whose header is next, counting every page.
    next_page: usize,
    /// The page of the last header, and where its body is.
    current: Option<(PageHeader, Range<usize>)>,
}

impl PageReader {
    /// A reader of `chunk`, which starts with the chunk's first page (the dictionary page, where there is one). What is not
    /// there yet is asked for by [`Self::missing`].
    ///
    /// `num_values` is that of the column metadata and counts nulls; what follows the page that completes it is not
    /// looked at.
    ///
    /// # Errors
    /// A `max_definition_level` over 1: the column is not flat.
    pub fn new(
        chunk: impl Into<Chunk>,
        codec: Codec,
        max_definition_level: i16,
        num_values: u64,
        limits: Limits,
        verify_crc: bool,
    ) -> Result<Self> {
        if !matches!(max_definition_level, 0 | 1) {
            return Err(Error::unsupported(format!("pages with definition levels up to {max_definition_level}")));
        }
        Ok(Self {
            chunk: chunk.into(),
            position: 0,
            codec,
            max_definition_level,
            limits,
            verify_crc,
            remaining: num_values,
            next_page: 0,
            current: None,
        })
    }

    /// Steps to the next page by its header alone, over index pages and those of an unknown kind. `None` after the page
    /// that completes the chunk's values.
    ///
    /// # Errors
    /// The chunk ends before its values do, or a header is malformed. The reader stays where it is.
    pub fn next_page(&mut self) -> Result<Option<PageHeader>> {
        while self.remaining > 0 {
            let page = self.next_page;
            let (header, body) = self.parse_next().map_err(|e| e.at_page(page))?;
            self.remaining -= header.data_values().unwrap_or(0) as u64;
            self.position = body.end;
            self.next_page += 1;
            if header.kind != PageKind::Other {
                self.current = Some((header, body));
                return Ok(Some(header));
            }
        }
        self.current = None;
        Ok(None)
    }

    /// Passes over the next data page if it has at most `rows` rows: by its header, or where that is not there by the offset
    /// index. Its rows, if it was.
    ///
    /// # Errors
    /// A header that is there is malformed.
    pub fn pass_page(&mut self, rows: usize) -> Result<Option<usize>> {
        while self.remaining > 0 {
            let rest = self.chunk.peek(self.position);
            let (passed, next, is_data) = if rest.is_empty() {
                let Some((passed, next)) = self.chunk.indexed_page(self.position) else { return Ok(None) };
                (passed, next, true)
            } else {
                let page = page_at(rest, self.position, self.chunk.len(), self.remaining);
                let (header, body) = match page {
                    Ok(page) => page,
                    // It may be cut short.
                    Err(_) if self.position + rest.len() < self.chunk.len() => return Ok(None),
                    Err(error) => return Err(error.at_page(self.next_page)),
                };
                self.check(&header).map_err(|error| error.at_page(self.next_page))?;
                match header.data_values() {
                    Some(values) => (values, body.end, true),
                    None if header.kind == PageKind::Other => (0, body.end, false),
                    None => return Ok(None),
                }
            };
            if passed > rows || passed as u64 > self.remaining {
                return Ok(None);
            }
            self.remaining -= passed as u64;
            self.position = next;
            self.next_page += 1;
            self.current = None;
            if is_data {
                return Ok(Some(passed));
            }
        }
        Ok(None)
    }

    /// Whether the next page is a dictionary of which all bytes are there.
    pub fn is_dictionary_there(&self) -> bool {
        let rest = self.chunk.peek(self.position);
        let page = page_at(rest, self.position, self.chunk.len(), self.remaining);
        page.is_ok_and(|(header, body)| {
            matches!(header.kind, PageKind::Dictionary { .. }) && body.end <= self.position + rest.len()
        })
    }

    /// Which bytes of the chunk have to be there before `rows` more rows can be read once `skip` are passed, as far as can
    /// be told from what is there: when they have been supplied, more may be missing. `load_all`: pages are loaded even if
    /// all their rows are passed.
    pub fn missing(&self, skip: usize, rows: usize, load_all: bool) -> Option<Range<usize>> {
        /// Bytes in which most headers end.
        const HEADER: usize = 256;
        if self.chunk.is_whole() {
            return None;
        }
        self.look_ahead(skip, rows, load_all, |position, header| match header {
            Ok((_, body)) => (position + self.chunk.peek(position).len() < body.end).then_some(position..body.end),
            // Cut short, or corrupt: then it will be said when the page is read.
            Err(_) => {
                let rest = self.chunk.peek(position).len();
                let end = position.saturating_add(HEADER.max(2 * rest)).min(self.chunk.len());
                (position + rest < end).then_some(position..end)
            }
        })
    }

    /// The next page that is loaded on the way to `rows` rows after the next `skip`, if it takes long to decompress, that is,
    /// has `least` bytes after it, and `buffer` has not got it: for another thread.
    pub fn large_page(
        &self,
        skip: usize,
        rows: usize,
        load_all: bool,
        least: usize,
        buffer: &mut PageBuffer,
    ) -> Option<LargePage> {
        if self.codec == Codec::Uncompressed {
            return None;
        }
        let found = self.look_ahead(skip, rows, load_all, |_, header| {
            let (header, body) = header.ok()?;
            let skipped = match header.kind {
                PageKind::DataV2 { is_compressed: false, .. } => return None,
                PageKind::DataV2 { definition_levels_len, repetition_levels_len, .. } => {
                    definition_levels_len.checked_add(repetition_levels_len)?
                }
                _ => 0,
            };
            let uncompressed_size = header.uncompressed_size.checked_sub(skipped).filter(|size| *size >= least)?;
            let compressed = self.chunk.rest(body.start);
            (body.len() <= compressed.len() && skipped <= body.len() && !buffer.has(body.start)).then(|| LargePage {
                body: body.start,
                compressed: compressed.slice(skipped..body.len()),
                uncompressed_size,
                codec: self.codec,
                limits: self.limits,
                bytes: Vec::new(),
            })
        });
        found.map(|page| LargePage { bytes: std::mem::take(&mut buffer.ahead.1), ..page })
    }

    /// Calls `visit` with each page, as far as it is there, that is loaded on the way to `rows` rows after the next `skip`;
    /// the first that it finds something about.
    fn look_ahead<T>(
        &self,
        mut skip: usize,
        mut rows: usize,
        load_all: bool,
        mut visit: impl FnMut(usize, Result<(PageHeader, Range<usize>)>) -> Option<T>,
    ) -> Option<T> {
        let (mut position, mut remaining) = (self.position, self.remaining);
        while remaining > 0 && rows > 0 {
            let rest = self.chunk.peek(position);
            if rest.is_empty()
                && !load_all
                && let Some((passed, next)) = self.chunk.indexed_page(position)
                && passed <= skip
            {
                skip -= passed;
                remaining = remaining.saturating_sub(passed as u64);
                position = next;
                continue;
            }
            let (header, body) = match page_at(rest, position, self.chunk.len(), remaining) {
                Ok(page) => page,
                Err(error) => return visit(position, Err(error)),
            };
            let passed = header.data_values();
            let is_loaded = match passed {
                Some(passed) => load_all || passed > skip,
                None => header.kind != PageKind::Other,
            };
            if is_loaded && let Some(found) = visit(position, Ok((header, body.clone()))) {
                return Some(found);
            }
            let passed = passed.unwrap_or(0);
            rows = rows.saturating_sub(passed.saturating_sub(skip));
            skip = skip.saturating_sub(passed);
            remaining = remaining.saturating_sub(passed as u64);
            position = body.end;
        }
        None
    }

    /// Takes the bytes of the chunk at `offset`.
    pub fn supply(&mut self, offset: usize, bytes: Bytes) {
        self.chunk.supply(offset, bytes, self.position);
    }

    /// Index in the chunk of the page that `next_page` returned last, for errors.
    pub fn page_index(&self) -> usize {
        self.next_page.saturating_sub(1)
    }

    /// Values of the pages that `next_page` has yet to return.
    pub fn remaining_values(&self) -> u64 {
        self.remaining
    }

    /// Reads the page that `next_page` returned last into `buffer`.
    ///
    /// # Errors
    /// There is no such page, its bytes do not match its header or the limits, or its levels are BIT_PACKED.
    pub fn load(&self, buffer: &mut PageBuffer) -> Result<()> {
        buffer.clear();
        let result = self.load_current(buffer).map_err(|e| e.at_page(self.page_index()));
        if result.is_err() {
            buffer.clear();
        }
        result
    }

    fn parse_next(&self) -> Result<(PageHeader, Range<usize>)> {
        let rest = self.chunk.peek(self.position);
        let (header, body) = page_at(rest, self.position, self.chunk.len(), self.remaining)?;
        self.check(&header)?;
        Ok((header, body))
    }

    /// Checks what a header says against itself and the chunk.
    fn check(&self, header: &PageHeader) -> Result<()> {
        match header.kind {
            PageKind::Dictionary { .. } if self.next_page > 0 => {
                Err(Error::corrupt("dictionary page that is not the first of its column chunk"))
            }
            PageKind::Dictionary { .. } => self.limits.check_dictionary(header.uncompressed_size),
            PageKind::DataV2 {
                num_values, num_nulls, num_rows, definition_levels_len, repetition_levels_len, ..
            } => {
                if num_rows != num_values {
                    return Err(Error::corrupt(format!("page of {num_values} values in {num_rows} rows")));
                }
                if num_nulls > if self.max_definition_level == 0 { 0 } else { num_values } {
                    return Err(Error::corrupt(format!("page of {num_values} values with {num_nulls} nulls")));
                }
                let levels_len = definition_levels_len.saturating_add(repetition_levels_len);
                if levels_len > header.compressed_size || levels_len > header.uncompressed_size {
                    return Err(Error::corrupt(format!("page with {levels_len} bytes of levels, more than it has")));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn load_current(&self, buffer: &mut PageBuffer) -> Result<()> {
        let Some((header, body)) = &self.current else {
            return Err(Error::corrupt("column chunk without a page to read"));
        };
        let rest = self.chunk.rest(body.start);
        if rest.len() < body.len() {
            return Err(Error::corrupt(format!("page of {} bytes of which {} are there", body.len(), rest.len())));
        }
        let (start, body) = (body.start, rest.slice(..body.len()));
        if self.verify_crc
            && let Some(expected) = header.crc
        {
            let mut crc = Crc::new();
            crc.update(&body);
            if crc.sum() != expected {
                return Err(Error::corrupt(format!("page with CRC {:08x}, {expected:08x} by its header", crc.sum())));
            }
        }
        match header.kind {
            PageKind::DataV1 { num_values, encoding, definition_level_encoding } => {
                self.fill(buffer, start, body, header.uncompressed_size, self.codec)?;
                buffer.num_values = num_values;
                buffer.encoding = encoding;
                if self.max_definition_level > 0 && num_values > 0 {
                    if definition_level_encoding != Encoding::Rle {
                        return Err(Error::unsupported(format!("definition levels in {definition_level_encoding}")));
                    }
                    buffer.split_levels()?;
                }
            }
            PageKind::DataV2 {
                num_values,
                num_nulls,
                encoding,
                definition_levels_len,
                repetition_levels_len,
                is_compressed,
                ..
            } => {
                // `check` made sure that both are there.
                let levels_len = repetition_levels_len + definition_levels_len;
                let codec = if is_compressed { self.codec } else { Codec::Uncompressed };
                self.fill(buffer, start, body.slice(levels_len..), header.uncompressed_size - levels_len, codec)?;
                buffer.num_values = num_values;
                buffer.num_nulls = Some(num_nulls);
                buffer.encoding = encoding;
                if self.max_definition_level > 0 {
                    buffer.levels = Source::Stored(body.slice(repetition_levels_len..levels_len));
                }
            }
            PageKind::Dictionary { num_values, encoding } => {
                self.fill(buffer, start, body, header.uncompressed_size, self.codec)?;
                buffer.num_values = num_values;
                buffer.encoding = encoding;
            }
            PageKind::Other => return Err(Error::corrupt("column chunk without a page to read")),
        }
        buffer.has_levels = self.max_definition_level > 0 && header.data_values().is_some();
        buffer.uniform =
            if buffer.has_levels { Levels::uniform(buffer.definition_levels(), buffer.num_values) } else { Some(true) };
        Ok(())
    }

    /// Makes `body` the values of `buffer`: by reference where it is stored as it is, else decompressed, unless that was done
    /// for the page whose body is at `start`.
    fn fill(
        &self,
        buffer: &mut PageBuffer,
        start: usize,
        body: Bytes,
        uncompressed_size: usize,
        codec: Codec,
    ) -> Result<()> {
        if codec == Codec::Uncompressed {
            if body.len() != uncompressed_size {
                return Err(Error::corrupt(format!(
                    "uncompressed page of {} bytes, {uncompressed_size} by its header",
                    body.len()
                )));
            }
            buffer.values = Source::Stored(body);
            buffer.may_keep = self.chunk.may_keep();
            return Ok(());
        }
        if buffer.has(start) && buffer.ahead.1.len() == uncompressed_size {
            std::mem::swap(&mut buffer.decompressed, &mut buffer.ahead.1);
            buffer.ahead.0 = None;
        } else {
            buffer.decompressor.decompress(codec, &body, uncompressed_size, self.limits, &mut buffer.decompressed)?;
        }
        buffer.values = Source::Decompressed(0..uncompressed_size);
        Ok(())
    }
}

/// Whether a column chunk whose page header is none begins as an encrypted one: a module of four bytes of length, nonce,
/// ciphertext and tag, and a second one. The footer cannot tell: the parquet crate shows it with a feature of its own only.
fn looks_encrypted(chunk: &[u8]) -> bool {
    const NONCE_AND_TAG: usize = 12 + 16;
    let module = |bytes: &[u8]| {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        (NONCE_AND_TAG < length && length <= rest.len()).then_some(length + 4)
    };
    module(chunk).and_then(|header| module(&chunk[header..])).is_some()
}

/// The page whose header is at `position` in a chunk of `length` bytes, of which `rest` begins there: the header, and where
/// the body is. `remaining` values are left in the chunk.
fn page_at(rest: &[u8], position: usize, length: usize, remaining: u64) -> Result<(PageHeader, Range<usize>)> {
    if rest.is_empty() {
        return Err(Error::corrupt(format!("column chunk ends {remaining} values early")));
    }
    let (header, header_size) = parse(rest).map_err(|error| {
        if position == 0 && looks_encrypted(rest) { Error::unsupported("an encrypted column") } else { error }
    })?;
    let start = position + header_size;
    let end = start.checked_add(header.compressed_size).filter(|&end| end <= length);
    let Some(end) = end else {
        return Err(Error::corrupt(format!(
            "page of {} bytes runs past the end of its column chunk",
            header.compressed_size
        )));
    };
    if let Some(num_values) = header.data_values()
        && num_values as u64 > remaining
    {
        return Err(Error::corrupt(format!("page of {num_values} values, {remaining} are left in its column chunk")));
    }
    Ok((header, start..end))
}

/// Checks the headers of a column chunk that the parquet crate will read, which takes memory as they say.
///
/// # Errors
/// The chunk ends before its `num_values`, a header is malformed, or a page is larger than the limits allow.
pub fn check_headers(chunk: &[u8], codec: Codec, num_values: u64, limits: &Limits) -> Result<()> {
    let (mut position, mut remaining, mut page) = (0, num_values, 0);
    while remaining > 0 {
        let check = || {
            let rest = chunk.get(position..).unwrap_or_default();
            let (header, body) = page_at(rest, position, chunk.len(), remaining)?;
            match header.kind {
                PageKind::Other => {}
                _ if codec == Codec::Uncompressed => {}
                PageKind::DataV2 { is_compressed: false, .. } => {}
                _ => limits.check_page(codec, body.len(), header.uncompressed_size)?,
            }
            if let PageKind::Dictionary { num_values, .. } = header.kind {
                limits.check_dictionary(header.uncompressed_size)?;
                // Every entry takes a byte at least.
                if num_values > header.uncompressed_size {
                    return Err(Error::corrupt(format!(
                        "dictionary of {num_values} entries in a page of {} bytes",
                        header.uncompressed_size
                    )));
                }
            }
            Ok((header, body))
        };
        let (header, body) = check().map_err(|error: Error| error.at_page(page))?;
        position = body.end;
        remaining -= header.data_values().unwrap_or(0) as u64;
        page += 1;
    }
    Ok(())
}

/// A page that was read: its levels and values. Reused from page to page, with the memory and the codec contexts that
/// it holds.
#[derive(Debug, Default)]
pub struct PageBuffer {
    decompressor: Decompressor,
    decompressed: Vec<u8>,
    /// Where the body of a page is that was decompressed ahead, and what became of it; or memory for the next.
    ahead: (Option<usize>, Vec<u8>),
    levels: Source,
    values: Source,
    encoding: Encoding,
    num_values: usize,
    num_nulls: Option<usize>,
    has_levels: bool,
    uniform: Option<bool>,
    may_keep: bool,
}

/// A page that is decompressed before it is loaded.
#[derive(Debug)]
pub struct LargePage {
    /// Where its body is in the chunk.
    body: usize,
    compressed: Bytes,
    uncompressed_size: usize,
    codec: Codec,
    limits: Limits,
    bytes: Vec<u8>,
}

impl LargePage {
    /// Decompresses it.
    ///
    /// # Errors
    /// As [`PageReader::load`].
    pub fn decompress(mut self) -> Result<Self> {
        let mut decompressor = Decompressor::default();
        let (size, limits) = (self.uncompressed_size, self.limits);
        decompressor.decompress(self.codec, &self.compressed, size, limits, &mut self.bytes)?;
        Ok(self)
    }
}

/// Where a part of a page is.
#[derive(Debug)]
enum Source {
    /// In the column chunk.
    Stored(Bytes),
    /// In the buffer of decompressed bytes.
    Decompressed(Range<usize>),
}

impl Default for Source {
    fn default() -> Self {
        Self::Decompressed(0..0)
    }
}

impl PageBuffer {
    /// Bytes of memory that the buffer has taken.
    pub fn memory(&self) -> usize {
        self.decompressed.capacity() + self.ahead.1.capacity()
    }

    /// Whether the page whose body is at `body` was decompressed ahead.
    fn has(&self, body: usize) -> bool {
        self.ahead.0 == Some(body)
    }

    /// Takes a page that was decompressed ahead.
    pub fn supply(&mut self, page: LargePage) {
        self.ahead = (Some(page.body), page.bytes);
    }

    /// Lets go of the column chunk that the page lies in; its buffer stays.
    pub(crate) fn release(&mut self) {
        self.ahead.0 = None;
        self.levels = Source::default();
        self.values = Source::default();
    }

    /// The bytes of the values, nulls left out; or the entries of a dictionary.
    pub fn values(&self) -> &[u8] {
        self.bytes(&self.values)
    }

    /// The bytes of the values where they are a part of the column chunk, and free to keep.
    pub fn stored_values(&self) -> Option<&Bytes> {
        match &self.values {
            Source::Stored(bytes) if self.may_keep => Some(bytes),
            Source::Stored(_) | Source::Decompressed(_) => None,
        }
    }

    /// The bytes of the definition levels, for `Levels`; empty where there are none.
    pub fn definition_levels(&self) -> &[u8] {
        self.bytes(&self.levels)
    }

    /// Whether the page has definition levels: a data page of an OPTIONAL column.
    pub fn has_definition_levels(&self) -> bool {
        self.has_levels
    }

    /// Number of values, nulls included, which is the number of rows; or of the entries of a dictionary.
    pub fn num_values(&self) -> usize {
        self.num_values
    }

    /// Number of nulls by the header of a V2 page, which the levels may contradict.
    pub fn num_nulls(&self) -> Option<usize> {
        self.num_nulls
    }

    /// Encoding of the values.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether no value is null by the levels themselves. `false` says nothing: only the usual form is looked for, one
    /// run.
    pub fn is_all_valid(&self) -> bool {
        self.uniform == Some(true)
    }

    /// Whether each value is null by the levels themselves. `false` says nothing, as for `is_all_valid`.
    pub fn is_all_null(&self) -> bool {
        self.uniform == Some(false)
    }

    /// Lets the page go, and keeps the memory for the next.
    pub fn clear(&mut self) {
        self.levels = Source::default();
        self.values = Source::default();
        self.encoding = Encoding::default();
        self.num_values = 0;
        self.num_nulls = None;
        self.has_levels = false;
        self.uniform = Some(true);
    }

    fn bytes<'a>(&'a self, source: &'a Source) -> &'a [u8] {
        match source {
            Source::Stored(bytes) => bytes,
            Source::Decompressed(range) => self.decompressed.get(range.clone()).unwrap_or_default(),
        }
    }

    /// Splits the body of a V1 page: the size of the definition levels in four bytes, the levels, the values.
    fn split_levels(&mut self) -> Result<()> {
        const PREFIX: usize = 4;
        let Some((prefix, rest)) = self.values().split_first_chunk::<PREFIX>() else {
            return Err(Error::corrupt("page without the size of its definition levels"));
        };
        let size = usize::try_from(u32::from_le_bytes(*prefix)).unwrap_or(usize::MAX);
        if size > rest.len() {
            return Err(Error::corrupt(format!("definition levels of {size} bytes run past the end of the page")));
        }
        let split = PREFIX + size;
        (self.levels, self.values) = match std::mem::take(&mut self.values) {
            Source::Stored(bytes) => (Source::Stored(bytes.slice(PREFIX..split)), Source::Stored(bytes.slice(split..))),
            Source::Decompressed(range) => {
                let split = range.start + split;
                (Source::Decompressed(range.start + PREFIX..split), Source::Decompressed(split..range.end))
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
