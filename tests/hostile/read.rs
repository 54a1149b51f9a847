//! What Miniblock makes of the bytes of one file, and the parquet crate.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::prelude::{SessionConfig, SessionContext};
use miniblock::{MiniblockOptions, SessionContextExt};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

/// Where the one file is.
pub(crate) const FILE: &str = "f.parquet";

/// A session with a store in memory.
pub(crate) fn session(batch_size: usize) -> (SessionContext, Arc<dyn ObjectStore>) {
    let mut config = SessionConfig::new().with_target_partitions(1);
    config.options_mut().execution.batch_size = ConfigNonZeroUsize::try_new(batch_size).unwrap();
    let ctx = SessionContext::new_with_config(config);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    ctx.register_object_store(ObjectStoreUrl::parse("mem://m").unwrap().as_ref(), Arc::clone(&store));
    (ctx, store)
}

/// Registers the bytes as table `t`.
pub(crate) async fn register(
    ctx: &SessionContext,
    store: &Arc<dyn ObjectStore>,
    bytes: Bytes,
    options: MiniblockOptions,
) -> Result<()> {
    store.put(&Path::from(FILE), bytes.into()).await.unwrap();
    ctx.register_miniblock("t", &format!("mem://m/{FILE}"), options).await
}

/// The answer to `sql` over table `t`.
pub(crate) async fn answer(
    bytes: &Bytes,
    options: MiniblockOptions,
    batch_size: usize,
    sql: &str,
) -> Result<Vec<RecordBatch>> {
    let (ctx, store) = session(batch_size);
    register(&ctx, &store, bytes.clone(), options).await?;
    ctx.sql(sql).await?.collect().await
}

/// All rows by the parquet crate, of these root columns, as the fields of `schema`.
pub(crate) fn by_parquet(
    bytes: &Bytes,
    schema: Option<SchemaRef>,
    roots: Option<&[usize]>,
) -> std::result::Result<RecordBatch, Box<dyn std::error::Error>> {
    let mut options = ArrowReaderOptions::new();
    if let Some(schema) = schema {
        options = options.with_schema(schema);
    }
    let mut builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options)?;
    if let Some(roots) = roots {
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
        builder = builder.with_projection(mask);
    }
    let reader = builder.with_batch_size(8192).build()?;
    let schema = arrow::array::RecordBatchReader::schema(&reader);
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}
