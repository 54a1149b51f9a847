//! One row group after another, window by window: predicates, survivors, batches. Knows bytes, not where they come from.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::chunks::column_path;
use super::fallback::Fallback;
use super::feed::Feed;
use super::filter::Filter;
use super::output::{Output, Survivors};
use super::residuals::{BoundResidual, Spared, apply_residuals};
use super::windows::{Window, Windows};
use super::{Conditions, Counters, Part, RowGroup, Scan};
use crate::column::{self, Column, ColumnKind, PageCounts};
use crate::error::{Error, Result};
use crate::page::{Chunk, Codec, Limits, PageReader};
use crate::predicate::{Predicate, Selection, Verdict, WINDOW_ROWS};

/// Windows after which a step returns, so that a scan that finds nothing does not hold its thread: some hundred
/// microseconds.
const WINDOWS_PER_STEP: usize = 32;

/// Rows of a window where strings are long, or may be, and where headers decide on some of a longer one.
pub(super) const SHORT_WINDOW: usize = 1024;

/// Bytes of strings a row in one column from which on they are long.
const LONG_STRINGS: usize = 1024;

/// Bytes of strings in one column at which a batch is handed out although more rows would fit.
const FULL_BATCH_BYTES: usize = 64 << 20;

/// A column that the scan reads itself.
pub(super) struct ScanColumn {
    pub(super) reader: Box<dyn Column>,
    /// Index of the root column.
    pub(super) root: usize,
    pub(super) kind: ColumnKind,
    pub(super) role: Role,
    /// Whether the present window was read.
    pub(super) in_window: bool,
}

/// When survivors of a column are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Never: only predicates look at it.
    Filtered,
    /// As soon as the predicates have spoken.
    Early,
    /// After the residuals have.
    Late,
}

impl ScanColumn {
    /// Reads the next window, unless that was done: of its rows those that are selected will do.
    pub(super) async fn read_window(&mut self, selection: &Selection, feed: &mut Feed) -> Result<()> {
        if !self.in_window {
            self.prepare(0, selection.len(), feed).await?;
            self.reader.read_window(selection)?;
            self.in_window = true;
        }
        Ok(())
    }

    /// Which of the next `rows` rows meet the condition in `slot`, as far as it can be told without reading them.
    pub(super) async fn verdict(&mut self, slot: usize, rows: usize, feed: &mut Feed) -> Result<Verdict> {
        if self.in_window {
            return Ok(Verdict::Some);
        }
        self.prepare(0, rows, feed).await?;
        self.reader.verdict(slot, rows)
    }

    /// Reads the next `selection.len()` rows and keeps those that meet the condition in `slot`, the only one that looks at them.
    pub(super) async fn filter_unread(
        &mut self,
        slot: usize,
        selection: &mut Selection,
        feed: &mut Feed,
    ) -> Result<()> {
        self.prepare(0, selection.len(), feed).await?;
        self.in_window = true;
        self.reader.filter_unread(slot, selection)
    }

    /// Reads the next `selection.len()` rows and appends the selected ones to the array that is being built.
    pub(super) async fn append(&mut self, selection: &Selection, feed: &mut Feed) -> Result<()> {
        if let Some((first, last)) = selection.bounds() {
            self.prepare(first, last + 1 - first, feed).await?;
        }
        self.reader.append(selection)
    }

    /// Has the bytes there that `rows` more rows need once `skip` are passed, and the first large page of them decompressed,
    /// which does not hold up others on this thread.
    async fn prepare(&mut self, skip: usize, rows: usize, feed: &mut Feed) -> Result<()> {
        while let Some(range) = self.reader.missing(skip, rows)? {
            let piece = feed.piece(self.kind.leaf, range).await;
            let (offset, bytes) = piece.map_err(|error| error.at_column(&self.kind.path))?;
            self.reader.supply(offset, bytes);
        }
        if let Some(page) = self.reader.large_page(skip, rows) {
            let decompressed = tokio::task::spawn_blocking(|| page.decompress()).await.map_err(Error::external)?;
            // What is wrong with it is said when it is read.
            if let Ok(page) = decompressed {
                self.reader.supply_page(page);
            }
        }
        Ok(())
    }
}

/// What a step came to.
pub(super) enum Step {
    /// A batch.
    Batch(RecordBatch),
    /// Nothing yet.
    Working,
    /// The row group is at its end.
    RowGroupDone,
}

/// What happens to the windows of the present row group.
enum Phase {
    /// Predicates, then survivors, window by window.
    Filter(Windows),
    /// Predicates alone: columns that are not read here need the selection of the whole row group first.
    Select(Windows, Vec<(Window, Selection)>),
    /// Survivors of the windows that [`Phase::Select`] has left.
    Gather(std::vec::IntoIter<(Window, Selection)>),
    /// Between row groups.
    Idle,
}

/// The scan of one file, without its input and output.
pub(super) struct Engine {
    metadata: Arc<ParquetMetaData>,
    /// The columns of the file as residuals see them.
    schema: SchemaRef,
    /// Root columns that are delivered.
    projection: Vec<usize>,
    predicates: Vec<Predicate>,
    columns: Vec<ScanColumn>,
    column_of_root: HashMap<usize, usize>,
    filter: Filter,
    residuals: Vec<BoundResidual>,
    fallback: Option<Fallback>,
    output: Output,
    survivors: Survivors,
    phase: Phase,
    row_group: usize,
    /// Rows of the row group that are done, but for late columns.
    row: usize,
    /// Rows that late columns have passed.
    late_row: usize,
    chunks: HashMap<usize, Bytes>,
    limits: Limits,
    verify_checksums: bool,
    batch_size: usize,
    window_rows: usize,
    /// Whether strings were long when they were read last.
    has_long_strings: bool,
    /// Whether those of the row group are by its metadata.
    may_have_long_strings: bool,
    /// Whether batches end with their row group.
    by_row_group: bool,
    /// Rows that may still be delivered.
    remaining: usize,
    /// As measured of the last batches.
    spared: Spared,
    counters: Arc<Counters>,
}

impl Engine {
    /// `gated`: whether there may be more conditions, which come and go.
    pub(super) fn new(scan: &mut Scan, gated: bool) -> Result<Self> {
        let residuals = std::mem::take(&mut scan.residuals);
        let early: Vec<usize> = residuals.iter().flat_map(|residual| residual.columns()).copied().collect();
        let mut columns: Vec<ScanColumn> = Vec::new();
        let mut column_of_root = HashMap::new();
        let mut fallback = Vec::new();
        let filtered: Vec<usize> = scan.predicates.iter().flat_map(Predicate::columns).collect();
        for &root in filtered.iter().chain(&early).chain(&scan.projection) {
            if column_of_root.contains_key(&root) || fallback.contains(&root) {
                continue;
            }
            let field = scan.schema.fields().get(root).ok_or_else(|| {
                Error::unsupported(format!("column {root} of a file of {} columns", scan.schema.fields().len()))
            })?;
            let Some(kind) = ColumnKind::of(&scan.metadata, root, field) else {
                fallback.push(root);
                continue;
            };
            column_of_root.insert(root, columns.len());
            let reader = column::open(&kind, &scan.limits)?;
            columns.push(ScanColumn { reader, root, kind, role: Role::Filtered, in_window: false });
        }
        let fallback = (!fallback.is_empty())
            .then(|| Fallback::new(&scan.metadata, &scan.schema, fallback, &scan.parts, scan.limits))
            .transpose()?;
        let schema = delivered(&scan.schema, &scan.parts);
        let residuals = residuals.into_iter().map(|residual| BoundResidual::new(residual, &schema, false));
        let residuals = residuals.collect::<Result<Vec<_>>>()?;
        let batch_size = scan.batch_size.max(1);
        // Late columns and those that are not read here cannot wait for the next row group, and small dictionaries have no
        // room for the values of two.
        let few_keys = columns.iter().any(|column| column.kind.has_few_keys());
        let has_strings = columns
            .iter()
            .any(|column| column.kind.physical == PhysicalType::BYTE_ARRAY || column.kind.width > LONG_STRINGS);
        let short = !residuals.is_empty() || fallback.is_some() || gated;
        let output = Output::new(&schema, &scan.projection, batch_size, short && !few_keys)?;
        Ok(Self {
            metadata: Arc::clone(&scan.metadata),
            schema,
            projection: scan.projection.clone(),
            predicates: std::mem::take(&mut scan.predicates),
            columns,
            column_of_root,
            filter: Filter::default(),
            residuals,
            fallback,
            output,
            survivors: Survivors::default(),
            phase: Phase::Idle,
            row_group: 0,
            row: 0,
            late_row: 0,
            chunks: HashMap::new(),
            limits: scan.limits,
            verify_checksums: scan.verify_checksums,
            batch_size,
            has_long_strings: false,
            may_have_long_strings: false,
            window_rows: batch_size.min(if has_strings { SHORT_WINDOW } else { WINDOW_ROWS }),
            by_row_group: short || few_keys,
            remaining: scan.limit.unwrap_or(usize::MAX),
            spared: Spared::default(),
            counters: Arc::clone(&scan.counters),
        })
    }

    /// Whether no further row is wanted: the limit is delivered, or gathered and sure to be delivered.
    pub(super) fn is_satisfied(&self) -> bool {
        self.remaining == 0 || self.residuals.is_empty() && self.survivors.rows() >= self.remaining
    }

    /// The leaf columns that are read page by page.
    pub(super) fn leaves(&self) -> Vec<usize> {
        self.columns.iter().filter(|column| !column.kind.continues).map(|column| column.kind.leaf).collect()
    }

    /// Those of them that no predicate reads.
    pub(super) fn projected_leaves(&self) -> Vec<usize> {
        let filtered: Vec<usize> = self.predicates.iter().flat_map(Predicate::columns).collect();
        let others = self.columns.iter().filter(|column| !filtered.contains(&column.root));
        others.map(|column| column.kind.leaf).collect()
    }

    /// The leaf columns of which no page can be passed over unread.
    pub(super) fn whole_leaves(&self) -> Vec<usize> {
        let own = self.columns.iter().filter(|column| column.kind.continues).map(|column| column.kind.leaf);
        own.chain(self.fallback.iter().flat_map(|fallback| fallback.leaves().iter().copied())).collect()
    }

    /// Notes that whoever took the last batch, of `rows` rows, came back after `nanos`.
    pub(super) fn note_above(&mut self, nanos: f64, rows: usize) {
        blend(&mut self.spared.above, nanos, rows);
    }

    /// Starts a row group; `more` are conditions that apply to it besides those of the scan.
    pub(super) async fn start_row_group(
        &mut self,
        row_group: &RowGroup,
        more: &Conditions,
        feed: &mut Feed,
    ) -> Result<()> {
        self.row_group = row_group.index;
        (self.row, self.late_row) = (0, 0);
        let rows = usize::try_from(self.metadata.row_group(row_group.index).num_rows())
            .map_err(|_| Error::corrupt("negative number of rows"))?;
        self.may_have_long_strings = self.has_long_chunk();
        if self.may_have_long_strings {
            self.window_rows = self.window_rows.min(SHORT_WINDOW);
        }
        let windows = Windows::new(rows, row_group.rows.as_ref(), self.window_rows)?;
        for leaf in self.fallback.as_ref().map(|fallback| fallback.leaves().to_vec()).unwrap_or_default() {
            let path = column_path(self.metadata.row_group(self.row_group).column(leaf));
            let chunk = feed.whole(leaf).await.map_err(|error| error.at_column(&path))?;
            self.chunks.insert(leaf, chunk);
        }
        if let Some(fallback) = &self.fallback {
            fallback.check(self.row_group, &self.chunks)?;
        }
        self.set_conditions(more)?;
        self.start_chunks(feed)?;
        self.phase = match &mut self.fallback {
            None => Phase::Filter(windows),
            Some(fallback) => {
                self.counters.fallback_columns.add(fallback.roots().len());
                if self.filter.is_empty() {
                    // Nothing narrows the rows that pruning has left.
                    let rows = row_group.rows.clone().unwrap_or_else(|| vec![RowSelector::select(rows)].into());
                    fallback.start_row_group(self.row_group, rows, &self.chunks, self.batch_size)?;
                    Phase::Filter(windows)
                } else {
                    feed.keep();
                    Phase::Select(windows, Vec::new())
                }
            }
        };
        Ok(())
    }

    /// Applies other conditions than those that [`Self::start_row_group`] was told to the rest of the row group; what was
    /// gathered before may become a batch.
    pub(super) async fn change_conditions(
        &mut self,
        more: &Conditions,
        feed: &mut Feed,
    ) -> Result<Option<RecordBatch>> {
        if self.fallback.is_some() {
            // The parquet crate has been told which rows are wanted.
            return Ok(None);
        }
        // Early columns may become late ones, and the other way round, where both are at one row.
        let batch = self.emit(feed).await?;
        self.set_conditions(more)?;
        Ok(batch)
    }

    /// Binds the conditions of the scan, and `more`, to the columns, of which all have passed the same rows.
    fn set_conditions(&mut self, more: &Conditions) -> Result<()> {
        self.residuals.retain(|bound| !bound.is_optional() || more.residuals.iter().any(|residual| bound.is(residual)));
        for residual in &more.residuals {
            if !self.residuals.iter().any(|bound| bound.is(residual)) {
                self.residuals.push(BoundResidual::new(Arc::clone(residual), &self.schema, true)?);
            }
        }
        let early: Vec<usize> = self.residuals.iter().flat_map(|residual| residual.columns()).copied().collect();
        let predicates = || self.predicates.iter().chain(&more.predicates);
        let filtered: Vec<usize> = predicates().flat_map(Predicate::columns).collect();
        for column in &mut self.columns {
            let delivered = self.projection.contains(&column.root);
            let is_early = early.contains(&column.root)
                || delivered && (self.residuals.is_empty() || filtered.contains(&column.root));
            column.role = if is_early {
                Role::Early
            } else if delivered {
                Role::Late
            } else {
                Role::Filtered
            };
            column.reader.clear_conditions();
            if column.role != Role::Filtered {
                column.reader.need_values();
            }
        }
        self.survivors.follow(self.columns.iter().any(|column| column.role == Role::Late));
        let column_of_root = &self.column_of_root;
        let slot_of = |root: usize| {
            column_of_root
                .get(&root)
                .copied()
                .ok_or_else(|| Error::unsupported(format!("predicate on column {root}, which the scan does not read")))
        };
        self.filter.bind(predicates(), &mut self.columns, slot_of)
    }

    fn start_chunks(&mut self, feed: &mut Feed) -> Result<()> {
        let row_group = self.metadata.row_group(self.row_group);
        for column in &mut self.columns {
            let metadata = row_group.column(column.kind.leaf);
            let pages = feed.chunk(column.kind.leaf).and_then(|chunk| {
                open_pages(metadata, chunk, column.kind.optional, self.limits, self.verify_checksums)
            });
            let pages = pages.map_err(|error| error.at_column(&column.kind.path))?;
            column.reader.start_chunk(pages);
            column.in_window = false;
        }
        Ok(())
    }

    /// Works for a while.
    pub(super) async fn step(&mut self, feed: &mut Feed) -> Result<Step> {
        if !matches!(self.phase, Phase::Select(..)) {
            let late: Vec<usize> =
                self.columns.iter().filter(|column| column.role == Role::Late).map(|column| column.kind.leaf).collect();
            feed.let_go(|leaf| if late.contains(&leaf) { self.late_row } else { self.row });
        }
        if let Some(batch) = self.output.pop() {
            return Ok(Step::Batch(batch));
        }
        for _ in 0..WINDOWS_PER_STEP {
            if self.is_satisfied() {
                return self.end_row_group(feed).await;
            }
            let mut selection;
            let (mut window, is_selected) = match &mut self.phase {
                Phase::Idle => return Ok(Step::RowGroupDone),
                Phase::Filter(windows) => {
                    let Some(window) = windows.next() else { return self.end_row_group(feed).await };
                    selection = Selection::all(window.rows);
                    (window, false)
                }
                Phase::Select(windows, _) => {
                    let Some(window) = windows.next() else {
                        self.start_gathering(feed)?;
                        continue;
                    };
                    selection = Selection::all(window.rows);
                    (window, false)
                }
                Phase::Gather(windows) => {
                    let Some((window, selected)) = windows.next() else { return self.end_row_group(feed).await };
                    selection = selected;
                    (window, true)
                }
            };
            self.pass(window.gap);
            if !is_selected && !self.filter.is_empty() {
                if !self.filter.narrow(&mut self.columns, &mut selection, feed).await? {
                    window.rows = self.shorten(window);
                    selection = Selection::all(window.rows);
                    self.filter.narrow(&mut self.columns, &mut selection, feed).await?;
                }
                self.count_selected(&selection);
            }
            if let Phase::Select(_, selections) = &mut self.phase {
                selections.push((window, selection));
                self.fit_windows();
                self.close_window(window.rows);
                continue;
            }
            if let Some(batch) = self.gather(&mut selection, feed).await? {
                return Ok(Step::Batch(batch));
            }
        }
        Ok(Step::Working)
    }

    /// What is left when there is no further row group.
    pub(super) async fn finish(&mut self, feed: &mut Feed) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        batches.extend(self.emit(feed).await?);
        batches.extend(self.output.finish()?);
        Ok(batches)
    }

    /// Gives the end of a window back, of which nothing was read; the rows that it has then.
    fn shorten(&mut self, window: Window) -> usize {
        if let Phase::Filter(windows) | Phase::Select(windows, _) = &mut self.phase {
            windows.give_back(window.rows - SHORT_WINDOW);
        }
        SHORT_WINDOW
    }

    /// Counts what the predicates have left of a window.
    fn count_selected(&self, selection: &Selection) {
        let kept = selection.count();
        self.counters.rows_pruned.add(selection.len() - kept);
        if kept == 0 {
            self.counters.windows_skipped.add(1);
        } else if self.residuals.is_empty() {
            self.counters.rows_matched.add(kept);
        }
    }

    /// Passes over rows that no predicate needs to see.
    fn pass(&mut self, rows: usize) {
        if rows == 0 {
            return;
        }
        for column in &mut self.columns {
            if column.role != Role::Late {
                column.reader.skip(rows);
            }
        }
        if !matches!(self.phase, Phase::Select(..)) {
            self.survivors.pass(rows);
            self.row += rows;
        }
    }

    /// The columns that did not read the window pass over it.
    fn close_window(&mut self, rows: usize) {
        for column in &mut self.columns {
            if !std::mem::take(&mut column.in_window) && column.role != Role::Late {
                column.reader.skip(rows);
            }
        }
    }

    /// Gathers the survivors of the present window; a batch, if they fill one.
    async fn gather(&mut self, selection: &mut Selection, feed: &mut Feed) -> Result<Option<RecordBatch>> {
        if self.residuals.is_empty() {
            // What is gathered is delivered: the limit can act at once.
            selection.truncate(self.remaining - self.survivors.rows());
        }
        let count = selection.count();
        if count == 0 {
            self.fit_windows();
            self.close_window(selection.len());
            self.survivors.pass(selection.len());
            self.row += selection.len();
            return Ok(None);
        }
        let batch = if self.survivors.rows() + count > self.batch_size { self.emit(feed).await? } else { None };
        for column in &mut self.columns {
            let in_window = std::mem::take(&mut column.in_window);
            match column.role {
                Role::Early if in_window => column.reader.append_window(selection)?,
                Role::Early => column.append(selection, feed).await?,
                Role::Filtered if !in_window => column.reader.skip(selection.len()),
                Role::Filtered | Role::Late => {}
            }
        }
        self.survivors.append(selection, count);
        self.fit_windows();
        self.row += selection.len();
        let rows = self.survivors.rows();
        if batch.is_none() && (rows == self.batch_size || rows >= self.remaining || self.is_heavy()) {
            return self.emit(feed).await;
        }
        Ok(batch)
    }

    /// Whether the values of a column in the row group take that much on the average: some may be much longer than those before.
    fn has_long_chunk(&self) -> bool {
        let row_group = self.metadata.row_group(self.row_group);
        let mut strings = self.columns.iter().filter(|column| column.kind.physical == PhysicalType::BYTE_ARRAY);
        strings.any(|column| {
            let chunk = row_group.column(column.kind.leaf);
            let bytes = chunk.unencoded_byte_array_data_bytes().unwrap_or(0).max(chunk.uncompressed_size());
            bytes / LONG_STRINGS as i64 > chunk.num_values()
        })
    }

    /// Has windows short where the strings are long that were read last.
    fn fit_windows(&mut self) {
        let (mut is_known, mut is_long) = (false, false);
        for column in &self.columns {
            let (window, gathered) = (column.reader.window_bytes(), column.reader.extra_bytes());
            is_known |= window > 0 || gathered > 0;
            is_long |= window > LONG_STRINGS * self.window_rows
                || gathered > LONG_STRINGS * self.survivors.rows()
                || column.kind.width > LONG_STRINGS;
        }
        self.has_long_strings = is_long || self.has_long_strings && !is_known;
        let is_short = self.has_long_strings || self.may_have_long_strings;
        let rows = self.batch_size.min(if is_short { SHORT_WINDOW } else { WINDOW_ROWS });
        if rows != self.window_rows {
            self.window_rows = rows;
            if let Phase::Filter(windows) | Phase::Select(windows, _) = &mut self.phase {
                windows.set_rows(rows);
            }
        }
    }

    /// Whether the strings that were gathered are enough for a batch.
    fn is_heavy(&self) -> bool {
        self.columns.iter().any(|column| column.reader.extra_bytes() >= FULL_BATCH_BYTES)
    }

    /// Goes from the predicates of a row group to its survivors.
    fn start_gathering(&mut self, feed: &mut Feed) -> Result<()> {
        let Phase::Select(_, selections) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        if let Some(fallback) = &mut self.fallback {
            let mut bits = arrow::array::BooleanBufferBuilder::new(0);
            for (window, selection) in &selections {
                bits.append_n(window.gap, false);
                for (index, word) in selection.words().iter().enumerate() {
                    bits.append_word(*word, (selection.len() - index * 64).min(64));
                }
            }
            let rows = usize::try_from(self.metadata.row_group(self.row_group).num_rows()).unwrap_or_default();
            bits.append_n(rows.saturating_sub(bits.len()), false);
            let selected = RowSelection::from_boolean_buffer(bits.finish());
            fallback.start_row_group(self.row_group, selected, &self.chunks, self.batch_size)?;
        }
        feed.rewind();
        self.start_chunks(feed)?;
        self.phase = Phase::Gather(selections.into_iter());
        Ok(())
    }

    /// Leaves the row group; what was gathered may become a batch.
    pub(super) async fn end_row_group(&mut self, feed: &mut Feed) -> Result<Step> {
        self.phase = Phase::Idle;
        let batch = if self.by_row_group { self.emit(feed).await? } else { None };
        self.chunks.clear();
        for column in &mut self.columns {
            column.reader.end_chunk();
        }
        if let Some(fallback) = &mut self.fallback {
            fallback.end_row_group();
        }
        Ok(batch.map_or(Step::RowGroupDone, Step::Batch))
    }

    /// Makes a batch of the rows that were gathered.
    async fn emit(&mut self, feed: &mut Feed) -> Result<Option<RecordBatch>> {
        let late_row = self.row;
        let heavy = self.is_heavy();
        let gathered = self.survivors.take();
        if gathered.rows == 0 {
            // Late columns have still to pass over what has no survivor.
            for column in self.columns.iter_mut().filter(|column| column.role == Role::Late) {
                gathered.replay(column, None, feed).await?;
            }
            self.late_row = late_row;
            return Ok(None);
        }
        let mut arrays: HashMap<usize, ArrayRef> = HashMap::new();
        for column in self.columns.iter_mut().filter(|column| column.role == Role::Early) {
            arrays.insert(column.root, column.reader.finish()?);
        }
        if let Some(fallback) = &mut self.fallback {
            arrays.extend(fallback.take(gathered.rows)?);
        }
        let kept = apply_residuals(&mut self.residuals, &mut arrays, gathered.rows, self.spared)?;
        let rows = kept.as_ref().map_or(gathered.rows, |kept| kept.rows);
        if !self.residuals.is_empty() {
            self.counters.rows_pruned.add(gathered.rows - rows);
            self.counters.rows_matched.add(rows);
        }
        let start = Instant::now();
        for column in self.columns.iter_mut().filter(|column| column.role == Role::Late) {
            gathered.replay(column, kept.as_ref(), feed).await?;
            arrays.insert(column.root, column.reader.finish()?);
        }
        blend(&mut self.spared.late, start.elapsed().as_secs_f64() * 1e9, rows);
        self.late_row = late_row;
        let rows = rows.min(self.remaining);
        self.remaining -= rows;
        self.output.push(&arrays, rows, heavy)
    }

    /// Bytes of memory that each column keeps.
    pub(super) fn memory(&self) -> impl Iterator<Item = (&Arc<str>, usize)> {
        self.columns.iter().map(|column| (&column.kind.path, column.reader.memory()))
    }

    /// Bytes of memory that are kept besides.
    pub(super) fn other_memory(&self) -> usize {
        self.fallback.as_ref().map_or(0, Fallback::memory) + self.output.memory()
    }

    /// Pages so far, by leaf columns.
    pub(super) fn page_counts_of_leaves(&self) -> impl Iterator<Item = (usize, PageCounts)> {
        self.columns.iter().map(|column| (column.kind.leaf, column.reader.page_counts()))
    }

    /// Pages so far, over all columns.
    pub(super) fn page_counts(&self) -> PageCounts {
        self.page_counts_of_leaves().fold(PageCounts::default(), |sum, (_, counts)| PageCounts {
            read: sum.read + counts.read,
            skipped: sum.skipped + counts.skipped,
            bytes: sum.bytes + counts.bytes,
            decided: sum.decided + counts.decided,
            unpacked: sum.unpacked + counts.unpacked,
        })
    }
}

/// Takes `nanos` for `rows` rows into a running mean of nanoseconds a row.
fn blend(mean: &mut f64, nanos: f64, rows: usize) {
    if rows > 0 {
        let weight = if *mean == 0.0 { 1.0 } else { 0.25 };
        *mean += weight * (nanos / rows as f64 - *mean);
    }
}

/// `schema` without the fields of structs that are not read.
fn delivered(schema: &SchemaRef, parts: &[Part]) -> SchemaRef {
    if parts.is_empty() {
        return SchemaRef::clone(schema);
    }
    let fields =
        schema.fields().iter().enumerate().map(|(root, field)| match parts.iter().find(|part| part.root == root) {
            Some(part) => Arc::new(field.as_ref().clone().with_data_type(part.data_type.clone())),
            None => Arc::clone(field),
        });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

fn open_pages(
    metadata: &ColumnChunkMetaData,
    chunk: Chunk,
    optional: bool,
    limits: Limits,
    verify_checksums: bool,
) -> Result<PageReader> {
    let values = u64::try_from(metadata.num_values()).map_err(|_| Error::corrupt("negative number of values"))?;
    let codec = Codec::try_from(metadata.compression())?;
    PageReader::new(chunk, codec, i16::from(optional), values, limits, verify_checksums)
}
