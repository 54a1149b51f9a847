//! Random tables: columns, files, and how they are written.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::rng::Rng;
use super::strings::Shape;
use super::values::{Distribution, Nulls, Value, array, values};

/// A column of a random table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) nullable: bool,
    pub(crate) distribution: Distribution,
    /// What strings look like, where they do not follow from integers.
    shape: Option<Shape>,
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
        matches!(plain(&self.data_type), DataType::Utf8 | DataType::LargeUtf8)
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
    /// Whether the files lack the Arrow schema; None if each does as it likes.
    skip_arrow_schema: Option<bool>,
    /// How it was written, for messages.
    pub(crate) written: String,
}

/// The type of the values of a dictionary, or any other type as it is.
pub(crate) fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Types of everyday columns.
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

/// Types of a fixed length, and those that a file has by its Arrow schema alone; the first are left to the parquet crate.
fn odd_type(rng: &mut Rng) -> DataType {
    let unit = rng.pick(&[TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]);
    match rng.below(24) {
        0 => DataType::Interval(rng.pick(&[IntervalUnit::YearMonth, IntervalUnit::DayTime])),
        1..=4 => DataType::FixedSizeBinary(rng.pick(&[1, 2, 3, 5, 8, 12, 16, 16, 20])),
        5..=7 => DataType::Decimal128(rng.pick(&[19, 20, 25, 33, 38]), rng.below(6) as i8),
        8 | 9 => DataType::Decimal256(rng.pick(&[5, 9, 18, 19, 33, 38, 39, 60, 76]), rng.below(6) as i8),
        10 => rng.pick(&[DataType::Decimal32(9, 2), DataType::Decimal64(9, 0), DataType::Decimal64(18, 3)]),
        11 | 12 => DataType::Float16,
        13 => DataType::Time32(rng.pick(&[TimeUnit::Second, TimeUnit::Millisecond])),
        14 => DataType::Time64(rng.pick(&[TimeUnit::Microsecond, TimeUnit::Nanosecond])),
        15 => DataType::Timestamp(unit, rng.pick(&[None, Some("+02:00".into()), Some("Europe/Berlin".into())])),
        16 => DataType::Duration(unit),
        17 => DataType::Date64,
        _ => {
            let keys = rng.pick(&[DataType::Int32, DataType::UInt16, DataType::Int64, DataType::UInt32]);
            let values = [
                DataType::Utf8,
                DataType::Utf8,
                DataType::LargeUtf8,
                DataType::Binary,
                DataType::Int64,
                DataType::UInt8,
                DataType::Date32,
                DataType::Decimal128(9, 2),
                DataType::Float64,
            ];
            DataType::Dictionary(Box::new(keys), Box::new(rng.pick(&values)))
        }
    }
}

/// Whether the type is another one without the Arrow schema.
fn needs_arrow_schema(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..)
        | DataType::Duration(_)
        | DataType::Date64
        | DataType::Time32(TimeUnit::Second)
        | DataType::Timestamp(TimeUnit::Second, _)
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal256(..) => true,
        DataType::Timestamp(_, zone) => zone.as_ref().is_some_and(|zone| **zone != *"UTC"),
        _ => false,
    }
}

const ROWS: [usize; 25] = [
    0, 1, 2, 31, 33, 63, 64, 65, 127, 129, 256, 257, 1000, 1023, 1024, 1025, 2047, 2049, 3000, 4095, 4096, 4097, 5000,
    8193, 9001,
];

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
        // Files of different types are no table.
        let needs_schema = columns.iter().any(|column| needs_arrow_schema(&column.data_type));
        let skip_arrow_schema = needs_schema.then(|| rng.one_in(6));
        let schema: SchemaRef = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let mut table = Self {
            columns,
            rows: 0,
            files: Vec::new(),
            schema: evolves.then(|| Arc::clone(&schema)),
            skip_arrow_schema,
            written: String::new(),
        };
        for file in 0..rng.pick(&[1, 1, 1, 2, 3]) {
            let rows = rng.pick(&ROWS);
            table.add_file(rng, rows, evolves && file > 0);
        }
        table
    }

    /// A table of integers and strings, of up to two files.
    pub(crate) fn of_strings(rng: &mut Rng) -> Self {
        let integers = Column {
            name: "i".into(),
            data_type: DataType::Int32,
            nullable: rng.one_in(2),
            distribution: rng.pick(&[Distribution::Small, Distribution::Runs, Distribution::Sorted]),
            shape: None,
            nulls: rng.pick(&Nulls::ALL),
            samples: Vec::new(),
        };
        let mut columns = vec![integers];
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let shape = Shape::random(rng);
        for index in 0..1 + rng.below(3) {
            columns.push(Column {
                name: format!("s{index}"),
                data_type: rng.pick(&[DataType::Utf8, DataType::Utf8, DataType::LargeUtf8, dictionary.clone()]),
                nullable: !rng.one_in(3),
                distribution: Distribution::Constant,
                shape: Some(if rng.one_in(3) { shape } else { Shape::random(rng) }),
                nulls: rng.pick(&Nulls::ALL),
                samples: Vec::new(),
            });
        }
        let longest = columns.iter().filter_map(|column| column.shape).map(|shape| shape.longest()).max();
        let skip_arrow_schema = rng.one_in(6);
        let mut table = Self {
            columns,
            rows: 0,
            files: Vec::new(),
            schema: None,
            // Dictionaries are strings without it.
            skip_arrow_schema: Some(skip_arrow_schema),
            written: String::new(),
        };
        for _ in 0..rng.pick(&[1, 1, 2]) {
            let rows = rng.pick(&ROWS).min(400_000 / longest.unwrap_or_default().max(1));
            table.add_file(rng, rows, false);
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
            let cells = match &column.shape {
                Some(shape) => shape.values(rng, rows),
                None => values(rng, &data_type, column.distribution, rows),
            };
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
        let (properties, written) = random_properties(rng, &batch.schema());
        let skip_arrow_metadata = self.skip_arrow_schema.unwrap_or_else(|| rng.one_in(2));
        self.written += &format!("\n  {rows} rows, {written}, Arrow schema {}", !skip_arrow_metadata);
        self.files.push(write(&batch, properties, skip_arrow_metadata));
        self.rows += rows;
    }
}

fn field(column: &Column) -> Field {
    Field::new(&column.name, column.data_type.clone(), column.nullable)
}

fn random_column(rng: &mut Rng, index: usize) -> Column {
    let data_type = if rng.one_in(3) { odd_type(rng) } else { everyday_type(rng) };
    let name = if rng.one_in(12) { format!("Odd name.{index}") } else { format!("c{index}") };
    Column {
        name,
        data_type,
        nullable: !rng.one_in(3),
        distribution: rng.pick(&Distribution::ALL),
        shape: None,
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

fn random_properties(rng: &mut Rng, schema: &Schema) -> (WriterProperties, String) {
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
        .set_bloom_filter_enabled(bloom)
        // Date64 as DATE.
        .set_coerce_types(rng.one_in(3));
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
    (builder.build(), written)
}

fn random_encoding(
    rng: &mut Rng,
    builder: WriterPropertiesBuilder,
    field: &Field,
) -> (WriterPropertiesBuilder, String) {
    let fixed = &[Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT];
    let encodings: &[Encoding] = match plain(field.data_type()) {
        DataType::Boolean => &[Encoding::PLAIN, Encoding::RLE],
        DataType::Float32 | DataType::Float64 => &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT],
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary => {
            &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
        }
        DataType::FixedSizeBinary(_) | DataType::Float16 | DataType::Interval(_) => fixed,
        DataType::Decimal128(precision, _) | DataType::Decimal256(precision, _) if *precision > 18 => fixed,
        _ => &[
            Encoding::PLAIN,
            Encoding::DELTA_BINARY_PACKED,
            Encoding::DELTA_BINARY_PACKED,
            Encoding::DELTA_BINARY_PACKED,
            Encoding::BYTE_STREAM_SPLIT,
        ],
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
