//! Which columns are read here.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema_by_columns};
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// How a column's predicates see its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Booleans: 0 and 1.
    Boolean,
    /// Integers, and what is stored as one, as they stand in the physical type.
    Int {
        /// Whether the logical type is unsigned: its order is that of the bits read as unsigned.
        unsigned: bool,
        /// Bits of the physical type: 32 or 64.
        width: u32,
    },
    /// Byte strings.
    Bytes {
        /// Whether the logical type is text.
        utf8: bool,
    },
    /// Values that have no predicates of their own but NULL tests: floating point, and decimals that are stored as bytes.
    Opaque,
}

/// A column that is read here: where it stands in the file, and what comes out.
#[derive(Debug, Clone)]
pub(crate) struct ColumnKind {
    /// Index of the leaf column.
    pub(crate) leaf: usize,
    /// Its physical type.
    pub(crate) physical: PhysicalType,
    /// Bytes of a FIXED_LEN_BYTE_ARRAY, which are some.
    pub(crate) width: usize,
    /// The Arrow type of the arrays.
    pub(crate) output: DataType,
    /// Whether it has definition levels.
    pub(crate) optional: bool,
    /// Whether DELTA_BYTE_ARRAY goes on from page to page: prefixes are those of values in the page before.
    pub(crate) continues: bool,
    /// Its path, for errors.
    pub(crate) path: Arc<str>,
}

impl ColumnKind {
    /// How root column `root`, delivered as `field`, is read here; None if it is not: nested, of another pair of types,
    /// or with a chunk in an encoding that is not read here.
    pub(crate) fn of(metadata: &ParquetMetaData, root: usize, field: &Field) -> Option<Self> {
        let descriptor = metadata.file_metadata().schema_descr();
        let root_type = descriptor.root_schema().get_fields().get(root)?;
        if !root_type.is_primitive() {
            return None;
        }
        let leaf = (0..descriptor.num_columns()).find(|&leaf| descriptor.get_column_root_idx(leaf) == root)?;
        let column = descriptor.column(leaf);
        if column.max_rep_level() != 0 || column.max_def_level() > 1 {
            return None;
        }
        let physical = column.physical_type();
        // What the parquet crate makes of the column without hints: it has read the logical type.
        let natural =
            parquet_to_arrow_schema_by_columns(descriptor, ProjectionMask::leaves(descriptor, [leaf]), None).ok()?;
        let natural = natural.fields().first()?.data_type();
        let output = field.data_type();
        if !reads(physical, natural, output) {
            return None;
        }
        let width = match physical {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                usize::try_from(column.type_length()).ok().filter(|width| *width > 0)?
            }
            _ => 0,
        };
        let chunks = metadata.row_groups().iter().map(|row_group| row_group.column(leaf));
        for chunk in chunks {
            let levels_are_read = column.max_def_level() == 0 || !has_bit_packed_levels(chunk);
            if !levels_are_read || !chunk.encodings().all(|encoding| reads_encoding(physical, encoding)) {
                return None;
            }
        }
        Some(Self {
            leaf,
            physical,
            width,
            output: output.clone(),
            optional: column.max_def_level() == 1,
            continues: matches!(physical, PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY)
                && metadata.file_metadata().created_by().is_some_and(continues_prefixes),
            path: column.path().string().into(),
        })
    }

    /// How predicates see the values.
    pub(crate) fn domain(&self) -> Domain {
        let values = match &self.output {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        match (self.physical, values) {
            // Days in the file, and milliseconds in literals.
            (PhysicalType::INT32, DataType::Date64) => Domain::Opaque,
            (PhysicalType::BOOLEAN, _) => Domain::Boolean,
            (PhysicalType::INT32, values) => Domain::Int { unsigned: values.is_unsigned_integer(), width: 32 },
            (PhysicalType::INT64, values) => Domain::Int { unsigned: values.is_unsigned_integer(), width: 64 },
            (_, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => Domain::Bytes { utf8: true },
            (_, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)) => {
                Domain::Bytes { utf8: false }
            }
            _ => Domain::Opaque,
        }
    }

    /// Whether arrays are dictionaries that may not have room for the values of two row groups.
    pub(crate) fn has_few_keys(&self) -> bool {
        matches!(&self.output, DataType::Dictionary(keys, _) if keys.primitive_width() < Some(4))
    }
}

/// Whether a writer's DELTA_BYTE_ARRAY pages go on from the page before, against the specification: parquet-java before 1.8
/// (PARQUET-246). Pages that begin anew, as those of a version that cannot be told may, are read by the same rule.
fn continues_prefixes(created_by: &str) -> bool {
    let Some(rest) = created_by.trim_start().strip_prefix("parquet-mr") else { return false };
    let version = rest.trim_start().strip_prefix("version").unwrap_or_default().trim_start();
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < (1, 8),
        _ => true,
    }
}

/// Whether the levels of a chunk are BIT_PACKED: old writers list that encoding beside RLE, and use the latter.
#[expect(deprecated, reason = "files of old writers have it")]
fn has_bit_packed_levels(chunk: &ColumnChunkMetaData) -> bool {
    let mut encodings = chunk.encodings();
    encodings.any(|encoding| encoding == Encoding::BIT_PACKED)
        && !chunk.encodings().any(|encoding| encoding == Encoding::RLE)
}

/// Whether values of `physical`, which the parquet crate would deliver as `natural`, are delivered here as `output`.
///
/// Where the two differ, `output` comes from the Arrow schema that the writer has left in the file, as far as the parquet
/// crate follows it, or from the table.
fn reads(physical: PhysicalType, natural: &DataType, output: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Dictionary,
        Duration, FixedSizeBinary, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8,
        Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64, Utf8, Utf8View,
    };
    use PhysicalType::{BOOLEAN, BYTE_ARRAY, DOUBLE, FIXED_LEN_BYTE_ARRAY, FLOAT, INT32, INT64};
    let same = natural == output;
    match (physical, output) {
        // These have no dictionaries, or none of the values that they have elsewhere.
        (BOOLEAN | FIXED_LEN_BYTE_ARRAY, Dictionary(..)) => false,
        (_, Dictionary(_, values)) => {
            !matches!(**values, Dictionary(..) | Duration(_)) && reads(physical, natural, values)
        }
        (BOOLEAN, Boolean) | (FLOAT, Float32) | (DOUBLE, Float64) => same,
        (INT32, Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 | Date32) => same,
        (INT64, Int64 | UInt64) => same,
        (INT32, Time32(TimeUnit::Second | TimeUnit::Millisecond)) | (INT32, Timestamp(..)) => same || *natural == Int32,
        (INT32, Date64) => *natural == Date32,
        (INT64, Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond)) => same || *natural == Int64,
        (INT64, Date64 | Duration(_)) => *natural == Int64,
        // Zones differ in name only: the value counts from the epoch in UTC, or in no zone at all.
        (INT64, Timestamp(unit, zone)) => match natural {
            Timestamp(stored, stored_zone) => stored == unit && stored_zone.is_some() <= zone.is_some(),
            natural => *natural == Int64,
        },
        (INT32 | FIXED_LEN_BYTE_ARRAY, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..))
        | (INT64, Decimal64(..) | Decimal128(..) | Decimal256(..))
        | (BYTE_ARRAY, Decimal128(..) | Decimal256(..)) => same_decimal(natural, output),
        (BYTE_ARRAY, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView) => {
            matches!(natural, Utf8 | Binary)
        }
        (FIXED_LEN_BYTE_ARRAY, FixedSizeBinary(_) | Float16) => same,
        _ => false,
    }
}

/// Whether both are decimals of one precision and scale.
fn same_decimal(natural: &DataType, output: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match (natural, output) {
        (
            Decimal32(p, s) | Decimal64(p, s) | Decimal128(p, s) | Decimal256(p, s),
            Decimal32(q, t) | Decimal64(q, t) | Decimal128(q, t) | Decimal256(q, t),
        ) => (p, s) == (q, t),
        _ => false,
    }
}

/// Whether pages of `physical` in `encoding` are read here. Level encodings are listed among a chunk's too.
fn reads_encoding(physical: PhysicalType, encoding: Encoding) -> bool {
    match encoding {
        #[expect(
            deprecated,
            reason = "old writers list it for levels that take no bit, and it is still read by others"
        )]
        Encoding::PLAIN | Encoding::RLE | Encoding::BIT_PACKED => true,
        Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => physical != PhysicalType::BOOLEAN,
        Encoding::DELTA_BINARY_PACKED => matches!(physical, PhysicalType::INT32 | PhysicalType::INT64),
        Encoding::DELTA_LENGTH_BYTE_ARRAY => physical == PhysicalType::BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY => {
            matches!(physical, PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY)
        }
        Encoding::BYTE_STREAM_SPLIT => !matches!(physical, PhysicalType::BOOLEAN | PhysicalType::BYTE_ARRAY),
    }
}

#[cfg(test)]
mod tests {
    use super::continues_prefixes;

    #[test]
    fn writers_whose_prefixes_continue() {
        for old in [
            "parquet-mr version 1.6.0rc3 (build d4d5a07)",
            "parquet-mr version 1.7.0",
            "parquet-mr",
            "parquet-mr version ?",
        ] {
            assert!(continues_prefixes(old), "{old}");
        }
        for other in [
            "parquet-mr version 1.8.0 (build 1)",
            "parquet-mr version 1.17.0",
            "parquet-mr version 2.0",
            "parquet-rs version 1.0",
            "",
        ] {
            assert!(!continues_prefixes(other), "{other}");
        }
    }
}
