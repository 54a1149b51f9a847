//! A memory pool that remembers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::Result;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool, MemoryReservation};

/// A pool that knows the most that was reserved.
#[derive(Debug)]
pub(crate) struct Peak {
    inner: GreedyMemoryPool,
    peak: AtomicUsize,
}

impl Peak {
    pub(crate) fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { inner: GreedyMemoryPool::new(size), peak: AtomicUsize::new(0) })
    }

    fn note(&self) {
        self.peak.fetch_max(self.inner.reserved(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

impl MemoryPool for Peak {
    fn name(&self) -> &str {
        "peak"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.inner.grow(reservation, additional);
        self.note();
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.inner.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.inner.try_grow(reservation, additional)?;
        self.note();
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.inner.reserved()
    }
}
