//! How much the bytes of a file may ask for.

use super::Codec;
use crate::error::{Error, Result};

/// How much the bytes of a file may ask for, page by page and column by column. The fields are options of a table, by these
/// names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a page after decompression.
    pub max_page_size: usize,
    /// Bytes of a dictionary page after decompression. Its entries stay in memory as long as their column chunk is read.
    pub max_dictionary_page_size: usize,
    /// How many times as long as in the file a page may be, if it is over [`Limits::FREE_OF_RATIO`].
    pub max_decompression_ratio: usize,
    /// Bytes of one string or byte array.
    pub max_value_size: usize,
    /// Bytes of strings and byte arrays that one column decodes for one batch. DELTA_BYTE_ARRAY makes many of few: each value
    /// may repeat the one before.
    pub max_batch_size: usize,
}

impl Limits {
    /// Bytes up to which a page may be as small in the file as it likes: a constant column compresses well.
    pub const FREE_OF_RATIO: usize = 16 << 20;

    /// Checks what the header of a page promises of its decompression.
    ///
    /// # Errors
    /// Limit: `uncompressed_size` is more than an option allows. Corrupt: it is more than `codec` can make of the bytes.
    pub fn check_page(&self, codec: Codec, compressed_size: usize, uncompressed_size: usize) -> Result<()> {
        if uncompressed_size > self.max_page_size {
            return Err(Error::limit(format!(
                "page of {uncompressed_size} bytes, over the maximum of {} (max_page_size)",
                self.max_page_size
            )));
        }
        if uncompressed_size > codec.max_uncompressed(compressed_size) {
            return Err(Error::corrupt(format!(
                "{compressed_size} bytes of {codec:?} cannot become {uncompressed_size}"
            )));
        }
        let largest = compressed_size.saturating_mul(self.max_decompression_ratio).max(Self::FREE_OF_RATIO);
        if uncompressed_size > largest {
            return Err(Error::limit(format!(
                "page of {uncompressed_size} bytes that has {compressed_size} in the file, over the maximum of {} times \
                 (max_decompression_ratio)",
                self.max_decompression_ratio
            )));
        }
        Ok(())
    }

    /// Checks the size of a dictionary page.
    ///
    /// # Errors
    /// Limit: it is more than an option allows.
    pub fn check_dictionary(&self, uncompressed_size: usize) -> Result<()> {
        if uncompressed_size > self.max_dictionary_page_size {
            return Err(Error::limit(format!(
                "dictionary page of {uncompressed_size} bytes, over the maximum of {} (max_dictionary_page_size)",
                self.max_dictionary_page_size
            )));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_page_size: 256 << 20,
            max_dictionary_page_size: 128 << 20,
            max_decompression_ratio: 4096,
            max_value_size: 256 << 20,
            max_batch_size: 1 << 30,
        }
    }
}
