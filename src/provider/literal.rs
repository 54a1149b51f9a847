//! Literals as values of a column: types, casts, and where logical values stand in the physical type.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use crate::predicate::IntSet;
use crate::scan::Domain;

/// The type of the values of a dictionary, or any other type as it is.
pub(super) fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The value behind a key of a dictionary, or any other value as it is.
fn plain(value: &ScalarValue) -> &ScalarValue {
    match value {
        ScalarValue::Dictionary(_, value) => value,
        other => other,
    }
}

/// Whether a cast from `from` to `to` never fails, and neither changes a value nor the order of values.
pub(super) fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Decimal32, Decimal64, Decimal128, Decimal256, FixedSizeBinary, LargeBinary, LargeUtf8,
        Timestamp, Utf8, Utf8View,
    };
    if from == to {
        return true;
    }
    match (plain_type(from), to) {
        (from, to) if from == to => true,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView | FixedSizeBinary(_), Binary | LargeBinary | BinaryView) => true,
        // Between zones only the name changes.
        (Timestamp(unit, Some(_)), Timestamp(other, Some(_))) => unit == other,
        (
            Decimal32(precision, scale)
            | Decimal64(precision, scale)
            | Decimal128(precision, scale)
            | Decimal256(precision, scale),
            Decimal32(wider, other) | Decimal64(wider, other) | Decimal128(wider, other) | Decimal256(wider, other),
        ) => scale == other && precision <= wider,
        (from, to) => match (integer_range(from), integer_range(to)) {
            (Some((from_low, from_high)), Some((to_low, to_high))) => to_low <= from_low && from_high <= to_high,
            _ => false,
        },
    }
}

fn integer_range(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// The logical values of an integer column, and where they stand in the physical type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) low: i128,
    pub(super) high: i128,
    pub(super) unsigned: bool,
}

impl Range {
    pub(super) fn of(domain: Domain) -> Option<Self> {
        Some(match domain {
            Domain::Boolean => Self { low: 0, high: 1, unsigned: false },
            Domain::Int { unsigned: false, width: 32 } => {
                Self { low: i32::MIN.into(), high: i32::MAX.into(), unsigned: false }
            }
            Domain::Int { unsigned: false, .. } => {
                Self { low: i64::MIN.into(), high: i64::MAX.into(), unsigned: false }
            }
            Domain::Int { unsigned: true, width: 32 } => Self { low: 0, high: u32::MAX.into(), unsigned: true },
            Domain::Int { unsigned: true, .. } => Self { low: 0, high: u64::MAX.into(), unsigned: true },
            Domain::Bytes { .. } | Domain::Opaque => return None,
        })
    }

    /// The physical values of the logical ones from `low` to `high`, both included. What reaches to an end of the type
    /// reaches to the end of the set: a condition that holds for all values becomes the set of all.
    pub(super) fn set(self, low: i128, high: i128) -> IntSet {
        let (low, high) = (low.max(self.low), high.min(self.high));
        if !self.unsigned {
            return self.signed(low, high, self.low, self.high);
        }
        // The upper half of the unsigned values stands below zero.
        let half = (self.high + 1) / 2;
        let lower = self.signed(low, high.min(half - 1), i128::MIN, half - 1);
        let upper = self.signed(low.max(half) - 2 * half, high - 2 * half, -half, i128::MAX);
        lower.union(&upper)
    }

    /// The values from `low` to `high`; an end that is `least` or `greatest` is open.
    fn signed(self, low: i128, high: i128, least: i128, greatest: i128) -> IntSet {
        if low > high {
            return IntSet::none();
        }
        let low = if low == least { Some(i64::MIN) } else { i64::try_from(low).ok() };
        let high = if high == greatest { Some(i64::MAX) } else { i64::try_from(high).ok() };
        match (low, high) {
            (Some(low), Some(high)) => IntSet::closed(low, high),
            // Both ends were clipped to the type: this does not happen.
            _ => IntSet::none(),
        }
    }
}

/// A literal as an integer of a column of `data_type`; None if it is not one, or of another type.
pub(super) fn integer(value: &ScalarValue, data_type: &DataType) -> Option<i128> {
    use ScalarValue as S;
    let (value, data_type) = (plain(value), plain_type(data_type));
    let same_type = match (value, data_type) {
        (
            S::Decimal32(_, _, scale)
            | S::Decimal64(_, _, scale)
            | S::Decimal128(_, _, scale)
            | S::Decimal256(_, _, scale),
            DataType::Decimal32(_, other)
            | DataType::Decimal64(_, other)
            | DataType::Decimal128(_, other)
            | DataType::Decimal256(_, other),
        ) => scale == other,
        _ => value.data_type() == *data_type,
    };
    if !same_type {
        return None;
    }
    match value {
        S::Boolean(value) => value.map(i128::from),
        S::Int8(value) => value.map(i128::from),
        S::Int16(value) => value.map(i128::from),
        S::Int32(value) | S::Date32(value) | S::Decimal32(value, ..) => value.map(i128::from),
        S::Time32Second(value) | S::Time32Millisecond(value) => value.map(i128::from),
        S::Int64(value) | S::Decimal64(value, ..) => value.map(i128::from),
        S::Time64Microsecond(value) | S::Time64Nanosecond(value) => value.map(i128::from),
        S::UInt8(value) => value.map(i128::from),
        S::UInt16(value) => value.map(i128::from),
        S::UInt32(value) => value.map(i128::from),
        S::UInt64(value) => value.map(i128::from),
        S::TimestampSecond(value, _)
        | S::TimestampMillisecond(value, _)
        | S::TimestampMicrosecond(value, _)
        | S::TimestampNanosecond(value, _) => value.map(i128::from),
        S::DurationSecond(value)
        | S::DurationMillisecond(value)
        | S::DurationMicrosecond(value)
        | S::DurationNanosecond(value)
        | S::Date64(value) => value.map(i128::from),
        S::Decimal128(value, ..) => value.filter(has_neighbours),
        S::Decimal256(value, ..) => value.and_then(|value| value.to_i128()).filter(has_neighbours),
        _ => None,
    }
}

/// One beyond a literal must be a number still.
fn has_neighbours(value: &i128) -> bool {
    value.checked_abs().is_some_and(|value| value < i128::MAX)
}

/// A literal as bytes of a column of `data_type`; None if it is not one, or of another type.
pub(super) fn bytes<'a>(value: &'a ScalarValue, data_type: &DataType) -> Option<&'a [u8]> {
    // The members of an IN list may be of another layout than the column.
    let (value, data_type) = (plain(value), plain_type(data_type));
    if !keeps_values(&value.data_type(), data_type) {
        return None;
    }
    match value {
        ScalarValue::Utf8(value) | ScalarValue::LargeUtf8(value) | ScalarValue::Utf8View(value) => {
            value.as_ref().map(String::as_bytes)
        }
        ScalarValue::Binary(value)
        | ScalarValue::LargeBinary(value)
        | ScalarValue::BinaryView(value)
        | ScalarValue::FixedSizeBinary(_, value) => value.as_deref(),
        _ => None,
    }
}

/// The physical values from `low` to `high` in the order of `domain`, both included, which are physical values too.
pub(super) fn physical_range(domain: Domain, low: i64, high: i64) -> Option<IntSet> {
    let range = Range::of(domain)?;
    let logical = |value: i64| {
        let value = i128::from(value);
        if range.unsigned && value < 0 { value + range.high + 1 } else { value }
    };
    Some(range.set(logical(low), logical(high)))
}
