//! Runs one SQL query over Parquet files, by Miniblock or by DataFusion's own reader.
//!
//! ```sh
//! cargo run --release --example query -- --table t=data.parquet "SELECT count(*) FROM t WHERE x > 10"
//! cargo run --release --example query -- --table t=data.parquet --reader datafusion --format csv "SELECT * FROM t"
//! ```

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::json::writer::{JsonArray, WriterBuilder};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow::util::pretty::pretty_format_batches_with_schema;
use clap::{Parser, ValueEnum};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::StreamExt;
use miniblock::{MiniblockOptions, SessionContextExt};

/// Runs one SQL query over Parquet files.
#[derive(Parser)]
#[command(name = "query")]
struct Options {
    /// A table: its name in SQL and a Parquet file, folder or glob (may be repeated)
    #[arg(long = "table", value_name = "NAME=PATH", value_parser = parse_table)]
    tables: Vec<(String, String)>,
    /// What reads the files
    #[arg(long, value_enum, default_value = "miniblock")]
    reader: Reader,
    /// Threads and target partitions [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// How the rows are printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// The query
    sql: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Reader {
    /// Miniblock
    Miniblock,
    /// DataFusion's own reader, with its default settings
    Datafusion,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Aligned columns
    Table,
    /// A header line and a line a row; NULL is an empty field, an empty string is ""
    Csv,
    /// One array with an object a row
    Json,
}

fn parse_table(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.to_owned())),
        _ => Err("NAME=PATH is wanted".to_owned()),
    }
}

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(message) => {
            // Help goes to standard output and is no failure.
            let failed = message.use_stderr();
            let _ = message.print();
            return if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match start(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whoever read our output has seen enough (`| head`).
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn start(options: Options) -> Result<(), Box<dyn Error>> {
    let threads = match options.threads {
        Some(threads) => usize::from(threads),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut runtime = if threads == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    runtime.worker_threads(threads).enable_all().build()?.block_on(run(options, threads))
}

async fn run(options: Options, threads: usize) -> Result<(), Box<dyn Error>> {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
    for (name, path) in &options.tables {
        register(&ctx, options.reader, name, path).await.map_err(|error| format!("table {name}: {error}"))?;
    }
    let frame = ctx.sql(&options.sql).await?;
    let mut out = BufWriter::new(io::stdout().lock());
    match options.format {
        Format::Table => {
            let schema = frame.schema().inner().clone();
            writeln!(out, "{}", pretty_format_batches_with_schema(schema, &frame.collect().await?)?)?;
        }
        Format::Csv => {
            let mut rows = frame.execute_stream().await?;
            write_csv_header(&mut out, &rows.schema())?;
            while let Some(batch) = rows.next().await {
                write_csv(&mut out, &batch?)?;
            }
        }
        Format::Json => {
            let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut out);
            let mut rows = frame.execute_stream().await?;
            while let Some(batch) = rows.next().await {
                writer.write(&batch?)?;
            }
            writer.finish()?;
            writeln!(out)?;
        }
    }
    Ok(out.flush()?)
}

async fn register(ctx: &SessionContext, reader: Reader, name: &str, path: &str) -> datafusion::error::Result<()> {
    // DataFusion tells a folder by the slash at its end.
    let is_folder = Path::new(path).is_dir() && !path.ends_with('/');
    let path = if is_folder { format!("{path}/") } else { path.to_owned() };
    match reader {
        Reader::Miniblock => ctx.register_miniblock(name, &path, MiniblockOptions::default()).await,
        Reader::Datafusion => {
            // A single file may have any name.
            let file_extension = if path.ends_with('/') { ".parquet" } else { "" };
            let options = ParquetReadOptions { file_extension, ..ParquetReadOptions::default() };
            ctx.register_parquet(name, &path, options).await
        }
    }
}

fn write_csv_header(out: &mut impl Write, schema: &Schema) -> io::Result<()> {
    let names: Vec<_> = schema.fields().iter().map(|field| quote(field.name())).collect();
    writeln!(out, "{}", names.join(","))
}

/// Unlike Arrow's CSV writer this one also prints nested columns.
fn write_csv(out: &mut impl Write, batch: &RecordBatch) -> Result<(), Box<dyn Error>> {
    let options = FormatOptions::default();
    let mut columns = Vec::new();
    for column in batch.columns() {
        columns.push((column.logical_nulls(), ArrayFormatter::try_new(column.as_ref(), &options)?));
    }
    for row in 0..batch.num_rows() {
        for (index, (nulls, formatter)) in columns.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                out.write_all(quote(&formatter.value(row).try_to_string()?).as_bytes())?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn quote(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
