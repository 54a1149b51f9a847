//! Files of strings that are asked, and what they may answer.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfigBuilder;
use datafusion::datasource::physical_plan::parquet::{ParquetAccessPlan, RowGroupAccess};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use miniblock::{MiniblockOptions, MiniblockSource};
use parquet::arrow::arrow_reader::RowSelection;

use super::model::{Cell, File, Output, SOUND, is_bad, is_text};
use crate::hostile::read::{FILE, register, session};

pub(super) type Rows = Vec<(usize, Option<Vec<u8>>)>;

pub(super) fn rows_of(batches: &[RecordBatch]) -> Rows {
    let mut rows = Vec::new();
    for batch in batches {
        let mut strings: ArrayRef = Arc::clone(batch.column(1));
        if let DataType::Dictionary(_, values) = strings.data_type() {
            strings = cast(&strings, values).unwrap();
        }
        // No cast: it would look at the bytes.
        let value = |row: usize| -> Vec<u8> {
            match strings.data_type() {
                DataType::Utf8View => strings.as_string_view().value(row).as_bytes().to_vec(),
                DataType::Utf8 => strings.as_string::<i32>().value(row).as_bytes().to_vec(),
                DataType::LargeUtf8 => strings.as_string::<i64>().value(row).as_bytes().to_vec(),
                DataType::BinaryView => strings.as_binary_view().value(row).to_vec(),
                DataType::Binary => strings.as_binary::<i32>().value(row).to_vec(),
                other => panic!("no strings: {other}"),
            }
        };
        let ids = batch.column(0).as_primitive::<Int32Type>();
        let row = |row: usize| (ids.value(row) as usize, strings.is_valid(row).then(|| value(row)));
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows
}

pub(super) fn schema(data_type: &DataType) -> Arc<Schema> {
    let fields = vec![Field::new("id", DataType::Int32, true), Field::new("s", data_type.clone(), true)];
    Arc::new(Schema::new(fields))
}

/// A file that is asked.
pub(super) struct Reading<'a> {
    file: &'a File,
    ctx: SessionContext,
    name: String,
}

impl<'a> Reading<'a> {
    pub(super) async fn open(file: &'a File, batch_size: usize, name: &str) -> Self {
        let (ctx, store) = session(batch_size);
        let mut options = MiniblockOptions::new();
        let mut setting = ("schema_force_view_types", false);
        match &file.output {
            // Types as they are asked for.
            Output::Text(data_type) | Output::Binary(data_type) => options = options.with_schema(schema(data_type)),
            Output::CalledText => setting = ("binary_as_string", true),
        }
        ctx.sql(&format!("SET datafusion.execution.parquet.{} = {}", setting.0, setting.1)).await.unwrap();
        register(&ctx, &store, file.bytes.clone(), options).await.unwrap();
        let name = format!("{name}, {:?}, batches of {batch_size}", file.output);
        Self { file, ctx, name }
    }

    /// Asserts that the error names the place.
    fn check_error(&self, what: &str, error: &str) {
        let rows = self.file.rows[SOUND.len()..].iter().zip(&self.file.pages);
        let mut bad = rows.filter(|(cell, _)| is_bad(cell, &self.file.output)).map(|(_, page)| *page);
        let place = |page| format!("(file {FILE}, row group 1, column s, page {page})");
        assert!(bad.any(|page| error.contains(&place(page))), "{}: {what}: {error}", self.name);
        assert!(!error.to_lowercase().contains("panic"), "{}: {what}: {error}", self.name);
    }

    /// Asserts that the rows come, those that are `selected`, or an error if there is anything wrong with the file; no rows
    /// but an error where they are bad.
    fn check_rows(&self, what: &str, found: Result<Vec<RecordBatch>>, selected: impl Fn(usize) -> bool) {
        let wanted: Vec<usize> = (0..self.file.rows.len()).filter(|&row| selected(row)).collect();
        let must_fail = wanted.iter().any(|&row| is_bad(&self.file.rows[row], &self.file.output));
        match found {
            Ok(batches) => {
                assert!(!must_fail, "{}: {what}: read, and should have been refused", self.name);
                let found = rows_of(&batches);
                let ids: Vec<usize> = found.iter().map(|(id, _)| *id).collect();
                assert_eq!(ids, wanted, "{}: {what}", self.name);
                for (id, value) in found {
                    let expected = match &self.file.rows[id] {
                        Cell::Bytes(bytes) => Some(bytes),
                        _ => None,
                    };
                    assert_eq!(value.as_ref(), expected, "{}: {what}: row {id}", self.name);
                }
            }
            Err(error) => self.check_error(what, &error.to_string()),
        }
    }

    pub(super) async fn rows(&self, filter: &str, selected: impl Fn(usize) -> bool) {
        let sql = format!("SELECT id, s FROM t{filter}");
        let found = match self.ctx.sql(&sql).await {
            Ok(frame) => frame.collect().await,
            Err(error) => Err(error),
        };
        self.check_rows(&sql, found, selected);
    }

    fn literal(&self, bytes: &[u8]) -> String {
        match std::str::from_utf8(bytes) {
            Ok(text) if is_text(&self.file.output) => format!("'{text}'"),
            _ => format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        }
    }

    /// Filters on the strings: all of them are looked at, and those that pass are handed out, or counted.
    pub(super) async fn by_value(&self, value: &[u8]) {
        if std::str::from_utf8(value).is_err() {
            return;
        }
        let rows = &self.file.rows;
        let is_unknown = rows.contains(&Cell::Unknown);
        type Test = fn(&[u8], &[u8]) -> bool;
        let filters: [(&str, Test); 3] = [("=", |a, b| a == b), ("<", |a, b| a < b), ("<>", |a, b| a != b)];
        for (operator, test) in filters {
            let passes = |row: usize| match &rows[row] {
                Cell::Bytes(bytes) => test(bytes, value),
                Cell::Null => false,
                // Whoever says whether it does is wrong.
                Cell::Unknown => true,
            };
            let filter = format!(" WHERE s {operator} {}", self.literal(value));
            self.rows(&filter, passes).await;
            let sql = format!("SELECT count(*) FROM t{filter}");
            match self.ctx.sql(&sql).await.unwrap().collect().await {
                Ok(batches) => {
                    assert!(!is_unknown, "{}: {sql}: counted", self.name);
                    let count = batches[0].column(0).as_primitive::<Int64Type>().value(0);
                    assert_eq!(
                        count as usize,
                        (0..rows.len()).filter(|&row| passes(row)).count(),
                        "{}: {sql}",
                        self.name
                    );
                }
                Err(error) => self.check_error(&sql, &error.to_string()),
            }
        }
        // Only some of them are looked at, or all.
        let both = |row: usize| {
            row % 3 == 1
                && match &rows[row] {
                    Cell::Bytes(bytes) => bytes.as_slice() >= value,
                    Cell::Null => false,
                    Cell::Unknown => true,
                }
        };
        self.rows(&format!(" WHERE id % 3 = 1 AND s >= {}", self.literal(value)), both).await;
        // An expression is handed what it looks at.
        let is_long = |row: usize| match &rows[row] {
            Cell::Bytes(bytes) => std::str::from_utf8(bytes).map_or(true, |text| text.chars().count() > 12),
            Cell::Null => false,
            Cell::Unknown => true,
        };
        if is_text(&self.file.output) {
            self.rows(" WHERE length(s) > 12", is_long).await;
        }
    }

    /// Rows that a caller's access plan selects.
    pub(super) async fn by_access_plan(&self, what: &str, selected: impl Fn(usize) -> bool) {
        let mask: BooleanArray = (SOUND.len()..self.file.rows.len()).map(|row| Some(selected(row))).collect();
        let selection = RowGroupAccess::Selection(RowSelection::from_filters(&[mask]));
        let file = PartitionedFile::new(FILE, self.file.bytes.len() as u64)
            .with_extension(ParquetAccessPlan::new(vec![RowGroupAccess::Skip, selection]));
        let schema = Arc::clone(self.ctx.table("t").await.unwrap().schema().inner());
        let source = Arc::new(MiniblockSource::new(schema));
        let url = ObjectStoreUrl::parse("mem://m").unwrap();
        let config = FileScanConfigBuilder::new(url, source).with_file(file).build();
        let plan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config);
        let found = collect(plan, self.ctx.task_ctx()).await;
        self.check_rows(&format!("{what} by an access plan"), found, |row| row >= SOUND.len() && selected(row));
    }

    /// All, what comes before the row `at` of the second row group, after it, it alone, some with it and without it, and a
    /// number of rows; `turn` leaves some out.
    pub(super) async fn around(&self, at: usize, turn: usize) {
        let at = at + SOUND.len();
        self.rows("", |_| true).await;
        self.rows(&format!(" WHERE id = {at}"), |row| row == at).await;
        match turn % 4 {
            0 => {
                self.rows(&format!(" WHERE id < {at}"), |row| row < at).await;
                self.rows(&format!(" LIMIT {}", at + 1), |row| row <= at).await;
                self.by_access_plan("one of seven", |row| row % 7 == at % 7).await;
            }
            1 => {
                self.rows(&format!(" WHERE id > {at}"), |row| row > at).await;
                self.rows(&format!(" LIMIT {at}"), |row| row < at).await;
                self.by_access_plan("all but the next ones", |row| row <= at || row > at + 40).await;
            }
            2 => {
                self.rows(&format!(" WHERE id % 97 = {}", at % 97), |row| row % 97 == at % 97).await;
                self.rows(&format!(" WHERE id % 2 <> {}", at % 2), |row| row % 2 != at % 2).await;
                self.by_access_plan("what comes before", |row| row < at).await;
            }
            _ => {
                self.rows(&format!(" WHERE id % 97 = {}", (at + 50) % 97), |row| row % 97 == (at + 50) % 97).await;
                self.rows(&format!(" WHERE id NOT IN ({at}, {})", at + 1), |row| row != at && row != at + 1).await;
                self.by_access_plan("what comes after", |row| row > at + 1).await;
            }
        }
    }
}
