//! Writes the data, once: each table is generated in one pass and handed to a writer a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::Result;
use crate::dataset::{Dataset, Table};

const BATCH_SIZE: usize = 8192;
/// Batches that may wait for a slow writer.
const QUEUE: usize = 16;

/// Writes the files of `datasets` (of one scale factor, in one folder) that are not there yet.
///
/// A file is written under another name and renamed when it is whole, and one process at a time writes in a folder.
pub(crate) fn generate(datasets: &[Dataset], tables: &[Table]) -> Result<()> {
    let Some(Dataset { data_dir, scale_factor, .. }) = datasets.first() else { return Ok(()) };
    if missing(datasets, tables).is_empty() {
        return Ok(());
    }
    fs::create_dir_all(data_dir).map_err(|error| format!("cannot create {}: {error}", data_dir.display()))?;
    let lock = File::create(data_dir.join(".lock"))?;
    lock.lock()?;
    // Another process may have written while this one waited.
    let files = missing(datasets, tables);

    let rows = files.iter().map(|(table, _)| expected_rows(*table, *scale_factor)).sum();
    eprintln!("writing {} files of TPC-H data, SF {scale_factor}, to {}", files.len(), data_dir.display());
    let (start, bar) = (Instant::now(), progress_bar(rows));
    thread::scope(|scope| {
        let of_table = |table: Table| {
            let files: Vec<_> = files.iter().filter(|(of, _)| *of == table).map(|(_, dataset)| *dataset).collect();
            let bar = &bar;
            scope.spawn(move || write_table(table, *scale_factor, &files, bar))
        };
        let tables: Vec<_> = tables.iter().map(|&table| of_table(table)).collect();
        tables.into_iter().try_for_each(|table| join(table.join()))
    })?;
    bar.finish_and_clear();

    let bytes: u64 =
        files.iter().filter_map(|(table, dataset)| fs::metadata(dataset.path(*table)).ok()).map(|m| m.len()).sum();
    let (seconds, rows) = (start.elapsed().as_secs_f64(), bar.position() as f64);
    eprintln!(
        "wrote {:.1} M rows, {:.0} MB in {seconds:.1} s ({:.2} M rows/s)",
        rows / 1e6,
        bytes as f64 / 1e6,
        rows / 1e6 / seconds
    );
    Ok(())
}

fn missing<'a>(datasets: &'a [Dataset], tables: &[Table]) -> Vec<(Table, &'a Dataset)> {
    let files = tables.iter().flat_map(|&table| datasets.iter().map(move |dataset| (table, dataset)));
    files.filter(|(table, dataset)| !dataset.path(*table).exists()).collect()
}

/// For the progress bar only: an order has one to seven lineitems, four on average.
fn expected_rows(table: Table, scale_factor: f64) -> u64 {
    let rows = match table {
        Table::Lineitem => 4 * OrderGenerator::calculate_row_count(scale_factor, 1, 1),
        Table::Orders => OrderGenerator::calculate_row_count(scale_factor, 1, 1),
        // Four suppliers a part.
        Table::Partsupp => 4 * PartGenerator::calculate_row_count(scale_factor, 1, 1),
        Table::Part => PartGenerator::calculate_row_count(scale_factor, 1, 1),
        Table::Customer => CustomerGenerator::calculate_row_count(scale_factor, 1, 1),
        Table::Supplier => SupplierGenerator::calculate_row_count(scale_factor, 1, 1),
        Table::Nation => 25,
        Table::Region => 5,
    };
    u64::try_from(rows).unwrap_or(0)
}

fn progress_bar(rows: u64) -> ProgressBar {
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        // A progress bar that cannot be drawn is no reason to stop.
        let _ = write!(out, "{:.2} M rows/s", state.per_sec() / 1e6);
    };
    let bar = ProgressBar::new(rows);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {human_pos} rows  {rate}  {eta} left") {
        bar.set_style(style.with_key("rate", rate));
    }
    bar
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

fn generator(table: Table, scale_factor: f64) -> (SchemaRef, Batches) {
    macro_rules! whole {
        ($arrow:ident, $generator:ident) => {{
            let rows = $arrow::new($generator::new(scale_factor, 1, 1)).with_batch_size(BATCH_SIZE);
            ($arrow::schema_ref(), Box::new(rows))
        }};
    }
    match table {
        Table::Lineitem => whole!(LineItemArrow, LineItemGenerator),
        Table::Orders => whole!(OrderArrow, OrderGenerator),
        Table::Partsupp => whole!(PartSuppArrow, PartSuppGenerator),
        Table::Part => whole!(PartArrow, PartGenerator),
        Table::Customer => whole!(CustomerArrow, CustomerGenerator),
        Table::Supplier => whole!(SupplierArrow, SupplierGenerator),
        Table::Nation => whole!(NationArrow, NationGenerator),
        Table::Region => whole!(RegionArrow, RegionGenerator),
    }
}

/// Generates a table once and writes it to the file of every dataset, each on a thread of its own.
fn write_table(table: Table, scale_factor: f64, datasets: &[&Dataset], bar: &ProgressBar) -> Result<()> {
    if datasets.is_empty() {
        return Ok(());
    }
    let (schema, batches) = generator(table, scale_factor);
    thread::scope(|scope| {
        let mut queues = Vec::new();
        let mut writers = Vec::new();
        for dataset in datasets {
            let (queue, batches) = sync_channel(QUEUE);
            let properties = dataset.writer_properties(&schema)?;
            let (path, schema) = (dataset.path(table), Arc::clone(&schema));
            queues.push(queue);
            writers.push(scope.spawn(move || {
                write_file(&path, schema, &properties, &batches, bar)
                    .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
            }));
        }
        let fed = feed(batches, &queues);
        drop(queues);
        // A writer's own error says more than the queue that it left.
        writers.into_iter().try_for_each(|writer| join(writer.join()))?;
        fed
    })
}

/// Sends each batch to every queue, and `None` after the last: a queue that just closes is a failure.
fn feed(batches: Batches, queues: &[SyncSender<Option<RecordBatch>>]) -> Result<()> {
    for batch in batches {
        let batch = batch?;
        for queue in queues {
            queue.send(Some(batch.clone()))?;
        }
    }
    queues.iter().try_for_each(|queue| Ok(queue.send(None)?))
}

fn write_file(
    path: &Path,
    schema: SchemaRef,
    properties: &WriterProperties,
    batches: &Receiver<Option<RecordBatch>>,
    bar: &ProgressBar,
) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished: PathBuf = path.with_extension("parquet.unfinished");
    let mut writer = ArrowWriter::try_new(File::create(&unfinished)?, schema, Some(properties.clone()))?;
    while let Some(batch) = batches.recv().map_err(|_| "the generator stopped")? {
        writer.write(&batch)?;
        bar.inc(batch.num_rows() as u64);
    }
    // On the disk before it has its name, and before anything is measured.
    writer.into_inner()?.sync_all()?;
    Ok(fs::rename(&unfinished, path)?)
}

/// The result of a thread; a panic in it goes on in this one.
fn join(result: thread::Result<Result<()>>) -> Result<()> {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parquet::basic::{Encoding as PageEncoding, Type as PhysicalType};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::dataset::{Compression, Encoding};

    fn page_encodings(path: &Path) -> BTreeSet<(PhysicalType, PageEncoding)> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let mut found = BTreeSet::new();
        for column in reader.metadata().row_groups().iter().flat_map(|row_group| row_group.columns()) {
            // RLE is that of the levels.
            let encodings = column.encodings().filter(|encoding| *encoding != PageEncoding::RLE);
            found.extend(encodings.map(|encoding| (column.column_type(), encoding)));
        }
        found
    }

    #[test]
    fn files_carry_the_encodings_of_their_folder() {
        use PageEncoding::*;
        use PhysicalType::*;
        let data_dir = std::env::temp_dir().join(format!("tpch-generate-{}", std::process::id()));
        let dataset = |&encoding: &Encoding| Dataset {
            data_dir: data_dir.clone(),
            scale_factor: 0.001,
            encoding,
            compression: Compression::Snappy,
        };
        use clap::ValueEnum;
        let datasets: Vec<_> = Encoding::value_variants().iter().map(dataset).collect();
        generate(&datasets, Table::ALL).unwrap();
        for dataset in &datasets {
            let expected: &[_] = match dataset.encoding {
                Encoding::Delta => {
                    &[(INT32, DELTA_BINARY_PACKED), (INT64, DELTA_BINARY_PACKED), (BYTE_ARRAY, DELTA_BYTE_ARRAY)]
                }
                Encoding::DeltaLength => {
                    &[(INT32, DELTA_BINARY_PACKED), (INT64, DELTA_BINARY_PACKED), (BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY)]
                }
                Encoding::Plain => &[(INT32, PLAIN), (INT64, PLAIN), (BYTE_ARRAY, PLAIN)],
                Encoding::Dictionary => &[
                    (INT32, PLAIN),
                    (INT64, PLAIN),
                    (BYTE_ARRAY, PLAIN),
                    (INT32, RLE_DICTIONARY),
                    (INT64, RLE_DICTIONARY),
                    (BYTE_ARRAY, RLE_DICTIONARY),
                ],
            };
            for &table in Table::ALL {
                let found = page_encodings(&dataset.path(table));
                // Not every table has columns of every type.
                let has = |of: PhysicalType| found.iter().any(|(other, _)| *other == of);
                let expected = expected.iter().filter(|(of, _)| has(*of)).copied().collect();
                assert_eq!(found, expected, "{table:?} {dataset:?}");
            }
        }
        fs::remove_dir_all(&data_dir).unwrap();
    }

    #[test]
    fn a_folder_is_completed_and_what_is_there_stays() {
        let data_dir = std::env::temp_dir().join(format!("tpch-complete-{}", std::process::id()));
        let encoding = Encoding::Delta;
        let dataset = Dataset { data_dir, scale_factor: 0.001, encoding, compression: Compression::None };
        fs::create_dir_all(dataset.folder()).unwrap();
        fs::write(dataset.path(Table::Orders), "mine").unwrap();
        generate(std::slice::from_ref(&dataset), Table::ALL).unwrap();
        assert_eq!(fs::read(dataset.path(Table::Orders)).unwrap(), b"mine");
        let rows = |table: Table| {
            let reader = SerializedFileReader::new(File::open(dataset.path(table)).unwrap()).unwrap();
            u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap()
        };
        for table in [Table::Partsupp, Table::Part, Table::Customer, Table::Supplier, Table::Nation, Table::Region] {
            assert_eq!(rows(table), expected_rows(table, dataset.scale_factor), "{table:?}");
        }
        assert_eq!(fs::read_dir(dataset.folder()).unwrap().count(), Table::ALL.len());
        fs::remove_dir_all(&dataset.data_dir).unwrap();
    }
}
