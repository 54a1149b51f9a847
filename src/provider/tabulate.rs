//! A condition that has no translation as the set of values for which it holds, found by asking it of each.
//!
//! Over an integer column of which few values can come, that costs what evaluating the condition over as many rows does, once;
//! a set is tested many times faster than a hash table, and while the column is decoded.

use std::ops::RangeInclusive;

use arrow::array::new_null_array;
use arrow::datatypes::DataType;

use super::expr::FileColumns;
use super::residual::ExprResidual;
use crate::error::Result;
use crate::predicate::{IntSet, Matches, Predicate, ValueSet};
use crate::scan::{Domain, Residual, integer_array};

/// Values that are asked at most: some milliseconds.
const MOST_VALUES: u64 = 1 << 20;

/// Values that are asked at once.
const BATCH: usize = 8192;

/// What a condition has to be asked.
#[derive(Debug, Clone)]
pub(super) struct Tabulation {
    column: usize,
    data_type: DataType,
    /// Bits of the physical type.
    width: u32,
    low: i64,
    /// How many values from `low` on.
    values: usize,
    /// Whether there may be NULLs.
    optional: bool,
}

impl Tabulation {
    /// None if the condition is not over one integer column. `range` bounds the values of a column for which the answer
    /// matters, as they stand in the physical type.
    pub(super) fn new(
        residual: &ExprResidual,
        columns: &FileColumns,
        range: impl FnOnce(usize, Domain) -> Option<RangeInclusive<i64>>,
    ) -> Option<Self> {
        let &[column] = residual.columns() else { return None };
        let domain = columns.domains.get(column).copied().flatten()?;
        let Domain::Int { width, .. } = domain else { return None };
        let field = columns.schema.field(column);
        let (data_type, optional) = (field.data_type().clone(), field.is_nullable());
        // Few values have no need of it, and their keys may not have room.
        if matches!(data_type, DataType::Dictionary(..)) {
            return None;
        }
        let range = range(column, domain)?;
        let span = range.end().checked_sub(*range.start())?.cast_unsigned();
        let values = span.checked_add(1).filter(|_| span < MOST_VALUES)?;
        let values = usize::try_from(values).ok()?;
        Some(Self { column, data_type, width, low: *range.start(), values, optional })
    }

    /// How many values are asked.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// The condition as a predicate.
    ///
    /// # Errors
    /// Those of the condition, which a value may cause that no row has.
    pub(super) fn tabulate(&self, residual: &ExprResidual) -> Result<Predicate> {
        let mut set = IntSet::none();
        for start in (0..self.values).step_by(BATCH) {
            let end = self.values.min(start + BATCH);
            let values: Vec<i64> = (start..end).map(|value| self.low + value as i64).collect();
            let array = integer_array(&values, self.width, &self.data_type)?;
            let mask = residual.evaluate(&residual.batch(vec![array])?)?;
            set.extend_ascending(
                values.into_iter().zip(mask.values()).filter_map(|(value, is_in)| is_in.then_some(value)),
            );
        }
        let nulls = self.optional && {
            let null = residual.batch(vec![new_null_array(&self.data_type, 1)])?;
            residual.evaluate(&null)?.value(0)
        };
        let matches = Matches { values: ValueSet::Ints(set), nulls };
        Ok(Predicate::Column { column: self.column, matches })
    }
}
