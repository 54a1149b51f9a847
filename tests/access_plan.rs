//! What those attach who list files themselves: which rows of a file to read, and how to read its bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::SchemaRef;
use datafusion::common::DFSchema;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::{
    DefaultParquetFileReaderFactory, ParquetAccessPlan, ParquetRowSelection, RowGroupAccess,
};
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, ParquetFileReaderFactory};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use miniblock::MiniblockSource;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::arrow::async_reader::AsyncFileReader;

use crate::files::{metric, properties, sample, write};
use crate::oracle::{Answer, How, Settings, Table, compare, expected, miniblock_session};

const ROWS: usize = 4500;

/// The scan of a file that carries what `attach` gives it.
struct Scan {
    ctx: SessionContext,
    schema: SchemaRef,
    source: MiniblockSource,
    file: PartitionedFile,
}

impl Scan {
    fn new(table: &Table, settings: Settings) -> Self {
        let schema = sample(0).schema();
        let file = PartitionedFile::new(&table.path, std::fs::metadata(&table.path).unwrap().len());
        let source = MiniblockSource::new(Arc::clone(&schema));
        Self { ctx: miniblock_session(settings), schema, source, file }
    }

    fn attach<T: Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.file = self.file.with_extension(extension);
        self
    }

    async fn run(self, filter: &str, limit: Option<usize>) -> Result<Answer> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema)).unwrap();
        let filter = self.ctx.parse_sql_expr(filter, &schema).unwrap();
        let filter = self.ctx.create_physical_expr(filter, &schema).unwrap();
        let source = Arc::new(self.source.with_filters([filter]));
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
            .with_file(self.file)
            .with_limit(limit)
            .build();
        let plan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config);
        let batches = collect(Arc::clone(&plan), self.ctx.task_ctx()).await?;
        Ok(Answer { schema: plan.schema(), batches, plan })
    }
}

fn rows(parts: &[(bool, usize)]) -> RowSelection {
    parts
        .iter()
        .map(|&(read, rows)| if read { RowSelector::select(rows) } else { RowSelector::skip(rows) })
        .collect::<Vec<_>>()
        .into()
}

/// Ways to read row groups of 1000 rows, the last of 500, and which ids they leave.
fn plans() -> Vec<(Vec<RowGroupAccess>, &'static str)> {
    use RowGroupAccess::{Scan, Skip};
    let select = |parts: &[(bool, usize)]| RowGroupAccess::Selection(rows(parts));
    vec![
        (vec![Scan; 5], "true"),
        (vec![Skip; 5], "false"),
        (vec![Scan, Skip, Scan, Skip, Skip], "id < 1000 OR id BETWEEN 2000 AND 2999"),
        (vec![Skip, Skip, Skip, Skip, Scan], "id >= 4000"),
        (
            vec![
                select(&[(false, 10), (true, 1), (false, 989)]),
                Skip,
                select(&[(true, 500), (false, 500)]),
                Scan,
                select(&[(false, 499), (true, 1)]),
            ],
            "id = 10 OR id BETWEEN 2000 AND 2499 OR id BETWEEN 3000 AND 3999 OR id = 4499",
        ),
        (
            vec![
                select(&[(true, 1), (false, 98), (true, 3), (false, 898)]),
                select(&[(false, 1000)]),
                select(&[(true, 1000)]),
                Skip,
                Skip,
            ],
            "id = 0 OR id BETWEEN 99 AND 101 OR id BETWEEN 2000 AND 2999",
        ),
    ]
}

#[tokio::test]
async fn access_plans_are_honoured() {
    let table = write("access_plan", "t.parquet", &sample(ROWS), properties());
    for batch_size in [8192, 100, 1] {
        let settings = Settings { batch_size, partitions: 1, view_types: false };
        for (access, kept) in plans() {
            for filter in [
                "true",
                "k = 3",
                "id % 7 = 2",
                "s = 'text-0042' AND id > 100",
                "id BETWEEN 2150 AND 2160 OR id = 10",
                "k IS NULL",
            ] {
                let sql = format!("SELECT * FROM t WHERE ({kept}) AND ({filter})");
                let wanted = expected(settings, std::slice::from_ref(&table), &sql).await;
                let scan = || Scan::new(&table, settings).attach(ParquetAccessPlan::new(access.clone()));
                let found = scan().run(filter, None).await.unwrap_or_else(|error| panic!("{sql}\n{error}"));
                compare(&wanted, &found, How::SameOrder)
                    .unwrap_or_else(|difference| panic!("{access:?}\n{sql}\n{difference}"));
                for limit in [1, 150] {
                    let found = scan().run(filter, Some(limit)).await.unwrap();
                    compare(&wanted, &found, How::AnyRows(limit))
                        .unwrap_or_else(|difference| panic!("{access:?}\n{sql} LIMIT {limit}\n{difference}"));
                }
            }
        }
    }
}

#[tokio::test]
async fn selections_of_a_whole_file_are_honoured() {
    let table = write("access_plan", "whole.parquet", &sample(ROWS), properties());
    let settings = Settings { view_types: false, ..Settings::default() };
    let selection =
        ParquetRowSelection::new(rows(&[(false, 990), (true, 20), (false, 2000), (true, 1), (false, 1489)]));
    let found = Scan::new(&table, settings).attach(selection).run("k > 5", None).await.unwrap();
    let sql = "SELECT * FROM t WHERE k > 5 AND (id BETWEEN 990 AND 1009 OR id = 3010)";
    compare(&expected(settings, &[table], sql).await, &found, How::AnyOrder).unwrap();
}

#[tokio::test]
async fn what_is_left_out_is_not_fetched() {
    let table = write("access_plan", "fetched.parquet", &sample(ROWS), properties());
    let bytes = async |access: Vec<RowGroupAccess>| {
        let found =
            Scan::new(&table, Settings::default()).attach(ParquetAccessPlan::new(access)).run("true", None).await;
        metric(&found.unwrap().plan, "bytes_scanned")
    };
    use RowGroupAccess::{Scan as Read, Skip};
    let (all, none) = (bytes(vec![Read; 5]).await, bytes(vec![Skip; 5]).await);
    let one = bytes(vec![Skip, Read, Skip, Skip, Skip]).await;
    assert!(none < one && one < all / 3, "{none} {one} {all}");
}

#[tokio::test]
async fn plans_that_do_not_fit_are_errors() {
    let table = write("access_plan", "wrong.parquet", &sample(ROWS), properties());
    let scan = || Scan::new(&table, Settings::default());
    for row_groups in [0, 4, 6] {
        let plan = ParquetAccessPlan::new(vec![RowGroupAccess::Scan; row_groups]);
        let error = scan().attach(plan).run("true", None).await.unwrap_err().to_string();
        let count = format!("{row_groups} row groups");
        assert!(error.contains(&count) && error.contains('5') && error.contains("wrong.parquet"), "{error}");
    }
    for short in [&[(true, 999)][..], &[(false, 1001)], &[(true, 10), (false, 10)]] {
        let mut access = vec![RowGroupAccess::Skip; 5];
        access[1] = RowGroupAccess::Selection(rows(short));
        let error = scan().attach(ParquetAccessPlan::new(access)).run("true", None).await.unwrap_err().to_string();
        assert!(error.contains("row group 1") && error.contains("wrong.parquet"), "{error}");
    }
    let whole = ParquetRowSelection::new(rows(&[(true, 10)]));
    assert!(scan().attach(whole.clone()).run("true", None).await.is_err());
    let both = scan().attach(whole).attach(ParquetAccessPlan::new_all(5)).run("true", None).await;
    assert!(both.unwrap_err().to_string().contains("both"));
}

/// Counts the readers that it makes.
#[derive(Debug)]
struct Counting {
    inner: DefaultParquetFileReaderFactory,
    made: AtomicUsize,
}

impl ParquetFileReaderFactory for Counting {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        assert!(file.extensions.get::<ParquetAccessPlan>().is_some(), "the file comes with what was attached to it");
        self.made.fetch_add(1, Ordering::Relaxed);
        self.inner.create_reader(partition_index, file, metadata_size_hint, metrics)
    }
}

#[tokio::test]
async fn a_users_reader_factory_reads() {
    let table = write("access_plan", "factory.parquet", &sample(ROWS), properties());
    let settings = Settings { view_types: false, ..Settings::default() };
    let mut scan = Scan::new(&table, settings).attach(ParquetAccessPlan::new_all(5));
    let store = scan.ctx.runtime_env().object_store(ObjectStoreUrl::local_filesystem()).unwrap();
    let factory = Arc::new(Counting { inner: DefaultParquetFileReaderFactory::new(store), made: AtomicUsize::new(0) });
    scan.source = scan.source.with_reader_factory(Arc::clone(&factory) as _);
    let found = scan.run("k = 3", None).await.unwrap();
    compare(&expected(settings, &[table], "SELECT * FROM t WHERE k = 3").await, &found, How::AnyOrder).unwrap();
    assert!(factory.made.load(Ordering::Relaxed) > 0);
}
