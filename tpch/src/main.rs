//! `tpch`: TPC-H queries over Miniblock and over DataFusion's own Parquet reader, side by side.
//!
//! `tpch q12` writes the data that it needs once ([`generate`]), runs every [`variant`] of the query in turn in one
//! process ([`run`]), checks each answer ([`answer`]) and prints a table or one JSON object ([`report`], [`json`]).

mod answer;
mod cli;
mod dataset;
mod floor;
mod generate;
mod json;
mod machine;
mod measure;
mod query;
mod readers;
mod report;
mod run;
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

    // After the generation, which may use every core: threads that start later inherit the pinning.
    let pinned = if options.threads == 1 { machine::pin_to_one_core() } else { None };
    let runtime = machine::runtime(options.threads)?;
    let outcome = runtime.block_on(async { tokio::spawn(plan.run()).await })??;

    for variant in outcome.variants.iter().filter(|variant| !variant.answer_ok()) {
        eprintln!("error: {} gave a wrong answer to {}\n{}", variant.variant, query.name, variant.mismatch());
    }
    let plans = report::plans(&outcome);
    if options.json {
        eprint!("{plans}");
        print(&json::render(query, options, &outcome))?;
    } else {
        print(&(plans + &report::render(query, options, &outcome, pinned)))?;
    }
    Ok(outcome.answer_ok())
}

/// Prints to standard output; a reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
