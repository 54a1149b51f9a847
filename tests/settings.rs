//! Settings of a session that users have for DataFusion's Parquet reader: they do the same for ours, or nothing.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray};
use datafusion::prelude::SessionContext;
use parquet::basic::Compression;
use parquet::data_type::{Int64Type, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::files::{metric, plain, properties, pruned, sample, scan, scratch, text, write};
use crate::oracle::{
    Answer, How, Settings, Table, assert_same, compare, config, data_path, register_miniblock, register_oracle, run,
    same_table,
};

/// Sessions with `settings`: the first reads by Miniblock, the second by DataFusion.
fn sessions(settings: &[(&str, &str)]) -> [SessionContext; 2] {
    [(); 2].map(|()| {
        let mut config = config(Settings { partitions: 1, ..Settings::default() });
        for (name, value) in settings {
            let name =
                if name.contains('.') { (*name).to_string() } else { format!("datafusion.execution.parquet.{name}") };
            config = config.set_str(&name, value);
        }
        SessionContext::new_with_config(config)
    })
}

/// Both answers, where DataFusion has one; columns and rows are the same.
async fn same(settings: &[(&str, &str)], table: &Table, sql: &str) -> Option<[Answer; 2]> {
    let [ours, theirs] = sessions(settings);
    let (found, expected) = (register_miniblock(&ours, table).await, register_oracle(&theirs, table).await);
    if expected.is_err() {
        assert!(found.is_err(), "{settings:?}: read by us alone");
        return None;
    }
    found.unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    same_table(&theirs, &ours, "t").await.unwrap_or_else(|difference| panic!("{settings:?}: {difference}"));
    let metadata = async |ctx: &SessionContext| ctx.table("t").await.unwrap().schema().inner().metadata().clone();
    assert_eq!(metadata(&ours).await, metadata(&theirs).await, "{settings:?}");
    let Ok(expected) = run(&theirs, sql).await else {
        let said = run(&ours, sql).await.err().map(|error| error.to_string());
        assert!(said.as_ref().is_none_or(|said| !said.contains("PANIC")), "{settings:?}: {said:?}");
        return None;
    };
    let found = run(&ours, sql).await.unwrap_or_else(|error| panic!("{settings:?}: {sql}\n{error}"));
    compare(&expected, &found, How::AnyOrder).unwrap_or_else(|difference| panic!("{settings:?}: {sql}\n{difference}"));
    Some([found, expected])
}

/// Bytes that are text, and are not called so; and text.
fn bytes() -> RecordBatch {
    let texts = ["b", "", "a value of more than twelve bytes", "é", "zz"];
    let binary: ArrayRef = Arc::new(BinaryArray::from_iter_values(texts));
    let large = arrow::compute::cast(&binary, &arrow::datatypes::DataType::LargeBinary).unwrap();
    let strings: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    RecordBatch::try_from_iter([("b", binary), ("l", large), ("s", strings)]).unwrap()
}

#[tokio::test]
async fn types_of_strings() {
    let table = write("settings", "bytes.parquet", &bytes(), plain());
    for views in ["true", "false"] {
        for text in ["true", "false"] {
            for skip in ["true", "false"] {
                let settings =
                    [("schema_force_view_types", views), ("binary_as_string", text), ("skip_metadata", skip)];
                let mut filters = vec!["true", "s > 'b'"];
                let of_bytes = if text == "true" {
                    ["b = 'é'", "l LIKE 'a%'", "b < 'b' OR s = 'zz'", "l IN ('b', 'nowhere')"]
                } else {
                    ["b = X'c3a9'", "l > X'61'", "b < X'62' OR s = 'zz'", "l IN (X'62', X'63')"]
                };
                filters.extend(of_bytes);
                for filter in filters {
                    let sql = format!("SELECT * FROM t WHERE {filter}");
                    assert!(same(&settings, &table, &sql).await.is_some(), "{settings:?}: {sql}");
                }
            }
        }
    }
    // Bytes that are no text, read as text: DataFusion may hand them out as they are.
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values([&[0xff][..], b"ok"]));
    let batch = RecordBatch::try_from_iter([("b", bytes)]).unwrap();
    let table = write("settings", "not-text.parquet", &batch, plain());
    for views in ["true", "false"] {
        let settings = [("schema_force_view_types", views), ("binary_as_string", "true")];
        let [ours, _] = sessions(&settings);
        register_miniblock(&ours, &table).await.unwrap();
        let error = run(&ours, "SELECT * FROM t").await.unwrap_err().to_string();
        assert!(error.contains("UTF-8") && error.contains("not-text.parquet"), "{error}");
    }
}

#[tokio::test]
async fn metadata_of_schemas() {
    let batch = bytes();
    let schema = batch.schema().as_ref().clone().with_metadata([("who".to_string(), "somebody".to_string())].into());
    let batch = batch.with_schema(Arc::new(schema)).unwrap();
    let table = write("settings", "metadata.parquet", &batch, plain());
    for skip in ["true", "false"] {
        assert!(same(&[("skip_metadata", skip)], &table, "SELECT * FROM t WHERE s > 'a'").await.is_some());
    }
}

/// INT96 timestamps: some that fit into nanoseconds of 64 bits, and, if `all`, some that do not.
fn int96(name: &str, all: bool) -> Table {
    let schema = Arc::new(parse_message_type("message m { required int96 at; required int64 id; }").unwrap());
    let path = scratch("settings", name);
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let mut writer = SerializedFileWriter::new(File::create(&path).unwrap(), schema, Arc::new(properties)).unwrap();
    let stamp = |julian_day: u32, nanos: u64| {
        let mut value = Int96::new();
        value.set_data((nanos & 0xffff_ffff) as u32, (nanos >> 32) as u32, julian_day);
        value
    };
    let mut stamps = vec![stamp(2_440_588, 0), stamp(2_440_588, 1_234_567_891), stamp(2_460_000, 86_399_999_999_999)];
    stamps.extend([stamp(2_440_587, 1), stamp(2_415_021, 500)]);
    if all {
        // The years 1 and 9999.
        stamps.extend([stamp(1_721_426, 0), stamp(5_373_484, 86_399_999_999_000)]);
    }
    let mut row_group = writer.next_row_group().unwrap();
    let mut column = row_group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&stamps, None, None).unwrap();
    column.close().unwrap();
    let mut column = row_group.next_column().unwrap().unwrap();
    let ids: Vec<i64> = (0..).take(stamps.len()).collect();
    column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
    column.close().unwrap();
    row_group.close().unwrap();
    writer.close().unwrap();
    Table::new("t", path.to_str().unwrap())
}

#[tokio::test]
async fn units_and_zones_of_int96() {
    for (table, units) in [
        (int96("int96.parquet", false), &["", "ns", "us", "ms", "s", "US"][..]),
        (int96("int96-all.parquet", true), &["us", "ms", "s"]),
    ] {
        for unit in units {
            for zone in ["", "UTC", "+02:00"] {
                let mut settings = Vec::new();
                if !unit.is_empty() {
                    settings.push(("coerce_int96", *unit));
                }
                if !zone.is_empty() {
                    settings.push(("coerce_int96_tz", zone));
                }
                for sql in [
                    "SELECT * FROM t",
                    "SELECT id FROM t WHERE at > TIMESTAMP '1970-01-01 00:00:01'",
                    "SELECT at FROM t WHERE at IS NOT NULL AND id % 2 = 1",
                ] {
                    assert!(same(&settings, &table, sql).await.is_some(), "{settings:?}: {sql}");
                }
            }
        }
    }
    let [ours, _] = sessions(&[("coerce_int96", "parsecs")]);
    let table = int96("int96-unit.parquet", false);
    let error = match register_miniblock(&ours, &table).await {
        Ok(()) => run(&ours, "SELECT * FROM t").await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("coerce_int96"), "{error}");
}

/// A metric that a setting turns on and off.
async fn prunes(table: &Table, others: &[(&str, &str)], setting: [&str; 3], name: &str, sql: &str) {
    let [setting, on, off] = setting;
    let mut counts = Vec::new();
    for value in [on, off] {
        let mut settings = others.to_vec();
        settings.push((setting, value));
        let answers = same(&settings, table, sql).await.expect("DataFusion answers");
        let file = table.path.rsplit('/').next().unwrap();
        counts.push(answers.map(|answer| pruned(scan(&answer.plan, file), name)));
    }
    let [on, off] = [counts[0], counts[1]];
    assert!(on[0] > 0 && off[0] == 0, "{setting}, {name}: {on:?} if on, {off:?} if off");
    // DataFusion's reader prunes as much.
    assert_eq!((on[0], off[0]), (on[1], off[1]), "{setting}, {name}");
}

#[tokio::test]
async fn pruning_is_turned_off() {
    let table = write("settings", "pruning.parquet", &sample(10_000), properties());
    let no_files = ("datafusion.execution.collect_statistics", "false");
    let alone = [no_files, ("enable_page_index", "false"), ("bloom_filter_on_read", "false")];
    let sql = "SELECT * FROM t WHERE id BETWEEN 2150 AND 2349";
    prunes(&table, &alone, ["pruning", "true", "false"], "row_groups_pruned_statistics", sql).await;
    prunes(&table, &[no_files], ["enable_page_index", "true", "false"], "page_index_rows_pruned", sql).await;
    let list = "SELECT * FROM t WHERE id IN (1, 2, 3, 4, 5)";
    prunes(&table, &alone, ["max_in_list_size", "20", "4"], "row_groups_pruned_statistics", list).await;
}

#[tokio::test]
async fn bloom_filters_are_turned_off() {
    // Between the bounds of every row group, and in none.
    let batch = sample(3000);
    let ids =
        arrow::compute::kernels::numeric::mul(batch.column(0), &arrow::array::Int64Array::new_scalar(1000)).unwrap();
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let properties = properties().into_builder().set_bloom_filter_enabled(true).build();
    let table = write("settings", "bloom.parquet", &batch, properties);
    let no_files = ("datafusion.execution.collect_statistics", "false");
    let sql = "SELECT * FROM t WHERE id = 1500001";
    let setting = ["bloom_filter_on_read", "true", "false"];
    prunes(&table, &[no_files, ("enable_page_index", "false")], setting, "row_groups_pruned_bloom_filter", sql).await;
    assert_same(Settings::default(), &[table], "SELECT * FROM t WHERE id IN (1500000, 1500001)").await;
}

#[tokio::test]
async fn hints_and_caches_change_no_row() {
    let table = Table::data("t", "pa_tinypages_idx.parquet");
    let sql = "SELECT * FROM t WHERE dl_i64 > 0 AND di_s IS NOT NULL";
    let [whole, _] = same(&[], &table, sql).await.unwrap();
    assert!(whole.num_rows() > 0);
    for settings in [
        &[("metadata_size_hint", "8")][..],
        &[("metadata_size_hint", "100")],
        &[("metadata_size_hint", "100000000")],
        &[("max_predicate_cache_size", "0")],
        &[("max_predicate_cache_size", "1000")],
        // They say how DataFusion's reader filters rows; here the scan does it in any case.
        &[("pushdown_filters", "true")],
        &[("pushdown_filters", "true"), ("reorder_filters", "true"), ("force_filter_selections", "true")],
        &[("pushdown_filters", "true"), ("max_predicate_cache_size", "0")],
    ] {
        let [found, _] = same(settings, &table, sql).await.unwrap_or_else(|| panic!("{settings:?}"));
        assert_eq!(text(&found.plan), text(&whole.plan), "{settings:?}");
        let file = "pa_tinypages_idx.parquet";
        assert_eq!(
            metric(scan(&found.plan, file), "pushdown_rows_matched"),
            metric(scan(&whole.plan, file), "pushdown_rows_matched")
        );
    }
}

#[tokio::test]
async fn a_setting_is_that_of_the_time_of_registration_as_with_datafusion() {
    let table = write("settings", "when.parquet", &sample(10_000), properties());
    let sql = "SELECT * FROM t WHERE id BETWEEN 2150 AND 2349";
    for (first, then) in [("true", "false"), ("false", "true")] {
        let both =
            [("datafusion.execution.collect_statistics", "false"), ("pruning", first), ("enable_page_index", "false")];
        let [ours, theirs] = sessions(&both);
        register_miniblock(&ours, &table).await.unwrap();
        register_oracle(&theirs, &table).await.unwrap();
        let mut counts = Vec::new();
        for ctx in [ours, theirs] {
            ctx.sql(&format!("SET datafusion.execution.parquet.pruning = {then}"))
                .await
                .unwrap()
                .collect()
                .await
                .unwrap();
            let found = run(&ctx, sql).await.unwrap();
            assert_eq!(found.num_rows(), 200);
            counts.push(pruned(scan(&found.plan, "when.parquet"), "row_groups_pruned_statistics"));
        }
        assert_eq!(counts[0], counts[1], "{first}, then {then}");
    }
}

#[tokio::test]
async fn general_settings() {
    let table = write("settings", "general.parquet", &sample(5000), properties());
    let sql = "SELECT id, s FROM t WHERE k < 20";
    for size in ["1", "100", "1023", "8192"] {
        let [found, _] = same(&[("datafusion.execution.batch_size", size)], &table, sql).await.unwrap();
        let size: usize = size.parse().unwrap();
        assert!(found.batches.iter().all(|batch| batch.num_rows() <= size), "{size}");
    }
    for (partitions, repartition) in [("4", "true"), ("4", "false"), ("1", "true")] {
        let settings = [
            ("datafusion.execution.target_partitions", partitions),
            ("datafusion.optimizer.repartition_file_scans", repartition),
        ];
        let answers = same(&settings, &table, sql).await.unwrap();
        let [ours, theirs] =
            answers.map(|answer| scan(&answer.plan, "general.parquet").properties().partitioning.partition_count());
        assert_eq!(ours, theirs, "{settings:?}");
    }
    for collect in ["true", "false"] {
        let settings = [("datafusion.execution.collect_statistics", collect)];
        let answers = same(&settings, &table, "SELECT count(*), max(id) FROM t").await.unwrap();
        let [ours, theirs] = answers.map(|answer| text(&answer.plan).contains("DataSourceExec"));
        assert_eq!(ours, theirs, "{settings:?}");
    }
}

/// Files that others wrote for these settings.
#[tokio::test]
async fn settings_over_files_of_others() {
    for file in ["pa_bloom.parquet", "ch_control.parquet", "sp_nulls.parquet", "dk_mixed_rgs.parquet"] {
        let table = Table::new("t", data_path(file));
        for name in ["pruning", "enable_page_index", "bloom_filter_on_read", "schema_force_view_types"] {
            for value in ["true", "false"] {
                assert!(same(&[(name, value)], &table, "SELECT * FROM t").await.is_some(), "{file} {name} {value}");
            }
        }
    }
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
    let batch = RecordBatch::try_from_iter([("i", values)]).unwrap();
    let table = write("settings", "plain.parquet", &batch, WriterProperties::default());
    assert!(same(&[("pruning", "false")], &table, "SELECT * FROM t WHERE i = 11").await.is_some());
}
