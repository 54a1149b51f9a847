//! Conditions that the bounds of row groups and pages decide without DataFusion's pruning, which makes expressions and arrays
//! of them: for a lookup that takes longer than to read the rows.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::parquet::ParquetAccessPlan;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::InListExpr;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;

use super::expr::FileColumns;
use super::statistics::{chunk_verdict, leaf_of, page_verdict};
use crate::predicate::{Matches, Predicate, Verdict};
use crate::scan::Domain;

/// A condition on one column, whose values have an order that its bounds are in.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    /// The root column.
    column: usize,
    domain: Domain,
    matches: Matches,
}

impl Condition {
    /// `predicate`, if it is one.
    pub(super) fn of(predicate: &Predicate, columns: &FileColumns) -> Option<Self> {
        let Predicate::Column { column, matches } = predicate else { return None };
        match columns.domains.get(*column).copied().flatten()? {
            Domain::Opaque => None,
            domain => Some(Self { column: *column, domain, matches: matches.clone() }),
        }
    }

    /// The root column.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// The chunk of row group `row_group`.
    fn chunk<'a>(&self, footer: &'a ParquetMetaData, row_group: usize) -> Option<&'a ColumnChunkMetaData> {
        footer.row_group(row_group).columns().get(leaf_of(footer, self.column)?)
    }

    /// What the statistics of row group `row_group` prove.
    pub(super) fn verdict(&self, footer: &ParquetMetaData, row_group: usize) -> Verdict {
        let chunk = self.chunk(footer, row_group);
        chunk.map_or(Verdict::Some, |chunk| chunk_verdict(chunk, self.domain, &self.matches))
    }

    /// Which pages of row group `row_group` the page index leaves, which is sound; None if it says nothing.
    fn pages(&self, footer: &ParquetMetaData, row_group: usize) -> Option<Vec<RowSelector>> {
        let leaf = leaf_of(footer, self.column)?;
        let index = footer.column_index()?.get(row_group)?.get(leaf)?;
        let pages = footer.offset_index()?.get(row_group)?.get(leaf)?.page_locations();
        if matches!(index, ColumnIndexMetaData::NONE) {
            return None;
        }
        let group = footer.row_group(row_group);
        let ends = pages.iter().skip(1).map(|page| page.first_row_index).chain([group.num_rows()]);
        let selectors = pages.iter().enumerate().zip(ends).map(|((number, page), end)| {
            let row_count = usize::try_from(end - page.first_row_index).ok()?;
            let verdict = page_verdict(index, (number, row_count), group.column(leaf), self.domain, &self.matches);
            Some(RowSelector { row_count, skip: verdict == Verdict::None })
        });
        selectors.collect()
    }
}

/// Whether `expr` has a list of more than `most` members.
pub(super) fn has_long_list(expr: &Arc<dyn PhysicalExpr>, most: usize) -> bool {
    let mut found = false;
    // The closure does not fail.
    let _ = expr.apply(|node| {
        found |= node.downcast_ref::<InListExpr>().is_some_and(|list| list.list().len() > most);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Leaves out the row groups that one of `conditions` excludes by its statistics; how many.
pub(super) fn prune_row_groups(
    conditions: &[Condition],
    footer: &ParquetMetaData,
    plan: &mut ParquetAccessPlan,
) -> usize {
    let excluded = |row_group| conditions.iter().any(|condition| condition.verdict(footer, row_group) == Verdict::None);
    let excluded: Vec<usize> = plan.row_group_index_iter().filter(|&row_group| excluded(row_group)).collect();
    excluded.iter().for_each(|&row_group| plan.skip(row_group));
    excluded.len()
}

/// What was left out, and what was not.
#[derive(Default)]
pub(super) struct Pruned {
    pub(super) out: usize,
    pub(super) left: usize,
}

/// Leaves out the rows of pages that one of `conditions` excludes, by a page index that is sound; rows and pages.
pub(super) fn prune_pages(
    conditions: &[Condition],
    footer: &ParquetMetaData,
    plan: &mut ParquetAccessPlan,
) -> (Pruned, Pruned) {
    let (mut rows, mut pages) = (Pruned::default(), Pruned::default());
    for row_group in plan.row_group_indexes() {
        let mut left: Option<RowSelection> = None;
        for condition in conditions.iter().filter(|condition| condition.verdict(footer, row_group) != Verdict::All) {
            let Some(selectors) = condition.pages(footer, row_group) else { continue };
            let out = selectors.iter().filter(|selector| selector.skip).count();
            pages.out += out;
            pages.left += selectors.len() - out;
            let selection = RowSelection::from(selectors);
            left = Some(left.map_or_else(|| selection.clone(), |left| left.intersection(&selection)));
        }
        let Some(left) = left else { continue };
        rows.out += left.skipped_row_count();
        rows.left += left.row_count();
        if left.selects_any() {
            plan.scan_selection(row_group, left);
        } else {
            plan.skip(row_group);
        }
    }
    (rows, pages)
}
