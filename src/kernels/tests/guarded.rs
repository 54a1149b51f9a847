//! Memory before pages that nobody may touch, so that a kernel that reads or writes past a slice ends the process.

use std::ffi::c_void;

unsafe extern "C" {
    fn mmap(address: *mut c_void, len: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut c_void;
    fn munmap(address: *mut c_void, len: usize) -> i32;
    fn mprotect(address: *mut c_void, len: usize, protection: i32) -> i32;
}

const NONE: i32 = 0;
const READ_WRITE: i32 = 3;
const PRIVATE_ANONYMOUS: i32 = 0x22;

/// No machine has larger pages.
const PAGE: usize = 1 << 16;

/// Room for slices whose first byte comes after, or whose last byte comes before, a page without access.
pub(in crate::kernels) struct Guarded {
    memory: *mut u8,
    size: usize,
}

impl Guarded {
    pub(in crate::kernels) fn new(size: usize) -> Self {
        let size = size.next_multiple_of(PAGE);
        // SAFETY: new memory; the first and the last page of it become inaccessible.
        let memory = unsafe {
            let memory = mmap(std::ptr::null_mut(), size + 2 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
            assert!(memory as isize != -1);
            assert_eq!(mprotect(memory, PAGE, NONE), 0);
            assert_eq!(mprotect(memory.byte_add(PAGE + size), PAGE, NONE), 0);
            memory.cast::<u8>()
        };
        Self { memory, size }
    }

    /// `len` values, the last of which ends before the guard.
    pub(in crate::kernels) fn end<T: Copy>(&mut self, len: usize) -> &mut [T] {
        assert!(size_of::<T>() * len <= self.size);
        // SAFETY: inside of the accessible memory, borrowed from `self`, of numbers alone, and aligned as `T` is, whose size
        // is a power of two.
        unsafe {
            let end = self.memory.add(PAGE + self.size);
            std::slice::from_raw_parts_mut(end.sub(size_of::<T>() * len).cast(), len)
        }
    }

    /// A copy of `values` that ends before the guard.
    pub(in crate::kernels) fn copy<T: Copy>(&mut self, values: &[T]) -> &mut [T] {
        let copy = self.end(values.len());
        copy.copy_from_slice(values);
        copy
    }

    /// A copy of `values` that begins after the guard.
    pub(in crate::kernels) fn copy_to_start<T: Copy>(&mut self, values: &[T]) -> &mut [T] {
        assert!(size_of_val(values) <= self.size);
        // SAFETY: as in `end`.
        let copy = unsafe { std::slice::from_raw_parts_mut(self.memory.add(PAGE).cast::<T>(), values.len()) };
        copy.copy_from_slice(values);
        copy
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no slice outlives `self`.
        unsafe { munmap(self.memory.cast(), self.size + 2 * PAGE) };
    }
}
