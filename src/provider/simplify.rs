//! Simplification over the columns of a file that keeps what an expression means.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::expressions::{CastExpr, Literal, TryCastExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalExprSimplifier, conjunction, split_conjunction};

/// `expr`, simplified by DataFusion as far as that is exact.
///
/// DataFusion takes the cast off a comparison and gives it to the literal instead. Of timestamps it cuts off what the unit of
/// the column does not hold: `CAST(seconds AS milliseconds) < 20.001 s` becomes `seconds < 20 s`, without the row at 20 s.
pub(super) fn simplify(expr: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let simplifier = PhysicalExprSimplifier::new(schema);
    if !cuts_timestamps(&expr, schema) {
        return simplifier.simplify(expr);
    }
    let conjuncts = split_conjunction(&expr)
        .into_iter()
        .cloned()
        .map(|conjunct| if cuts_timestamps(&conjunct, schema) { Ok(conjunct) } else { simplifier.simplify(conjunct) });
    Ok(conjunction(conjuncts.collect::<Result<Vec<_>>>()?))
}

/// Whether `expr` casts timestamps to a finer unit and has a literal that the coarser one does not hold. It must not be
/// simplified, nor asked of statistics, which DataFusion simplifies too.
pub(super) fn cuts_timestamps(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let mut coarsest = None;
    // The closures do not fail.
    let _ = expr.apply(|node| {
        let cast = match node.downcast_ref::<CastExpr>() {
            Some(cast) => Some((cast.expr(), cast.cast_type())),
            None => node.downcast_ref::<TryCastExpr>().map(|cast| (cast.expr(), cast.cast_type())),
        };
        if let Some((inner, DataType::Timestamp(to, _))) = cast
            && let Ok(DataType::Timestamp(from, _)) = inner.data_type(schema)
            && per_second(from) < per_second(*to)
        {
            coarsest = Some(coarsest.map_or(per_second(from), |other| per_second(from).min(other)));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let Some(coarsest) = coarsest else { return false };
    let mut cuts = false;
    let _ = expr.apply(|node| {
        if let Some(literal) = node.downcast_ref::<Literal>() {
            cuts |= !fits(literal.value(), coarsest);
        }
        Ok(if cuts { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    cuts
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Whether a timestamp is a whole number of units of which `unit` make a second.
fn fits(value: &ScalarValue, unit: i64) -> bool {
    let (value, own) = match value {
        ScalarValue::TimestampSecond(Some(value), _) => (*value, 1),
        ScalarValue::TimestampMillisecond(Some(value), _) => (*value, 1_000),
        ScalarValue::TimestampMicrosecond(Some(value), _) => (*value, 1_000_000),
        ScalarValue::TimestampNanosecond(Some(value), _) => (*value, 1_000_000_000),
        _ => return true,
    };
    own <= unit || value % (own / unit) == 0
}
