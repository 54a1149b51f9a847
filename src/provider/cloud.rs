//! Stores by URL: S3, Google Cloud Storage, Azure, HTTP.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::listing::ListingTableUrl;
use object_store::parse_url_opts;

use super::options::StoreOptions;

/// Prefixes of environment variables that stores understand.
const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// Registers the store of `url` with the session, unless it has one. `options` are those of `object_store` by their names
/// (`aws_region`, ..), before what the environment says (`AWS_REGION`, ..).
///
/// # Errors
/// There is no such store, or an option is wrong.
pub(super) fn register_store(state: &dyn Session, url: &ListingTableUrl, options: &StoreOptions) -> Result<()> {
    let runtime = state.runtime_env();
    let base = url.object_store();
    if runtime.object_store(&base).is_ok() {
        return Ok(());
    }
    // What is no text is for others.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()))
        .filter(|(name, _)| VARIABLES.iter().any(|prefix| name.starts_with(prefix)))
        .map(|(name, value)| (name.to_ascii_lowercase(), value));
    let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    // What comes later counts.
    let (store, _) = parse_url_opts(url.get_url(), environment.chain(options))?;
    runtime.register_object_store(base.as_ref(), Arc::from(store));
    Ok(())
}
