//! The scan as a stream: feed and engine, one row group after another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use arrow::array::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::engine::{Engine, Step};
use super::feed::{Feed, Open};
use super::memory::Reserved;
use super::{Admission, Counters, Fetch, Gate, Scan};
use crate::column::PageCounts;
use crate::error::Result;

struct Driver {
    file: Arc<str>,
    engine: Engine,
    feed: Feed,
    /// What the engine holds.
    memory: Reserved,
    phase: Phase,
    counters: Arc<Counters>,
    counted: PageCounts,
    /// When the last batch was handed on, and its rows.
    handed: Option<(Instant, usize)>,
}

enum Phase {
    /// Before a row group, and between two.
    Between,
    Within,
    /// What is left when all row groups are done.
    Rest(VecDeque<RecordBatch>),
}

impl Scan {
    /// Reads: batches of the projected columns with the rows that pass all conditions, in the order of the file.
    ///
    /// `gate` is asked before each row group. The first error ends the stream. What requests cost time run as tasks of the
    /// present runtime, which end with the stream.
    pub fn into_stream(
        self,
        fetch: Box<dyn Fetch>,
        gate: Option<Box<dyn Gate>>,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        let file = Arc::clone(&self.file);
        let driver = match Driver::new(self, fetch, gate) {
            Ok(driver) => driver,
            Err(error) => return futures::stream::iter([Err(error.in_file(&file))]).boxed(),
        };
        futures::stream::try_unfold(driver, |mut driver| async move {
            match driver.next().await {
                Ok(Some(batch)) => {
                    driver.handed = Some((Instant::now(), batch.num_rows()));
                    Ok(Some((batch, driver)))
                }
                Ok(None) => Ok(None),
                Err(error) => Err(error.at_row_group(driver.feed.row_group()).in_file(&driver.file)),
            }
        })
        .boxed()
    }
}

impl Driver {
    fn new(mut scan: Scan, fetch: Box<dyn Fetch>, gate: Option<Box<dyn Gate>>) -> Result<Self> {
        let engine = Engine::new(&mut scan, gate.is_some())?;
        let feed = Feed {
            fetch,
            gate,
            version: 0,
            budget: Arc::clone(&scan.budget),
            metadata: scan.metadata,
            file_size: scan.file_size,
            read_ahead: scan.read_ahead_bytes,
            may_end_early: scan.limit.is_some(),
            leaves: engine.leaves(),
            projected: engine.projected_leaves(),
            whole: engine.whole_leaves(),
            counters: Arc::clone(&scan.counters),
            row_groups: scan.row_groups.into(),
            planned: VecDeque::new(),
            open: Open::default(),
            held: Arc::new(AtomicUsize::new(0)),
            traffic: Arc::default(),
        };
        Ok(Self {
            file: scan.file,
            engine,
            feed,
            memory: Reserved::new(&scan.budget, 0)?,
            phase: Phase::Between,
            counters: scan.counters,
            counted: PageCounts::default(),
            handed: None,
        })
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some((start, rows)) = self.handed.take() {
            self.engine.note_above(start.elapsed().as_secs_f64() * 1e9, rows);
        }
        loop {
            match &mut self.phase {
                Phase::Rest(batches) => return Ok(batches.pop_front()),
                Phase::Within => {
                    let step = match self.feed.changed()? {
                        None => self.engine.step(&mut self.feed).await?,
                        Some(Admission::Skip) => self.engine.end_row_group(&mut self.feed).await?,
                        Some(Admission::Enter(more)) => {
                            let batch = self.engine.change_conditions(&more, &mut self.feed).await?;
                            batch.map_or(Step::Working, Step::Batch)
                        }
                    };
                    self.reserve()?;
                    match step {
                        Step::Batch(batch) => return Ok(Some(batch)),
                        // Rows that do not survive cost time too: others get their turn.
                        Step::Working => tokio::task::yield_now().await,
                        Step::RowGroupDone => {
                            self.count_pages();
                            self.phase = Phase::Between;
                        }
                    }
                }
                Phase::Between => {
                    let next = if self.engine.is_satisfied() { None } else { self.feed.next_row_group()? };
                    self.phase = match next {
                        Some(next) => {
                            self.engine.start_row_group(&next.row_group, &next.more, &mut self.feed).await?;
                            Phase::Within
                        }
                        None => {
                            self.feed.close();
                            Phase::Rest(self.engine.finish(&mut self.feed).await?.into())
                        }
                    };
                }
            }
        }
    }

    /// Accounts for what the engine holds by now; what was fetched ahead makes room for it.
    fn reserve(&mut self) -> Result<()> {
        let columns: usize = self.engine.memory().map(|(_, bytes)| bytes).sum();
        let bytes = columns + self.engine.other_memory();
        while let Err(error) = self.memory.resize(bytes) {
            if !self.feed.shed() {
                let largest = self.engine.memory().max_by_key(|(_, bytes)| *bytes);
                return Err(largest.into_iter().fold(error, |error, (path, _)| error.at_column(path)));
            }
        }
        Ok(())
    }

    fn count_pages(&mut self) {
        for (leaf, counts) in self.engine.page_counts_of_leaves() {
            self.feed.note_pages(leaf, counts.read);
        }
        let counts = self.engine.page_counts();
        self.counters.pages_read.add(counts.read - self.counted.read);
        self.counters.pages_skipped.add(counts.skipped - self.counted.skipped);
        self.counters.bytes_decompressed.add(counts.bytes - self.counted.bytes);
        self.counters.miniblocks_decided.add(counts.decided - self.counted.decided);
        self.counters.miniblocks_unpacked.add(counts.unpacked - self.counted.unpacked);
        self.counted = counts;
    }
}
