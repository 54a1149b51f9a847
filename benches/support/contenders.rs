//! Who reads a file.

use std::cell::RefCell;
use std::fs::File;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{DataType, Int64Type};
use arrow::error::ArrowError;
use bytes::Bytes;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{Expr, ParquetReadOptions, SessionConfig, SessionContext, col};
use futures::StreamExt;
use memmap2::Mmap;
use miniblock::{MiniblockOptions, SessionContextExt};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::file::metadata::PageIndexPolicy;

use crate::Error;

pub(crate) const BATCH_SIZE: usize = 8192;

/// `columns` of the rows of a file, all or those that pass a filter.
pub(crate) struct Query<'a> {
    pub(crate) path: &'a Path,
    pub(crate) columns: &'static [&'static str],
    pub(crate) filter: Option<Filter>,
}

/// A filter on one column.
pub(crate) struct Filter {
    pub(crate) expr: Expr,
    /// The same for the parquet crate's reader; None leaves it out.
    pub(crate) kernel: Option<Kernel>,
}

/// A column, which stands before all others of a query in its file, and the filter by arrow's kernels, of batches whose
/// first column it is.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) column: &'static str,
    pub(crate) mask: Mask,
}

pub(crate) type Mask = Arc<dyn Fn(&RecordBatch) -> Result<BooleanArray, ArrowError> + Send + Sync>;

/// What was delivered.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Received {
    pub(crate) rows: usize,
    /// Of each column, in the order of its rows.
    checksums: Vec<u64>,
}

impl Received {
    fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.rows += batch.num_rows();
        self.checksums.resize(batch.num_columns(), 0);
        for (checksum, column) in self.checksums.iter_mut().zip(batch.columns()) {
            let mut add = |value: u64| {
                *checksum = (checksum.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            };
            if let Some(texts) = column.as_string_view_opt() {
                let hasher = BuildHasherDefault::<DefaultHasher>::default();
                texts.iter().for_each(|text| add(hasher.hash_one(text)));
            } else {
                let wide = cast(column, &DataType::Int64)?;
                wide.as_primitive::<Int64Type>()
                    .iter()
                    .for_each(|value| add(value.map_or(u64::MAX, i64::cast_unsigned)));
            }
        }
        Ok(())
    }
}

/// The parquet crate's reader.
struct Reader {
    file: File,
    metadata: ArrowReaderMetadata,
    columns: &'static [&'static str],
}

impl Reader {
    fn new(query: &Query<'_>) -> Result<Self, Error> {
        let file = File::open(query.path)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = ArrowReaderMetadata::load(&file, options)?;
        Ok(Self { file, metadata, columns: query.columns })
    }

    fn open(&self, columns: &[&str]) -> Result<ParquetRecordBatchReaderBuilder<File>, Error> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.try_clone()?, self.metadata.clone());
        Ok(builder.with_batch_size(BATCH_SIZE).with_projection(self.projection(columns)))
    }

    fn projection(&self, columns: &[&str]) -> ProjectionMask {
        ProjectionMask::columns(self.metadata.parquet_schema(), columns.iter().copied())
    }

    fn read(&self, filter: Option<&Kernel>, take: &mut Take<'_>) -> Result<(), Error> {
        let mut builder = self.open(self.columns)?;
        if let Some(Kernel { column, mask }) = filter.cloned() {
            let predicate = ArrowPredicateFn::new(self.projection(&[column]), move |batch| mask(&batch));
            builder = builder.with_row_filter(RowFilter::new(vec![Box::new(predicate)]));
        }
        for batch in builder.build()? {
            take(batch?)?;
        }
        Ok(())
    }

    fn read_and_filter(&self, filter: &Kernel, take: &mut Take<'_>) -> Result<(), Error> {
        let mut columns = vec![filter.column];
        columns.extend(self.columns.iter().filter(|column| **column != filter.column));
        let delivered: Vec<usize> =
            (0..columns.len()).filter(|&index| self.columns.contains(&columns[index])).collect();
        for batch in self.open(&columns)?.build()? {
            let batch = batch?;
            let selected = (filter.mask)(&batch)?;
            if selected.true_count() > 0 {
                take(filter_record_batch(&batch.project(&delivered)?, &selected)?)?;
            }
        }
        Ok(())
    }
}

type Take<'a> = dyn FnMut(RecordBatch) -> Result<(), Error> + 'a;

enum Work {
    Plan(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
    Read(Reader),
    RowFilter(Reader, Kernel),
    Filter(Reader, Kernel),
    Map(Reader),
    /// Of so many bytes by pieces into a buffer that is used again.
    Copy(Vec<u8>, RefCell<Vec<u8>>),
}

/// One of those who are compared.
pub(crate) struct Contender {
    name: &'static str,
    work: Work,
}

impl Contender {
    /// Ours, then the peers.
    pub(crate) async fn all(query: &Query<'_>, no_pruning: bool) -> Result<Vec<Self>, Error> {
        let mut contenders = Vec::new();
        for (name, pushdown) in [("ours", None), ("datafusion", Some(false)), ("datafusion-pushdown", Some(true))] {
            let mut config = SessionConfig::new().with_target_partitions(1).with_batch_size(BATCH_SIZE);
            let options = &mut config.options_mut().execution.parquet;
            options.pushdown_filters = pushdown.unwrap_or_default();
            if no_pruning {
                options.pruning = false;
                options.enable_page_index = false;
            }
            let options = pushdown.is_none().then(MiniblockOptions::new);
            contenders.push(Self::plan_of(name, config, options, query).await?);
        }
        let readers = match &query.filter {
            None => vec![Self { name: "reader", work: Work::Read(Reader::new(query)?) }],
            Some(Filter { kernel: Some(kernel), .. }) => vec![
                Self { name: "rowfilter", work: Work::RowFilter(Reader::new(query)?, kernel.clone()) },
                Self { name: "filter", work: Work::Filter(Reader::new(query)?, kernel.clone()) },
            ],
            Some(_) => Vec::new(),
        };
        contenders.splice(1..1, readers);
        Ok(contenders)
    }

    async fn plan_of(
        name: &'static str,
        config: SessionConfig,
        options: Option<MiniblockOptions>,
        query: &Query<'_>,
    ) -> Result<Self, Error> {
        let ctx = SessionContext::new_with_config(config);
        let path = query.path.to_str().ok_or("a path that is no text")?;
        match options {
            Some(options) => ctx.register_miniblock("t", path, options).await?,
            None => ctx.register_parquet("t", path, ParquetReadOptions::default()).await?,
        }
        let mut rows = ctx.table("t").await?;
        if let Some(filter) = &query.filter {
            rows = rows.filter(filter.expr.clone())?;
        }
        let columns: Vec<Expr> = query.columns.iter().map(|column| col(*column)).collect();
        let plan = rows.select(columns)?.create_physical_plan().await?;
        Ok(Self { name, work: Work::Plan(plan, ctx.task_ctx()) })
    }

    /// Ours and the parquet crate's reader over maps of the file, each its own: nothing is copied before it is decoded.
    pub(crate) async fn mapped(query: &Query<'_>) -> Result<[Self; 2], Error> {
        let config = SessionConfig::new().with_target_partitions(1).with_batch_size(BATCH_SIZE);
        let options = Some(MiniblockOptions::new().with_memory_map(true));
        let ours = Self::plan_of("ours-mapped", config, options, query).await?;
        Ok([ours, Self { name: "reader-mapped", work: Work::Map(Reader::new(query)?) }])
    }

    /// A copy of `bytes`, so many at a time.
    pub(crate) fn memcpy(bytes: Vec<u8>, piece: usize) -> Self {
        Self { name: "memcpy", work: Work::Copy(bytes, RefCell::new(vec![1; piece])) }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// As text, of those who have one.
    pub(crate) fn plan(&self) -> String {
        match &self.work {
            Work::Plan(plan, _) => displayable(plan.as_ref()).indent(false).to_string(),
            _ => String::new(),
        }
    }

    /// Executes a plan that was not executed before.
    async fn run(&self, fresh: Option<Arc<dyn ExecutionPlan>>, take: &mut Take<'_>) -> Result<(), Error> {
        match &self.work {
            Work::Plan(plan, context) => {
                let mut batches = fresh.as_ref().unwrap_or(plan).execute(0, Arc::clone(context))?;
                while let Some(batch) = batches.next().await {
                    take(batch?)?;
                }
                Ok(())
            }
            Work::Read(reader) => reader.read(None, take),
            Work::RowFilter(reader, kernel) => reader.read(Some(kernel), take),
            Work::Filter(reader, kernel) => reader.read_and_filter(kernel, take),
            Work::Map(reader) => {
                // SAFETY: nobody changes the file.
                let bytes = Bytes::from_owner(unsafe { Mmap::map(&reader.file)? });
                let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, reader.metadata.clone());
                let builder = builder.with_batch_size(BATCH_SIZE).with_projection(reader.projection(reader.columns));
                for batch in builder.build()? {
                    take(batch?)?;
                }
                Ok(())
            }
            Work::Copy(bytes, buffer) => {
                let mut buffer = buffer.borrow_mut();
                for piece in bytes.chunks(buffer.len()) {
                    black_box(&mut buffer[..piece.len()]).copy_from_slice(black_box(piece));
                }
                Ok(())
            }
        }
    }

    /// Whether it delivers rows.
    fn delivers(&self) -> bool {
        !matches!(self.work, Work::Copy(..))
    }

    /// Plans remember what of their files was taken.
    fn fresh(&self) -> Result<Option<Arc<dyn ExecutionPlan>>, Error> {
        match &self.work {
            Work::Plan(plan, _) => Ok(Some(reset_plan_states(Arc::clone(plan))?)),
            _ => Ok(None),
        }
    }

    /// What it delivers, if it does.
    pub(crate) async fn receive(&self) -> Result<Option<Received>, Error> {
        let mut received = Received::default();
        self.run(self.fresh()?, &mut |batch| Ok(received.add(&batch)?)).await?;
        Ok(self.delivers().then_some(received))
    }

    /// The milliseconds that it takes to deliver so many rows, which are let go as they come.
    pub(crate) async fn time(&self, rows: usize) -> Result<f64, Error> {
        let mut delivered = 0;
        let fresh = self.fresh()?;
        let start = Instant::now();
        self.run(fresh, &mut |batch| {
            delivered += black_box(batch).num_rows();
            Ok(())
        })
        .await?;
        let time = start.elapsed().as_secs_f64() * 1e3;
        if delivered == rows || !self.delivers() {
            Ok(time)
        } else {
            Err(format!("{delivered} rows of {rows} were delivered").into())
        }
    }
}
