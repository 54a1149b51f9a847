//! The decoders of one physical type, over all its encodings.

use std::num::NonZeroUsize;

use bytes::Bytes;

use super::buffer::{BitBuffer, Buffer, Numbers};
use super::matcher::{BitMatcher, IntMatcher, Matcher};
use super::window::Window;
use crate::encoding::boolean::{PlainBoolean, RleBoolean};
use crate::encoding::byte_stream_split::ByteStreamSplit;
use crate::encoding::delta_binary_packed::DeltaBinaryPacked;
use crate::encoding::dictionary::Indices;
use crate::encoding::plain::{Fixed, PlainFixed};
use crate::error::{Error, Result};
use crate::kernels::{Lane, Value, kernels};
use crate::page::{Encoding, PageBuffer};

/// The encodings of one physical type but dictionaries, which [`Values`] adds for all.
pub(crate) trait Encodings: Send {
    /// Where values go.
    type Buffer: Buffer;
    /// What tests them.
    type Matcher: Matcher<Self::Buffer>;

    /// An empty buffer for values.
    fn buffer(&self) -> Self::Buffer;

    /// Forgets what a page leaves to the next.
    fn start_chunk(&mut self) {}

    /// Forgets the page: its bytes may go.
    fn end_chunk(&mut self) {}

    /// Starts the value bytes of a page; `stored` are the same, where views may point into them.
    fn start(&mut self, encoding: Encoding, page: &[u8], stored: Option<&Bytes>) -> Result<()>;

    /// Appends the next `count` values.
    fn read(&mut self, page: &[u8], count: usize, out: &mut Self::Buffer) -> Result<()>;

    /// Passes over `count` values.
    fn skip(&mut self, page: &[u8], count: usize) -> Result<()>;

    /// Whether [`Encodings::read_selected`] is quicker than to read all of `count` values, of which `wanted` are selected.
    fn can_pick(&self, count: usize, wanted: usize) -> bool {
        let _ = (count, wanted);
        false
    }

    /// Passes over `count` values and appends those that are set in `words`, `wanted` of them.
    ///
    /// # Errors
    /// As [`Encodings::read`], and where [`Encodings::can_pick`] says no.
    fn read_selected(
        &mut self,
        page: &[u8],
        count: usize,
        words: &[u64],
        wanted: usize,
        out: &mut Self::Buffer,
    ) -> Result<()> {
        let _ = (page, count, words, wanted, out);
        Err(Error::unsupported("some values without the others"))
    }

    /// Whether [`Encodings::read_matches`] can be used, which is quicker than to read the values first.
    fn can_match(&self, matcher: &Self::Matcher) -> bool {
        let _ = matcher;
        false
    }

    /// Tests the next `count` values as [`Matcher::select`] does, and lets them go.
    ///
    /// # Errors
    /// As [`Encodings::read`], and where [`Encodings::can_match`] says no.
    fn read_matches(&mut self, page: &[u8], count: usize, matcher: &Self::Matcher, words: &mut [u64]) -> Result<()> {
        let _ = (page, count, matcher, words);
        Err(Error::unsupported("a test of values that are not read"))
    }

    /// Bounds of the next `count` values by what the page says of them; None if it says nothing.
    fn bounds(&self, page: &[u8], count: usize) -> Option<(i64, i64)> {
        let _ = (page, count);
        None
    }

    /// Values of a miniblock of the present page, if it has any.
    fn values_per_miniblock(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Appends the entries of a dictionary at `indices`, which are all in range.
    fn gather(dictionary: &Self::Buffer, indices: &[u32], out: &mut Self::Buffer) -> Result<()>;
}

/// The values of a column chunk, page after page.
pub(crate) struct Values<E: Encodings> {
    encodings: E,
    indices: Indices,
    dictionary: Option<E::Buffer>,
    /// Whether the present page holds indices into the dictionary.
    coded: bool,
    /// Whether the present page has no value bytes, as one of NULLs alone may.
    is_empty: bool,
    scratch: Numbers<u32>,
    /// Those of them that are selected.
    selected: Numbers<u32>,
    /// Values of which some are selected.
    all: E::Buffer,
}

impl<E: Encodings> Values<E> {
    /// `all`: a buffer for values of which some are selected.
    pub(crate) fn new(encodings: E, all: E::Buffer) -> Self {
        Self {
            encodings,
            all,
            indices: Indices::default(),
            dictionary: None,
            coded: false,
            is_empty: false,
            scratch: Numbers::default(),
            selected: Numbers::default(),
        }
    }

    /// Forgets the dictionary of the chunk before.
    pub(crate) fn start_chunk(&mut self) {
        self.dictionary = None;
        self.coded = false;
        self.encodings.start_chunk();
    }

    /// Lets go of the chunk's bytes.
    pub(crate) fn end_chunk(&mut self) {
        self.all.clear();
        self.encodings.end_chunk();
    }

    /// Reads the dictionary page of the chunk.
    pub(crate) fn read_dictionary(&mut self, page: &PageBuffer) -> Result<()> {
        if self.dictionary.is_some() {
            return Err(Error::corrupt("second dictionary page in a column chunk"));
        }
        let entries = page.num_values();
        // Every entry takes a byte at least, so that the count is checked before anything is sized by it.
        if entries > page.values().len() {
            return Err(Error::corrupt(format!(
                "dictionary of {entries} entries in a page of {} bytes",
                page.values().len()
            )));
        }
        let mut dictionary = self.encodings.buffer();
        self.encodings.start(Encoding::Plain, page.values(), None)?;
        self.encodings.read(page.values(), entries, &mut dictionary)?;
        dictionary.freeze();
        self.dictionary = Some(dictionary);
        Ok(())
    }

    /// Starts a data page without value bytes.
    pub(crate) fn start_empty_page(&mut self) {
        self.coded = false;
        self.is_empty = true;
    }

    /// Starts a data page.
    pub(crate) fn start_page(&mut self, page: &PageBuffer) -> Result<()> {
        self.is_empty = false;
        self.coded = page.encoding().is_dictionary();
        if self.coded {
            self.indices.reset(page.values())
        } else {
            self.encodings.start(page.encoding(), page.values(), page.stored_values())
        }
    }

    /// Whether the present page holds indices into the dictionary.
    pub(crate) fn is_coded(&self) -> bool {
        self.coded
    }

    /// The entries of the dictionary, if the chunk has had one so far.
    pub(crate) fn dictionary(&self) -> Option<&E::Buffer> {
        self.dictionary.as_ref()
    }

    /// Appends the next `count` values.
    pub(crate) fn read(&mut self, page: &[u8], count: usize, out: &mut E::Buffer) -> Result<()> {
        if !self.coded {
            self.check_present(count)?;
            return self.encodings.read(page, count, out);
        }
        let mut indices = std::mem::take(&mut self.scratch);
        indices.clear();
        let result = self.read_indices(page, count, &mut indices).and_then(|()| self.gather(&indices, out));
        self.scratch = indices;
        result
    }

    /// Appends those of the next `count` values that are set in `words`, of which there are `wanted`; the others go.
    pub(crate) fn read_selected(
        &mut self,
        page: &[u8],
        count: usize,
        words: &[u64],
        wanted: usize,
        out: &mut E::Buffer,
    ) -> Result<()> {
        self.check_present(count)?;
        if self.coded {
            let mut indices = std::mem::take(&mut self.scratch);
            indices.clear();
            self.selected.clear();
            let result = self.read_indices(page, count, &mut indices).and_then(|()| {
                self.selected.append_selected(&indices, words, wanted)?;
                self.gather(&self.selected, out)
            });
            self.scratch = indices;
            return result;
        }
        if self.encodings.can_pick(count, wanted) {
            return self.encodings.read_selected(page, count, words, wanted, out);
        }
        self.all.clear();
        self.encodings.read(page, count, &mut self.all)?;
        out.append_selected(&self.all, words, wanted)
    }

    /// Whether it is quicker to read the `wanted` selected ones of the next `count` values than all.
    pub(crate) fn can_pick(&self, count: usize, wanted: usize) -> bool {
        !self.coded && !self.is_empty && self.encodings.can_pick(count, wanted)
    }

    /// Bytes of memory that are kept for the dictionary and for values of which some are selected.
    pub(crate) fn memory(&self) -> usize {
        self.all.memory() + self.dictionary.as_ref().map_or(0, Buffer::memory)
    }

    /// Appends the next `count` indices, all in range of the dictionary.
    pub(crate) fn read_indices(&mut self, page: &[u8], count: usize, out: &mut Numbers<u32>) -> Result<()> {
        let out = out.grow(count);
        self.indices.read(page, out)?;
        let entries = self.dictionary.as_ref().map_or(0, Buffer::len);
        let highest = out.iter().fold(0, |highest: u32, &index| highest.max(index));
        if count > 0 && highest as usize >= entries {
            return Err(Error::corrupt(format!("index {highest} into a dictionary of {entries} entries")));
        }
        Ok(())
    }

    /// Appends the entries of the dictionary at `indices`, which came from [`Values::read_indices`].
    pub(crate) fn gather(&self, indices: &[u32], out: &mut E::Buffer) -> Result<()> {
        match &self.dictionary {
            Some(dictionary) => E::gather(dictionary, indices, out),
            None => Ok(()),
        }
    }

    /// Whether the next values can be tested by [`Values::read_matches`], which is quicker than to read them.
    pub(crate) fn can_match(&self, matcher: &E::Matcher) -> bool {
        !self.coded && !self.is_empty && self.encodings.can_match(matcher)
    }

    /// Tests the next `count` values and lets them go.
    pub(crate) fn read_matches(
        &mut self,
        page: &[u8],
        count: usize,
        matcher: &E::Matcher,
        words: &mut [u64],
    ) -> Result<()> {
        self.encodings.read_matches(page, count, matcher, words)
    }

    /// Bounds of the next `count` values, as far as the page says something of them.
    pub(crate) fn bounds(&self, page: &[u8], count: usize) -> Option<(i64, i64)> {
        if self.coded || self.is_empty { None } else { self.encodings.bounds(page, count) }
    }

    /// About how many miniblocks `count` values of the present page take.
    pub(crate) fn miniblocks(&self, count: usize) -> usize {
        let values = if self.coded || self.is_empty { None } else { self.encodings.values_per_miniblock() };
        values.map_or(0, |values| count.div_ceil(values.get()))
    }

    /// Puts values in the place of a window's indices.
    pub(crate) fn decode_window(&self, window: &mut Window<E::Buffer>) -> Result<()> {
        if std::mem::take(&mut window.coded) {
            self.gather(&window.indices, &mut window.values)?;
        }
        Ok(())
    }

    /// Passes over `count` values.
    pub(crate) fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        self.check_present(count)?;
        if self.coded { self.indices.skip(page, count) } else { self.encodings.skip(page, count) }
    }

    fn check_present(&self, count: usize) -> Result<()> {
        if self.is_empty && count > 0 {
            return Err(Error::corrupt(format!("{count} values in a page without value bytes")));
        }
        Ok(())
    }
}

/// One of so many values, or fewer, is quicker picked by itself than from all of them.
pub(super) const FEW: usize = 8;

#[cold]
pub(super) fn not_for(encoding: Encoding, physical: &str) -> Error {
    Error::unsupported(format!("{encoding} page of a {physical} column"))
}

/// What [`FixedEncodings`] needs of `i32` and `i64`.
pub(crate) trait Number: Lane + Value + Fixed {}

impl<T: Lane + Value + Fixed> Number for T {}

/// INT32 and FLOAT, INT64 and DOUBLE: the bits are what is moved.
pub(crate) struct FixedEncodings<T: Number> {
    delta: DeltaBinaryPacked<T>,
    plain: PlainFixed<T>,
    split: ByteStreamSplit,
    encoding: Encoding,
    /// Floating point has no DELTA_BINARY_PACKED.
    integers: bool,
}

impl<T: Number> FixedEncodings<T> {
    pub(crate) fn new(integers: bool) -> Self {
        Self {
            delta: DeltaBinaryPacked::default(),
            plain: PlainFixed::default(),
            split: ByteStreamSplit::default(),
            encoding: Encoding::Plain,
            integers,
        }
    }
}

impl<T: Number> Encodings for FixedEncodings<T> {
    type Buffer = Numbers<T>;
    type Matcher = IntMatcher<T>;

    fn buffer(&self) -> Numbers<T> {
        Numbers::default()
    }

    fn start(&mut self, encoding: Encoding, page: &[u8], _: Option<&Bytes>) -> Result<()> {
        self.encoding = encoding;
        match encoding {
            Encoding::Plain => self.plain.reset(),
            Encoding::ByteStreamSplit => self.split.reset(page, T::WIDTH)?,
            Encoding::DeltaBinaryPacked if self.integers => self.delta.reset(page)?,
            other => return Err(not_for(other, if self.integers { "integer" } else { "floating-point" })),
        }
        Ok(())
    }

    fn read(&mut self, page: &[u8], count: usize, out: &mut Numbers<T>) -> Result<()> {
        // The entries of a dictionary are as many as its header says.
        if self.encoding != Encoding::DeltaBinaryPacked && count > page.len() / T::WIDTH {
            return Err(Error::corrupt(format!("{count} values in a page of {} bytes", page.len())));
        }
        let out = out.grow(count);
        match self.encoding {
            Encoding::DeltaBinaryPacked => self.delta.read(page, out),
            Encoding::ByteStreamSplit => self.split.read(page, out),
            _ => self.plain.read(page, out),
        }
    }

    fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        match self.encoding {
            Encoding::DeltaBinaryPacked => self.delta.skip(page, count),
            Encoding::ByteStreamSplit => self.split.skip(page, count),
            _ => self.plain.skip(page, count),
        }
    }

    fn can_pick(&self, count: usize, wanted: usize) -> bool {
        self.encoding == Encoding::Plain && wanted <= count / FEW
    }

    fn read_selected(
        &mut self,
        page: &[u8],
        count: usize,
        words: &[u64],
        wanted: usize,
        out: &mut Numbers<T>,
    ) -> Result<()> {
        self.plain.read_selected(page, count, words, out.grow(wanted))
    }

    fn can_match(&self, matcher: &IntMatcher<T>) -> bool {
        self.encoding == Encoding::DeltaBinaryPacked && matcher.as_range().is_some()
    }

    fn read_matches(&mut self, page: &[u8], count: usize, matcher: &IntMatcher<T>, words: &mut [u64]) -> Result<()> {
        match matcher.as_range() {
            Some(&(low, high)) => self.delta.read_in_range(page, count, low, high, words),
            None => Err(Error::unsupported("a test of values that are not read")),
        }
    }

    fn bounds(&self, page: &[u8], count: usize) -> Option<(i64, i64)> {
        let bounds = (self.encoding == Encoding::DeltaBinaryPacked).then(|| self.delta.bounds(page, count))?;
        bounds.map(|(low, high)| (low.widen(), high.widen()))
    }

    fn values_per_miniblock(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.delta.values_per_miniblock()).filter(|_| self.encoding == Encoding::DeltaBinaryPacked)
    }

    fn gather(dictionary: &Numbers<T>, indices: &[u32], out: &mut Numbers<T>) -> Result<()> {
        if T::gather(kernels(), dictionary, indices, out.grow(indices.len())) {
            Ok(())
        } else {
            Err(Error::corrupt("index beyond the dictionary"))
        }
    }
}

/// BOOLEAN.
#[derive(Default)]
pub(crate) struct BitEncodings {
    plain: PlainBoolean,
    rle: RleBoolean,
    is_rle: bool,
}

impl Encodings for BitEncodings {
    type Buffer = BitBuffer;
    type Matcher = BitMatcher;

    fn buffer(&self) -> BitBuffer {
        BitBuffer::default()
    }

    fn start(&mut self, encoding: Encoding, page: &[u8], _: Option<&Bytes>) -> Result<()> {
        self.is_rle = encoding == Encoding::Rle;
        match encoding {
            Encoding::Plain => self.plain.reset(),
            Encoding::Rle => self.rle.reset(page)?,
            other => return Err(not_for(other, "BOOLEAN")),
        }
        Ok(())
    }

    fn read(&mut self, page: &[u8], count: usize, out: &mut BitBuffer) -> Result<()> {
        let (words, start) = out.grow(count);
        if self.is_rle { self.rle.read(page, count, words, start) } else { self.plain.read(page, count, words, start) }
    }

    fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        if self.is_rle { self.rle.skip(page, count) } else { self.plain.skip(page, count) }
    }

    fn gather(dictionary: &BitBuffer, indices: &[u32], out: &mut BitBuffer) -> Result<()> {
        let (words, start) = out.grow(indices.len());
        for (position, &index) in (start..).zip(indices) {
            let bit = dictionary.words()[index as usize / 64] >> (index % 64) & 1;
            words[position / 64] |= bit << (position % 64);
        }
        Ok(())
    }
}
