//! `tpch`: TPC-H queries over Miniblock and over DataFusion's own Parquet reader, side by side.
//!
//! `tpch q12` writes the data that it needs once ([`generate`]), runs every [`variant`] of the query in turn in one
//! process ([`run`]), checks each answer ([`answer`]) and prints a table or one JSON object ([`report`], [`json`]).
//! `tpch run` does so for any of the 22 queries ([`suite`]) and prints a line for each ([`overview`]), with a ratio and its
//! bounds ([`ratio`]).

mod answer;
mod cli;
mod dataset;
mod floor;
mod generate;
mod json;
mod machine;
mod measure;
mod overview;
mod query;
mod ratio;
mod readers;
mod report;
mod run;
mod suite;
mod turns;
mod variant;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

/// Errors are for people: they are printed, never matched on.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Q12(options) => bench(&query::Q12, &options),
        Command::Run(options) => run_all(&options),
        Command::Generate(data) => generate::generate(&data.datasets(), dataset::Table::ALL).map(|()| true),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one query in all variants that were asked for and prints the result; false if an answer was wrong.
fn bench(query: &'static query::Query, options: &cli::BenchOptions) -> Result<bool> {
    let plan = run::Bench::new(query, options)?;
    generate::generate(&plan.datasets(), query.tables)?;

    let (pinned, runtime) = pinned_runtime(options.threads)?;
    let outcome = runtime.block_on(async { tokio::spawn(plan.run()).await })??;

    complain(query.name, &outcome);
    let plans = report::plans(&outcome);
    if options.json {
        eprint!("{plans}");
        print(&json::render(query, options, &outcome))?;
    } else {
        print(&(plans + &report::render(query, options, &outcome, pinned)))?;
    }
    Ok(outcome.answer_ok())
}

/// Runs many queries in the variants that were asked for and prints a line each; false if one failed or was wrong.
fn run_all(options: &cli::RunOptions) -> Result<bool> {
    let cli::RunOptions { query: queries, bench: options } = options;
    let suite = suite::Suite::new(queries, options)?;
    generate::generate(&suite.datasets(), &queries.tables())?;

    let (pinned, runtime) = pinned_runtime(options.threads)?;
    let outcome = runtime.block_on(async { tokio::spawn(suite.run()).await })?;

    let mut plans = String::new();
    for (name, of) in &outcome.queries {
        match of {
            Ok(of) => {
                complain(name, of);
                plans.extend(options.explain.then(|| format!("{name}\n{}", report::plans(of))));
            }
            Err(error) => eprintln!("error: {name}: {error}"),
        }
    }
    if options.json {
        eprint!("{plans}");
        print(&json::render_suite(options, &outcome))?;
    } else {
        print(&(plans + &overview::render(options, &outcome, pinned)))?;
    }
    Ok(outcome.answer_ok())
}

/// After the generation, which may use every core: threads that start later inherit the pinning.
fn pinned_runtime(threads: usize) -> Result<(Option<usize>, tokio::runtime::Runtime)> {
    let pinned = if threads == 1 { machine::pin_to_one_core() } else { None };
    Ok((pinned, machine::runtime(threads)?))
}

fn complain(query: &str, outcome: &run::Outcome) {
    for variant in outcome.variants.iter().filter(|variant| !variant.answer_ok()) {
        eprintln!("error: {} gave a wrong answer to {query}\n{}", variant.variant, variant.mismatch());
    }
}

/// Prints to standard output; a reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
