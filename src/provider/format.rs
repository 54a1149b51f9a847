//! The file format: DataFusion's Parquet for everything but the scan.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::{ConfigFileType, TableParquetOptions};
use datafusion::common::stats::Precision;
use datafusion::common::{GetExt, Result, Statistics, internal_datafusion_err, not_impl_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory, FileMeta};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, future, stream};
use parquet::file::metadata::ParquetMetaData;

use super::footer::FooterSource;
use super::literal::plain_type;
use super::opener::into_datafusion;
use super::options::MiniblockOptions;
use super::panics::caught;
use super::source::MiniblockSource;
use super::statistics::{has_bounds, has_null_counts, has_ordered_bounds};
use crate::error::Error;
use crate::scan::check_counts;

/// Parquet files, scanned by [`MiniblockSource`]. Schemas, statistics, orderings and writing are those of DataFusion's
/// [`ParquetFormat`], and so is the scan of a table whose options give keys: encrypted pages are not read here.
///
/// Of `datafusion.execution.parquet.*`, these do for the scan what they do for DataFusion's: `schema_force_view_types`,
/// `binary_as_string`, `coerce_int96`, `coerce_int96_tz`, `skip_metadata`, `pruning`, `enable_page_index`,
/// `bloom_filter_on_read`, `max_in_list_size`, `metadata_size_hint`. These mean nothing here, since the scan filters rows in
/// any case, and in its own order: `pushdown_filters`, `reorder_filters`, `force_filter_selections`,
/// `max_predicate_cache_size`.
#[derive(Debug)]
pub struct MiniblockFormat {
    inner: ParquetFormat,
    options: MiniblockOptions,
}

impl MiniblockFormat {
    /// The format with DataFusion's Parquet options (of a session: `state.default_table_options().parquet`) and our own.
    pub fn new(parquet_options: TableParquetOptions, options: MiniblockOptions) -> Self {
        Self { inner: ParquetFormat::default().with_options(parquet_options), options }
    }

    /// DataFusion's Parquet options.
    pub fn parquet_options(&self) -> &TableParquetOptions {
        self.inner.options()
    }

    /// Whether files may be encrypted: then all of them are read by DataFusion's own reader.
    fn decrypts(&self) -> bool {
        let crypto = &self.inner.options().crypto;
        crypto.file_decryption.is_some() || crypto.factory_id.is_some()
    }

    /// Our own options.
    pub fn options(&self) -> &MiniblockOptions {
        &self.options
    }

    /// The footer of a file, from the cache where it was read before.
    async fn footer(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<Arc<ParquetMetaData>> {
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        let size_hint = self.inner.metadata_size_hint();
        let source = FooterSource { store: store.as_ref(), object, size_hint, cache: Some(&cache) };
        let file = object.location.as_ref();
        // With the page index, or DataFusion would load it, and without looking.
        let footer = source.load(true).await.map_err(|error| into_datafusion(error.in_file(&file.into())))?;
        if let Some(footer) = footer {
            return Ok(footer);
        }
        DFParquetMetadata::new(store.as_ref(), object)
            .with_metadata_size_hint(size_hint)
            .with_file_metadata_cache(Some(cache))
            .fetch_metadata()
            .await
    }

    /// The footer of a file of which statistics are wanted.
    async fn counted_footer(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<Arc<ParquetMetaData>> {
        let footer = self.footer(state, store, object).await?;
        check_row_counts(&footer).map_err(|error| into_datafusion(error.in_file(&object.location.as_ref().into())))?;
        Ok(footer)
    }

    /// The schema of `objects` by DataFusion, which may find their footers in the cache.
    async fn inner_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        // An error of several has no name: each of them is tried then.
        let file = if let [object] = objects { object.location.as_ref() } else { "" };
        caught(file, self.inner.infer_schema(state, store, objects)).await
    }
}

/// Checks what row counts are taken from.
fn check_row_counts(footer: &ParquetMetaData) -> crate::error::Result<()> {
    let mut rows: i64 = 0;
    for (index, row_group) in footer.row_groups().iter().enumerate() {
        check_counts(row_group).map_err(|error| error.at_row_group(index))?;
        rows = rows
            .checked_add(row_group.num_rows())
            .ok_or_else(|| Error::corrupt("the file has more rows than can be counted"))?;
    }
    Ok(())
}

/// Statistics that answer queries without a scan must be exact. DataFusion takes a missing null count for zero, bounds for
/// those of the file although a row group has none, deprecated ones for ordered, and those of floating point columns for
/// those of all values, while writers leave NaN out.
fn without_guesses(mut statistics: Statistics, table_schema: &SchemaRef, footer: &ParquetMetaData) -> Statistics {
    let descriptor = footer.file_metadata().schema_descr();
    for (field, column) in table_schema.fields().iter().zip(&mut statistics.column_statistics) {
        if plain_type(field.data_type()).is_floating() {
            column.min_value = column.min_value.clone().to_inexact();
            column.max_value = column.max_value.clone().to_inexact();
        }
        let root = descriptor.root_schema().get_fields().iter().position(|root| root.name() == field.name());
        let Some(root) = root else { continue };
        if !has_null_counts(footer, root) {
            column.null_count = Precision::Absent;
        }
        if !has_bounds(footer, root) || !has_ordered_bounds(footer, root) {
            column.min_value = Precision::Absent;
            column.max_value = Precision::Absent;
        }
    }
    statistics
}

impl Default for MiniblockFormat {
    fn default() -> Self {
        Self::new(TableParquetOptions::default(), MiniblockOptions::default())
    }
}

#[async_trait]
impl FileFormat for MiniblockFormat {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        if self.decrypts() {
            return self.inner.infer_schema(state, store, objects).await;
        }
        let concurrency = state.config_options().execution.meta_fetch_concurrency.get();
        let footers = stream::iter(objects)
            .map(|object| caught(object.location.as_ref(), self.footer(state, store, object)))
            .boxed()
            .buffer_unordered(concurrency);
        footers.try_for_each(|_| future::ready(Ok(()))).await?;
        let error = match self.inner_schema(state, store, objects).await {
            Ok(schema) => return Ok(schema),
            Err(error) => error,
        };
        // It does not say which file is at fault.
        for object in objects {
            self.inner_schema(state, store, std::slice::from_ref(object)).await?;
        }
        Err(error)
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        if self.decrypts() {
            return self.inner.infer_stats(state, store, table_schema, object).await;
        }
        caught(object.location.as_ref(), async {
            let footer = self.counted_footer(state, store, object).await?;
            let statistics = self.inner.infer_stats(state, store, Arc::clone(&table_schema), object).await;
            Ok(without_guesses(statistics?, &table_schema, &footer))
        })
        .await
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        caught(object.location.as_ref(), async {
            self.footer(state, store, object).await?;
            self.inner.infer_ordering(state, store, table_schema, object).await
        })
        .await
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<FileMeta> {
        if self.decrypts() {
            return self.inner.infer_stats_and_ordering(state, store, table_schema, object).await;
        }
        caught(object.location.as_ref(), async {
            let footer = self.counted_footer(state, store, object).await?;
            let meta = self.inner.infer_stats_and_ordering(state, store, Arc::clone(&table_schema), object).await;
            let mut meta = meta?;
            meta.statistics = without_guesses(meta.statistics, &table_schema, &footer);
            Ok(meta)
        })
        .await
    }

    async fn create_physical_plan(&self, state: &dyn Session, conf: FileScanConfig) -> Result<Arc<dyn ExecutionPlan>> {
        if self.decrypts() {
            return self.inner.create_physical_plan(state, conf).await;
        }
        let mut source = conf
            .file_source()
            .downcast_ref::<MiniblockSource>()
            .cloned()
            .ok_or_else(|| internal_datafusion_err!("Expected a MiniblockSource"))?;
        if !source.table_schema().virtual_columns().is_empty() {
            return not_impl_err!("Miniblock does not read virtual columns");
        }
        let runtime = state.runtime_env();
        source = source
            .with_metadata_cache(runtime.cache_manager.get_file_metadata_cache())
            .with_memory_pool(Arc::clone(&runtime.memory_pool));
        // A scan of one partition would report them as exact even when a filter arrives later, and nobody could tell it.
        let file_groups = conf.file_groups.iter().map(|group| FileGroup::new(group.files().to_vec())).collect();
        let conf =
            FileScanConfigBuilder::from(conf).with_file_groups(file_groups).with_source(Arc::new(source)).build();
        Ok(DataSourceExec::from_data_source(conf))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_writer_physical_plan(input, state, conf, order_requirements).await
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        if self.decrypts() {
            return self.inner.file_source(table_schema);
        }
        Arc::new(
            MiniblockSource::new(table_schema)
                .with_parquet_options(self.inner.options().clone())
                .with_options(self.options.clone()),
        )
    }
}

/// Makes a [`MiniblockFormat`] with a session's Parquet options.
#[derive(Debug, Default)]
pub struct MiniblockFormatFactory {
    options: MiniblockOptions,
}

impl MiniblockFormatFactory {
    /// A factory of formats with `options`.
    pub fn new(options: MiniblockOptions) -> Self {
        Self { options }
    }
}

impl FileFormatFactory for MiniblockFormatFactory {
    fn create(&self, state: &dyn Session, format_options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        let mut table_options = state.default_table_options();
        table_options.set_config_format(ConfigFileType::PARQUET);
        table_options.alter_with_string_hash_map(format_options)?;
        Ok(Arc::new(MiniblockFormat::new(table_options.parquet, self.options.clone())))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(MiniblockFormat::new(TableParquetOptions::default(), self.options.clone()))
    }
}

impl GetExt for MiniblockFormatFactory {
    fn get_ext(&self) -> String {
        "miniblock".to_string()
    }
}
