//! The way of the bytes into the scan: TPC-H query 12 over local files beside `pread`, and over a store that is far away
//! beside DataFusion's reader; and a scan of all columns under memory pools.
//!
//! ```sh
//! cargo bench --bench io                              # SF 1, delta, uncompressed
//! cargo bench --bench io -- --data tpch-data/sf1-dictionary-none
//! ```
//!
//! Lines `ratio CASE OURS PEER RATIO`: milliseconds, medians over rounds in which both run by turns; RATIO is ours over the
//! peer's. Lines `requests`, `bytes` and `faults` are counts of one run.

use std::fs::File;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::StreamExt;
use miniblock::{MiniblockOptions, SessionContextExt};
use parquet::file::metadata::ParquetMetaDataReader;

use crate::store::RemoteStore;

#[path = "../tests/store.rs"]
mod store;

const Q12: &str = "
    SELECT l_shipmode,
        sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
        sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
    FROM orders, lineitem
    WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
        AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01'
    GROUP BY l_shipmode ORDER BY l_shipmode";

/// What it reads of each table.
const COLUMNS: [(&str, &[&str]); 2] = [
    ("lineitem", &["l_orderkey", "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipmode"]),
    ("orders", &["o_orderkey", "o_orderpriority"]),
];

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let (mut data, mut rounds) = (PathBuf::from("tpch-data/sf1-delta-none"), 21);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--data" => data = args.next().ok_or("--data wants a folder of the TPC-H runner")?.into(),
            "--quick" => rounds = 7,
            // What cargo says to each bench.
            "--bench" => {}
            other => return Err(format!("{other}: not one of --data FOLDER, --quick").into()),
        }
    }
    if !data.exists() {
        generate(&data)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("milliseconds: median (10th to 90th percentile)");
    runtime.block_on(async {
        local(&data, rounds).await?;
        for latency in [0, 10, 50] {
            remote(&data, Duration::from_millis(latency), rounds.div_ceil(3)).await?;
        }
        Ok::<_, Error>(())
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for mebibytes in [1024, 256, 64, 16, 4] {
        for whole in [true, false] {
            runtime.block_on(in_pool(&data, mebibytes, whole))?;
        }
    }
    Ok(())
}

/// Scans all columns of lineitem with two partitions under a pool of so many MiB, to its end or until it is dropped.
async fn in_pool(data: &Path, mebibytes: usize, whole: bool) -> Result<(), Error> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(mebibytes << 20));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool)).build_arc()?;
    let ctx = SessionContext::new_with_config_rt(SessionConfig::new().with_target_partitions(2), runtime);
    let path = data.join("lineitem.parquet");
    ctx.register_miniblock("lineitem", path.to_str().ok_or("a path that is no text")?, MiniblockOptions::new()).await?;
    let mut batches = ctx.sql("SELECT * FROM lineitem").await?.execute_stream().await?;
    let (mut rows, mut peak, mut outcome) = (0, 0, "all rows".to_string());
    while let Some(batch) = batches.next().await {
        match batch {
            Ok(batch) => rows += batch.num_rows(),
            Err(error) => outcome = error.to_string().lines().next().unwrap_or_default().to_string(),
        }
        peak = peak.max(pool.reserved());
        if !whole && rows > 100_000 {
            outcome = "dropped".to_string();
            break;
        }
    }
    drop(batches);
    for _ in 0..1000 {
        // What is dropped ends when its turn comes.
        if pool.reserved() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    println!("memory pool-{mebibytes}MiB rows {rows} peak {peak} left {}: {outcome}", pool.reserved());
    Ok(())
}

/// Has the TPC-H runner write the files.
fn generate(data: &Path) -> Result<(), Error> {
    let name = data.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let encoding = name.split('-').nth(1).unwrap_or("delta");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--release", "--package", "tpch", "--", "generate", "--encoding", encoding])
        .status()?;
    if status.success() && data.exists() { Ok(()) } else { Err(format!("no {}", data.display()).into()) }
}

/// Medians of contenders that run by turns.
struct Times(Vec<f64>);

impl Times {
    fn median(&mut self) -> f64 {
        self.percentile(50)
    }

    fn percentile(&mut self, percent: usize) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[(self.0.len() - 1) * percent / 100]
    }
}

fn report(case: &str, ours: &mut Times, peer: &mut Times) {
    let spread = |times: &mut Times| format!("({:.1} to {:.1})", times.percentile(10), times.percentile(90));
    println!("{case}: ours {}, peer {}", spread(ours), spread(peer));
    let (ours, peer) = (ours.median(), peer.median());
    println!("ratio {case} {ours:.2} {peer:.2} {:.3}", ours / peer);
}

async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<(f64, T)> {
    let start = Instant::now();
    let result = work.await?;
    Ok((start.elapsed().as_secs_f64() * 1e3, result))
}

async fn plan(ctx: &SessionContext, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    ctx.sql(sql).await?.create_physical_plan().await
}

/// Runs a query; the plan, with its metrics.
async fn run(ctx: &SessionContext, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan(ctx, sql).await?;
    collect(Arc::clone(&plan), ctx.task_ctx()).await?;
    Ok(plan)
}

/// A metric over all scans of a plan.
fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(|child| metric(child, name)).sum::<usize>()
}

fn session() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1))
}

async fn local(data: &Path, rounds: usize) -> Result<(), Error> {
    for (name, options) in [
        ("fetch/q12/read", MiniblockOptions::new()),
        ("fetch/q12/mapped", MiniblockOptions::new().with_memory_map(true)),
    ] {
        let (ctx, chunks) = (session(), session());
        // The same files by the way for stores that are far away: whole chunks, into memory of their own.
        let url = ObjectStoreUrl::parse("disk://here")?;
        chunks.register_object_store(url.as_ref(), Arc::new(LocalFileSystem::new_with_prefix(data)?));
        let mut files = Vec::new();
        for (table, columns) in COLUMNS {
            let path = data.join(format!("{table}.parquet"));
            chunks.register_miniblock(table, &format!("disk://here/{table}.parquet"), options.clone()).await?;
            ctx.register_miniblock(table, path.to_str().ok_or("a path that is no text")?, options.clone()).await?;
            files.push(Ranges::of(&path, columns)?);
        }
        let [mut ours, mut peer, mut wall, mut store_reads, mut by_chunks] = [(); 5].map(|()| Times(Vec::new()));
        let store = LocalFileSystem::new_with_prefix(data)?;
        let mut buffer = vec![0; files.iter().map(Ranges::longest).max().unwrap_or(0)];
        for round in 0..=rounds {
            let (pread, ()) = timed(async { files.iter().try_for_each(|file| file.read(&mut buffer)) }).await?;
            let (total, plan) = timed(run(&ctx, Q12)).await?;
            let (by_store, ()) = timed(through(&store, &files)).await?;
            let (whole_chunks, _) = timed(run(&chunks, Q12)).await?;
            if round > 0 {
                by_chunks.0.push(whole_chunks);
                store_reads.0.push(by_store);
                peer.0.push(pread);
                ours.0.push(metric(&plan, "fetch_time") as f64 / 1e6);
                wall.0.push(total);
            }
        }
        report(name, &mut ours, &mut peer);
        println!("{name}: the store's get_ranges {:.1}", store_reads.median());
        report(&format!("{name}/whole-query-and-by-chunks"), &mut wall, &mut by_chunks);
    }
    faults(data).await
}

/// As a reader does that asks for the chunks of a row group at once.
async fn through(store: &LocalFileSystem, files: &[Ranges]) -> Result<()> {
    for file in files {
        for row_group in file.ranges.chunks(file.columns) {
            let ranges: Vec<_> = row_group.iter().map(|&(start, length)| start..start + length as u64).collect();
            store.get_ranges(&file.location, &ranges).await?;
        }
    }
    Ok(())
}

/// The chunks of some columns of a file.
struct Ranges {
    file: File,
    location: StorePath,
    columns: usize,
    ranges: Vec<(u64, usize)>,
}

impl Ranges {
    fn of(path: &Path, columns: &[&str]) -> Result<Self, Error> {
        let file = File::open(path)?;
        let footer = ParquetMetaDataReader::new().parse_and_finish(&file)?;
        let chunks = footer.row_groups().iter().flat_map(|row_group| row_group.columns());
        let wanted = chunks.filter(|chunk| columns.contains(&chunk.column_path().string().as_str()));
        let ranges = wanted.map(|chunk| (chunk.byte_range().0, chunk.byte_range().1 as usize)).collect();
        let location = StorePath::from(path.file_name().and_then(|name| name.to_str()).unwrap_or_default());
        Ok(Self { file, location, columns: columns.len(), ranges })
    }

    fn longest(&self) -> usize {
        self.ranges.iter().map(|(_, length)| *length).max().unwrap_or(0)
    }

    fn read(&self, buffer: &mut [u8]) -> Result<()> {
        for &(offset, length) in &self.ranges {
            std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut buffer[..length], offset)
                .map_err(DataFusionError::from)?;
        }
        Ok(())
    }
}

/// Page faults of this process so far (Linux).
fn page_faults() -> Option<usize> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(7)?.parse().ok()
}

/// Page faults of a scan of two row groups, and of all.
async fn faults(data: &Path) -> Result<(), Error> {
    let path = data.join("lineitem.parquet");
    let footer = ParquetMetaDataReader::new().parse_and_finish(&File::open(&path)?)?;
    let ctx = session();
    ctx.register_miniblock("lineitem", path.to_str().ok_or("a path that is no text")?, MiniblockOptions::new()).await?;
    let groups = footer.num_row_groups();
    // The keys are sorted, and about as many as the rows.
    let rows: i64 = footer.row_groups().iter().take(2).map(|row_group| row_group.num_rows()).sum();
    let bound = rows;
    for (name, bound) in [("two", bound), ("all", i64::MAX)] {
        let sql = format!(
            "SELECT count(l_orderkey), min(l_shipmode) FROM lineitem WHERE l_orderkey < {bound} AND l_commitdate < l_receiptdate
             AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01'"
        );
        run(&ctx, &sql).await?;
        let before = page_faults();
        let plan = run(&ctx, &sql).await?;
        if let (Some(before), Some(after)) = (before, page_faults()) {
            let bytes = metric(&plan, "bytes_scanned");
            println!("faults scan/{name}-of-{groups}-row-groups {} ({bytes} bytes)", after - before);
        }
    }
    Ok(())
}

async fn remote(data: &Path, latency: Duration, rounds: usize) -> Result<(), Error> {
    let store = RemoteStore::new(Arc::new(LocalFileSystem::new_with_prefix(data)?), latency);
    let url = ObjectStoreUrl::parse("far://away")?;
    let mut sessions = Vec::new();
    for (name, options) in [
        ("read-ahead", Some(MiniblockOptions::new())),
        ("no-read-ahead", Some(MiniblockOptions::new().with_read_ahead_bytes(0))),
        ("datafusion", None),
    ] {
        let ctx = session();
        ctx.register_object_store(url.as_ref(), Arc::clone(&store) as _);
        for (table, _) in COLUMNS {
            let path = format!("far://away/{table}.parquet");
            match &options {
                Some(options) => ctx.register_miniblock(table, &path, options.clone()).await?,
                None => ctx.register_parquet(table, &path, ParquetReadOptions::default()).await?,
            }
        }
        sessions.push((name, ctx, Times(Vec::new()), (0, 0)));
    }
    for round in 0..=rounds {
        for (_, ctx, times, counts) in &mut sessions {
            store.take_counts();
            let (wall, _) = timed(run(ctx, Q12)).await?;
            *counts = store.take_counts();
            if round > 0 {
                times.0.push(wall);
            }
        }
    }
    let Some((_, _, mut peer, _)) = sessions.pop().map(|(name, ctx, times, counts)| {
        println!("requests {name} {} bytes {}", counts.0, counts.1);
        (name, ctx, times, counts)
    }) else {
        return Ok(());
    };
    for (name, _, mut times, (requests, bytes)) in sessions {
        println!("requests {name} {requests} bytes {bytes}");
        report(&format!("latency-{}ms/q12/{name}", latency.as_millis()), &mut times, &mut peer);
    }
    Ok(())
}
