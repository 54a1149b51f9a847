//! Answers as text, and what a right one is.

use std::cmp::Ordering;
use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;

use crate::Result;
use crate::dataset::Dataset;
use crate::query::Query;
use crate::readers;

/// By how much floating point may differ, of the larger number: sums depend on the order of their terms.
const TOLERANCE: f64 = 1e-9;
/// Rows that are shown of an answer that is wrong.
const SHOWN: usize = 10;

/// The rows of a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer(Vec<Row>);

type Row = Vec<Cell>;

/// A value as text, unless it is floating point.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Exact(String),
    Float(f64),
}

impl Cell {
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(ours), Self::Exact(theirs)) => ours == theirs,
            (Self::Float(ours), Self::Float(theirs)) => {
                // The first is for zeros and infinities, the last for NaN.
                ours == theirs
                    || (ours - theirs).abs() < TOLERANCE * ours.abs().max(theirs.abs())
                    || (ours.is_nan() && theirs.is_nan())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(text) => f.write_str(text),
            Self::Float(value) => write!(f, "{value}"),
        }
    }
}

impl Answer {
    pub(crate) fn new(batches: &[RecordBatch]) -> Result<Self> {
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch.columns().iter().map(cells).collect::<Result<Vec<_>>>()?;
            let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
            rows.extend((0..batch.num_rows()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()));
        }
        Ok(Self(rows))
    }

    /// The right answer: the published one for this scale factor, or that of DataFusion's reader over the same file with
    /// all its short cuts off.
    pub(crate) async fn expected(query: &Query, dataset: &Dataset) -> Result<Self> {
        // Scale factors are typed in, not computed: equal means the same number was meant.
        let published = query.published.iter().find(|published| published.scale_factor == dataset.scale_factor);
        if let Some(published) = published {
            let row = |row: &&[&str]| row.iter().map(|&cell| Cell::Exact(cell.to_owned())).collect();
            return Ok(Self(published.rows.iter().map(row).collect()));
        }
        let ctx: SessionContext = readers::oracle(dataset, query.tables).await?;
        Self::new(&ctx.sql(&query.sql(dataset.scale_factor)).await?.collect().await?)
    }

    /// The first row that is not as in `expected`; none if all are.
    ///
    /// Rows follow each other by the columns `sorted_by`, and in any order where they are equal in these. A LIMIT that cuts
    /// through such equal rows would leave a choice; none of TPC-H's does, as its order ends with a key or a sum.
    pub(crate) fn first_difference(&self, expected: &Self, sorted_by: &[usize]) -> Option<usize> {
        let (ours, theirs) = (&self.0, &expected.0);
        let tied = |a: &Row, b: &Row| sorted_by.iter().all(|&column| a.get(column) == b.get(column));
        let mut start = 0;
        for ties in theirs.chunk_by(tied) {
            let end = start + ties.len();
            let Some(rows) = ours.get(start..end) else { return Some(start) };
            let (rows, ties) = (canonical(rows), canonical(ties));
            if !rows.iter().zip(&ties).all(|(a, b)| agree(a, b)) {
                return Some(start);
            }
            start = end;
        }
        (ours.len() > start).then_some(start)
    }

    pub(crate) fn agrees(&self, expected: &Self, sorted_by: &[usize]) -> bool {
        self.first_difference(expected, sorted_by).is_none()
    }

    /// Both answers for people, whole or from the first difference on.
    pub(crate) fn mismatch(&self, expected: &Self, sorted_by: &[usize]) -> String {
        let long = self.0.len().max(expected.0.len()) > SHOWN;
        let start = if long { self.first_difference(expected, sorted_by).unwrap_or(0) } else { 0 };
        let from = |answer: &Self| Self(answer.0.iter().skip(start).take(SHOWN).cloned().collect());
        let rows = if long { format!(" of {} rows, row {} on", expected.0.len(), start + 1) } else { String::new() };
        let got = if long { format!(" of {} rows", self.0.len()) } else { String::new() };
        format!("  expected{rows}: {}\n  got{got}:      {}", from(expected), from(self))
    }
}

fn cells(column: &ArrayRef) -> Result<Vec<Cell>> {
    let options = FormatOptions::default().with_null("NULL");
    let text = ArrayFormatter::try_new(column.as_ref(), &options)?;
    let exact = |row: usize| Cell::Exact(text.value(row).to_string());
    let floats = (*column.data_type() == DataType::Float64).then(|| column.as_primitive::<Float64Type>());
    let cell = |row: usize| match floats {
        Some(floats) if floats.is_valid(row) => Cell::Float(floats.value(row)),
        _ => exact(row),
    };
    Ok((0..column.len()).map(cell).collect())
}

fn agree(ours: &[Cell], theirs: &[Cell]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.agrees(b))
}

/// In an order of its own, by what is exact first.
fn canonical(rows: &[Row]) -> Vec<&Row> {
    let exact = |row: &Row| -> Vec<String> {
        let text = |cell: &Cell| if let Cell::Exact(text) = cell { Some(text.clone()) } else { None };
        row.iter().filter_map(text).collect()
    };
    let floats = |a: &Row, b: &Row| {
        let orders = a.iter().zip(b).map(|cells| match cells {
            (Cell::Float(a), Cell::Float(b)) => a.total_cmp(b),
            _ => Ordering::Equal,
        });
        orders.fold(Ordering::Equal, Ordering::then)
    };
    let mut rows: Vec<_> = rows.iter().collect();
    if rows.len() > 1 {
        rows.sort_by(|a, b| exact(a).cmp(&exact(b)).then_with(|| floats(a, b)));
    }
    rows
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no rows");
        }
        for (index, row) in self.0.iter().enumerate() {
            let cells: Vec<_> = row.iter().map(Cell::to_string).collect();
            write!(f, "{}{}", if index == 0 { "" } else { "; " }, cells.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Float64Array, StringArray};

    use super::*;

    fn answer(rows: &[(&str, f64)]) -> Answer {
        Answer(rows.iter().map(|&(text, value)| vec![Cell::Exact(text.to_owned()), Cell::Float(value)]).collect())
    }

    #[test]
    fn order_counts_where_it_was_asked_for() {
        let (expected, swapped) = (answer(&[("a", 1.0), ("b", 1.0)]), answer(&[("b", 1.0), ("a", 1.0)]));
        assert!(swapped.agrees(&expected, &[]));
        assert!(swapped.agrees(&expected, &[1]));
        assert_eq!(swapped.first_difference(&expected, &[0]), Some(0));
        assert_eq!(swapped.first_difference(&expected, &[1, 0]), Some(0));
    }

    #[test]
    fn rows_too_many_and_too_few() {
        let (one, two) = (answer(&[("a", 1.0)]), answer(&[("a", 1.0), ("b", 2.0)]));
        for sorted_by in [&[][..], &[0]] {
            assert!(!one.agrees(&two, sorted_by));
            assert!(!two.agrees(&one, sorted_by));
        }
        assert_eq!(two.first_difference(&one, &[0]), Some(1));
        assert_eq!(one.first_difference(&two, &[0]), Some(1));
        assert!(answer(&[]).agrees(&answer(&[]), &[0]));
    }

    #[test]
    fn floating_point_has_a_tolerance() {
        let expected = answer(&[("a", 1e6)]);
        assert!(answer(&[("a", 1e6 + 1e-4)]).agrees(&expected, &[0]));
        assert!(!answer(&[("a", 1e6 + 1e-2)]).agrees(&expected, &[0]));
        assert!(answer(&[("a", f64::NAN)]).agrees(&answer(&[("a", f64::NAN)]), &[0]));
        assert!(answer(&[("a", f64::INFINITY)]).agrees(&answer(&[("a", f64::INFINITY)]), &[0]));
        assert!(!answer(&[("a", 1.0)]).agrees(&answer(&[("a", f64::INFINITY)]), &[0]));
        assert!(!answer(&[("a", f64::NEG_INFINITY)]).agrees(&answer(&[("a", f64::INFINITY)]), &[0]));
    }

    #[test]
    fn decimals_are_exact_and_types_differ() {
        let decimal = |value: i128| {
            let array = Decimal128Array::from(vec![value]).with_precision_and_scale(38, 2).unwrap();
            Answer::new(&[RecordBatch::try_from_iter([("d", Arc::new(array) as ArrayRef)]).unwrap()]).unwrap()
        };
        let large = 10_i128.pow(30);
        assert!(decimal(large).agrees(&decimal(large), &[]));
        assert!(!decimal(large).agrees(&decimal(large + 1), &[]));
        assert!(!decimal(100).agrees(&Answer(vec![vec![Cell::Float(1.0)]]), &[]));
    }

    #[test]
    fn batches_become_rows() {
        let text = Arc::new(StringArray::from(vec![Some("a"), None])) as ArrayRef;
        let floats = Arc::new(Float64Array::from(vec![None, Some(0.5)])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("t", text), ("f", floats)]).unwrap();
        let answer = Answer::new(&[batch.slice(0, 1), batch.slice(1, 1)]).unwrap();
        assert_eq!(answer.to_string(), "a NULL; NULL 0.5");
        assert_eq!(answer.0[1][1], Cell::Float(0.5));
    }

    #[test]
    fn long_answers_are_shown_from_where_they_differ() {
        let rows = |odd: f64| -> Answer {
            let row = |index: u32| vec![Cell::Float(if index == 30 { odd } else { f64::from(index) })];
            Answer((0..100).map(row).collect())
        };
        let text = rows(0.5).mismatch(&rows(30.0), &[0]);
        assert!(text.starts_with("  expected of 100 rows, row 31 on: 30; 31;"), "{text}");
        assert!(text.contains("got of 100 rows:      0.5; 31;") && !text.contains("; 40"), "{text}");
        let text = answer(&[("a", 1.0)]).mismatch(&answer(&[]), &[]);
        assert_eq!(text, "  expected: no rows\n  got:      a 1");
    }
}
