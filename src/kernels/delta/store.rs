//! Where decoded values go.

use std::mem::MaybeUninit;

use super::{Batch, UNIT};

/// Something that units go to, batch by batch.
pub(in crate::kernels) trait Units {
    /// Units of a batch, at most.
    const MAX_UNITS: usize;

    /// Before the units of `batch`.
    fn begin(&mut self, batch: &Batch);

    /// After the units of `batch`.
    ///
    /// # Safety
    /// It is the batch that began, and all of its units were given.
    unsafe fn end(&mut self, batch: &Batch);
}

/// Room for a batch. Not a part of the store: its address is taken, which would keep all of an engine in memory.
pub(in crate::kernels) type Aside<T> = MaybeUninit<[[T; UNIT]; MAX_UNITS]>;

/// A unit that is written, whatever it holds.
type Unit<T> = [MaybeUninit<T>; UNIT];

/// Units in slices: those that are wanted as a whole, and an overhang that takes the one after them.
///
/// A batch goes to one place as a whole, so that no unit has to look for its own: one of which the last unit is the overhang
/// is decoded aside, and moved.
pub(in crate::kernels) struct Store<'a, T> {
    out: &'a mut [[T; UNIT]],
    overhang: &'a mut [T; UNIT],
    aside: &'a mut Aside<T>,
    /// Where the batch goes, and its first unit.
    batch: *mut Unit<T>,
    first: usize,
}

/// Units that [`Aside`] has room for.
const MAX_UNITS: usize = 8;

impl<'a, T: Copy + Default> Store<'a, T> {
    #[inline(always)]
    pub(in crate::kernels) fn new(
        out: &'a mut [[T; UNIT]],
        overhang: &'a mut [T; UNIT],
        aside: &'a mut Aside<T>,
    ) -> Self {
        Self { out, overhang, aside, batch: std::ptr::null_mut(), first: 0 }
    }

    /// A unit of the batch.
    ///
    /// # Safety
    /// `unit` is in the range of the batch that began, which has at most `MAX_UNITS` units.
    #[inline(always)]
    pub(in crate::kernels) unsafe fn unit(&mut self, unit: usize) -> &mut Unit<T> {
        // SAFETY: there is room for all units of the batch, and nobody else has it.
        unsafe { &mut *self.batch.add(unit - self.first) }
    }

    /// Units of the batch, as values that may be read.
    ///
    /// # Safety
    /// As [`Store::unit`], for `count` units.
    #[inline(always)]
    pub(in crate::kernels) unsafe fn units(&mut self, unit: usize, count: usize) -> &mut [[T; UNIT]] {
        // SAFETY: as above.
        let units = unsafe { std::slice::from_raw_parts_mut(self.batch.add(unit - self.first), count) };
        if self.batch == self.aside.as_mut_ptr().cast() {
            units.fill([MaybeUninit::new(T::default()); UNIT]);
        }
        // SAFETY: initialised, now or as a part of `out`.
        unsafe { &mut *(std::ptr::from_mut(units) as *mut [[T; UNIT]]) }
    }
}

impl<T: Copy + Default> Units for Store<'_, T> {
    const MAX_UNITS: usize = MAX_UNITS;

    #[inline(always)]
    fn begin(&mut self, batch: &Batch) {
        debug_assert!(batch.range().len() <= MAX_UNITS);
        self.first = batch.done;
        self.batch = match self.out.get_mut(batch.range()) {
            Some(out) => out.as_mut_ptr().cast(),
            None => self.aside.as_mut_ptr().cast(),
        };
    }

    #[inline(always)]
    unsafe fn end(&mut self, batch: &Batch) {
        let range = batch.range();
        if range.end > self.out.len() {
            let count = range.len();
            // SAFETY: all of its units were given, and those of a batch that does not fit into `out` aside.
            let units = unsafe { std::slice::from_raw_parts(self.aside.as_ptr().cast::<[T; UNIT]>(), count) };
            let (overhang, units) = units.split_last().unwrap_or((self.overhang, &[]));
            self.out[range.start..].copy_from_slice(units);
            *self.overhang = *overhang;
        }
    }
}
