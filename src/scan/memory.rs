//! What the scan holds in memory, and who allows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

/// The guard of `mutex`: nothing that panics leaves behind what others may not see.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who says how much memory may be held.
pub trait Budget: Send + Sync {
    /// Takes `bytes` more.
    ///
    /// # Errors
    /// There are not so many left; nothing was taken.
    fn grow(&self, bytes: usize) -> Result<()>;

    /// Gives `bytes` back.
    fn shrink(&self, bytes: usize);

    /// Whether `bytes` may be taken for what is not needed yet, and leave enough for what is.
    fn has_spare(&self, bytes: usize) -> bool {
        let _ = bytes;
        true
    }
}

/// No bound.
impl Budget for () {
    fn grow(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn shrink(&self, _: usize) {}
}

/// Memory that was taken from a [`Budget`], and goes back to it when this is dropped.
pub struct Reserved {
    budget: Arc<dyn Budget>,
    bytes: usize,
}

impl Reserved {
    /// Takes `bytes` of `budget`.
    ///
    /// # Errors
    /// There are not so many left.
    pub fn new(budget: &Arc<dyn Budget>, bytes: usize) -> Result<Self> {
        budget.grow(bytes)?;
        Ok(Self { budget: Arc::clone(budget), bytes })
    }

    /// Takes more, or gives back, so that it is `bytes`.
    ///
    /// # Errors
    /// There are not so many left; what was taken before stays.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            self.budget.grow(bytes - self.bytes)?;
        } else {
            self.budget.shrink(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.shrink(self.bytes);
    }
}
