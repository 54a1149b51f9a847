//! What a user may say about a table.

use std::fmt;

use arrow::datatypes::{DataType, SchemaRef};

use crate::page::Limits;

/// Options of a table. The session's `datafusion.execution.parquet.*` settings apply besides.
///
/// ```
/// use miniblock::MiniblockOptions;
///
/// let options = MiniblockOptions::new().with_verify_checksums(true).with_file_extension(".pq");
/// assert!(options.verify_checksums);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MiniblockOptions {
    /// Whether the CRC-32 of a page is compared with the one in its header, where there is one. Off by default. Columns that
    /// go through the parquet crate (nested ones, INT96) are not compared.
    pub verify_checksums: bool,
    /// Largest size in bytes of a page after decompression; larger ones are refused. None: 256 MiB.
    pub max_page_size: Option<usize>,
    /// Largest size in bytes of a dictionary page after decompression. None: 128 MiB.
    pub max_dictionary_page_size: Option<usize>,
    /// How many times as long as in the file a page of more than 16 MiB may be. None: 4096.
    pub max_decompression_ratio: Option<usize>,
    /// Largest size in bytes of one string or byte array. None: 256 MiB.
    pub max_value_size: Option<usize>,
    /// Bytes of strings and byte arrays that one column may decode for one batch; batches of long ones have fewer rows long
    /// before. None: 1 GiB.
    pub max_batch_size: Option<usize>,
    /// Bytes that a scan asks a store for before they are needed, or holds of what was asked for; a row group that is larger
    /// is fetched all the same, in parts where its page index tells them. Local files are read as they are needed. None:
    /// 64 MiB.
    pub read_ahead_bytes: Option<usize>,
    /// Whether local files are mapped into memory instead of read. A file that somebody truncates while it is mapped ends the
    /// process (SIGBUS), one that is changed may give any rows: for files that are only ever replaced as a whole. Off by default.
    pub memory_map: bool,
    /// With feature `cloud`: options of the store, by the names that `object_store` gives them (`aws_region`, `endpoint`, ..),
    /// where the URL of a table is of a store that the session does not know. Those of the environment (`AWS_REGION`, ..) count
    /// where nothing is said here.
    pub store_options: StoreOptions,
    /// Hive partition columns, in the order of the path: `[("year", DataType::Int32)]` for `.../year=2024/x.parquet`.
    pub table_partition_cols: Vec<(String, DataType)>,
    /// Suffix of the files that are read of a folder. None: `.parquet`.
    pub file_extension: Option<String>,
    /// Columns of the files, without partition columns. None: taken from the files.
    pub schema: Option<SchemaRef>,
}

/// Options of an object store, by name. Their values may be secrets, and are not shown.
#[derive(Clone, Default)]
pub struct StoreOptions(Vec<(String, String)>);

impl StoreOptions {
    /// Names and values; of those with the same name the last counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

impl MiniblockOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`Self::verify_checksums`].
    #[must_use]
    pub fn with_verify_checksums(mut self, verify_checksums: bool) -> Self {
        self.verify_checksums = verify_checksums;
        self
    }

    /// Sets [`Self::max_page_size`].
    #[must_use]
    pub fn with_max_page_size(mut self, bytes: usize) -> Self {
        self.max_page_size = Some(bytes);
        self
    }

    /// Sets [`Self::max_dictionary_page_size`].
    #[must_use]
    pub fn with_max_dictionary_page_size(mut self, bytes: usize) -> Self {
        self.max_dictionary_page_size = Some(bytes);
        self
    }

    /// Sets [`Self::max_decompression_ratio`].
    #[must_use]
    pub fn with_max_decompression_ratio(mut self, ratio: usize) -> Self {
        self.max_decompression_ratio = Some(ratio);
        self
    }

    /// Sets [`Self::max_value_size`].
    #[must_use]
    pub fn with_max_value_size(mut self, bytes: usize) -> Self {
        self.max_value_size = Some(bytes);
        self
    }

    /// Sets [`Self::max_batch_size`].
    #[must_use]
    pub fn with_max_batch_size(mut self, bytes: usize) -> Self {
        self.max_batch_size = Some(bytes);
        self
    }

    /// Sets [`Self::read_ahead_bytes`].
    #[must_use]
    pub fn with_read_ahead_bytes(mut self, bytes: usize) -> Self {
        self.read_ahead_bytes = Some(bytes);
        self
    }

    /// Sets [`Self::memory_map`].
    #[must_use]
    pub fn with_memory_map(mut self, memory_map: bool) -> Self {
        self.memory_map = memory_map;
        self
    }

    /// Adds to [`Self::store_options`].
    #[must_use]
    pub fn with_store_option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.store_options.0.push((name.into(), value.into()));
        self
    }

    /// Sets [`Self::table_partition_cols`].
    #[must_use]
    pub fn with_table_partition_cols(mut self, columns: Vec<(String, DataType)>) -> Self {
        self.table_partition_cols = columns;
        self
    }

    /// Sets [`Self::file_extension`].
    #[must_use]
    pub fn with_file_extension(mut self, extension: impl Into<String>) -> Self {
        self.file_extension = Some(extension.into());
        self
    }

    /// Sets [`Self::schema`].
    #[must_use]
    pub fn with_schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    pub(super) fn read_ahead(&self) -> usize {
        const DEFAULT: usize = 64 << 20;
        self.read_ahead_bytes.unwrap_or(DEFAULT)
    }

    pub(super) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            max_page_size: self.max_page_size.unwrap_or(default.max_page_size),
            max_dictionary_page_size: self.max_dictionary_page_size.unwrap_or(default.max_dictionary_page_size),
            max_decompression_ratio: self.max_decompression_ratio.unwrap_or(default.max_decompression_ratio),
            max_value_size: self.max_value_size.unwrap_or(default.max_value_size),
            max_batch_size: self.max_batch_size.unwrap_or(default.max_batch_size),
        }
    }
}
