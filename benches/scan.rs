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
#[allow(dead_code, reason = "copies are of strings alone")]
#[path = "support/contenders.rs"]
mod contenders;
#[path = "scan/data.rs"]
mod data;
#[path = "support/random.rs"]
mod random;
#[allow(dead_code, reason = "its tests have no harness here")]
#[path = "../tpch/src/ratio.rs"]
mod ratio;
#[path = "support/rounds.rs"]
mod rounds;
#[allow(unused_imports, reason = "its tests have no harness here")]
#[path = "../tpch/src/turns.rs"]
mod turns;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, Scalar};
use arrow::compute::and;
use arrow::compute::kernels::cmp::{gt_eq, lt_eq};
use clap::Parser;
use datafusion::prelude::{col, lit};

use bounds::{percentile, with_bounds};
use contenders::{Contender, Filter, Kernel, Mask, Query};
use data::{Order, Shape, Type};
use ratio::Bootstrap;
use rounds::{Folder, Rounds, Times};

type Error = Box<dyn std::error::Error>;

/// Whole scans of a file under a filter on one column, beside the parquet crate's reader and DataFusion's
#[derive(Parser)]
#[command(name = "scan")]
struct Options {
    #[command(flatten)]
    rounds: Rounds,
    /// Without pruning by statistics and page index in the sessions
    #[arg(long)]
    no_pruning: bool,
    /// Rows of each file
    #[arg(long, default_value = "2000000", value_name = "N")]
    rows: usize,
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

    fn query<'a>(&self, path: &'a Path, low: i64, high: i64) -> Query<'a> {
        let scalar = |value: i64| -> Scalar<ArrayRef> {
            Scalar::new(match self.shape.ty {
                Type::Int32 => Arc::new(Int32Array::from(vec![value as i32])),
                Type::Int64 => Arc::new(Int64Array::from(vec![value])),
            })
        };
        let literal = |value: i64| match self.shape.ty {
            Type::Int32 => lit(value as i32),
            Type::Int64 => lit(value),
        };
        let expr = col("f").between(literal(low), literal(high));
        let (low, high) = (scalar(low), scalar(high));
        let mask: Mask = Arc::new(move |batch| and(&gt_eq(batch.column(0), &low)?, &lt_eq(batch.column(0), &high)?));
        let kernel = Some(Kernel { column: "f", mask });
        Query { path, columns: self.columns, filter: Some(Filter { expr, kernel }) }
    }
}

fn main() -> Result<(), Error> {
    let options = Options::parse();
    let mut cases: Vec<Case> = (0..5 * SELECTIVITIES.len()).map(Case::number).collect();
    cases.retain(|case| options.rounds.asks_for(&case.name));
    // A file is written once.
    cases.sort_by_key(|case| case.shape);
    if options.rounds.list {
        cases.iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    let folder = Folder::new("scan")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("milliseconds: median (10th to 90th percentile) over rounds in which all take turns");
    let mut outcomes = Vec::new();
    for cases in cases.chunk_by(|a, b| a.shape == b.shape) {
        let path = folder.0.join("scan.parquet");
        let values = data::write(&path, cases[0].shape, options.rows)?;
        for case in cases {
            let (low, high) = data::bounds(&values, case.selectivity);
            let query = case.query(&path, low, high);
            let contenders = runtime.block_on(Contender::all(&query, options.no_pruning))?;
            let times = runtime.block_on(options.rounds.measure(&case.name, contenders))?;
            outcomes.push((case, times));
        }
    }
    report(&outcomes);
    Ok(())
}

fn report(outcomes: &[(&Case, Vec<Times>)]) {
    println!();
    let mut ratios = Vec::new();
    for (case, times) in outcomes {
        let peers: Vec<&[f64]> = times[1..].iter().map(|(_, times)| times.as_slice()).collect();
        let Some(bootstrap) = Bootstrap::of_medians(&times[0].1, &peers) else { continue };
        let medians: Vec<String> = times.iter().map(|(_, times)| format!("{:.3}", percentile(times, 50))).collect();
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
