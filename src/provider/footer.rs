//! Footers and page indexes: fetched, looked at, and only then given to the parquet crate.
//!
//! What it makes of a footer stands in DataFusion's cache, where the planning and the scans of a session find it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::DataFusionError;
// There are two of this name; DataFusion's planning looks for this one.
use datafusion::datasource::physical_plan::parquet::metadata::CachedParquetMetaData;
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache};
use datafusion::object_store::{ObjectMeta, ObjectStore};
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use parquet::arrow::async_reader::MetadataFetch;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};

use crate::error::{Error, Result};
use crate::page::{check_footer, check_index};

/// What stands behind a footer: its length in four bytes, and the magic.
const TAIL: usize = 8;

/// A file whose footer is wanted.
pub(super) struct FooterSource<'a> {
    pub(super) store: &'a dyn ObjectStore,
    pub(super) object: &'a ObjectMeta,
    /// Bytes at the end of the file that are fetched at once.
    pub(super) size_hint: Option<usize>,
    pub(super) cache: Option<&'a Arc<FileMetadataCache>>,
}

impl FooterSource<'_> {
    /// The footer, from the cache where it was read before; None if it is encrypted. `with_index`: with the page index, as
    /// far as there is a sound one.
    pub(super) async fn load(&self, with_index: bool) -> Result<Option<Arc<ParquetMetaData>>> {
        let mut is_new = false;
        let mut input = Input { source: self, start: self.object.size, end: Bytes::new() };
        let mut footer = match self.cache.and_then(|cache| cached(cache, self.object)) {
            Some(footer) => footer,
            None => {
                let Some(bytes) = input.footer().await? else { return Ok(None) };
                check_footer(&bytes)?;
                is_new = true;
                Arc::new(ParquetMetaDataReader::decode_metadata(&bytes)?)
            }
        };
        if with_index && !has_index(&footer) && index_ranges(&footer).next().is_some() {
            is_new = true;
            footer = match with_page_index(&footer, self.object.size, &mut input).await {
                Ok(footer) => footer,
                // The index only helps.
                Err(_) => Arc::new(without_index(&footer)?),
            };
        }
        if is_new && let Some(cache) = self.cache {
            let metadata = Arc::new(CachedParquetMetaData::new(Arc::clone(&footer)));
            cache.put(&self.object.location, CachedFileMetadataEntry::new(self.object.clone(), metadata));
        }
        Ok(Some(footer))
    }

    async fn bytes(&self, range: Range<u64>) -> Result<Bytes> {
        let length = range.end - range.start;
        let fetched = self.store.get_ranges(&self.object.location, &[range]).await;
        let fetched = fetched.map_err(|error| Error::external(DataFusionError::from(error)))?;
        match fetched.into_iter().next() {
            Some(bytes) if bytes.len() as u64 == length => Ok(bytes),
            _ => Err(Error::corrupt(format!("the file is shorter than the {} bytes it should have", self.object.size))),
        }
    }
}

/// The footer of `object`, if it stands in `cache`.
pub(super) fn cached(cache: &Arc<FileMetadataCache>, object: &ObjectMeta) -> Option<Arc<ParquetMetaData>> {
    let entry = cache.get(&object.location).filter(|entry| entry.is_valid_for(object))?;
    let metadata = entry.file_metadata.as_any().downcast_ref::<CachedParquetMetaData>()?;
    Some(Arc::clone(metadata.parquet_metadata()))
}

/// A file, and the end of it that was fetched with the footer.
struct Input<'a> {
    source: &'a FooterSource<'a>,
    /// Where `end` begins in the file.
    start: u64,
    end: Bytes,
}

impl Input<'_> {
    async fn bytes(&self, range: Range<u64>) -> Result<Bytes> {
        let local = |position: u64| usize::try_from(position.checked_sub(self.start)?).ok();
        let there = local(range.start).zip(local(range.end)).filter(|(from, to)| from <= to && *to <= self.end.len());
        match there {
            Some((from, to)) => Ok(self.end.slice(from..to)),
            None => self.source.bytes(range).await,
        }
    }

    /// The bytes of the footer; None if it is encrypted.
    async fn footer(&mut self) -> Result<Option<Bytes>> {
        let size = self.source.object.size;
        if size < TAIL as u64 {
            return Err(Error::corrupt(format!("a file of {size} bytes is no Parquet file")));
        }
        self.start = size.saturating_sub(self.source.size_hint.unwrap_or(0).max(TAIL) as u64);
        self.end = self.source.bytes(self.start..size).await?;
        let Some(tail) = self.end.last_chunk::<TAIL>() else {
            return Err(Error::corrupt("the file is too short"));
        };
        let [length @ .., _, _, _, _] = tail;
        let length = u64::from(u32::from_le_bytes(*length));
        match &tail[4..] {
            b"PAR1" => {}
            b"PARE" => return Ok(None),
            _ => return Err(Error::corrupt("no Parquet file: it does not end in PAR1")),
        }
        let end = size - TAIL as u64;
        let Some(start) = end.checked_sub(length) else {
            return Err(Error::corrupt(format!("footer of {length} bytes in a file of {size} bytes")));
        };
        self.bytes(start..end).await.map(Some)
    }
}

impl MetadataFetch for &mut Input<'_> {
    fn fetch(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.bytes(range).map_err(|error| ParquetError::External(Box::new(error))).boxed()
    }
}

fn has_index(footer: &ParquetMetaData) -> bool {
    footer.column_index().is_some() && footer.offset_index().is_some()
}

fn columns(footer: &ParquetMetaData) -> impl Iterator<Item = &ColumnChunkMetaData> {
    footer.row_groups().iter().flat_map(RowGroupMetaData::columns)
}

/// Offset and length of each index that the footer names.
fn index_ranges(footer: &ParquetMetaData) -> impl Iterator<Item = (i64, i32)> {
    columns(footer)
        .flat_map(|column| {
            [
                column.column_index_offset().zip(column.column_index_length()),
                column.offset_index_offset().zip(column.offset_index_length()),
            ]
        })
        .flatten()
}

/// `footer` with the page index of the file, which has `file_size` bytes.
///
/// # Errors
/// The index is not within the file, or malformed.
async fn with_page_index(
    footer: &Arc<ParquetMetaData>,
    file_size: u64,
    mut input: impl MetadataFetch,
) -> Result<Arc<ParquetMetaData>> {
    if has_index(footer) {
        return Ok(Arc::clone(footer));
    }
    let within = |(offset, length): (i64, i32)| {
        let (start, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
        Some(start..start.checked_add(length)?).filter(|range| range.end <= file_size)
    };
    let ranges: Option<Vec<Range<u64>>> = index_ranges(footer).map(within).collect();
    let Some(ranges) = ranges else { return Err(Error::corrupt("page index that is not within the file")) };
    let start = ranges.iter().map(|range| range.start).min().unwrap_or_default();
    let end = ranges.iter().map(|range| range.end).max().unwrap_or_default();
    if start == end {
        return Ok(Arc::clone(footer));
    }
    let bytes = input.fetch(start..end).await?;
    for range in ranges {
        let slice = usize::try_from(range.start - start).ok().zip(usize::try_from(range.end - start).ok());
        let slice = slice.and_then(|(from, to)| bytes.get(from..to));
        check_index(slice.ok_or_else(|| Error::corrupt("page index that is cut short"))?)?;
    }
    let mut reader = ParquetMetaDataReader::new_with_metadata(footer.as_ref().clone())
        .with_page_index_policy(PageIndexPolicy::Optional);
    reader.load_page_index(Fetched { start, bytes }).await?;
    Ok(Arc::new(reader.finish()?))
}

/// `footer`, which names an index that is broken, without it.
fn without_index(footer: &ParquetMetaData) -> Result<ParquetMetaData> {
    let column = |column: &ColumnChunkMetaData| {
        let builder = column.clone().into_builder().set_column_index_offset(None).set_column_index_length(None);
        builder.set_offset_index_offset(None).set_offset_index_length(None).build()
    };
    let row_group = |row_group: &RowGroupMetaData| {
        let columns = row_group.columns().iter().map(column).collect::<Result<_, _>>()?;
        row_group.clone().into_builder().set_column_metadata(columns).build()
    };
    let row_groups = footer.row_groups().iter().map(row_group).collect::<Result<_, ParquetError>>()?;
    let builder = footer.clone().into_builder().set_row_groups(row_groups);
    Ok(builder.set_column_index(None).set_offset_index(None).build())
}

/// Bytes of a file that were fetched already.
struct Fetched {
    start: u64,
    bytes: Bytes,
}

impl MetadataFetch for Fetched {
    fn fetch(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        let local = |position: u64| usize::try_from(position.checked_sub(self.start)?).ok();
        let bytes = local(range.start)
            .zip(local(range.end))
            .filter(|(from, to)| from <= to && *to <= self.bytes.len())
            .map(|(from, to)| self.bytes.slice(from..to))
            .ok_or_else(|| ParquetError::EOF(format!("bytes {range:?} are not part of the page index")));
        futures::future::ready(bytes).boxed()
    }
}
