//! Conjuncts without a translation, evaluated by DataFusion over arrays of survivors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;

use super::runs::Runs;
use crate::error::{Error, Result};
use crate::scan::Residual;

/// A conjunct over some root columns of a file.
#[derive(Debug)]
pub(super) struct ExprResidual {
    columns: Vec<usize>,
    schema: SchemaRef,
    /// Over a batch of `columns`.
    expr: Arc<dyn PhysicalExpr>,
    /// Rows that were evaluated so far.
    rows: AtomicUsize,
}

impl ExprResidual {
    /// `expr` over the columns of `schema`.
    pub(super) fn try_new(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> datafusion::error::Result<Self> {
        let columns = column_indices(expr);
        let schema = Arc::new(schema.project(&columns)?);
        Ok(Self { expr: rebase(expr, &columns)?, schema, columns, rows: AtomicUsize::new(0) })
    }

    /// A batch to evaluate of its columns.
    pub(super) fn batch(&self, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// Rows that were evaluated so far.
    pub(super) fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }
}

impl Residual for ExprResidual {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.rows.fetch_add(batch.num_rows(), Ordering::Relaxed);
        debug_assert_eq!(batch.num_columns(), self.schema.fields().len());
        if let [column] = batch.columns()
            && let Some(runs) = Runs::of(column)?
        {
            let values = self.batch(vec![runs.values(column)?])?;
            return Ok(runs.spread(&evaluate(&self.expr, &values).map_err(Error::external)?));
        }
        evaluate(&self.expr, batch).map_err(Error::external)
    }
}

/// The rows of `batch` for which `expr` is true; NULL counts as false.
pub(super) fn evaluate(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> datafusion::error::Result<BooleanArray> {
    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    let mask = as_boolean_array(&array)?;
    Ok(if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() })
}

/// Indexes of the columns that `expr` reads, ascending.
pub(super) fn column_indices(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut columns: Vec<usize> = collect_columns(expr).into_iter().map(|column| column.index()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// `expr` over a batch that has only `columns`, in that order.
pub(super) fn rebase(
    expr: &Arc<dyn PhysicalExpr>,
    columns: &[usize],
) -> datafusion::error::Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .transform_up(|node| {
            let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            // By index, not by name: a file may have two columns of one name.
            match columns.iter().position(|&index| index == column.index()) {
                Some(position) if position != column.index() => {
                    Ok(Transformed::yes(Arc::new(Column::new(column.name(), position)) as Arc<dyn PhysicalExpr>))
                }
                _ => Ok(Transformed::no(node)),
            }
        })
        .data()
}
