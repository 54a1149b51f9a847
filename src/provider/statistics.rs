//! What the statistics of a file prove, and what they only seem to.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNullExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt, split_conjunction};
use parquet::basic::{SortOrder, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;

use super::expr::intersection;
use super::literal::{physical_range, plain_type};
use super::residual::column_indices;
use super::simplify::cuts_timestamps;
use crate::predicate::{BytesSet, IntSet, Matches, ValueSet, Verdict};
use crate::scan::Domain;

/// The conjuncts for which statistics can be trusted; the others are evaluated on rows alone.
///
/// - A missing null count is not zero (DataFusion takes it for that), so `IS NULL` is not asked there.
/// - Deprecated bounds are in the order of signed bytes and integers, whatever the type.
/// - Statistics leave NaN out, which is greater than every number, or less with its sign bit set (as x86 makes it), and unequal
///   to each: only conditions that no NaN fulfils are asked of floating point columns.
/// - What [`cuts_timestamps`] says.
pub(super) fn trusted(
    predicate: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    footer: &ParquetMetaData,
) -> Option<Arc<dyn PhysicalExpr>> {
    let conjuncts = split_conjunction(predicate).into_iter().filter(|conjunct| {
        (false_for_nan(conjunct) || !reads_float(conjunct, schema))
            && trusts_null_counts(conjunct, footer)
            && trusts_bounds(conjunct, footer)
            && !cuts_timestamps(conjunct, schema)
    });
    conjunction_opt(conjuncts.cloned())
}

/// Whether a row group whose statistics exclude the opposite of `predicate` matches with every row, NaN included.
pub(super) fn proves_full_matches(
    predicate: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    footer: &ParquetMetaData,
) -> bool {
    !reads_float(predicate, schema)
        && trusts_null_counts(predicate, footer)
        && trusts_bounds(predicate, footer)
        && !cuts_timestamps(predicate, schema)
}

fn trusts_null_counts(expr: &Arc<dyn PhysicalExpr>, footer: &ParquetMetaData) -> bool {
    !tests_null(expr) || column_indices(expr).into_iter().all(|root| has_null_counts(footer, root))
}

fn trusts_bounds(expr: &Arc<dyn PhysicalExpr>, footer: &ParquetMetaData) -> bool {
    column_indices(expr).into_iter().all(|root| has_ordered_bounds(footer, root))
}

/// Whether `expr` reads a column of floating point.
pub(super) fn reads_float(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> bool {
    column_indices(expr)
        .into_iter()
        .any(|root| schema.fields().get(root).is_some_and(|field| plain_type(field.data_type()).is_floating()))
}

/// Whether statistics are asked for NULLs.
fn tests_null(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    // The closure does not fail.
    let _ = expr.apply(|node| {
        found |= node.downcast_ref::<IsNullExpr>().is_some()
            || node
                .downcast_ref::<BinaryExpr>()
                .is_some_and(|binary| matches!(binary.op(), Operator::IsDistinctFrom | Operator::IsNotDistinctFrom));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// The chunks of a root column.
fn chunks(footer: &ParquetMetaData, root: usize) -> impl Iterator<Item = &ColumnChunkMetaData> {
    let descriptor = footer.file_metadata().schema_descr();
    let leaves = (0..descriptor.num_columns()).filter(move |&leaf| descriptor.get_column_root_idx(leaf) == root);
    leaves.flat_map(|leaf| footer.row_groups().iter().map(move |group| group.column(leaf)))
}

/// Whether each row group says how many values of a root column are NULL.
pub(super) fn has_null_counts(footer: &ParquetMetaData, root: usize) -> bool {
    chunks(footer, root).all(|chunk| null_count(chunk).is_some())
}

/// The number of NULLs: none in a REQUIRED column; a missing count is unknown.
fn null_count(chunk: &ColumnChunkMetaData) -> Option<u64> {
    if chunk.column_descr().max_def_level() == 0 { Some(0) } else { chunk.statistics()?.null_count_opt() }
}

/// Whether the bounds of a root column are in the order of its type, where there are any.
pub(super) fn has_ordered_bounds(footer: &ParquetMetaData, root: usize) -> bool {
    chunks(footer, root).all(|chunk| chunk.statistics().is_none_or(|statistics| is_ordered(chunk, statistics)))
}

fn is_ordered(chunk: &ColumnChunkMetaData, statistics: &Statistics) -> bool {
    let descriptor = chunk.column_descr();
    let bytes = matches!(descriptor.physical_type(), PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
    !statistics.is_min_max_deprecated() || descriptor.sort_order() == SortOrder::SIGNED && !bytes
}

/// Whether the bounds of all row groups, taken together, bound the file: none is missing but where all is NULL.
pub(super) fn has_bounds(footer: &ParquetMetaData, root: usize) -> bool {
    chunks(footer, root).all(|chunk| {
        let Some(statistics) = chunk.statistics() else { return chunk.num_values() == 0 };
        statistics.min_bytes_opt().is_some() && statistics.max_bytes_opt().is_some() || is_all_null(chunk)
    })
}

/// Whether [`has_bounds`] holds for each column of `predicate`.
pub(super) fn bounds_all(predicate: &Arc<dyn PhysicalExpr>, footer: &ParquetMetaData) -> bool {
    column_indices(predicate).into_iter().all(|root| has_bounds(footer, root))
}

fn is_all_null(chunk: &ColumnChunkMetaData) -> bool {
    null_count(chunk).is_some_and(|nulls| i64::try_from(nulls).ok() == Some(chunk.num_values()))
}

/// Whether `expr` is `column = number`, either way round.
fn false_for_nan(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_column = |side: &Arc<dyn PhysicalExpr>| side.downcast_ref::<Column>().is_some();
    expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
        *binary.op() == Operator::Eq
            && (is_column(binary.left()) && is_number(binary.right())
                || is_column(binary.right()) && is_number(binary.left()))
    })
}

fn is_number(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(literal) = expr.downcast_ref::<Literal>() else { return false };
    match literal.value() {
        ScalarValue::Float64(Some(value)) => !value.is_nan(),
        ScalarValue::Float32(Some(value)) => !value.is_nan(),
        ScalarValue::Float16(Some(value)) => !value.is_nan(),
        _ => false,
    }
}

/// Whether pruning a whole file by its statistics can be trusted for `predicate`, over the file columns of the table: see
/// [`trusted`].
pub(super) fn trusts_file_statistics(predicate: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> bool {
    !cuts_timestamps(predicate, schema)
        && split_conjunction(predicate)
            .into_iter()
            .all(|conjunct| !tests_null(conjunct) && (false_for_nan(conjunct) || !reads_float(conjunct, schema)))
}

/// The leaf column of root column `root`, which has one.
pub(super) fn leaf_of(footer: &ParquetMetaData, root: usize) -> Option<usize> {
    let descriptor = footer.file_metadata().schema_descr();
    (0..descriptor.num_columns()).find(|&leaf| descriptor.get_column_root_idx(leaf) == root)
}

/// What the statistics of `chunk` prove.
pub(super) fn chunk_verdict(chunk: &ColumnChunkMetaData, domain: Domain, matches: &Matches) -> Verdict {
    let Some(statistics) = chunk.statistics() else { return Verdict::Some };
    let values = if is_all_null(chunk) { Some(ValueSet::None) } else { value_range(chunk, statistics, domain) };
    values.map_or(Verdict::Some, |values| decide(&values, null_count(chunk), matches))
}

/// What the index proves of page `page` of `chunk`, which has so many rows.
///
/// That a page is all NULL it has to say twice: old writers say it once of pages of which they know nothing.
pub(super) fn page_verdict(
    index: &ColumnIndexMetaData,
    (page, rows): (usize, usize),
    chunk: &ColumnChunkMetaData,
    domain: Domain,
    matches: &Matches,
) -> Verdict {
    let is_required = chunk.column_descr().max_def_level() == 0;
    let nulls = if is_required { Some(0) } else { index.null_count(page).and_then(|nulls| u64::try_from(nulls).ok()) };
    let values = match index {
        _ if index.is_null_page(page) => {
            nulls.is_some_and(|nulls| usize::try_from(nulls).ok() == Some(rows)).then_some(ValueSet::None)
        }
        ColumnIndexMetaData::BOOLEAN(index) => {
            let bounds = index.min_value(page).zip(index.max_value(page));
            bounds.and_then(|(&low, &high)| Bounds::Boolean(low, high).range(domain))
        }
        ColumnIndexMetaData::INT32(index) => {
            let bounds = index.min_value(page).zip(index.max_value(page));
            bounds.and_then(|(&low, &high)| Bounds::Int32(low, high).range(domain))
        }
        ColumnIndexMetaData::INT64(index) => {
            let bounds = index.min_value(page).zip(index.max_value(page));
            bounds.and_then(|(&low, &high)| Bounds::Int64(low, high).range(domain))
        }
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => {
            let bounds = index.min_value(page).zip(index.max_value(page));
            bounds.and_then(|(low, high)| Bounds::Bytes(low, high).range(domain))
        }
        _ => None,
    };
    values.map_or(Verdict::Some, |values| decide(&values, nulls, matches))
}

/// What is known of rows whose values are all in `values`, and of which so many are NULL, if that is known.
fn decide(values: &ValueSet, nulls: Option<u64>, matches: &Matches) -> Verdict {
    let Some(both) = intersection(values.clone(), matches.values.clone()) else { return Verdict::Some };
    if both == ValueSet::None && (!matches.nulls || nulls == Some(0)) {
        Verdict::None
    } else if both == *values && (matches.nulls || nulls == Some(0)) {
        Verdict::All
    } else {
        Verdict::Some
    }
}

/// Bounds of the values of root column `column` in all row groups, as they stand in the physical type; None if they are not
/// known.
pub(super) fn integer_bounds(footer: &ParquetMetaData, column: usize, domain: Domain) -> Option<RangeInclusive<i64>> {
    let mut bounds: Option<(i64, i64)> = None;
    for chunk in chunks(footer, column).filter(|chunk| !is_all_null(chunk)) {
        let ValueSet::Ints(set) = value_range(chunk, chunk.statistics()?, domain)? else { return None };
        let (low, high) = set.bounds()?;
        bounds = Some(bounds.map_or((low, high), |(least, greatest)| (least.min(low), greatest.max(high))));
    }
    bounds.map(|(low, high)| low..=high)
}

/// The byte strings from `low` to `high`, both included.
fn bytes_range(low: &[u8], high: &[u8]) -> Option<ValueSet> {
    let set = BytesSet::half_open((!low.is_empty()).then(|| low.to_vec()), Some(BytesSet::successor(high)));
    (!set.is_none()).then_some(ValueSet::Bytes(set))
}

/// A set that has every value of a chunk.
fn value_range(chunk: &ColumnChunkMetaData, statistics: &Statistics, domain: Domain) -> Option<ValueSet> {
    if !is_ordered(chunk, statistics) {
        return None;
    }
    let bounds = match statistics {
        Statistics::Boolean(bounds) => Bounds::Boolean(*bounds.min_opt()?, *bounds.max_opt()?),
        Statistics::Int32(bounds) => Bounds::Int32(*bounds.min_opt()?, *bounds.max_opt()?),
        Statistics::Int64(bounds) => Bounds::Int64(*bounds.min_opt()?, *bounds.max_opt()?),
        Statistics::ByteArray(bounds) => Bounds::Bytes(bounds.min_opt()?.data(), bounds.max_opt()?.data()),
        Statistics::FixedLenByteArray(bounds) => Bounds::Bytes(bounds.min_opt()?.data(), bounds.max_opt()?.data()),
        _ => return None,
    };
    bounds.range(domain)
}

/// The least and the greatest value, or what is beyond them.
enum Bounds<'a> {
    Boolean(bool, bool),
    Int32(i32, i32),
    Int64(i64, i64),
    Bytes(&'a [u8], &'a [u8]),
}

impl Bounds<'_> {
    /// A set that has all between, if these are bounds of values in `domain`.
    fn range(&self, domain: Domain) -> Option<ValueSet> {
        let (low, high) = match (self, domain) {
            (Self::Boolean(low, high), Domain::Boolean) => (i64::from(*low), i64::from(*high)),
            (Self::Int32(low, high), Domain::Int { width: 32, .. }) => (i64::from(*low), i64::from(*high)),
            (Self::Int64(low, high), Domain::Int { width: 64, .. }) => (*low, *high),
            (Self::Bytes(low, high), Domain::Bytes { .. }) => return bytes_range(low, high),
            _ => return None,
        };
        let set: IntSet = physical_range(domain, low, high)?;
        // Bounds the wrong way round say nothing.
        (!set.is_none()).then_some(ValueSet::Ints(set))
    }
}
