//! What requests cost, and whether a column is better asked for page by page.

use std::collections::HashMap;
use std::time::Duration;

/// What was measured of requests, and which pages turned out to be needed.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// The quickest small request: about what one costs whatever its size.
    latency: Option<Duration>,
    requests: u32,
    bytes: usize,
    time: Duration,
    /// Of each leaf the pages that were read, and all that there were.
    pages: HashMap<usize, (usize, usize)>,
}

/// Bytes up to which the time of a request tells its latency.
const SMALL: usize = 128 << 10;

/// A column chunk that is to be fetched.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkSize {
    pub(super) leaf: usize,
    pub(super) bytes: usize,
    /// Data pages, and the dictionary.
    pub(super) pages: usize,
}

impl Traffic {
    /// A request of `bytes` took `elapsed`.
    pub(super) fn request(&mut self, bytes: usize, elapsed: Duration) {
        if bytes <= SMALL {
            self.latency = Some(self.latency.map_or(elapsed, |latency| latency.min(elapsed)));
        }
        self.requests += 1;
        self.bytes += bytes;
        self.time += elapsed;
    }

    /// So many pages of a leaf were read by now; a row group is done in which it has `more` pages.
    pub(super) fn pages(&mut self, leaf: usize, read: usize, more: usize) {
        let (known, all) = self.pages.entry(leaf).or_default();
        *known = read;
        *all += more;
    }

    /// Whether asking for the pages of a chunk one by one, as rows turn out to be selected, costs clearly less than fetching
    /// it ahead. If nothing is known of its pages it does not; if nothing is known of requests it is tried where few are needed.
    pub(super) fn pays_to_wait(&self, chunk: ChunkSize) -> bool {
        let Some(&(read, all)) = self.pages.get(&chunk.leaf) else { return false };
        if all == 0 || self.bytes == 0 || chunk.pages == 0 {
            return false;
        }
        // One more than is expected: whoever waits pays for surprises.
        let needed = chunk.pages as f64 * read as f64 / all as f64 + 1.0;
        let Some(latency) = self.latency else { return needed * 2.0 < chunk.pages as f64 };
        let second_per_byte = self.time.saturating_sub(latency * self.requests).as_secs_f64() / self.bytes as f64;
        let bytes = chunk.bytes as f64 * second_per_byte;
        let by_page = needed * (latency.as_secs_f64() + bytes / chunk.pages as f64);
        by_page < (latency.as_secs_f64() + bytes) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn traffic(latency: Duration, read: usize, all: usize) -> Traffic {
        let mut traffic = Traffic::default();
        traffic.request(1000, latency);
        // 100 MB a second.
        traffic.request(10_000_000, 100 * MILLISECOND + latency);
        traffic.pages(3, read, all);
        traffic
    }

    #[test]
    fn waits_where_that_is_cheaper() {
        let chunk = |leaf, bytes| ChunkSize { leaf, bytes, pages: 100 };
        assert!(traffic(MILLISECOND, 1, 100).pays_to_wait(chunk(3, 10_000_000)));
        assert!(!traffic(50 * MILLISECOND, 1, 100).pays_to_wait(chunk(3, 10_000_000)));
        assert!(traffic(50 * MILLISECOND, 1, 100).pays_to_wait(chunk(3, 100_000_000)));
        assert!(!traffic(MILLISECOND, 60, 100).pays_to_wait(chunk(3, 10_000_000)));
        assert!(!traffic(MILLISECOND, 1, 100).pays_to_wait(chunk(3, 10_000)));
        assert!(!traffic(MILLISECOND, 0, 0).pays_to_wait(chunk(3, 10_000_000)));
        assert!(!traffic(MILLISECOND, 1, 100).pays_to_wait(chunk(4, 10_000_000)));
        assert!(!Traffic::default().pays_to_wait(chunk(3, 10_000_000)));
        let mut untried = Traffic::default();
        untried.request(10_000_000, MILLISECOND);
        untried.pages(3, 10, 100);
        assert!(untried.pays_to_wait(chunk(3, 10_000_000)));
        untried.pages(3, 110, 100);
        assert!(!untried.pays_to_wait(chunk(3, 10_000_000)));
    }

    /// 5 of 100 pages of 10 MB, 50 ms a request, 100 MB a second: one by one takes twice as long as whole, whatever was
    /// asked for before.
    #[test]
    fn small_requests_do_not_make_bytes_dear() {
        let chunk = ChunkSize { leaf: 3, bytes: 10_000_000, pages: 100 };
        let mut traffic = traffic(50 * MILLISECOND, 5, 100);
        assert!(!traffic.pays_to_wait(chunk));
        for _ in 0..100 {
            traffic.request(10_000, 50 * MILLISECOND);
        }
        assert!(!traffic.pays_to_wait(chunk));
    }
}
