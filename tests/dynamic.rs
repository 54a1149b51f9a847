//! Dynamic filters: what operators find out while the query runs reaches the scan, and changes no answer.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};

use crate::files::{self, metric, output_rows, properties, scan};
use crate::oracle::{Settings, Table, assert_same};

const ROWS: usize = 200_000;

/// Rows in no order: `k` has 20,000 values, some of them NULL, `l` as many in 64 bits, `d` days, `s` text, `w` values that lie
/// far apart. One row group.
fn probe(name: &str) -> Table {
    let mixed = |row: usize| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let key = |row: usize| (mixed(row) % 20_000) as i32;
    let columns: [(&str, ArrayRef, bool); 6] = [
        ("id", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row as i64))), false),
        ("k", Arc::new(Int32Array::from_iter((0..ROWS).map(|row| (row % 11 != 3).then(|| key(row))))), true),
        ("l", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| i64::from(key(row)) - 10_000))), false),
        ("d", Arc::new(Date32Array::from_iter_values((0..ROWS).map(|row| key(row) / 8))), false),
        ("s", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("text of {}", key(row))))), false),
        ("w", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| i64::from(key(row)) << 40))), false),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = properties().into_builder().set_max_row_group_row_count(None).build();
    files::write("dynamic", name, &batch, properties)
}

/// One in `step` of the keys, over and over.
fn build(name: &str, step: usize) -> Table {
    let keys: Vec<i32> = (0..20_000).step_by(step).collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("k", Arc::new(Int32Array::from(keys.clone()))),
        ("l", Arc::new(Int64Array::from_iter_values(keys.iter().map(|key| i64::from(*key) - 10_000)))),
        ("d", Arc::new(Date32Array::from_iter_values(keys.iter().map(|key| key / 8)))),
        ("s", Arc::new(StringArray::from_iter_values(keys.iter().map(|key| format!("text of {key}"))))),
        ("w", Arc::new(Int64Array::from_iter_values(keys.iter().map(|key| i64::from(*key) << 40)))),
    ];
    Table {
        name: "t2".into(),
        ..files::write("dynamic", name, &RecordBatch::try_from_iter(columns).unwrap(), properties())
    }
}

/// Joins with more keys than become an IN list: the scan drops what has no partner, by looking up at first, and by a set of
/// values where there are few.
#[tokio::test]
async fn a_join_filters_the_side_that_is_probed() {
    let (probe, build) = (probe("probe.parquet"), build("build.parquet", 40));
    let tables = [probe, build];
    for partitions in [1, 3] {
        for batch_size in [8192, 1000] {
            let settings = Settings { partitions, batch_size, ..Settings::default() };
            for on in ["p.k = b.k", "p.l = b.l", "p.s = b.s", "p.w = b.w", "p.k = b.k AND p.s = b.s"] {
                let sql = format!("SELECT p.id, p.s, p.d, b.k FROM t p JOIN t2 b ON {on} WHERE p.id % 10 <> 7");
                let found = assert_same(settings, &tables, &sql).await;
                let scan = scan(&found.plan, "probe.parquet");
                let rows = output_rows(scan);
                assert!(
                    rows < ROWS / 5,
                    "{rows} rows were handed on for {on}, {partitions} partitions, by {batch_size}"
                );
                if partitions == 1 {
                    // Text, pairs and wide ranges have no set.
                    let expected = usize::from(["p.k = b.k", "p.l = b.l"].contains(&on));
                    assert_eq!(metric(scan, "conditions_tabulated"), expected, "{on} by {batch_size}");
                }
            }
        }
    }
}

/// Joins of all kinds over keys of all kinds.
#[tokio::test]
async fn joins_of_every_kind() {
    let tables = [probe("kinds.parquet"), build("kinds_build.parquet", 25)];
    for partitions in [1, 3] {
        let settings = Settings { partitions, ..Settings::default() };
        for sql in [
            "SELECT p.id FROM t p WHERE p.k IN (SELECT k FROM t2)",
            "SELECT p.id FROM t p WHERE p.k NOT IN (SELECT k FROM t2)",
            "SELECT p.id FROM t p WHERE EXISTS (SELECT 1 FROM t2 b WHERE b.d = p.d AND b.l <> p.l)",
            "SELECT p.id, b.k FROM t p LEFT JOIN t2 b ON p.l = b.l WHERE p.id < 5000",
            "SELECT p.id, b.k FROM t2 b LEFT JOIN t p ON p.l = b.l",
            "SELECT p.id, b.k FROM t p RIGHT JOIN t2 b ON p.w = b.w AND p.id < 100000",
            "SELECT count(*), sum(p.l) FROM t p JOIN t2 b ON p.k IS NOT DISTINCT FROM b.k",
            "SELECT count(*), min(p.s) FROM t p JOIN t2 b ON p.k = b.l",
            "SELECT count(*) FROM t p JOIN t2 b ON p.k % 1000 = b.k",
            "SELECT p.id, q.id FROM t p JOIN t2 b ON p.k = b.k JOIN t q ON p.id = q.id WHERE p.d < 300",
            "SELECT p.id FROM t p JOIN t2 b ON p.d = b.d WHERE p.k IS NULL ORDER BY p.id DESC LIMIT 7",
        ] {
            assert_same(settings, &tables, sql).await;
        }
    }
}

/// The threshold of a TopK moves while a row group is read.
#[tokio::test]
async fn a_threshold_narrows_within_a_row_group() {
    let table = probe("threshold.parquet");
    let settings = Settings { partitions: 1, ..Settings::default() };
    for (sql, most) in [
        ("SELECT id, s FROM t ORDER BY id LIMIT 10", ROWS / 10),
        ("SELECT id, s FROM t ORDER BY k DESC NULLS LAST, id LIMIT 10", ROWS / 5),
        ("SELECT id, s FROM t ORDER BY s, id LIMIT 10", ROWS / 5),
        ("SELECT id, s FROM t WHERE l % 2 = 0 ORDER BY d, l, id LIMIT 10", ROWS / 5),
    ] {
        let found = assert_same(settings, std::slice::from_ref(&table), sql).await;
        let rows = output_rows(scan(&found.plan, "threshold.parquet"));
        assert!(rows <= most, "{rows} rows were handed on: {sql}");
    }
}

/// A lookup that lets nearly everything pass is soon left out, one that is exact is still no error.
#[tokio::test]
async fn a_join_that_keeps_all() {
    let tables = [probe("all.parquet"), build("all_build.parquet", 1)];
    for on in ["p.k = b.k", "p.l = b.l", "p.s = b.s"] {
        let sql = format!("SELECT count(*), max(p.id), min(p.s) FROM t p JOIN t2 b ON {on}");
        assert_same(Settings { partitions: 1, ..Settings::default() }, &tables, &sql).await;
    }
}

fn one_column(name: &str, values: ArrayRef) -> Table {
    let properties = files::plain().into_builder().set_max_row_group_row_count(None).build();
    files::write("dynamic", name, &RecordBatch::try_from_iter([("c", values)]).unwrap(), properties)
}

/// Keys that are made floats are compared as such, and a join takes 0 and -0 for the same.
#[tokio::test]
async fn joins_of_integers_with_minus_zero() {
    let probe = one_column("integers.parquet", Arc::new(Int32Array::from_iter_values(-9..9)));
    let minus = one_column("minus_zero.parquet", Arc::new(Float64Array::from(vec![-0.0])));
    let build = Table { name: "t2".into(), ..minus };
    for on in ["t.c = t2.c", "t.c * 1.0 = t2.c"] {
        let sql = format!("SELECT t.c FROM t JOIN t2 ON {on}");
        assert_same(Settings::default(), &[probe.clone(), build.clone()], &sql).await;
    }
}

/// Which MIN and sorts tell apart.
#[tokio::test]
async fn the_least_of_zeros() {
    let values = (0..8000).map(|row| [0.0, -0.0, 7.0][row / 1000 % 3]);
    let table = one_column("zeros.parquet", Arc::new(Float64Array::from_iter_values(values)));
    let settings = Settings { batch_size: 100, ..Settings::default() };
    assert_same(settings, &[table], "SELECT min(c) FROM t").await;
}
