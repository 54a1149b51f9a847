//! Panics while a file is read, as errors of that file; and errors that do not say which file it was.
//!
//! The parquet crate and DataFusion's pruning are not made for hostile bytes. What they hold when they panic is dropped here
//! and never looked at again.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::common::{DataFusionError, Result};
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};

use super::opener::into_datafusion;
use crate::error::Error;

/// Runs `work` on `file`.
pub(super) async fn caught<T>(file: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result.map_err(|error| named(error, file)),
        Err(payload) => Err(panicked(payload.as_ref(), &file.into())),
    }
}

fn named(error: DataFusionError, file: &str) -> DataFusionError {
    if error.to_string().contains(file) { error } else { error.context(format!("file {file}")) }
}

fn panicked(payload: &(dyn std::any::Any + Send), file: &Arc<str>) -> DataFusionError {
    into_datafusion(Error::panic(payload).in_file(file))
}

/// A stream over a file. It ends with its first panic.
pub(super) struct Caught<T> {
    stream: Option<BoxStream<'static, Result<T>>>,
    file: Arc<str>,
}

impl<T> Caught<T> {
    pub(super) fn new(stream: BoxStream<'static, Result<T>>, file: Arc<str>) -> Self {
        Self { stream: Some(stream), file }
    }
}

impl<T> Stream for Caught<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
        match std::panic::catch_unwind(AssertUnwindSafe(|| stream.poll_next_unpin(context))) {
            Ok(polled) => polled.map(|next| next.map(|result| result.map_err(|error| named(error, &self.file)))),
            Err(payload) => {
                self.stream = None;
                Poll::Ready(Some(Err(panicked(payload.as_ref(), &self.file))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    #[tokio::test]
    async fn panics_are_errors_of_the_file() {
        let error = caught::<()>("a.parquet", async { panic!("no {}", "way") }).await.unwrap_err();
        assert_eq!(error.strip_backtrace(), "External error: panic: no way (file a.parquet)");
        assert_eq!(caught("a.parquet", async { Ok(7) }).await.unwrap(), 7);
        let error = caught::<()>("a.parquet", async { Err(DataFusionError::Plan("no".into())) }).await.unwrap_err();
        assert!(error.to_string().contains("a.parquet"), "{error}");

        let numbers = stream::iter([1, 2, 3]).map(|n| if n == 2 { panic!("two") } else { Ok(n) });
        let found: Vec<_> = Caught::new(numbers.boxed(), "a.parquet".into()).collect().await;
        assert_eq!(found.len(), 2);
        assert_eq!(*found[0].as_ref().unwrap(), 1);
        assert_eq!(found[1].as_ref().unwrap_err().strip_backtrace(), "External error: panic: two (file a.parquet)");
    }
}
