//! The predicates of a scan, in the order that pays.

use std::time::Instant;

use super::engine::{Role, SHORT_WINDOW, ScanColumn};
use super::feed::Feed;
use crate::column::Integers;
use crate::error::Result;
use crate::kernels::{Comparison, Lane, kernels};
use crate::predicate::{Predicate, Selection, Verdict, WINDOW_ROWS};

/// Windows at the beginning that are all measured.
const WARM_UP: usize = 4;

/// Of the windows after, one in so many is measured: reading the clock costs as much as comparing hundreds of values.
const MEASURE_EVERY: usize = 4;

/// Weight of a new measurement in the running mean.
const WEIGHT: f64 = 0.25;

/// A predicate that is bound to the columns of the scan.
struct Bound {
    test: Test,
    /// Nanoseconds a window, as measured; a guess before.
    cost: f64,
    /// Share of the rows that it leaves.
    kept: f64,
}

enum Test {
    /// The condition in `slot` of a column.
    Column {
        column: usize,
        slot: usize,
        /// Whether nothing else looks at the values.
        alone: bool,
        /// Whether a comparison looks at all of them.
        compared: bool,
    },
    Compare {
        left: usize,
        op: Comparison,
        right: usize,
        unsigned: bool,
    },
}

/// Conjuncts over windows.
#[derive(Default)]
pub(super) struct Filter {
    bound: Vec<Bound>,
    order: Vec<usize>,
    windows: usize,
    widened: [Vec<i64>; 2],
    /// Columns of whose window the headers of blocks have said enough, once for each condition.
    decided: Vec<usize>,
}

impl Filter {
    /// Binds `predicates` to `columns`, whose conditions were cleared; `slot_of` finds the column of a root.
    ///
    /// What was measured for the same number of predicates before stays: row groups are alike.
    pub(super) fn bind<'a>(
        &mut self,
        predicates: impl Iterator<Item = &'a Predicate>,
        columns: &mut [ScanColumn],
        slot_of: impl Fn(usize) -> Result<usize>,
    ) -> Result<()> {
        let mut tests = Vec::new();
        for predicate in predicates {
            tests.push(match predicate {
                Predicate::Column { column, matches } => {
                    let column = slot_of(*column)?;
                    let alone = columns[column].role == Role::Filtered;
                    Test::Column {
                        column,
                        slot: columns[column].reader.add_condition(matches)?,
                        alone,
                        compared: false,
                    }
                }
                &Predicate::Compare { left, op, right, unsigned } => {
                    let (left, right) = (slot_of(left)?, slot_of(right)?);
                    columns[left].reader.need_values();
                    columns[right].reader.need_values();
                    Test::Compare { left, op, right, unsigned }
                }
            });
        }
        let looks_at = |test: &Test| match *test {
            Test::Column { column, .. } => [column, column],
            Test::Compare { left, right, .. } => [left, right],
        };
        let looked_at: Vec<[usize; 2]> = tests.iter().map(looks_at).collect();
        let is_comparison = |test: &&Test| matches!(test, Test::Compare { .. });
        let comparisons: Vec<[usize; 2]> = tests.iter().filter(is_comparison).map(looks_at).collect();
        for test in &mut tests {
            if let Test::Column { column, alone, compared, .. } = test {
                *alone &= looked_at.iter().filter(|columns| columns.contains(column)).count() == 1;
                *compared = comparisons.iter().any(|columns| columns.contains(column));
            }
        }
        if tests.len() != self.bound.len() {
            self.order = (0..tests.len()).collect();
            self.windows = 0;
            self.bound = tests.into_iter().map(|test| Bound { test, cost: 0.0, kept: 0.5 }).collect();
        } else {
            self.bound.iter_mut().zip(tests).for_each(|(bound, test)| bound.test = test);
        }
        Ok(())
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// Keeps of `selection`, which covers the next window of all columns, the rows that pass. Not, and nothing is read, where the
    /// headers of blocks may decide on parts of a window of more than [`SHORT_WINDOW`] rows.
    pub(super) async fn narrow(
        &mut self,
        columns: &mut [ScanColumn],
        selection: &mut Selection,
        feed: &mut Feed,
    ) -> Result<bool> {
        let measured = self.windows < WARM_UP || self.windows.is_multiple_of(MEASURE_EVERY);
        self.windows += 1;
        self.decided.clear();
        for position in 0..self.order.len() {
            let index = self.order[position];
            let before = measured.then(|| (Instant::now(), selection.count()));
            if !self.apply(index, columns, selection, feed).await? {
                return Ok(false);
            }
            if let Some((start, rows)) = before
                && rows > 0
            {
                let bound = &mut self.bound[index];
                let weight = if bound.cost == 0.0 { 1.0 } else { WEIGHT };
                let cost = start.elapsed().as_secs_f64() * 1e9;
                bound.cost += weight * (cost.max(1.0) - bound.cost);
                bound.kept += weight * (selection.count() as f64 / rows as f64 - bound.kept);
            }
            if selection.is_empty() {
                break;
            }
        }
        if measured && self.bound.len() > 1 {
            // Least cost for each row discarded first. What was never reached costs nothing as far as is known, and is tried.
            let bound = &self.bound;
            let rank = |&index: &usize| bound[index].cost / (1.0 - bound[index].kept).max(1e-3);
            self.order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        }
        self.decided.iter().for_each(|&column| columns[column].reader.count_decided(selection.len()));
        Ok(true)
    }

    async fn apply(
        &mut self,
        index: usize,
        columns: &mut [ScanColumn],
        selection: &mut Selection,
        feed: &mut Feed,
    ) -> Result<bool> {
        match self.bound[index].test {
            Test::Column { column, slot, alone, compared } => {
                let verdict = columns[column].verdict(slot, selection.len(), feed).await?;
                if verdict != Verdict::Some {
                    self.decided.push(column);
                }
                match verdict {
                    Verdict::All => {}
                    Verdict::None => selection.clear(),
                    Verdict::Some
                        if selection.len() > SHORT_WINDOW
                            && columns[column].reader.hopes_of_headers(slot)
                            && columns.iter().all(|column| !column.in_window) =>
                    {
                        return Ok(false);
                    }
                    Verdict::Some if alone => columns[column].filter_unread(slot, selection, feed).await?,
                    Verdict::Some => {
                        let all = compared.then(|| Selection::all(selection.len()));
                        columns[column].read_window(all.as_ref().unwrap_or(selection), feed).await?;
                        columns[column].reader.filter(slot, selection);
                    }
                }
            }
            Test::Compare { left, op, right, unsigned } => {
                let all = Selection::all(selection.len());
                for column in [left, right] {
                    columns[column].read_window(&all, feed).await?;
                    columns[column].reader.prepare_integers()?;
                }
                let [wide_left, wide_right] = &mut self.widened;
                let mut words = [0; WINDOW_ROWS / 64];
                let used = selection.len().div_ceil(64);
                let (left, right) = (columns[left].reader.integers()?, columns[right].reader.integers()?);
                match (left, right) {
                    (Integers::I32(a, _), Integers::I32(b, _)) => compare(a, b, op, unsigned, &mut words[..used]),
                    _ => {
                        let (a, b) = (widen(left, unsigned, wide_left), widen(right, unsigned, wide_right));
                        compare(a, b, op, unsigned, &mut words[..used]);
                    }
                }
                selection.narrow(&words);
                for validity in [left.validity(), right.validity()].into_iter().flatten() {
                    selection.narrow(validity);
                }
            }
        }
        Ok(true)
    }
}

fn compare<T: Lane>(left: &[T], right: &[T], op: Comparison, unsigned: bool, words: &mut [u64]) {
    T::compare(kernels(), left, right, op, !unsigned, words);
}

/// The values as 64-bit integers.
fn widen<'a>(values: Integers<'a>, unsigned: bool, wide: &'a mut Vec<i64>) -> &'a [i64] {
    match values {
        Integers::I64(values, _) => values,
        Integers::I32(values, _) => {
            wide.clear();
            if unsigned {
                wide.extend(values.iter().map(|value| i64::from(value.cast_unsigned())));
            } else {
                wide.extend(values.iter().map(|value| i64::from(*value)));
            }
            wide
        }
    }
}
