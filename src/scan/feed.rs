//! What the scan reads next: row groups as they come, and their bytes ahead of the decoder.
//!
//! Where a request costs time (a store behind a network), the chunks of the next row groups are asked for whole and ahead,
//! as far as the budget goes, in parts that are requests of their own. Where it costs next to nothing (a local file), each
//! column asks for the next run of its pages when it comes to it: what was read is in the cache of the processor when it
//! is decoded, and little memory is held.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use parquet::file::metadata::ParquetMetaData;
use tokio::task::JoinHandle;

use super::chunks::{check_counts, chunk_range, column_path, page_starts};
use super::memory::{Budget, Reserved, lock};
use super::parts::{Extent, Part, selected, selects, split};
use super::traffic::{ChunkSize, Traffic};
use super::{Admission, Conditions, Counters, Fetch, Gate, RowGroup};
use crate::error::{Error, Result};
use crate::page::{Chunk, PageStart};

/// Bytes that are read at least where a request costs time.
const LEAST_REQUEST: usize = 64 << 10;

/// A row group to scan.
pub(super) struct Next {
    pub(super) row_group: RowGroup,
    /// Conditions that apply to it besides those of the scan.
    pub(super) more: Conditions,
}

/// The row groups of a scan and their bytes.
pub(super) struct Feed {
    pub(super) fetch: Box<dyn Fetch>,
    pub(super) gate: Option<Box<dyn Gate>>,
    /// That of the gate when it was last asked for the present row group.
    pub(super) version: u64,
    pub(super) budget: Arc<dyn Budget>,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) file_size: u64,
    /// Bytes that may be on their way, or there and not yet let go.
    pub(super) read_ahead: usize,
    /// Whether rows beyond the row group that is read may never be wanted.
    pub(super) may_end_early: bool,
    /// Leaves that are read page by page.
    pub(super) leaves: Vec<usize>,
    /// Those of them that no predicate reads.
    pub(super) projected: Vec<usize>,
    /// Leaves whose chunks are wanted whole.
    pub(super) whole: Vec<usize>,
    pub(super) counters: Arc<Counters>,
    /// Not yet asked for.
    pub(super) row_groups: VecDeque<RowGroup>,
    /// Asked for, or to be asked for next; not yet open.
    pub(super) planned: VecDeque<Planned>,
    pub(super) open: Open,
    pub(super) held: Arc<AtomicUsize>,
    pub(super) traffic: Arc<Mutex<Traffic>>,
}

/// A row group whose requests are known.
pub(super) struct Planned {
    row_group: RowGroup,
    requests: VecDeque<Request>,
}

/// The row group that is read.
#[derive(Default)]
pub(super) struct Open {
    row_group: usize,
    requests: VecDeque<Request>,
    arrived: HashMap<usize, Vec<Piece>>,
    /// What has been read of it and will be read again, if anything will.
    kept: Option<HashMap<usize, Vec<Piece>>>,
    /// The rows that pruning has left.
    selected: Vec<Range<usize>>,
    /// Where the run of pages ended that was last read of a leaf.
    ends: HashMap<usize, usize>,
    pages: HashMap<usize, Option<Arc<[PageStart]>>>,
}

/// Bytes of a chunk that have arrived.
#[derive(Clone)]
struct Piece {
    offset: usize,
    bytes: Bytes,
    /// The row after those that need them.
    end_row: usize,
}

/// A part, and its bytes on their way.
struct Request {
    part: Part,
    task: Option<Task>,
}

/// A request that runs; dropping it ends it, and gives back its memory at once, although the runtime lets go of it later.
struct Task {
    handle: JoinHandle<Result<Vec<Bytes>>>,
    /// Until what it brings has been taken.
    share: Option<Arc<Share>>,
}

impl Future for Task {
    type Output = Result<Vec<Bytes>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.handle).poll(context);
        if polled.is_ready() {
            self.share = None;
        }
        polled.map(|joined| joined.map_err(Error::external)?)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.handle.abort();
        if let Some(share) = &self.share {
            share.release();
        }
    }
}

/// Bytes that count as held until nothing refers to them any more.
struct Held {
    bytes: Bytes,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What the bytes of one request take.
struct Share {
    bytes: usize,
    held: Arc<AtomicUsize>,
    /// None once it is given back.
    reserved: Mutex<Option<Reserved>>,
}

impl Share {
    fn release(&self) {
        if lock(&self.reserved).take().is_some() {
            self.held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}

impl Feed {
    /// Goes to the next row group that is still wanted; None after the last.
    ///
    /// # Errors
    /// The footer contradicts itself, of the row group that [`Self::row_group`] names.
    pub(super) fn next_row_group(&mut self) -> Result<Option<Next>> {
        self.close();
        while let Some(index) = self.upcoming() {
            self.open.row_group = index;
            if self.planned.is_empty() {
                self.plan_next()?;
            }
            let Some(planned) = self.planned.pop_front() else { continue };
            let Admission::Enter(more) = self.admit(index)? else {
                self.counters.row_groups_skipped.add(1);
                continue;
            };
            if self.metadata.row_group(index).num_rows() == 0 {
                // Its chunks need not be there.
                continue;
            }
            self.open.requests = planned.requests;
            let rows = usize::try_from(self.metadata.row_group(index).num_rows()).unwrap_or_default();
            self.open.selected = selected(planned.row_group.rows.as_ref(), rows);
            self.read_ahead();
            return Ok(Some(Next { row_group: planned.row_group, more }));
        }
        Ok(None)
    }

    /// What the gate says of a row group.
    fn admit(&mut self, row_group: usize) -> Result<Admission> {
        let Some(gate) = &mut self.gate else { return Ok(Admission::Enter(Conditions::default())) };
        self.version = gate.version()?;
        gate.enter(row_group)
    }

    /// What the gate says of the present row group, if it is something else than when the row group was entered.
    pub(super) fn changed(&mut self) -> Result<Option<Admission>> {
        let Some(gate) = &mut self.gate else { return Ok(None) };
        let version = gate.version()?;
        if std::mem::replace(&mut self.version, version) == version {
            return Ok(None);
        }
        Ok(Some(self.admit(self.open.row_group)?))
    }

    /// The row group that is read, or was looked at last.
    pub(super) fn row_group(&self) -> usize {
        self.open.row_group
    }

    /// Learns how many pages of a leaf were read by the end of the row group.
    pub(super) fn note_pages(&mut self, leaf: usize, read: usize) {
        let pages = self.pages(leaf).map_or(0, |pages| pages.len() - 1);
        lock(&self.traffic).pages(leaf, read, pages);
    }

    /// Lets the bytes of the row group go.
    pub(super) fn close(&mut self) {
        self.open = Open { row_group: self.open.row_group, ..Open::default() };
    }

    /// Has what arrives kept: it will be read again after [`Self::rewind`].
    pub(super) fn keep(&mut self) {
        self.open.kept = Some(HashMap::new());
    }

    /// Lets go of what has arrived for rows that nobody will ask for: of each leaf those before `first_row` of it.
    pub(super) fn let_go(&mut self, first_row: impl Fn(usize) -> usize) {
        for (leaf, pieces) in &mut self.open.arrived {
            let first = first_row(*leaf);
            pieces.retain(|piece| piece.end_row > first);
        }
    }

    /// Goes back to the beginning of the row group.
    pub(super) fn rewind(&mut self) {
        for (leaf, pieces) in self.open.kept.take().unwrap_or_default() {
            self.open.arrived.entry(leaf).or_default().extend(pieces);
        }
        self.open.ends.clear();
    }

    /// The chunk of a leaf, of which nothing is there yet.
    pub(super) fn chunk(&mut self, leaf: usize) -> Result<Chunk> {
        let range = self.range(leaf)?;
        let length = usize::try_from(range.end - range.start).map_err(|_| Error::corrupt("column chunk too long"))?;
        // What a batch holds of bytes that were asked for ahead would be in the way of more, and in a small pool count twice.
        let may_keep = self.fetch.piece_bytes().is_some() && self.budget.has_spare(length);
        Ok(Chunk::absent(length, self.pages(leaf), may_keep))
    }

    /// Bytes of a leaf's chunk and where they begin: those at the beginning of `range` at least. They go to whoever asks.
    pub(super) async fn piece(&mut self, leaf: usize, range: Range<usize>) -> Result<(usize, Bytes)> {
        let start = Instant::now();
        let piece = self.fetch_piece(leaf, range).await;
        self.counters.fetch_nanos.add(start.elapsed().as_nanos() as usize);
        piece
    }

    async fn fetch_piece(&mut self, leaf: usize, range: Range<usize>) -> Result<(usize, Bytes)> {
        loop {
            if let Some(arrived) = self.open.arrived.get_mut(&leaf) {
                let has = |piece: &Piece| (piece.offset..piece.offset + piece.bytes.len()).contains(&range.start);
                if let Some(index) = arrived.iter().position(has) {
                    let piece = arrived.swap_remove(index);
                    if let Some(kept) = &mut self.open.kept {
                        kept.entry(leaf).or_default().push(piece.clone());
                    }
                    return Ok((piece.offset, piece.bytes));
                }
            }
            // What no request will bring, nobody waits for.
            if !self.open.requests.iter().any(|request| request.part.brings(leaf, range.start)) {
                break;
            }
            let Some(mut request) = self.open.requests.pop_front() else { break };
            let task = match request.task.take() {
                Some(task) => task,
                None => self.start_needed(&request.part)?,
            };
            let bytes = task.await?;
            for (extent, bytes) in request.part.extents.iter().zip(bytes) {
                let piece = Piece { offset: extent.offset, bytes, end_row: extent.end_row };
                self.open.arrived.entry(extent.leaf).or_default().push(piece);
            }
            self.read_ahead();
        }
        self.run(leaf, range).await
    }

    /// All bytes of a leaf's chunk.
    pub(super) async fn whole(&mut self, leaf: usize) -> Result<Bytes> {
        let range = self.range(leaf)?;
        let length = usize::try_from(range.end - range.start).map_err(|_| Error::corrupt("column chunk too long"))?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        match self.piece(leaf, 0..length).await?.1 {
            bytes if bytes.len() == length => Ok(bytes),
            bytes => Err(Error::corrupt(format!("a column chunk of {length} bytes of which {} came", bytes.len()))),
        }
    }

    /// Gives up memory that is kept for later, or the last of what is on its way for later row groups, and reads less ahead from
    /// here on; whether there was any.
    pub(super) fn shed(&mut self) -> bool {
        if self.fetch.release() {
            return true;
        }
        let mut requests = self.planned.iter_mut().flat_map(|planned| &mut planned.requests).rev();
        let shed = requests.find_map(|request| request.task.take()).is_some();
        self.read_ahead = self.read_ahead.min(self.held());
        shed
    }

    /// Reads a run of pages of a leaf that begins with `range`.
    async fn run(&mut self, leaf: usize, range: Range<usize>) -> Result<(usize, Bytes)> {
        let chunk = self.range(leaf)?;
        let length = usize::try_from(chunk.end - chunk.start).map_err(|_| Error::corrupt("column chunk too long"))?;
        let end = self.open.ends.get(&leaf).copied().unwrap_or(0);
        let usual = self.fetch.piece_bytes().unwrap_or(LEAST_REQUEST);
        // Whoever passes over pages looks at a few headers and goes on.
        let usual = if range.start > end { usual / 16 } else { usual };
        let wanted = range.start.saturating_add(usual);
        let pages = self.pages(leaf);
        // Up to a border, so that no part of a page is read twice, and no page that nobody wants.
        let border = pages.as_ref().and_then(|pages| {
            let first = pages.partition_point(|page| page.offset <= range.start);
            let follows = |pair: &&[PageStart]| {
                pair[1].offset <= wanted && selects(&self.open.selected, pair[0].row..pair[1].row)
            };
            let more = pages.get(first..)?.windows(2).take_while(follows).count();
            pages.get(first + more).map(|page| page.offset)
        });
        let end = border.unwrap_or(wanted).max(range.end).min(length);
        self.open.ends.insert(leaf, end);
        let absolute = chunk.start + range.start as u64..chunk.start + end as u64;
        // It goes to the column at once.
        let extent = Extent { leaf, offset: range.start, range: absolute, end_row: 0 };
        let bytes = if self.fetch.piece_bytes().is_some() {
            // The buffers of such a store are its own, and counted by it.
            let bytes =
                checked(std::slice::from_ref(&extent.range), self.fetch.fetch(vec![extent.range.clone()]).await?)?;
            self.counters.bytes_fetched.add(extent.bytes());
            bytes
        } else {
            self.start_needed(&Part { extents: vec![extent] })?.await?
        };
        bytes.into_iter().next().map(|bytes| (range.start, bytes)).ok_or_else(|| Error::corrupt("nothing was fetched"))
    }

    /// Asks for what comes next as far as the budget goes.
    fn read_ahead(&mut self) {
        if self.fetch.piece_bytes().is_some() {
            return;
        }
        for index in 0.. {
            while index > self.planned.len() {
                if self.hesitates() || self.row_groups.is_empty() || self.held() >= self.read_ahead {
                    return;
                }
                // What is wrong with a row group is said when it is reached.
                if self.plan_next().is_err() {
                    return;
                }
            }
            let mut requests = std::mem::take(self.requests(index));
            let started = requests.iter_mut().filter(|request| request.task.is_none()).all(|request| {
                let held = self.held();
                let bytes = request.part.bytes();
                if held > 0 && held + bytes > self.read_ahead || !self.budget.has_spare(bytes) {
                    return false;
                }
                request.task = self.start(&request.part).ok();
                request.task.is_some()
            });
            *self.requests(index) = requests;
            if !started {
                return;
            }
        }
    }

    /// Those of the open row group for 0, then those of the planned ones.
    fn requests(&mut self, index: usize) -> &mut VecDeque<Request> {
        match index {
            0 => &mut self.open.requests,
            index => &mut self.planned[index - 1].requests,
        }
    }

    /// Whether nothing is asked for beyond the row group that is read.
    fn hesitates(&self) -> bool {
        self.may_end_early || self.gate.as_ref().is_some_and(|gate| !gate.is_final())
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn start(&mut self, part: &Part) -> Result<Task> {
        let bytes = part.bytes();
        let reserved = Reserved::new(&self.budget, bytes)?;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        let reserved = Mutex::new(Some(reserved));
        let share = Arc::new(Share { bytes, held: Arc::clone(&self.held), reserved });
        let of_task = Some(Arc::clone(&share));
        let ranges: Vec<Range<u64>> = part.extents.iter().map(|extent| extent.range.clone()).collect();
        let fetched = self.fetch.fetch(ranges.clone());
        let (counters, traffic) = (Arc::clone(&self.counters), Arc::clone(&self.traffic));
        let handle = tokio::spawn(async move {
            let start = Instant::now();
            let pieces = checked(&ranges, fetched.await?)?;
            lock(&traffic).request(bytes, start.elapsed());
            counters.bytes_fetched.add(bytes);
            let held = |bytes| Bytes::from_owner(Held { bytes, _share: Arc::clone(&share) });
            Ok(pieces.into_iter().map(held).collect())
        });
        Ok(Task { handle, share: of_task })
    }

    /// Starts what the scan cannot go on without.
    fn start_needed(&mut self, part: &Part) -> Result<Task> {
        loop {
            let error = match self.start(part) {
                Ok(task) => return Ok(task),
                Err(error) => error,
            };
            if !self.shed() {
                let row_group = self.metadata.row_group(self.open.row_group);
                let largest = part.extents.iter().max_by_key(|extent| extent.bytes());
                return Err(match largest {
                    Some(extent) => error.at_column(&column_path(row_group.column(extent.leaf))),
                    None => error,
                });
            }
        }
    }

    /// The row group that is next.
    fn upcoming(&self) -> Option<usize> {
        let next = self.planned.front().map(|planned| &planned.row_group).or(self.row_groups.front());
        next.map(|row_group| row_group.index)
    }

    /// Plans the requests of the next row group that is wanted. Nothing is taken from the queue if that fails.
    fn plan_next(&mut self) -> Result<()> {
        let Some(index) = self.row_groups.front().map(|row_group| row_group.index) else { return Ok(()) };
        if index >= self.metadata.num_row_groups() {
            return Err(Error::unsupported(format!("a file of {} row groups", self.metadata.num_row_groups())));
        }
        if let Some(Admission::Skip) = self.gate.as_mut().map(|gate| gate.enter(index)).transpose()? {
            self.counters.row_groups_skipped.add(1);
            self.row_groups.pop_front();
            return Ok(());
        }
        let metadata = self.metadata.row_group(index);
        check_counts(metadata)?;
        let parts = if self.fetch.piece_bytes().is_some() || metadata.num_rows() == 0 {
            Vec::new()
        } else {
            let index = self.metadata.offset_index().and_then(|pages| pages.get(index));
            let rows = self.row_groups.front().and_then(|row_group| row_group.rows.as_ref());
            let waits = |leaf: &usize| {
                let (true, Some(pages)) = (self.projected.contains(leaf), index.and_then(|index| index.get(*leaf)))
                else {
                    return false;
                };
                let column = metadata.column(*leaf);
                let bytes = usize::try_from(column.compressed_size()).unwrap_or_default();
                let pages = pages.page_locations().len() + usize::from(column.dictionary_page_offset().is_some());
                lock(&self.traffic).pays_to_wait(ChunkSize { leaf: *leaf, bytes, pages })
            };
            let leaves: Vec<usize> = self.leaves.iter().copied().filter(|leaf| !waits(leaf)).collect();
            split(metadata, index, rows, &leaves, &self.whole, self.read_ahead, self.file_size)?
        };
        let requests = parts.into_iter().map(|part| Request { part, task: None }).collect();
        if let Some(row_group) = self.row_groups.pop_front() {
            self.planned.push_back(Planned { row_group, requests });
        }
        Ok(())
    }

    fn range(&self, leaf: usize) -> Result<Range<u64>> {
        chunk_range(self.metadata.row_group(self.open.row_group), leaf, self.file_size)
    }

    /// Where the pages of a leaf are, if the offset index says it.
    fn pages(&mut self, leaf: usize) -> Option<Arc<[PageStart]>> {
        let chunk = self.range(leaf).ok()?;
        let (metadata, row_group) = (&self.metadata, self.open.row_group);
        let pages = self.open.pages.entry(leaf).or_insert_with(|| {
            let index = metadata.offset_index()?.get(row_group)?.get(leaf)?;
            page_starts(metadata.row_group(row_group), &chunk, index).map(Arc::from)
        });
        pages.clone()
    }
}

/// `bytes` if they are what was asked for.
fn checked(ranges: &[Range<u64>], bytes: Vec<Bytes>) -> Result<Vec<Bytes>> {
    if ranges.len() != bytes.len() {
        return Err(Error::corrupt(format!("the store returned {} ranges of {}", bytes.len(), ranges.len())));
    }
    for (range, bytes) in ranges.iter().zip(&bytes) {
        if bytes.len() as u64 != range.end - range.start {
            let (start, end) = (range.start, range.end);
            return Err(Error::corrupt(format!("the store returned {} bytes for {start}..{end}", bytes.len())));
        }
    }
    Ok(bytes)
}
