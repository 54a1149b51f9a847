//! Conjuncts that run as expressions over arrays of survivors.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::FilterBuilder;
use arrow::datatypes::{Schema, SchemaRef};

use super::Residual;
use crate::error::{Error, Result};
use crate::kernels::{self, kernels};
use crate::predicate::{Attempts, Selection, WINDOW_ROWS};

/// A residual, and the schema of what it sees.
pub(super) struct BoundResidual {
    residual: Arc<dyn Residual>,
    schema: SchemaRef,
    /// Of one that may be left out: evaluations, which are in vain where they do not pay.
    attempts: Option<Attempts>,
}

/// Batches of which a residual that may be left out is evaluated in vain before there is a pause.
const PATIENCE: u32 = 2;

/// How often whoever takes the batches spends on a row what the residual costs, at least: a join looks it up again, and hashes
/// and copies it besides.
const AT_LEAST: f64 = 2.0;

/// At most, whatever was measured: what passed meanwhile may have been something else.
const AT_MOST: f64 = 8.0;

/// Whether a residual pays that costs so many nanoseconds a row and drops such a share of the rows.
fn pays(cost: f64, dropped: f64, spared: Spared) -> bool {
    dropped * (spared.late + spared.above.clamp(AT_LEAST * cost, AT_MOST * cost)) > cost
}

/// Nanoseconds that a row costs once the residuals have let it pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spared {
    /// In late columns.
    pub(super) late: f64,
    /// In whoever takes the batches.
    pub(super) above: f64,
}

impl BoundResidual {
    /// `optional`: whether it may be left out where it does not pay.
    ///
    /// # Errors
    /// If it reads a column that the file lacks.
    pub(super) fn new(residual: Arc<dyn Residual>, schema: &Schema, optional: bool) -> Result<Self> {
        let schema = schema.project(residual.columns())?.into();
        Ok(Self { residual, schema, attempts: optional.then(|| Attempts::new(PATIENCE)) })
    }

    /// Root columns that it reads.
    pub(super) fn columns(&self) -> &[usize] {
        self.residual.columns()
    }

    /// Whether it is `residual`.
    pub(super) fn is(&self, residual: &Arc<dyn Residual>) -> bool {
        Arc::ptr_eq(&self.residual, residual)
    }

    /// Whether it may be left out.
    pub(super) fn is_optional(&self) -> bool {
        self.attempts.is_some()
    }

    fn evaluate(&self, arrays: &HashMap<usize, ArrayRef>, rows: usize) -> Result<BooleanArray> {
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
/// `spared` is what a row costs that passes.
pub(super) fn apply_residuals(
    residuals: &mut [BoundResidual],
    arrays: &mut HashMap<usize, ArrayRef>,
    rows: usize,
    spared: Spared,
) -> Result<Option<Kept>> {
    let mut kept: Option<Kept> = None;
    for residual in residuals {
        let before = kept.as_ref().map_or(rows, |kept| kept.rows);
        if before == 0 {
            break;
        }
        if !residual.attempts.as_mut().is_none_or(Attempts::is_due) {
            continue;
        }
        let start = Instant::now();
        let mask = residual.evaluate(arrays, before)?;
        let after = mask.true_count();
        if after < before {
            let filter = FilterBuilder::new(&mask).optimize().build();
            for array in arrays.values_mut() {
                *array = filter.filter(array)?;
            }
        }
        if let Some(attempts) = &mut residual.attempts {
            let cost = start.elapsed().as_secs_f64() * 1e9 / before as f64;
            attempts.note(pays(cost, (before - after) as f64 / before as f64, spared));
        }
        if after == before {
            continue;
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
