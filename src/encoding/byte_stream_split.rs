//! BYTE_STREAM_SPLIT: the first bytes of all values, then all second bytes, and so on.
//!
//! The page says how many values there are by its size alone, and any value is found without those before it: to skip is to
//! count.

use crate::error::{Error, Result};
use crate::kernels::{Value, kernels};

/// Decoder of BYTE_STREAM_SPLIT values of one width.
#[derive(Debug, Clone, Default)]
pub struct ByteStreamSplit {
    width: usize,
    /// Values of the page, which is also the length of a stream.
    values: usize,
    position: usize,
}

impl ByteStreamSplit {
    /// Starts at the beginning of a page's values, each of `width` bytes.
    ///
    /// # Errors
    /// The page is no multiple of `width`.
    pub fn reset(&mut self, page: &[u8], width: usize) -> Result<()> {
        if width == 0 || !page.len().is_multiple_of(width) {
            return Err(Error::corrupt(format!(
                "BYTE_STREAM_SPLIT page of {} bytes, with values of {width} bytes",
                page.len()
            )));
        }
        *self = Self { width, values: page.len() / width, position: 0 };
        Ok(())
    }

    /// Fills `out` with the next values, whose width is that of the last `reset`.
    ///
    /// # Errors
    /// The page holds fewer values, or is not that of the last `reset`.
    pub fn read<U: Value>(&mut self, page: &[u8], out: &mut [U]) -> Result<()> {
        let bytes = self.take(page, out.len())?;
        if self.width != size_of::<U>() {
            return Err(Error::corrupt(format!(
                "BYTE_STREAM_SPLIT of {} bytes read as {}",
                self.width,
                size_of::<U>()
            )));
        }
        U::interleave(kernels(), bytes, self.values, out);
        Ok(())
    }

    /// Appends the bytes of the next `n` values to `out`.
    ///
    /// # Errors
    /// As [`ByteStreamSplit::read`].
    pub fn read_fixed(&mut self, page: &[u8], n: usize, out: &mut Vec<u8>) -> Result<()> {
        let bytes = self.take(page, n)?;
        if n == 0 {
            return Ok(());
        }
        let start = out.len();
        // As many bytes as the page has for them.
        out.resize(start + n * self.width, 0);
        let out = &mut out[start..];
        for (byte, stream) in bytes.chunks(self.values).take(self.width).enumerate() {
            for (row, &value) in out.chunks_exact_mut(self.width).zip(stream) {
                row[byte] = value;
            }
        }
        Ok(())
    }

    /// Steps over the next `n` values.
    ///
    /// # Errors
    /// As [`ByteStreamSplit::read`].
    pub fn skip(&mut self, page: &[u8], n: usize) -> Result<()> {
        self.take(page, n).map(drop)
    }

    /// The page from the first byte of the next value on, and a step over `n` values.
    fn take<'a>(&mut self, page: &'a [u8], n: usize) -> Result<&'a [u8]> {
        let left = self.values - self.position;
        if n > left || page.len() != self.values * self.width {
            return Err(Error::corrupt(format!("BYTE_STREAM_SPLIT page with {left} values left of {n}")));
        }
        let bytes = &page[self.position..];
        self.position += n;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::Encoding;
    use parquet::data_type::{
        DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    };
    use parquet::encodings::encoding::get_encoder;
    use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};

    use super::*;
    use crate::encoding::rle::tests::Random;

    const COUNTS: [usize; 9] = [0, 1, 2, 7, 8, 9, 63, 100, 1500];

    fn column<D: DataType>(width: usize) -> ColumnDescPtr {
        let length =
            if D::get_physical_type() == parquet::basic::Type::FIXED_LEN_BYTE_ARRAY { width as i32 } else { -1 };
        let column = Type::primitive_type_builder("c", D::get_physical_type()).with_length(length).build().unwrap();
        Arc::new(ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from("c")))
    }

    /// The page of the parquet crate's encoder.
    fn encode<D: DataType>(values: &[D::T], width: usize) -> Vec<u8> {
        let mut encoder = get_encoder::<D>(Encoding::BYTE_STREAM_SPLIT, &column::<D>(width)).unwrap();
        encoder.put(values).unwrap();
        encoder.flush_buffer().unwrap().to_vec()
    }

    /// Reads all values in random pieces, some of them skipped, by `read`, which appends the bytes of the next ones.
    fn check_walk(
        page: &[u8],
        rows: &[Vec<u8>],
        width: usize,
        mut read: impl FnMut(&mut ByteStreamSplit, usize, &mut Vec<u8>) -> Result<()>,
    ) {
        let mut random = Random::new(width as u64 + 1);
        let mut split = ByteStreamSplit::default();
        for largest in [1, 3, 64, 2000] {
            split.reset(page, width).unwrap();
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            let mut done = 0;
            while done < rows.len() {
                let n = (1 + random.below(largest)).min(rows.len() - done);
                if random.below(4) == 0 {
                    split.skip(page, n).unwrap();
                } else {
                    read(&mut split, n, &mut out).unwrap();
                    expected.extend(rows[done..done + n].iter().flatten().copied());
                }
                done += n;
            }
            assert_eq!(out, expected);
            read(&mut split, 0, &mut out).unwrap();
            assert!(read(&mut split, 1, &mut out).is_err());
            assert!(split.skip(page, 1).is_err());
            assert!(split.skip(page, usize::MAX).is_err());
        }
    }

    fn check_numbers<D: DataType, const W: usize>(value: impl Fn([u8; W]) -> D::T)
    where
        D::T: Value,
    {
        let mut random = Random::new(5);
        for count in COUNTS {
            let rows: Vec<Vec<u8>> = (0..count).map(|_| random.bytes(W)).collect();
            let values: Vec<D::T> = rows.iter().map(|row| value(row.as_slice().try_into().unwrap())).collect();
            let page = encode::<D>(&values, W);
            check_walk(&page, &rows, W, |split, n, out| {
                let mut numbers = vec![D::T::default(); n];
                split.read(&page, &mut numbers)?;
                out.extend(numbers.iter().flat_map(|number| {
                    use parquet::data_type::AsBytes;
                    number.as_bytes().to_vec()
                }));
                Ok(())
            });
        }
    }

    #[test]
    fn numbers_by_the_parquet_crate() {
        check_numbers::<Int32Type, 4>(i32::from_le_bytes);
        check_numbers::<Int64Type, 8>(i64::from_le_bytes);
        check_numbers::<FloatType, 4>(f32::from_le_bytes);
        check_numbers::<DoubleType, 8>(f64::from_le_bytes);
    }

    #[test]
    fn rows_by_the_parquet_crate() {
        let mut random = Random::new(6);
        for width in [1, 2, 3, 4, 5, 8, 12, 16, 17, 40] {
            for count in COUNTS {
                let rows: Vec<Vec<u8>> = (0..count).map(|_| random.bytes(width)).collect();
                let values: Vec<FixedLenByteArray> = rows.iter().map(|row| row.clone().into()).collect();
                let page = encode::<FixedLenByteArrayType>(&values, width);
                check_walk(&page, &rows, width, |split, n, out| split.read_fixed(&page, n, out));
            }
        }
    }

    #[test]
    fn pages_of_another_size_are_refused() {
        let page = [7; 30];
        let mut split = ByteStreamSplit::default();
        assert!(split.reset(&page, 0).is_err());
        for width in [4, 7, 8, 16, 31, usize::MAX] {
            assert!(matches!(split.reset(&page, width), Err(Error::Corrupt(_))), "{width}");
        }
        split.reset(&page, 5).unwrap();
        assert!(split.read_fixed(&page[1..], 1, &mut Vec::new()).is_err());
        assert!(split.read::<i32>(&page, &mut [0]).is_err());
        split.reset(&[], 4).unwrap();
        split.read::<i32>(&[], &mut []).unwrap();
        assert!(split.read::<i32>(&[], &mut [0]).is_err());
        let mut fresh = ByteStreamSplit::default();
        assert!(fresh.skip(&[], 1).is_err());
    }
}
