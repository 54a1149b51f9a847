//! Several conditions that look at one column, in any order and encoding: what the first has left decides what is read for the
//! next.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use crate::files::write;
use crate::oracle::{Settings, assert_same};

const ROWS: usize = 20_000;

/// Columns in no order: `few` is 7 in one of 50 rows, `a`, `b` and `w` are integers, `n` has NULLs, `s` is text.
fn rows() -> RecordBatch {
    let mixed = |row: usize, salt: u64| ((row as u64 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i32;
    let ints = |salt, below: i32| Int32Array::from_iter_values((0..ROWS).map(move |row| mixed(row, salt) % below));
    let columns: [(&str, ArrayRef, bool); 6] = [
        ("few", Arc::new(ints(1, 50)), false),
        ("a", Arc::new(ints(2, 1000)), false),
        ("b", Arc::new(ints(3, 1000)), false),
        ("w", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| i64::from(mixed(row, 4) % 1000)))), false),
        ("n", Arc::new(Int32Array::from_iter((0..ROWS).map(|row| (row % 7 != 3).then(|| mixed(row, 5) % 1000)))), true),
        ("s", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("{}", mixed(row, 6) % 90)))), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn properties(integers: Option<Encoding>) -> WriterProperties {
    let builder = WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0);
    let Some(encoding) = integers else { return builder.build() };
    let text = if encoding == Encoding::PLAIN { Encoding::PLAIN } else { Encoding::DELTA_BYTE_ARRAY };
    let builder = builder.set_dictionary_enabled(false).set_encoding(encoding);
    builder.set_column_encoding(ColumnPath::from("s"), text).build()
}

#[tokio::test]
async fn a_column_that_is_tested_and_compared() {
    let encodings = [
        ("plain", Some(Encoding::PLAIN)),
        ("split", Some(Encoding::BYTE_STREAM_SPLIT)),
        ("delta", Some(Encoding::DELTA_BINARY_PACKED)),
        ("dictionary", None),
    ];
    for (name, encoding) in encodings {
        let table = write("conjunctions", &format!("{name}.parquet"), &rows(), properties(encoding));
        for compared in ["a < b", "a >= w", "n <> a", "w = n"] {
            for tested in ["a > 400", "w BETWEEN 100 AND 900", "n IS NOT NULL", "n < 800", "b IN (1, 7, 300, 900, 901)"]
            {
                let conditions = ["few = 7", tested, compared, "s >= '3'"];
                for first in 0..conditions.len() {
                    // Conditions stand in the order of the query until they are measured.
                    let mut order = conditions;
                    order.rotate_left(first);
                    let sql = format!("SELECT a, w, n, s FROM t WHERE {}", order.join(" AND "));
                    assert_same(Settings::default(), std::slice::from_ref(&table), &sql).await;
                }
            }
        }
    }
}
