//! Random tables and queries: Miniblock has to answer as DataFusion's own reader does.
//!
//! `MINIBLOCK_CASES` is the number of tables of each kind (eight queries each), `MINIBLOCK_SEED` runs one case alone: a failure
//! says which.

mod predicate;
pub(crate) mod rng;
mod strings;
mod table;
mod values;

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::prelude::SessionContext;

use self::predicate::{filter, literal};
use self::rng::Rng;
use self::table::Table;
use crate::oracle::{
    self, How, Settings, announce, compare, miniblock_session, nodes, oracle_session, register_miniblock,
    register_oracle, run, same_table,
};

const QUERIES: usize = 8;

/// Tables of a kind, and filters over them.
struct Kind {
    cases: u64,
    /// The cases are dealt to as many tests, which run beside each other.
    parts: u64,
    table: fn(&mut Rng) -> Table,
    filter: fn(&mut Rng, &Table) -> String,
}

/// All types.
const ANY: Kind = Kind { cases: 2500, parts: 2, table: Table::random, filter };

/// Strings, which are looked at more closely.
const STRINGS: Kind = Kind { cases: 100, parts: 1, table: Table::of_strings, filter: strings::filter };

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Queries that were compared, and those that the oracle itself refused.
#[derive(Default)]
struct Tally {
    compared: usize,
    rows: usize,
    refused: usize,
}

/// Failures that a run spells out.
const SHOWN: usize = 5;

async fn part(kind: &Kind, part: u64) {
    let only = variable("MINIBLOCK_SEED");
    let seeds: Vec<u64> = match only {
        Some(seed) => (seed..=seed).filter(|_| part == 0).collect(),
        None => (part..variable("MINIBLOCK_CASES").unwrap_or(kind.cases)).step_by(kind.parts as usize).collect(),
    };
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for seed in seeds {
        if let Err(failure) = case(kind, seed, &mut tally).await {
            failures.push(format!("case {seed} (MINIBLOCK_SEED={seed} runs it alone): {failure}"));
        }
    }
    let Tally { compared, rows, refused } = tally;
    announce(&format!("{compared} random queries of {rows} rows compared, {refused} refused by the oracle"));
    let shown = failures[..failures.len().min(SHOWN)].join("\n\n");
    assert!(failures.is_empty(), "{} cases failed\n{shown}", failures.len());
    assert!(only.is_some() || refused * 5 <= compared, "{refused} queries refused by the oracle, {compared} compared");
}

#[tokio::test]
async fn random_tables_even_seeds() {
    part(&ANY, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_tables_odd_seeds() {
    part(&ANY, 1).await;
}

#[tokio::test]
async fn random_strings() {
    part(&STRINGS, 0).await;
}

struct Query {
    sql: String,
    /// What the oracle is asked, if it is not the same.
    oracle_sql: Option<String>,
    how: How,
    /// Whether the scan has to take the whole filter.
    without_filter_exec: bool,
}

async fn case(kind: &Kind, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let table = (kind.table)(&mut rng);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    for (index, file) in table.files.iter().enumerate() {
        store.put(&Path::from(format!("t/{index}.parquet")), file.clone().into()).await.unwrap();
    }
    let view_types = !rng.one_in(4);
    let mut registered = oracle::Table::new("t", "memory:///t/");
    registered.schema.clone_from(&table.schema);
    let open = |ctx: SessionContext| {
        let url = ObjectStoreUrl::parse("memory://").unwrap();
        ctx.register_object_store(url.as_ref(), Arc::clone(&store));
        ctx
    };
    let expecting = open(oracle_session(Settings { view_types, ..Settings::default() }));
    let failure = |what: &str, sql: &str, settings: Settings, message: &str| {
        Err(format!("{what}\n{sql}\n{settings:?}\n{message}\ntable:{}", table.written))
    };
    let refusal = register_oracle(&expecting, &registered).await.err();
    for _ in 0..QUERIES {
        let settings = Settings {
            batch_size: rng.pick(&[8192, 8192, 1024, 100, 7, 1]),
            partitions: rng.pick(&[1, 2, 7]),
            view_types,
        };
        let query = random_query(&mut rng, &table, kind.filter);
        if refusal.is_some() {
            tally.refused += 1;
            continue;
        }
        let Ok(expected) = run(&expecting, query.oracle_sql.as_ref().unwrap_or(&query.sql)).await else {
            tally.refused += 1;
            continue;
        };
        let ctx = open(miniblock_session(settings));
        if let Err(error) = register_miniblock(&ctx, &registered).await {
            return failure("registration failed", "", settings, &error.to_string());
        }
        if let Err(difference) = same_table(&expecting, &ctx, "t").await {
            return failure("schemas differ", "", settings, &difference);
        }
        let found = match run(&ctx, &query.sql).await {
            Ok(found) => found,
            Err(error) => return failure("query failed", &query.sql, settings, &error.to_string()),
        };
        if let Err(difference) = compare(&expected, &found, query.how) {
            return failure("answers differ", &query.sql, settings, &difference);
        }
        if query.without_filter_exec && !nodes(&found.plan, "FilterExec").is_empty() {
            return failure("a FilterExec is left", &query.sql, settings, "");
        }
        tally.compared += 1;
        tally.rows += found.num_rows();
    }
    Ok(())
}

fn random_query(rng: &mut Rng, table: &Table, filter: fn(&mut Rng, &Table) -> String) -> Query {
    let mut names: Vec<String> = table.columns.iter().map(table::Column::sql).collect();
    let all = names.clone();
    while names.len() > 1 && rng.one_in(2) {
        names.remove(rng.below(names.len()));
    }
    if rng.one_in(4) {
        names.reverse();
    }
    let columns = names.join(", ");
    let filtered = !rng.one_in(6);
    let filter = if filtered { format!(" WHERE {}", filter(rng, table)) } else { String::new() };
    let key = rng.pick(&table.columns);
    let plain = |sql: String| Query { sql, oracle_sql: None, how: How::AnyOrder, without_filter_exec: false };
    match rng.below(10) {
        0 => plain(format!("SELECT count(*) FROM t{filter}")),
        1 => {
            let expressions: Vec<String> =
                names.iter().map(|name| format!("{name}, {name} IS NULL, coalesce({name}, {name})")).collect();
            plain(format!("SELECT {}, 1 FROM t{filter}", expressions.join(", ")))
        }
        2 => {
            let limit = rng.pick(&[0, 1, 10, 100, 1500]);
            Query {
                sql: format!("SELECT {columns} FROM t{filter} LIMIT {limit}"),
                oracle_sql: Some(format!("SELECT {columns} FROM t{filter}")),
                how: How::AnyRows(limit),
                without_filter_exec: false,
            }
        }
        3 => {
            let name = rng.pick(&all);
            plain(format!(
                "SELECT {name}, count(*), count({columns0}) FROM t{filter} GROUP BY {name}",
                columns0 = names[0]
            ))
        }
        4 => plain(format!("SELECT min({0}), max({0}), count({0}), count(*) FROM t{filter}", key.sql())),
        5 => {
            // Ties leave the other columns open.
            let order = rng.pick(&["", " DESC", " ASC NULLS FIRST", " DESC NULLS LAST"]);
            let limit = rng.pick(&[1, 10, 200]);
            let mut query = plain(format!("SELECT {0} FROM t{filter} ORDER BY {0}{order} LIMIT {limit}", key.sql()));
            query.how = How::SameOrder;
            query
        }
        // DataFusion does not join on dictionaries of integers ("Unsupported type for ArrayMap").
        6 if !matches!(key.data_type, DataType::Dictionary(..)) => {
            let some = literal(rng, &key).map_or(String::new(), |low| format!(" WHERE {0} >= {low}", key.sql()));
            plain(format!(
                "SELECT {columns} FROM t JOIN (SELECT DISTINCT {0} AS build FROM t{some}) ON {0} = build{filter}",
                key.sql()
            ))
        }
        _ => {
            let mut query = plain(format!("SELECT {columns} FROM t{filter}"));
            query.without_filter_exec = !query.sql.contains("random()");
            query
        }
    }
}
