//! How the bytes of a row group are divided into requests.

use std::ops::Range;

use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use super::chunks::{chunk_range, page_starts};
use crate::error::{Error, Result};
use crate::page::PageStart;

/// Bytes of a row group below which it is not divided.
const LEAST_SLICE: usize = 8 << 20;

/// Bytes that are asked for at once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) extents: Vec<Extent>,
}

/// Bytes of one column chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) leaf: usize,
    /// Where they begin in the chunk.
    pub(super) offset: usize,
    /// Where they are in the file.
    pub(super) range: Range<u64>,
    /// The row after those that need them.
    pub(super) end_row: usize,
}

impl Extent {
    pub(super) fn bytes(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }
}

impl Part {
    /// Whether byte `position` of the chunk of `leaf` is among them.
    pub(super) fn brings(&self, leaf: usize, position: usize) -> bool {
        let has = |extent: &Extent| {
            extent.leaf == leaf && (extent.offset..extent.offset + extent.bytes()).contains(&position)
        };
        self.extents.iter().any(has)
    }

    pub(super) fn bytes(&self) -> usize {
        self.extents.iter().map(Extent::bytes).sum()
    }
}

/// The requests of a row group: one, or by slices of its rows where one would take most of `read_ahead`. Of columns whose
/// pages are known, those alone that hold a row of `rows`; of `whole` ones, all bytes, in the first part.
pub(super) fn split(
    row_group: &RowGroupMetaData,
    index: Option<&Vec<OffsetIndexMetaData>>,
    rows: Option<&RowSelection>,
    leaves: &[usize],
    whole: &[usize],
    read_ahead: usize,
    file_size: u64,
) -> Result<Vec<Part>> {
    let num_rows = usize::try_from(row_group.num_rows()).map_err(|_| Error::corrupt("negative number of rows"))?;
    let mut columns = Vec::new();
    for (&leaf, is_whole) in whole.iter().map(|leaf| (leaf, true)).chain(leaves.iter().map(|leaf| (leaf, false))) {
        let chunk = chunk_range(row_group, leaf, file_size)?;
        let pages = index.and_then(|index| index.get(leaf)).filter(|_| !is_whole);
        let pages = pages.and_then(|pages| page_starts(row_group, &chunk, pages));
        columns.push((leaf, chunk, pages));
    }
    let selected = selected(rows, num_rows);
    let bytes: u64 = columns.iter().map(|(_, chunk, _)| chunk.end - chunk.start).sum();
    let slices = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil((read_ahead / 2).max(LEAST_SLICE)).max(1);
    let slice_rows = num_rows.div_ceil(slices).max(1);
    let mut parts: Vec<Part> = (0..slices).map(|_| Part::default()).collect();
    // In the order of the file, in which stores merge them.
    columns.sort_by_key(|(_, chunk, _)| chunk.start);
    for (leaf, chunk, pages) in columns {
        let mut add = |slice: usize, run: Range<usize>, end_row: usize| {
            let range = chunk.start + run.start as u64..chunk.start + run.end as u64;
            if !run.is_empty() {
                parts[slice.min(slices - 1)].extents.push(Extent { leaf, offset: run.start, range, end_row });
            }
        };
        let length = (chunk.end - chunk.start) as usize;
        let Some(pages) = pages else {
            add(0, 0..length, num_rows);
            continue;
        };
        // Every row may need the dictionary.
        let has_dictionary = pages.first().is_some_and(|page| page.offset > 0);
        let end_row = |run: &Range<usize>| match pages.binary_search_by_key(&run.end, |page| page.offset) {
            Ok(next) if run.start > 0 || !has_dictionary => pages[next].row,
            _ => num_rows,
        };
        let mut run: Option<(usize, Range<usize>)> = None;
        for (slice, page) in wanted(&pages, &selected, slice_rows) {
            match &mut run {
                Some((of, run)) if *of == slice && run.end == page.start => run.end = page.end,
                _ => {
                    if let Some((slice, run)) = run.replace((slice, page)) {
                        let end = end_row(&run);
                        add(slice, run, end);
                    }
                }
            }
        }
        if let Some((slice, run)) = run {
            let end = end_row(&run);
            add(slice, run, end);
        }
    }
    parts.retain(|part| !part.extents.is_empty());
    Ok(parts)
}

/// The ranges of rows that are selected.
pub(super) fn selected(rows: Option<&RowSelection>, num_rows: usize) -> Vec<Range<usize>> {
    let Some(rows) = rows else { return std::iter::once(0..num_rows).collect() };
    let mut row = 0_usize;
    let ranges = rows.iter().map(|selector| {
        let start = row;
        row = row.saturating_add(selector.row_count);
        if selector.skip { 0..0 } else { start..row }
    });
    ranges.filter(|range| !range.is_empty()).collect()
}

/// Whether any of `rows` is selected.
pub(super) fn selects(selected: &[Range<usize>], rows: Range<usize>) -> bool {
    let next = selected.partition_point(|range| range.end <= rows.start);
    selected.get(next).is_some_and(|range| range.start < rows.end)
}

/// The slice and the bytes of each page that holds a selected row, and of the dictionary before them.
fn wanted(pages: &[PageStart], selected: &[Range<usize>], slice_rows: usize) -> Vec<(usize, Range<usize>)> {
    let mut found: Vec<(usize, Range<usize>)> = Vec::new();
    for pair in pages.windows(2) {
        if selects(selected, pair[0].row..pair[1].row) {
            found.push((pair[0].row / slice_rows, pair[0].offset..pair[1].offset));
        }
    }
    if let (Some(&(slice, ref first)), Some(dictionary)) = (found.first(), pages.first().map(|page| page.offset)) {
        if dictionary == first.start {
            found[0].1.start = 0;
        } else if dictionary > 0 {
            found.insert(0, (slice, 0..dictionary));
        }
    }
    found
}
