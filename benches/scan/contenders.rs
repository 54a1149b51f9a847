//! Who reads the files.

use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, Scalar};
use arrow::compute::kernels::cmp::{gt_eq, lt_eq};
use arrow::compute::{and, cast, filter_record_batch};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{Expr, ParquetReadOptions, SessionConfig, SessionContext, col, lit};
use futures::StreamExt;
use miniblock::{MiniblockOptions, SessionContextExt};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::file::metadata::PageIndexPolicy;

use crate::Error;
use crate::data::Type;

const BATCH_SIZE: usize = 8192;

/// `columns` of the rows of a file whose `f` is between `low` and `high`.
pub(crate) struct Query<'a> {
    pub(crate) path: &'a Path,
    pub(crate) columns: &'static [&'static str],
    pub(crate) ty: Type,
    pub(crate) low: i64,
    pub(crate) high: i64,
}

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
            let wide = cast(column, &DataType::Int64)?;
            let Some(values) = wide.as_any().downcast_ref::<Int64Array>() else { continue };
            for value in values {
                let value = value.map_or(u64::MAX, i64::cast_unsigned);
                *checksum = (checksum.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
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
    low: Scalar<ArrayRef>,
    high: Scalar<ArrayRef>,
}

impl Reader {
    fn new(query: &Query<'_>) -> Result<Self, Error> {
        let file = File::open(query.path)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = ArrowReaderMetadata::load(&file, options)?;
        let scalar = |value: i64| -> Scalar<ArrayRef> {
            Scalar::new(match query.ty {
                Type::Int32 => Arc::new(Int32Array::from(vec![value as i32])),
                Type::Int64 => Arc::new(Int64Array::from(vec![value])),
            })
        };
        Ok(Self { file, metadata, columns: query.columns, low: scalar(query.low), high: scalar(query.high) })
    }

    fn open(&self) -> Result<ParquetRecordBatchReaderBuilder<File>, Error> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.try_clone()?, self.metadata.clone());
        Ok(builder.with_batch_size(BATCH_SIZE))
    }

    fn mask(&self, columns: &[&str]) -> ProjectionMask {
        ProjectionMask::columns(self.metadata.parquet_schema(), columns.iter().copied())
    }

    fn row_filter(&self, take: &mut Take<'_>) -> Result<(), Error> {
        let (low, high) = (self.low.clone(), self.high.clone());
        let predicate = ArrowPredicateFn::new(self.mask(&["f"]), move |batch| is_between(batch.column(0), &low, &high));
        let filter = RowFilter::new(vec![Box::new(predicate)]);
        let reader = self.open()?.with_row_filter(filter).with_projection(self.mask(self.columns)).build()?;
        for batch in reader {
            take(batch?)?;
        }
        Ok(())
    }

    fn filter(&self, take: &mut Take<'_>) -> Result<(), Error> {
        let mut columns = vec!["f"];
        columns.extend(self.columns.iter().filter(|column| **column != "f"));
        // The file has them in this order.
        let delivered: Vec<usize> =
            (0..columns.len()).filter(|&index| self.columns.contains(&columns[index])).collect();
        for batch in self.open()?.with_projection(self.mask(&columns)).build()? {
            let batch = batch?;
            let selected = is_between(batch.column(0), &self.low, &self.high)?;
            if selected.true_count() > 0 {
                take(filter_record_batch(&batch.project(&delivered)?, &selected)?)?;
            }
        }
        Ok(())
    }
}

fn is_between(values: &ArrayRef, low: &Scalar<ArrayRef>, high: &Scalar<ArrayRef>) -> Result<BooleanArray, ArrowError> {
    and(&gt_eq(values, low)?, &lt_eq(values, high)?)
}

type Take<'a> = dyn FnMut(RecordBatch) -> Result<(), Error> + 'a;

enum Work {
    Plan(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
    RowFilter(Reader),
    Filter(Reader),
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
            let ctx = SessionContext::new_with_config(config);
            let path = query.path.to_str().ok_or("a path that is no text")?;
            match pushdown {
                None => ctx.register_miniblock("t", path, MiniblockOptions::new()).await?,
                Some(_) => ctx.register_parquet("t", path, ParquetReadOptions::default()).await?,
            }
            let literal = |value: i64| match query.ty {
                Type::Int32 => lit(value as i32),
                Type::Int64 => lit(value),
            };
            let filter = col("f").between(literal(query.low), literal(query.high));
            let columns: Vec<Expr> = query.columns.iter().map(|column| col(*column)).collect();
            let plan = ctx.table("t").await?.filter(filter)?.select(columns)?.create_physical_plan().await?;
            contenders.push(Self { name, work: Work::Plan(plan, ctx.task_ctx()) });
        }
        let row_filter = Self { name: "rowfilter", work: Work::RowFilter(Reader::new(query)?) };
        let filter = Self { name: "filter", work: Work::Filter(Reader::new(query)?) };
        contenders.splice(1..1, [row_filter, filter]);
        Ok(contenders)
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
            Work::RowFilter(reader) => reader.row_filter(take),
            Work::Filter(reader) => reader.filter(take),
        }
    }

    /// Plans remember what of their files was taken.
    fn fresh(&self) -> Result<Option<Arc<dyn ExecutionPlan>>, Error> {
        match &self.work {
            Work::Plan(plan, _) => Ok(Some(reset_plan_states(Arc::clone(plan))?)),
            _ => Ok(None),
        }
    }

    /// What it delivers.
    pub(crate) async fn receive(&self) -> Result<Received, Error> {
        let mut received = Received::default();
        self.run(self.fresh()?, &mut |batch| Ok(received.add(&batch)?)).await?;
        Ok(received)
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
        if delivered == rows { Ok(time) } else { Err(format!("{delivered} rows of {rows} were delivered").into()) }
    }
}
