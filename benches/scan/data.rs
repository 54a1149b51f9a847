//! The files: a column `f` that is filtered, and four others.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::Error;
use crate::random::random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    Int32,
    Int64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    Sorted,
    Clustered,
    Random,
}

/// What a file is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) ty: Type,
    pub(crate) order: Order,
    /// Percent of the rows.
    pub(crate) nulls: u64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = match self.ty {
            Type::Int32 => "i32",
            Type::Int64 => "i64",
        };
        let order = match self.order {
            Order::Sorted => "sorted",
            Order::Clustered => "clustered",
            Order::Random => "random",
        };
        write!(f, "{ty}/{order}/nulls{}", self.nulls)
    }
}

impl Type {
    /// Bits of the values: a million of them, and as many as there are microseconds in some days.
    fn bits(self) -> u32 {
        match self {
            Self::Int32 => 20,
            Self::Int64 => 40,
        }
    }

    fn array(self, values: &[Option<i64>]) -> ArrayRef {
        match self {
            Self::Int32 => Arc::new(values.iter().map(|value| value.map(|value| value as i32)).collect::<Int32Array>()),
            Self::Int64 => Arc::new(values.iter().copied().collect::<Int64Array>()),
        }
    }
}

/// Even values of so many bits.
fn values(order: Order, bits: u32, rows: usize, seed: &mut u64) -> Vec<i64> {
    let any = |seed: &mut u64| (random(seed) >> (64 - bits)) as i64 & !1;
    match order {
        Order::Random => (0..rows).map(|_| any(seed)).collect(),
        Order::Sorted => {
            let mut values: Vec<i64> = (0..rows).map(|_| any(seed)).collect();
            values.sort_unstable();
            values
        }
        Order::Clustered => {
            let mut values = Vec::with_capacity(rows);
            // A hundredth of the domain, about.
            let noise = bits - 7;
            while values.len() < rows {
                let centre = any(seed) >> noise << noise;
                let run = 1000 + random(seed) % 8000;
                let len = (run as usize).min(rows - values.len());
                values.extend((0..len).map(|_| centre | (random(seed) >> (64 - noise)) as i64 & !1));
            }
            values
        }
    }
}

/// Writes a file; the values of its column `f`, without NULLs, in order.
pub(crate) fn write(path: &Path, shape: Shape, rows: usize) -> Result<Vec<i64>, Error> {
    let mut seed = 1;
    let bits = shape.ty.bits();
    let columns = [
        ("f", shape.order, bits),
        ("a", Order::Sorted, bits),
        ("b", Order::Clustered, bits),
        ("c", Order::Random, bits),
        ("d", Order::Random, 8),
    ];
    let ty = match shape.ty {
        Type::Int32 => DataType::Int32,
        Type::Int64 => DataType::Int64,
    };
    let fields: Vec<Field> = columns.iter().map(|(name, ..)| Field::new(*name, ty.clone(), shape.nulls > 0)).collect();
    let mut filtered = Vec::new();
    let mut arrays = Vec::new();
    for (name, order, bits) in columns {
        let mut value = |value: i64| (random(&mut seed) % 100 >= shape.nulls).then_some(value);
        let column: Vec<Option<i64>> = values(order, bits, rows, &mut 7).into_iter().map(&mut value).collect();
        arrays.push(shape.ty.array(&column));
        if name == "f" {
            filtered = column.into_iter().flatten().collect();
        }
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_compression(Compression::UNCOMPRESSED)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    filtered.sort_unstable();
    Ok(filtered)
}

/// The bounds between which so many hundredths of a percent of `sorted` lie.
pub(crate) fn bounds(sorted: &[i64], selectivity: usize) -> (i64, i64) {
    let middle = sorted.len() / 2;
    let half = sorted.len() * selectivity / 20_000;
    if half == 0 {
        // All are even.
        return (sorted[middle] + 1, sorted[middle] + 1);
    }
    (sorted[middle.saturating_sub(half)], sorted[(middle + half - 1).min(sorted.len() - 1).max(middle)])
}
