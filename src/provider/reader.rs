//! Readers of files that keep within them.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::DefaultParquetFileReaderFactory;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};

use super::footer::FooterSource;
use crate::error::Error;
use crate::scan::{Fetch, lock};

/// Makes readers over an object store that look at a footer before the parquet crate does.
pub(super) struct ReaderFactory {
    inner: DefaultParquetFileReaderFactory,
    store: Arc<dyn ObjectStore>,
    cache: Option<Arc<FileMetadataCache>>,
}

impl ReaderFactory {
    /// `cache`: where footers are looked up and kept.
    pub(super) fn new(store: Arc<dyn ObjectStore>, cache: Option<Arc<FileMetadataCache>>) -> Self {
        Self { inner: DefaultParquetFileReaderFactory::new(Arc::clone(&store)), store, cache }
    }
}

impl std::fmt::Debug for ReaderFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What a store shows of itself may hold secrets.
        f.debug_struct("ReaderFactory").finish_non_exhaustive()
    }
}

impl ParquetFileReaderFactory for ReaderFactory {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let object = file.object_meta.clone();
        let inner = self.inner.create_reader(partition, file, size_hint, metrics)?;
        Ok(Box::new(Reader { inner, object, size_hint, store: Arc::clone(&self.store), cache: self.cache.clone() }))
    }
}

struct Reader {
    /// Fetches and counts.
    inner: Box<dyn AsyncFileReader + Send>,
    object: ObjectMeta,
    size_hint: Option<usize>,
    store: Arc<dyn ObjectStore>,
    cache: Option<Arc<FileMetadataCache>>,
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.inner.get_bytes(range)
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        self.inner.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        async move {
            let source = FooterSource {
                store: self.store.as_ref(),
                object: &self.object,
                size_hint: self.size_hint,
                cache: self.cache.as_ref(),
            };
            let with_index = options.is_some_and(|options| options.column_index_policy() != PageIndexPolicy::Skip);
            match source.load(with_index).await.map_err(|error| ParquetError::External(Box::new(error)))? {
                Some(footer) => Ok(footer),
                None => self.inner.get_metadata(options).await,
            }
        }
        .boxed()
    }
}

/// A reader that asks for nothing beyond the end of the file, whoever made it: stores take memory for what they are asked.
pub(super) struct Bounded {
    pub(super) inner: Box<dyn AsyncFileReader + Send>,
    pub(super) file_size: u64,
}

impl Bounded {
    fn check(&self, range: &Range<u64>) -> parquet::errors::Result<()> {
        if range.start < range.end && range.end <= self.file_size {
            return Ok(());
        }
        let message = format!("bytes {range:?} of a file of {} bytes", self.file_size);
        Err(ParquetError::External(Box::new(Error::corrupt(message))))
    }
}

impl AsyncFileReader for Bounded {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        match self.check(&range) {
            Ok(()) => self.inner.get_bytes(range),
            Err(error) => futures::future::ready(Err(error)).boxed(),
        }
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        match ranges.iter().try_for_each(|range| self.check(range)) {
            Ok(()) => self.inner.get_byte_ranges(ranges),
            Err(error) => futures::future::ready(Err(error)).boxed(),
        }
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        self.inner.get_metadata(options)
    }
}

/// Fetches through readers of DataFusion, which count the bytes: one for each request that is on its way.
pub(super) struct ReaderFetch<F> {
    make: F,
    idle: Arc<Mutex<Vec<Box<dyn AsyncFileReader>>>>,
}

impl<F: Fn() -> Result<Box<dyn AsyncFileReader>>> ReaderFetch<F> {
    /// With a first reader, and how to make more.
    pub(super) fn new(reader: Box<dyn AsyncFileReader>, make: F) -> Self {
        Self { make, idle: Arc::new(Mutex::new(vec![reader])) }
    }
}

impl<F: Fn() -> Result<Box<dyn AsyncFileReader>> + Send> Fetch for ReaderFetch<F> {
    fn fetch(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'static, crate::error::Result<Vec<Bytes>>> {
        let idle = lock(&self.idle).pop();
        let reader = idle.map_or_else(|| (self.make)().map_err(Error::external), Ok);
        let readers = Arc::clone(&self.idle);
        async move {
            let mut reader = reader?;
            let bytes = reader.get_byte_ranges(ranges).await.map_err(Error::from);
            lock(&readers).push(reader);
            bytes
        }
        .boxed()
    }
}
