//! Byte arrays as Arrow views, and the arenas and pages that these point into.

use std::ops::Range;

use arrow::buffer::Buffer as ArrowBuffer;
use bytes::Bytes;

use super::buffer::{Buffer, fitted, room_after};
use crate::encoding::byte_array::{INLINE_LEN as INLINE, InPlace, MAX_DATA, ViewBuffer, view_bytes, view_len};
use crate::error::Result;
use crate::kernels::{Value, kernels, ones};

/// Bytes of an arena after which it is sealed and a new one begins: view offsets are 32-bit integers.
const ARENA_BYTES: usize = 64 << 20;

/// Byte arrays as Arrow views; long ones point into buffers: arenas of this buffer, or shared ones.
#[derive(Debug)]
pub(crate) struct ByteBuffer {
    /// The views, and the arena that takes the bytes of long values now.
    values: ViewBuffer,
    /// By the index that views give.
    buffers: Vec<Block>,
    /// Bytes in arenas that were sealed.
    sealed: usize,
    /// Bytes of pages.
    kept: usize,
    /// Bytes that arenas and pages may hold together.
    limit: usize,
}

/// What long views point into.
#[derive(Debug)]
enum Block {
    /// Where the arena will stand.
    Arena,
    /// A whole arena, of this buffer or of a dictionary: wherever its values go, it goes.
    Sealed(ArrowBuffer),
    /// A part of a page: kept where most of it is wanted.
    Page(ArrowBuffer),
}

impl Default for ByteBuffer {
    fn default() -> Self {
        let mut buffer =
            Self { values: ViewBuffer::default(), buffers: Vec::new(), sealed: 0, kept: 0, limit: usize::MAX };
        buffer.clear();
        buffer
    }
}

impl ByteBuffer {
    /// The views.
    pub(crate) fn views(&self) -> &[u128] {
        &self.values.views
    }

    /// The bytes of long values that were copied last.
    pub(crate) fn arena(&self) -> &[u8] {
        &self.values.data
    }

    /// Where decoders put values.
    pub(crate) fn sink(&mut self) -> &mut ViewBuffer {
        &mut self.values
    }

    /// The bytes that a view of this buffer stands for.
    pub(crate) fn bytes<'a>(&'a self, view: &'a u128) -> &'a [u8] {
        view_bytes(view, self.data_of(view))
    }

    fn only_short(&self) -> bool {
        self.values.data.is_empty() && self.buffers.len() == 1
    }

    fn data_of(&self, view: &u128) -> &[u8] {
        match self.buffers.get(buffer_index(*view)) {
            Some(Block::Sealed(buffer) | Block::Page(buffer)) => buffer.as_slice(),
            _ => &self.values.data,
        }
    }

    /// Begins a new arena if the present one is large.
    pub(crate) fn seal_large(&mut self) {
        if self.values.data.len() >= ARENA_BYTES {
            self.seal();
        }
    }

    fn seal(&mut self) {
        let data = std::mem::take(&mut self.values.data);
        self.sealed += data.len();
        self.limit_arena();
        let sealed = self.values.buffer_index as usize;
        self.buffers[sealed] = Block::Sealed(ArrowBuffer::from_vec(data));
        self.values.buffer_index = self.buffers.len() as u32;
        self.buffers.push(Block::Arena);
    }

    /// Bytes that arenas and pages may hold together.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    fn limit_arena(&mut self) {
        self.values.max_data = self.limit.saturating_sub(self.sealed + self.kept).min(MAX_DATA);
    }

    /// The index of a shared arena, added if it is not there.
    fn share(&mut self, arena: &ArrowBuffer) -> u32 {
        let same = |other: &Block| matches!(other, Block::Sealed(other) if other.ptr_eq(arena));
        let index = self.buffers.iter().rposition(same).unwrap_or_else(|| {
            self.buffers.push(Block::Sealed(arena.clone()));
            self.buffers.len() - 1
        });
        index as u32
    }

    /// Adds a part of a page; its index.
    fn keep(&mut self, part: ArrowBuffer) -> Result<u32> {
        self.values.reserve_within(part.len())?;
        self.kept += part.len();
        self.limit_arena();
        self.buffers.push(Block::Page(part));
        Ok(self.buffers.len() as u32 - 1)
    }

    /// Appends values that `read` reads where they are in `page`: it gets the index of the page's part that begins with the first of
    /// them, and where to put their views. The part is kept if most of it is of long values, else these are copied.
    pub(crate) fn append_in_place(
        &mut self,
        page: &Bytes,
        read: impl FnOnce(u32, &mut Vec<u128>) -> Result<InPlace>,
    ) -> Result<Range<usize>> {
        let (first, index) = (self.len(), self.buffers.len() as u32);
        let InPlace { range, long } = read(index, &mut self.values.views)?;
        if long == 0 {
            return Ok(range);
        }
        if is_most(long, range.len()) && range.len() >= page.len() / MOST_PAGES {
            self.keep(ArrowBuffer::from(page.slice(range.clone())))?;
            return Ok(range);
        }
        for position in first..self.len() {
            let view = self.values.views[position];
            if view_len(view) > INLINE {
                self.values.views[position] = self.values.append(view_bytes(&view, &page[range.clone()]))?;
            }
        }
        Ok(range)
    }

    /// Appends the dictionary's values at `indices`, which are all in range; its bytes are shared.
    pub(crate) fn append_gathered(&mut self, dictionary: &Self, indices: &[u32]) {
        let start = self.values.views.len();
        self.values.views.extend(indices.iter().map(|&index| dictionary.values.views[index as usize]));
        if dictionary.only_short() {
            return;
        }
        let mut from = u32::MAX;
        let mut to = u32::MAX;
        for position in start..self.values.views.len() {
            let view = self.values.views[position];
            if view_len(view) > INLINE {
                let index = buffer_index(view) as u32;
                if index != from {
                    from = index;
                    to = match &dictionary.buffers[index as usize] {
                        Block::Sealed(arena) => self.share(arena),
                        Block::Arena | Block::Page(_) => continue,
                    };
                }
                self.values.views[position] = with_buffer_index(view, to);
            }
        }
    }

    /// Appends values: long ones are copied into the arena, or keep pointing into shared arenas, and into pages if it `keeps` them.
    fn append_views(&mut self, source: &Self, views: impl Iterator<Item = u128>, keeps: bool) -> Result<()> {
        // Of the page that was met last, the index there and here.
        let mut page = (u32::MAX, u32::MAX);
        for view in views {
            if view_len(view) <= INLINE {
                self.values.views.push(view);
                continue;
            }
            let index = buffer_index(view);
            let to = match &source.buffers[index] {
                Block::Sealed(arena) => self.share(arena),
                Block::Page(part) if keeps => {
                    if page.0 != index as u32 {
                        page = (index as u32, self.keep(part.clone())?);
                    }
                    page.1
                }
                Block::Page(_) | Block::Arena => {
                    self.values.push(view_bytes(&view, source.data_of(&view)))?;
                    continue;
                }
            };
            self.values.views.push(with_buffer_index(view, to));
        }
        self.seal_large();
        Ok(())
    }

    /// Takes views and buffers.
    pub(crate) fn take(&mut self) -> (Vec<u128>, Vec<ArrowBuffer>) {
        let arena = fitted(std::mem::take(&mut self.values.data));
        let capacity = arena.len();
        let index = self.values.buffer_index as usize;
        self.buffers[index] = Block::Sealed(ArrowBuffer::from_vec(arena));
        let mut buffers: Vec<_> =
            std::mem::take(&mut self.buffers).into_iter().filter_map(Block::into_buffer).collect();
        // An empty arena at the end is no buffer; elsewhere it holds the place of its index.
        if index + 1 == buffers.len() && capacity == 0 {
            buffers.pop();
        }
        let views = fitted(std::mem::take(&mut self.values.views));
        let rows = views.len();
        self.clear();
        self.values.views.reserve_exact(room_after(rows));
        // A little more: a batch of some longer values would move all to twice the memory.
        self.values.data.reserve_exact(capacity + capacity / 8);
        (views, buffers)
    }
}

impl Buffer for ByteBuffer {
    fn len(&self) -> usize {
        self.values.views.len()
    }

    fn clear(&mut self) {
        self.values.views.clear();
        self.values.data.clear();
        self.values.buffer_index = 0;
        self.buffers.clear();
        self.buffers.push(Block::Arena);
        self.sealed = 0;
        self.kept = 0;
        self.limit_arena();
    }

    fn append_selected(&mut self, source: &Self, words: &[u64], count: usize) -> Result<()> {
        if source.only_short() {
            let start = self.values.views.len();
            if count == source.len() {
                self.values.views.extend_from_slice(source.views());
            } else {
                self.values.views.resize(start + source.len(), 0);
                u128::compact(kernels(), source.views(), words, &mut self.values.views[start..]);
                self.values.views.truncate(start + count);
            }
            return Ok(());
        }
        if count == source.len() {
            return self.append_views(source, source.views().iter().copied(), true);
        }
        let views = || ones(words).map(|position| source.values.views[position]);
        let long = || views().map(view_len).filter(|len| *len > INLINE).sum();
        self.append_views(source, views(), source.kept > 0 && is_most(long(), source.kept))
    }

    fn append_spread(&mut self, source: &Self, words: &[u64], rows: usize) -> Result<()> {
        let mut next = 0;
        let views = (0..rows).map(|row| {
            // NULL is the empty view.
            if words[row / 64] >> (row % 64) & 1 == 0 {
                return 0;
            }
            next += 1;
            source.values.views[next - 1]
        });
        self.append_views(source, views, true)
    }

    fn memory(&self) -> usize {
        self.values.views.capacity() * size_of::<u128>() + self.sealed + self.values.data.capacity()
    }

    /// After it, every long view points into a buffer that can be shared.
    fn freeze(&mut self) {
        if !self.values.data.is_empty() {
            self.seal();
        }
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
        self.limit_arena();
    }

    fn extra_bytes(&self) -> usize {
        self.sealed + self.kept + self.values.data.len()
    }
}

impl Block {
    fn into_buffer(self) -> Option<ArrowBuffer> {
        match self {
            Self::Arena => None,
            Self::Sealed(buffer) | Self::Page(buffer) => Some(buffer),
        }
    }
}

/// A page is kept for the sake of that part of it, or more.
const MOST_PAGES: usize = 32;

/// Whether enough of a page is wanted to keep all of it.
fn is_most(wanted: usize, bytes: usize) -> bool {
    wanted >= bytes / 2
}

fn buffer_index(view: u128) -> usize {
    (view >> 64) as u32 as usize
}

fn with_buffer_index(view: u128, index: u32) -> u128 {
    view & !(u128::from(u32::MAX) << 64) | u128::from(index) << 64
}
