//! The engines of one instruction set, in functions that have its features.

use super::{Blocks, Stream, Verdicts};
use crate::kernels::Comparison;

/// What a table of kernels has for one lane type; the processor must have the features.
pub(in crate::kernels) struct Shells<T> {
    /// Values.
    pub(in crate::kernels) decode: unsafe fn(&[u8], &mut Stream<T>, &mut [T]) -> usize,
    /// Units, and their sum.
    pub(in crate::kernels) sum: unsafe fn(&[u8], &mut Blocks, usize) -> (usize, T),
    /// Whole units.
    pub(in crate::kernels) in_range: InRange<T>,
    /// Whole units of two streams in step, of which it may leave any.
    pub(in crate::kernels) compare: Compare,
}

/// The last values are widened, all of them lie within limits, and so are the new ones.
type Compare =
    unsafe fn([&[u8]; 2], [&mut Blocks; 2], &mut [i64; 2], (i64, i64), usize, Comparison, Verdicts<'_>) -> usize;

/// Where streams are not compared in step.
pub(in crate::kernels) fn no_compare(
    _: [&[u8]; 2],
    _: [&mut Blocks; 2],
    _: &mut [i64; 2],
    _: (i64, i64),
    _: usize,
    _: Comparison,
    _: Verdicts<'_>,
) -> usize {
    0
}

type InRange<T> = unsafe fn(&[u8], &mut Stream<T>, usize, (T, T), Verdicts<'_>) -> usize;

/// The [`Shells`] of three engines, with the given attributes.
macro_rules! shells {
    ($lane:ty, $decoder:ident, $adder:ident, $comparer:ident $(, #[$feature:meta])*) => {{
        use crate::kernels::delta::{Aside, Blocks, Shells, Store, Stream, UNIT, Verdicts, feed, no_compare};

        $(#[$feature])*
        fn decode(page: &[u8], stream: &mut Stream<$lane>, out: &mut [$lane]) -> usize {
            let held = stream.take_held(out);
            if held == out.len() {
                return held;
            }
            let count = (out.len() - held).min(stream.blocks.deltas);
            let (whole, rest) = out[held..held + count].as_chunks_mut();
            let wanted = whole.len() + usize::from(!rest.is_empty());
            let mut aside = Aside::uninit();
            let store = Store::new(whole, &mut stream.overhang[0], &mut aside);
            // SAFETY: the features are those of the function.
            let (units, last) = unsafe {
                let mut engine = $decoder::new(stream.last, store);
                (feed(page, &mut stream.blocks, wanted, &mut engine), engine.last())
            };
            stream.last = last;
            if units == wanted && !rest.is_empty() {
                stream.held = UNIT;
                stream.take_held(rest);
            }
            held + count.min(units * UNIT)
        }

        $(#[$feature])*
        fn sum(page: &[u8], blocks: &mut Blocks, units: usize) -> (usize, $lane) {
            // SAFETY: the features are those of the function.
            unsafe {
                let mut engine = $adder::new();
                (feed(page, blocks, units, &mut engine), engine.total())
            }
        }

        $(#[$feature])*
        fn in_range(
            page: &[u8],
            stream: &mut Stream<$lane>,
            units: usize,
            (low, high): ($lane, $lane),
            verdicts: Verdicts<'_>,
        ) -> usize {
            // SAFETY: the features are those of the function.
            unsafe {
                let mut engine = $comparer::new(stream.last, low, high, verdicts);
                let units = feed(page, &mut stream.blocks, units, &mut engine);
                stream.last = engine.finish(units);
                units
            }
        }

        Shells { decode, sum, in_range, compare: no_compare }
    }};
}
pub(in crate::kernels) use shells;
