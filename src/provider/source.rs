//! The source of a scan under DataFusion's `DataSourceExec`.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::{ConfigOptions, TableParquetOptions};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, not_impl_err};
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource, ParquetFileReaderFactory};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::functions::core::file_row_index::FileRowIndexFunc;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::expressions::{Column, DynamicFilterTracking, Literal};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt, split_conjunction};
use datafusion::physical_expr_adapter::DefaultPhysicalExprAdapterFactory;
use datafusion::physical_expr_adapter::rewrite::expr_references_scalar_udf;
use datafusion::physical_expr_common::physical_expr::{fmt_sql, is_volatile};
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;

use super::expr::{FileColumns, translate};
use super::filter::conjuncts;
use super::memory::{BufferPool, budget};
use super::opener::{Int96, MiniblockOpener};
use super::options::MiniblockOptions;
use super::prune::PruneOptions;
use super::reader::ReaderFactory;
use crate::scan::Domain;

/// Scans Parquet files in one pass: a [`FileSource`] that takes every deterministic filter, so that no `FilterExec` remains
/// above it.
///
/// [`MiniblockTable`](super::MiniblockTable) and [`MiniblockFormat`](super::MiniblockFormat) make it; it can also be given
/// to a `FileScanConfig` directly, by those who list files themselves:
///
/// ```
/// use std::sync::Arc;
/// use datafusion::arrow::datatypes::{DataType, Field, Schema};
/// use datafusion::datasource::listing::PartitionedFile;
/// use datafusion::datasource::physical_plan::FileScanConfigBuilder;
/// use datafusion::datasource::source::DataSourceExec;
/// use datafusion::execution::object_store::ObjectStoreUrl;
/// use miniblock::MiniblockSource;
///
/// let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
/// let source = Arc::new(MiniblockSource::new(schema));
/// let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
///     .with_file(PartitionedFile::new("/data/a.parquet", 1234))
///     .build();
/// let plan = DataSourceExec::from_data_source(config);
/// ```
///
/// Files may carry a [`ParquetAccessPlan`](datafusion::datasource::physical_plan::parquet::ParquetAccessPlan) as an
/// extension: what it leaves out is not read.
#[derive(Debug, Clone)]
pub struct MiniblockSource {
    table_schema: TableSchema,
    projection: ProjectionExprs,
    predicate: Option<Arc<dyn PhysicalExpr>>,
    batch_size: Option<usize>,
    metrics: ExecutionPlanMetricsSet,
    options: MiniblockOptions,
    parquet_options: TableParquetOptions,
    reader_factory: Option<Arc<dyn ParquetFileReaderFactory>>,
    /// Footers that were read, for the readers that are made here.
    metadata_cache: Option<Arc<FileMetadataCache>>,
    memory_pool: Option<Arc<dyn MemoryPool>>,
}

impl MiniblockSource {
    /// A source of all columns of `table_schema`, without a filter.
    pub fn new(table_schema: impl Into<TableSchema>) -> Self {
        let table_schema = table_schema.into();
        let schema = table_schema.table_schema();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        Self {
            projection: ProjectionExprs::from_indices(&all, schema),
            table_schema,
            predicate: None,
            batch_size: None,
            metrics: ExecutionPlanMetricsSet::new(),
            options: MiniblockOptions::default(),
            parquet_options: TableParquetOptions::default(),
            reader_factory: None,
            metadata_cache: None,
            memory_pool: None,
        }
    }

    /// With options of our own.
    #[must_use]
    pub fn with_options(mut self, options: MiniblockOptions) -> Self {
        self.options = options;
        self
    }

    /// With DataFusion's Parquet options: pruning, page index, bloom filters, INT96.
    #[must_use]
    pub fn with_parquet_options(mut self, parquet_options: TableParquetOptions) -> Self {
        self.parquet_options = parquet_options;
        self
    }

    /// With a factory that makes the readers of files, instead of one over the object store.
    #[must_use]
    pub fn with_reader_factory(mut self, reader_factory: Arc<dyn ParquetFileReaderFactory>) -> Self {
        self.reader_factory = Some(reader_factory);
        self
    }

    /// With the cache in which footers are looked up and kept, unless readers come from a factory that was given.
    #[must_use]
    pub fn with_metadata_cache(mut self, cache: Arc<FileMetadataCache>) -> Self {
        self.metadata_cache = Some(cache);
        self
    }

    /// With the pool that says how much memory scans may hold. Without one they hold what they need.
    #[must_use]
    pub fn with_memory_pool(mut self, memory_pool: Arc<dyn MemoryPool>) -> Self {
        self.memory_pool = Some(memory_pool);
        self
    }

    /// With `filters`, over the columns of the table, besides those that are there. Rows for which one of them is not true are
    /// not delivered. The caller answers for their being deterministic.
    #[must_use]
    pub fn with_filters(mut self, filters: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>) -> Self {
        let mut all: Vec<Arc<dyn PhysicalExpr>> =
            self.predicate.iter().flat_map(|predicate| split_conjunction(predicate)).cloned().collect();
        for filter in filters {
            for conjunct in split_conjunction(&filter) {
                // Filters arrive more than once: from the table's scan, and from each phase of the pushdown.
                if !is_true(conjunct) && !all.contains(conjunct) {
                    all.push(Arc::clone(conjunct));
                }
            }
        }
        self.predicate = conjunction_opt(all);
        self
    }

    /// The factory that makes the readers of files, if one was given.
    pub fn reader_factory(&self) -> Option<&Arc<dyn ParquetFileReaderFactory>> {
        self.reader_factory.as_ref()
    }

    /// Whether the scan can evaluate `filter`.
    fn takes(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        let columns = self.table_schema.schema_without_virtual_columns().fields();
        let mut known = true;
        // The closure does not fail.
        let _ = filter.apply(|node| {
            known &= node
                .downcast_ref::<Column>()
                .is_none_or(|column| columns.get(column.index()).is_some_and(|field| field.name() == column.name()));
            known &= !expr_references_scalar_udf::<FileRowIndexFunc>(node);
            Ok(if known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
        known && !is_volatile(filter)
    }

    fn prune_options(&self) -> PruneOptions {
        let global = &self.parquet_options.global;
        PruneOptions {
            statistics: global.pruning,
            page_index: global.enable_page_index,
            bloom_filters: global.bloom_filter_on_read,
            max_in_list_size: global.max_in_list_size,
        }
    }

    /// Conjuncts by who evaluates them, as far as it is known without a file.
    fn fmt_conjuncts(&self, predicate: &Arc<dyn PhysicalExpr>, f: &mut fmt::Formatter) -> fmt::Result {
        let schema = Arc::clone(self.table_schema.file_schema());
        let domains = schema.fields().iter().map(|field| assumed_domain(field.data_type())).collect();
        let columns = FileColumns { schema, domains };
        let (native, residual): (Vec<_>, Vec<_>) = conjuncts(predicate)
            .into_iter()
            .filter(|conjunct| !DynamicFilterTracking::classify(conjunct).contains_dynamic_filter())
            .partition(|conjunct| translate(conjunct, &columns).is_some());
        let list = |all: Vec<Arc<dyn PhysicalExpr>>| {
            all.iter().map(|conjunct| conjunct.to_string()).collect::<Vec<_>>().join(", ")
        };
        write!(f, ", native_predicates=[{}], residual_predicates=[{}]", list(native), list(residual))
    }
}

fn is_true(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>().is_some_and(|literal| *literal.value() == ScalarValue::Boolean(Some(true)))
}

/// How predicates see a column of `data_type` in files as they usually are.
fn assumed_domain(data_type: &DataType) -> Option<Domain> {
    Some(match data_type {
        DataType::Boolean => Domain::Boolean,
        DataType::Dictionary(_, values) => return assumed_domain(values),
        DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) | DataType::Date64 => {
            Domain::Int { unsigned: false, width: 64 }
        }
        DataType::UInt64 => Domain::Int { unsigned: true, width: 64 },
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Date32 | DataType::Time32(_) => {
            Domain::Int { unsigned: false, width: 32 }
        }
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Domain::Int { unsigned: true, width: 32 },
        DataType::Decimal32(..) => Domain::Int { unsigned: false, width: 32 },
        DataType::Decimal64(..) => Domain::Int { unsigned: false, width: 64 },
        DataType::Decimal128(precision, _) | DataType::Decimal256(precision, _) if *precision <= 18 => {
            Domain::Int { unsigned: false, width: 64 }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Domain::Bytes { utf8: true },
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Domain::Bytes { utf8: false }
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Domain::Opaque,
        DataType::Decimal128(..) | DataType::Decimal256(..) => Domain::Opaque,
        _ => return None,
    })
}

impl From<MiniblockSource> for Arc<dyn FileSource> {
    fn from(source: MiniblockSource) -> Self {
        Arc::new(source)
    }
}

impl FileSource for MiniblockSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        if !self.table_schema.virtual_columns().is_empty() {
            return not_impl_err!("Miniblock does not read virtual columns");
        }
        let batch_size = self.batch_size.ok_or_else(|| internal_datafusion_err!("The batch size was not set"))?;
        let is_local = self.reader_factory.is_none() && base_config.object_store_url.as_str().starts_with("file:");
        let local_store = is_local.then(|| Arc::clone(&object_store));
        let footers = self.metadata_cache.clone().filter(|_| self.reader_factory.is_none());
        let reader_factory = self
            .reader_factory
            .clone()
            .unwrap_or_else(|| Arc::new(ReaderFactory::new(object_store, footers.clone())) as _);
        let budget = budget(self.memory_pool.as_ref(), partition);
        let global = &self.parquet_options.global;
        Ok(Arc::new(MiniblockOpener {
            partition,
            table_schema: self.table_schema.clone(),
            projection: self.projection.clone(),
            predicate: self.predicate.clone(),
            batch_size,
            limit: base_config.limit,
            preserve_order: base_config.preserve_order,
            metrics: self.metrics.clone(),
            reader_factory,
            local_store,
            buffers: BufferPool::new(Arc::clone(&budget)),
            budget,
            footers,
            metadata_size_hint: global.metadata_size_hint,
            expr_adapter_factory: base_config
                .expr_adapter_factory
                .clone()
                .unwrap_or_else(|| Arc::new(DefaultPhysicalExprAdapterFactory) as _),
            options: self.options.clone(),
            prune: self.prune_options(),
            coerce_int96: Int96::parse(global.coerce_int96.as_deref(), global.coerce_int96_tz.as_deref())?,
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_size: Some(batch_size), ..self.clone() })
    }

    /// Statistics turn inexact only where this is `Some`.
    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.predicate.clone()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "miniblock"
    }

    fn fmt_extra(&self, format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let Some(predicate) = &self.predicate else { return Ok(()) };
        if let DisplayFormatType::TreeRender = format {
            return writeln!(f, "predicate={}", fmt_sql(predicate.as_ref()));
        }
        write!(f, ", predicate={predicate}")?;
        if DynamicFilterTracking::classify(predicate).contains_dynamic_filter() {
            write!(f, ", dynamic_rg_pruning=eligible")?;
        }
        // Each file has its own, over its own columns; this is what a file with the columns of the table has.
        let pruning = PruningPredicateBuilder::new()
            .with_file_schema(Arc::clone(self.table_schema.table_schema()))
            .with_max_in_list_size(self.parquet_options.global.max_in_list_size)
            .try_build(Arc::clone(predicate));
        if let Ok(pruning) = pruning
            && !pruning.always_true()
        {
            let mut guarantees: Vec<String> = pruning.literal_guarantees().iter().map(ToString::to_string).collect();
            guarantees.sort();
            let guarantees = guarantees.join(", ");
            write!(f, ", pruning_predicate={}, required_guarantees=[{guarantees}]", pruning.predicate_expr())?;
        }
        if let DisplayFormatType::Verbose = format {
            self.fmt_conjuncts(predicate, f)?;
        }
        Ok(())
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let answers: Vec<PushedDown> =
            filters.iter().map(|filter| if self.takes(filter) { PushedDown::Yes } else { PushedDown::No }).collect();
        let taken: Vec<_> = filters
            .into_iter()
            .zip(&answers)
            .filter(|(_, answer)| matches!(answer, PushedDown::Yes))
            .map(|(filter, _)| filter)
            .collect();
        if taken.is_empty() {
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers));
        }
        let source = self.clone().with_filters(taken);
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers).with_updated_node(Arc::new(source) as _))
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        if projection.iter().any(|projected| expr_references_scalar_udf::<FileRowIndexFunc>(&projected.expr)) {
            return Ok(None);
        }
        let projection = self.projection.try_merge(projection)?;
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let projected = self.projection.iter().map(|projected| &projected.expr);
        for expr in self.predicate.iter().chain(projected) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}
