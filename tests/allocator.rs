//! The allocator of this binary: the system's, and what each thread has taken from it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Bytes taken less bytes given back. What another thread gives back counts there.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Live bytes in allocations of at least [`LARGE`], of all threads.
static LIVE_LARGE: AtomicIsize = AtomicIsize::new(0);

const LARGE: usize = 1 << 20;

fn taken(size: usize) {
    // A thread that is ending has no counters any more, and no test.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    moved(size as isize);
    if size >= LARGE {
        LIVE_LARGE.fetch_add(size as isize, Ordering::Relaxed);
    }
}

fn given_back(size: usize) {
    moved(-(size as isize));
    if size >= LARGE {
        LIVE_LARGE.fetch_sub(size as isize, Ordering::Relaxed);
    }
}

fn moved(bytes: isize) {
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`, and the memory came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        given_back(layout.size());
        taken(size);
        // SAFETY: the caller keeps the contract of `realloc`, and the memory came from the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while `work` runs.
pub(crate) fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// What `work` returns, and the most bytes that this thread held in it beyond what it held before.
pub(crate) fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get() - before).unwrap_or_default())
}

/// Runs `work`, whose memory does not count.
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let (live, peak) = (LIVE.get(), PEAK.get());
    let result = work();
    LIVE.set(live);
    PEAK.set(peak);
    result
}

/// Bytes in large allocations, of all threads.
pub(crate) fn large_bytes() -> usize {
    usize::try_from(LIVE_LARGE.load(Ordering::Relaxed)).unwrap_or_default()
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1, 2, 3]))), 1);
    assert_eq!(allocations(|| ()), 0);
    let (_, peak) = peak_bytes(|| {
        drop(std::hint::black_box(vec![0u8; 5000]));
        drop(std::hint::black_box(vec![0u8; 3000]));
    });
    assert_eq!(peak, 5000);
}
