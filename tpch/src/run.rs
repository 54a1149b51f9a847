//! Runs the variants of a query in turn and checks every answer.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::prelude::SessionContext;
use indicatif::{ProgressBar, ProgressStyle};

use crate::answer::Answer;
use crate::cli::BenchOptions;
use crate::dataset::{Dataset, Encoding};
use crate::measure::{self, Sample, Summary};
use crate::query::Query;
use crate::turns::turns;
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
        let with_floor = query.floor.is_some();
        let variants = variant::select(&options.variants, &options.data.encoding, &encodings, with_floor)?;
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

    /// The query's name.
    pub(crate) fn name(&self) -> &'static str {
        self.query.name
    }

    /// How often a variant runs, for a progress bar.
    pub(crate) fn runs(&self) -> usize {
        (self.options.repeats + 1) * self.variants.len()
    }

    /// Runs under a progress bar of its own.
    pub(crate) async fn run(self) -> Result<Outcome> {
        let bar = progress_bar(self.runs(), "{bar:40} {pos}/{len}  {msg}");
        let outcome = self.run_under(&bar).await?;
        bar.finish_and_clear();
        Ok(outcome)
    }

    /// One round of warm-up, then the measured rounds. Each round runs every variant once, in an order of its own.
    ///
    /// # Errors
    /// A query that fails; a wrong answer is no error here but part of the outcome.
    pub(crate) async fn run_under(&self, bar: &ProgressBar) -> Result<Outcome> {
        let mut contestants = Vec::new();
        let mut answers = Vec::new();
        for &variant in &self.variants {
            let contestant = self.contestant(variant, &mut answers).await;
            contestants.push(contestant.map_err(|error| format!("{variant}: {error}"))?);
        }
        let rounds = self.options.repeats + 1;
        for round in 0..rounds {
            for index in turns(contestants.len(), round) {
                let contestant = &mut contestants[index];
                let variant = contestant.outcome.variant;
                bar.set_message(format!("round {round} of {}: {variant}", self.options.repeats));
                let run = contestant.run(self.query, round > 0, self.options.explain && round + 1 == rounds);
                run.await.map_err(|error| format!("{variant}: {error}"))?;
                bar.inc(1);
            }
        }
        let variants = contestants.into_iter().map(|contestant| contestant.outcome).collect();
        Ok(Outcome { variants, floor_encoding: self.floor_encoding })
    }

    /// `answers` are the right ones that are known already.
    async fn contestant(&self, variant: Variant, answers: &mut Vec<(Dataset, Arc<Answer>)>) -> Result<Contestant> {
        let (dataset, tables, threads) = (self.dataset(variant), self.query.tables, self.options.threads);
        let sql = self.query.sql(dataset.scale_factor);
        let (ctx, sql) = match (variant, &self.query.floor) {
            (Variant::Miniblock(_), _) => (readers::miniblock(&dataset, tables, threads).await?, sql),
            (Variant::Datafusion { pushdown, .. }, _) => {
                (readers::datafusion(&dataset, tables, threads, pushdown).await?, sql)
            }
            (Variant::Floor, Some(floor)) => {
                (floor::session(self.query, floor, &dataset, threads).await?, Cow::Borrowed(floor.sql))
            }
            (Variant::Floor, None) => return Err(format!("{} has no floor", self.query.name).into()),
        };
        let expected = if let Some((_, answer)) = answers.iter().find(|(of, _)| *of == dataset) {
            Arc::clone(answer)
        } else {
            let answer = Arc::new(Answer::expected(self.query, &dataset).await?);
            answers.push((dataset, Arc::clone(&answer)));
            answer
        };
        let outcome = VariantOutcome {
            variant,
            samples: Vec::new(),
            expected,
            sorted_by: self.query.sorted_by,
            wrong: None,
            checked: 0,
            plan: None,
        };
        Ok(Contestant { ctx, sql, outcome })
    }
}

struct Contestant {
    ctx: SessionContext,
    sql: Cow<'static, str>,
    outcome: VariantOutcome,
}

impl Contestant {
    async fn run(&mut self, query: &Query, measured: bool, keep_plan: bool) -> Result<()> {
        let run = measure::run(&self.ctx, &self.sql, query.watched).await?;
        let answer = Answer::new(&run.batches)?;
        self.outcome.checked += 1;
        if !answer.agrees(&self.outcome.expected, query.sorted_by) {
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

    pub(crate) fn find(&self, variant: Variant) -> Option<&VariantOutcome> {
        self.variants.iter().find(|of| of.variant == variant)
    }

    /// The encodings that variants ran on, each once.
    pub(crate) fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = Vec::new();
        for encoding in self.variants.iter().filter_map(|of| of.variant.encoding()) {
            if !encodings.contains(&encoding) {
                encodings.push(encoding);
            }
        }
        encodings
    }

    /// Answers looked at.
    pub(crate) fn checked(&self) -> usize {
        self.variants.iter().map(|of| of.checked).sum()
    }

    /// The variant's median wall time over Miniblock's on the same file; none where Miniblock did not run on it.
    pub(crate) fn ratio(&self, outcome: &VariantOutcome) -> Option<f64> {
        let ours = Variant::Miniblock(outcome.variant.encoding().unwrap_or(self.floor_encoding));
        let ours = self.find(ours)?;
        Some(outcome.wall()?.median / ours.wall()?.median)
    }
}

/// What came of one variant.
pub(crate) struct VariantOutcome {
    pub(crate) variant: Variant,
    pub(crate) samples: Vec<Sample>,
    expected: Arc<Answer>,
    sorted_by: &'static [usize],
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

    #[cfg(test)]
    pub(crate) fn spoil(&mut self) {
        self.wrong = Answer::new(&[]).ok();
    }

    /// The right and the last wrong answer, for people.
    pub(crate) fn mismatch(&self) -> String {
        self.wrong.as_ref().map_or_else(String::new, |wrong| wrong.mismatch(&self.expected, self.sorted_by))
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

pub(crate) fn progress_bar(runs: usize, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
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
            generate::generate(&bench.datasets(), query::Q12.tables).unwrap();
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
