//! What a session learns.

use std::sync::Arc;

use datafusion::common::{Result, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::prelude::SessionContext;

use super::options::MiniblockOptions;
use super::table::MiniblockTable;

/// Parquet files as tables of a [`SessionContext`].
///
/// ```no_run
/// use datafusion::prelude::SessionContext;
/// use miniblock::{MiniblockOptions, SessionContextExt};
///
/// # async fn example() -> datafusion::error::Result<()> {
/// let ctx = SessionContext::new();
/// ctx.register_miniblock("trips", "data/trips/", MiniblockOptions::new()).await?;
/// ctx.sql("SELECT vendor, count(*) FROM trips WHERE distance > 10 GROUP BY vendor").await?.show().await?;
/// # Ok(())
/// # }
/// ```
pub trait SessionContextExt {
    /// Registers the Parquet files at `path` as table `name`: a file, a folder (its `*.parquet`), a glob, or a URL of a
    /// store that is registered with the session.
    ///
    /// # Errors
    /// If there is no such path, a footer cannot be read, or the name is taken.
    fn register_miniblock(
        &self,
        name: &str,
        path: &str,
        options: MiniblockOptions,
    ) -> impl Future<Output = Result<()>> + Send;

    /// The Parquet files at `path` as a [`DataFrame`].
    ///
    /// # Errors
    /// As [`Self::register_miniblock`].
    fn read_miniblock(&self, path: &str, options: MiniblockOptions) -> impl Future<Output = Result<DataFrame>> + Send;
}

impl SessionContextExt for SessionContext {
    async fn register_miniblock(&self, name: &str, path: &str, options: MiniblockOptions) -> Result<()> {
        // The name makes deregistering forget what was cached of the files.
        let url = ListingTableUrl::parse(path)?.with_table_ref(TableReference::from(name));
        let table = MiniblockTable::open_urls(&self.state(), vec![url], options).await?;
        self.register_table(name, Arc::new(table))?;
        Ok(())
    }

    async fn read_miniblock(&self, path: &str, options: MiniblockOptions) -> Result<DataFrame> {
        let table = MiniblockTable::open(&self.state(), path, options).await?;
        self.read_table(Arc::new(table))
    }
}
