//! PLAIN: values of a fixed width as they are, byte arrays behind a length of four bytes. Booleans are in `boolean`.

use std::marker::PhantomData;

use crate::encoding::byte_array::{
    ByteTest, HEADS, INLINE_LEN, InPlace, PAYLOAD, ViewBuffer, long_view, make_head, make_inline_view,
};
use crate::error::{Error, Result};
use crate::kernels::ones;

/// A type that PLAIN stores little endian in a fixed number of bytes.
pub trait Fixed: Copy {
    /// Bytes of a value.
    const WIDTH: usize;

    /// Decodes `bytes` into `out`; `bytes.len()` is `out.len() * WIDTH`.
    fn copy(bytes: &[u8], out: &mut [Self]);
}

macro_rules! fixed {
    ($($native:ty),*) => {$(
        impl Fixed for $native {
            const WIDTH: usize = size_of::<Self>();

            #[inline]
            fn copy(bytes: &[u8], out: &mut [Self]) {
                // On a little-endian machine this is one memcpy.
                let (values, _) = bytes.as_chunks::<{ size_of::<Self>() }>();
                for (out, value) in out.iter_mut().zip(values) {
                    *out = Self::from_le_bytes(*value);
                }
            }
        }
    )*};
}

fixed!(i32, i64, u32, u64, f32, f64);

/// Decoder of PLAIN INT32, INT64, FLOAT and DOUBLE.
#[derive(Debug, Clone)]
pub struct PlainFixed<U> {
    position: usize,
    values: PhantomData<U>,
}

impl<U> Default for PlainFixed<U> {
    fn default() -> Self {
        Self { position: 0, values: PhantomData }
    }
}

impl<U: Fixed> PlainFixed<U> {
    /// Starts at the beginning of a page's values.
    pub fn reset(&mut self) {
        self.position = 0;
    }

    /// Fills `out` with the next values.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn read(&mut self, page: &[u8], out: &mut [U]) -> Result<()> {
        U::copy(take(page, &mut self.position, out.len(), U::WIDTH)?, out);
        Ok(())
    }

    /// Steps over the next `n` values.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn skip(&mut self, page: &[u8], n: usize) -> Result<()> {
        take(page, &mut self.position, n, U::WIDTH).map(drop)
    }

    /// Steps over the next `n` values, and writes those that are set in `words` to `out`, which has room for as many.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn read_selected(&mut self, page: &[u8], n: usize, words: &[u64], out: &mut [U]) -> Result<()> {
        let bytes = take(page, &mut self.position, n, U::WIDTH)?;
        for (index, out) in ones(words).zip(out.chunks_mut(1)) {
            U::copy(&bytes[index * U::WIDTH..][..U::WIDTH], out);
        }
        Ok(())
    }
}

/// The bytes of the next `n` values of `width` bytes, and a step over them.
fn take<'a>(page: &'a [u8], position: &mut usize, n: usize, width: usize) -> Result<&'a [u8]> {
    let end = n.checked_mul(width).and_then(|size| size.checked_add(*position));
    let Some((bytes, end)) = end.and_then(|end| Some((page.get(*position..end)?, end))) else {
        return Err(Error::corrupt(format!(
            "PLAIN page of {} bytes ends before {n} values of {width} bytes at byte {position}",
            page.len()
        )));
    };
    *position = end;
    Ok(bytes)
}

/// Decoder of PLAIN FIXED_LEN_BYTE_ARRAY.
#[derive(Debug, Clone, Default)]
pub struct PlainFixedByteArray {
    position: usize,
}

impl PlainFixedByteArray {
    /// Starts at the beginning of a page's values.
    pub fn reset(&mut self) {
        self.position = 0;
    }

    /// Appends the next `n` values of `width` bytes to `out`.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn read(&mut self, page: &[u8], n: usize, width: usize, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(take(page, &mut self.position, n, width)?);
        Ok(())
    }

    /// Steps over the next `n` values of `width` bytes.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn skip(&mut self, page: &[u8], n: usize, width: usize) -> Result<()> {
        take(page, &mut self.position, n, width).map(drop)
    }
}

/// Values up to this length are copied as if they had it.
const SHORT: usize = 48;

/// Decoder of PLAIN BYTE_ARRAY.
#[derive(Debug, Clone, Default)]
pub struct PlainByteArray {
    position: usize,
}

impl PlainByteArray {
    /// Size of the length in front of a value.
    const PREFIX: usize = 4;

    /// Starts at the beginning of a page's values.
    pub fn reset(&mut self) {
        self.position = 0;
    }

    /// Whether all bytes that are left of the page are ASCII, which makes each value valid UTF-8. Lengths of 128 and more count
    /// as not ASCII: `false` says nothing.
    pub fn is_ascii(&self, page: &[u8]) -> bool {
        page[self.position..].is_ascii()
    }

    /// Appends the next `n` values to `out`.
    ///
    /// # Errors
    /// The page holds fewer values, or a value runs past its end; what was appended until then stays.
    pub fn read(&mut self, page: &[u8], n: usize, out: &mut ViewBuffer) -> Result<()> {
        // Each value takes four bytes at least: no more than the page can hold is reserved.
        out.views.reserve(n.min(page.len().saturating_sub(self.position) / Self::PREFIX));
        let mut position = self.position;
        for _ in 0..n {
            // A length and up to twelve bytes behind it are, zero padded, the view itself. The low 32 bits are the length.
            if let Some(&stored) = page.get(position..).and_then(|rest| rest.first_chunk::<16>()) {
                let stored = u128::from_le_bytes(stored);
                let len = stored as u32 as usize;
                if len <= INLINE_LEN {
                    out.views.push(stored & (u128::MAX >> (8 * (INLINE_LEN - len))));
                    position += Self::PREFIX + len;
                    continue;
                }
            }
            self.position = position;
            self.read_other(page, out)?;
            position = self.position;
        }
        self.position = position;
        Ok(())
    }

    /// Appends the next value, which is long or at the end of the page.
    #[inline]
    fn read_other(&mut self, page: &[u8], out: &mut ViewBuffer) -> Result<()> {
        let start = self.position + Self::PREFIX;
        let value = self.next(page)?;
        let Some(prefix) = value.first_chunk::<4>().filter(|_| value.len() > INLINE_LEN) else {
            return out.push(value);
        };
        let offset = out.reserve(value.len())?;
        // Copies of a constant size are worth the bytes too many that are cut off again.
        match page.get(start..).and_then(|rest| rest.first_chunk::<SHORT>()) {
            Some(padded) if value.len() <= SHORT => {
                out.data.extend_from_slice(padded);
                out.data.truncate(offset + value.len());
            }
            _ => out.data.extend_from_slice(value),
        }
        // Lengths and offsets of a buffer fit in 31 bits.
        let (len, offset) = (value.len() as u32, offset as u32);
        out.views.push(long_view(len, u32::from_le_bytes(*prefix), out.buffer_index, offset));
        Ok(())
    }

    /// Appends the views of the next `n` values, as they are in the page, which is buffer `buffer_index` from here on. The range that
    /// comes back has the lengths too.
    ///
    /// # Errors
    /// As [`PlainByteArray::read`].
    pub fn read_in_place(
        &mut self,
        page: &[u8],
        n: usize,
        buffer_index: u32,
        views: &mut Vec<u128>,
    ) -> Result<InPlace> {
        let (start, mut long) = (self.position, 0);
        views.reserve(n.min((page.len() - start) / Self::PREFIX));
        for _ in 0..n {
            let offset = self.position + Self::PREFIX - start;
            let value = self.next(page)?;
            views.push(match (make_inline_view(value), value.first_chunk()) {
                (None, Some(prefix)) => {
                    long += value.len();
                    // The length of a page fits in 31 bits.
                    long_view(value.len() as u32, u32::from_le_bytes(*prefix), buffer_index, offset as u32)
                }
                (view, _) => view.unwrap_or_default(),
            });
        }
        Ok(InPlace { range: start..self.position, long })
    }

    /// Steps over the next `n` values.
    ///
    /// # Errors
    /// The page holds fewer values, or a value runs past its end.
    pub fn skip(&mut self, page: &[u8], n: usize) -> Result<()> {
        for _ in 0..n {
            self.next(page)?;
        }
        Ok(())
    }

    /// Steps over the next `n` values, and appends those that are set in `words` to `out`.
    ///
    /// # Errors
    /// As [`PlainByteArray::read`].
    pub fn read_selected(&mut self, page: &[u8], n: usize, words: &[u64], out: &mut ViewBuffer) -> Result<()> {
        let mut done = 0;
        for index in ones(words) {
            self.skip(page, index - done)?;
            self.read(page, 1, out)?;
            done = index + 1;
        }
        self.skip(page, n - done)
    }

    /// Moves past the next `n` values, and sets the bit of each that passes `test`; overwrites `words`, one for 64 values. `heads`
    /// is memory for [`HEADS`] of them.
    ///
    /// # Errors
    /// As [`PlainByteArray::read`].
    pub fn read_matches(
        &mut self,
        page: &[u8],
        n: usize,
        test: &impl ByteTest,
        heads: &mut [u128; HEADS],
        words: &mut [u64],
    ) -> Result<()> {
        for first in (0..n).step_by(HEADS) {
            let batch = HEADS.min(n - first);
            let mut values = Self { position: self.position };
            for head in &mut heads[..batch] {
                // A length and the bytes behind it are the head itself.
                *head = match page.get(self.position..).and_then(|rest| rest.first_chunk::<16>()) {
                    Some(&stored) => {
                        let stored = u128::from_le_bytes(stored);
                        stored & (PAYLOAD[INLINE_LEN.min(stored as u32 as usize)] | u128::from(u32::MAX))
                    }
                    None => 0,
                };
                let value = self.next(page)?;
                if *head == 0 {
                    *head = make_head(value);
                }
            }
            let (words, mut open) = (&mut words[first / 64..(first + batch).div_ceil(64)], [0; HEADS / 64]);
            test.test_heads(&heads[..batch], words, &mut open[..words.len()]);
            let mut done = 0;
            for index in ones(&open) {
                values.skip(page, index - done)?;
                words[index / 64] |= u64::from(test.test(values.next(page)?)) << (index % 64);
                done = index + 1;
            }
        }
        Ok(())
    }

    #[inline]
    fn next<'a>(&mut self, page: &'a [u8]) -> Result<&'a [u8]> {
        let rest = page.get(self.position..).unwrap_or_default();
        let Some((prefix, rest)) = rest.split_first_chunk::<{ Self::PREFIX }>() else {
            return Err(Error::corrupt(format!("PLAIN page ends before the value at byte {}", self.position)));
        };
        let len = u32::from_le_bytes(*prefix);
        let Some(value) = usize::try_from(len).ok().and_then(|len| rest.get(..len)) else {
            return Err(Error::corrupt(format!(
                "PLAIN value of {len} bytes at byte {} runs past the end of the page",
                self.position
            )));
        };
        self.position += Self::PREFIX + value.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::byte_array::{make_inline_view, view_bytes};
    use crate::encoding::rle::tests::Random;

    /// The values of `buffer`, whose inline views are checked to be padded with zeros.
    fn values_of(buffer: &ViewBuffer) -> Vec<Vec<u8>> {
        let value = |view: &u128| {
            let value = view_bytes(view, &buffer.data);
            assert!(value.len() > INLINE_LEN || make_inline_view(value) == Some(*view));
            value.to_vec()
        };
        buffer.views.iter().map(value).collect()
    }

    fn page_of(values: &[Vec<u8>]) -> Vec<u8> {
        let mut page = Vec::new();
        for value in values {
            page.extend_from_slice(&(value.len() as u32).to_le_bytes());
            page.extend_from_slice(value);
        }
        page
    }

    fn check_fixed<U: Fixed + Default + Eq + std::fmt::Debug>(from: impl Fn(&[u8]) -> U) {
        let mut random = Random::new(1);
        let mut values = PlainFixed::<U>::default();
        for len in 0..60 {
            let page = random.bytes(len);
            let expected: Vec<U> = page.chunks_exact(U::WIDTH).map(&from).collect();
            values.reset();
            let mut done = 0;
            while done < expected.len() {
                let n = random.below(5).min(expected.len() - done);
                if random.below(3) == 0 {
                    values.skip(&page, n).unwrap();
                } else {
                    let mut out = vec![U::default(); n];
                    values.read(&page, &mut out).unwrap();
                    assert_eq!(out, expected[done..done + n]);
                }
                done += n;
            }
            values.read(&page, &mut []).unwrap();
            assert!(values.read(&page, &mut [U::default()]).is_err());
            assert!(values.skip(&page, usize::MAX).is_err());
            assert!(values.skip(&page, usize::MAX / U::WIDTH).is_err());
        }
    }

    #[test]
    fn fixed_values_are_read_in_any_split() {
        check_fixed(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()));
        check_fixed(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()));
        check_fixed(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
        check_fixed(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    }

    #[test]
    fn fixed_byte_arrays_are_read_in_any_split() {
        let mut random = Random::new(3);
        let mut values = PlainFixedByteArray::default();
        for round in 0..200 {
            let (width, count) = (1 + random.below(40), random.below(30));
            // What follows the last whole value is none.
            let page = random.bytes(count * width + round % width);
            values.reset();
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            let mut done = 0;
            while done < count {
                let n = random.below(5).min(count - done);
                if random.below(3) == 0 {
                    values.skip(&page, n, width).unwrap();
                } else {
                    values.read(&page, n, width, &mut out).unwrap();
                    expected.extend_from_slice(&page[done * width..(done + n) * width]);
                }
                done += n;
            }
            assert_eq!(out, expected);
            values.read(&page, 0, width, &mut out).unwrap();
            assert!(values.read(&page, 1, width, &mut out).is_err());
            assert!(values.skip(&page, usize::MAX, width).is_err());
            assert!(values.skip(&page, usize::MAX / width, width).is_err());
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn byte_arrays_are_read_in_any_split() {
        let mut random = Random::new(2);
        let mut values = PlainByteArray::default();
        for _ in 0..300 {
            let expected: Vec<Vec<u8>> = (0..random.below(50))
                .map(|_| {
                    let longest = if random.below(4) == 0 { 300 } else { 16 };
                    let len = random.below(longest);
                    random.bytes(len)
                })
                .collect();
            let page = page_of(&expected);
            values.reset();
            let mut done = 0;
            while done < expected.len() {
                let n = random.below(20).min(expected.len() - done);
                if random.below(3) == 0 {
                    values.skip(&page, n).unwrap();
                } else {
                    let mut out = ViewBuffer::default();
                    values.read(&page, n, &mut out).unwrap();
                    assert_eq!(values_of(&out), expected[done..done + n]);
                }
                done += n;
            }
            assert!(values.read(&page, 1, &mut ViewBuffer::default()).is_err());
            assert!(values.skip(&page, 1).is_err());
        }
    }

    #[test]
    fn byte_arrays_that_are_cut_short_are_refused() {
        let expected: Vec<Vec<u8>> = (0..20).map(|len| vec![b'x'; len * 2]).collect();
        let page = page_of(&expected);
        let mut values = PlainByteArray::default();
        for len in 0..page.len() {
            values.reset();
            let mut out = ViewBuffer::default();
            assert!(values.read(&page[..len], expected.len(), &mut out).is_err());
            assert!(expected.starts_with(&values_of(&out)));
            values.reset();
            assert!(values.skip(&page[..len], expected.len()).is_err());
        }
    }

    #[test]
    fn a_promise_of_many_byte_arrays_takes_no_memory() {
        let page = [255; 64];
        let mut values = PlainByteArray::default();
        values.reset();
        let mut out = ViewBuffer::default();
        assert!(values.read(&page, usize::MAX, &mut out).is_err());
        assert!(out.views.capacity() <= page.len());
    }

    #[test]
    fn ascii_is_seen() {
        let mut values = PlainByteArray::default();
        for (text, expected) in [("", true), ("plain", true), ("é", false)] {
            let page = page_of(&[text.as_bytes().to_vec()]);
            values.reset();
            assert_eq!(values.is_ascii(&page), expected);
        }
    }
}
