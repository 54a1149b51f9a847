//! Pages of strings that contradict themselves, and text that is none: the rows that a page has, or an error that names it.
//!
//! A model reads the streams of a page as the specification has it, and says of each row which bytes it holds, or that no
//! reader can tell. A query that is handed a row of the second kind, or text that is not UTF-8, must be refused; one that is
//! not may be, in the words of the place; and no other rows than the model's may come. Binary is not asked to be text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use bytes::Bytes;
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
use parquet::basic::Compression;

use super::pages::delta;
use super::parts::{Encoding, Page, Parts, levels};
use super::read::{FILE, register, session};
use crate::differential::rng::Rng;

const ENCODINGS: [Encoding; 3] = [Encoding::Plain, Encoding::DeltaLengthByteArray, Encoding::DeltaByteArray];

const BATCH_SIZES: [usize; 11] = [1, 2, 3, 7, 1023, 1024, 1025, 4095, 4096, 4097, 8192];

/// Rows at and beside the borders of windows, batches and what is decoded at once.
const PLACES: [usize; 16] = [0, 1, 2, 6, 7, 1022, 1023, 1024, 1025, 2047, 4094, 4095, 4096, 4097, 8191, 8192];

/// What the column is in the file, and what it is read as.
#[derive(Debug, Clone)]
enum Output {
    /// Text, as this type.
    Text(DataType),
    /// Bytes that are called text by a setting.
    CalledText,
    /// Bytes, as this type.
    Binary(DataType),
}

fn outputs() -> [Output; 7] {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    use DataType::{LargeUtf8, Utf8, Utf8View};
    use Output::{Binary, CalledText, Text};
    [
        Text(Utf8View),
        Text(Utf8),
        Text(LargeUtf8),
        Text(dictionary),
        CalledText,
        Binary(DataType::BinaryView),
        Binary(DataType::Binary),
    ]
}

fn is_text(output: &Output) -> bool {
    !matches!(output, Output::Binary(_))
}

/// What a row holds.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Bytes(Vec<u8>),
    /// No reader can tell.
    Unknown,
}

/// The values of a page as its encoding stores them.
struct Values {
    encoding: Encoding,
    prefixes: Vec<i32>,
    /// The lengths that are claimed.
    lengths: Vec<i32>,
    suffixes: Vec<Vec<u8>>,
    /// The bytes of the page that are there.
    cut: usize,
}

impl Values {
    fn new<T: AsRef<[u8]>>(encoding: Encoding, values: &[T]) -> Self {
        let mut previous: &[u8] = &[];
        let (mut prefixes, mut suffixes) = (Vec::new(), Vec::new());
        for value in values.iter().map(AsRef::as_ref) {
            // As long as can be, whatever characters it cuts in two.
            let same = previous.iter().zip(value).take_while(|(a, b)| a == b).count();
            let prefix = if encoding == Encoding::DeltaByteArray { same } else { 0 };
            prefixes.push(prefix as i32);
            suffixes.push(value[prefix..].to_vec());
            previous = value;
        }
        let lengths = suffixes.iter().map(|suffix| suffix.len() as i32).collect();
        Self { encoding, prefixes, lengths, suffixes, cut: usize::MAX }
    }

    fn headers(&self) -> Vec<u8> {
        match self.encoding {
            Encoding::DeltaLengthByteArray => delta(&self.lengths),
            Encoding::DeltaByteArray => [delta(&self.prefixes), delta(&self.lengths)].concat(),
            _ => Vec::new(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.headers();
        for (length, suffix) in self.lengths.iter().zip(&self.suffixes) {
            if self.encoding == Encoding::Plain {
                bytes.extend(length.to_le_bytes());
            }
            bytes.extend_from_slice(suffix);
        }
        bytes.truncate(self.cut);
        bytes
    }

    /// What the page says, read as slowly as can be.
    fn cells(&self) -> Vec<Cell> {
        let page = self.encode();
        let Some(mut left) = page.get(self.headers().len()..) else {
            return vec![Cell::Unknown; self.lengths.len()];
        };
        let mut take = |length: i32| -> Option<Vec<u8>> {
            let taken = usize::try_from(length).ok().and_then(|length| left.split_at_checked(length));
            // Where a value begins that comes after one that does not end nobody knows.
            let (value, rest) = taken.unwrap_or_default();
            left = rest;
            taken.map(|_| value.to_vec())
        };
        let mut lost = false;
        let mut previous = Some(Vec::new());
        let mut cells = Vec::new();
        for (index, &length) in self.lengths.iter().enumerate() {
            let mut length = Some(length);
            if self.encoding == Encoding::Plain {
                length = take(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()));
            }
            let suffix = length.and_then(&mut take).filter(|_| !lost);
            lost |= suffix.is_none();
            let prefix = usize::try_from(self.prefixes[index]).ok();
            let value = match (prefix, suffix) {
                // A value that shares nothing needs none before it.
                (Some(0), suffix) => suffix,
                (Some(prefix), Some(suffix)) => {
                    previous.as_ref().and_then(|previous| previous.get(..prefix)).map(|head| [head, &suffix].concat())
                }
                _ => None,
            };
            cells.push(value.clone().map_or(Cell::Unknown, Cell::Bytes));
            previous = value;
        }
        cells
    }
}

/// A file of `id`, which counts, and `s`, and what the model says of it. The first row group is sound.
struct File {
    output: Output,
    bytes: Bytes,
    rows: Vec<Cell>,
    /// The page of each row of the second row group.
    pages: Vec<usize>,
}

const SOUND: [&str; 5] = ["", "sound", "sound and longer than twelve bytes", "é", "zz"];

/// Values of one row group, page by page; NULL where `nulls` says so.
fn file(rng: &mut Rng, output: Output, pages: &[Values], nulls: &[Vec<bool>]) -> File {
    let compression = rng.pick(&[Compression::UNCOMPRESSED, Compression::UNCOMPRESSED, Compression::SNAPPY]);
    let version = rng.below(2);
    let optional = nulls.iter().flatten().any(|&null| null);
    let page = |values: &[u8], nulls: &[bool], encoding| {
        let valid: Vec<bool> = nulls.iter().map(|null| !null).collect();
        let levels = optional.then(|| levels(&valid));
        let page = match version {
            0 => Page::v1(nulls.len(), encoding, levels.as_deref(), values),
            _ => {
                let null_count = nulls.iter().filter(|&&null| null).count();
                Page::v2([nulls.len(), null_count], encoding, levels.as_deref(), values)
            }
        };
        if compression == Compression::UNCOMPRESSED { page } else { page.compressed(compression) }
    };
    let ids = |range: std::ops::Range<usize>| {
        let ids: Vec<i32> = range.map(|id| id as i32).collect();
        let page = Page::v1(ids.len(), Encoding::DeltaBinaryPacked, None, &delta(&ids));
        vec![if compression == Compression::UNCOMPRESSED { page } else { page.compressed(compression) }]
    };
    let repetition = if optional { "optional" } else { "required" };
    let annotation = if let Output::Text(_) = output { "(UTF8)" } else { "" };
    let schema = format!("message m {{ required int32 id; {repetition} binary s {annotation}; }}");
    let sound = Values::new(Encoding::Plain, &SOUND);
    let first = vec![ids(0..SOUND.len()), vec![page(&sound.encode(), &[false; SOUND.len()], Encoding::Plain)]];
    let count: usize = nulls.iter().map(Vec::len).sum();
    let strings = pages.iter().zip(nulls).map(|(values, nulls)| page(&values.encode(), nulls, values.encoding));
    let second = vec![ids(SOUND.len()..SOUND.len() + count), strings.collect()];
    let bytes = Parts::new(&schema)
        .row_group(SOUND.len() as i64, compression, first)
        .row_group(count as i64, compression, second)
        .assemble();
    let mut rows = sound.cells();
    for (values, nulls) in pages.iter().zip(nulls) {
        let mut cells = values.cells().into_iter();
        rows.extend(nulls.iter().map(|&null| if null { Cell::Null } else { cells.next().unwrap() }));
    }
    let pages = nulls.iter().enumerate().flat_map(|(page, nulls)| vec![page; nulls.len()]).collect();
    File { output, bytes, rows, pages }
}

/// Whether someone who is handed the row has to be told that it is none.
fn is_bad(cell: &Cell, output: &Output) -> bool {
    match cell {
        Cell::Null => false,
        Cell::Bytes(bytes) => is_text(output) && std::str::from_utf8(bytes).is_err(),
        Cell::Unknown => true,
    }
}

type Rows = Vec<(usize, Option<Vec<u8>>)>;

fn rows_of(batches: &[RecordBatch]) -> Rows {
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

fn schema(data_type: &DataType) -> Arc<Schema> {
    let fields = vec![Field::new("id", DataType::Int32, true), Field::new("s", data_type.clone(), true)];
    Arc::new(Schema::new(fields))
}

/// A file that is asked.
struct Reading<'a> {
    file: &'a File,
    ctx: SessionContext,
    name: String,
}

impl<'a> Reading<'a> {
    async fn open(file: &'a File, batch_size: usize, name: &str) -> Self {
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

    async fn rows(&self, filter: &str, selected: impl Fn(usize) -> bool) {
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
    async fn by_value(&self, value: &[u8]) {
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
    }

    /// Rows that a caller's access plan selects.
    async fn by_access_plan(&self, what: &str, selected: impl Fn(usize) -> bool) {
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
    async fn around(&self, at: usize, turn: usize) {
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

/// Short values, long ones, or both; of the last kind not all are ASCII.
fn texts(kind: usize, rows: usize) -> Vec<Vec<u8>> {
    let value = |row: usize| {
        let number = row * 7919 % 10_007;
        match if kind < 2 { kind } else { number % 2 } {
            0 => format!("v{number}"),
            _ if kind == 2 && number % 5 == 0 => format!("value é水😀 {number} {}", "ü".repeat(number % 40)),
            _ => format!("value-{:06}-{}", row * 3, "x".repeat(number % 40)),
        }
    };
    (0..rows).map(|row| value(row).into_bytes()).collect()
}

/// Rows of the pages: one page, pages of 1000, or a border before the row `at`, after it, or on both sides, or anywhere.
fn layout(rng: &mut Rng, rows: usize, at: usize) -> Vec<usize> {
    let ends: Vec<usize> = match rng.below(6) {
        0 => Vec::new(),
        1 => (1000..rows).step_by(1000).collect(),
        2 => vec![at],
        3 => vec![at + 1],
        4 => vec![at, at + 1],
        _ => (0..rng.below(12)).map(|_| rng.below(rows)).collect(),
    };
    let mut ends: Vec<usize> = ends.into_iter().filter(|&end| 0 < end && end < rows).chain([rows]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut start = 0;
    ends.into_iter().map(|end| end - std::mem::replace(&mut start, end)).collect()
}

/// Where NULLs are, page by page: nowhere, or in one of five rows, but not at `at` and behind it.
fn nulls(rng: &mut Rng, layout: &[usize], at: usize) -> Vec<Vec<bool>> {
    let some = rng.one_in(3);
    let mut row = 0;
    let mut null = |rng: &mut Rng| {
        row += 1;
        some && rng.one_in(5) && !(at..at + 4).contains(&(row - 1))
    };
    layout.iter().map(|&rows| (0..rows).map(|_| null(rng)).collect()).collect()
}

/// The values of each page that are not NULL, and where in them the row `at` is: page, and value.
fn paged<'a>(
    encoding: Encoding,
    values: &[Vec<u8>],
    nulls: &'a [Vec<bool>],
    at: usize,
) -> (Vec<Values>, (usize, usize)) {
    let mut rest = values;
    let (mut pages, mut place, mut start) = (Vec::new(), (0, 0), 0);
    for nulls in nulls {
        let (rows, after) = rest.split_at(nulls.len());
        rest = after;
        let set = |nulls: &[bool]| nulls.iter().filter(|&&null| !null).count();
        if (start..start + nulls.len()).contains(&at) {
            place = (pages.len(), set(&nulls[..at - start]));
        }
        let valid: Vec<&Vec<u8>> = rows.iter().zip(nulls).filter(|(_, null)| !**null).map(|(value, _)| value).collect();
        pages.push(Values::new(encoding, &valid));
        start += nulls.len();
    }
    (pages, place)
}

/// Ways in which lengths and prefixes are wrong, from value `at` of a page on.
const FAULTS: [&str; 9] = [
    "a negative length",
    "the least length",
    "the greatest length",
    "lengths whose sum wraps to the right one",
    "a negative length in the right sum",
    "one byte more than there is",
    "a prefix longer than the value before",
    "a negative prefix",
    "a prefix and a length that overflow",
];

/// Whether the fault could be made.
fn break_at(values: &mut Values, fault: usize, at: usize) -> bool {
    let previous = at.checked_sub(1).map_or(0, |before| values.prefixes[before] + values.lengths[before]);
    let has_next = at + 2 < values.lengths.len();
    let length = values.lengths[at];
    match fault {
        0 => values.lengths[at] = -1,
        1 => values.lengths[at] = i32::MIN,
        2 => values.lengths[at] = i32::MAX,
        3 if has_next => {
            let sum = length + values.lengths[at + 1] + values.lengths[at + 2];
            values.lengths[at..at + 3].copy_from_slice(&[i32::MAX, i32::MAX, sum + 2]);
        }
        4 if has_next => {
            values.lengths[at] += 50;
            values.lengths[at + 1] -= 50;
            return values.lengths[at + 1] < 0;
        }
        5 => *values.lengths.last_mut().unwrap() += 1,
        6..=8 if values.encoding != Encoding::DeltaByteArray => return false,
        6 => values.prefixes[at] = previous + 1,
        7 => values.prefixes[at] = -1,
        8 => (values.prefixes[at], values.lengths[at]) = (i32::MAX, i32::MAX),
        _ => return false,
    }
    true
}

async fn lengths_of(encoding: Encoding, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut turn = seed as usize;
    let outputs = outputs();
    for (fault, what) in FAULTS.iter().enumerate() {
        for at in PLACES {
            turn += 1;
            let values = texts(turn % 3, at + rng.pick(&[1, 2, 3, 500, 3000]));
            let layout = layout(&mut rng, values.len(), at);
            let nulls = nulls(&mut rng, &layout, at);
            let (mut pages, (page, value)) = paged(encoding, &values, &nulls, at);
            if !break_at(&mut pages[page], fault, value) {
                continue;
            }
            let output = outputs[turn / 2 % outputs.len()].clone();
            let file = file(&mut rng, output, &pages, &nulls);
            assert!(file.rows.contains(&Cell::Unknown));
            let batch_size = BATCH_SIZES[turn % BATCH_SIZES.len()];
            let name = format!("{encoding}, {what} at {at}, pages of {layout:?}");
            let reading = Reading::open(&file, batch_size, &name).await;
            reading.around(at, turn).await;
            // A row that comes first, and the first of the page.
            let first: usize = layout[..page].iter().sum();
            reading.around(first, turn + 1).await;
            if turn % 5 == 0 {
                reading.by_value(&values[at / 2]).await;
            }
        }
    }
}

#[tokio::test]
async fn lengths_that_cannot_be_in_plain() {
    lengths_of(Encoding::Plain, 1).await;
}

#[tokio::test]
async fn lengths_that_cannot_be_in_delta_length_byte_array() {
    lengths_of(Encoding::DeltaLengthByteArray, 2).await;
}

#[tokio::test]
async fn lengths_that_cannot_be_in_delta_byte_array() {
    lengths_of(Encoding::DeltaByteArray, 3).await;
}

/// A page between two sound ones that ends at each of its bytes.
#[tokio::test]
async fn strings_that_end_early() {
    let mut rng = Rng::new(4);
    let outputs = outputs();
    let mut turn = 0;
    for encoding in ENCODINGS {
        for kind in 0..3 {
            let values = texts(kind, 21);
            let nulls = vec![vec![false; 7]; 3];
            let (mut pages, _) = paged(encoding, &values, &nulls, 0);
            for cut in 0..pages[1].encode().len() {
                turn += 1;
                pages[1].cut = cut;
                let file = file(&mut rng, outputs[turn % outputs.len()].clone(), &pages, &nulls);
                pages[1].cut = usize::MAX;
                let name = format!("{encoding}, {kind}, {cut} bytes");
                let reading = Reading::open(&file, [8192, 7, 1][turn / 2 % 3], &name).await;
                reading.rows("", |_| true).await;
                let row = SOUND.len() + 7 + turn % 7;
                reading.rows(&format!(" WHERE id = {row}"), |id| id == row).await;
                if turn % 8 == 0 {
                    reading.by_value(&values[turn % 21]).await;
                }
            }
        }
    }
}

/// Characters that are cut in two by the border of two values. Together they are UTF-8, and neither is; or one is, which shares
/// the first bytes of the character with the other: then all that DELTA_BYTE_ARRAY stores may be.
#[tokio::test]
async fn characters_that_two_values_share() {
    let mut rng = Rng::new(5);
    let outputs = outputs();
    let mut turn = 0;
    for encoding in ENCODINGS {
        for character in ["é", "水", "😀"] {
            for split in 1..character.len() {
                for at in PLACES {
                    turn += 1;
                    if rng.one_in(2) {
                        continue;
                    }
                    let (head, tail) = character.as_bytes().split_at(split);
                    let mut values = texts(turn % 3, at + rng.pick(&[2, 3, 500, 3000]));
                    // Both of any length: in a view, or not, and the character at any place of it.
                    let (before, after) =
                        (rng.pick(&[0, 1, 3, 4, 8, 11, 12, 13, 40]), rng.pick(&[0, 1, 9, 11, 12, 13, 40]));
                    let (before, after) = (vec![b'a'; before], vec![b'z'; after]);
                    let (whole, part) = ([before.as_slice(), head, tail].concat(), [before.as_slice(), head].concat());
                    let pair = match rng.below(4) {
                        0 | 1 => [part, [tail, &after].concat()],
                        2 => [part, [whole, after].concat()],
                        _ => [whole, [part, after].concat()],
                    };
                    values[at..at + 2].clone_from_slice(&pair);
                    let layout = layout(&mut rng, values.len(), at);
                    let nulls = nulls(&mut rng, &layout, at);
                    let (pages, _) = paged(encoding, &values, &nulls, at);
                    let output = outputs[turn / 2 % outputs.len()].clone();
                    let file = file(&mut rng, output, &pages, &nulls);
                    let batch_size = BATCH_SIZES[turn % BATCH_SIZES.len()];
                    let name = format!("{encoding}, {character} cut at {split} in row {at}, pages of {layout:?}");
                    let reading = Reading::open(&file, batch_size, &name).await;
                    reading.around(at, turn).await;
                    if turn % 3 == 0 {
                        reading.around(at + 1, turn + 1).await;
                    }
                    if turn % 7 == 0 {
                        reading.by_value(&values[at / 2]).await;
                    }
                }
            }
        }
    }
}

/// Text of all lengths of characters at each place of a value, in which values that follow each other share some of the bytes
/// of a character.
fn text_of_all_characters() -> Vec<Vec<u8>> {
    let characters = [
        "é", "è", "ê", "水", "氵", "永", "汉", "𝄞", "😀", "😁", "🚀", "é", "a", "ö", "漢", "👍", "", "ÿ", "\u{7ff}",
        "\u{ffff}",
    ];
    let mut values = Vec::new();
    for after in [0, 1, 5, 20] {
        for before in 0..21 {
            for character in characters {
                values.push(format!("{}{character}{}", "a".repeat(before), "ü".repeat(after)).into_bytes());
            }
        }
    }
    values
}

/// They are read right.
#[tokio::test]
async fn characters_at_every_place() {
    let mut rng = Rng::new(6);
    let mut values = text_of_all_characters();
    // In the order that shares most, in one that shares little, and by columns.
    let few = values.len();
    let shuffled: Vec<_> = (0..few).map(|row| values[row * 1009 % few].clone()).collect();
    values.extend(shuffled);
    let by_columns: Vec<_> = (0..few).map(|row| values[row * 20 % few + row * 20 / few].clone()).collect();
    values.extend(by_columns);
    values.extend(values.clone());
    values.truncate(9000);
    let mut turn = 0;
    for encoding in ENCODINGS {
        for output in outputs() {
            for batch_size in BATCH_SIZES {
                turn += 1;
                // Batches of one row are slow.
                let rows = if batch_size < 10 { few } else { values.len() };
                let values = &values[..rows];
                let at = rng.pick(&PLACES).min(rows - 1);
                let layout = layout(&mut rng, values.len(), at);
                let nulls = nulls(&mut rng, &layout, at);
                let (pages, _) = paged(encoding, values, &nulls, at);
                let file = file(&mut rng, output.clone(), &pages, &nulls);
                let name = format!("{encoding}, pages of {layout:?}");
                let reading = Reading::open(&file, batch_size, &name).await;
                reading.around(at, turn).await;
                if turn % 4 == 0 {
                    reading.by_value(&rng.pick(values)).await;
                }
            }
        }
    }
}

/// Values of any length up to a megabyte, so that they cross the borders of whatever memory is divided into.
#[tokio::test]
async fn values_that_are_long() {
    let mut rng = Rng::new(7);
    let alphabet: Vec<char> = ('!'..'~').filter(|c| !"'%_\\".contains(*c)).chain("äöüß水火😀".chars()).collect();
    let pool: String = (0..1_500_000).map(|_| rng.pick(&alphabet)).collect();
    let text = |rng: &mut Rng, len: usize| {
        let start = pool.floor_char_boundary(rng.below(pool.len() - len));
        pool[start..pool.floor_char_boundary(start + len)].as_bytes().to_vec()
    };
    let mut values: Vec<Vec<u8>> = Vec::new();
    for row in 0..2500 {
        let len = match row {
            500 | 1900 => 1_100_000,
            _ if rng.one_in(300) => rng.pick(&[65_000, 65_536, 131_071, 262_145]),
            _ if rng.one_in(10) => rng.below(8000),
            _ => rng.below(200),
        };
        let mut value = text(&mut rng, len);
        // Often the beginning of the value before, wherever that ends.
        if let (Some(previous), true) = (values.last(), rng.one_in(2)) {
            let shared = str::from_utf8(previous).unwrap();
            let shared = &shared[..shared.floor_char_boundary(rng.below(shared.len().min(3000) + 1))];
            value = [shared.as_bytes(), &value].concat();
        }
        values.push(value);
    }
    let mut turn = 0;
    for encoding in ENCODINGS {
        for bad in [None, Some(499), Some(500), Some(1900), Some(2400)] {
            turn += 1;
            let mut values = values.clone();
            if let Some(bad) = bad {
                values[bad].extend(b"\xe6\xb0");
                values[bad + 1] = [b"\xb4", values[bad + 1].as_slice()].concat();
            }
            let at = bad.unwrap_or(1200);
            let layout = layout(&mut rng, values.len(), at);
            let nulls = nulls(&mut rng, &layout, at);
            let (pages, _) = paged(encoding, &values, &nulls, at);
            for _ in 0..2 {
                turn += 1;
                let output = rng.pick(&outputs());
                let file = file(&mut rng, output, &pages, &nulls);
                let batch_size = rng.pick(&[7, 1000, 1024, 8192]);
                let name = format!("{encoding}, bad {bad:?}, pages of {layout:?}");
                let reading = Reading::open(&file, batch_size, &name).await;
                reading.around(at, turn).await;
                reading.by_value(&values[1200]).await;
            }
        }
    }
}
