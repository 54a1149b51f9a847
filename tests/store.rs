//! A store that is far away: each request takes a while, and is counted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use futures::StreamExt;
use futures::stream::{self, BoxStream};

/// Another store, as if it were far away.
#[derive(Debug)]
pub(crate) struct RemoteStore {
    inner: Arc<dyn ObjectStore>,
    latency: Duration,
    /// That each byte takes besides.
    nanos_per_byte: u64,
    requests: AtomicUsize,
    bytes: AtomicUsize,
    /// Requests that are on their way.
    open: Arc<AtomicUsize>,
}

impl RemoteStore {
    /// `inner`, with `latency` before each request.
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, latency: Duration) -> Arc<Self> {
        Self::slow(inner, latency, 0)
    }

    /// As [`Self::new`], and so many nanoseconds for each byte.
    pub(crate) fn slow(inner: Arc<dyn ObjectStore>, latency: Duration, nanos_per_byte: u64) -> Arc<Self> {
        let zero = AtomicUsize::default;
        Arc::new(Self { inner, latency, nanos_per_byte, requests: zero(), bytes: zero(), open: Arc::default() })
    }

    /// Requests and bytes since the last call.
    pub(crate) fn take_counts(&self) -> (usize, usize) {
        (self.requests.swap(0, Ordering::Relaxed), self.bytes.swap(0, Ordering::Relaxed))
    }

    /// Requests that are on their way.
    #[allow(dead_code, reason = "the benches do not ask")]
    pub(crate) fn open_requests(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl fmt::Display for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteStore({})", self.inner)
    }
}

/// Counts as open until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait::async_trait]
impl ObjectStore for RemoteStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.open));
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        let head = options.head;
        let result = self.inner.get_opts(location, options).await?;
        let (meta, range, attributes) = (result.meta.clone(), result.range.clone(), result.attributes.clone());
        let bytes = if head { Bytes::new() } else { result.bytes().await? };
        self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        if self.nanos_per_byte > 0 {
            tokio::time::sleep(Duration::from_nanos(bytes.len() as u64 * self.nanos_per_byte)).await;
        }
        drop(open);
        // No file, which a store that is far away could not offer.
        let payload = GetResultPayload::Stream(stream::once(async move { Ok(bytes) }).boxed());
        Ok(GetResult { payload, meta, range, attributes })
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
