//! The filter of a file by who evaluates it.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, DynamicFilterPhysicalExpr, DynamicFilterTracking, NotExpr};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::conditions::{Condition, has_long_list};
use super::expr::{FileColumns, Translation, intersection, translate};
use super::residual::{ExprResidual, column_indices, evaluate};
use crate::predicate::{Matches, Predicate, ValueSet};
use crate::scan::{Residual, native_column};

/// The columns of the file, with the domains of those that `predicate` reads.
pub(super) fn file_columns(metadata: &ArrowReaderMetadata, predicate: Option<&Arc<dyn PhysicalExpr>>) -> FileColumns {
    let schema = Arc::clone(metadata.schema());
    let mut domains = vec![None; schema.fields().len()];
    for column in predicate.map(column_indices).unwrap_or_default() {
        if let Some(domain) = domains.get_mut(column) {
            *domain = native_column(metadata.metadata(), &schema, column);
        }
    }
    FileColumns { schema, domains }
}

/// A filter by who evaluates it.
#[derive(Default)]
pub(super) struct Filter {
    /// Conjuncts that the scan evaluates itself, one a column.
    pub(super) predicates: Vec<Predicate>,
    /// Conjuncts that stay expressions, cheapest first.
    pub(super) residuals: Vec<Arc<dyn Residual>>,
    /// Dynamic filters: they only help.
    pub(super) dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// Conjuncts of which bounds decide without DataFusion.
    pub(super) conditions: Vec<Condition>,
    /// The other conjuncts.
    pub(super) others: Vec<Arc<dyn PhysicalExpr>>,
}

impl Filter {
    /// None if no row passes. Lists of more than `max_in_list_size` members are not compared with bounds.
    pub(super) fn classify(
        predicate: Option<&Arc<dyn PhysicalExpr>>,
        columns: &FileColumns,
        max_in_list_size: usize,
    ) -> Result<Option<Self>> {
        let mut filter = Self::default();
        let mut residuals = Vec::new();
        for conjunct in predicate.map(conjuncts).unwrap_or_default() {
            if conjunct.downcast_ref::<DynamicFilterPhysicalExpr>().is_some() {
                filter.others.push(Arc::clone(&conjunct));
                filter.dynamic.push(conjunct);
                continue;
            }
            match translate(&conjunct, columns) {
                Some(Translation::Always) => {}
                Some(Translation::Never) => return Ok(None),
                Some(Translation::Predicate(predicate)) => {
                    match Condition::of(&predicate, columns) {
                        Some(condition) if !has_long_list(&conjunct, max_in_list_size) => {
                            filter.conditions.push(condition);
                        }
                        _ => filter.others.push(conjunct),
                    }
                    filter.predicates.push(predicate);
                }
                None if is_constant(&conjunct) => {
                    let options = RecordBatchOptions::new().with_row_count(Some(1));
                    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
                    if !evaluate(&conjunct, &row)?.value(0) {
                        return Ok(None);
                    }
                }
                None => {
                    residuals.push(ExprResidual::try_new(&conjunct, &columns.schema)?);
                    filter.others.push(conjunct);
                }
            }
        }
        filter.predicates = merge(filter.predicates);
        if filter.predicates.iter().any(matches_nothing) {
            return Ok(None);
        }
        residuals.sort_by_key(|residual| residual.columns().len());
        filter.residuals = residuals.into_iter().map(|residual| Arc::new(residual) as Arc<dyn Residual>).collect();
        Ok(Some(filter))
    }

    /// The columns that the conjuncts read which are not dynamic.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        let predicates = self.predicates.iter().flat_map(Predicate::columns);
        predicates.chain(self.residuals.iter().flat_map(|residual| residual.columns().iter().copied()))
    }
}

/// Whether no row passes: conditions that contradict each other.
fn matches_nothing(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::Column { matches: Matches { values: ValueSet::None, nulls: false }, .. })
}

/// Whether `expr` has one value for all rows of the file.
fn is_constant(expr: &Arc<dyn PhysicalExpr>) -> bool {
    column_indices(expr).is_empty() && !DynamicFilterTracking::classify(expr).contains_dynamic_filter()
}

/// The conjuncts of a filter; `NOT (a OR b)` is two.
pub(super) fn conjuncts(predicate: &Arc<dyn PhysicalExpr>) -> Vec<Arc<dyn PhysicalExpr>> {
    split_conjunction(predicate)
        .into_iter()
        .flat_map(|conjunct| {
            let negated = conjunct.downcast_ref::<NotExpr>().and_then(|not| not.arg().downcast_ref::<BinaryExpr>());
            match negated {
                Some(either) if *either.op() == Operator::Or => [either.left(), either.right()]
                    .into_iter()
                    .flat_map(|side| conjuncts(&(Arc::new(NotExpr::new(Arc::clone(side))) as _)))
                    .collect(),
                _ => vec![Arc::clone(conjunct)],
            }
        })
        .collect()
}

/// The predicates with those on one column as one: BETWEEN arrives as two comparisons.
pub(super) fn merge(predicates: Vec<Predicate>) -> Vec<Predicate> {
    let mut merged: Vec<Predicate> = Vec::with_capacity(predicates.len());
    for predicate in predicates {
        if merged.contains(&predicate) {
            continue;
        }
        if let Predicate::Column { column, matches } = &predicate {
            // Sets of one kind, that is: those of values and those of lengths stay apart.
            let same = merged.iter_mut().find_map(|other| match other {
                Predicate::Column { column: other, matches: others } if other == column => {
                    Some((intersection(others.values.clone(), matches.values.clone())?, others))
                }
                _ => None,
            });
            if let Some((values, other)) = same {
                *other = Matches { values, nulls: other.nulls && matches.nulls };
                continue;
            }
        }
        merged.push(predicate);
    }
    merged
}
