//! The bytes of a column chunk, as far as they are there.

use std::sync::Arc;

use bytes::Bytes;

/// The bytes of a column chunk, piece by piece: all of them from the beginning, or what was fetched of them so far.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    length: usize,
    /// By their offsets in the chunk.
    pieces: Vec<(usize, Bytes)>,
    pages: Option<Arc<[PageStart]>>,
    may_keep: bool,
}

/// Where a data page begins, by the offset index of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageStart {
    /// Offset of its header in the chunk.
    pub offset: usize,
    /// Its first row in the row group.
    pub row: usize,
}

impl From<Bytes> for Chunk {
    fn from(bytes: Bytes) -> Self {
        Self { length: bytes.len(), pieces: vec![(0, bytes)], pages: None, may_keep: true }
    }
}

impl Chunk {
    /// A chunk of `length` bytes of which nothing is there yet. `pages`: where its data pages are, in their order and with
    /// the end of the row group behind the last, as far as that is known; they serve to pass over pages that are not there.
    /// `may_keep`: whether values may point into the bytes for as long as they live.
    pub fn absent(length: usize, pages: Option<Arc<[PageStart]>>, may_keep: bool) -> Self {
        Self { length, pieces: Vec::new(), pages, may_keep }
    }

    /// Whether values may point into the bytes for as long as they live.
    pub(super) fn may_keep(&self) -> bool {
        self.may_keep
    }

    /// Bytes of the chunk, there or not.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the chunk has no byte.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether all of it is there.
    pub fn is_whole(&self) -> bool {
        matches!(self.pieces.as_slice(), [(0, bytes)] if bytes.len() == self.length)
    }

    /// Adds the bytes at `offset`; pieces that end before `position`, which has been reached, go.
    pub fn supply(&mut self, offset: usize, bytes: Bytes, position: usize) {
        self.pieces.retain(|(start, piece)| start + piece.len() > position);
        self.pieces.push((offset, bytes));
    }

    /// What is there from `position` on, without a gap.
    pub fn rest(&self, position: usize) -> Bytes {
        self.piece(position).map(|(start, bytes)| bytes.slice(position - start..)).unwrap_or_default()
    }

    /// As [`Self::rest`], for a look.
    pub(super) fn peek(&self, position: usize) -> &[u8] {
        self.piece(position).map(|(start, bytes)| &bytes[position - start..]).unwrap_or_default()
    }

    /// The piece with most from `position` on.
    fn piece(&self, position: usize) -> Option<&(usize, Bytes)> {
        let has = |(start, bytes): &&(usize, Bytes)| *start <= position && position < start + bytes.len();
        self.pieces.iter().filter(has).max_by_key(|(start, bytes)| start + bytes.len())
    }

    /// By the index: the rows of the data page at `position`, and where the next begins.
    pub(super) fn indexed_page(&self, position: usize) -> Option<(usize, usize)> {
        let pages = self.pages.as_ref()?;
        let index = pages.binary_search_by_key(&position, |page| page.offset).ok()?;
        let next = pages.get(index + 1)?;
        Some((next.row.checked_sub(pages[index].row)?, next.offset))
    }
}
