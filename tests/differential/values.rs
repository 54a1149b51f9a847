//! Random values of a column, and the Arrow arrays that hold them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Date32Array, Decimal32Array, Decimal64Array,
    Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, IntervalDayTimeArray, IntervalYearMonthArray, LargeStringArray, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float16Type, IntervalDayTime, IntervalUnit, TimeUnit, i256};

use super::rng::Rng;
use super::table::plain;

/// A value, as far as literals and comparisons care.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Anything that is stored as an integer.
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
}

/// How the values of a column follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    Constant,
    Arithmetic,
    Sorted,
    Small,
    /// Sorted runs of equal values.
    Runs,
    /// The whole range of the type, so that deltas wrap.
    Full,
    /// The ends of the range and zero.
    Extremes,
    /// Small values with a rare jump.
    Jumps,
}

impl Distribution {
    pub(crate) const ALL: [Self; 8] = [
        Self::Constant,
        Self::Arithmetic,
        Self::Sorted,
        Self::Small,
        Self::Runs,
        Self::Full,
        Self::Extremes,
        Self::Jumps,
    ];

    /// Whether arithmetic on the values cannot overflow.
    pub(crate) fn is_tame(self) -> bool {
        matches!(self, Self::Constant | Self::Sorted | Self::Small | Self::Runs)
    }
}

/// Where NULLs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    None,
    Few,
    Half,
    Most,
    All,
    /// Long runs of NULLs and of values, so that whole pages are one or the other.
    Runs,
}

impl Nulls {
    pub(crate) const ALL: [Self; 6] = [Self::None, Self::Few, Self::Half, Self::Most, Self::All, Self::Runs];

    /// Which of `rows` rows have a value.
    pub(crate) fn validity(self, rng: &mut Rng, rows: usize) -> Vec<bool> {
        let (mut valid, mut left) = (true, 0);
        (0..rows)
            .map(|_| match self {
                Self::None => true,
                Self::Few => !rng.one_in(50),
                Self::Half => rng.one_in(2),
                Self::Most => rng.one_in(40),
                Self::All => false,
                Self::Runs => {
                    if left == 0 {
                        valid = !valid;
                        left = 1 + rng.below(700);
                    }
                    left -= 1;
                    valid
                }
            })
            .collect()
    }
}

/// Digits of the longest decimals; longer types have zeros behind them.
const DIGITS: u8 = 33;

/// Zeros behind the digits of a decimal.
pub(crate) fn zeros(precision: u8) -> usize {
    usize::from(precision.saturating_sub(DIGITS))
}

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// The least and the greatest value of an integer-backed type.
pub(crate) fn domain(data_type: &DataType) -> Option<(i128, i128)> {
    let below_day = |unit: &TimeUnit| match unit {
        TimeUnit::Second => (0, DAY / 1_000_000_000 - 1),
        TimeUnit::Millisecond => (0, DAY / 1_000_000 - 1),
        TimeUnit::Microsecond => (0, DAY / 1000 - 1),
        TimeUnit::Nanosecond => (0, DAY - 1),
    };
    Some(match plain(data_type) {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 | DataType::Date32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 | DataType::Timestamp(..) | DataType::Duration(_) => (i64::MIN.into(), i64::MAX.into()),
        DataType::Time32(unit) | DataType::Time64(unit) => below_day(unit),
        DataType::Date64 => (-86_400_000 * 700_000, 86_400_000 * 700_000),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Decimal32(precision, _)
        | DataType::Decimal64(precision, _)
        | DataType::Decimal128(precision, _)
        | DataType::Decimal256(precision, _) => {
            let limit = 10i128.pow((*precision).min(DIGITS).into()) - 1;
            (-limit, limit)
        }
        _ => return None,
    })
}

/// Integers of `distribution` in a domain.
pub(crate) fn integers(rng: &mut Rng, distribution: Distribution, rows: usize, (low, high): (i128, i128)) -> Vec<i128> {
    let wrap = |value: i128| low + (value - low).rem_euclid(high - low + 1);
    let base = wrap(rng.between(-500, 500));
    let step = if rng.one_in(3) { rng.between(low / 3, high / 3) } else { rng.between(-20, 20) };
    let spread = rng.pick(&[1, 3, 30, 1000, 100_000]).min(high - base).max(0);
    let mut last = base;
    let mut left = 0;
    (0..rows)
        .map(|row| {
            last = match distribution {
                Distribution::Constant => base,
                Distribution::Arithmetic => wrap(base + step * row as i128),
                Distribution::Sorted => (last + rng.between(0, spread.min(9))).min(high),
                Distribution::Small => base + rng.between(0, spread),
                Distribution::Runs => {
                    if left == 0 {
                        left = 1 + rng.below(400);
                        last = (last + rng.between(0, spread)).min(high);
                    }
                    left -= 1;
                    last
                }
                Distribution::Full => rng.between(low, high),
                Distribution::Extremes => {
                    rng.pick(&[low, high, low + 1, high - 1, wrap(0), wrap(-1), wrap(1), low, high])
                }
                Distribution::Jumps => {
                    if rng.one_in(200) {
                        rng.between(low, high)
                    } else {
                        wrap(last + rng.between(-2, 2))
                    }
                }
            };
            last
        })
        .collect()
}

/// How text follows from an integer.
fn text(rng: &mut Rng, style: usize, seed: i128) -> String {
    match style {
        0 => format!("{seed}"),
        1 => format!("key-{seed:012}"),
        2 => ["MAIL", "SHIP", "AIR", "", "REG AIR", "it's", "1-URGENT"][seed.rem_euclid(7) as usize].into(),
        // Around the twelve bytes that a view holds itself.
        3 => "abcdefghijklmnopqrst".chars().take(seed.rem_euclid(17) as usize).collect(),
        4 => "ä€𝄞z".chars().cycle().skip(seed.rem_euclid(4) as usize).take(rng.below(9)).collect(),
        5 => String::new(),
        6 => format!("{seed}{}", "x".repeat(rng.below(300))),
        _ => (0..rng.below(24)).map(|_| char::from(b' ' + rng.below(95) as u8)).collect(),
    }
}

const TEXT_STYLES: usize = 8;

fn special_float(rng: &mut Rng) -> f64 {
    rng.pick(&[f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, -1.5])
}

/// `rows` values of `data_type`.
pub(crate) fn values(rng: &mut Rng, data_type: &DataType, distribution: Distribution, rows: usize) -> Vec<Value> {
    if let Some(domain) = domain(data_type) {
        return integers(rng, distribution, rows, domain).into_iter().map(Value::Int).collect();
    }
    let seeds = integers(rng, distribution, rows, (i64::MIN.into(), i64::MAX.into()));
    let style = rng.below(TEXT_STYLES);
    let wild = matches!(distribution, Distribution::Full | Distribution::Extremes);
    seeds
        .into_iter()
        .map(|seed| match plain(data_type) {
            DataType::Boolean => Value::Bool(seed.rem_euclid(2) == 1),
            DataType::Float16 | DataType::Float32 | DataType::Float64 if wild => {
                Value::Float(if rng.one_in(2) { special_float(rng) } else { f64::from_bits(rng.word()) })
            }
            DataType::Float16 => Value::Float((seed % 1000) as f64 / 8.0),
            DataType::Float32 | DataType::Float64 => Value::Float(seed as f64 / 8.0),
            DataType::Binary if wild => Value::Bytes((0..rng.below(30)).map(|_| rng.word() as u8).collect()),
            DataType::Binary => Value::Bytes(text(rng, style, seed).into_bytes()),
            DataType::FixedSizeBinary(len) => {
                // The low bytes come last, so that neighbours have a beginning in common.
                let len = usize::try_from(*len).unwrap();
                let bytes = seed.to_be_bytes();
                Value::Bytes(bytes.into_iter().cycle().skip(16 - len.min(16)).take(len).collect())
            }
            DataType::Interval(_) => Value::Int(seed.rem_euclid(1000)),
            _ => Value::Text(text(rng, style, seed)),
        })
        .collect()
}

/// The values of 16-bit floats.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

fn int<T: TryFrom<i128>>(value: &Value) -> T {
    match value {
        Value::Int(value) => T::try_from(*value).ok().expect("in the domain of its type"),
        other => panic!("{other:?} is no integer"),
    }
}

fn float(value: &Value) -> f64 {
    if let Value::Float(value) = value { *value } else { panic!("{value:?} is no float") }
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        other => panic!("{other:?} is no byte string"),
    }
}

fn str(value: &Value) -> &str {
    if let Value::Text(text) = value { text } else { panic!("{value:?} is no text") }
}

/// The values as an array; NULL where `validity` is false.
pub(crate) fn array(data_type: &DataType, values: &[Value], validity: &[bool]) -> ArrayRef {
    let cells = values.iter().zip(validity).map(|(value, valid)| valid.then_some(value));
    macro_rules! integers {
        ($array:ty) => {
            Arc::new(cells.map(|cell| cell.map(int)).collect::<$array>()) as ArrayRef
        };
    }
    match data_type {
        DataType::Int8 => integers!(Int8Array),
        DataType::Int16 => integers!(Int16Array),
        DataType::Int32 => integers!(Int32Array),
        DataType::Int64 => integers!(Int64Array),
        DataType::UInt8 => integers!(UInt8Array),
        DataType::UInt16 => integers!(UInt16Array),
        DataType::UInt32 => integers!(UInt32Array),
        DataType::UInt64 => integers!(UInt64Array),
        DataType::Date32 => integers!(Date32Array),
        DataType::Timestamp(unit, zone) => {
            let cells = cells.map(|cell| cell.map(int::<i64>));
            let zone = zone.clone();
            match unit {
                TimeUnit::Second => Arc::new(cells.collect::<TimestampSecondArray>().with_timezone_opt(zone)),
                TimeUnit::Millisecond => Arc::new(cells.collect::<TimestampMillisecondArray>().with_timezone_opt(zone)),
                TimeUnit::Microsecond => Arc::new(cells.collect::<TimestampMicrosecondArray>().with_timezone_opt(zone)),
                TimeUnit::Nanosecond => Arc::new(cells.collect::<TimestampNanosecondArray>().with_timezone_opt(zone)),
            }
        }
        DataType::Time32(_) => cast(&integers!(Int32Array), data_type).unwrap(),
        DataType::Time64(_) | DataType::Duration(_) | DataType::Date64 => {
            cast(&integers!(Int64Array), data_type).unwrap()
        }
        DataType::Interval(IntervalUnit::YearMonth) => integers!(IntervalYearMonthArray),
        DataType::Interval(_) => {
            let cells = cells.map(|cell| cell.map(|value| IntervalDayTime::new(int(value), -int::<i32>(value))));
            Arc::new(cells.collect::<IntervalDayTimeArray>())
        }
        DataType::Decimal32(precision, scale) => {
            let array = cells.map(|cell| cell.map(int::<i32>)).collect::<Decimal32Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Decimal64(precision, scale) => {
            let array = cells.map(|cell| cell.map(int::<i64>)).collect::<Decimal64Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Decimal128(precision, scale) => {
            let unit = 10i128.pow(zeros(*precision) as u32);
            let array = cells.map(|cell| cell.map(|value| int::<i128>(value) * unit)).collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Decimal256(precision, scale) => {
            let unit = i256::from_i128(10).wrapping_pow(zeros(*precision) as u32);
            let cell = |value: &Value| i256::from_i128(int(value)).wrapping_mul(unit);
            let array = cells.map(|value| value.map(cell)).collect::<Decimal256Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Float16 => {
            Arc::new(cells.map(|cell| cell.map(|value| Half::from_f64(float(value)))).collect::<Float16Array>())
        }
        DataType::Float32 => {
            Arc::new(cells.map(|cell| cell.map(|value| float(value) as f32)).collect::<Float32Array>())
        }
        DataType::Float64 => Arc::new(cells.map(|cell| cell.map(float)).collect::<Float64Array>()),
        DataType::Boolean => {
            Arc::new(cells.map(|cell| cell.map(|value| *value == Value::Bool(true))).collect::<BooleanArray>())
        }
        DataType::Utf8 => Arc::new(cells.map(|cell| cell.map(str)).collect::<StringArray>()),
        DataType::Binary => Arc::new(cells.map(|cell| cell.map(bytes)).collect::<BinaryArray>()),
        DataType::LargeUtf8 => Arc::new(cells.map(|cell| cell.map(str)).collect::<LargeStringArray>()),
        DataType::Dictionary(_, plain) => cast(&array(plain, values, validity), data_type).unwrap(),
        DataType::FixedSizeBinary(len) => Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(cells.map(|cell| cell.map(bytes)), *len).unwrap(),
        ),
        other => panic!("no arrays of {other}"),
    }
}
