//! Dynamic filters: conditions that operators above find while the query runs.
//!
//! TopK, hash joins and aggregates push them down and check again what comes out, so they only help. They are asked before
//! each row group, where they can save the most: a row group whose statistics they exclude is skipped, bounds become
//! predicates of the scan, and what the statistics prove anyway is dropped. A hash join's table lookup is left out: it is
//! opaque, and costs more per row than the join itself.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::datasource::physical_plan::ParquetFileMetrics;
use datafusion::datasource::physical_plan::parquet::{ParquetAccessPlan, RowGroupAccessPlanFilter};
use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, DynamicFilterTracking};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_optimizer::pruning::{FilePruner, PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet};
use parquet::file::metadata::ParquetMetaData;

use super::expr::{FileColumns, Translation, translate};
use super::filter::{conjuncts, merge};
use super::simplify::simplify;
use super::statistics::{trusted, verdict};
use crate::error::Error;
use crate::predicate::{Matches, Predicate, Verdict};
use crate::scan::{Admission, Gate};

/// The dynamic filters over one file.
pub(super) struct DynamicFilters {
    /// Dynamic filters over the columns of the file.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    tracking: DynamicFilterTracking,
    columns: FileColumns,
    /// Columns that the scan reads anyway: conditions on others only prune.
    read: Vec<usize>,
    metadata: Arc<ParquetMetaData>,
    /// Prunes the whole file by its statistics and partition values.
    file_pruner: Option<FilePruner>,
    /// Whether row groups are compared with their statistics.
    use_statistics: bool,
    row_groups_pruned: Count,
    current: Option<Current>,
}

/// What the filters say now.
struct Current {
    /// No row of the file is wanted.
    nothing: bool,
    predicates: Vec<Predicate>,
    /// Decides on statistics what has no translation.
    pruning: Option<PruningPredicate>,
}

impl DynamicFilters {
    /// The filters, or None if there are none. `filters` are over the columns of the file.
    pub(super) fn new(
        filters: Vec<Arc<dyn PhysicalExpr>>,
        columns: FileColumns,
        read: Vec<usize>,
        metadata: Arc<ParquetMetaData>,
        file_pruner: Option<FilePruner>,
        use_statistics: bool,
        row_groups_pruned: Count,
    ) -> Option<Self> {
        if filters.is_empty() {
            return None;
        }
        // Subscribed before the filters are read first, so that no change is missed.
        let tracking = DynamicFilterTracking::classify(&conjunction(filters.clone()));
        Some(Self {
            filters,
            tracking,
            columns,
            read,
            metadata,
            file_pruner,
            use_statistics,
            row_groups_pruned,
            current: None,
        })
    }

    fn refresh(&mut self) -> Result<Current> {
        let changed = self.tracking.watcher().is_some_and(|tracker| tracker.changed());
        if let Some(current) = self.current.take()
            && !changed
        {
            return Ok(current);
        }
        let mut current = Current { nothing: false, predicates: Vec::new(), pruning: None };
        let mut untranslated = Vec::new();
        for filter in &self.filters {
            let Some(filter) = filter.downcast_ref::<DynamicFilterPhysicalExpr>() else { continue };
            for conjunct in conjuncts(&simplify(filter.current()?, &self.columns.schema)?) {
                match translate(&conjunct, &self.columns) {
                    Some(Translation::Always) => {}
                    Some(Translation::Never) => current.nothing = true,
                    Some(Translation::Predicate(predicate)) => current.predicates.push(predicate),
                    None => untranslated.push(conjunct),
                }
            }
        }
        current.predicates = merge(current.predicates);
        if self.use_statistics
            && let Some(predicate) = trusted(&conjunction(untranslated), &self.columns.schema, &self.metadata)
        {
            let pruning =
                PruningPredicateBuilder::new().with_file_schema(Arc::clone(&self.columns.schema)).try_build(predicate);
            // What has no pruning predicate, as a table lookup, prunes nothing.
            current.pruning = pruning.ok().filter(|pruning| !pruning.always_true());
        }
        Ok(current)
    }

    fn admit(&mut self, current: &Current, row_group: usize) -> Admission {
        if current.nothing {
            return Admission::Skip;
        }
        if let Some(pruning) = &current.pruning
            && excluded(pruning, &self.columns.schema, &self.metadata, row_group)
        {
            return Admission::Skip;
        }
        let mut predicates = Vec::with_capacity(current.predicates.len());
        for predicate in &current.predicates {
            let verdict = match predicate {
                Predicate::Column { column, matches } => self.verdict(row_group, *column, matches),
                Predicate::Compare { .. } => Verdict::Some,
            };
            match verdict {
                Verdict::None => return Admission::Skip,
                Verdict::Some if predicate.columns().all(|column| self.read.contains(&column)) => {
                    predicates.push(predicate.clone());
                }
                Verdict::All | Verdict::Some => {}
            }
        }
        Admission::Enter(predicates)
    }

    fn verdict(&self, row_group: usize, column: usize, matches: &Matches) -> Verdict {
        let (true, Some(Some(domain))) = (self.use_statistics, self.columns.domains.get(column)) else {
            return Verdict::Some;
        };
        let descriptor = self.metadata.file_metadata().schema_descr();
        let Some(leaf) = (0..descriptor.num_columns()).find(|&leaf| descriptor.get_column_root_idx(leaf) == column)
        else {
            return Verdict::Some;
        };
        verdict(self.metadata.row_group(row_group).column(leaf), *domain, matches)
    }
}

impl Gate for DynamicFilters {
    fn enter(&mut self, row_group: usize) -> crate::error::Result<Admission> {
        if let Some(pruner) = &mut self.file_pruner
            && pruner.should_prune().map_err(Error::external)?
        {
            // It answers once for each change: from here on nothing of the file is wanted.
            self.current = Some(Current { nothing: true, predicates: Vec::new(), pruning: None });
            self.tracking = DynamicFilterTracking::AllComplete;
            self.file_pruner = None;
        }
        let current = self.refresh().map_err(Error::external)?;
        let admission = self.admit(&current, row_group);
        self.current = Some(current);
        if matches!(admission, Admission::Skip) {
            self.row_groups_pruned.add(1);
        }
        Ok(admission)
    }

    fn is_final(&self) -> bool {
        matches!(self.tracking, DynamicFilterTracking::AllComplete)
    }
}

fn excluded(pruning: &PruningPredicate, schema: &SchemaRef, metadata: &ParquetMetaData, row_group: usize) -> bool {
    let groups = metadata.row_groups();
    let mut plan = ParquetAccessPlan::new_none(groups.len());
    plan.scan(row_group);
    let mut filter = RowGroupAccessPlanFilter::new(plan);
    // Dynamic pruning has a metric of its own.
    let metrics = ParquetFileMetrics::new(0, "", &ExecutionPlanMetricsSet::new());
    filter.prune_by_statistics(schema, metadata.file_metadata().schema_descr(), groups, pruning, &metrics);
    filter.is_empty()
}
