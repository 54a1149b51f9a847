//! The windows of a row group: which rows are looked at, some thousand at a time.

use std::ops::Range;

use parquet::arrow::arrow_reader::RowSelection;

use crate::error::{Error, Result};

/// A window: rows to pass over first, then rows to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) gap: usize,
    pub(super) rows: usize,
}

/// Cuts the rows of a row group that are left after pruning into windows.
#[derive(Debug)]
pub(super) struct Windows {
    ranges: std::vec::IntoIter<Range<usize>>,
    range: Range<usize>,
    /// The row after the last window.
    position: usize,
    window_rows: usize,
}

impl Windows {
    /// # Errors
    /// If `selection` reaches beyond `rows`.
    pub(super) fn new(rows: usize, selection: Option<&RowSelection>, window_rows: usize) -> Result<Self> {
        let mut ranges = Vec::new();
        match selection {
            None => ranges.push(0..rows),
            Some(selection) => {
                let mut row: usize = 0;
                for selector in selection.iter() {
                    let end = row.checked_add(selector.row_count).filter(|end| *end <= rows).ok_or_else(|| {
                        Error::unsupported(format!("a row selection reaches beyond the {rows} rows of the row group"))
                    })?;
                    if !selector.skip && selector.row_count > 0 {
                        ranges.push(row..end);
                    }
                    row = end;
                }
            }
        }
        Ok(Self { ranges: ranges.into_iter(), range: 0..0, position: 0, window_rows })
    }
}

impl Windows {
    /// Takes the last `rows` rows of the last window back.
    pub(super) fn give_back(&mut self, rows: usize) {
        self.range.start -= rows;
        self.position -= rows;
    }

    /// Cuts windows of up to `rows` rows from here on.
    pub(super) fn set_rows(&mut self, rows: usize) {
        self.window_rows = rows;
    }
}

impl Iterator for Windows {
    type Item = Window;

    fn next(&mut self) -> Option<Window> {
        while self.range.is_empty() {
            self.range = self.ranges.next()?;
        }
        let rows = self.range.len().min(self.window_rows);
        let window = Window { gap: self.range.start - self.position, rows };
        self.range.start += rows;
        self.position = self.range.start;
        Some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::arrow::arrow_reader::RowSelector;

    #[test]
    fn cuts_and_gaps() {
        let selection = RowSelection::from(vec![
            RowSelector::skip(3),
            RowSelector::select(5),
            RowSelector::skip(10),
            RowSelector::select(2),
        ]);
        let windows: Vec<_> = Windows::new(20, Some(&selection), 4).unwrap().collect();
        let window = |gap, rows| Window { gap, rows };
        assert_eq!(windows, [window(3, 4), window(0, 1), window(10, 2)]);
        let mut windows = Windows::new(20, Some(&selection), 1).unwrap();
        assert_eq!(windows.next(), Some(window(3, 1)));
        windows.set_rows(4);
        assert_eq!(windows.next(), Some(window(0, 4)));
        windows.give_back(1);
        assert_eq!(windows.collect::<Vec<_>>(), [window(0, 1), window(10, 2)]);
        assert_eq!(Windows::new(9, None, 4).unwrap().map(|w| w.rows).collect::<Vec<_>>(), [4, 4, 1]);
        assert_eq!(Windows::new(0, None, 4).unwrap().count(), 0);
        assert!(Windows::new(19, Some(&selection), 4).is_err());
    }
}
