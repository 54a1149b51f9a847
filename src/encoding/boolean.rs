//! BOOLEAN columns: PLAIN (bit-packed, lowest bit first) and RLE (a length of four bytes, then the hybrid at one bit).
//!
//! Values come as bits in 64-bit words, the layout of Arrow's boolean arrays and of a selection.

use crate::encoding::rle::Levels;
use crate::error::{Error, Result};
use crate::kernels::copy_packed_bits;

/// Decoder of PLAIN booleans.
#[derive(Debug, Clone, Default)]
pub struct PlainBoolean {
    bit: usize,
}

impl PlainBoolean {
    /// Starts at the beginning of a page's values.
    pub fn reset(&mut self) {
        self.bit = 0;
    }

    /// Writes the next `len` values to `words` at `start_bit`, other bits untouched.
    ///
    /// `words` must hold `start_bit + len` bits.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn read(&mut self, page: &[u8], len: usize, words: &mut [u64], start_bit: usize) -> Result<()> {
        let from = self.bit;
        self.skip(page, len)?;
        copy_packed_bits(page, from, words, start_bit, len);
        Ok(())
    }

    /// Steps over the next `len` values.
    ///
    /// # Errors
    /// The page holds fewer values.
    pub fn skip(&mut self, page: &[u8], len: usize) -> Result<()> {
        let available = page.len().saturating_mul(8).saturating_sub(self.bit);
        if len > available {
            return Err(Error::corrupt(format!("PLAIN page ends {} booleans early", len - available)));
        }
        self.bit += len;
        Ok(())
    }
}

/// Decoder of RLE booleans.
#[derive(Debug, Clone, Default)]
pub struct RleBoolean {
    values: Levels,
    /// Byte position where the runs end.
    end: usize,
}

impl RleBoolean {
    /// Size of the length in front of the runs.
    const PREFIX: usize = 4;

    /// Starts at the beginning of a page's values. An empty page is one without values.
    ///
    /// # Errors
    /// The length in front does not fit the page.
    pub fn reset(&mut self, page: &[u8]) -> Result<()> {
        self.values.reset();
        self.end = 0;
        if page.is_empty() {
            return Ok(());
        }
        let Some((prefix, runs)) = page.split_first_chunk::<{ Self::PREFIX }>() else {
            return Err(Error::corrupt("RLE boolean page without its length"));
        };
        match usize::try_from(u32::from_le_bytes(*prefix)) {
            Ok(len) if len <= runs.len() => self.end = Self::PREFIX + len,
            _ => return Err(Error::corrupt("RLE booleans run past the end of the page")),
        }
        Ok(())
    }

    /// Writes the next `len` values to `words` at `start_bit`, other bits untouched.
    ///
    /// `words` must hold `start_bit + len` bits.
    ///
    /// # Errors
    /// The page holds fewer values, or a malformed run.
    pub fn read(&mut self, page: &[u8], len: usize, words: &mut [u64], start_bit: usize) -> Result<()> {
        self.values.read(self.runs(page), len, words, start_bit).map(drop)
    }

    /// Steps over the next `len` values.
    ///
    /// # Errors
    /// The page holds fewer values, or a malformed run.
    pub fn skip(&mut self, page: &[u8], len: usize) -> Result<()> {
        self.values.skip(self.runs(page), len).map(drop)
    }

    fn runs<'a>(&self, page: &'a [u8]) -> &'a [u8] {
        page.get(Self::PREFIX..self.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rle::tests::{Random, random_runs};

    fn bits(words: &[u64], start: usize, len: usize) -> Vec<bool> {
        (start..start + len).map(|at| words[at / 64] >> (at % 64) & 1 == 1).collect()
    }

    #[test]
    fn plain_booleans_are_read_in_any_split() {
        let mut random = Random::new(1);
        let mut booleans = PlainBoolean::default();
        for _ in 0..200 {
            let len = random.below(100);
            let page = random.bytes(len);
            let expected: Vec<bool> = (0..len * 8).map(|at| page[at / 8] >> (at % 8) & 1 == 1).collect();
            booleans.reset();
            let mut done = 0;
            while done < expected.len() {
                let n = random.below(200).min(expected.len() - done);
                if random.below(3) == 0 {
                    booleans.skip(&page, n).unwrap();
                } else {
                    let start = random.below(70);
                    let mut words = vec![random.next(); (start + n).div_ceil(64)];
                    booleans.read(&page, n, &mut words, start).unwrap();
                    assert_eq!(bits(&words, start, n), expected[done..done + n]);
                }
                done += n;
            }
            assert!(booleans.read(&page, 1, &mut [0], 0).is_err());
            assert!(booleans.skip(&page, usize::MAX).is_err());
            booleans.read(&page, 0, &mut [], 0).unwrap();
        }
    }

    #[test]
    fn rle_booleans_are_read_in_any_split() {
        let mut random = Random::new(2);
        let mut booleans = RleBoolean::default();
        for _ in 0..200 {
            let (runs, values) = random_runs(&mut random, 1, 10);
            let mut page = (runs.len() as u32).to_le_bytes().to_vec();
            page.extend_from_slice(&runs);
            // What follows the runs is not theirs.
            page.extend_from_slice(&[200, 1, 200, 1]);
            booleans.reset(&page).unwrap();
            let mut done = 0;
            while done < values.len() {
                let n = random.below(200).min(values.len() - done);
                if random.below(3) == 0 {
                    booleans.skip(&page, n).unwrap();
                } else {
                    let mut words = vec![0; n.div_ceil(64) + 1];
                    booleans.read(&page, n, &mut words, 3).unwrap();
                    let expected: Vec<bool> = values[done..done + n].iter().map(|&value| value == 1).collect();
                    assert_eq!(bits(&words, 3, n), expected);
                }
                done += n;
            }
            assert!(booleans.read(&page, 1, &mut [0], 0).is_err());
        }
    }

    #[test]
    fn rle_booleans_of_a_wrong_length_are_refused() {
        let mut booleans = RleBoolean::default();
        booleans.reset(&[]).unwrap();
        booleans.skip(&[], 0).unwrap();
        assert!(booleans.skip(&[], 1).is_err());
        for page in [&[1u8][..], &[1, 0, 0], &[1, 0, 0, 0], &[3, 0, 0, 0, 2, 1], &[255, 255, 255, 255, 2, 1]] {
            assert!(booleans.reset(page).is_err(), "{page:?}");
        }
        booleans.reset(&[0, 0, 0, 0]).unwrap();
        assert!(booleans.skip(&[0, 0, 0, 0], 1).is_err());
    }

    #[test]
    fn booleans_by_the_parquet_crate() {
        use parquet::basic::Encoding;
        use parquet::data_type::BoolType;
        use parquet::encodings::encoding::get_encoder;
        use parquet::schema::parser::parse_message_type;
        use parquet::schema::types::SchemaDescriptor;

        let schema = parse_message_type("message m { required boolean b; }").unwrap();
        let schema = SchemaDescriptor::new(std::sync::Arc::new(schema));
        let mut random = Random::new(3);
        for (len, sparseness) in [(1usize, 2), (9, 2), (640, 1), (5000, 2), (5000, 90)] {
            let expected: Vec<bool> = (0..len).map(|_| random.below(sparseness) == 0).collect();
            let page = |encoding| {
                let mut encoder = get_encoder::<BoolType>(encoding, &schema.column(0)).unwrap();
                encoder.put(&expected).unwrap();
                encoder.flush_buffer().unwrap()
            };
            let mut words = vec![0; len.div_ceil(64)];
            PlainBoolean::default().read(&page(Encoding::PLAIN), len, &mut words, 0).unwrap();
            assert_eq!(bits(&words, 0, len), expected);

            let page = page(Encoding::RLE);
            let mut words = vec![0; len.div_ceil(64)];
            let mut booleans = RleBoolean::default();
            booleans.reset(&page).unwrap();
            booleans.read(&page, len, &mut words, 0).unwrap();
            assert_eq!(bits(&words, 0, len), expected);
        }
    }
}
