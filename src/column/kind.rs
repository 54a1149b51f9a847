//! Which columns are read here.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema_by_columns};
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::file::metadata::ParquetMetaData;

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
    /// Values that have no predicates of their own but NULL tests: floating point.
    Opaque,
}

/// A column that is read here: where it stands in the file, and what comes out.
#[derive(Debug, Clone)]
pub(crate) struct ColumnKind {
    /// Index of the leaf column.
    pub(crate) leaf: usize,
    /// Its physical type.
    pub(crate) physical: PhysicalType,
    /// The Arrow type of the arrays.
    pub(crate) output: DataType,
    /// Whether it has definition levels.
    pub(crate) optional: bool,
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
        let chunks = metadata.row_groups().iter().map(|row_group| row_group.column(leaf));
        for chunk in chunks {
            if !chunk.encodings().all(|encoding| reads_encoding(physical, encoding)) {
                return None;
            }
        }
        Some(Self {
            leaf,
            physical,
            output: output.clone(),
            optional: column.max_def_level() == 1,
            path: column.path().string().into(),
        })
    }

    /// How predicates see the values.
    pub(crate) fn domain(&self) -> Domain {
        match self.physical {
            PhysicalType::BOOLEAN => Domain::Boolean,
            PhysicalType::INT32 => Domain::Int { unsigned: self.output.is_unsigned_integer(), width: 32 },
            PhysicalType::INT64 => Domain::Int { unsigned: self.output.is_unsigned_integer(), width: 64 },
            PhysicalType::BYTE_ARRAY => {
                Domain::Bytes { utf8: matches!(self.output, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) }
            }
            _ => Domain::Opaque,
        }
    }
}

/// Whether values of `physical`, which the parquet crate would deliver as `natural`, are delivered here as `output`.
fn reads(physical: PhysicalType, natural: &DataType, output: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Decimal32, Decimal64, Decimal128, Float32, Float64, Int8, Int16, Int32,
        Int64, LargeBinary, LargeUtf8, Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64, Utf8, Utf8View,
    };
    let same = natural == output;
    match (physical, output) {
        (PhysicalType::BOOLEAN, Boolean) | (PhysicalType::FLOAT, Float32) | (PhysicalType::DOUBLE, Float64) => same,
        (
            PhysicalType::INT32,
            Int8
            | Int16
            | Int32
            | UInt8
            | UInt16
            | UInt32
            | Date32
            | Time32(TimeUnit::Millisecond)
            | Decimal32(..)
            | Decimal64(..)
            | Decimal128(..),
        ) => same || same_decimal(natural, output),
        (PhysicalType::INT64, Int64 | UInt64 | Time64(_) | Decimal64(..) | Decimal128(..)) => {
            same || same_decimal(natural, output)
        }
        // Zones differ in name only: the value counts from the epoch in UTC, or in no zone at all.
        (PhysicalType::INT64, Timestamp(unit, zone)) => {
            matches!(natural, Timestamp(stored, stored_zone) if stored == unit && stored_zone.is_some() == zone.is_some())
        }
        (PhysicalType::BYTE_ARRAY, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView) => {
            matches!(natural, Utf8 | Binary)
        }
        _ => false,
    }
}

fn same_decimal(natural: &DataType, output: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128};
    match (natural, output) {
        (
            Decimal32(p, s) | Decimal64(p, s) | Decimal128(p, s),
            Decimal32(q, t) | Decimal64(q, t) | Decimal128(q, t),
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
        Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => physical == PhysicalType::BYTE_ARRAY,
        _ => false,
    }
}
