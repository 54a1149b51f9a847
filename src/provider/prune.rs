//! Which row groups and pages of a file are read at all: statistics, bloom filters, page index, limit, byte range.
//!
//! DataFusion's parts decide; this module feeds them, and keeps from them what they would decide wrongly.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::parquet::{
    BloomFilterStatistics, PagePruningAccessPlanFilter, ParquetAccessPlan, ParquetRowSelection, RowGroupAccess,
    RowGroupAccessPlanFilter,
};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNullExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt, split_conjunction};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, parquet_column};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

use super::literal::plain_type;
use super::metrics::FileMetrics;
use super::residual::column_indices;
use crate::scan::RowGroup;

/// What pruning may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct PruneOptions {
    /// Statistics of row groups.
    pub(super) statistics: bool,
    /// The page index.
    pub(super) page_index: bool,
    /// Bloom filters.
    pub(super) bloom_filters: bool,
    /// Members of an IN list up to which it is compared with statistics.
    pub(super) max_in_list_size: usize,
}

/// A file whose row groups are pruned.
pub(super) struct Pruner<'a> {
    pub(super) options: PruneOptions,
    pub(super) file: &'a PartitionedFile,
    /// The columns of the file as they are delivered.
    pub(super) schema: &'a SchemaRef,
    pub(super) metadata: ArrowReaderMetadata,
    /// The filter over the columns of the file.
    pub(super) predicate: Option<&'a Arc<dyn PhysicalExpr>>,
    pub(super) metrics: &'a FileMetrics,
}

impl Pruner<'_> {
    fn footer(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// Prunes row groups and pages. `limit` is None if the order of rows counts; `reader` makes another reader of the file.
    pub(super) async fn prune(
        &self,
        input: &mut Box<dyn AsyncFileReader>,
        reader: impl Fn() -> Result<Box<dyn AsyncFileReader>>,
        limit: Option<usize>,
    ) -> Result<Vec<RowGroup>> {
        let groups = self.footer().row_groups();
        let mut plan = initial_plan(self.file, groups)?;
        if let Some(range) = &self.file.range {
            prune_by_range(&mut plan, groups, range, self.file.object_meta.size);
        }
        let mut row_groups = RowGroupAccessPlanFilter::new(plan);
        let predicate = self.predicate.and_then(|predicate| trusted(predicate, self.schema, self.footer()));
        let pruning = predicate.as_ref().and_then(|predicate| self.pruning_predicate(predicate));
        let parquet = &self.metrics.parquet;

        match &pruning {
            Some(pruning) if self.options.statistics => {
                row_groups.prune_by_statistics(self.schema, self.metadata.parquet_schema(), groups, pruning, parquet)
            }
            _ => parquet.row_groups_pruned_statistics.add_matched(row_groups.remaining_row_group_count()),
        }
        match &pruning {
            Some(pruning) if self.options.bloom_filters && !row_groups.is_empty() => {
                self.prune_by_bloom_filters(&mut row_groups, pruning, reader).await?;
            }
            _ => parquet.row_groups_pruned_bloom_filter.add_matched(row_groups.remaining_row_group_count()),
        }
        if let Some(limit) = limit
            && self.predicate.is_some_and(|predicate| proves_full_matches(predicate, self.schema, self.footer()))
        {
            row_groups.prune_by_limit(limit, groups, parquet);
        }
        let mut plan = row_groups.build();
        if let Some(predicate) = &predicate
            && self.options.page_index
            && !plan.is_empty()
        {
            plan = self.prune_by_page_index(plan, predicate, input).await;
        }
        selected(plan, groups, self.file)
    }

    fn pruning_predicate(&self, predicate: &Arc<dyn PhysicalExpr>) -> Option<PruningPredicate> {
        pruning_predicate(predicate, self.schema, self.metrics, self.options.max_in_list_size)
    }

    async fn prune_by_bloom_filters(
        &self,
        row_groups: &mut RowGroupAccessPlanFilter,
        pruning: &PruningPredicate,
        reader: impl Fn() -> Result<Box<dyn AsyncFileReader>>,
    ) -> Result<()> {
        let parquet_schema = self.metadata.parquet_schema();
        let columns: Vec<(String, usize)> = pruning
            .literal_columns()
            .into_iter()
            .filter_map(|name| {
                let (leaf, _) = parquet_column(parquet_schema, self.schema, &name)?;
                Some((name, leaf))
            })
            .collect();
        let groups = self.footer().row_groups();
        let has_filter = |row_group: usize, leaf: usize| groups[row_group].column(leaf).bloom_filter_offset().is_some();
        let wanted: Vec<(usize, &String, usize)> = row_groups
            .row_group_indexes()
            .flat_map(|row_group| columns.iter().map(move |(name, leaf)| (row_group, name, *leaf)))
            .filter(|&(row_group, _, leaf)| has_filter(row_group, leaf))
            .collect();
        let metrics = &self.metrics.parquet;
        if wanted.is_empty() {
            metrics.row_groups_pruned_bloom_filter.add_matched(row_groups.remaining_row_group_count());
            return Ok(());
        }
        let mut filters = vec![BloomFilterStatistics::new(); groups.len()];
        let mut builder = ParquetRecordBatchStreamBuilder::new_with_metadata(reader()?, self.metadata.clone());
        for (row_group, name, leaf) in wanted {
            match builder.get_row_group_column_bloom_filter(row_group, leaf).await {
                Ok(Some(filter)) => {
                    let column = parquet_schema.column(leaf);
                    filters[row_group].insert(name, filter, column.physical_type(), column.type_length());
                }
                Ok(None) => {}
                // A filter only helps.
                Err(_) => metrics.predicate_evaluation_errors.add(1),
            }
        }
        row_groups.prune_by_bloom_filters(pruning, metrics, &filters);
        Ok(())
    }

    async fn prune_by_page_index(
        &self,
        plan: ParquetAccessPlan,
        predicate: &Arc<dyn PhysicalExpr>,
        input: &mut Box<dyn AsyncFileReader>,
    ) -> ParquetAccessPlan {
        let pages = PagePruningAccessPlanFilter::new(predicate, Arc::clone(self.schema));
        let parquet_schema = self.metadata.parquet_schema();
        let indexed = |row_group: usize| {
            column_indices(predicate).into_iter().any(|root| {
                let name = self.schema.field(root).name();
                parquet_column(parquet_schema, self.schema, name).is_some_and(|(leaf, _)| {
                    let chunk = self.footer().row_group(row_group).column(leaf);
                    chunk.column_index_offset().is_some() && chunk.offset_index_offset().is_some()
                })
            })
        };
        if pages.filter_number() == 0 || !plan.row_group_index_iter().any(indexed) {
            return plan;
        }
        let Ok(footer) = with_page_index(self.footer(), input).await else {
            // The index only helps.
            self.metrics.parquet.predicate_evaluation_errors.add(1);
            return plan;
        };
        pages.prune_plan_with_page_index(plan, self.schema, parquet_schema, &footer, &self.metrics.parquet)
    }
}

/// A predicate on statistics that `predicate` implies.
pub(super) fn pruning_predicate(
    predicate: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    metrics: &FileMetrics,
    max_in_list_size: usize,
) -> Option<PruningPredicate> {
    PruningPredicateBuilder::new()
        .with_file_schema(Arc::clone(schema))
        .with_error_counter(&metrics.predicate_creation_errors)
        .with_max_in_list_size(max_in_list_size)
        .build(Arc::clone(predicate))
        .map(Arc::unwrap_or_clone)
}

async fn with_page_index(
    footer: &Arc<ParquetMetaData>,
    input: &mut Box<dyn AsyncFileReader>,
) -> parquet::errors::Result<Arc<ParquetMetaData>> {
    if footer.column_index().is_some() && footer.offset_index().is_some() {
        return Ok(Arc::clone(footer));
    }
    let mut reader = ParquetMetaDataReader::new_with_metadata(footer.as_ref().clone())
        .with_page_index_policy(PageIndexPolicy::Optional);
    reader.load_page_index(input).await?;
    Ok(Arc::new(reader.finish()?))
}

/// The row groups that a caller wants: all, or what is attached to the file.
fn initial_plan(file: &PartitionedFile, groups: &[RowGroupMetaData]) -> Result<ParquetAccessPlan> {
    let location = &file.object_meta.location;
    match (file.extensions.get::<ParquetAccessPlan>(), file.extensions.get::<ParquetRowSelection>()) {
        (None, None) => Ok(ParquetAccessPlan::new_all(groups.len())),
        (Some(plan), None) if plan.len() == groups.len() => Ok(plan.clone()),
        (Some(plan), None) => exec_err!(
            "The ParquetAccessPlan for {location} has {} row groups, but the file has {}",
            plan.len(),
            groups.len()
        ),
        (None, Some(rows)) => ParquetAccessPlan::try_new_from_overall_row_selection(rows.selection().clone(), groups),
        (Some(_), Some(_)) => {
            exec_err!("{location} has both a ParquetAccessPlan and a ParquetRowSelection: give one")
        }
    }
}

/// A range of bytes owns the row groups whose first page begins inside it: each row group has one owner.
fn prune_by_range(plan: &mut ParquetAccessPlan, groups: &[RowGroupMetaData], range: &FileRange, file_size: u64) {
    let last = i64::try_from(file_size).unwrap_or(i64::MAX).saturating_sub(1).max(0);
    for (index, group) in groups.iter().enumerate() {
        let first = group
            .columns()
            .first()
            .map_or(0, |chunk| chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset()));
        // An offset outside of the file must have an owner too, who reports it.
        if plan.should_scan(index) && !range.contains(first.clamp(0, last)) {
            plan.skip(index);
        }
    }
}

/// The conjuncts for which statistics can be trusted; the others are evaluated on rows alone.
///
/// - A missing null count is not zero (DataFusion takes it for that), so `IS NULL` is not asked there.
/// - Statistics leave NaN out, and NaN is greater than every number and unequal to each: only conditions that NaN does
///   not fulfil are asked of floating point columns.
pub(super) fn trusted(
    predicate: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    footer: &ParquetMetaData,
) -> Option<Arc<dyn PhysicalExpr>> {
    let conjuncts = split_conjunction(predicate).into_iter().filter(|conjunct| {
        (false_for_nan(conjunct) || !reads_float(conjunct, schema)) && trusts_null_counts(conjunct, footer)
    });
    conjunction_opt(conjuncts.cloned())
}

/// Whether a row group whose statistics exclude the opposite of `predicate` matches with every row, NaN included.
fn proves_full_matches(predicate: &Arc<dyn PhysicalExpr>, schema: &SchemaRef, footer: &ParquetMetaData) -> bool {
    !reads_float(predicate, schema) && trusts_null_counts(predicate, footer)
}

fn trusts_null_counts(expr: &Arc<dyn PhysicalExpr>, footer: &ParquetMetaData) -> bool {
    !tests_null(expr) || column_indices(expr).into_iter().all(|root| has_null_counts(footer, root))
}

fn reads_float(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> bool {
    column_indices(expr)
        .into_iter()
        .any(|root| schema.fields().get(root).is_some_and(|field| plain_type(field.data_type()).is_floating()))
}

fn tests_null(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    // The closure does not fail.
    let _ = expr.apply(|node| {
        found |= node.downcast_ref::<IsNullExpr>().is_some();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Whether each row group says how many values of a root column are NULL.
pub(super) fn has_null_counts(footer: &ParquetMetaData, root: usize) -> bool {
    let descriptor = footer.file_metadata().schema_descr();
    let leaves = (0..descriptor.num_columns()).filter(|&leaf| descriptor.get_column_root_idx(leaf) == root);
    leaves.into_iter().all(|leaf| {
        descriptor.column(leaf).max_def_level() == 0
            || footer
                .row_groups()
                .iter()
                .all(|group| group.column(leaf).statistics().is_some_and(|all| all.null_count_opt().is_some()))
    })
}

/// Whether `expr` is `column < number`, `<=` or `=`, either way round.
fn false_for_nan(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return false };
    let is_column = |side: &Arc<dyn PhysicalExpr>| side.downcast_ref::<Column>().is_some();
    match binary.op() {
        Operator::Eq => {
            is_column(binary.left()) && is_number(binary.right())
                || is_column(binary.right()) && is_number(binary.left())
        }
        Operator::Lt | Operator::LtEq => is_column(binary.left()) && is_number(binary.right()),
        Operator::Gt | Operator::GtEq => is_column(binary.right()) && is_number(binary.left()),
        _ => false,
    }
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

/// The plan as the scan takes it.
fn selected(plan: ParquetAccessPlan, groups: &[RowGroupMetaData], file: &PartitionedFile) -> Result<Vec<RowGroup>> {
    let mut row_groups = Vec::new();
    for (index, access) in plan.into_inner().into_iter().enumerate() {
        match access {
            RowGroupAccess::Skip => {}
            RowGroupAccess::Scan => row_groups.push(RowGroup { index, rows: None }),
            RowGroupAccess::Selection(rows) => {
                let covered = rows.row_count() + rows.skipped_row_count();
                let expected = groups[index].num_rows();
                if i64::try_from(covered).ok() != Some(expected) {
                    return exec_err!(
                        "The selection for row group {index} of {} covers {covered} rows, but there are {expected}",
                        file.object_meta.location
                    );
                }
                row_groups.push(RowGroup { index, rows: Some(rows) });
            }
        }
    }
    Ok(row_groups)
}

/// Whether pruning a whole file by its statistics can be trusted for `predicate`, over the file columns of the table: see
/// [`trusted`].
pub(super) fn trusts_file_statistics(predicate: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> bool {
    split_conjunction(predicate)
        .into_iter()
        .all(|conjunct| !tests_null(conjunct) && (false_for_nan(conjunct) || !reads_float(conjunct, schema)))
}
