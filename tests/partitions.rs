//! Hive partitions: typed, encoded in paths, in projections and in filters.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::DataType;

use crate::files::{folder, output_rows, properties, scan, write_to};
use crate::oracle::{Settings, Table, answer, assert_same};

/// Ten rows a folder; `id` tells the folder.
fn table(name: &str, folders: &[&str], columns: &[(&str, DataType)]) -> Table {
    let path = folder("partitions", name);
    for (index, folder) in folders.iter().enumerate() {
        let first = i64::try_from(index).unwrap() * 10;
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 10));
        let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        write_to(format!("{path}{folder}/part.parquet"), &batch, properties());
    }
    let mut table = Table::new("t", path);
    table.partition_cols = columns.iter().map(|(name, data_type)| ((*name).into(), data_type.clone())).collect();
    table
}

async fn check(table: &Table, queries: &[&str]) {
    for sql in queries {
        for partitions in [1, 4] {
            for batch_size in [8192, 3] {
                let settings = Settings { partitions, batch_size, ..Settings::default() };
                assert_same(settings, std::slice::from_ref(table), sql).await;
            }
        }
    }
}

#[tokio::test]
async fn typed_values() {
    let folders = [
        "i=1/d=2024-02-29/b=true",
        "i=-7/d=1969-12-31/b=false",
        "i=1/d=2024-03-01/b=false",
        "i=30000/d=2024-02-29/b=true",
    ];
    let columns = [("i", DataType::Int16), ("d", DataType::Date32), ("b", DataType::Boolean)];
    let table = table("typed", &folders, &columns);
    check(
        &table,
        &[
            "SELECT * FROM t",
            "SELECT d, i FROM t WHERE i = 1",
            "SELECT i FROM t",
            "SELECT i, count(*) FROM t GROUP BY i",
            "SELECT id FROM t WHERE d > DATE '2000-01-01' AND id % 3 = 0",
            "SELECT id, b FROM t WHERE b AND id > 5",
            "SELECT b FROM t WHERE id = i OR id = 35",
            "SELECT id + i AS sum, d FROM t WHERE id + i BETWEEN 0 AND 25",
            "SELECT * FROM t WHERE i < 0 OR id = 12",
            "SELECT * FROM t WHERE (i = 1 AND id < 3) OR (b AND id > 37)",
            "SELECT * FROM t WHERE NOT b AND i IS NOT NULL",
            "SELECT * FROM t WHERE i > 40000",
            "SELECT max(d), min(i), count(b) FROM t WHERE id >= 0",
            "SELECT d FROM t WHERE extract(year from d) = 2024 AND id % 10 = 1",
            "SELECT i, id FROM t ORDER BY i DESC, id LIMIT 5",
            "SELECT a.id FROM t a JOIN t b ON a.i = b.id",
            "SELECT 1 FROM t WHERE i = -7",
        ],
    )
    .await;
}

#[tokio::test]
async fn files_of_other_partitions_are_not_read() {
    let table = table("pruned", &["k=1", "k=2", "k=3"], &[("k", DataType::Int32)]);
    for (filter, rows) in [("k = 2", 10), ("k <> 2", 20), ("k = 2 AND id >= 0", 10), ("k IN (1, 3) AND id >= 0", 20)] {
        let sql = format!("SELECT id FROM t WHERE {filter}");
        let found = answer(Settings::default(), std::slice::from_ref(&table), &sql).await;
        assert_eq!(found.num_rows(), rows, "{filter}");
        assert_eq!(output_rows(scan(&found.plan, "part.parquet")), rows, "{filter}");
    }
}

#[tokio::test]
async fn encoded_characters_in_values() {
    let folders = [
        "s=a%20b",
        "s=a b",
        "s=%25",
        "s=x%2Fy",
        "s=plus+plus",
        "s=%C3%A9",
        "s=é",
        "s=",
        "s=it's",
        "s=a=b",
        "s=__HIVE_DEFAULT_PARTITION__",
    ];
    for data_type in
        [DataType::Utf8, DataType::Utf8View, DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))]
    {
        let table = table("encoded", &folders, &[("s", data_type)]);
        check(
            &table,
            &[
                "SELECT * FROM t",
                "SELECT id FROM t WHERE s = 'a b'",
                "SELECT id FROM t WHERE s = 'a%20b'",
                "SELECT id, s FROM t WHERE s LIKE '%/%' AND id > 3",
                "SELECT id FROM t WHERE s IN ('%', 'é', '', 'it''s', 'a=b')",
                "SELECT s FROM t WHERE s > 'b' OR id = 3",
                "SELECT id FROM t WHERE s IS NULL",
                "SELECT s, count(*) FROM t WHERE id % 2 = 0 GROUP BY s",
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn partitions_and_missing_columns() {
    use arrow::datatypes::{Field, Schema};
    let mut table = table("missing", &["k=1", "k=2"], &[("k", DataType::Int64)]);
    table.schema = Some(Arc::new(Schema::new(vec![
        Field::new("x", DataType::Utf8, true),
        Field::new("id", DataType::Int64, true),
    ])));
    check(
        &table,
        &[
            "SELECT * FROM t",
            "SELECT x, k FROM t WHERE x IS NULL AND k = 1",
            "SELECT id FROM t WHERE x = 'a' OR (k = 2 AND id < 13)",
            "SELECT k FROM t WHERE coalesce(x, 'none') = 'none' AND id = k + 10",
        ],
    )
    .await;
}
