//! The table.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Constraints, DFSchema, DataFusionError, Result, Statistics, internal_err, plan_err};
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;

use super::format::MiniblockFormat;
use super::options::MiniblockOptions;
use super::source::MiniblockSource;
use crate::kernels::check_isa_override;

/// A table over Parquet files.
///
/// Files, partition columns and statistics are found as DataFusion's [`ListingTable`] finds them; the scan is
/// [`MiniblockSource`]'s. It is a type of its own so that filters reach the scan on every way that leads to a table, and so
/// that plans can be sent to other machines.
///
/// ```no_run
/// use std::sync::Arc;
/// use datafusion::prelude::SessionContext;
/// use miniblock::{MiniblockOptions, MiniblockTable};
///
/// # async fn example() -> datafusion::error::Result<()> {
/// let ctx = SessionContext::new();
/// let table = MiniblockTable::open(&ctx.state(), "data/trips/", MiniblockOptions::new()).await?;
/// ctx.register_table("trips", Arc::new(table))?;
/// ctx.sql("SELECT count(*) FROM trips WHERE distance > 10").await?.show().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MiniblockTable {
    inner: ListingTable,
}

impl MiniblockTable {
    /// A table over a file, a folder, a glob or a URL of a registered store.
    ///
    /// # Errors
    /// If there is no such path, a footer among the files that give the schema cannot be read, or `MINIBLOCK_ISA` names no
    /// instruction set that the processor has.
    pub async fn open(state: &dyn Session, path: impl AsRef<str>, options: MiniblockOptions) -> Result<Self> {
        let url = ListingTableUrl::parse(path)?;
        Self::open_urls(state, vec![url], options).await
    }

    /// A table over several paths of one store.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_urls(state: &dyn Session, urls: Vec<ListingTableUrl>, options: MiniblockOptions) -> Result<Self> {
        check_isa_override().map_err(|error| DataFusionError::Configuration(error.to_string()))?;
        #[cfg(feature = "cloud")]
        urls.iter().try_for_each(|url| super::cloud::register_store(state, url, &options.store_options))?;
        let extension = options.file_extension.clone().unwrap_or_else(|| {
            // Whoever names a file or gives a glob has chosen; of a folder, only what is Parquet is taken.
            let folders = urls.iter().any(|url| url.is_collection() && url.get_glob().is_none());
            if folders { ".parquet".to_string() } else { String::new() }
        });
        let schema = options.schema.clone();
        let partition_cols = options.table_partition_cols.clone();
        let format = MiniblockFormat::new(state.default_table_options().parquet, options);
        let listing = ListingOptions::new(Arc::new(format))
            .with_file_extension(extension)
            .with_table_partition_cols(partition_cols);
        let mut config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(listing);
        config = match schema {
            Some(schema) => config.with_schema(schema),
            None => {
                let config = config.infer_schema(state).await?;
                require_files(state, &config).await?;
                config
            }
        };
        let cache = state.runtime_env().cache_manager.get_file_statistic_cache();
        Ok(Self { inner: Self::try_new(config)?.inner.with_cache(cache) })
    }

    /// A table over what `config` lists, for those who need more than [`MiniblockOptions`] say. The format in `config` must
    /// be a [`MiniblockFormat`], and the schema must be there.
    ///
    /// # Errors
    /// If it is another format, or there is no schema.
    pub fn try_new(config: ListingTableConfig) -> Result<Self> {
        let inner = ListingTable::try_new(config)?;
        if inner.options().format.downcast_ref::<MiniblockFormat>().is_none() {
            return internal_err!("A MiniblockTable needs a MiniblockFormat");
        }
        Ok(Self { inner })
    }

    /// Where the files are.
    pub fn table_paths(&self) -> &[ListingTableUrl] {
        self.inner.table_paths()
    }

    /// Puts `filters` into the scan.
    ///
    /// The physical filter pushdown brings them too, where there is one: the source drops what it has already. Over FFI, and
    /// in sessions that have other optimizer rules, this is the only way.
    fn with_filters(
        &self,
        state: &dyn Session,
        plan: Arc<dyn ExecutionPlan>,
        filters: &[Expr],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(config) =
            plan.downcast_ref::<DataSourceExec>().and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>())
        else {
            return Ok(plan);
        };
        let Some(source) = config.file_source().downcast_ref::<MiniblockSource>() else { return Ok(plan) };
        let schema = DFSchema::try_from(self.schema())?;
        let filters: Vec<Arc<dyn PhysicalExpr>> = filters
            .iter()
            .filter(|filter| stands_alone(filter))
            // What cannot be planned here stays with the FilterExec above.
            .filter_map(|filter| state.create_physical_expr(unnormalize_col(filter.clone()), &schema).ok())
            .collect();
        if filters.is_empty() {
            return Ok(plan);
        }
        let source = source.clone().with_filters(filters);
        let config = FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

/// Refuses a table whose columns nobody named, and which has no file that does.
async fn require_files(state: &dyn Session, config: &ListingTableConfig) -> Result<()> {
    let (Some(schema), Some(options)) = (&config.file_schema, &config.options) else { return Ok(()) };
    if !schema.fields().is_empty() {
        return Ok(());
    }
    for url in &config.table_paths {
        let store = state.runtime_env().object_store(url)?;
        let mut files = url.list_all_files(state, store.as_ref(), &options.file_extension).await?;
        while let Some(file) = files.try_next().await? {
            if file.size > 0 {
                return Ok(());
            }
        }
    }
    let paths: Vec<String> = config.table_paths.iter().map(ToString::to_string).collect();
    plan_err!("There is no Parquet file at {}, or none that is not empty", paths.join(", "))
}

/// Whether `filter` can be evaluated row by row, here, with the same result as anywhere else.
fn stands_alone(filter: &Expr) -> bool {
    let mut alone = !filter.is_volatile();
    // The closure does not fail.
    let _ = filter.apply(|node| {
        alone &= !matches!(
            node,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
        );
        Ok(if alone { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    alone
}

#[async_trait]
impl TableProvider for MiniblockTable {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.inner.constraints()
    }

    fn table_type(&self) -> TableType {
        self.inner.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.inner.get_table_definition()
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        self.inner.get_logical_plan()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.inner.get_column_default(column)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.inner.statistics()
    }

    /// Inexact for data columns although the scan applies every filter: the order of joins is chosen while the FilterExec is
    /// still there, by its estimates. The physical pushdown then removes it.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.inner.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let args = ScanArgs::default()
            .with_projection(projection.map(Vec::as_slice))
            .with_filters(Some(filters))
            .with_limit(limit);
        Ok(self.scan_with_args(state, args).await?.into_inner())
    }

    async fn scan_with_args<'a>(&self, state: &dyn Session, args: ScanArgs<'a>) -> Result<ScanResult> {
        let filters = args.filters().unwrap_or_default();
        let answers = self.supports_filters_pushdown(&filters.iter().collect::<Vec<_>>())?;
        // Filters on partition columns alone choose the files: nothing is left of them.
        let on_data: Vec<Expr> = filters
            .iter()
            .zip(answers)
            .filter(|(_, answer)| *answer != TableProviderFilterPushDown::Exact)
            .map(|(filter, _)| filter.clone())
            .collect();
        let plan = self.inner.scan_with_args(state, args).await?.into_inner();
        Ok(ScanResult::new(self.with_filters(state, plan, &on_data)?))
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.insert_into(state, input, insert_op).await
    }
}
