//! Memory: DataFusion's pool as the budget of a scan, and buffers that are used again.

use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::error::{Error, Result};
use crate::scan::{Budget, Reserved, lock};

/// A consumer of a memory pool.
struct PoolBudget {
    pool: Arc<dyn MemoryPool>,
    reservation: MemoryReservation,
}

impl Budget for PoolBudget {
    fn grow(&self, bytes: usize) -> Result<()> {
        self.reservation.try_grow(bytes).map_err(Error::external)
    }

    fn shrink(&self, bytes: usize) {
        self.reservation.shrink(bytes);
    }

    /// Half of a pool is for what is needed: by other scans, and by the operators above them.
    fn has_spare(&self, bytes: usize) -> bool {
        match self.pool.memory_limit() {
            MemoryLimit::Finite(limit) => self.pool.reserved().saturating_add(bytes) <= limit / 2,
            MemoryLimit::Infinite | MemoryLimit::Unknown => true,
        }
    }
}

/// What the scans of `partition` may hold: a consumer of `pool`, where there is one.
pub(super) fn budget(pool: Option<&Arc<dyn MemoryPool>>, partition: usize) -> Arc<dyn Budget> {
    match pool {
        Some(pool) => {
            let reservation = MemoryConsumer::new(format!("MiniblockScan[{partition}]")).register(pool);
            Arc::new(PoolBudget { pool: Arc::clone(pool), reservation })
        }
        None => Arc::new(()),
    }
}

/// Buffers for bytes that are read, used again when nothing refers to them any more: fresh memory costs a page fault for
/// each 4 KiB, more than the copy into it.
pub(super) struct BufferPool {
    budget: Arc<dyn Budget>,
    free: Mutex<Vec<Buffer>>,
}

/// Initialised memory that is accounted for.
struct Buffer {
    bytes: Vec<u8>,
    reserved: Reserved,
}

/// Buffers that are kept although nobody uses them.
const KEPT: usize = 32;

impl BufferPool {
    pub(super) fn new(budget: Arc<dyn Budget>) -> Arc<Self> {
        Arc::new(Self { budget, free: Mutex::new(Vec::new()) })
    }

    /// Lets go of the buffers that nobody uses; whether there were any.
    pub(super) fn release(&self) -> bool {
        !std::mem::take(&mut *lock(&self.free)).is_empty()
    }

    /// A buffer of `length` bytes, whatever they are.
    ///
    /// # Errors
    /// The budget does not allow it.
    pub(super) fn take(self: &Arc<Self>, length: usize) -> Result<Pooled> {
        let buffer = {
            let mut free = lock(&self.free);
            // The one that was used last, which is in the cache of the processor, if it does; else the largest.
            let fits = free.iter().rposition(|buffer| buffer.bytes.len() >= length);
            let index = fits.or_else(|| (0..free.len()).max_by_key(|&index| free[index].bytes.len()));
            index.map(|index| free.remove(index))
        };
        let mut buffer = match buffer {
            Some(buffer) => buffer,
            None => Buffer { bytes: Vec::new(), reserved: Reserved::new(&self.budget, 0)? },
        };
        if buffer.bytes.len() < length {
            // Pages are alike: the next is a little longer.
            let size = length.next_multiple_of((length.next_power_of_two() / 8).max(1));
            let reserved = &mut buffer.reserved;
            let size = if reserved.resize(size).is_ok() { size } else { length };
            if reserved.resize(size).is_err() {
                // Those that nobody uses make room.
                self.release();
                reserved.resize(size)?;
            }
            buffer.bytes = vec![0; size];
        }
        Ok(Pooled { buffer: Some(buffer), length, pool: Arc::downgrade(self) })
    }
}

/// A buffer in use.
pub(super) struct Pooled {
    /// None once it is given back.
    buffer: Option<Buffer>,
    length: usize,
    pool: Weak<BufferPool>,
}

impl Pooled {
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut().map(|buffer| &mut buffer.bytes[..self.length]).unwrap_or_default()
    }

    /// The bytes, shared; the buffer goes back to its pool when the last of them is dropped.
    pub(super) fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_ref().map(|buffer| &buffer.bytes[..self.length]).unwrap_or_default()
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let (Some(buffer), Some(pool)) = (self.buffer.take(), self.pool.upgrade()) else { return };
        let mut free = lock(&pool.free);
        if free.len() < KEPT {
            free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Bound(AtomicUsize, usize);

    impl Budget for Bound {
        fn grow(&self, bytes: usize) -> Result<()> {
            let taken = self.0.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if taken > self.1 {
                self.0.fetch_sub(bytes, Ordering::Relaxed);
                return Err(Error::external("no memory"));
            }
            Ok(())
        }

        fn shrink(&self, bytes: usize) {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn buffers_come_back() {
        let bound = Arc::new(Bound(AtomicUsize::new(0), 1000));
        let pool = BufferPool::new(Arc::clone(&bound) as _);
        let mut buffer = pool.take(100).unwrap();
        buffer.bytes_mut().fill(7);
        let address = buffer.as_ref().as_ptr();
        let bytes = buffer.freeze();
        let part = bytes.slice(90..);
        drop(bytes);
        assert_ne!(pool.take(100).unwrap().as_ref().as_ptr(), address, "a slice refers to it");
        assert_eq!(part, [7; 10].as_slice());
        drop(part);
        assert_eq!(pool.take(60).unwrap().as_ref().as_ptr(), address);
        assert_eq!(pool.take(60).unwrap().as_ref().len(), 60);
        // What is free makes room for what is wanted.
        assert_eq!(pool.take(900).unwrap().as_ref().len(), 900);
        assert!(pool.take(1001).is_err());
        let bytes = pool.take(500).unwrap().freeze();
        drop(pool);
        drop(bytes);
        assert_eq!(bound.0.load(Ordering::Relaxed), 0);
    }
}
