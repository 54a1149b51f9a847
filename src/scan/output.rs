//! From survivors to batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, GenericByteViewArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::Buffer;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{ByteViewType, DataType, Schema, SchemaRef};

use super::engine::ScanColumn;
use super::feed::Feed;
use super::residuals::Kept;
use crate::error::{Error, Result};
use crate::predicate::Selection;

/// What late columns have to do when the residuals have spoken.
enum Lag {
    Pass(usize),
    Window(Box<Selection>),
}

/// Rows that are gathered and not yet a batch.
#[derive(Default)]
pub(super) struct Survivors {
    rows: usize,
    /// For late columns, if there are any.
    lags: Option<Vec<Lag>>,
}

impl Survivors {
    /// Tells from here on what late columns have to do, if there are any; nothing is gathered, and none lags behind.
    pub(super) fn follow(&mut self, late: bool) {
        self.lags = late.then(Vec::new);
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// `rows` rows without survivor.
    pub(super) fn pass(&mut self, rows: usize) {
        if let Some(lags) = &mut self.lags {
            match lags.last_mut() {
                Some(Lag::Pass(passed)) => *passed += rows,
                _ => lags.push(Lag::Pass(rows)),
            }
        }
    }

    /// A window with `count` survivors.
    pub(super) fn append(&mut self, selection: &Selection, count: usize) {
        self.rows += count;
        if let Some(lags) = &mut self.lags {
            lags.push(Lag::Window(Box::new(selection.clone())));
        }
    }

    pub(super) fn take(&mut self) -> Gathered {
        Gathered {
            rows: std::mem::take(&mut self.rows),
            lags: self.lags.as_mut().map(std::mem::take).unwrap_or_default(),
        }
    }
}

/// The survivors of one batch.
pub(super) struct Gathered {
    pub(super) rows: usize,
    lags: Vec<Lag>,
}

impl Gathered {
    /// Has a late column catch up: it appends the survivors that are `kept`.
    pub(super) async fn replay(&self, column: &mut ScanColumn, kept: Option<&Kept>, feed: &mut Feed) -> Result<()> {
        let mut offset = 0;
        for lag in &self.lags {
            match lag {
                Lag::Pass(rows) => column.reader.skip(*rows),
                Lag::Window(selection) => match kept {
                    None => column.append(selection, feed).await?,
                    Some(kept) => {
                        column.append(&kept.refine(selection, offset), feed).await?;
                        offset += selection.count();
                    }
                },
            }
        }
        Ok(())
    }
}

/// Arranges arrays into batches.
pub(super) struct Output {
    schema: SchemaRef,
    projection: Vec<usize>,
    /// Makes full batches of short ones.
    coalescer: Option<BatchCoalescer>,
    /// Batches of more rows are handed on as they are: they are not worth a copy.
    large: usize,
    /// About the bytes of memory that it holds.
    coalesced: usize,
}

impl Output {
    /// `short`: whether batches may come short although more rows follow.
    pub(super) fn new(schema: &Schema, projection: &[usize], batch_size: usize, short: bool) -> Result<Self> {
        let schema: SchemaRef = schema.project(projection)?.into();
        let large = batch_size / 2;
        let coalescer = (short && !projection.is_empty()).then(|| {
            BatchCoalescer::new(SchemaRef::clone(&schema), batch_size).with_biggest_coalesce_batch_size(Some(large))
        });
        Ok(Self { schema, projection: projection.to_vec(), coalescer, large, coalesced: 0 })
    }

    /// A batch that is full already.
    pub(super) fn pop(&mut self) -> Option<RecordBatch> {
        let coalescer = self.coalescer.as_mut()?;
        let completed = coalescer.next_completed_batch();
        if coalescer.is_empty() {
            self.coalesced = 0;
        } else if let Some(completed) = &completed {
            self.coalesced = self.coalesced.saturating_sub(completed.get_array_memory_size());
        }
        completed.map(handed_out)
    }

    /// About the bytes of memory of what is no batch yet.
    pub(super) fn memory(&self) -> usize {
        self.coalesced
    }

    /// Takes the first `rows` rows of the arrays of the projected root columns; a batch, if one is full. `heavy`: what
    /// there is makes one, however few its rows.
    pub(super) fn push(
        &mut self,
        arrays: &HashMap<usize, ArrayRef>,
        rows: usize,
        heavy: bool,
    ) -> Result<Option<RecordBatch>> {
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.projection.iter().map(|root| {
            let array = arrays.get(root).ok_or_else(|| Error::unsupported(format!("column {root} was not read")))?;
            Ok(if array.len() > rows { array.slice(0, rows) } else { ArrayRef::clone(array) })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(SchemaRef::clone(&self.schema), columns, &options)?;
        match &mut self.coalescer {
            None => Ok(Some(batch)),
            Some(coalescer) => {
                // Views that hold little else are not copied into blocks of the coalescer, of which nobody knows how large they are.
                let batch = compacted(batch, 0, usize::MAX);
                self.coalesced += batch.get_array_memory_size();
                if rows > self.large {
                    coalescer.finish_buffered_batch()?;
                }
                coalescer.push_batch(batch)?;
                if heavy {
                    coalescer.finish_buffered_batch()?;
                }
                Ok(self.pop())
            }
        }
    }

    /// What is left.
    pub(super) fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let Some(coalescer) = &mut self.coalescer else { return Ok(Vec::new()) };
        coalescer.finish_buffered_batch()?;
        Ok(std::iter::from_fn(|| coalescer.next_completed_batch()).map(handed_out).collect())
    }
}

/// Bytes of memory that nobody looks after.
const SMALL: usize = 32 << 10;

/// Buffers that an array of views may point into.
const BUFFERS: usize = 64;

/// A full batch as it is handed out.
fn handed_out(batch: RecordBatch) -> RecordBatch {
    compacted(batch, SMALL, BUFFERS)
}

/// `batch`, whose views hold at most twice the memory that they need and `spare` bytes, in at most so many buffers.
fn compacted(batch: RecordBatch, spare: usize, buffers: usize) -> RecordBatch {
    let compact = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8View => compact(array.as_string_view(), spare, buffers),
        DataType::BinaryView => compact(array.as_binary_view(), spare, buffers),
        _ => None,
    };
    let fewer: Vec<Option<ArrayRef>> = batch.columns().iter().map(compact).collect();
    if fewer.iter().all(Option::is_none) {
        return batch;
    }
    let columns = batch.columns().iter().zip(fewer).map(|(array, fewer)| fewer.unwrap_or_else(|| Arc::clone(array)));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    // Of the same types and lengths.
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).unwrap_or(batch)
}

fn compact<T: ByteViewType>(array: &GenericByteViewArray<T>, spare: usize, buffers: usize) -> Option<ArrayRef> {
    let views = array.views().inner();
    let held: usize = array.data_buffers().iter().map(Buffer::capacity).sum();
    let is_greedy = held > 2 * array.total_buffer_bytes_used() + spare
        || views.capacity() > 2 * views.len() + spare
        || array.data_buffers().len() > buffers;
    is_greedy.then(|| Arc::new(array.gc()) as ArrayRef)
}
