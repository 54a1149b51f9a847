//! The decoders of BYTE_ARRAY.

use bytes::Bytes;

use super::buffer::Buffer;
use super::byte_buffer::ByteBuffer;
use super::byte_matcher::ByteMatcher;
use super::values::{Encodings, FEW, not_for};
use crate::encoding::byte_array::{HEADS, INLINE_LEN, view_bytes, view_len};
use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::encoding::delta_length_byte_array::DeltaLengthByteArray;
use crate::encoding::plain::PlainByteArray;
use crate::error::{Error, Result};
use crate::page::Encoding;

/// BYTE_ARRAY.
pub(crate) struct ByteEncodings {
    plain: PlainByteArray,
    delta_length: DeltaLengthByteArray,
    delta: DeltaByteArray,
    encoding: Encoding,
    /// Whether values have to be UTF-8.
    utf8: bool,
    /// Whether DELTA_BYTE_ARRAY goes on from page to page.
    continues: bool,
    /// Whether those that are left of the present page are, all being ASCII, once that was asked.
    is_ascii: Option<bool>,
    max_value_size: usize,
    heads: Box<[u128; HEADS]>,
    /// The page, where views may point into it.
    stored: Option<Bytes>,
}

impl ByteEncodings {
    pub(crate) fn new(utf8: bool, continues: bool, max_value_size: usize) -> Self {
        Self {
            plain: PlainByteArray::default(),
            delta_length: DeltaLengthByteArray::default(),
            delta: DeltaByteArray::default(),
            encoding: Encoding::Plain,
            utf8,
            continues,
            is_ascii: None,
            max_value_size,
            heads: Box::new([0; HEADS]),
            stored: None,
        }
    }

    /// Whether all that is left of `page` is ASCII, as far as it matters.
    fn is_ascii(&mut self, page: &[u8]) -> bool {
        let Self { plain, delta_length, delta, encoding, .. } = self;
        self.utf8
            && *self.is_ascii.get_or_insert_with(|| match encoding {
                Encoding::DeltaLengthByteArray => delta_length.is_ascii(page),
                Encoding::DeltaByteArray => delta.is_ascii(page),
                _ => plain.is_ascii(page),
            })
    }

    /// Checks the values from `start` on, which are of `page`; `together` are the bytes of the long ones one after the other, maybe
    /// with those of others.
    fn check(&self, page: &[u8], out: &ByteBuffer, start: usize, together: Option<&[u8]>) -> Result<()> {
        // No value is longer than its page.
        if page.len() > self.max_value_size {
            self.check_lengths(&out.views()[start..])?;
        }
        if !self.utf8 || self.is_ascii == Some(true) {
            return Ok(());
        }
        let is_utf8 = match together {
            Some(together) => are_utf8(&out.views()[start..], together),
            None => out.views()[start..].iter().all(|view| simdutf8::basic::from_utf8(out.bytes(view)).is_ok()),
        };
        if is_utf8 { Ok(()) } else { Err(Error::corrupt("a string is not UTF-8")) }
    }

    fn check_lengths(&self, views: &[u128]) -> Result<()> {
        match views.iter().map(|view| view_len(*view)).max() {
            Some(longest) if longest > self.max_value_size => Err(Error::limit(format!(
                "byte array of {longest} bytes, over the maximum of {} (max_value_size)",
                self.max_value_size
            ))),
            _ => Ok(()),
        }
    }
}

/// Whether values are UTF-8, of which the long ones stand one after the other in `together`, maybe with others between them.
fn are_utf8(views: &[u128], together: &[u8]) -> bool {
    // Bytes that are valid together are so apart, unless a value begins within a character: then the one before it ends there.
    let (mut begins_within, mut is_other) = (false, 0);
    for view in views {
        let bytes = view >> 32;
        begins_within |= bytes as u8 & 0xc0 == 0x80;
        is_other |= if view_len(*view) <= INLINE_LEN { bytes } else { 0 };
    }
    let is_ascii = is_other & u128::from_le_bytes([0x80; 16]) == 0;
    let is_short = |view: &&u128| view_len(**view) <= INLINE_LEN;
    !begins_within
        && simdutf8::basic::from_utf8(together).is_ok()
        && (is_ascii
            || views.iter().filter(is_short).all(|view| simdutf8::basic::from_utf8(view_bytes(view, &[])).is_ok()))
}

/// Byte arrays that are read at once: between two calls an arena that has grown large can be sealed.
const BYTE_ARRAYS_AT_ONCE: usize = 1024;

impl Encodings for ByteEncodings {
    type Buffer = ByteBuffer;
    type Matcher = ByteMatcher;

    fn buffer(&self) -> ByteBuffer {
        ByteBuffer::default()
    }

    fn start_chunk(&mut self) {
        self.delta.forget();
    }

    fn end_chunk(&mut self) {
        self.stored = None;
    }

    fn start(&mut self, encoding: Encoding, page: &[u8], stored: Option<&Bytes>) -> Result<()> {
        self.encoding = encoding;
        match encoding {
            Encoding::Plain => self.plain.reset(),
            Encoding::DeltaLengthByteArray => self.delta_length.reset(page)?,
            Encoding::DeltaByteArray => self.delta.reset(page, self.continues)?,
            other => return Err(not_for(other, "BYTE_ARRAY")),
        }
        self.is_ascii = None;
        self.stored = stored.cloned();
        Ok(())
    }

    fn read(&mut self, page: &[u8], count: usize, out: &mut ByteBuffer) -> Result<()> {
        self.is_ascii(page);
        let start = out.len();
        if let Some(stored) = self.stored.as_ref().filter(|_| self.encoding != Encoding::DeltaByteArray) {
            let Self { plain, delta_length, encoding, .. } = self;
            let range = out.append_in_place(stored, |index, views| match encoding {
                Encoding::DeltaLengthByteArray => delta_length.read_in_place(page, count, index, views),
                _ => plain.read_in_place(page, count, index, views),
            })?;
            // In a PLAIN page there are lengths between the values.
            let together = (self.encoding != Encoding::Plain).then(|| &page[range]);
            self.check(page, out, start, together)?;
            out.seal_large();
            return Ok(());
        }
        let mut left = count;
        while left > 0 {
            let some = left.min(BYTE_ARRAYS_AT_ONCE);
            let (start, arena) = (out.len(), out.sink().data.len());
            match self.encoding {
                Encoding::DeltaLengthByteArray => self.delta_length.read(page, some, out.sink())?,
                Encoding::DeltaByteArray => self.delta.read(page, some, out.sink())?,
                _ => self.plain.read(page, some, out.sink())?,
            }
            self.check(page, out, start, Some(&out.arena()[arena..]))?;
            out.seal_large();
            left -= some;
        }
        Ok(())
    }

    fn can_pick(&self, count: usize, wanted: usize) -> bool {
        wanted <= count / FEW
    }

    fn read_selected(
        &mut self,
        page: &[u8],
        count: usize,
        words: &[u64],
        _: usize,
        out: &mut ByteBuffer,
    ) -> Result<()> {
        // They are few: whether they are UTF-8 is asked of each, not of their page, which is much longer.
        let start = out.len();
        match self.encoding {
            Encoding::DeltaLengthByteArray => self.delta_length.read_selected(page, count, words, out.sink())?,
            Encoding::DeltaByteArray => self.delta.read_selected(page, count, words, out.sink())?,
            _ => self.plain.read_selected(page, count, words, out.sink())?,
        }
        out.seal_large();
        self.check(page, out, start, None)
    }

    fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        match self.encoding {
            Encoding::DeltaLengthByteArray => self.delta_length.skip(page, count),
            Encoding::DeltaByteArray => self.delta.skip(page, count),
            _ => self.plain.skip(page, count),
        }
    }

    fn can_match(&self, _: &ByteMatcher) -> bool {
        true
    }

    fn read_matches(&mut self, page: &[u8], count: usize, matcher: &ByteMatcher, words: &mut [u64]) -> Result<()> {
        let matcher = matcher.of_ascii().filter(|_| self.is_ascii(page)).unwrap_or(matcher);
        match self.encoding {
            Encoding::DeltaLengthByteArray => {
                self.delta_length.read_matches(page, count, matcher, &mut self.heads, words)
            }
            Encoding::DeltaByteArray => self.delta.read_matches(page, count, matcher, &mut self.heads, words),
            _ => self.plain.read_matches(page, count, matcher, &mut self.heads, words),
        }
    }

    fn gather(dictionary: &ByteBuffer, indices: &[u32], out: &mut ByteBuffer) -> Result<()> {
        out.append_gathered(dictionary, indices);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
