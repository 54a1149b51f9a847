//! The bytes of a file.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;

use crate::error::Error;
use crate::scan::Fetch;

/// A reader that refuses ranges beyond the end of the file: stores allocate what they are asked for, and a footer may ask
/// for anything.
pub(super) struct Bounded {
    reader: Box<dyn AsyncFileReader>,
    file_size: u64,
}

impl Bounded {
    pub(super) fn new(reader: Box<dyn AsyncFileReader>, file_size: u64) -> Self {
        Self { reader, file_size }
    }

    fn check(&self, range: &Range<u64>) -> Result<()> {
        if range.start <= range.end && range.end <= self.file_size {
            return Ok(());
        }
        let Range { start, end } = range;
        Err(ParquetError::EOF(format!("bytes {start}..{end} are not in a file of {} bytes", self.file_size)))
    }
}

impl AsyncFileReader for Bounded {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        match self.check(&range) {
            Ok(()) => self.reader.get_bytes(range),
            Err(error) => async move { Err(error) }.boxed(),
        }
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        match ranges.iter().try_for_each(|range| self.check(range)) {
            Ok(()) => self.reader.get_byte_ranges(ranges),
            Err(error) => async move { Err(error) }.boxed(),
        }
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        self.reader.get_metadata(options)
    }
}

/// Fetches through a reader of DataFusion, which counts the bytes.
pub(super) struct ReaderFetch(pub(super) Box<dyn AsyncFileReader>);

impl Fetch for ReaderFetch {
    fn fetch(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, crate::error::Result<Vec<Bytes>>> {
        async move { self.0.get_byte_ranges(ranges).await.map_err(Error::from) }.boxed()
    }
}
