//! What the benches share: ours beside a peer, one after the other in one process, and a line of the ratio for each case.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use criterion::{Criterion, Throughput};

/// A bench of cases, each measured for us and for the peer.
pub(crate) struct Comparison {
    criterion: Criterion,
    output: PathBuf,
    cases: Vec<(String, usize)>,
}

impl Comparison {
    /// Options come from the command line, as criterion has them.
    pub(crate) fn from_args() -> Self {
        // Known here, so that the estimates are found again.
        let output = match std::env::var_os("CRITERION_HOME") {
            Some(home) => PathBuf::from(home),
            None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("criterion"),
        };
        let criterion = Criterion::default()
            .without_plots()
            .sample_size(30)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_millis(1500))
            .configure_from_args()
            .output_directory(&output);
        Self { criterion, output, cases: Vec::new() }
    }

    /// Measures a case: both closures do the same work, on `values` values.
    pub(crate) fn case<A, B>(
        &mut self,
        name: &str,
        values: usize,
        mut ours: impl FnMut() -> A,
        mut peer: impl FnMut() -> B,
    ) {
        for who in ["ours", "peer"] {
            // What an earlier run left must not be taken for this one's.
            let _ = fs::remove_file(self.estimates(name, who));
        }
        let mut group = self.criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(values as u64));
        group.bench_function("ours", |bencher| bencher.iter(|| black_box(ours())));
        group.bench_function("peer", |bencher| bencher.iter(|| black_box(peer())));
        group.finish();
        self.cases.push((name.into(), values));
    }

    /// Prints `ratio CASE OURS_NS PEER_NS RATIO` for each case that ran: medians in ns a value, and how many times faster
    /// than the peer we are.
    pub(crate) fn finish(self) {
        for (name, values) in &self.cases {
            let nanoseconds =
                |who| Some(median(&fs::read_to_string(self.estimates(name, who)).ok()?)? / *values as f64);
            if let (Some(ours), Some(peer)) = (nanoseconds("ours"), nanoseconds("peer")) {
                println!("ratio {name} {ours:.3} {peer:.3} {:.2}", peer / ours);
            }
        }
    }

    fn estimates(&self, name: &str, who: &str) -> PathBuf {
        // Criterion's own naming, for names of up to 64 bytes.
        assert!(name.len() <= 64, "{name} is too long to be a folder of criterion");
        self.output.join(name.replace('/', "_")).join(who).join("new/estimates.json")
    }
}

/// The median of criterion's estimates, in nanoseconds an iteration.
fn median(json: &str) -> Option<f64> {
    let (_, median) = json.split_once("\"median\":")?;
    let (_, value) = median.split_once("\"point_estimate\":")?;
    value.split([',', '}']).next()?.trim().parse().ok()
}
