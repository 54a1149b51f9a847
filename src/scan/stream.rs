//! The scan as a stream: gate, fetch, engine, one row group after another.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;
use parquet::file::metadata::ParquetMetaData;

use super::chunks::{check_counts, chunk_range};
use super::engine::{Engine, Step};
use super::{Admission, Counters, Fetch, Gate, RowGroup, Scan};
use crate::column::PageCounts;
use crate::error::{Error, Result};

struct Driver {
    file: Arc<str>,
    file_size: u64,
    metadata: Arc<ParquetMetaData>,
    engine: Engine,
    row_groups: VecDeque<RowGroup>,
    fetch: Box<dyn Fetch>,
    gate: Option<Box<dyn Gate>>,
    /// Whether the engine is within a row group, and which.
    open: Option<usize>,
    /// What is left when all row groups are done.
    rest: Option<VecDeque<RecordBatch>>,
    counters: Arc<Counters>,
    counted: PageCounts,
}

impl Scan {
    /// Reads: batches of the projected columns with the rows that pass all conditions, in the order of the file.
    ///
    /// `gate` is asked before each row group. The first error ends the stream.
    pub fn into_stream(
        mut self,
        fetch: Box<dyn Fetch>,
        gate: Option<Box<dyn Gate>>,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        let file = Arc::clone(&self.file);
        let engine = match Engine::new(&mut self) {
            Ok(engine) => engine,
            Err(error) => return futures::stream::iter([Err(error.in_file(&file))]).boxed(),
        };
        let driver = Driver {
            file,
            file_size: self.file_size,
            metadata: self.metadata,
            engine,
            row_groups: self.row_groups.into(),
            fetch,
            gate,
            open: None,
            rest: None,
            counters: self.counters,
            counted: PageCounts::default(),
        };
        futures::stream::try_unfold(driver, |mut driver| async move {
            match driver.next().await {
                Ok(batch) => Ok(batch.map(|batch| (batch, driver))),
                Err(error) => {
                    let error = driver.open.into_iter().fold(error, |error, index| error.at_row_group(index));
                    Err(error.in_file(&driver.file))
                }
            }
        })
        .boxed()
    }
}

impl Driver {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(rest) = &mut self.rest {
                return Ok(rest.pop_front());
            }
            if self.open.is_some() {
                match self.engine.step()? {
                    Step::Batch(batch) => return Ok(Some(batch)),
                    // Rows that do not survive cost time too: others get their turn.
                    Step::Working => tokio::task::yield_now().await,
                    Step::RowGroupDone => {
                        self.open = None;
                        self.count_pages();
                    }
                }
                continue;
            }
            match self.row_groups.pop_front() {
                Some(row_group) if !self.engine.is_satisfied() => self.open(row_group).await?,
                _ => self.rest = Some(self.engine.finish()?.into()),
            }
        }
    }

    async fn open(&mut self, row_group: RowGroup) -> Result<()> {
        let index = row_group.index;
        self.open = Some(index);
        if index >= self.metadata.num_row_groups() {
            return Err(Error::unsupported(format!("a file of {} row groups", self.metadata.num_row_groups())));
        }
        let more = match self.gate.as_mut().map(|gate| gate.enter(index)).transpose()? {
            None => Vec::new(),
            Some(Admission::Enter(more)) => more,
            Some(Admission::Skip) => {
                self.open = None;
                return Ok(());
            }
        };
        let metadata = self.metadata.row_group(index);
        check_counts(metadata)?;
        if metadata.num_rows() == 0 {
            // Its chunks need not be there.
            self.open = None;
            return Ok(());
        }
        let mut leaves = self.engine.leaves();
        leaves.sort_unstable();
        let ranges: Vec<_> =
            leaves.iter().map(|&leaf| chunk_range(metadata, leaf, self.file_size)).collect::<Result<_>>()?;
        let bytes = if ranges.is_empty() { Vec::new() } else { self.fetch.fetch(ranges.clone()).await? };
        for (range, bytes) in ranges.iter().zip(&bytes) {
            if bytes.len() as u64 != range.end - range.start {
                return Err(Error::corrupt(format!(
                    "the store returned {} bytes for {}..{}",
                    bytes.len(),
                    range.start,
                    range.end
                )));
            }
            self.counters.bytes_fetched.add(bytes.len());
        }
        let chunks = leaves.into_iter().zip(bytes).collect();
        self.engine.start_row_group(&row_group, chunks, &more)
    }

    fn count_pages(&mut self) {
        let counts = self.engine.page_counts();
        self.counters.pages_read.add(counts.read - self.counted.read);
        self.counters.pages_skipped.add(counts.skipped - self.counted.skipped);
        self.counters.bytes_decompressed.add(counts.bytes - self.counted.bytes);
        self.counted = counts;
    }
}
