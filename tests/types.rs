//! Types that no Arrow array is written as, and those that a file has by its Arrow schema alone: columns of the parquet
//! crate's low-level writer, in every encoding that they have.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor};

use crate::differential::rng::Rng;
use crate::fixtures::{Outcome, check_table};
use crate::oracle::{Settings, Table, answer, assert_same, nodes};

/// A column: its Parquet definition, the type of the Arrow schema, if that is another, and how large its numbers are.
struct Column {
    definition: &'static str,
    hint: Option<DataType>,
    limit: i128,
}

impl Column {
    fn name(&self) -> &'static str {
        self.definition.split_whitespace().nth(2).unwrap()
    }

    fn is_text(&self) -> bool {
        self.definition.contains("UTF8")
    }
}

fn decimals() -> Vec<Column> {
    use DataType::{Decimal32, Decimal64, Decimal256};
    let column = |definition, precision: u8, hint| Column {
        definition,
        hint,
        limit: 10i128.pow(u32::from(precision).min(37)) - 1,
    };
    vec![
        column("optional int32 i (DECIMAL(9, 2))", 9, None),
        column("optional int32 i_32 (DECIMAL(9, 2))", 9, Some(Decimal32(9, 2))),
        column("required int32 i_64 (DECIMAL(9, 2))", 9, Some(Decimal64(9, 2))),
        column("optional int32 i_256 (DECIMAL(9, 2))", 9, Some(Decimal256(9, 2))),
        column("optional int64 l (DECIMAL(18, 3))", 18, None),
        column("optional int64 l_64 (DECIMAL(18, 3))", 18, Some(Decimal64(18, 3))),
        column("optional int64 l_256 (DECIMAL(18, 3))", 18, Some(Decimal256(18, 3))),
        column("optional binary b (DECIMAL(30, 4))", 30, None),
        column("required binary b_short (DECIMAL(5, 0))", 5, None),
        column("optional binary b_256 (DECIMAL(30, 4))", 30, Some(Decimal256(30, 4))),
        column("optional binary b_long (DECIMAL(60, 4))", 60, None),
        column("optional fixed_len_byte_array(1) f1 (DECIMAL(2, 0))", 2, None),
        column("optional fixed_len_byte_array(3) f3 (DECIMAL(6, 1))", 6, None),
        column("optional fixed_len_byte_array(4) f4_32 (DECIMAL(9, 1))", 9, Some(Decimal32(9, 1))),
        column("optional fixed_len_byte_array(8) f8_64 (DECIMAL(18, 1))", 18, Some(Decimal64(18, 1))),
        column("required fixed_len_byte_array(5) f5_256 (DECIMAL(11, 1))", 11, Some(Decimal256(11, 1))),
        column("optional fixed_len_byte_array(16) f16 (DECIMAL(38, 6))", 38, None),
        column("optional fixed_len_byte_array(17) f17 (DECIMAL(10, 6))", 10, None),
        column("optional fixed_len_byte_array(32) f32 (DECIMAL(76, 6))", 76, None),
    ]
}

fn others() -> Vec<Column> {
    use DataType::{Date64, Dictionary, Duration, Time32, Time64, Timestamp};
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let column = |definition, hint| Column { definition, hint, limit: 80_000 };
    let dictionary = |keys, values| Some(Dictionary(Box::new(keys), Box::new(values)));
    vec![
        column("optional fixed_len_byte_array(16) uuid (UUID)", None),
        column("optional fixed_len_byte_array(2) half (FLOAT16)", None),
        column("required fixed_len_byte_array(7) bytes", None),
        column("optional float float", None),
        column("required double double", None),
        column("optional int32 int", None),
        column("optional int64 long", None),
        column("optional int32 date (DATE)", Some(Date64)),
        column("optional int64 date_ms", Some(Date64)),
        column("optional int32 time_s", Some(Time32(Second))),
        column("optional int32 time_ms", Some(Time32(Millisecond))),
        column("optional int64 time_us", Some(Time64(Microsecond))),
        column("optional int64 time_ns (TIME(NANOS, true))", Some(Time64(Nanosecond))),
        column("optional int64 seconds", Some(Timestamp(Second, None))),
        column("optional int32 few_seconds", Some(Timestamp(Second, Some("UTC".into())))),
        column("optional int64 zone (TIMESTAMP(MICROS, true))", Some(Timestamp(Microsecond, Some("+02:00".into())))),
        column("optional int64 local (TIMESTAMP(MICROS, false))", Some(Timestamp(Microsecond, Some("+02:00".into())))),
        column("optional int64 duration", Some(Duration(Nanosecond))),
        column("optional binary text (UTF8)", dictionary(DataType::Int32, DataType::Utf8)),
        column("optional binary short_text (UTF8)", dictionary(DataType::Int8, DataType::Utf8)),
        column("optional binary long_text (UTF8)", dictionary(DataType::UInt16, DataType::LargeUtf8)),
        column("required binary any (DECIMAL(9, 2))", None),
        column("optional int64 longs", dictionary(DataType::Int32, DataType::Int64)),
        column("optional int32 dates (DATE)", dictionary(DataType::Int32, DataType::Date32)),
        column("optional double doubles", dictionary(DataType::Int32, DataType::Float64)),
    ]
}

fn encodings(physical: PhysicalType) -> &'static [Encoding] {
    match physical {
        PhysicalType::INT32 | PhysicalType::INT64 => {
            &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]
        }
        PhysicalType::BYTE_ARRAY => &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY],
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            &[Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT]
        }
        _ => &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT],
    }
}

/// Big-endian two's complement of `width` bytes.
fn be_bytes(number: i128, width: usize) -> Vec<u8> {
    let mut bytes = vec![if number < 0 { u8::MAX } else { 0 }; 16];
    bytes.extend(number.to_be_bytes());
    bytes.split_off(bytes.len() - width)
}

const ROW_GROUPS: usize = 2;
const ROWS: usize = 1300;

/// A file of `columns`; `turn` chooses the encodings.
fn write(columns: &[Column], turn: usize, rng: &mut Rng) -> Vec<u8> {
    let definitions: String = columns.iter().map(|column| format!("{}; ", column.definition)).collect();
    let schema = Arc::new(parse_message_type(&format!("message m {{ {definitions} }}")).unwrap());
    let descriptor = SchemaDescriptor::new(Arc::clone(&schema));
    let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][turn % 2];
    let mut properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(50)
        // The last turns begin with a dictionary, and go on without one.
        .set_dictionary_enabled(turn > 2)
        .set_dictionary_page_size_limit([1 << 20, 1 << 20, 1 << 20, 1 << 20, 300][turn]);
    for (column, descriptor) in columns.iter().zip(descriptor.columns()) {
        let encodings = encodings(descriptor.physical_type());
        let path = ColumnPath::from(column.name());
        properties = properties.set_column_encoding(path.clone(), encodings[turn % encodings.len()]);
        // The writer orders decimals that are longer than they need be as strings, so that its bounds are wrong.
        if descriptor.physical_type() == PhysicalType::BYTE_ARRAY && !column.is_text() {
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    let mut properties = properties.build();
    // Where there is no other type, one that the parquet crate does not follow.
    let fields =
        columns.iter().map(|column| Field::new(column.name(), column.hint.clone().unwrap_or(DataType::Null), true));
    add_encoded_arrow_schema_to_metadata(&Schema::new(fields.collect::<Vec<_>>()), &mut properties);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for _ in 0..ROW_GROUPS {
        let mut row_group = writer.next_row_group().unwrap();
        for (column, descriptor) in columns.iter().zip(descriptor.columns()) {
            let mut chunk = row_group.next_column().unwrap().unwrap();
            write_chunk(chunk.untyped(), column, descriptor, rng);
            chunk.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn write_chunk(writer: &mut ColumnWriter<'_>, column: &Column, descriptor: &ColumnDescPtr, rng: &mut Rng) {
    let optional = descriptor.max_def_level() == 1;
    // Whole pages are NULL at the end of a chunk.
    let levels: Vec<i16> = (0..ROWS).map(|row| i16::from(!optional || row < 700 && !rng.one_in(7))).collect();
    let values = levels.iter().filter(|&&level| level == 1).count();
    let levels = optional.then_some(levels.as_slice());
    // Few numbers in some stretches, so that dictionaries have a use, and those around zero.
    let numbers: Vec<i128> = (0..values)
        .map(|row| match row / 100 % 3 {
            0 => rng.between(-9, 9),
            1 => rng.between(-column.limit, column.limit),
            _ => rng.pick(&[0, -1, 1, 127, -128, 128, column.limit, -column.limit]).clamp(-column.limit, column.limit),
        })
        .map(|number| if column.definition.contains("DECIMAL") { number } else { number.abs() })
        .collect();
    let written = match writer {
        ColumnWriter::Int32ColumnWriter(writer) => {
            let values: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
            writer.write_batch(&values, levels, None)
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let values: Vec<i64> = numbers.iter().map(|&number| number as i64).collect();
            writer.write_batch(&values, levels, None)
        }
        ColumnWriter::FloatColumnWriter(writer) => {
            let values: Vec<f32> = numbers.iter().map(|&number| number as f32 / 8.0).collect();
            writer.write_batch(&values, levels, None)
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> = numbers.iter().map(|&number| number as f64 / 8.0).collect();
            writer.write_batch(&values, levels, None)
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let value = |&number: &i128| {
                if column.is_text() {
                    return format!("some text {}", number % 40).into_bytes();
                }
                // As short as can be, or longer.
                let bits = 129 - if number < 0 { (!number).leading_zeros() } else { number.leading_zeros() };
                let least = bits.div_ceil(8) as usize;
                be_bytes(number, rng.pick(&[least, least, (least + 1).min(16), 16]))
            };
            let values: Vec<ByteArray> = numbers.iter().map(value).map(ByteArray::from).collect();
            writer.write_batch(&values, levels, None)
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
            let width = usize::try_from(descriptor.type_length()).unwrap();
            let values = numbers.iter().map(|&number| FixedLenByteArray::from(be_bytes(number, width)));
            writer.write_batch(&values.collect::<Vec<_>>(), levels, None)
        }
        _ => panic!("no column of {descriptor:?}"),
    };
    assert_eq!(written.unwrap(), values);
}

fn store(name: &str, bytes: &[u8]) -> Table {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("types");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    Table::new("t", path.to_str().unwrap())
}

async fn check(name: &str, columns: &[Column]) {
    for turn in 0..5 {
        let table = store(&format!("{name}-{turn}.parquet"), &write(columns, turn, &mut Rng::new(turn as u64)));
        let settings =
            Settings { batch_size: [8192, 100][turn % 2], partitions: [1, 3][turn / 2 % 2], view_types: turn % 3 != 0 };
        let Outcome::Same(compared) = check_table(&table, settings).await else {
            panic!("{name} {turn} is beyond the oracle");
        };
        assert!(compared > 3 * columns.len(), "{name} {turn}: {compared} queries compared");
        // All of it is read here.
        let whole = answer(settings, std::slice::from_ref(&table), "SELECT * FROM t").await;
        assert_eq!(whole.num_rows(), ROW_GROUPS * ROWS);
        for scan in nodes(&whole.plan, "DataSourceExec") {
            let metrics = scan.metrics().expect("a scan counts");
            let fallback = metrics.sum_by_name("fallback_columns").map_or(0, |count| count.as_usize());
            assert_eq!(fallback, 0, "{name} {turn}");
        }
    }
}

#[tokio::test]
async fn decimals_of_all_physical_types() {
    check("decimals", &decimals()).await;
}

#[tokio::test]
async fn types_by_the_arrow_schema() {
    check("others", &others()).await;
}

#[tokio::test]
async fn row_groups_whose_values_need_all_keys() {
    let definition = "required binary s (UTF8)";
    let hint = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let schema = Arc::new(parse_message_type(&format!("message m {{ {definition}; }}")).unwrap());
    let mut properties = WriterProperties::builder().build();
    add_encoded_arrow_schema_to_metadata(&Schema::new(vec![Field::new("s", hint, false)]), &mut properties);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for row_group in 0..5 {
        let mut chunks = writer.next_row_group().unwrap();
        let mut chunk = chunks.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> =
            (0..300).map(|row| format!("{row_group} text {}", row % 100).into_bytes().into()).collect();
        let ColumnWriter::ByteArrayColumnWriter(bytes) = chunk.untyped() else { panic!("a column of bytes") };
        bytes.write_batch(&values, None, None).unwrap();
        chunk.close().unwrap();
        chunks.close().unwrap();
    }
    let table = store("keys.parquet", &writer.into_inner().unwrap());
    let settings = Settings { partitions: 1, ..Settings::default() };
    assert_same(settings, std::slice::from_ref(&table), "SELECT s FROM t").await;
    // The oracle has a filter above the scan, where batches of several row groups become one.
    for (filter, rows) in [("s <> '2 text 7'", 1497), ("length(s) > 8", 1350), ("s LIKE '3 text 1%'", 33)] {
        let found = answer(settings, std::slice::from_ref(&table), &format!("SELECT s FROM t WHERE {filter}")).await;
        assert_eq!(found.num_rows(), rows, "{filter}");
    }
}
