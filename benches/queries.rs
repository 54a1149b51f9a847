//! Queries over TPC-H files: execution alone, the plan made before.
//!
//! ```sh
//! cargo bench --bench queries                       # SF 1, delta, uncompressed
//! cargo bench --bench queries -- --quick point      # cases with this in their names
//! cargo bench --bench queries -- --data tpch-data/sf1-dictionary-none
//! ```
//!
//! `qN` are the 22 of TPC-H, as the runner has them. `month` counts the rows of lineitem of one month, `point` looks up one order
//! in it with two strings, `wide` is Q12 with the strings of orders in its output, which a join's dynamic filter spares. `in`,
//! `like` and `equal` count rows of lineitem by their strings.
//!
//! Who runs on one thread, by turns in an order that changes from round to round: `ours` and DataFusion's reader without and with
//! `pushdown_filters`; then, apart, `ours` and `static`, ours in a session without dynamic filters. A line for each case:
//!
//! ```text
//! query CASE OURS STATIC DATAFUSION DATAFUSION_PUSHDOWN RATIO [LOW..HIGH] DYNAMIC [LOW..HIGH]
//! ```
//!
//! Medians are in milliseconds; RATIO is the best of DataFusion's over ours, DYNAMIC is `static` over ours, each with bounds that
//! hold it with a confidence of 95 % (a bootstrap over the rounds).

#[path = "support/bounds.rs"]
mod bounds;
#[allow(dead_code, reason = "its tests have no harness here")]
#[path = "../tpch/src/ratio.rs"]
mod ratio;
#[allow(unused_imports, reason = "its tests have no harness here")]
#[path = "../tpch/src/turns.rs"]
mod turns;

use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use datafusion::error::Result;
use datafusion::physical_plan::collect;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use miniblock::{MiniblockOptions, SessionContextExt};

use bounds::{percentile, with_bounds};
use ratio::Bootstrap;
use turns::turns;

/// Queries over TPC-H files: execution alone, beside DataFusion's reader, with and without dynamic filters
#[derive(Parser)]
#[command(name = "queries")]
struct Options {
    /// Run the cases alone whose names have this in them
    filter: Option<String>,
    /// 7 rounds instead of 21
    #[arg(long)]
    quick: bool,
    /// Run ours alone, so many times: for a profiler
    #[arg(long, value_name = "TIMES")]
    profile: Option<usize>,
    /// A folder of the TPC-H runner (`cargo run --release -p tpch -- generate`)
    #[arg(long, default_value = "tpch-data/sf1-delta-none", value_name = "DIR")]
    data: PathBuf,
    /// Has ours map the files into memory
    #[arg(long)]
    map: bool,
    /// What cargo says to each bench
    #[arg(long, hide = true)]
    bench: bool,
}

const TABLES: [&str; 8] = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];

const MORE: [(&str, &str); 6] = [
    ("month", "SELECT count(*) FROM lineitem WHERE l_shipdate BETWEEN DATE '1995-03-01' AND DATE '1995-03-31'"),
    ("point", "SELECT l_shipmode, l_comment FROM lineitem WHERE l_orderkey = 3000001"),
    ("in", "SELECT count(*) FROM lineitem WHERE l_shipmode IN ('MAIL', 'SHIP')"),
    ("like", "SELECT count(*) FROM lineitem WHERE l_comment LIKE 'fur%'"),
    ("equal", "SELECT count(*) FROM lineitem WHERE l_comment = 'egular courts above the'"),
    (
        "wide",
        "SELECT l_shipmode, o_orderpriority, count(*), min(o_orderstatus), max(o_clerk), min(o_comment), max(o_comment)
         FROM orders, lineitem
         WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
            AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01'
         GROUP BY l_shipmode, o_orderpriority ORDER BY l_shipmode, o_orderpriority",
    ),
];

macro_rules! tpch {
    ($($number:literal),*) => {
        [$((concat!("q", $number), include_str!(concat!("../tpch/src/queries/q", $number, ".sql")))),*]
    };
}

const TPCH: [(&str, &str); 22] = tpch!(
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19",
    "20", "21", "22"
);

fn main() -> Result<()> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&options))
}

#[derive(Clone, Copy, PartialEq)]
enum Who {
    Ours,
    Static,
    Datafusion { pushdown: bool },
}

const ALL: [Who; 4] = [Who::Ours, Who::Static, Who::Datafusion { pushdown: false }, Who::Datafusion { pushdown: true }];

async fn session(who: Who, options: &Options) -> Result<SessionContext> {
    let mut config = SessionConfig::new().with_target_partitions(1);
    if who == Who::Static {
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.enable_topk_dynamic_filter_pushdown = false;
        optimizer.enable_join_dynamic_filter_pushdown = false;
        optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    }
    config.options_mut().execution.parquet.pushdown_filters = who == Who::Datafusion { pushdown: true };
    let ctx = SessionContext::new_with_config(config);
    for table in TABLES {
        let path = options.data.join(format!("{table}.parquet"));
        let path = path.to_string_lossy();
        match who {
            Who::Ours | Who::Static => {
                let options = MiniblockOptions::default().with_memory_map(options.map);
                ctx.register_miniblock(table, &path, options).await?
            }
            Who::Datafusion { .. } => ctx.register_parquet(table, path.as_ref(), ParquetReadOptions::default()).await?,
        }
    }
    Ok(ctx)
}

async fn run(options: &Options) -> Result<()> {
    let mut sessions = Vec::new();
    for who in ALL {
        sessions.push(session(who, options).await?);
    }
    let rounds = if options.quick { 7 } else { 21 };
    let mut ratios: [Vec<Bootstrap>; 2] = Default::default();
    for (name, sql) in MORE.into_iter().chain(TPCH) {
        if options.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        // As it is at SF 1.
        let sql = sql.replace(":fraction", "0.0001");
        if let Some(times) = options.profile {
            // Planned each time: a plan that is reset has lost its dynamic filters.
            for _ in 0..times {
                execute(&sessions[0], &sql).await?;
            }
            continue;
        }
        let mut expected = None;
        let mut medians = [0.0; ALL.len()];
        let mut ratios_of = Vec::new();
        // Apart, as ours would find the bytes in the caches that ours has read.
        for set in [&[1, 0][..], &[0, 2, 3]] {
            let mut times = vec![Vec::new(); set.len()];
            for round in 0..=rounds {
                for turn in turns(set.len(), round) {
                    let (rows, time) = execute(&sessions[set[turn]], &sql).await?;
                    assert_eq!(*expected.get_or_insert(rows), rows, "rows of {name}");
                    if round > 0 {
                        times[turn].push(time);
                    }
                }
            }
            for (&who, times) in set.iter().zip(&times) {
                medians[who] = percentile(times, 50);
            }
            let ours = set.iter().position(|&who| who == 0).unwrap_or_default();
            let others: Vec<&[f64]> = (0..set.len()).filter(|&turn| turn != ours).map(|turn| &*times[turn]).collect();
            ratios_of.extend(Bootstrap::of_medians(&times[ours], &others));
        }
        ratios_of.reverse();
        let medians: Vec<String> = medians.iter().map(|median| format!("{median:.2}")).collect();
        let shown: Vec<String> = ratios_of.iter().map(with_bounds).collect();
        println!("query {name} {} {}", medians.join(" "), shown.join(" "));
        for (ratios, ratio) in ratios.iter_mut().zip(ratios_of) {
            ratios.push(ratio);
        }
    }
    let means = ratios.iter().filter_map(Bootstrap::geometric_mean);
    println!("query geometric-mean {}", means.map(|mean| with_bounds(&mean)).collect::<Vec<_>>().join(" "));
    Ok(())
}

/// Rows, and milliseconds without planning.
async fn execute(ctx: &SessionContext, sql: &str) -> Result<(usize, f64)> {
    let plan = ctx.sql(sql).await?.create_physical_plan().await?;
    let start = Instant::now();
    let batches = collect(plan, ctx.task_ctx()).await?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    Ok((batches.iter().map(|batch| batch.num_rows()).sum(), time))
}
