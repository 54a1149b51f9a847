//! Names for the data: tables, encodings, compressions, and the folder that a combination of them lives in.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::Schema;
use clap::ValueEnum;
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{Compression as Codec, Encoding as PageEncoding, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::Result;

/// A table of TPC-H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Lineitem,
    Orders,
    Partsupp,
    Part,
    Customer,
    Supplier,
    Nation,
    Region,
}

impl Table {
    /// By size, so that the longest work begins first.
    pub(crate) const ALL: &'static [Table] = &[
        Table::Lineitem,
        Table::Orders,
        Table::Partsupp,
        Table::Part,
        Table::Customer,
        Table::Supplier,
        Table::Nation,
        Table::Region,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Table::Lineitem => "lineitem",
            Table::Orders => "orders",
            Table::Partsupp => "partsupp",
            Table::Part => "part",
            Table::Customer => "customer",
            Table::Supplier => "supplier",
            Table::Nation => "nation",
            Table::Region => "region",
        }
    }

    /// What the names of its columns begin with.
    pub(crate) fn column_prefix(self) -> &'static str {
        match self {
            Table::Lineitem => "l_",
            Table::Orders => "o_",
            Table::Partsupp => "ps_",
            Table::Part => "p_",
            Table::Customer => "c_",
            Table::Supplier => "s_",
            Table::Nation => "n_",
            Table::Region => "r_",
        }
    }

    pub(crate) fn file_name(self) -> String {
        format!("{}.parquet", self.name())
    }
}

/// How the column values of a file are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// DELTA_BINARY_PACKED integers, dates and decimals, DELTA_BYTE_ARRAY strings, no dictionary, writer version 2
    Delta,
    /// As delta, with DELTA_LENGTH_BYTE_ARRAY strings
    DeltaLength,
    /// The parquet crate's defaults: a dictionary, and PLAIN where it grows too large
    Dictionary,
    /// PLAIN everywhere, no dictionary
    Plain,
}

impl Encoding {
    /// What runs when none is named.
    pub(crate) const DEFAULT: &'static [Encoding] = &[Encoding::Delta, Encoding::Dictionary, Encoding::Plain];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Encoding::Delta => "delta",
            Encoding::DeltaLength => "delta-length",
            Encoding::Plain => "plain",
            Encoding::Dictionary => "dictionary",
        }
    }

    fn page_encoding(self, physical_type: PhysicalType) -> PageEncoding {
        match (self, physical_type) {
            (Encoding::Delta | Encoding::DeltaLength, PhysicalType::INT32 | PhysicalType::INT64) => {
                PageEncoding::DELTA_BINARY_PACKED
            }
            (Encoding::Delta, PhysicalType::BYTE_ARRAY) => PageEncoding::DELTA_BYTE_ARRAY,
            (Encoding::DeltaLength, PhysicalType::BYTE_ARRAY) => PageEncoding::DELTA_LENGTH_BYTE_ARRAY,
            _ => PageEncoding::PLAIN,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How the pages of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compression {
    None,
    Snappy,
    Zstd,
}

impl Compression {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Snappy => "snappy",
            Compression::Zstd => "zstd",
        }
    }

    fn codec(self) -> Codec {
        match self {
            Compression::None => Codec::UNCOMPRESSED,
            Compression::Snappy => Codec::SNAPPY,
            Compression::Zstd => Codec::ZSTD(ZstdLevel::default()),
        }
    }
}

/// One way to write TPC-H: its folder holds a file per table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dataset {
    pub(crate) data_dir: PathBuf,
    pub(crate) scale_factor: f64,
    pub(crate) encoding: Encoding,
    pub(crate) compression: Compression,
}

impl Dataset {
    /// The folder, whose name carries all that sets one dataset apart from another: `sf1-delta-none`.
    pub(crate) fn folder(&self) -> PathBuf {
        self.data_dir.join(format!("sf{}-{}-{}", self.scale_factor, self.encoding, self.compression.name()))
    }

    pub(crate) fn path(&self, table: Table) -> PathBuf {
        self.folder().join(table.file_name())
    }

    /// The parquet crate's default row groups and pages, with the encoding of this dataset.
    pub(crate) fn writer_properties(&self, schema: &Schema) -> Result<Arc<WriterProperties>> {
        let mut builder = WriterProperties::builder().set_compression(self.compression.codec());
        if self.encoding != Encoding::Dictionary {
            builder = builder.set_dictionary_enabled(false);
            for column in ArrowSchemaConverter::new().convert(schema)?.columns() {
                let page_encoding = self.encoding.page_encoding(column.physical_type());
                builder = builder.set_column_encoding(column.path().clone(), page_encoding);
            }
        }
        if matches!(self.encoding, Encoding::Delta | Encoding::DeltaLength) {
            builder = builder.set_writer_version(WriterVersion::PARQUET_2_0);
        }
        Ok(Arc::new(builder.build()))
    }
}

/// A path as DataFusion wants it.
pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()).into())
}
