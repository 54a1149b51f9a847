//! Which row groups and pages of a file are read at all: statistics, bloom filters, page index, limit, byte range.
//!
//! Conditions that the scan evaluates itself are compared with bounds here. Of the rest of a filter DataFusion's parts decide;
//! this module feeds them, and keeps from them what they would decide wrongly.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, exec_err};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::parquet::{
    BloomFilterStatistics, PagePruningAccessPlanFilter, ParquetAccessPlan, ParquetRowSelection, RowGroupAccess,
    RowGroupAccessPlanFilter,
};
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, parquet_column};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;

use super::conditions::{Condition, prune_pages, prune_row_groups};
use super::metrics::FileMetrics;
use super::residual::column_indices;
use super::statistics::{proves_full_matches, trusted};
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
    /// Conjuncts of it that bounds decide without DataFusion.
    pub(super) conditions: &'a [Condition],
    /// The other conjuncts of it.
    pub(super) others: &'a [Arc<dyn PhysicalExpr>],
    pub(super) metrics: &'a FileMetrics,
}

impl Pruner<'_> {
    fn footer(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// Prunes row groups and pages; besides what is left, the footer with the page index if that was read. `limit` is None if the order of rows counts; `reader` makes another reader of the file.
    pub(super) async fn prune(
        &self,
        input: &mut Box<dyn AsyncFileReader>,
        reader: impl Fn() -> Result<Box<dyn AsyncFileReader>>,
        limit: Option<usize>,
    ) -> Result<(Vec<RowGroup>, Arc<ParquetMetaData>)> {
        let groups = self.footer().row_groups();
        let mut plan = initial_plan(self.file, groups)?;
        if let Some(range) = &self.file.range {
            prune_by_range(&mut plan, groups, range, self.file.object_meta.size);
        }
        let parquet = &self.metrics.parquet;
        // Whether all rows of a row group match is asked of DataFusion.
        let (conditions, others) = match limit {
            None => (self.conditions, conjunction_opt(self.others.iter().cloned())),
            Some(_) => (&[][..], self.predicate.cloned()),
        };
        if self.options.statistics {
            let pruned = prune_row_groups(conditions, self.footer(), &mut plan);
            parquet.row_groups_pruned_statistics.add_pruned(pruned);
        }
        let mut row_groups = RowGroupAccessPlanFilter::new(plan);
        let others = others.and_then(|others| trusted(&others, self.schema, self.footer()));
        match others.as_ref().filter(|_| self.options.statistics).and_then(|others| self.pruning_predicate(others)) {
            Some(pruning) => {
                row_groups.prune_by_statistics(self.schema, self.metadata.parquet_schema(), groups, &pruning, parquet);
            }
            None => parquet.row_groups_pruned_statistics.add_matched(row_groups.remaining_row_group_count()),
        }
        let asks_blooms = self.options.bloom_filters && !row_groups.is_empty();
        match asks_blooms.then(|| self.bloom_predicate()).flatten() {
            Some(pruning) => self.prune_by_bloom_filters(&mut row_groups, &pruning, reader).await?,
            None => parquet.row_groups_pruned_bloom_filter.add_matched(row_groups.remaining_row_group_count()),
        }
        if let Some(limit) = limit
            && self.predicate.is_some_and(|predicate| proves_full_matches(predicate, self.schema, self.footer()))
        {
            row_groups.prune_by_limit(limit, groups, parquet);
        }
        let mut plan = row_groups.build();
        let mut footer = Arc::clone(self.footer());
        if self.options.page_index && !plan.is_empty() {
            (plan, footer) = self.prune_by_page_index(plan, conditions, others.as_ref(), input).await;
        }
        Ok((selected(plan, groups, self.file)?, footer))
    }

    /// What bloom filters are asked, where there are any.
    fn bloom_predicate(&self) -> Option<PruningPredicate> {
        let predicate = self.predicate?;
        let columns = column_indices(predicate);
        let descriptor = self.metadata.parquet_schema();
        let is_read = |leaf: usize| columns.contains(&descriptor.get_column_root_idx(leaf));
        let groups = self.footer().row_groups();
        let has_filter = |leaf: usize| groups.iter().any(|group| group.column(leaf).bloom_filter_offset().is_some());
        if !(0..descriptor.num_columns()).any(|leaf| is_read(leaf) && has_filter(leaf)) {
            return None;
        }
        self.pruning_predicate(&trusted(predicate, self.schema, self.footer())?)
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
        mut plan: ParquetAccessPlan,
        conditions: &[Condition],
        others: Option<&Arc<dyn PhysicalExpr>>,
        input: &mut Box<dyn AsyncFileReader>,
    ) -> (ParquetAccessPlan, Arc<ParquetMetaData>) {
        let pages = others.map(|others| PagePruningAccessPlanFilter::new(others, Arc::clone(self.schema)));
        let pages = pages.filter(|pages| pages.filter_number() > 0);
        let parquet_schema = self.metadata.parquet_schema();
        let roots = conditions.iter().map(Condition::column);
        let roots: Vec<usize> = roots.chain(others.map(column_indices).unwrap_or_default()).collect();
        let indexed = |row_group: usize| {
            roots.iter().any(|&root| {
                let name = self.schema.field(root).name();
                parquet_column(parquet_schema, self.schema, name).is_some_and(|(leaf, _)| {
                    let chunk = self.footer().row_group(row_group).column(leaf);
                    chunk.column_index_offset().is_some() && chunk.offset_index_offset().is_some()
                })
            })
        };
        if pages.is_none() && conditions.is_empty() || !plan.row_group_index_iter().any(indexed) {
            return (plan, Arc::clone(self.footer()));
        }
        // Through the reader, which may have a cache. The index only helps.
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let footer = if has_sound_index_ranges(self.footer(), self.file.object_meta.size) {
            input.get_metadata(Some(&options)).await.ok().filter(|footer| has_sound_page_index(footer))
        } else {
            None
        };
        let metrics = &self.metrics.parquet;
        let Some(footer) = footer else {
            metrics.predicate_evaluation_errors.add(1);
            return (plan, Arc::clone(self.footer()));
        };
        let (rows, of_pages) = {
            let _timer = metrics.page_index_eval_time.timer();
            prune_pages(conditions, &footer, &mut plan)
        };
        metrics.page_index_rows_pruned.add_pruned(rows.out);
        metrics.page_index_pages_pruned.add_pruned(of_pages.out);
        match pages {
            Some(pages) => {
                plan = pages.prune_plan_with_page_index(plan, self.schema, parquet_schema, &footer, metrics);
            }
            None => {
                metrics.page_index_rows_pruned.add_matched(rows.left);
                metrics.page_index_pages_pruned.add_matched(of_pages.left);
            }
        }
        (plan, footer)
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

/// Whether the indexes lie in the file: what is fetched is sized by where they say they are.
fn has_sound_index_ranges(footer: &ParquetMetaData, file_size: u64) -> bool {
    let inside = |offset: Option<i64>, length: Option<i32>| match (offset, length) {
        (Some(offset), Some(length)) => u64::try_from(offset)
            .ok()
            .zip(u64::try_from(length).ok())
            .is_some_and(|(offset, length)| offset.checked_add(length).is_some_and(|end| end <= file_size)),
        _ => true,
    };
    footer.row_groups().iter().flat_map(RowGroupMetaData::columns).all(|chunk| {
        inside(chunk.column_index_offset(), chunk.column_index_length())
            && inside(chunk.offset_index_offset(), chunk.offset_index_length())
    })
}

/// Whether the offset index has pages whose rows ascend within their row group, and as many as the column index.
/// DataFusion's pruning takes that for granted.
fn has_sound_page_index(footer: &ParquetMetaData) -> bool {
    let (Some(columns), Some(offsets)) = (footer.column_index(), footer.offset_index()) else { return false };
    footer.row_groups().iter().zip(columns).zip(offsets).all(|((group, columns), offsets)| {
        columns.iter().zip(offsets).all(|(column, offsets)| {
            let pages = offsets.page_locations();
            let rows = pages.iter().map(|page| page.first_row_index);
            pages.first().is_some_and(|page| page.first_row_index == 0)
                && rows.clone().zip(rows.skip(1)).all(|(row, next)| row < next)
                && pages.last().is_some_and(|page| page.first_row_index < group.num_rows().max(1))
                && (matches!(column, ColumnIndexMetaData::NONE) || column.num_pages() == pages.len() as u64)
        })
    })
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
