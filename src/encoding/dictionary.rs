//! Dictionary indices (RLE_DICTIONARY, and PLAIN_DICTIONARY on data pages): a byte that says the bit width, then the
//! RLE / bit-packed hybrid. Indices are not checked against the dictionary here: who gathers does it.

use crate::encoding::rle::Hybrid;
use crate::error::Result;

/// Decoder of dictionary indices.
#[derive(Debug, Clone, Default)]
pub struct Indices {
    values: Hybrid,
    bit_width: u32,
}

impl Indices {
    /// Starts at the beginning of a page's values. An empty page is one without values.
    ///
    /// # Errors
    /// A bit width over 32.
    pub fn reset(&mut self, page: &[u8]) -> Result<()> {
        // A page that is empty gets a width whose runs are then missed, not a width of zero that needs none.
        self.bit_width = page.first().map_or(1, |&bit_width| u32::from(bit_width));
        self.values.reset(self.bit_width)
    }

    /// Bits of an index: all indices are below `1 << bit_width()`.
    pub fn bit_width(&self) -> u32 {
        self.bit_width
    }

    /// Fills `out` with the next indices.
    ///
    /// # Errors
    /// The page holds fewer indices, or a malformed run.
    pub fn read(&mut self, page: &[u8], out: &mut [u32]) -> Result<()> {
        self.values.read(Self::runs(page), out)
    }

    /// Steps over the next `n` indices.
    ///
    /// # Errors
    /// The page holds fewer indices, or a malformed run.
    pub fn skip(&mut self, page: &[u8], n: usize) -> Result<()> {
        self.values.skip(Self::runs(page), n)
    }

    fn runs(page: &[u8]) -> &[u8] {
        page.get(1..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rle::tests::{Random, packed, random_runs, repeated};

    #[test]
    fn indices_of_every_width() {
        let mut random = Random::new(1);
        let mut indices = Indices::default();
        for bit_width in 0..=32 {
            let (runs, expected) = random_runs(&mut random, bit_width, 20);
            let mut page = vec![bit_width as u8];
            page.extend_from_slice(&runs);
            indices.reset(&page).unwrap();
            assert_eq!(indices.bit_width(), bit_width);
            let skipped = expected.len() / 3;
            indices.skip(&page, skipped).unwrap();
            let mut out = vec![0; expected.len() - skipped];
            indices.read(&page, &mut out).unwrap();
            assert_eq!(out, expected[skipped..]);
        }
    }

    #[test]
    fn widths_over_32_are_refused() {
        let mut indices = Indices::default();
        for bit_width in 33..=255 {
            assert!(indices.reset(&[bit_width, 2, 0, 0, 0, 0]).is_err());
        }
    }

    #[test]
    fn an_empty_page_has_no_indices() {
        let mut indices = Indices::default();
        indices.reset(&[]).unwrap();
        indices.read(&[], &mut []).unwrap();
        assert!(indices.read(&[], &mut [0]).is_err());
        indices.reset(&[5]).unwrap();
        assert!(indices.skip(&[5], 1).is_err());
        // One entry needs no bits: writers leave the runs out, or write a run without a value.
        for page in [&[0u8][..], &[0, 20]] {
            indices.reset(page).unwrap();
            let mut out = [9; 10];
            indices.read(page, &mut out).unwrap();
            assert_eq!(out, [0; 10]);
        }
    }

    #[test]
    fn padding_of_the_last_group_is_not_an_index() {
        let mut page = vec![2];
        packed(&mut page, 2, &[1, 2, 3]);
        repeated(&mut page, 2, 1, 1);
        let mut indices = Indices::default();
        indices.reset(&page).unwrap();
        let mut out = [0; 3];
        indices.read(&page, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn indices_by_the_parquet_crate() {
        use parquet::data_type::Int32Type;
        use parquet::encodings::encoding::{DictEncoder, Encoder};
        use parquet::schema::parser::parse_message_type;
        use parquet::schema::types::SchemaDescriptor;

        let schema = parse_message_type("message m { required int32 i; }").unwrap();
        let schema = SchemaDescriptor::new(std::sync::Arc::new(schema));
        let mut random = Random::new(2);
        for distinct in [1, 2, 3, 5, 17, 300, 5000] {
            let values: Vec<i32> = (0..6000)
                .scan(0, |last, _| {
                    // Some values repeat, so that there are runs of both kinds.
                    if random.below(3) == 0 {
                        *last = random.below(distinct) as i32;
                    }
                    Some(*last)
                })
                .collect();
            let mut encoder = DictEncoder::<Int32Type>::new(schema.column(0));
            encoder.put(&values).unwrap();
            let dictionary = encoder.write_dict().unwrap();
            let page = encoder.write_indices().unwrap();
            let mut indices = Indices::default();
            indices.reset(&page).unwrap();
            let mut out = vec![0; values.len()];
            indices.read(&page, &mut out).unwrap();
            for (index, value) in out.iter().zip(&values) {
                let at = *index as usize * 4;
                assert_eq!(dictionary[at..at + 4], value.to_le_bytes());
            }
        }
    }
}
