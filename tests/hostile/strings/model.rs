//! Pages of strings, right and wrong, and what they hold.

use arrow::datatypes::DataType;
use bytes::Bytes;
use parquet::basic::Compression;

use crate::differential::rng::Rng;
use crate::hostile::pages::delta;
use crate::hostile::parts::{Encoding, Page, Parts, levels};

/// What the column is in the file, and what it is read as.
#[derive(Debug, Clone)]
pub(super) enum Output {
    /// Text, as this type.
    Text(DataType),
    /// Bytes that are called text by a setting.
    CalledText,
    /// Bytes, as this type.
    Binary(DataType),
}

pub(super) fn outputs() -> [Output; 7] {
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

pub(super) fn is_text(output: &Output) -> bool {
    !matches!(output, Output::Binary(_))
}

/// What a row holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Bytes(Vec<u8>),
    /// No reader can tell.
    Unknown,
}

/// The values of a page as its encoding stores them.
pub(super) struct Values {
    pub(super) encoding: Encoding,
    pub(super) prefixes: Vec<i32>,
    /// The lengths that are claimed.
    pub(super) lengths: Vec<i32>,
    suffixes: Vec<Vec<u8>>,
    /// The bytes of the page that are there.
    pub(super) cut: usize,
}

impl Values {
    pub(super) fn new<T: AsRef<[u8]>>(encoding: Encoding, values: &[T]) -> Self {
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

    pub(super) fn headers(&self) -> Vec<u8> {
        match self.encoding {
            Encoding::DeltaLengthByteArray => delta(&self.lengths),
            Encoding::DeltaByteArray => [delta(&self.prefixes), delta(&self.lengths)].concat(),
            _ => Vec::new(),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
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
    pub(super) fn cells(&self) -> Vec<Cell> {
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
pub(super) struct File {
    pub(super) output: Output,
    pub(super) bytes: Bytes,
    pub(super) rows: Vec<Cell>,
    /// The page of each row of the second row group.
    pub(super) pages: Vec<usize>,
}

pub(super) const SOUND: [&str; 5] = ["", "sound", "sound and longer than twelve bytes", "é", "zz"];

/// Values of one row group, page by page; NULL where `nulls` says so.
pub(super) fn file(rng: &mut Rng, output: Output, pages: &[Values], nulls: &[Vec<bool>]) -> File {
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
pub(super) fn is_bad(cell: &Cell, output: &Output) -> bool {
    match cell {
        Cell::Null => false,
        Cell::Bytes(bytes) => is_text(output) && std::str::from_utf8(bytes).is_err(),
        Cell::Unknown => true,
    }
}

/// Short values, long ones, or both; of the last kind not all are ASCII.
pub(super) fn texts(kind: usize, rows: usize) -> Vec<Vec<u8>> {
    let value = |row: usize| {
        let number = row * 7919 % 10_007;
        match if kind < 2 { kind } else { number % 2 } {
            0 => format!("v{number}"),
            _ if kind == 2 && number.is_multiple_of(5) => format!("value é水😀 {number} {}", "ü".repeat(number % 40)),
            _ => format!("value-{:06}-{}", row * 3, "x".repeat(number % 40)),
        }
    };
    (0..rows).map(|row| value(row).into_bytes()).collect()
}

/// Rows of the pages: one page, pages of 1000, or a border before the row `at`, after it, or on both sides, or anywhere.
pub(super) fn layout(rng: &mut Rng, rows: usize, at: usize) -> Vec<usize> {
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
pub(super) fn nulls(rng: &mut Rng, layout: &[usize], at: usize) -> Vec<Vec<bool>> {
    let some = rng.one_in(3);
    let mut row = 0;
    let mut null = |rng: &mut Rng| {
        row += 1;
        some && rng.one_in(5) && !(at..at + 4).contains(&(row - 1))
    };
    layout.iter().map(|&rows| (0..rows).map(|_| null(rng)).collect()).collect()
}

/// The values of each page that are not NULL, and where in them the row `at` is: page, and value.
pub(super) fn paged(
    encoding: Encoding,
    values: &[Vec<u8>],
    nulls: &[Vec<bool>],
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
pub(super) const FAULTS: [&str; 9] = [
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
pub(super) fn break_at(values: &mut Values, fault: usize, at: usize) -> bool {
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
