//! One file from its location to a stream of batches.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef, TimeUnit};
use datafusion::common::{DataFusionError, Result, ScalarValue, config_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::{Int96Coercer, apply_file_schema_type_coercions};
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener, ParquetFileReaderFactory};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExprs, Projector};
use datafusion::physical_expr_adapter::rewrite::rewrite_input_file_name_in_projection;
use datafusion::physical_expr_adapter::{PhysicalExprAdapterFactory, replace_columns_with_literals};
use datafusion::physical_optimizer::pruning::FilePruner;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::file::metadata::PageIndexPolicy;

use super::dynamic::DynamicFilters;
use super::fields::FieldReads;
use super::filter::{Filter, file_columns};
use super::footer::cached;
use super::local::LocalFetch;
use super::memory::BufferPool;
use super::metrics::FileMetrics;
use super::options::MiniblockOptions;
use super::panics::{Caught, caught};
use super::prune::{PruneOptions, Pruner};
use super::reader::{Bounded, ReaderFetch};
use super::residual::rebase;
use super::simplify::simplify;
use super::statistics::{bounds_all, trusts_file_statistics};
use crate::error::Error;
use crate::scan::{Budget, Counters, Fetch, Gate, Scan};

/// Opens files of one partition.
#[derive(Clone)]
pub(super) struct MiniblockOpener {
    pub(super) partition: usize,
    pub(super) table_schema: TableSchema,
    /// Over the columns of the table.
    pub(super) projection: ProjectionExprs,
    /// Over the columns of the table.
    pub(super) predicate: Option<Arc<dyn PhysicalExpr>>,
    pub(super) batch_size: usize,
    pub(super) limit: Option<usize>,
    pub(super) preserve_order: bool,
    pub(super) metrics: ExecutionPlanMetricsSet,
    pub(super) reader_factory: Arc<dyn ParquetFileReaderFactory>,
    /// The store, where files may be read without the factory's readers.
    pub(super) local_store: Option<Arc<dyn ObjectStore>>,
    pub(super) budget: Arc<dyn Budget>,
    pub(super) buffers: Arc<BufferPool>,
    /// Where the footers of files may be at hand.
    pub(super) footers: Option<Arc<FileMetadataCache>>,
    pub(super) metadata_size_hint: Option<usize>,
    pub(super) expr_adapter_factory: Arc<dyn PhysicalExprAdapterFactory>,
    pub(super) options: MiniblockOptions,
    pub(super) prune: PruneOptions,
    pub(super) coerce_int96: Option<Int96>,
}

/// How INT96 timestamps are delivered.
#[derive(Debug, Clone)]
pub(super) struct Int96 {
    unit: TimeUnit,
    zone: Option<Arc<str>>,
}

impl Int96 {
    /// From `datafusion.execution.parquet.coerce_int96` and `coerce_int96_tz`.
    pub(super) fn parse(unit: Option<&str>, zone: Option<&str>) -> Result<Option<Self>> {
        let Some(unit) = unit else { return Ok(None) };
        let unit = match unit.to_ascii_lowercase().as_str() {
            "ns" => TimeUnit::Nanosecond,
            "us" => TimeUnit::Microsecond,
            "ms" => TimeUnit::Millisecond,
            "s" => TimeUnit::Second,
            _ => return config_err!("Unknown parquet coerce_int96: {unit}. Valid values are ns, us, ms and s"),
        };
        Ok(Some(Self { unit, zone: zone.map(Arc::from) }))
    }
}

impl FileOpener for MiniblockOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let opener = self.clone();
        let location: Arc<str> = file.object_meta.location.as_ref().into();
        Ok(async move {
            let batches = caught(&location, opener.open_file(file)).await?;
            Ok(Caught::new(batches, location).boxed())
        }
        .boxed())
    }
}

impl MiniblockOpener {
    fn reader(&self, file: &PartitionedFile) -> Result<Box<dyn AsyncFileReader>> {
        let hint = file.metadata_size_hint.or(self.metadata_size_hint);
        let inner = self.reader_factory.create_reader(self.partition, file.clone(), hint, &self.metrics)?;
        Ok(Box::new(Bounded { inner, file_size: file.object_meta.size }))
    }

    async fn open_file(self, file: PartitionedFile) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let location: Arc<str> = file.object_meta.location.as_ref().into();
        let counters = Arc::new(Counters::default());
        let metrics = FileMetrics::new(self.partition, &location, &self.metrics, Arc::clone(&counters));
        let (projection, predicate) = self.with_file_values(&file)?;

        let mut file_pruner = predicate.as_ref().and_then(|predicate| self.file_pruner(&file, predicate, &metrics));
        // The footer, where it is at hand, says of each row group what the statistics of the file say of all.
        let has_footer = self.footers.as_ref().is_some_and(|footers| cached(footers, &file.object_meta).is_some());
        let parquet = &metrics.parquet;
        if let Some(pruner) = file_pruner.as_mut().filter(|pruner| !has_footer || pruner.is_watching())
            && pruner.should_prune()?
        {
            parquet.files_ranges_pruned_statistics.add_pruned(1);
            return Ok(stream::empty().boxed());
        }

        let mut reader = self.reader(&file)?;
        let metadata = {
            let _timer = parquet.metadata_load_time.timer();
            self.load_metadata(&file, &mut reader).await?
        };
        let schema = Arc::clone(metadata.schema());
        let (projection, predicate) = self.over_file_columns(projection, predicate, &schema)?;

        if let Some(pruner) = &mut file_pruner
            && has_footer
            && predicate.as_ref().is_some_and(|predicate| !bounds_all(predicate, metadata.metadata()))
            && pruner.should_prune()?
        {
            parquet.files_ranges_pruned_statistics.add_pruned(1);
            return Ok(stream::empty().boxed());
        }
        parquet.files_ranges_pruned_statistics.add_matched(1);

        let columns = file_columns(&metadata, predicate.as_ref());
        let Some(filter) = Filter::classify(predicate.as_ref(), &columns, self.prune.max_in_list_size)? else {
            return Ok(stream::empty().boxed());
        };
        let pruner = Pruner {
            options: self.prune,
            file: &file,
            schema: &schema,
            metadata: metadata.clone(),
            predicate: predicate.as_ref(),
            conditions: &filter.conditions,
            others: &filter.others,
            metrics: &metrics,
        };
        let limit = self.limit.filter(|_| !self.preserve_order && filter.dynamic.is_empty());
        let (row_groups, footer) = pruner.prune(&mut reader, || self.reader(&file), limit).await?;
        if row_groups.is_empty() {
            return Ok(stream::empty().boxed());
        }

        let output = Output::try_new(&projection, &schema, self.output_schema()?)?;
        let mut reads = FieldReads::default();
        projection.iter().map(|projected| &projected.expr).chain(&predicate).for_each(|expr| reads.add(expr));
        let parts = reads.parts(&schema);
        let read: Vec<usize> = filter.columns().chain(output.columns.iter().copied()).collect();
        let gate = DynamicFilters::new(
            filter.dynamic,
            columns,
            read,
            Arc::clone(metadata.metadata()),
            file_pruner.filter(FilePruner::is_watching),
            self.prune.statistics,
            metrics.conditions_tabulated.clone(),
        );
        let scan = Scan {
            file: location,
            file_size: file.object_meta.size,
            metadata: footer,
            schema,
            projection: output.columns.clone(),
            parts,
            predicates: filter.predicates,
            residuals: filter.residuals,
            row_groups,
            batch_size: self.batch_size,
            limit: self.limit,
            limits: self.options.limits(),
            verify_checksums: self.options.verify_checksums,
            read_ahead_bytes: self.options.read_ahead(),
            budget: Arc::clone(&self.budget),
            counters,
        };
        let local = match &self.local_store {
            Some(store) => {
                let (object, is_mapped) = (&file.object_meta, self.options.memory_map);
                LocalFetch::open(store.as_ref(), object, &self.buffers, is_mapped, &parquet.bytes_scanned).await
            }
            None => Ok(None),
        };
        let fetch: Box<dyn Fetch> = match local.map_err(|error| in_file(error, &file))? {
            Some(local) => Box::new(local),
            None => Box::new(ReaderFetch::new(reader, move || self.reader(&file))),
        };
        let batches = scan.into_stream(fetch, gate.map(|gate| Box::new(gate) as Box<dyn Gate>));
        Ok(FileBatches { batches, output, metrics }.boxed())
    }

    fn output_schema(&self) -> Result<SchemaRef> {
        Ok(Arc::new(self.projection.project_schema(self.table_schema.table_schema())?))
    }

    /// Projection and predicate with what is constant in the file: partition values and its name.
    fn with_file_values(&self, file: &PartitionedFile) -> Result<(ProjectionExprs, Option<Arc<dyn PhysicalExpr>>)> {
        let values: HashMap<&str, &ScalarValue> = self
            .table_schema
            .table_partition_cols()
            .iter()
            .map(|field| field.name().as_str())
            .zip(&file.partition_values)
            .collect();
        let replaced = |expr| replace_columns_with_literals(expr, &values);
        let (mut projection, mut predicate) = (self.projection.clone(), self.predicate.clone());
        if !values.is_empty() {
            projection = projection.try_map_exprs(replaced)?;
            predicate = predicate.map(replaced).transpose()?;
        }
        let projection = rewrite_input_file_name_in_projection(projection, file.object_meta.location.as_ref())?;
        Ok((projection, predicate))
    }

    fn file_pruner(
        &self,
        file: &PartitionedFile,
        predicate: &Arc<dyn PhysicalExpr>,
        metrics: &FileMetrics,
    ) -> Option<FilePruner> {
        let schema = self.table_schema.file_schema();
        if !self.prune.statistics || !trusts_file_statistics(predicate, schema) {
            return None;
        }
        FilePruner::try_new(Arc::clone(predicate), schema, file, metrics.predicate_creation_errors.clone())
    }

    /// The footer, with the columns of the file in the types that the table asks for where the file can give them.
    async fn load_metadata(
        &self,
        file: &PartitionedFile,
        reader: &mut Box<dyn AsyncFileReader>,
    ) -> Result<ArrowReaderMetadata> {
        let mut options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
        if let Some(schema) = &file.arrow_schema {
            options = options.with_schema(Arc::clone(schema));
        }
        let metadata = ArrowReaderMetadata::load_async(reader, options.clone())
            .await
            .map_err(|error| in_file(error.into(), file))?;
        let mut schema = Arc::clone(metadata.schema());
        if let Some(coerced) = apply_file_schema_type_coercions(self.table_schema.file_schema(), &schema) {
            schema = Arc::new(coerced);
        }
        if let Some(Int96 { unit, zone }) = &self.coerce_int96
            && let Some(coerced) =
                Int96Coercer::new(metadata.parquet_schema(), &schema, unit).with_timezone(zone.clone()).coerce()
        {
            schema = Arc::new(coerced);
        }
        if schema == *metadata.schema() {
            return Ok(metadata);
        }
        ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options.with_schema(schema))
            .map_err(|error| in_file(error.into(), file))
    }

    /// Projection and predicate over the columns of the file: casts and missing columns are filled in.
    fn over_file_columns(
        &self,
        projection: ProjectionExprs,
        predicate: Option<Arc<dyn PhysicalExpr>>,
        schema: &SchemaRef,
    ) -> Result<(ProjectionExprs, Option<Arc<dyn PhysicalExpr>>)> {
        let table = self.table_schema.file_schema();
        if predicate.is_none() && table == schema {
            return Ok((projection, None));
        }
        let adapter = self.expr_adapter_factory.create(Arc::clone(table), Arc::clone(schema))?;
        let adapted = |expr| simplify(adapter.rewrite(expr)?, schema);
        Ok((projection.try_map_exprs(adapted)?, predicate.map(adapted).transpose()?))
    }
}

fn in_file(error: Error, file: &PartitionedFile) -> DataFusionError {
    into_datafusion(error.in_file(&file.object_meta.location.as_ref().into()))
}

/// An error of the scan as DataFusion's: one that came from DataFusion keeps its kind.
pub(super) fn into_datafusion(error: Error) -> DataFusionError {
    let Error::External(source, place) = error else { return DataFusionError::External(Box::new(error)) };
    match source.downcast::<DataFusionError>() {
        Ok(source) => source.context(place.to_string()),
        Err(source) => DataFusionError::External(Box::new(Error::External(source, place))),
    }
}

/// From the batches of the scan to those of the table.
struct Output {
    /// Root columns that the scan delivers.
    columns: Vec<usize>,
    projector: Projector,
    schema: SchemaRef,
    /// Whether the projection takes the columns as they come.
    identity: bool,
}

impl Output {
    fn try_new(projection: &ProjectionExprs, file_schema: &Schema, schema: SchemaRef) -> Result<Self> {
        let columns = projection.column_indices();
        let projection = projection.clone().try_map_exprs(|expr| rebase(&expr, &columns))?;
        let identity = projection.iter().count() == columns.len()
            && projection.iter().enumerate().all(|(position, projected)| {
                projected.expr.downcast_ref::<Column>().is_some_and(|column| column.index() == position)
            });
        let projector = projection.make_projector(&file_schema.project(&columns)?)?;
        Ok(Self { columns, projector, schema, identity })
    }

    fn project(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = if self.identity { batch } else { self.projector.project_batch(&batch)? };
        if *batch.schema_ref() == self.schema {
            return Ok(batch);
        }
        // Files differ from the table in nullability and metadata.
        let (_, arrays, rows) = batch.into_parts();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// The batches of one file, as the table delivers them.
struct FileBatches {
    batches: BoxStream<'static, crate::error::Result<RecordBatch>>,
    output: Output,
    metrics: FileMetrics,
}

impl Stream for FileBatches {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let elapsed = self.metrics.elapsed_compute.clone();
        let _timer = elapsed.timer();
        let polled = self.batches.poll_next_unpin(context);
        self.metrics.report();
        polled.map(|next| next.map(|batch| self.output.project(batch.map_err(into_datafusion)?)))
    }
}
