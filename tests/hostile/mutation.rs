//! All files of `tests/data` with small wrongs: each ends in rows or in an error that names the file.
//!
//! Nothing is on disk, plans are made once for each file and query, and small files get more mutants than large ones. A mutant
//! is known by its file and a seed. `MINIBLOCK_MUTANTS` is the number of mutants, `MINIBLOCK_MUTANT=FILE/SEED` runs one alone
//! and prints what it is.
//!
//! Panics of other crates become errors of the file, and are counted by their places; a panic of ours fails. So do a mutant
//! that takes long, and one that takes memory which its bytes do not warrant. Where a mutant has rows, the parquet crate reads
//! them too: differences are printed, for somebody to look at.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use miniblock::scan::native_column;
use miniblock::{MiniblockFormat, MiniblockOptions};
use parquet::file::metadata::ParquetMetaDataReader;
use tokio::runtime::Runtime;

use super::mutators::{Mutant, Subject};
use super::read::{FILE, by_parquet, register, session};
use crate::allocator::{large_bytes, peak_bytes, uncounted};
use crate::differential::rng::Rng;
use crate::fixtures::{files, filters};
use crate::oracle::{Answer, How, announce, compare, data_path, nodes, run};

const MUTANTS: usize = 100_000;

/// Threads that run mutants.
const WORKERS: usize = 2;

/// Memory that reading a small file may take, besides a multiple of its length.
const MEMORY: usize = 48 << 20;

/// Rows after which nobody reads on.
const ENOUGH_ROWS: usize = 100_000;

/// Time that a mutant may take: thousands of times as much as it does.
const SLOW: Duration = Duration::from_secs(10);

/// Time and memory at which the process is stopped, since nothing else can stop it.
const STUCK: Duration = Duration::from_secs(90);
const TOO_LARGE: usize = 6 << 30;

/// A query over one file, ready to be run over others in its place.
struct Query {
    sql: String,
    config: FileScanConfig,
    /// Root columns, if all rows are wanted of some; and what the parquet crate reads of the file itself.
    unfiltered: Option<Vec<usize>>,
    expected: Option<RecordBatch>,
    /// Whether some of it goes through the parquet crate, which takes memory as it likes.
    foreign: bool,
}

/// A file, and all that is needed to read it and its mutants.
struct Bench {
    subject: Subject,
    ctx: SessionContext,
    store: Arc<dyn ObjectStore>,
    schema: SchemaRef,
    queries: Vec<Query>,
    /// Share of the mutants.
    weight: f64,
}

impl Bench {
    async fn new(subject: Subject) -> Self {
        let (ctx, store) = session(1000);
        register(&ctx, &store, subject.bytes.clone(), MiniblockOptions::new()).await.unwrap();
        let schema: SchemaRef = ctx.table("t").await.unwrap().schema().inner().clone();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let footer = ParquetMetaDataReader::new().parse_and_finish(&subject.bytes).unwrap();
        let is_foreign = |root: &usize| native_column(&footer, &schema, *root).is_none();
        let some_foreign = all.iter().any(is_foreign);
        let mut wanted = vec![("SELECT * FROM t".to_string(), Some(all))];
        for (root, field) in schema.fields().iter().enumerate() {
            let name = field.name().replace('"', "\"\"");
            wanted.push((format!("SELECT \"{name}\" FROM t"), Some(vec![root])));
        }
        // The files of which even the rows are beyond some readers are here too.
        if let Ok(rows) = run(&ctx, "SELECT * FROM t").await {
            wanted.extend(filters(&rows).into_iter().map(|filter| (format!("SELECT * FROM t WHERE {filter}"), None)));
        }
        let mut queries = Vec::new();
        for (sql, unfiltered) in wanted {
            let Ok(frame) = ctx.sql(&sql).await else { continue };
            let Ok(plan) = frame.create_physical_plan().await else { continue };
            let scans = nodes(&plan, "DataSourceExec");
            let config = scans.first().and_then(|scan| {
                scan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>().cloned()
            });
            let expected = unfiltered
                .as_ref()
                .and_then(|roots| by_parquet(&subject.bytes, Some(schema.clone()), Some(roots)).ok());
            let foreign = unfiltered.as_ref().map_or(some_foreign, |roots| roots.iter().any(is_foreign));
            queries.extend(config.map(|config| Query { sql, config, unfiltered, expected, foreign }));
        }
        let weight = 1.0 / (8192 + subject.bytes.len()) as f64;
        Self { subject, ctx, store, schema, queries, weight }
    }

    /// A query that reads what was hit, more often than not.
    fn query(&self, rng: &mut Rng, root: Option<usize>) -> &Query {
        let hit = root
            .filter(|_| !rng.one_in(4))
            .and_then(|root| self.queries.iter().find(|query| query.unfiltered.as_deref() == Some(&[root])));
        hit.unwrap_or_else(|| &self.queries[rng.below(self.queries.len())])
    }

    /// Runs the query over `bytes` at `path`: `plan`, with schema and statistics as for a new table.
    async fn run(&self, query: &Query, path: &Path, bytes: &Bytes, plan: bool) -> Result<Answer> {
        self.store.put(path, bytes.clone().into()).await?;
        // It has another time than the mutant before, so that no cache takes it for that.
        let object = self.store.head(path).await?;
        if plan {
            let state = self.ctx.state();
            let format = MiniblockFormat::new(state.default_table_options().parquet, MiniblockOptions::new());
            let schema = format.infer_schema(&state, &self.store, std::slice::from_ref(&object)).await?;
            format.infer_stats_and_ordering(&state, &self.store, schema, &object).await?;
        }
        let group = FileGroup::new(vec![PartitionedFile::new_from_meta(object)]);
        let config = FileScanConfigBuilder::from(query.config.clone()).with_file_groups(vec![group]).build();
        let plan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config);
        let mut stream = plan.execute(0, self.ctx.task_ctx())?;
        let (mut batches, mut rows) = (Vec::new(), 0);
        // Few bytes may legally be very many rows.
        while rows < ENOUGH_ROWS
            && let Some(batch) = stream.next().await
        {
            batches.push(batch?);
            rows += batches.last().map_or(0, RecordBatch::num_rows);
        }
        Ok(Answer { schema: plan.schema(), batches, plan })
    }
}

async fn benches() -> Vec<Bench> {
    let mut benches = Vec::new();
    for name in files() {
        let subject = Subject::new(name.clone(), Bytes::from(std::fs::read(data_path(&name)).unwrap()));
        let unpacked = subject.unpacked();
        benches.push(Bench::new(subject).await);
        if let Some(unpacked) = unpacked {
            benches.push(Bench::new(unpacked).await);
        }
    }
    benches
}

/// What is watched for panics on this thread now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    Nothing,
    Miniblock,
    /// Its panics do not matter.
    ParquetCrate,
}

thread_local! {
    static WATCHED: RefCell<Watched> = const { RefCell::new(Watched::Nothing) };
    static PANICS: RefCell<Vec<Panic>> = const { RefCell::new(Vec::new()) };
}

/// A panic, whether it was caught or not.
struct Panic {
    place: String,
    /// The crate that called what panicked.
    by: String,
    message: String,
}

/// Sees the panics of watched threads; those of other tests go their way.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match WATCHED.with_borrow(|watched| *watched) {
            Watched::Nothing => before(info),
            Watched::Miniblock => PANICS.with_borrow_mut(|panics| panics.push(Panic::new(info))),
            Watched::ParquetCrate => {}
        }));
    });
}

impl Panic {
    fn new(info: &PanicHookInfo<'_>) -> Self {
        static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
        let place = info.location().map_or_else(|| "nowhere".to_string(), ToString::to_string);
        let payload: &dyn Any = info.payload();
        let message = payload.downcast_ref::<String>().cloned();
        let message = message.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
        // Backtraces are dear: one for each place.
        let by = locked(&KNOWN).entry(place.clone()).or_insert_with(|| uncounted(|| caller(&place))).clone();
        Self { place, by, message }
    }

    fn is_ours(&self) -> bool {
        self.by == "miniblock"
    }
}

/// The crate that is to blame for a panic at `place`: where it happened, or who called that if it is a library of all.
fn caller(place: &str) -> String {
    const OF_ALL: [&str; 12] =
        ["std", "core", "alloc", "rust", "__rust", "bytes", "arrow", "futures", "tokio", "hashbrown", "half", "usize"];
    const OURS: &str = "miniblock";
    if !place.starts_with('/') {
        return OURS.to_string();
    }
    let trace = Backtrace::force_capture().to_string();
    let mut lines = trace.lines().map(str::trim).skip_while(|line| !line.contains("panicking")).peekable();
    while let Some(line) = lines.next() {
        let Some((_, function)) = line.split_once(": ") else { continue };
        // The crates of the workspace have lines in their debug information and their paths are relative; others have names.
        match lines.next_if(|next| next.starts_with("at ")) {
            Some(at) if at.starts_with("at ./") => return OURS.to_string(),
            Some(_) => {}
            None => {
                let function = function.trim_start_matches(['<', '&', '[', '(', '*']);
                let name = function.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                if !OF_ALL.iter().any(|of_all| name.starts_with(of_all)) && !function.contains("panic") {
                    return name.to_string();
                }
            }
        }
    }
    "nobody".to_string()
}

fn watched<T>(what: Watched, work: impl FnOnce() -> T) -> std::thread::Result<T> {
    WATCHED.set(what);
    let result = catch_unwind(AssertUnwindSafe(work));
    WATCHED.set(Watched::Nothing);
    result
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happened to all mutants.
#[derive(Default)]
struct Tally {
    mutants: usize,
    same_rows: usize,
    other_rows: usize,
    errors: usize,
    /// Mutants of which the parquet crate has the same rows, and those that it refuses.
    confirmed: usize,
    refused_by_oracle: usize,
    most_memory: usize,
    longest: Duration,
    /// Panics by crate and place: how many, and one of them.
    panics: BTreeMap<String, (usize, String)>,
    differences: Vec<String>,
    /// Mutants for which the parquet crate took much memory.
    foreign_memory: Vec<String>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.mutants += other.mutants;
        self.same_rows += other.same_rows;
        self.other_rows += other.other_rows;
        self.errors += other.errors;
        self.confirmed += other.confirmed;
        self.refused_by_oracle += other.refused_by_oracle;
        self.most_memory = self.most_memory.max(other.most_memory);
        self.longest = self.longest.max(other.longest);
        for (place, (count, one)) in other.panics {
            self.panics.entry(place).or_insert((0, one)).0 += count;
        }
        self.differences.extend(other.differences);
        self.foreign_memory.extend(other.foreign_memory);
        self.failures.extend(other.failures);
    }
}

/// Runs mutants on one thread.
struct Worker<'a> {
    runtime: Runtime,
    /// Where its mutants are: workers share the stores.
    path: Path,
    tally: Tally,
    /// The mutant that runs, and since when.
    running: &'a Mutex<Option<(String, Instant)>>,
    verbose: bool,
}

impl Worker<'_> {
    fn check(&mut self, bench: &Bench, seed: u64) {
        let mut rng = Rng::new(seed);
        let Mutant { bytes, what, root } = bench.subject.mutate(&mut rng);
        let query = bench.query(&mut rng, root);
        let plan = rng.one_in(if root.is_none() { 3 } else { 20 });
        let name = format!(
            "{what}\n  {}\n  MINIBLOCK_MUTANT='{}/{seed}' cargo test --test main mutation -- --nocapture",
            query.sql, bench.subject.name
        );
        if self.verbose {
            eprintln!("{} {name}", bench.subject.name);
        }
        let start = Instant::now();
        *locked(self.running) = Some((format!("{}: {name}", bench.subject.name), start));
        let (runtime, path) = (&self.runtime, &self.path);
        let (result, memory) =
            peak_bytes(|| watched(Watched::Miniblock, || runtime.block_on(bench.run(query, path, &bytes, plan))));
        let elapsed = start.elapsed();
        let mut fail = |wrong: String| self.tally.failures.push(format!("{}: {wrong}: {name}", bench.subject.name));
        for panic in PANICS.take() {
            if panic.is_ours() {
                fail(format!("panic at {}: {}", panic.place, panic.message));
            }
            let seen = self.tally.panics.entry(format!("{} at {}", panic.by, panic.place));
            seen.or_insert_with(|| (0, format!("{}: {}: {name}", panic.message, bench.subject.name))).0 += 1;
        }
        if memory > MEMORY + 64 * bytes.len() {
            if query.foreign {
                self.tally.foreign_memory.push(format!("{}: {memory} bytes of memory: {name}", bench.subject.name));
            } else {
                fail(format!("{memory} bytes of memory"));
            }
        } else {
            self.tally.most_memory = self.tally.most_memory.max(memory);
        }
        if elapsed > SLOW {
            fail(format!("{elapsed:?}"));
        }
        self.tally.mutants += 1;
        self.tally.longest = self.tally.longest.max(elapsed);
        match result {
            Err(_) => fail("a panic that was not caught".to_string()),
            Ok(Err(error)) => {
                self.tally.errors += 1;
                let error = error.strip_backtrace();
                if !error.contains(FILE) {
                    fail(format!("an error that does not name the file: {error}"));
                }
                if self.verbose {
                    eprintln!("{error}");
                }
            }
            Ok(Ok(answer)) => self.compare(bench, query, &bytes, &answer, &name),
        }
        *locked(self.running) = None;
    }

    /// Holds rows against those of the parquet crate.
    fn compare(&mut self, bench: &Bench, query: &Query, bytes: &Bytes, found: &Answer, name: &str) {
        if self.verbose {
            eprintln!("{} rows", found.num_rows());
        }
        let Some(roots) = &query.unfiltered else { return };
        if found.num_rows() >= ENOUGH_ROWS {
            return;
        }
        let answer =
            |batch: RecordBatch| Answer { schema: batch.schema(), batches: vec![batch], plan: Arc::clone(&found.plan) };
        let same = |batch: RecordBatch| compare(&answer(batch), found, How::SameOrder);
        let schema = Some(bench.schema.clone());
        match watched(Watched::ParquetCrate, || by_parquet(bytes, schema, Some(roots))) {
            Ok(Ok(batch)) => match same(batch) {
                Ok(()) => self.tally.confirmed += 1,
                Err(difference) => self.tally.differences.push(format!("{}: {name}\n{difference}", bench.subject.name)),
            },
            _ => self.tally.refused_by_oracle += 1,
        }
        match &query.expected {
            Some(batch) if same(batch.clone()).is_ok() => self.tally.same_rows += 1,
            _ => self.tally.other_rows += 1,
        }
    }
}

/// Stops the process where a mutant cannot be stopped, and says which.
fn guard(running: &[Mutex<Option<(String, Instant)>>], done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        let memory = large_bytes();
        for slot in running {
            if let Some((name, start)) = locked(slot).as_ref()
                && (start.elapsed() > STUCK || memory > TOO_LARGE)
            {
                announce(&format!("{:?} and {memory} bytes: {name}", start.elapsed()));
                if start.elapsed() > STUCK {
                    std::process::abort();
                }
            }
        }
        if memory > TOO_LARGE {
            std::process::abort();
        }
    }
}

/// How many mutants each file has.
fn deal(benches: &[Bench], mutants: usize) -> Vec<(usize, u64)> {
    let total: f64 = benches.iter().map(|bench| bench.weight).sum();
    let mut cases = Vec::new();
    for (index, bench) in benches.iter().enumerate() {
        let count = (bench.weight / total * mutants as f64).ceil() as u64;
        cases.extend((0..count).map(|seed| (index, seed)));
    }
    cases
}

#[test]
fn mutants_of_all_files_are_read_or_refused() {
    watch_panics();
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let benches = runtime.block_on(benches());
    let alone = std::env::var("MINIBLOCK_MUTANT").ok().map(|mutant| {
        let (name, seed) = mutant.split_once('/').expect("FILE/SEED");
        let bench = benches.iter().position(|bench| bench.subject.name == name).expect("a file of tests/data");
        (bench, seed.parse().expect("a seed"))
    });
    let mutants = std::env::var("MINIBLOCK_MUTANTS").map_or(MUTANTS, |text| text.parse().expect("a number"));
    let cases = alone.map_or_else(|| deal(&benches, mutants), |case| vec![case]);
    let prepared = start.elapsed();

    let next = AtomicUsize::new(0);
    let running = [const { Mutex::new(None) }; WORKERS];
    let done = AtomicBool::new(false);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = running
            .iter()
            .enumerate()
            .map(|(index, running)| {
                let (cases, benches, next) = (&cases, &benches, &next);
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                    let path = Path::from(format!("{index}/{FILE}"));
                    let mut worker =
                        Worker { runtime, path, tally: Tally::default(), running, verbose: alone.is_some() };
                    while let Some(&(bench, seed)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        worker.check(&benches[bench], seed);
                    }
                    worker.tally
                })
            })
            .collect();
        scope.spawn(|| guard(&running, &done));
        let tallies: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::Relaxed);
        tallies.into_iter().for_each(|other| tally.add(other.unwrap()));
    });

    announce(&format!(
        "{} mutants of {} files in {:?} (and {prepared:?} before): {} errors, {} with the rows of the file, {} with others; \
         by the parquet crate {} the same, {} refused, {} not the same; at most {} KiB and {:?}",
        tally.mutants,
        benches.len(),
        start.elapsed() - prepared,
        tally.errors,
        tally.same_rows,
        tally.other_rows,
        tally.confirmed,
        tally.refused_by_oracle,
        tally.differences.len(),
        tally.most_memory >> 10,
        tally.longest
    ));
    for (place, (count, one)) in &tally.panics {
        eprintln!("{count} panics of {place}, {one}");
    }
    eprintln!("{} mutants took much memory in the parquet crate", tally.foreign_memory.len());
    for memory in tally.foreign_memory.iter().take(5) {
        eprintln!("{memory}");
    }
    for difference in tally.differences.iter().take(10) {
        eprintln!("not what the parquet crate reads: {difference}");
    }
    let failures = tally.failures;
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
    assert!(alone.is_some() || tally.mutants >= mutants);
}
