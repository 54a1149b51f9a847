//! Random tables: columns, files, and how they are written.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::rng::Rng;
use super::values::{Distribution, Nulls, Value, array, values};

/// A column of a random table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) nullable: bool,
    pub(crate) distribution: Distribution,
    nulls: Nulls,
    /// Some of the values, for literals.
    pub(crate) samples: Vec<Value>,
}

impl Column {
    /// The name as it stands in SQL.
    pub(crate) fn sql(&self) -> String {
        format!("\"{}\"", self.name)
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.data_type.is_integer()
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.data_type, DataType::Utf8)
    }
}

/// A random table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
    /// The bytes of its files.
    pub(crate) files: Vec<Vec<u8>>,
    /// The schema of the table, where the files differ.
    pub(crate) schema: Option<SchemaRef>,
    /// How it was written, for messages.
    pub(crate) written: String,
}

/// Types that the scan reads itself.
fn everyday_type(rng: &mut Rng) -> DataType {
    let precision = rng.pick(&[3u8, 9, 10, 18]);
    match rng.below(20) {
        0 => DataType::Int8,
        1 => DataType::Int16,
        2..=4 => DataType::Int32,
        5..=7 => DataType::Int64,
        8 => DataType::UInt8,
        9 => DataType::UInt16,
        10 => DataType::UInt32,
        11 => DataType::UInt64,
        12 => DataType::Date32,
        13 => {
            let unit = rng.pick(&[TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]);
            DataType::Timestamp(unit, rng.one_in(3).then(|| "UTC".into()))
        }
        14 => DataType::Decimal128(precision, rng.below(3) as i8),
        15 => rng.pick(&[DataType::Float32, DataType::Float64]),
        16 => DataType::Boolean,
        17 | 18 => DataType::Utf8,
        _ => DataType::Binary,
    }
}

/// Types that it leaves to the parquet crate.
fn odd_type(rng: &mut Rng) -> DataType {
    match rng.below(4) {
        0 => DataType::Decimal128(25, 3),
        1 => DataType::Timestamp(TimeUnit::Second, None),
        2 => DataType::FixedSizeBinary(5),
        _ => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    }
}

const ROWS: [usize; 22] =
    [0, 1, 2, 31, 33, 63, 64, 65, 127, 129, 256, 257, 1000, 1023, 1024, 1025, 2047, 2049, 3000, 4096, 5000, 9001];

impl Table {
    /// A table of up to three files.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let mut columns: Vec<Column> = (0..1 + rng.below(6)).map(|index| random_column(rng, index)).collect();
        // Comparisons of two columns need two of a kind.
        if rng.one_in(2) {
            let like = rng.pick(&columns);
            let name = format!("c{}", columns.len());
            let twin = Column { name, nullable: rng.one_in(2), nulls: rng.pick(&Nulls::ALL), ..like };
            columns.push(twin);
        }
        let evolves = rng.one_in(6);
        let schema: SchemaRef = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let mut table = Self {
            columns,
            rows: 0,
            files: Vec::new(),
            schema: evolves.then(|| Arc::clone(&schema)),
            written: String::new(),
        };
        for file in 0..rng.pick(&[1, 1, 1, 2, 3]) {
            let rows = rng.pick(&ROWS);
            table.add_file(rng, rows, evolves && file > 0);
        }
        table
    }

    fn add_file(&mut self, rng: &mut Rng, rows: usize, evolves: bool) {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for column in &mut self.columns {
            let nulls = if column.nullable { column.nulls } else { Nulls::None };
            let mut data_type = column.data_type.clone();
            if evolves {
                // Columns that came later are missing, and integers were narrower once.
                if column.nullable && rng.one_in(4) {
                    continue;
                }
                data_type = match (&data_type, rng.one_in(2)) {
                    (DataType::Int64, true) => rng.pick(&[DataType::Int32, DataType::Int16, DataType::UInt32]),
                    (DataType::Int32, true) => rng.pick(&[DataType::Int16, DataType::Int8, DataType::UInt16]),
                    (DataType::UInt64, true) => DataType::UInt32,
                    _ => data_type,
                };
            }
            let cells = values(rng, &data_type, column.distribution, rows);
            let validity = nulls.validity(rng, rows);
            for _ in 0..cells.len().min(8) {
                column.samples.push(rng.pick(&cells));
            }
            let array: ArrayRef = array(&data_type, &cells, &validity);
            fields.push(Field::new(&column.name, data_type, column.nullable));
            arrays.push(array);
        }
        if evolves && fields.len() > 1 && rng.one_in(2) {
            fields.reverse();
            arrays.reverse();
        }
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).unwrap();
        let (properties, skip_arrow_metadata, written) = random_properties(rng, &batch.schema());
        self.written += &format!("\n  {rows} rows, {written}");
        self.files.push(write(&batch, properties, skip_arrow_metadata));
        self.rows += rows;
    }
}

fn field(column: &Column) -> Field {
    Field::new(&column.name, column.data_type.clone(), column.nullable)
}

fn random_column(rng: &mut Rng, index: usize) -> Column {
    let data_type = if rng.one_in(9) { odd_type(rng) } else { everyday_type(rng) };
    let name = if rng.one_in(12) { format!("Odd name.{index}") } else { format!("c{index}") };
    Column {
        name,
        data_type,
        nullable: !rng.one_in(3),
        distribution: rng.pick(&Distribution::ALL),
        nulls: rng.pick(&Nulls::ALL),
        samples: Vec::new(),
    }
}

/// One file of `batch`.
pub(crate) fn write(batch: &RecordBatch, properties: WriterProperties, skip_arrow_metadata: bool) -> Vec<u8> {
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(skip_arrow_metadata);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn random_properties(rng: &mut Rng, schema: &Schema) -> (WriterProperties, bool, String) {
    let version = rng.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let row_group = rng.pick(&[1 << 20, 1 << 20, 1, 100, 999, 1024, 2500]);
    // Row groups of one row are slow to write where there are thousands.
    let row_group = if row_group == 1 { 700 } else { row_group };
    let page_rows = rng.pick(&[20_000, 20_000, 1, 10, 100, 333, 1024, 2000]);
    let page_bytes = rng.pick(&[1 << 20, 1 << 20, 64, 500, 4000]);
    let batch = rng.pick(&[1024, 1, 7, 64, 500]);
    let statistics = rng.pick(&[EnabledStatistics::Page, EnabledStatistics::Chunk, EnabledStatistics::None]);
    let offset_index_disabled = statistics != EnabledStatistics::Page && rng.one_in(2);
    let bloom = rng.one_in(8);
    let mut written =
        format!("{version:?} groups {row_group} pages {page_rows}/{page_bytes}/{batch} {statistics:?} bloom {bloom}");
    let mut builder = WriterProperties::builder()
        .set_writer_version(version)
        .set_max_row_group_row_count(Some(row_group))
        .set_data_page_row_count_limit(page_rows)
        .set_data_page_size_limit(page_bytes)
        .set_write_batch_size(batch)
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(offset_index_disabled)
        .set_bloom_filter_enabled(bloom);
    for field in schema.fields() {
        let text;
        (builder, text) = random_encoding(rng, builder, field);
        written += &format!(
            "\n    {}: {}{} {text}",
            field.name(),
            field.data_type(),
            if field.is_nullable() { "?" } else { "" }
        );
    }
    let skip_arrow_metadata = rng.one_in(2);
    (builder.build(), skip_arrow_metadata, written)
}

fn random_encoding(
    rng: &mut Rng,
    builder: WriterPropertiesBuilder,
    field: &Field,
) -> (WriterPropertiesBuilder, String) {
    let encodings: &[Encoding] = match field.data_type() {
        DataType::Boolean => &[Encoding::PLAIN, Encoding::RLE],
        DataType::Float32 | DataType::Float64 => &[Encoding::PLAIN, Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT],
        DataType::Utf8 | DataType::Binary | DataType::Dictionary(..) => {
            &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
        }
        DataType::FixedSizeBinary(_) => &[Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY],
        DataType::Decimal128(precision, _) if *precision > 18 => &[Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY],
        _ => &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::DELTA_BINARY_PACKED],
    };
    let encoding = rng.pick(encodings);
    let compression = rng.pick(&[
        Compression::UNCOMPRESSED,
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::BROTLI(Default::default()),
    ]);
    // A small dictionary falls back to the encoding in the middle of a chunk.
    let dictionary = if *field.data_type() == DataType::Boolean {
        None
    } else {
        rng.pick(&[None, None, Some(1 << 20), Some(100), Some(1)])
    };
    // The path of a root column is its name, dots and all.
    let path = ColumnPath::new(vec![field.name().clone()]);
    let mut builder = builder
        .set_column_encoding(path.clone(), encoding)
        .set_column_compression(path.clone(), compression)
        .set_column_dictionary_enabled(path.clone(), dictionary.is_some());
    if let Some(bytes) = dictionary {
        builder = builder.set_column_dictionary_page_size_limit(path, bytes);
    }
    (builder, format!("{encoding} {compression} dictionary {dictionary:?}"))
}
