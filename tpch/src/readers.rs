//! Sessions over a dataset: Miniblock's, DataFusion's own reader's, and the careful one that says what is right.

use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use miniblock::{MiniblockOptions, SessionContextExt};

use crate::Result;
use crate::dataset::{Dataset, Table, utf8};

/// The rows of a batch, in scans and in the floor's memory tables alike.
pub(crate) const BATCH_SIZE: usize = 8192;

fn config(threads: usize) -> SessionConfig {
    SessionConfig::new().with_target_partitions(threads).with_batch_size(BATCH_SIZE)
}

/// Tables that Miniblock scans.
pub(crate) async fn miniblock(dataset: &Dataset, tables: &[Table], threads: usize) -> Result<SessionContext> {
    let ctx = SessionContext::new_with_config(config(threads));
    for &table in tables {
        let path = dataset.path(table);
        ctx.register_miniblock(table.name(), utf8(&path)?, MiniblockOptions::default()).await?;
    }
    Ok(ctx)
}

/// Tables that DataFusion's reader scans, with its default settings but for `pushdown_filters`.
pub(crate) async fn datafusion(
    dataset: &Dataset,
    tables: &[Table],
    threads: usize,
    pushdown_filters: bool,
) -> Result<SessionContext> {
    let mut config = config(threads);
    config.options_mut().execution.parquet.pushdown_filters = pushdown_filters;
    register_parquet(config, dataset, tables).await
}

/// DataFusion's reader with pruning, page index, bloom filters and pushdown off: it shares no short cut with Miniblock.
pub(crate) async fn oracle(dataset: &Dataset, tables: &[Table]) -> Result<SessionContext> {
    let mut config = config(1);
    let parquet = &mut config.options_mut().execution.parquet;
    parquet.pruning = false;
    parquet.enable_page_index = false;
    parquet.bloom_filter_on_read = false;
    parquet.pushdown_filters = false;
    register_parquet(config, dataset, tables).await
}

async fn register_parquet(config: SessionConfig, dataset: &Dataset, tables: &[Table]) -> Result<SessionContext> {
    let ctx = SessionContext::new_with_config(config);
    for &table in tables {
        let path = dataset.path(table);
        ctx.register_parquet(table.name(), utf8(&path)?, ParquetReadOptions::default()).await?;
    }
    Ok(ctx)
}

/// An empty session for tables in memory.
pub(crate) fn memory(threads: usize) -> SessionContext {
    SessionContext::new_with_config(config(threads))
}
