//! Dynamic filters: conditions that operators above find while the query runs.
//!
//! TopK, hash joins and aggregates push them down and check again what comes out, so they only help. They are asked before
//! each row group, and looked at again where they have changed: a row group whose statistics they exclude is skipped, bounds
//! and lists become predicates of the scan, and what the statistics prove anyway is dropped. What has no translation, as a
//! lookup in the hash table of a join, is evaluated over batches for as long as the scan finds that it pays; once that was
//! done for as many rows as there are values, it is a set of values ([`Tabulation`]), and costs next to nothing.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::physical_plan::ParquetFileMetrics;
use datafusion::datasource::physical_plan::parquet::{ParquetAccessPlan, RowGroupAccessPlanFilter};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, DynamicFilterTracking, IsNotNullExpr, IsNullExpr, Literal,
};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_optimizer::pruning::{FilePruner, PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet};
use parquet::file::metadata::ParquetMetaData;

use super::expr::{FileColumns, Translation, translate};
use super::filter::{conjuncts, merge};
use super::literal::plain_type;
use super::residual::ExprResidual;
use super::simplify::simplify;
use super::statistics::{chunk_verdict, integer_bounds, leaf_of, trusted};
use super::tabulate::Tabulation;
use crate::error::Error;
use crate::predicate::{Matches, Predicate, ValueSet, Verdict};
use crate::scan::{Admission, Conditions, Domain, Gate, Residual};

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
    conditions_tabulated: Count,
    current: Option<Current>,
    version: u64,
}

/// What the filters say now.
#[derive(Default)]
struct Current {
    /// No row of the file is wanted.
    nothing: bool,
    predicates: Vec<Predicate>,
    /// Conditions without a translation on columns that the scan reads anyway.
    opaque: Vec<Opaque>,
    /// Decides on statistics what has no translation.
    pruning: Option<PruningPredicate>,
}

impl Current {
    /// Makes sets of the opaque conditions that are due; how many.
    fn tabulate(&mut self) -> usize {
        let mut tabulated = 0;
        let (due, opaque): (Vec<_>, Vec<_>) = std::mem::take(&mut self.opaque).into_iter().partition(Opaque::is_due);
        self.opaque = opaque;
        for mut opaque in due {
            match opaque.tabulation.take().map(|tabulation| tabulation.tabulate(&opaque.residual)) {
                Some(Ok(predicate)) => {
                    self.predicates.push(predicate);
                    tabulated += 1;
                }
                // A value that no row has may be an error.
                _ => self.opaque.push(opaque),
            }
        }
        if tabulated > 0 {
            self.predicates = merge(std::mem::take(&mut self.predicates));
        }
        tabulated
    }
}

/// A condition without a translation.
struct Opaque {
    residual: Arc<ExprResidual>,
    tabulation: Option<Tabulation>,
}

impl Opaque {
    /// Whether it was asked of as many rows as there are values.
    fn is_due(&self) -> bool {
        self.tabulation.as_ref().is_some_and(|tabulation| self.residual.rows() >= tabulation.values())
    }
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
        conditions_tabulated: Count,
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
            conditions_tabulated,
            current: None,
            version: 0,
        })
    }

    /// What the filters say by now.
    fn current(&mut self) -> Result<&Current> {
        if let Some(pruner) = &mut self.file_pruner
            && pruner.should_prune()?
        {
            // It answers once for each change: from here on nothing of the file is wanted.
            self.tracking = DynamicFilterTracking::AllComplete;
            self.file_pruner = None;
            self.version += 1;
            return Ok(self.current.insert(Current { nothing: true, ..Current::default() }));
        }
        let changed = self.tracking.watcher().is_some_and(|tracker| tracker.changed());
        let current = match self.current.take() {
            Some(mut current) if !changed => {
                let tabulated = current.tabulate();
                if tabulated > 0 {
                    self.conditions_tabulated.add(tabulated);
                    self.version += 1;
                }
                current
            }
            _ => {
                self.version += 1;
                self.read()?
            }
        };
        Ok(self.current.insert(current))
    }

    fn read(&self) -> Result<Current> {
        let mut current = Current::default();
        let mut untranslated = Vec::new();
        for filter in &self.filters {
            let Some(filter) = filter.downcast_ref::<DynamicFilterPhysicalExpr>() else { continue };
            for conjunct in conjuncts(&simplify(filter.current()?, &self.columns.schema)?) {
                if makes_float(&conjunct, &self.columns.schema) && !is_threshold(&conjunct) {
                    continue;
                }
                match translate(&conjunct, &self.columns) {
                    Some(Translation::Always) => {}
                    Some(Translation::Never) => current.nothing = true,
                    Some(Translation::Predicate(predicate)) => current.predicates.push(predicate),
                    None => untranslated.push(conjunct),
                }
            }
        }
        current.predicates = merge(current.predicates);
        for conjunct in &untranslated {
            let residual = ExprResidual::try_new(conjunct, &self.columns.schema)?;
            if !residual.columns().is_empty() && residual.columns().iter().all(|column| self.read.contains(column)) {
                let range = |column, domain| self.range(&current.predicates, column, domain);
                let tabulation = Tabulation::new(&residual, &self.columns, range);
                current.opaque.push(Opaque { residual: Arc::new(residual), tabulation });
            }
        }
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

    /// The values of a column that are left by `predicates`, and that the file has.
    fn range(&self, predicates: &[Predicate], column: usize, domain: Domain) -> Option<RangeInclusive<i64>> {
        let left = predicates.iter().find_map(|predicate| match predicate {
            Predicate::Column { column: other, matches: Matches { values: ValueSet::Ints(set), .. } }
                if *other == column =>
            {
                set.bounds()
            }
            _ => None,
        });
        let has = self.use_statistics.then(|| integer_bounds(&self.metadata, column, domain)).flatten();
        match (left.map(|(low, high)| low..=high), has) {
            (Some(left), Some(has)) => Some(*left.start().max(has.start())..=*left.end().min(has.end())),
            (left, has) => left.or(has),
        }
    }

    fn admit(&self, current: &Current, row_group: usize) -> Admission {
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
        let residuals = current.opaque.iter().map(|opaque| Arc::clone(&opaque.residual) as Arc<dyn Residual>).collect();
        Admission::Enter(Conditions { predicates, residuals })
    }

    fn verdict(&self, row_group: usize, column: usize, matches: &Matches) -> Verdict {
        let (true, Some(Some(domain))) = (self.use_statistics, self.columns.domains.get(column)) else {
            return Verdict::Some;
        };
        let Some(leaf) = leaf_of(&self.metadata, column) else { return Verdict::Some };
        chunk_verdict(self.metadata.row_group(row_group).column(leaf), *domain, matches)
    }
}

impl Gate for DynamicFilters {
    fn enter(&mut self, row_group: usize) -> crate::error::Result<Admission> {
        self.current().map_err(Error::external)?;
        let Some(current) = &self.current else { return Ok(Admission::Enter(Conditions::default())) };
        Ok(self.admit(current, row_group))
    }

    fn version(&mut self) -> crate::error::Result<u64> {
        self.current().map_err(Error::external)?;
        Ok(self.version)
    }

    fn is_final(&self) -> bool {
        matches!(self.tracking, DynamicFilterTracking::AllComplete)
    }
}

/// Whether anything in `expr` is of floating point, be it a column or what is made of one.
fn makes_float(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> bool {
    fn holds_float(data_type: &DataType) -> bool {
        match data_type {
            DataType::Struct(fields) => fields.iter().any(|field| holds_float(field.data_type())),
            other => plain_type(other).is_floating(),
        }
    }
    expr.exists(|node| Ok(node.data_type(schema).map_or(true, |data_type| holds_float(&data_type)))).unwrap_or(true)
}

/// Whether `expr` compares as a TopK does, which sorts in the order in which it compares. A join takes 0 and -0 for the same, and
/// the bounds of its keys do not.
fn is_threshold(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut is_threshold = true;
    // The closure does not fail.
    let _ = expr.apply(|node| {
        is_threshold &= match node.downcast_ref::<BinaryExpr>() {
            Some(binary) => {
                matches!(binary.op(), Operator::Lt | Operator::Gt | Operator::Eq | Operator::And | Operator::Or)
            }
            None => {
                node.downcast_ref::<Column>().is_some()
                    || node.downcast_ref::<Literal>().is_some_and(|literal| !is_float_zero(literal.value()))
                    || node.downcast_ref::<IsNullExpr>().is_some()
                    || node.downcast_ref::<IsNotNullExpr>().is_some()
            }
        };
        Ok(if is_threshold { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    is_threshold
}

/// Whether `value` is 0 or -0: they compare as equal, and MIN and sorts tell them apart.
fn is_float_zero(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float16(Some(value)) => f32::from(*value) == 0.0,
        ScalarValue::Float32(Some(value)) => *value == 0.0,
        ScalarValue::Float64(Some(value)) => *value == 0.0,
        _ => false,
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
