//! Structs of which some fields are asked for: the others are not read.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Int32Array, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields};

use crate::files::{footer, metric, plain, scan, write};
use crate::oracle::{Settings, Table, assert_same};

fn fields(fields: &[(&str, &ArrayRef)]) -> Fields {
    fields.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect()
}

/// `id`, and `s` with the fields `a`, `text`, `inner` (`x`, `y`) and `tags` (a list).
fn batch(rows: usize) -> RecordBatch {
    let ids = 0..i32::try_from(rows).unwrap();
    let nulls = |every: i32| NullBuffer::from_iter(ids.clone().map(|id| id % every != 1));
    let ints = |every: i32| {
        Arc::new(ids.clone().map(|id| (id % every != 0).then_some(id)).collect::<Int32Array>()) as ArrayRef
    };
    let text: ArrayRef =
        Arc::new(ids.clone().map(|id| Some(format!("a text of some length {id}"))).collect::<StringArray>());
    let (x, y) = (ints(5), ints(3));
    let inner: ArrayRef = Arc::new(StructArray::new(fields(&[("x", &x), ("y", &y)]), vec![x, y], Some(nulls(4))));
    let mut tags = ListBuilder::new(StringBuilder::new());
    for id in ids.clone() {
        (0..id % 3).for_each(|tag| tags.values().append_value(format!("tag-{tag}")));
        tags.append(id % 11 != 0);
    }
    let tags: ArrayRef = Arc::new(tags.finish());
    let a = ints(7);
    let s = StructArray::new(
        fields(&[("a", &a), ("text", &text), ("inner", &inner), ("tags", &tags)]),
        vec![a, text, inner, tags],
        Some(nulls(6)),
    );
    assert!(s.column(2).as_struct_opt().is_some());
    let ids: ArrayRef = Arc::new(ids.map(i64::from).collect::<Int64Array>());
    RecordBatch::try_from_iter([("id", ids), ("s", Arc::new(s) as ArrayRef)]).unwrap()
}

/// Bytes of the chunks whose path begins with one of `columns`.
fn bytes_of(table: &Table, columns: &[&str]) -> usize {
    let footer = footer(&table.path);
    let chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    let wanted = chunks.filter(|chunk| {
        let path = chunk.column_path().string();
        columns.iter().any(|column| path == *column || path.starts_with(&format!("{column}.")))
    });
    wanted.map(|chunk| usize::try_from(chunk.compressed_size()).unwrap()).sum()
}

#[tokio::test]
async fn fields_that_are_not_asked_for_are_not_read() {
    let table = write("nested", "structs.parquet", &batch(3000), plain());
    let all = bytes_of(&table, &["id", "s"]);
    for (sql, columns) in [
        ("SELECT s.a FROM t", &["s.a"][..]),
        ("SELECT s['a'] + 1, s.a FROM t", &["s.a"]),
        ("SELECT s.inner.y FROM t", &["s.inner.y"]),
        ("SELECT s.inner FROM t", &["s.inner"]),
        ("SELECT s.tags FROM t", &["s.tags"]),
        ("SELECT id, s.a, s.inner.x FROM t", &["id", "s.a", "s.inner.x"]),
        ("SELECT s.inner.x, s.inner FROM t", &["s.inner"]),
        ("SELECT s FROM t", &["s"]),
        ("SELECT s, s.a FROM t", &["s"]),
        ("SELECT s.a FROM t WHERE s.inner.x % 3 = 1", &["s.a", "s.inner.x"]),
        ("SELECT id FROM t WHERE s.a > 100 AND s.inner.y IS NOT NULL", &["id", "s.a", "s.inner.y"]),
        ("SELECT s.text FROM t WHERE id % 100 = 7", &["id", "s.text"]),
        ("SELECT id FROM t WHERE s IS NULL", &["id", "s"]),
        ("SELECT s.a FROM t WHERE s IS NOT NULL", &["s"]),
        ("SELECT sum(s.a), count(s.inner.x) FROM t WHERE id > 5", &["id", "s.a", "s.inner.x"]),
    ] {
        for partitions in [1, 3] {
            let settings = Settings { partitions, batch_size: 333, ..Settings::default() };
            let found = assert_same(settings, std::slice::from_ref(&table), sql).await;
            let read = metric(scan(&found.plan, "structs.parquet"), "bytes_scanned");
            let wanted = bytes_of(&table, columns);
            assert!(wanted <= all && read <= wanted, "{sql}: {read} bytes read, {wanted} of {all} wanted");
        }
    }
}

#[tokio::test]
async fn rows_of_nested_columns() {
    let table = write("nested", "rows.parquet", &batch(2500), plain());
    for sql in [
        "SELECT * FROM t",
        "SELECT s FROM t WHERE s.a BETWEEN 10 AND 20",
        "SELECT s.a, s.tags[1] FROM t WHERE s.inner IS NULL",
        "SELECT id, s.inner.x FROM t WHERE s.inner.x IS NULL ORDER BY id DESC LIMIT 10",
        "SELECT s.inner.x FROM t WHERE id IN (1, 7, 2499) OR s.a = 1234",
        "SELECT a.id FROM t a JOIN t b ON a.s.a = b.s.inner.x WHERE b.id < 50",
        "SELECT s.a, count(*) FROM t GROUP BY s.a HAVING count(*) > 1",
    ] {
        for batch_size in [1, 1000, 8192] {
            let settings = Settings { batch_size, ..Settings::default() };
            assert_same(settings, std::slice::from_ref(&table), sql).await;
        }
    }
}

/// Files whose structs differ from the table's: a field more, fewer, in another order, of another type.
#[tokio::test]
async fn structs_that_differ_from_the_table() {
    use crate::files::{folder, write_to};
    let path = folder("nested", "evolve");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let (narrow, wide): (ArrayRef, ArrayRef) =
        (Arc::new(Int32Array::from_iter_values(0..100)), Arc::new(Int64Array::from_iter_values(0..100)));
    let text: ArrayRef = Arc::new((0..100).map(|id| Some(format!("{id}"))).collect::<StringArray>());
    for (file, columns) in [
        ("a", vec![("a", &narrow), ("text", &text)]),
        ("b", vec![("text", &text), ("a", &wide), ("more", &wide)]),
        ("c", vec![("a", &wide)]),
    ] {
        let s = StructArray::new(fields(&columns), columns.iter().map(|(_, array)| Arc::clone(array)).collect(), None);
        let batch = RecordBatch::try_from_iter([("id", Arc::clone(&ids)), ("s", Arc::new(s) as ArrayRef)]).unwrap();
        write_to(format!("{path}{file}.parquet"), &batch, plain());
    }
    let s = Fields::from(vec![Field::new("a", DataType::Int64, true), Field::new("text", DataType::Utf8, true)]);
    let mut table = Table::new("t", path);
    table.schema = Some(Arc::new(arrow::datatypes::Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("s", DataType::Struct(s), true),
    ])));
    for sql in [
        "SELECT * FROM t",
        "SELECT s.a FROM t",
        "SELECT id, s.text FROM t WHERE s.a > 90",
        "SELECT s FROM t WHERE s.text IS NULL AND id < 3",
        "SELECT s.text FROM t WHERE s.text = '7' OR s.a = 8",
    ] {
        assert_same(Settings::default(), std::slice::from_ref(&table), sql).await;
    }
}
