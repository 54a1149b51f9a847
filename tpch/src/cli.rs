//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::dataset::{Compression, Dataset, Encoding};
use crate::query::Selection;

const EXAMPLES: &str = "\
Examples:
  tpch q12                                      SF 1, one thread, delta, dictionary and plain files
  tpch q12 --encoding delta --compression zstd  one encoding, compressed pages
  tpch q12 --scale-factor 10 --threads 4        larger, in parallel
  tpch q12 --variants miniblock-delta,floor     only these
  tpch q12 --json > q12.json                    for programs
  tpch run --encoding delta                     all 22 queries, one line each
  tpch run --query 1,6,19 --repeats 31          some of them, more exactly
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
    /// Any of the 22 queries: a line each, ours against DataFusion's better setting
    ///
    /// Runs each query with Miniblock and with DataFusion's reader (pushdown_filters off and on) over the same files,
    /// interleaved in one process, and compares medians; a bootstrap over the rounds says how sure the ratio is. Each answer
    /// is checked against DataFusion's reader with pruning, page index, bloom filters and pushdown off: decimals exactly,
    /// floating point to a billionth, rows in the order that ORDER BY asks for. A wrong answer, or a query that fails, is a
    /// non-zero exit. Text and parameters are those that the TPC validates with. At SF 1, on one thread, all queries on one
    /// encoding take some minutes.
    #[command(
        after_help = EXAMPLES,
        mut_arg("repeats", |arg| arg.default_value("15")),
        mut_arg("variants", |arg| {
            arg.help("Variants to run, separated by commas [default: all over the chosen encodings]").long_help(
                "Variants to run, separated by commas [default: all over the chosen encodings]\n\n\
                 A variant is miniblock-ENCODING, datafusion-ENCODING or datafusion-ENCODING-pushdown; `miniblock` and \
                 `datafusion` stand for all of theirs.",
            )
        })
    )]
    Run(RunOptions),
    /// Only write the data, all eight tables
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

#[derive(Args, Clone, Debug)]
pub(crate) struct RunOptions {
    /// Queries: a number, several separated by commas, or all
    #[arg(long, default_value = "all", value_name = "N", value_parser = Selection::parse)]
    pub(crate) query: Selection,
    #[command(flatten)]
    pub(crate) bench: BenchOptions,
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
    fn more_rounds_where_bounds_are_wanted() {
        let repeats = |command: &str| match Cli::try_parse_from(["tpch", command]).unwrap().command {
            Command::Q12(options) => options.repeats,
            Command::Run(options) => options.bench.repeats,
            Command::Generate(_) => 0,
        };
        assert_eq!((repeats("q12"), repeats("run")), (11, 15));
    }

    #[test]
    fn queries_by_number() {
        let run = |query: &str| Cli::try_parse_from(["tpch", "run", "--query", query]).map(|cli| cli.command);
        let Command::Run(options) = run("1,22").unwrap() else { panic!("not run") };
        assert_eq!(options.query.0.len(), 2);
        let error = run("23").unwrap_err().to_string();
        assert!(error.contains("there is no query \"23\"; known are 1 to 22, and all"), "{error}");
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
