//! Scans of strings: all rows, few rows, and counts under filters, beside others who read the same file.
//!
//! ```sh
//! cargo bench --bench strings                       # 140 cases
//! cargo bench --bench strings -- --quick urls/delta/dense
//! ```
//!
//! # Cases
//!
//! `strings/KIND/ENCODING/WHAT`. Of each kind of text (`benches/strings/texts.rs`) there is a file of DELTA_LENGTH_BYTE_ARRAY
//! (`length`) and one of DELTA_BYTE_ARRAY (`delta`), as the parquet crate's writer makes them: V2 data pages, uncompressed, with
//! statistics and page index. A file has 500,000 rows, or of mixed lengths as many as are 20 MB.
//!
//! * `dense` delivers all strings as views, `s1` and `s0.01` those of 1 and 0.01 % of the rows, which stand in no order.
//! * `filter-..` delivers counts of the rows alone that pass a filter on the strings. Its values are taken from the middle of the
//!   strings or from given parts of their order. `like` and `starts-with` ask for a beginning that a tenth of them have at the
//!   most, `chars` and `bytes` for character_length and octet_length, `null` asks a column with 10 % NULLs, and `contains` is
//!   LIKE '%x%'.
//!
//! # Who is compared
//!
//! As in `benches/scan.rs`, which says how: `ours`; of the parquet crate its reader of views, and for few rows `rowfilter` and
//! `filter`; DataFusion's reader without and with `pushdown_filters`. All make sure that strings are UTF-8. `dense` has more:
//! `memcpy`, a copy of what is delivered, views and the strings longer than 12 bytes, of a batch at a time into a buffer that is
//! used again; and ours and the parquet crate's reader over maps of the file in memory, where to read it is not half of the time.
//!
//! All run by turns, in an order that changes from round to round. Lines of each case, medians over the rounds in milliseconds:
//!
//! ```text
//! parquet CASE OURS PEER RATIO [LOW..HIGH]      the better way of the parquet crate over ours
//! decode CASE OURS PEER RATIO [LOW..HIGH]       the same over maps
//! datafusion CASE OURS PEER RATIO [LOW..HIGH]   the better setting of DataFusion over ours
//! memcpy CASE OURS MEMCPY RATIO [LOW..HIGH]     ours over the copy
//! ```
//!
//! Bounds hold a ratio with a confidence of 95 % (a bootstrap over the rounds). Geometric means are of an encoding's `dense`,
//! `s1`, `s0.01` and `filter` cases.

#[path = "support/bounds.rs"]
mod bounds;
#[path = "support/contenders.rs"]
mod contenders;
#[path = "support/random.rs"]
mod random;
#[allow(dead_code, reason = "its tests have no harness here")]
#[path = "../tpch/src/ratio.rs"]
mod ratio;
#[path = "support/rounds.rs"]
mod rounds;
#[path = "strings/texts.rs"]
mod texts;
#[allow(unused_imports, reason = "its tests have no harness here")]
#[path = "../tpch/src/turns.rs"]
mod turns;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int32Array, Scalar};
use arrow::compute::kernels::cmp::lt;
use clap::Parser;
use datafusion::prelude::{Expr, character_length, col, lit, octet_length, starts_with};
use parquet::basic::Encoding;

use bounds::{percentile, with_bounds};
use contenders::{BATCH_SIZE, Contender, Filter, Kernel, Mask, Query};
use ratio::Bootstrap;
use rounds::{Folder, Rounds, Times};
use texts::Kind;

type Error = Box<dyn std::error::Error>;

/// Scans of strings: all rows, few rows, and counts under filters, beside the parquet crate's reader and DataFusion's
#[derive(Parser)]
#[command(name = "strings")]
struct Options {
    #[command(flatten)]
    rounds: Rounds,
    /// Rows of each file
    #[arg(long, default_value = "500000", value_name = "N")]
    rows: usize,
}

const KINDS: [Kind; 5] = [Kind::Shipmode, Kind::Comment, Kind::Urls, Kind::Uuid, Kind::Mixed];

const ENCODINGS: [(&str, Encoding); 2] =
    [("length", Encoding::DELTA_LENGTH_BYTE_ARRAY), ("delta", Encoding::DELTA_BYTE_ARRAY)];

/// Of how many rows one is delivered.
const SELECTIONS: [(&str, usize); 3] = [("dense", 1), ("s1", 100), ("s0.01", 10_000)];

const FILTERS: &str = "eq ne lt between in like starts-with chars bytes null contains";

/// The lines of a case: whom each compares with.
const LINES: [(&str, &str, &[&str]); 4] = [
    ("parquet", "ours", &["reader", "rowfilter", "filter"]),
    ("decode", "ours-mapped", &["reader-mapped"]),
    ("datafusion", "ours", &["datafusion", "datafusion-pushdown"]),
    ("memcpy", "ours", &["memcpy"]),
];

struct Case {
    kind: Kind,
    encoding: Encoding,
    what: What,
    name: String,
    /// Cases that have a mean.
    group: String,
}

#[derive(Clone, Copy)]
enum What {
    /// The strings of one of so many rows.
    Select(usize),
    /// The count of the rows that pass a filter.
    Filter(&'static str),
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        for (encoding_name, encoding) in ENCODINGS {
            let mut add = |what, name: String, group: &str| {
                let (name, group) =
                    (format!("strings/{kind}/{encoding_name}/{name}"), format!("{encoding_name}/{group}"));
                cases.push(Case { kind, encoding, what, name, group });
            };
            SELECTIONS.iter().for_each(|(name, one_of)| add(What::Select(*one_of), name.to_string(), name));
            FILTERS.split(' ').for_each(|name| add(What::Filter(name), format!("filter-{name}"), "filter"));
        }
    }
    cases
}

fn main() -> Result<(), Error> {
    let options = Options::parse();
    let mut cases = cases();
    cases.retain(|case| options.rounds.asks_for(&case.name));
    if options.rounds.list {
        cases.iter().for_each(|case| println!("{}", case.name));
        return Ok(());
    }
    let folder = Folder::new("strings")?;
    let path = folder.0.join("strings.parquet");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("milliseconds: median (10th to 90th percentile) over rounds in which all take turns");
    let mut outcomes = Vec::new();
    for cases in cases.chunk_by(|a, b| (a.kind, a.encoding) == (b.kind, b.encoding)) {
        let texts = Texts::new(cases[0].kind.texts(options.rows));
        texts::write(&path, &texts.texts, cases[0].encoding)?;
        for case in cases {
            let mut contenders = runtime.block_on(Contender::all(&texts.query(&path, case.what), false))?;
            if let What::Select(1) = case.what {
                contenders.extend(runtime.block_on(Contender::mapped(&texts.query(&path, case.what)))?);
                contenders.push(texts.memcpy());
            }
            outcomes.push((case, runtime.block_on(options.rounds.measure(&case.name, contenders))?));
        }
    }
    report(&outcomes);
    Ok(())
}

/// The strings of a file.
struct Texts {
    texts: Vec<String>,
    sorted: Vec<String>,
}

impl Texts {
    fn new(texts: Vec<String>) -> Self {
        let mut sorted = texts.clone();
        sorted.sort_unstable();
        Self { texts, sorted }
    }

    /// So many percent of the strings are less.
    fn at(&self, percent: usize) -> &str {
        &self.sorted[(self.sorted.len() - 1) * percent / 100]
    }

    fn query<'a>(&self, path: &'a Path, what: What) -> Query<'a> {
        match what {
            What::Select(1) => Query { path, columns: &["s"], filter: None },
            What::Select(one_of) => {
                let rows = self.texts.len().div_ceil(one_of) as i32;
                let limit = Scalar::new(Int32Array::from(vec![rows]));
                let mask: Mask = Arc::new(move |batch| lt(batch.column(0), &limit));
                let filter = Filter { expr: col("i").lt(lit(rows)), kernel: Some(Kernel { column: "i", mask }) };
                Query { path, columns: &["s"], filter: Some(filter) }
            }
            What::Filter(name) => {
                Query { path, columns: &[], filter: Some(Filter { expr: self.filter(name), kernel: None }) }
            }
        }
    }

    fn filter(&self, name: &str) -> Expr {
        let (s, middle) = (col("s"), self.at(50));
        match name {
            "eq" => s.eq(lit(middle)),
            "ne" => s.not_eq(lit(middle)),
            "lt" => s.lt(lit(self.at(20))),
            "between" => s.between(lit(self.at(40)), lit(self.at(50))),
            "in" => s.in_list([20, 40, 60, 80].map(|percent| lit(self.at(percent))).to_vec(), false),
            "like" => s.like(lit(format!("{}%", self.beginning()))),
            "starts-with" => starts_with(s, lit(self.beginning())),
            "chars" => character_length(s).lt_eq(lit(self.length() as i32)),
            "bytes" => octet_length(s).gt(lit(self.length() as i32)),
            "null" => col("n").is_null(),
            _ => {
                let start = (middle.len() / 2).saturating_sub(1);
                s.like(lit(format!("%{}%", middle.get(start..start + 3).unwrap_or(middle))))
            }
        }
    }

    /// Of the string in the middle, so much that a tenth of the strings begin with it at the most, if it is that rare.
    fn beginning(&self) -> &str {
        let middle = self.at(50);
        let is_rare = |len: &usize| {
            let beginning = &middle[..*len];
            10 * self.texts.iter().filter(|text| text.starts_with(beginning)).count() <= self.texts.len()
        };
        &middle[..(1..middle.len()).find(is_rare).unwrap_or(middle.len())]
    }

    /// The length in the middle.
    fn length(&self) -> usize {
        let mut lengths: Vec<usize> = self.texts.iter().map(String::len).collect();
        let middle = lengths.len() / 2;
        *lengths.select_nth_unstable(middle).1
    }

    fn memcpy(&self) -> Contender {
        let bytes: usize = self.texts.iter().map(|text| 16 + if text.len() > 12 { text.len() } else { 0 }).sum();
        // Not zeros, which the system may keep in one page of memory.
        Contender::memcpy(vec![1; bytes], bytes.div_ceil(self.texts.len().div_ceil(BATCH_SIZE)))
    }
}

fn report(outcomes: &[(&Case, Vec<Times>)]) {
    println!();
    for (line, ours, peers) in LINES {
        let mut groups: BTreeMap<&str, Vec<Bootstrap>> = BTreeMap::new();
        for (case, times) in outcomes {
            let Some((_, ours)) = times.iter().find(|(name, _)| *name == ours) else { continue };
            let theirs: Vec<&[f64]> =
                times.iter().filter(|(name, _)| peers.contains(name)).map(|(_, times)| times.as_slice()).collect();
            let ratio = match theirs.as_slice() {
                [copy] if line == "memcpy" => Bootstrap::of_medians(copy, &[ours]),
                theirs => Bootstrap::of_medians(ours, theirs),
            };
            let Some(bootstrap) = ratio else { continue };
            let best = theirs.iter().map(|times| percentile(times, 50)).fold(f64::INFINITY, f64::min);
            println!("{line} {} {:.3} {best:.3} {}", case.name, percentile(ours, 50), with_bounds(&bootstrap));
            groups.entry(&case.group).or_default().push(bootstrap);
        }
        for (group, ratios) in groups {
            if let Some(mean) = Bootstrap::geometric_mean(&ratios) {
                println!("{line} geometric-mean {group} {}", with_bounds(&mean));
            }
        }
    }
}
