//! Whole scans of a file under a filter on one column, beside others who read the same file.
//!
//! ```sh
//! cargo bench --bench scan                          # 40 cases
//! cargo bench --bench scan -- --quick random/nulls10
//! ```
//!
//! # Cases
//!
//! `scan/TYPE/ORDER/NULLS/SELECTIVITY/PROJECTION`: a filter `f BETWEEN LOW AND HIGH` on a column of INT32 or INT64 whose values
//! are sorted, clustered (runs of some 5000 rows that are near to each other) or random, of whose rows 0, 10 or 50 % are NULL.
//! It selects 0, 0.01, 1, .. 100 % of the values, those in the middle of the domain, so that both bounds matter; the value that
//! 0 % asks for is not there, but lies between others. Delivered are counts of rows alone (`only`), the column itself (`same`),
//! or four other columns (`project4`), of the same type and share of NULLs: sorted, clustered, random, and random of 8 bits.
//!
//! There are 432 combinations. Case `n` of the 40 has selectivity `n / 5`, order `n % 3`, nulls `(n + n / 3) % 3`, projection
//! `(n + n / 9) % 3` and type `n % 2`, each an index into its values: any two values of any two dimensions meet at least once, and
//! each selectivity meets all orders and both types.
//!
//! The files have 2 million rows, DELTA_BINARY_PACKED in V2 data pages, uncompressed, and are otherwise as the parquet crate's
//! writer makes them: statistics and page index are there. Columns without NULLs are required.
//!
//! # Who is compared
//!
//! Everybody knows the footer before, reads the file from the page cache, on one thread, in batches of 8192 rows, and is
//! checked once to deliver the same values.
//!
//! * `ours`: the table in a session, as users have it, with one partition; the plan is made before. It prunes by statistics
//!   and by the page index, as `datafusion-pushdown` does and, by row groups and pages too, `datafusion`.
//! * `rowfilter`: the parquet crate's reader with the filter as a `RowFilter`. It does not prune, but skips pages and decodes
//!   what is selected alone.
//! * `filter`: the parquet crate's reader of all rows, then arrow's `filter_record_batch` of the columns that are delivered. Batches
//!   stay as short as that makes them.
//! * `datafusion`, `datafusion-pushdown`: DataFusion's reader in the same session settings, without and with `pushdown_filters`.
//!
//! `--no-pruning` switches pruning and the page index off in the sessions, ours and DataFusion's: what is left is decoding and
//! filtering. Users do not do this.
//!
//! All run by turns, in an order that changes from round to round. A line for each case, medians over the rounds in milliseconds; RATIO is the
//! fastest peer's over ours, with bounds that hold it with a confidence of 95 % (a bootstrap over the rounds):
//!
//! ```text
//! scan CASE OURS ROWFILTER FILTER DATAFUSION DATAFUSION_PUSHDOWN RATIO [LOW..HIGH]
//! ```

#[path = "support/bounds.rs"]
mod bounds;
#[path = "scan/contenders.rs"]
mod contenders;
#[path = "scan/data.rs"]
mod data;
#[path = "support/random.rs"]
mod random;
#[allow(dead_code, reason = "its tests have no harness here")]
#[path = "../tpch/src/ratio.rs"]
mod ratio;
#[allow(unused_imports, reason = "its tests have no harness here")]
#[path = "../tpch/src/turns.rs"]
mod turns;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;

use bounds::{percentile, with_bounds};
use contenders::{Contender, Query, Received};
use data::{Order, Shape, Type};
use ratio::Bootstrap;
use turns::turns;

type Error = Box<dyn std::error::Error>;

/// Whole scans of a file under a filter on one column, beside the parquet crate's reader and DataFusion's
#[derive(Parser)]
#[command(name = "scan")]
struct Options {
    /// Run the cases alone whose names have this in them
    filter: Option<String>,
    /// 7 rounds a case, and at least 0.3 seconds, instead of 21 rounds and 0.8 seconds
    #[arg(long)]
    quick: bool,
    /// So many rounds
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    rounds: Option<usize>,
    /// Time ours alone, for profilers
    #[arg(long)]
    alone: bool,
    /// Without pruning by statistics and page index in the sessions
    #[arg(long)]
    no_pruning: bool,
    /// Rows of each file
    #[arg(long, default_value = "2000000", value_name = "N")]
    rows: usize,
    /// Print the plans
    #[arg(long)]
    plans: bool,
    /// Print the names of the cases alone
    #[arg(long)]
    list: bool,
    /// What cargo says to each bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// Of the values, in hundredths of a percent.
const SELECTIVITIES: [(usize, &str); 8] = [
    (0, "s0"),
    (1, "s0.01"),
    (100, "s1"),
    (1000, "s10"),
    (5000, "s50"),
    (9000, "s90"),
    (9900, "s99"),
    (10_000, "s100"),
];

/// Percent of the rows.
const NULLS: [u64; 3] = [0, 10, 50];

const PROJECTIONS: [(&str, &[&str]); 3] = [("only", &[]), ("same", &["f"]), ("project4", &["a", "b", "c", "d"])];

struct Case {
    shape: Shape,
    selectivity: usize,
    columns: &'static [&'static str],
    name: String,
}

impl Case {
    /// The scheme that the module's documentation tells.
    fn number(n: usize) -> Self {
        let (selectivity, selectivity_name) = SELECTIVITIES[n / 5];
        let shape = Shape {
            ty: [Type::Int32, Type::Int64][n % 2],
            order: [Order::Sorted, Order::Clustered, Order::Random][n % 3],
            nulls: NULLS[(n + n / 3) % 3],
        };
        let (projection, columns) = PROJECTIONS[(n + n / 9) % 3];
        Self { shape, selectivity, columns, name: format!("scan/{shape}/{selectivity_name}/{projection}") }
    }
}

fn main() -> Result<(), Error> {
    let options = Options::parse();
    let mut cases: Vec<Case> = (0..5 * SELECTIVITIES.len()).map(Case::number).collect();
    if let Some(filter) = &options.filter {
        cases.retain(|case| case.name.contains(filter.as_str()));
    }
    // A file is written once.
    cases.sort_by_key(|case| case.shape);
    if options.list {
        cases.iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    let folder = Folder::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("milliseconds: median (10th to 90th percentile) over rounds in which all take turns");
    let mut outcomes = Vec::new();
    for cases in cases.chunk_by(|a, b| a.shape == b.shape) {
        let path = folder.0.join("scan.parquet");
        let values = data::write(&path, cases[0].shape, options.rows)?;
        for case in cases {
            let (low, high) = data::bounds(&values, case.selectivity);
            let query = Query { path: &path, columns: case.columns, ty: case.shape.ty, low, high };
            let times = runtime.block_on(measure(&query, &options, case))?;
            outcomes.push((case, times));
        }
    }
    report(&outcomes);
    Ok(())
}

/// Milliseconds of each contender, ours first.
async fn measure(query: &Query<'_>, options: &Options, case: &Case) -> Result<Vec<Vec<f64>>, Error> {
    let mut contenders = Contender::all(query, options.no_pruning).await?;
    if options.alone {
        contenders.truncate(1);
    }
    let mut expected: Option<Received> = None;
    for contender in &contenders {
        if options.plans {
            println!("{} of {}:\n{}", contender.name(), case.name, contender.plan());
        }
        let received = contender.receive().await?;
        match &expected {
            None => expected = Some(received),
            Some(expected) if *expected == received => {}
            Some(expected) => {
                let (name, peer) = (&case.name, contender.name());
                return Err(format!("{name}: we deliver {expected:?}, {peer} delivers {received:?}").into());
            }
        }
    }
    let rows = expected.map_or(0, |received| received.rows);
    let rounds = options.rounds.unwrap_or(if options.quick { 7 } else { 21 });
    let mut times = vec![Vec::new(); contenders.len()];
    // Short scans meet more noise.
    let (start, least) = (Instant::now(), Duration::from_millis(40) * rounds as u32);
    let mut round = 0;
    while round < rounds || options.rounds.is_none() && start.elapsed() < least {
        for index in turns(contenders.len(), round) {
            times[index].push(contenders[index].time(rows).await?);
        }
        round += 1;
    }
    let spreads: Vec<String> = contenders
        .iter()
        .zip(&times)
        .map(|(contender, times)| format!("{} {}", contender.name(), spread(times)))
        .collect();
    println!("{}: {rows} rows; {}", case.name, spreads.join(", "));
    Ok(times)
}

fn spread(times: &[f64]) -> String {
    format!("{:.2} ({:.2} to {:.2})", percentile(times, 50), percentile(times, 10), percentile(times, 90))
}

fn report(outcomes: &[(&Case, Vec<Vec<f64>>)]) {
    println!();
    let mut ratios = Vec::new();
    for (case, times) in outcomes {
        let peers: Vec<&[f64]> = times[1..].iter().map(Vec::as_slice).collect();
        let Some(bootstrap) = Bootstrap::of_medians(&times[0], &peers) else { continue };
        let medians: Vec<String> = times.iter().map(|times| format!("{:.3}", percentile(times, 50))).collect();
        println!("scan {} {} {}", case.name, medians.join(" "), with_bounds(&bootstrap));
        ratios.push((case, bootstrap));
    }
    if let Some(mean) = Bootstrap::geometric_mean(ratios.iter().map(|(_, bootstrap)| bootstrap)) {
        println!("scan geometric-mean {}", with_bounds(&mean));
    }
    let (faster, slower) = (
        ratios.iter().filter(|(_, bootstrap)| bootstrap.ratio().is_faster()).count(),
        ratios.iter().filter(|(_, bootstrap)| bootstrap.ratio().is_slower()),
    );
    println!("scan faster {faster} of {}", ratios.len());
    for (case, bootstrap) in slower {
        println!("scan slower {} {}", case.name, with_bounds(bootstrap));
    }
}

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("miniblock-scan-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
