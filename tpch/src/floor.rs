//! The floor: memory tables that hold exactly what a query's scans would deliver, so that the rest of the plan runs alone.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;

use crate::Result;
use crate::dataset::Dataset;
use crate::query::{Floor, Query};
use crate::readers::{self, BATCH_SIZE};

/// A session whose tables are the inputs of `floor`, in one partition a thread.
pub(crate) async fn session(query: &Query, floor: &Floor, dataset: &Dataset, threads: usize) -> Result<SessionContext> {
    let source = readers::oracle(dataset, query.tables).await?;
    let ctx = readers::memory(threads);
    for (table, sql) in floor.inputs {
        let frame = source.sql(sql).await?;
        let schema = Arc::clone(frame.schema().inner());
        let rows = concat_batches(&schema, &frame.collect().await?)?;
        let mut partitions = vec![Vec::new(); threads];
        for (index, start) in (0..rows.num_rows()).step_by(BATCH_SIZE).enumerate() {
            let length = BATCH_SIZE.min(rows.num_rows() - start);
            partitions[index % threads].push(compact(&rows.slice(start, length))?);
        }
        ctx.register_table(table.name(), Arc::new(MemTable::try_new(schema, partitions)?))?;
    }
    Ok(ctx)
}

/// Gives string views a buffer of their own: a slice would drag the whole table's along.
fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let column = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()) as ArrayRef,
        DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
        _ => Arc::clone(column),
    };
    Ok(RecordBatch::try_new(batch.schema(), batch.columns().iter().map(column).collect())?)
}
