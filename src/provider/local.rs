//! Local files: read where they are, into buffers that are used again.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::object_store::{GetOptions, GetResult, GetResultPayload, ObjectMeta, ObjectStore};
use datafusion::physical_plan::metrics::Count;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use memmap2::Mmap;

use super::memory::{BufferPool, Pooled};
use crate::error::{Error, Result};
use crate::scan::Fetch;

/// Bytes of a column that are read at once: what a few columns need of them stays in the cache of a core until it is
/// decoded, and a call costs little beside.
const PIECE_BYTES: usize = 128 << 10;

/// Bytes that a disk is asked for when it has to be waited for: the next pieces of the column.
#[cfg(target_os = "linux")]
const AHEAD_BYTES: u64 = 4 << 20;

/// A local file.
pub(super) struct LocalFetch {
    source: Source,
    bytes_scanned: Count,
}

enum Source {
    File(Arc<File>, Arc<BufferPool>),
    /// All of its bytes, mapped.
    Map(Bytes),
}

impl LocalFetch {
    /// The file of `object`, if `store` offers one; mapped into memory if it `is_mapped`.
    ///
    /// # Errors
    /// There is no such file any more, or it has another size, or it cannot be mapped.
    pub(super) async fn open(
        store: &dyn ObjectStore,
        object: &ObjectMeta,
        buffers: &Arc<BufferPool>,
        is_mapped: bool,
        bytes_scanned: &Count,
    ) -> Result<Option<Self>> {
        // Of a store that offers no file nothing is wanted.
        let options = GetOptions { range: Some((0..1).into()), ..GetOptions::default() };
        let got = store.get_opts(&object.location, options).await.map_err(Error::external)?;
        let GetResult { payload: GetResultPayload::File(file, _), meta, .. } = got else { return Ok(None) };
        if meta.size != object.size {
            let message = format!("a file of {} bytes, which had {} when it was listed", meta.size, object.size);
            return Err(Error::corrupt(message));
        }
        let source = if is_mapped {
            // SAFETY: nobody changes the file while it is mapped; the user who asked for the map answers for it.
            let map = unsafe { Mmap::map(&file) }.map_err(Error::external)?;
            Source::Map(Bytes::from_owner(map))
        } else {
            Source::File(Arc::new(file), Arc::clone(buffers))
        };
        Ok(Some(Self { source, bytes_scanned: bytes_scanned.clone() }))
    }
}

/// The bytes of `ranges` in a map of the file.
fn slices(map: &Bytes, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let slice = |range: &Range<u64>| {
        let within = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let within = within.filter(|(start, end)| start <= end && *end <= map.len());
        let (start, end) = within.ok_or_else(|| Error::corrupt(format!("bytes {range:?} of {}", map.len())))?;
        Ok(map.slice(start..end))
    };
    ranges.iter().map(slice).collect()
}

impl Fetch for LocalFetch {
    fn fetch(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'static, Result<Vec<Bytes>>> {
        let (file, buffers) = match &self.source {
            Source::File(file, buffers) => (file, buffers),
            Source::Map(map) => {
                self.bytes_scanned.add(ranges.iter().map(|range| (range.end - range.start) as usize).sum());
                return ready(slices(map, &ranges)).boxed();
            }
        };
        let mut read = Vec::with_capacity(ranges.len());
        for range in &ranges {
            let length = range.end - range.start;
            let Ok(length) = usize::try_from(length) else {
                return ready(Err(Error::corrupt(format!("a range of {length} bytes")))).boxed();
            };
            let buffer = match buffers.take(length) {
                Ok(buffer) => buffer,
                Err(error) => return ready(Err(error)).boxed(),
            };
            self.bytes_scanned.add(length);
            read.push(Read { buffer, done: 0, offset: range.start });
        }
        if read.iter_mut().all(|read| read.at_once(file)) {
            return ready(Ok(read.into_iter().map(|read| read.buffer.freeze()).collect())).boxed();
        }
        let file = Arc::clone(file);
        let reading = tokio::task::spawn_blocking(move || {
            read.into_iter().map(|read| read.finish(&file)).collect::<std::io::Result<Vec<Bytes>>>()
        });
        async move { reading.await.map_err(Error::external)?.map_err(Error::external) }.boxed()
    }

    fn piece_bytes(&self) -> Option<usize> {
        match self.source {
            Source::File(..) => Some(PIECE_BYTES),
            // Whatever a column wants.
            Source::Map(_) => Some(usize::MAX),
        }
    }

    fn release(&mut self) -> bool {
        match &self.source {
            Source::File(_, buffers) => buffers.release(),
            Source::Map(_) => false,
        }
    }
}

/// A range on its way into a buffer.
struct Read {
    buffer: Pooled,
    done: usize,
    offset: u64,
}

impl Read {
    /// Reads what the operating system has in memory; whether that is all.
    fn at_once(&mut self, file: &File) -> bool {
        let buffer = self.buffer.bytes_mut();
        while self.done < buffer.len() {
            match read_cached(file, &mut buffer[self.done..], self.offset + self.done as u64) {
                Some(read) if read > 0 => self.done += read,
                _ => return false,
            }
        }
        true
    }

    /// Reads the rest, however long it takes.
    fn finish(mut self, file: &File) -> std::io::Result<Bytes> {
        expect(file, self.offset);
        let rest = &mut self.buffer.bytes_mut()[self.done..];
        read_exact_at(file, rest, self.offset + self.done as u64)?;
        Ok(self.buffer.freeze())
    }
}

/// Reads without waiting for a disk; None if that cannot be done.
#[cfg(target_os = "linux")]
fn read_cached(file: &File, buffer: &mut [u8], offset: u64) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};
    preadv2(file, &mut [std::io::IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).ok()
}

/// Has the operating system read on from `offset`: columns take turns, in which it sees no sequence.
#[cfg(target_os = "linux")]
fn expect(file: &File, offset: u64) {
    // It only helps.
    let _ = rustix::fs::fadvise(file, offset, std::num::NonZeroU64::new(AHEAD_BYTES), rustix::fs::Advice::WillNeed);
}

#[cfg(not(target_os = "linux"))]
fn expect(_: &File, _: u64) {}

#[cfg(not(target_os = "linux"))]
fn read_cached(_: &File, _: &mut [u8], _: u64) -> Option<usize> {
    None
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}
