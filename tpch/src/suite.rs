//! Runs many queries one after the other, and compares Miniblock with DataFusion's better setting on each.

use crate::Result;
use crate::cli::BenchOptions;
use crate::dataset::{Dataset, Encoding};
use crate::query::Selection;
use crate::ratio::{Bootstrap, Ratio};
use crate::run::{Bench, Outcome, VariantOutcome, progress_bar};
use crate::variant::Variant;

/// The queries that are to be run.
pub(crate) struct Suite(Vec<Bench>);

impl Suite {
    /// # Errors
    /// A name of a variant that does not exist.
    pub(crate) fn new(queries: &Selection, options: &BenchOptions) -> Result<Self> {
        queries.0.iter().map(|query| Bench::new(query, options)).collect::<Result<_>>().map(Self)
    }

    /// The datasets that the variants read, each once: all queries run in the same ones.
    pub(crate) fn datasets(&self) -> Vec<Dataset> {
        self.0.first().map(Bench::datasets).unwrap_or_default()
    }

    /// All rounds of a query before the next one. A query that fails is part of the outcome, as others still run.
    pub(crate) async fn run(self) -> SuiteOutcome {
        let runs = self.0.iter().map(Bench::runs).sum();
        let bar = progress_bar(runs, "{bar:40} {pos}/{len}  {eta} left  {prefix}, {msg}");
        let mut done = 0;
        let mut queries = Vec::new();
        for bench in &self.0 {
            bar.set_prefix(bench.name());
            queries.push((bench.name(), bench.run_under(&bar).await));
            done += bench.runs() as u64;
            // After a failure there are runs left.
            bar.set_position(done);
        }
        bar.finish_and_clear();
        SuiteOutcome { queries }
    }
}

/// What came of all queries.
pub(crate) struct SuiteOutcome {
    pub(crate) queries: Vec<(&'static str, Result<Outcome>)>,
}

impl SuiteOutcome {
    /// Whether all queries ran and were right.
    pub(crate) fn answer_ok(&self) -> bool {
        self.queries.iter().all(|(_, of)| of.as_ref().is_ok_and(Outcome::answer_ok))
    }

    /// The encodings that variants ran on: the same for all queries.
    pub(crate) fn encodings(&self) -> Vec<Encoding> {
        self.queries.iter().find_map(|(_, of)| of.as_ref().ok()).map(Outcome::encodings).unwrap_or_default()
    }

    /// How the readers compare on an encoding.
    pub(crate) fn on(&self, encoding: Encoding) -> OnEncoding {
        let comparison = |of: &Result<Outcome>| Some(Comparison::new(of.as_ref().ok()?, encoding));
        let queries: Vec<_> = self.queries.iter().map(|(name, of)| (*name, comparison(of))).collect();
        let right = queries.iter().filter_map(|(_, of)| of.as_ref()).filter(|of| of.answer_ok);
        let ratios: Vec<_> = right.filter_map(|of| of.bootstrap.as_ref()).collect();
        let geometric_mean = Bootstrap::geometric_mean(ratios.iter().copied()).map(|mean| mean.ratio());
        OnEncoding { encoding, compared: ratios.len(), geometric_mean, queries }
    }
}

/// The readers on one encoding.
pub(crate) struct OnEncoding {
    pub(crate) encoding: Encoding,
    /// None for a query that failed.
    pub(crate) queries: Vec<(&'static str, Option<Comparison>)>,
    /// Queries with a ratio and a right answer.
    pub(crate) compared: usize,
    /// Over these.
    pub(crate) geometric_mean: Option<Ratio>,
}

impl OnEncoding {
    /// The queries with a right answer whose ratio is such.
    pub(crate) fn names(&self, such: fn(Ratio) -> bool) -> Vec<&'static str> {
        let is = |of: &Comparison| of.answer_ok && of.ratio.is_some_and(such);
        self.queries.iter().filter(|(_, of)| of.as_ref().is_some_and(is)).map(|(name, _)| *name).collect()
    }
}

/// The readers on one encoding in one query: medians in milliseconds, and DataFusion's better one over ours.
pub(crate) struct Comparison {
    pub(crate) miniblock: Option<f64>,
    pub(crate) datafusion: Option<f64>,
    pub(crate) pushdown: Option<f64>,
    /// None where they did not run on the same file.
    pub(crate) ratio: Option<Ratio>,
    pub(crate) answer_ok: bool,
    bootstrap: Option<Bootstrap>,
}

impl Comparison {
    fn new(outcome: &Outcome, encoding: Encoding) -> Self {
        let ours = outcome.find(Variant::Miniblock(encoding));
        let [datafusion, pushdown] =
            [false, true].map(|pushdown| outcome.find(Variant::Datafusion { encoding, pushdown }));
        let median = |of: Option<&VariantOutcome>| Some(of?.wall()?.median);
        let times = |of: &VariantOutcome| -> Vec<f64> {
            of.samples.iter().map(|sample| sample.wall.as_secs_f64() * 1e3).collect()
        };
        let theirs: Vec<_> = [datafusion, pushdown].into_iter().flatten().map(times).collect();
        let theirs: Vec<_> = theirs.iter().map(Vec::as_slice).collect();
        let bootstrap = ours.and_then(|ours| Bootstrap::of_medians(&times(ours), &theirs));
        Self {
            miniblock: median(ours),
            datafusion: median(datafusion),
            pushdown: median(pushdown),
            ratio: bootstrap.as_ref().map(Bootstrap::ratio),
            answer_ok: [ours, datafusion, pushdown].into_iter().flatten().all(VariantOutcome::answer_ok),
            bootstrap,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;
    use crate::cli::{Cli, Command, RunOptions};
    use crate::{generate, json, machine, overview};

    fn options(line: &[&str]) -> RunOptions {
        let cli = Cli::try_parse_from(["tpch", "run", "--scale-factor", "0.01"].iter().chain(line)).unwrap();
        let Command::Run(options) = cli.command else { panic!("not run") };
        options
    }

    fn run(options: &RunOptions) -> SuiteOutcome {
        let suite = Suite::new(&options.query, &options.bench).unwrap();
        machine::runtime(options.bench.threads).unwrap().block_on(suite.run())
    }

    /// Every query on every encoding, on one thread and on several, from the generator to both forms of the report.
    #[test]
    fn all_queries_at_a_small_scale() {
        let data_dir = std::env::temp_dir().join(format!("tpch-suite-{}", std::process::id()));
        let all = "delta,delta-length,plain,dictionary";
        for threads in ["1", "3"] {
            let line = ["--encoding", all, "--repeats", "1", "--threads", threads, "--data-dir"];
            let options = options(&[&line[..], &[data_dir.to_str().unwrap()]].concat());
            let suite = Suite::new(&options.query, &options.bench).unwrap();
            generate::generate(&suite.datasets(), &options.query.tables()).unwrap();
            let outcome = run(&options);
            assert_eq!(outcome.queries.len(), 22);
            for (name, of) in &outcome.queries {
                let of = of.as_ref().unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(of.variants.len(), 12);
                for of in &of.variants {
                    assert!(of.answer_ok(), "{name} {}\n{}", of.variant, of.mismatch());
                    assert!(of.bytes_read().is_some_and(|bytes| bytes > 0), "{name} {}", of.variant);
                }
            }
            let text = overview::render(&options.bench, &outcome, None);
            assert!(text.starts_with("TPC-H 22 queries, SF 0.01,"), "{text}");
            assert_eq!(text.matches("geometric mean  ").count(), 4, "{text}");
            assert!(text.contains("\n528 answers checked, all right\ndelta: miniblock "), "{text}");
            let object: Value = serde_json::from_str(&json::render_suite(&options.bench, &outcome)).unwrap();
            assert_eq!(object["answer_ok"], true);
            assert_eq!(object["queries"].as_array().unwrap().len(), 22);
            assert_eq!(object["queries"][21]["query"], "q22");
            assert_eq!(object["queries"][21]["variants"].as_array().unwrap().len(), 12);
            assert_eq!(object["queries"][21]["ratios"][3]["encoding"], "dictionary");
            assert!(object["queries"][21]["ratios"][3]["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0));
            assert_eq!(object["geometric_means"][0]["queries"], 22);
        }
        std::fs::remove_dir_all(&data_dir).unwrap();
    }

    #[test]
    fn a_wrong_answer_is_told_and_does_not_count() {
        let data_dir = std::env::temp_dir().join(format!("tpch-wrong-{}", std::process::id()));
        let line = ["--query", "6,14", "--encoding", "plain", "--repeats", "5", "--data-dir"];
        let options = options(&[&line[..], &[data_dir.to_str().unwrap()]].concat());
        let suite = Suite::new(&options.query, &options.bench).unwrap();
        generate::generate(&suite.datasets(), &options.query.tables()).unwrap();
        let mut outcome = run(&options);
        assert!(outcome.answer_ok());
        assert_eq!(outcome.on(Encoding::Plain).compared, 2);
        outcome.queries[0].1.as_mut().unwrap().variants[0].spoil();
        assert!(!outcome.answer_ok());
        assert_eq!(outcome.on(Encoding::Plain).compared, 1);
        let text = overview::render(&options.bench, &outcome, None);
        assert!(text.lines().any(|line| line.starts_with("q6 ") && line.ends_with("  WRONG")), "{text}");
        assert!(text.contains("\nWRONG ANSWERS to q6\n"), "{text}");
        std::fs::remove_dir_all(&data_dir).unwrap();
    }

    #[test]
    fn a_query_that_fails_is_told_and_is_no_success() {
        let options = options(&["--query", "6,1", "--data-dir", "no such folder"]);
        let outcome = run(&options);
        assert!(!outcome.answer_ok());
        assert_eq!(
            outcome.queries.iter().map(|(name, of)| (*name, of.is_err())).collect::<Vec<_>>(),
            [("q6", true), ("q1", true)]
        );
        let text = overview::render(&options.bench, &outcome, None);
        assert!(text.ends_with("FAILED: q6, q1\n"), "{text}");
        let object: Value = serde_json::from_str(&json::render_suite(&options.bench, &outcome)).unwrap();
        assert_eq!(object["answer_ok"], false);
        assert!(object["queries"][0]["error"].as_str().is_some_and(|error| error.starts_with("miniblock-delta: ")));
    }

    #[test]
    fn the_floor_is_of_q12_alone() {
        let options = options(&["--query", "12", "--variants", "floor"]);
        let error = Suite::new(&options.query, &options.bench).err().unwrap().to_string();
        assert!(error.starts_with("there is no variant \"floor\""), "{error}");
    }
}
