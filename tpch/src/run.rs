//! Runs the variants of a query in turn and checks every answer.

use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::prelude::SessionContext;
use indicatif::{ProgressBar, ProgressStyle};

use crate::answer::Answer;
use crate::cli::BenchOptions;
use crate::dataset::{Dataset, Encoding};
use crate::measure::{self, Sample, Summary};
use crate::query::Query;
use crate::variant::{self, Variant};
use crate::{Result, floor, readers};

/// What is to be run.
pub(crate) struct Bench {
    query: &'static Query,
    variants: Vec<Variant>,
    /// The encoding whose file the floor is made from and compared with.
    floor_encoding: Encoding,
    options: BenchOptions,
}

impl Bench {
    /// # Errors
    /// A name of a variant that does not exist.
    pub(crate) fn new(query: &'static Query, options: &BenchOptions) -> Result<Self> {
        let encodings = options.data.encodings();
        let variants = variant::select(&options.variants, &options.data.encoding, &encodings)?;
        let first = variants.iter().find_map(|variant| variant.encoding());
        // There is a first encoding: a list that names none stands for the default ones.
        let floor_encoding = first.unwrap_or(encodings[0]);
        Ok(Self { query, variants, floor_encoding, options: options.clone() })
    }

    fn dataset(&self, variant: Variant) -> Dataset {
        self.options.data.dataset(variant.encoding().unwrap_or(self.floor_encoding))
    }

    /// The datasets that the variants read, each once.
    pub(crate) fn datasets(&self) -> Vec<Dataset> {
        let mut datasets = Vec::new();
        for dataset in self.variants.iter().map(|&variant| self.dataset(variant)) {
            if !datasets.contains(&dataset) {
                datasets.push(dataset);
            }
        }
        datasets
    }

    /// One round of warm-up, then the measured rounds. Each round runs every variant once and begins with another one, so
    /// that none always follows the same neighbour.
    ///
    /// # Errors
    /// A query that fails; a wrong answer is no error here but part of the outcome.
    pub(crate) async fn run(self) -> Result<Outcome> {
        let mut contestants = Vec::new();
        for &variant in &self.variants {
            let contestant = self.contestant(variant).await;
            contestants.push(contestant.map_err(|error| format!("{variant}: {error}"))?);
        }
        let rounds = self.options.repeats + 1;
        let bar = progress_bar(rounds * contestants.len());
        for round in 0..rounds {
            for turn in 0..contestants.len() {
                let index = (round + turn) % contestants.len();
                let contestant = &mut contestants[index];
                let variant = contestant.outcome.variant;
                bar.set_message(format!("round {round} of {}: {variant}", self.options.repeats));
                let run = contestant.run(self.query, round > 0, self.options.explain && round + 1 == rounds);
                run.await.map_err(|error| format!("{variant}: {error}"))?;
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        let variants = contestants.into_iter().map(|contestant| contestant.outcome).collect();
        Ok(Outcome { variants, floor_encoding: self.floor_encoding })
    }

    async fn contestant(&self, variant: Variant) -> Result<Contestant> {
        let (dataset, tables, threads) = (self.dataset(variant), self.query.tables, self.options.threads);
        let (ctx, sql) = match variant {
            Variant::Miniblock(_) => (readers::miniblock(&dataset, tables, threads).await?, self.query.sql),
            Variant::Datafusion { pushdown, .. } => {
                (readers::datafusion(&dataset, tables, threads, pushdown).await?, self.query.sql)
            }
            Variant::Floor => (floor::session(self.query, &dataset, threads).await?, self.query.floor.sql),
        };
        let expected = Answer::expected(self.query, &dataset).await?;
        let outcome = VariantOutcome { variant, samples: Vec::new(), expected, wrong: None, checked: 0, plan: None };
        Ok(Contestant { ctx, sql, outcome })
    }
}

struct Contestant {
    ctx: SessionContext,
    sql: &'static str,
    outcome: VariantOutcome,
}

impl Contestant {
    async fn run(&mut self, query: &Query, measured: bool, keep_plan: bool) -> Result<()> {
        let run = measure::run(&self.ctx, self.sql, query.watched).await?;
        let answer = Answer::new(&run.batches)?;
        self.outcome.checked += 1;
        if answer != self.outcome.expected {
            self.outcome.wrong = Some(answer);
        }
        if measured {
            self.outcome.samples.push(run.sample);
        }
        if keep_plan {
            self.outcome.plan =
                Some(DisplayableExecutionPlan::with_metrics(run.plan.as_ref()).indent(false).to_string());
        }
        Ok(())
    }
}

/// What came of all variants.
pub(crate) struct Outcome {
    pub(crate) variants: Vec<VariantOutcome>,
    pub(crate) floor_encoding: Encoding,
}

impl Outcome {
    pub(crate) fn answer_ok(&self) -> bool {
        self.variants.iter().all(VariantOutcome::answer_ok)
    }

    /// The variant's median wall time over Miniblock's on the same file; none where Miniblock did not run on it.
    pub(crate) fn ratio(&self, outcome: &VariantOutcome) -> Option<f64> {
        let ours = Variant::Miniblock(outcome.variant.encoding().unwrap_or(self.floor_encoding));
        let ours = self.variants.iter().find(|other| other.variant == ours)?;
        Some(outcome.wall()?.median / ours.wall()?.median)
    }
}

/// What came of one variant.
pub(crate) struct VariantOutcome {
    pub(crate) variant: Variant,
    pub(crate) samples: Vec<Sample>,
    expected: Answer,
    wrong: Option<Answer>,
    /// Answers looked at, that of the warm-up included.
    pub(crate) checked: usize,
    /// The last run's plan with its metrics.
    pub(crate) plan: Option<String>,
}

impl VariantOutcome {
    pub(crate) fn answer_ok(&self) -> bool {
        self.wrong.is_none()
    }

    /// The right and the last wrong answer, for people.
    pub(crate) fn mismatch(&self) -> String {
        self.wrong
            .as_ref()
            .map_or_else(String::new, |wrong| format!("  expected: {}\n  got:      {wrong}", self.expected))
    }

    pub(crate) fn wall(&self) -> Option<Summary> {
        Summary::new(self.samples.iter().map(|sample| sample.wall))
    }

    pub(crate) fn cpu(&self) -> Option<Summary> {
        Summary::new(self.samples.iter().filter_map(|sample| sample.cpu))
    }

    pub(crate) fn scan(&self) -> Option<Summary> {
        Summary::new(self.samples.iter().filter_map(|sample| sample.scan.processing))
    }

    /// Rows that the scan handed on, in the last run.
    pub(crate) fn rows(&self) -> Option<usize> {
        self.samples.last()?.scan.rows
    }

    /// Bytes that the scan read, in the last run.
    pub(crate) fn bytes_read(&self) -> Option<usize> {
        self.samples.last()?.scan.bytes
    }
}

fn progress_bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len}  {msg}") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::dataset::Table;
    use crate::{generate, json, machine, query, report};

    /// Every encoding, on one thread and on several, from the generator to both forms of the report.
    #[test]
    fn q12_at_a_small_scale() {
        let data_dir = std::env::temp_dir().join(format!("tpch-run-{}", std::process::id()));
        let all = "delta,delta-length,plain,dictionary";
        for threads in ["1", "3"] {
            let line = ["tpch", "q12", "--scale-factor", "0.01", "--encoding", all, "--repeats", "2", "--explain"];
            let line = line.into_iter().chain(["--threads", threads, "--data-dir"]).map(str::to_owned);
            let cli = Cli::try_parse_from(line.chain([data_dir.to_str().unwrap().to_owned()])).unwrap();
            let Command::Q12(options) = cli.command else { panic!("not q12") };
            let bench = Bench::new(&query::Q12, &options).unwrap();
            generate::generate(&bench.datasets(), Table::ALL).unwrap();
            let runtime = machine::runtime(options.threads).unwrap();
            let outcome = runtime.block_on(bench.run()).unwrap();
            assert_eq!(outcome.variants.len(), 13);
            for of in &outcome.variants {
                assert!(of.answer_ok(), "{}\n{}", of.variant, of.mismatch());
                assert_eq!(of.checked, 3);
                assert!(of.rows().is_some_and(|rows| rows > 0), "{}", of.variant);
                assert_eq!(of.scan().is_some(), of.variant != Variant::Floor, "{}", of.variant);
                assert_eq!(of.bytes_read().is_some(), of.variant != Variant::Floor, "{}", of.variant);
            }
            assert_eq!(report::plans(&outcome).matches("HashJoinExec").count(), 13);
            assert!(
                report::render(&query::Q12, &options, &outcome, None)
                    .contains("39 answers checked, all right\nQ12 on delta")
            );
            let object: serde_json::Value =
                serde_json::from_str(&json::render(&query::Q12, &options, &outcome)).unwrap();
            assert_eq!(object["answer_ok"], true);
            assert_eq!(object["scale_factor"], 0.01);
            assert_eq!(object["variants"].as_array().unwrap().len(), 13);
            assert_eq!(object["ratios"]["miniblock-plain"], 1.0);
        }
        std::fs::remove_dir_all(&data_dir).unwrap();
    }
}
