//! Floor 1: filters as plain data, in the physical domain of a file.
//!
//! A filter on one column is a set of values, whatever SQL it came from: comparisons, BETWEEN, IN, prefixes and their
//! NOT, AND and OR all are unions of intervals ([`IntervalSet`]), so that one evaluation serves them all. A
//! set holds the values for which the expression *is true*, and [`Matches::nulls`] says whether it is true for NULL.

mod attempts;
mod interval_set;
mod selection;

pub use attempts::Attempts;
pub use interval_set::{BytesSet, IntSet, IntervalSet};
pub use selection::{Selection, WINDOW_ROWS};

pub use crate::kernels::Comparison;

/// How many rows match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// None of them.
    None,
    /// All of them.
    All,
    /// Nobody knows without looking.
    Some,
}

/// One conjunct of a filter that the scan evaluates itself.
///
/// Columns are indexes of root columns in the schema of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// A condition on one column.
    Column {
        /// The column.
        column: usize,
        /// The values for which the condition is true.
        matches: Matches,
    },
    /// A comparison of two integer columns. NULL on either side is not selected.
    Compare {
        /// The column on the left.
        left: usize,
        /// How they compare.
        op: Comparison,
        /// The column on the right.
        right: usize,
        /// Whether the values are unsigned integers in signed physical types.
        unsigned: bool,
    },
}

impl Predicate {
    /// The columns that the predicate reads.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Self::Column { column, .. } => (*column, None),
            Self::Compare { left, right, .. } => (*left, Some(*right)),
        };
        std::iter::once(first).chain(second)
    }
}

/// What a condition on one column selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The values that are selected.
    pub values: ValueSet,
    /// Whether NULL is selected.
    pub nulls: bool,
}

impl Matches {
    /// Everything, or nothing, of a column of any type, by whether it is NULL alone: reads no value.
    pub fn null_test(values: bool, nulls: bool) -> Self {
        Self { values: if values { ValueSet::All } else { ValueSet::None }, nulls }
    }
}

/// A set of non-null values of one column, in the physical domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSet {
    /// No value.
    None,
    /// Every value.
    All,
    /// Integers as they stand in INT32 and INT64, sign-extended; booleans as 0 and 1.
    Ints(IntSet),
    /// Byte strings in unsigned byte order.
    Bytes(BytesSet),
    /// Byte strings by their length.
    Lengths(LengthUnit, IntSet),
}

/// What the length of a byte string is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    /// Bytes.
    Bytes,
    /// Characters of UTF-8.
    Characters,
}
