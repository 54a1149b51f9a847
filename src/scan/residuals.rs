//! Conjuncts that run as expressions over arrays of survivors.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::FilterBuilder;
use arrow::datatypes::{Schema, SchemaRef};

use super::Residual;
use crate::error::{Error, Result};
use crate::kernels::{self, kernels};
use crate::predicate::{Selection, WINDOW_ROWS};

/// A residual, and the schema of what it sees.
pub(super) struct BoundResidual {
    residual: Box<dyn Residual>,
    schema: SchemaRef,
}

impl BoundResidual {
    /// # Errors
    /// If it reads a column that the file lacks.
    pub(super) fn new(residual: Box<dyn Residual>, schema: &Schema) -> Result<Self> {
        let schema = schema.project(residual.columns())?.into();
        Ok(Self { residual, schema })
    }

    fn evaluate(&mut self, arrays: &HashMap<usize, ArrayRef>, rows: usize) -> Result<BooleanArray> {
        let columns = self.residual.columns().iter().map(|root| {
            arrays
                .get(root)
                .cloned()
                .ok_or_else(|| Error::unsupported(format!("a residual on column {root}, not read")))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let mask = self.residual.evaluate(&batch)?;
        if mask.len() != rows {
            return Err(Error::external(format!("a filter made {} rows of {rows}", mask.len())));
        }
        Ok(match mask.nulls() {
            // NULL is not selected.
            Some(nulls) if nulls.null_count() > 0 => BooleanArray::new(mask.values() & nulls.inner(), None),
            _ => mask,
        })
    }
}

/// Which of the gathered rows the residuals have left.
pub(super) struct Kept {
    words: Vec<u64>,
    pub(super) rows: usize,
}

impl Kept {
    /// Of the selected rows of a window, of which the first is gathered row `offset`, those that are kept.
    pub(super) fn refine(&self, selection: &Selection, offset: usize) -> Selection {
        let mut bits = [0; WINDOW_ROWS / 64];
        kernels::copy_bits(&self.words, offset, &mut bits, 0, selection.count());
        let mut words = [0; WINDOW_ROWS / 64];
        kernels().pdep_words(&bits, selection.words(), &mut words);
        let mut refined = selection.clone();
        refined.narrow(&words);
        refined
    }
}

/// Runs the residuals in turn over `arrays` of `rows` rows each and leaves in them what passes all; None if all do.
pub(super) fn apply_residuals(
    residuals: &mut [BoundResidual],
    arrays: &mut HashMap<usize, ArrayRef>,
    rows: usize,
) -> Result<Option<Kept>> {
    let mut kept: Option<Kept> = None;
    for residual in residuals {
        let before = kept.as_ref().map_or(rows, |kept| kept.rows);
        if before == 0 {
            break;
        }
        let mask = residual.evaluate(arrays, before)?;
        let after = mask.true_count();
        if after == before {
            continue;
        }
        let filter = FilterBuilder::new(&mask).optimize().build();
        for array in arrays.values_mut() {
            *array = filter.filter(array)?;
        }
        let bits: Vec<u64> = mask.values().bit_chunks().iter_padded().collect();
        let words = match kept {
            None => bits,
            Some(kept) => {
                let mut words = vec![0; kept.words.len()];
                kernels().pdep_words(&bits, &kept.words, &mut words);
                words
            }
        };
        kept = Some(Kept { words, rows: after });
    }
    Ok(kept)
}
