//! Columns that are not read here: through the parquet crate, a row group at a time, under our selection.

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::Part;
use crate::error::{Error, Result};
use crate::page::{Codec, Limits, check_headers};

/// The columns of a scan that go through the parquet crate.
pub(super) struct Fallback {
    metadata: ArrowReaderMetadata,
    /// In the order of the file, which is that of the reader's batches.
    roots: Vec<usize>,
    leaves: Vec<usize>,
    limits: Limits,
    reader: Option<ParquetRecordBatchReader>,
    /// Whether the reader may pass over rows: where repetition levels end early, the parquet crate would do so forever.
    skips: bool,
    /// The selection, where the reader does not know it.
    selectors: VecDeque<RowSelector>,
    read: VecDeque<RecordBatch>,
}

impl Fallback {
    /// # Errors
    /// If the parquet crate does not deliver the file in `schema`.
    pub(super) fn new(
        metadata: &Arc<ParquetMetaData>,
        schema: &SchemaRef,
        mut roots: Vec<usize>,
        parts: &[Part],
        limits: Limits,
    ) -> Result<Self> {
        roots.sort_unstable();
        let options = ArrowReaderOptions::new().with_schema(SchemaRef::clone(schema));
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata), options)?;
        let descriptor = metadata.parquet_schema();
        let leaves_of = |root: usize| {
            let all = (0..descriptor.num_columns()).filter(move |&leaf| descriptor.get_column_root_idx(leaf) == root);
            let part = parts.iter().find(|part| part.root == root);
            all.enumerate()
                .filter(move |(nth, _)| part.is_none_or(|part| part.leaves.contains(nth)))
                .map(|(_, leaf)| leaf)
        };
        let leaves: Vec<usize> = roots.iter().copied().flat_map(leaves_of).collect();
        let skips = leaves.iter().all(|leaf| descriptor.column(*leaf).max_rep_level() == 0);
        let (selectors, read) = (VecDeque::new(), VecDeque::new());
        Ok(Self { metadata, roots, leaves, limits, reader: None, skips, selectors, read })
    }

    pub(super) fn roots(&self) -> &[usize] {
        &self.roots
    }

    pub(super) fn leaves(&self) -> &[usize] {
        &self.leaves
    }

    /// Bytes of memory of what was read and not yet taken.
    pub(super) fn memory(&self) -> usize {
        self.read.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    /// Looks at the chunks of a row group before anything is sized by what they promise.
    pub(super) fn check(&self, row_group: usize, chunks: &HashMap<usize, Bytes>) -> Result<()> {
        let columns = self.metadata.metadata().row_group(row_group).columns();
        self.leaves
            .iter()
            .filter_map(|leaf| Some((&columns[*leaf], chunks.get(leaf)?)))
            .try_for_each(|(column, chunk)| check_chunk(column, chunk, &self.limits))
    }

    /// Goes to the selected rows of a row group.
    pub(super) fn start_row_group(
        &mut self,
        row_group: usize,
        selection: RowSelection,
        chunks: &HashMap<usize, Bytes>,
        batch_size: usize,
    ) -> Result<()> {
        let columns = self.metadata.metadata().row_group(row_group).columns();
        let chunks = self
            .leaves
            .iter()
            .filter_map(|leaf| Some((columns[*leaf].byte_range().0, chunks.get(leaf)?.clone())))
            .collect();
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), self.leaves.iter().copied());
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(Chunks(chunks), self.metadata.clone())
            .with_row_groups(vec![row_group])
            .with_projection(mask)
            .with_batch_size(batch_size);
        if self.skips {
            builder = builder.with_row_selection(selection);
        } else {
            self.selectors = Vec::from(selection).into();
        }
        self.reader = Some(builder.build()?);
        self.read.clear();
        Ok(())
    }

    /// Lets go of the row group's bytes.
    pub(super) fn end_row_group(&mut self) {
        self.reader = None;
        self.selectors.clear();
        self.read.clear();
    }

    /// The selected rows of the reader's next batch.
    fn next_batch(&mut self) -> Result<RecordBatch> {
        let batch = self
            .reader
            .as_mut()
            .and_then(Iterator::next)
            .ok_or_else(|| Error::corrupt("a column chunk has fewer rows than its row group"))??;
        if self.skips {
            return Ok(batch);
        }
        let mut mask = BooleanBufferBuilder::new(batch.num_rows());
        while mask.len() < batch.num_rows()
            && let Some(selector) = self.selectors.front_mut()
        {
            let rows = selector.row_count.min(batch.num_rows() - mask.len());
            mask.append_n(rows, !selector.skip);
            selector.row_count -= rows;
            if selector.row_count == 0 {
                self.selectors.pop_front();
            }
        }
        mask.append_n(batch.num_rows() - mask.len(), false);
        Ok(filter_record_batch(&batch, &BooleanArray::new(mask.finish(), None))?)
    }

    /// The next `rows` selected rows, by root column.
    pub(super) fn take(&mut self, rows: usize) -> Result<Vec<(usize, ArrayRef)>> {
        let mut parts = Vec::new();
        let mut left = rows;
        while left > 0 {
            let batch = match self.read.pop_front() {
                Some(batch) => batch,
                None => self.next_batch()?,
            };
            if batch.num_rows() == 0 {
                continue;
            }
            if batch.num_rows() > left {
                self.read.push_front(batch.slice(left, batch.num_rows() - left));
                parts.push(batch.slice(0, left));
                left = 0;
            } else {
                left -= batch.num_rows();
                parts.push(batch);
            }
        }
        let batch = match parts.as_slice() {
            [batch] => batch.clone(),
            [first, ..] => concat_batches(first.schema_ref(), &parts)?,
            [] => return Ok(Vec::new()),
        };
        Ok(self.roots.iter().copied().zip(batch.columns().iter().cloned()).collect())
    }
}

/// The parquet crate takes memory for a page as its header says.
fn check_chunk(column: &ColumnChunkMetaData, chunk: &Bytes, limits: &Limits) -> Result<()> {
    let values = u64::try_from(column.num_values()).map_err(|_| Error::corrupt("negative number of values"))?;
    let checked = Codec::try_from(column.compression()).and_then(|codec| check_headers(chunk, codec, values, limits));
    checked.map_err(|error| error.at_column(&column.column_path().string().into()))
}

/// Column chunks of a file by their offsets: what was fetched is all that can be read.
struct Chunks(Vec<(u64, Bytes)>);

impl Chunks {
    fn from(&self, start: u64) -> parquet::errors::Result<Bytes> {
        self.0
            .iter()
            .find_map(|(offset, bytes)| {
                let skip = usize::try_from(start.checked_sub(*offset)?).ok()?;
                (skip < bytes.len()).then(|| bytes.slice(skip..))
            })
            .ok_or_else(|| ParquetError::EOF(format!("offset {start} is in no column chunk that was fetched")))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.iter().map(|(offset, bytes)| offset + bytes.len() as u64).max().unwrap_or_default()
    }
}

impl ChunkReader for Chunks {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(Box::new(self.from(start)?.reader()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.from(start)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{length} bytes at offset {start} cross the end of a column chunk")));
        }
        Ok(bytes.slice(..length))
    }
}
