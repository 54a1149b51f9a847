//! What the footer says of a row group, held against itself and the length of the file.

use std::ops::Range;
use std::sync::Arc;

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use crate::error::{Error, Result};
use crate::page::PageStart;

/// About the smallest page that there can be. It has at most `i32::MAX` values.
const MIN_PAGE_BYTES: u64 = 20;

/// Checks the counts of a row group: each value of a flat column is a row, and a page holds only so many.
///
/// # Errors
/// Corrupt: a count is negative, contradicts another, or cannot be.
pub(crate) fn check_counts(row_group: &RowGroupMetaData) -> Result<()> {
    let rows = row_group.num_rows();
    if rows < 0 {
        return Err(Error::corrupt(format!("row group of {rows} rows")));
    }
    for column in row_group.columns() {
        let values = column.num_values();
        let wrong = |message: String| Err(Error::corrupt(message).at_column(&column_path(column)));
        if values < 0 || column.column_descr().max_rep_level() == 0 && values != rows {
            return wrong(format!("column chunk of {values} values in a row group of {rows} rows"));
        }
        let pages = u64::try_from(column.compressed_size()).unwrap_or_default().div_ceil(MIN_PAGE_BYTES);
        if u64::try_from(values).unwrap_or_default() > pages.saturating_mul(i32::MAX as u64) {
            return wrong(format!("column chunk of {values} values in {} bytes", column.compressed_size()));
        }
    }
    Ok(())
}

/// Where column chunk `leaf` of a row group lies in a file of `file_size` bytes.
///
/// # Errors
/// Corrupt: not within the file.
pub(super) fn chunk_range(row_group: &RowGroupMetaData, leaf: usize, file_size: u64) -> Result<Range<u64>> {
    let column = row_group.column(leaf);
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
    range.filter(|range| range.end <= file_size).ok_or_else(|| {
        let message = format!(
            "column chunk of {} bytes at offset {start} in a file of {file_size} bytes",
            column.compressed_size()
        );
        Error::corrupt(message).at_column(&column_path(column))
    })
}

/// The path of a column, for errors.
pub(super) fn column_path(column: &ColumnChunkMetaData) -> Arc<str> {
    column.column_path().string().into()
}

/// Where the data pages of a flat column are by its offset index, from the beginning of its `chunk`, and where the last
/// ends; None if the index contradicts itself or the footer.
pub(super) fn page_starts(
    row_group: &RowGroupMetaData,
    chunk: &Range<u64>,
    index: &OffsetIndexMetaData,
) -> Option<Vec<PageStart>> {
    let locations = index.page_locations();
    let mut pages = Vec::with_capacity(locations.len() + 1);
    for location in locations {
        let offset = u64::try_from(location.offset).ok()?.checked_sub(chunk.start)?;
        let row = usize::try_from(location.first_row_index).ok()?;
        pages.push(PageStart { offset: usize::try_from(offset).ok()?, row });
    }
    let length = usize::try_from(chunk.end - chunk.start).ok()?;
    pages.push(PageStart { offset: length, row: usize::try_from(row_group.num_rows()).ok()? });
    let follows = |pair: &[PageStart]| pair[0].offset < pair[1].offset && pair[0].row <= pair[1].row;
    (pages.len() > 1 && pages[0].row == 0 && pages.windows(2).all(follows)).then_some(pages)
}
