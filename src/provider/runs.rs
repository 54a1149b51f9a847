//! Rows that repeat the value of the row before: what is asked of a value need not be asked again.

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::filter;
use arrow::compute::kernels::cmp::distinct;

use crate::error::Result;
use crate::kernels::kernels;

/// Rows that are looked at first.
const SAMPLE: usize = 256;

/// The runs of equal values of an array.
pub(super) struct Runs {
    /// The first row of each.
    starts: BooleanArray,
}

impl Runs {
    /// None where there are not twice as many rows as runs.
    pub(super) fn of(array: &ArrayRef) -> Result<Option<Self>> {
        if array.len() <= SAMPLE || !array.data_type().is_primitive() {
            return Ok(None);
        }
        let differ = |rows: usize| distinct(&array.slice(1, rows - 1), &array.slice(0, rows - 1));
        if 2 * differ(SAMPLE)?.true_count() > SAMPLE {
            return Ok(None);
        }
        let mut starts = BooleanBufferBuilder::new(array.len());
        starts.append(true);
        starts.append_buffer(differ(array.len())?.values());
        let starts = BooleanArray::new(starts.finish(), None);
        Ok((2 * starts.true_count() <= array.len()).then_some(Self { starts }))
    }

    /// The value of each run, `array` being that of the rows.
    pub(super) fn values(&self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(filter(array, &self.starts)?)
    }

    /// For each row the verdict of its run; there are no NULLs.
    pub(super) fn spread(&self, verdicts: &BooleanArray) -> BooleanArray {
        let words = |bits: &BooleanBuffer| bits.bit_chunks().iter_padded().collect::<Vec<u64>>();
        let starts = words(self.starts.values());
        let mut spread = vec![0; starts.len()];
        kernels().pdep_words(&words(verdicts.values()), &starts, &mut spread);
        let mut last = 0;
        for (word, starts) in spread.iter_mut().zip(starts) {
            // Verdicts move up over rows that are no start, twice as far each time.
            let mut passes = !starts;
            *word |= last & passes;
            for distance in [1, 2, 4, 8, 16, 32] {
                *word |= passes & (*word << distance);
                passes &= passes << distance;
            }
            last = *word >> 63;
        }
        BooleanArray::new(BooleanBuffer::new(Buffer::from_vec(spread), 0, self.starts.len()), None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn verdicts_of_runs_are_those_of_rows() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut with_runs = 0;
        for round in 0..300 {
            let longest = [1, 3, 9, 200][round % 4];
            let rows = 250 + random(1000) as usize;
            let mut values: Vec<Option<i64>> = Vec::new();
            while values.len() < rows {
                let value = (random(9) > 0).then(|| random(50) as i64);
                values.extend(std::iter::repeat_n(value, 1 + random(longest) as usize));
            }
            // Of a slice, whose bits begin anywhere.
            let offset = random(70) as usize;
            let array: ArrayRef = Arc::new(Int64Array::from(values).slice(offset, rows - offset));
            let holds = |array: &ArrayRef| -> BooleanArray {
                let array = array.as_any().downcast_ref::<Int64Array>().unwrap();
                array.iter().map(|value| Some(value.is_none_or(|value| value % 3 == 1))).collect()
            };
            let Some(runs) = Runs::of(&array).unwrap() else { continue };
            assert_eq!(runs.spread(&holds(&runs.values(&array).unwrap())), holds(&array));
            with_runs += 1;
        }
        assert!((100..250).contains(&with_runs), "{with_runs}");
    }
}
