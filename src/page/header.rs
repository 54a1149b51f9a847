//! `PageHeader` of parquet.thrift, in the Thrift compact protocol.
//!
//! The parser knows the fields that a scan needs and steps over the rest, statistics among them.

use std::fmt;

use super::thrift::{Thrift, Type};
use crate::error::{Error, Result};

/// What stands in front of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHeader {
    /// The kind of page, with what only that kind has.
    pub kind: PageKind,
    /// Size of the page after decompression, in bytes, without this header.
    pub uncompressed_size: usize,
    /// Size of the page in the file, in bytes, without this header.
    pub compressed_size: usize,
    /// CRC-32 of the page as it is in the file.
    pub crc: Option<u32>,
}

/// The kinds of page. Counts of values include nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// DATA_PAGE: levels and values are compressed together.
    DataV1 {
        /// Number of values.
        num_values: usize,
        /// Encoding of the values.
        encoding: Encoding,
        /// Encoding of the definition levels.
        definition_level_encoding: Encoding,
    },
    /// DATA_PAGE_V2: levels stand uncompressed in front of the values.
    DataV2 {
        /// Number of values.
        num_values: usize,
        /// Number of nulls among them.
        num_nulls: usize,
        /// Number of rows.
        num_rows: usize,
        /// Encoding of the values.
        encoding: Encoding,
        /// Size of the definition levels in bytes.
        definition_levels_len: usize,
        /// Size of the repetition levels, which come first, in bytes.
        repetition_levels_len: usize,
        /// Whether the values are compressed with the codec of the column chunk.
        is_compressed: bool,
    },
    /// DICTIONARY_PAGE.
    Dictionary {
        /// Number of entries.
        num_values: usize,
        /// Encoding of the entries.
        encoding: Encoding,
    },
    /// INDEX_PAGE, or a kind that is not known yet: stepped over.
    Other,
}

impl PageHeader {
    /// Number of values of a data page, nulls included; `None` for other pages.
    pub fn data_values(&self) -> Option<usize> {
        match self.kind {
            PageKind::DataV1 { num_values, .. } | PageKind::DataV2 { num_values, .. } => Some(num_values),
            PageKind::Dictionary { .. } | PageKind::Other => None,
        }
    }

    /// Encoding of the values, or of the entries of a dictionary.
    pub fn encoding(&self) -> Option<Encoding> {
        match self.kind {
            PageKind::DataV1 { encoding, .. }
            | PageKind::DataV2 { encoding, .. }
            | PageKind::Dictionary { encoding, .. } => Some(encoding),
            PageKind::Other => None,
        }
    }
}

/// The encodings of parquet.thrift, by their names there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// PLAIN.
    #[default]
    Plain,
    /// PLAIN_DICTIONARY: an old name, for the dictionary page as for the indices.
    PlainDictionary,
    /// RLE.
    Rle,
    /// BIT_PACKED, of levels.
    BitPacked,
    /// DELTA_BINARY_PACKED.
    DeltaBinaryPacked,
    /// DELTA_LENGTH_BYTE_ARRAY.
    DeltaLengthByteArray,
    /// DELTA_BYTE_ARRAY.
    DeltaByteArray,
    /// RLE_DICTIONARY.
    RleDictionary,
    /// BYTE_STREAM_SPLIT.
    ByteStreamSplit,
    /// A number without a name.
    Unknown(i32),
}

impl Encoding {
    fn from_thrift(number: i32) -> Self {
        match number {
            0 => Self::Plain,
            2 => Self::PlainDictionary,
            3 => Self::Rle,
            4 => Self::BitPacked,
            5 => Self::DeltaBinaryPacked,
            6 => Self::DeltaLengthByteArray,
            7 => Self::DeltaByteArray,
            8 => Self::RleDictionary,
            9 => Self::ByteStreamSplit,
            other => Self::Unknown(other),
        }
    }

    /// Whether values are indices into the dictionary page.
    pub fn is_dictionary(self) -> bool {
        matches!(self, Self::PlainDictionary | Self::RleDictionary)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "PLAIN",
            Self::PlainDictionary => "PLAIN_DICTIONARY",
            Self::Rle => "RLE",
            Self::BitPacked => "BIT_PACKED",
            Self::DeltaBinaryPacked => "DELTA_BINARY_PACKED",
            Self::DeltaLengthByteArray => "DELTA_LENGTH_BYTE_ARRAY",
            Self::DeltaByteArray => "DELTA_BYTE_ARRAY",
            Self::RleDictionary => "RLE_DICTIONARY",
            Self::ByteStreamSplit => "BYTE_STREAM_SPLIT",
            Self::Unknown(number) => return write!(f, "encoding {number}"),
        })
    }
}

/// Parses the page header at the start of `bytes`, and returns it with its size.
///
/// # Errors
/// `bytes` end within the header, or it is malformed.
pub fn parse(bytes: &[u8]) -> Result<(PageHeader, usize)> {
    let mut thrift = Thrift::new(bytes, "page header");
    let mut page_type = None;
    let mut uncompressed_size = None;
    let mut compressed_size = None;
    let mut crc = None;
    let (mut data_v1, mut data_v2, mut dictionary) = (None, None, None);

    let mut id = 0;
    while let Some(field) = thrift.field(&mut id)? {
        match (id, field) {
            (1, Type::I32) => page_type = Some(thrift.i32()?),
            (2, Type::I32) => uncompressed_size = Some(thrift.size("uncompressed_page_size")?),
            (3, Type::I32) => compressed_size = Some(thrift.size("compressed_page_size")?),
            (4, Type::I32) => crc = Some(thrift.i32()?.cast_unsigned()),
            (5, Type::Struct) => data_v1 = Some(data_page_header(&mut thrift)?),
            (7, Type::Struct) => dictionary = Some(dictionary_page_header(&mut thrift)?),
            (8, Type::Struct) => data_v2 = Some(data_page_header_v2(&mut thrift)?),
            (_, other) => thrift.skip(other, 0)?,
        }
    }

    let kind = match required(page_type, "type")? {
        0 => required(data_v1, "data_page_header")?,
        2 => required(dictionary, "dictionary_page_header")?,
        3 => required(data_v2, "data_page_header_v2")?,
        _ => PageKind::Other,
    };
    let header = PageHeader {
        kind,
        uncompressed_size: required(uncompressed_size, "uncompressed_page_size")?,
        compressed_size: required(compressed_size, "compressed_page_size")?,
        crc,
    };
    Ok((header, thrift.position()))
}

fn data_page_header(thrift: &mut Thrift<'_>) -> Result<PageKind> {
    let (mut num_values, mut encoding, mut definition_level_encoding) = (None, None, None);
    let mut id = 0;
    while let Some(field) = thrift.field(&mut id)? {
        match (id, field) {
            (1, Type::I32) => num_values = Some(thrift.size("num_values")?),
            (2, Type::I32) => encoding = Some(thrift.i32().map(Encoding::from_thrift)?),
            (3, Type::I32) => definition_level_encoding = Some(thrift.i32().map(Encoding::from_thrift)?),
            (_, other) => thrift.skip(other, 0)?,
        }
    }
    Ok(PageKind::DataV1 {
        num_values: required(num_values, "num_values")?,
        encoding: required(encoding, "encoding")?,
        definition_level_encoding: required(definition_level_encoding, "definition_level_encoding")?,
    })
}

fn data_page_header_v2(thrift: &mut Thrift<'_>) -> Result<PageKind> {
    let (mut num_values, mut num_nulls, mut num_rows, mut encoding) = (None, None, None, None);
    let (mut definition_levels_len, mut repetition_levels_len) = (None, None);
    let mut is_compressed = true;
    let mut id = 0;
    while let Some(field) = thrift.field(&mut id)? {
        match (id, field) {
            (1, Type::I32) => num_values = Some(thrift.size("num_values")?),
            (2, Type::I32) => num_nulls = Some(thrift.size("num_nulls")?),
            (3, Type::I32) => num_rows = Some(thrift.size("num_rows")?),
            (4, Type::I32) => encoding = Some(thrift.i32().map(Encoding::from_thrift)?),
            (5, Type::I32) => definition_levels_len = Some(thrift.size("definition_levels_byte_length")?),
            (6, Type::I32) => repetition_levels_len = Some(thrift.size("repetition_levels_byte_length")?),
            (7, Type::Bool(value)) => is_compressed = value,
            (_, other) => thrift.skip(other, 0)?,
        }
    }
    Ok(PageKind::DataV2 {
        num_values: required(num_values, "num_values")?,
        num_nulls: required(num_nulls, "num_nulls")?,
        num_rows: required(num_rows, "num_rows")?,
        encoding: required(encoding, "encoding")?,
        definition_levels_len: required(definition_levels_len, "definition_levels_byte_length")?,
        repetition_levels_len: required(repetition_levels_len, "repetition_levels_byte_length")?,
        is_compressed,
    })
}

fn dictionary_page_header(thrift: &mut Thrift<'_>) -> Result<PageKind> {
    let (mut num_values, mut encoding) = (None, None);
    let mut id = 0;
    while let Some(field) = thrift.field(&mut id)? {
        match (id, field) {
            (1, Type::I32) => num_values = Some(thrift.size("num_values")?),
            (2, Type::I32) => encoding = Some(thrift.i32().map(Encoding::from_thrift)?),
            (_, other) => thrift.skip(other, 0)?,
        }
    }
    Ok(PageKind::Dictionary {
        num_values: required(num_values, "num_values")?,
        encoding: required(encoding, "encoding")?,
    })
}

fn required<T>(field: Option<T>, name: &str) -> Result<T> {
    field.ok_or_else(|| Error::corrupt(format!("page header without {name}")))
}

#[cfg(test)]
mod tests;
