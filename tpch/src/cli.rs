//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::dataset::{Compression, Dataset, Encoding};

const EXAMPLES: &str = "\
Examples:
  tpch q12                                      SF 1, one thread, delta, dictionary and plain files
  tpch q12 --encoding delta --compression zstd  one encoding, compressed pages
  tpch q12 --scale-factor 10 --threads 4        larger, in parallel
  tpch q12 --variants miniblock-delta,floor     only these
  tpch q12 --json > q12.json                    for programs
  tpch generate --scale-factor 10               only write the files";

/// TPC-H over Miniblock and over DataFusion's own Parquet reader, side by side.
///
/// The data is written once, on first use.
#[derive(Debug, Parser)]
#[command(name = "tpch", version, after_help = EXAMPLES, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Query 12: a selective scan of lineitem, joined with orders
    ///
    /// Runs the query in several variants, interleaved in one process: Miniblock and DataFusion's reader (with
    /// pushdown_filters off and on) over the same files, and `floor`, the same plan fed from memory with exactly the rows
    /// that the scans would deliver: what is left when a scan costs nothing. Each answer is checked; a wrong one is a
    /// non-zero exit.
    #[command(after_help = EXAMPLES)]
    Q12(BenchOptions),
    /// Only write the data
    #[command(after_help = EXAMPLES)]
    Generate(DataOptions),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DataOptions {
    /// Size of the data: 1 is 6 million rows of lineitem, about 0.5 GB as delta
    #[arg(long, default_value = "1", value_name = "SF", value_parser = parse_scale_factor)]
    pub(crate) scale_factor: f64,
    /// Encodings of the files, separated by commas [default: delta,dictionary,plain]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ENCODING", hide_default_value = true)]
    pub(crate) encoding: Vec<Encoding>,
    /// Compression of the pages
    #[arg(long, value_enum, default_value = "none", value_name = "CODEC")]
    pub(crate) compression: Compression,
    /// Folder of the data; a file that is there already is used as it is
    #[arg(long, default_value = "tpch-data", value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
}

impl DataOptions {
    /// The encodings that were named, each once, or the default ones.
    pub(crate) fn encodings(&self) -> Vec<Encoding> {
        let named = if self.encoding.is_empty() { Encoding::DEFAULT } else { &self.encoding };
        let mut encodings = Vec::new();
        for encoding in named {
            if !encodings.contains(encoding) {
                encodings.push(*encoding);
            }
        }
        encodings
    }

    pub(crate) fn dataset(&self, encoding: Encoding) -> Dataset {
        Dataset {
            data_dir: self.data_dir.clone(),
            scale_factor: self.scale_factor,
            encoding,
            compression: self.compression,
        }
    }

    pub(crate) fn datasets(&self) -> Vec<Dataset> {
        self.encodings().into_iter().map(|encoding| self.dataset(encoding)).collect()
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct BenchOptions {
    #[command(flatten)]
    pub(crate) data: DataOptions,
    /// Threads and target partitions; 1 runs all on one thread and, on Linux, pins the process to one core
    #[arg(long, default_value = "1", value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// Measured rounds, after one round of warm-up; a round runs each variant once
    #[arg(long, default_value = "11", value_name = "N", value_parser = parse_count)]
    pub(crate) repeats: usize,
    /// Variants to run, separated by commas [default: all over the chosen encodings, and floor]
    ///
    /// A variant is miniblock-ENCODING, datafusion-ENCODING, datafusion-ENCODING-pushdown or floor; `miniblock` and
    /// `datafusion` stand for all of theirs.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    /// Print one JSON object to standard output, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Also print each variant's plan with the metrics of its last run (with --json to standard error)
    #[arg(long)]
    pub(crate) explain: bool,
}

fn parse_scale_factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 100_000.0 => Ok(value),
        _ => Err("a number above 0, such as 0.01, 1 or 10, is wanted".to_owned()),
    }
}

/// More would be refused by the system, and end the process.
fn parse_threads(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        threads @ ..=1024 => Ok(threads),
        threads => Err(format!("{threads} threads: at most 1024")),
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(value) if (1..=100_000).contains(&value) => Ok(value),
        _ => Err("a whole number from 1 is wanted".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn encodings_come_once_each() {
        let cli = Cli::try_parse_from(["tpch", "generate", "--encoding", "plain,delta", "--encoding", "plain"]);
        let Command::Generate(data) = cli.unwrap().command else { panic!("not generate") };
        assert_eq!(data.encodings(), [Encoding::Plain, Encoding::Delta]);
    }

    #[test]
    fn senseless_numbers_are_refused() {
        for arguments in [
            ["--scale-factor", "0"],
            ["--scale-factor", "NaN"],
            ["--threads", "0"],
            ["--threads", "100000"],
            ["--repeats", "-1"],
        ] {
            assert!(Cli::try_parse_from(["tpch", "q12"].into_iter().chain(arguments)).is_err(), "{arguments:?}");
        }
    }
}
