//! Small wrongs: bytes that flip, pages that are cut, swapped, or say what they are not.

use std::ops::Range;

use bytes::Bytes;
use miniblock::internals::page::{PageHeader, PageKind};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaDataReader;

use super::parts::{Encoding, Page, Parts, for_each_page};
use crate::differential::rng::Rng;

/// A file to be changed.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
    parts: Parts,
    pages: Vec<Place>,
    /// From the footer's first byte to the end of the file.
    footer: Range<usize>,
}

/// Where a page is in the file.
struct Place {
    header: Range<usize>,
    body: Range<usize>,
    root: usize,
}

/// A changed file.
pub(crate) struct Mutant {
    pub(crate) bytes: Bytes,
    /// What was done to it.
    pub(crate) what: String,
    /// The root column that was hit, if it was one.
    pub(crate) root: Option<usize>,
}

/// Values at which counts go wrong.
const NUMBERS: [u8; 8] = [0, 1, 0x20, 0x40, 0x7f, 0x80, 0xfe, 0xff];

impl Subject {
    pub(crate) fn new(name: impl Into<String>, bytes: Bytes) -> Self {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
        let descriptor = metadata.file_metadata().schema_descr();
        let mut pages = Vec::new();
        for row_group in metadata.row_groups() {
            for (leaf, column) in row_group.columns().iter().enumerate() {
                let root = descriptor.get_column_root_idx(leaf);
                for_each_page(&bytes, column, |_, header, body| pages.push(Place { header, body, root }));
            }
        }
        let length = bytes.len();
        let footer_length = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap()) as usize;
        Self { name: name.into(), parts: Parts::of(&bytes), pages, footer: length - 8 - footer_length..length, bytes }
    }

    /// The same file with pages that are not compressed, if it has others.
    pub(crate) fn unpacked(&self) -> Option<Self> {
        let mut chunks = self.parts.row_groups.iter().flat_map(|row_group| &row_group.chunks);
        chunks.any(|chunk| chunk.metadata.compression() != Compression::UNCOMPRESSED).then(|| {
            let bytes = self.parts.unpacked().assemble();
            Self::new(format!("{}:unpacked", self.name), bytes)
        })
    }

    /// Does one small wrong.
    pub(crate) fn mutate(&self, rng: &mut Rng) -> Mutant {
        if self.pages.is_empty() {
            return self.flip_in_footer(rng);
        }
        match rng.below(100) {
            0..18 => self.flip_in_page(rng, "header", |_, place| place.header.clone()),
            // Encodings begin with their counts.
            18..36 => self.flip_in_page(rng, "first bytes", |_, place| {
                place.body.start..place.body.end.min(place.body.start + 24)
            }),
            36..50 => self.flip_in_page(rng, "body", |_, place| place.body.clone()),
            50..62 => self.flip_in_footer(rng),
            62..64 => self.flip(rng, "file", 0..self.bytes.len(), None),
            64..68 => self.cut(rng),
            68..76 => self.splice(rng),
            76..86 => self.change_page(rng, "count", change_count),
            86..91 => self.change_page(rng, "encoding", change_encoding),
            91..96 => self.change_page(rng, "bytes", change_bytes),
            _ => self.change_footer(rng),
        }
    }

    fn flip_in_page(&self, rng: &mut Rng, what: &str, part: impl Fn(&Self, &Place) -> Range<usize>) -> Mutant {
        let place = &self.pages[rng.below(self.pages.len())];
        let range = part(self, place);
        let range = if range.is_empty() { place.header.clone() } else { range };
        self.flip(rng, what, range, Some(place.root))
    }

    fn flip_in_footer(&self, rng: &mut Rng) -> Mutant {
        self.flip(rng, "footer", self.footer.clone(), None)
    }

    /// Changes one byte.
    fn flip(&self, rng: &mut Rng, part: &str, range: Range<usize>, root: Option<usize>) -> Mutant {
        let at = range.start + rng.below(range.len());
        let mut bytes = self.bytes.to_vec();
        let before = bytes[at];
        bytes[at] = match rng.below(4) {
            0 => rng.pick(&NUMBERS),
            1 => rng.word() as u8,
            _ => before ^ 1 << rng.below(8),
        };
        if bytes[at] == before {
            bytes[at] ^= 1;
        }
        Mutant {
            what: format!("byte {at} ({part}) from {before:#04x} to {:#04x}", bytes[at]),
            bytes: bytes.into(),
            root,
        }
    }

    /// Cuts the file, or a part out of it.
    fn cut(&self, rng: &mut Rng) -> Mutant {
        if rng.one_in(3) {
            let len = rng.below(self.bytes.len());
            return Mutant { bytes: self.bytes.slice(..len), what: format!("file cut to {len} bytes"), root: None };
        }
        // What follows moves, but the footer is where it is looked for.
        let place = &self.pages[rng.below(self.pages.len())];
        let from = place.header.start + rng.below(place.body.end - place.header.start);
        let to = (from + 1 + rng.below(20)).min(place.body.end);
        let bytes = [&self.bytes[..from], &self.bytes[to..]].concat();
        Mutant { bytes: bytes.into(), what: format!("bytes {from}..{to} cut out"), root: Some(place.root) }
    }

    /// Puts a page in another's place.
    fn splice(&self, rng: &mut Rng) -> Mutant {
        let mut parts = self.parts.clone();
        let (from, to) = (self.any_page(rng), self.any_page(rng));
        let mut page = parts.page(from).clone();
        if rng.one_in(2)
            && let Some(values) = parts.page(to).header.data_values()
        {
            set_num_values(&mut page.header, values);
        }
        *parts.page_mut(to) = page;
        Mutant { bytes: parts.assemble(), what: format!("page {to:?} is page {from:?}"), root: self.root(to) }
    }

    fn change_page(&self, rng: &mut Rng, what: &str, change: impl Fn(&mut Rng, &mut Page)) -> Mutant {
        let mut parts = self.parts.clone();
        let at = self.any_page(rng);
        let page = parts.page_mut(at);
        let before = page.clone();
        change(rng, page);
        let what = if before.header == page.header {
            format!("{what} of page {at:?}")
        } else {
            format!("{what} of page {at:?}: {:?} to {:?}", before.header, page.header)
        };
        // Metadata that go with a wrong count let it through the first door.
        if rng.one_in(3)
            && let (Some(before), Some(after)) = (before.header.data_values(), page.header.data_values())
            && before != after
        {
            parts.row_groups[at.0].add_rows(after as i64 - before as i64);
        }
        Mutant { bytes: parts.assemble(), what, root: self.root(at) }
    }

    fn change_footer(&self, rng: &mut Rng) -> Mutant {
        let mut parts = self.parts.clone();
        let (group, chunk) = (rng.below(parts.row_groups.len()), rng.below(parts.row_groups[0].chunks.len()));
        let row_group = &mut parts.row_groups[group];
        let rows = odd_count(rng, row_group.rows);
        let compressions = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::BROTLI(Default::default()),
            Compression::LZ4,
            Compression::ZSTD(Default::default()),
            Compression::LZ4_RAW,
        ];
        let what = match rng.below(5) {
            0 => {
                row_group.rows = rows;
                format!("row group {group} of {rows} rows")
            }
            1 => {
                row_group.add_rows(rows.wrapping_sub(row_group.rows));
                format!("row group {group} of {rows} rows and as many values")
            }
            2 => {
                let other = rng.below(row_group.chunks.len());
                let pages = row_group.chunks[other].pages.clone();
                row_group.chunks[chunk].pages = pages;
                format!("row group {group} with the pages of column {other} in column {chunk}")
            }
            3 => {
                row_group.chunks.swap(chunk, 0);
                format!("row group {group} with columns 0 and {chunk} swapped")
            }
            _ => {
                let compression = rng.pick(&compressions);
                let metadata = &mut row_group.chunks[chunk].metadata;
                *metadata = metadata.clone().into_builder().set_compression(compression).build().unwrap();
                format!("column {chunk} of row group {group} in {compression}")
            }
        };
        Mutant { bytes: parts.assemble(), what, root: None }
    }

    /// Row group, column and page.
    fn any_page(&self, rng: &mut Rng) -> (usize, usize, usize) {
        loop {
            let group = rng.below(self.parts.row_groups.len());
            let chunk = rng.below(self.parts.row_groups[group].chunks.len());
            let pages = self.parts.row_groups[group].chunks[chunk].pages.len();
            if pages > 0 {
                return (group, chunk, rng.below(pages));
            }
        }
    }

    fn root(&self, (_, leaf, _): (usize, usize, usize)) -> Option<usize> {
        Some(self.parts.file.schema_descr().get_column_root_idx(leaf))
    }
}

impl Parts {
    fn page(&self, (group, chunk, page): (usize, usize, usize)) -> &Page {
        &self.row_groups[group].chunks[chunk].pages[page]
    }

    fn page_mut(&mut self, (group, chunk, page): (usize, usize, usize)) -> &mut Page {
        &mut self.row_groups[group].chunks[chunk].pages[page]
    }
}

impl super::parts::RowGroup {
    fn add_rows(&mut self, more: i64) {
        self.rows = self.rows.wrapping_add(more);
        for chunk in &mut self.chunks {
            let values = chunk.metadata.num_values().wrapping_add(more);
            chunk.metadata = chunk.metadata.clone().into_builder().set_num_values(values).build().unwrap();
        }
    }
}

fn odd_count(rng: &mut Rng, count: i64) -> i64 {
    match rng.below(8) {
        0 => 0,
        1 => count - 1,
        2 => count + 1,
        3 => count.wrapping_mul(2),
        4 => i64::from(i32::MAX),
        5 => i64::MAX,
        6 => -1,
        _ => count + rng.below(5000) as i64,
    }
}

/// A count that fits the header, where negative ones wrap.
fn odd_size(rng: &mut Rng, size: &mut usize) {
    let count = odd_count(rng, *size as i64);
    *size = count.clamp(-1, i64::from(i32::MAX)) as usize;
}

fn set_num_values(header: &mut PageHeader, values: usize) {
    match &mut header.kind {
        PageKind::DataV1 { num_values, .. } | PageKind::Dictionary { num_values, .. } => *num_values = values,
        PageKind::DataV2 { num_values, num_rows, .. } => (*num_values, *num_rows) = (values, values),
        PageKind::Other => {}
    }
}

fn change_count(rng: &mut Rng, page: &mut Page) {
    let header = &mut page.header;
    match rng.below(6) {
        0 => odd_size(rng, &mut header.uncompressed_size),
        1 => odd_size(rng, &mut header.compressed_size),
        _ => match &mut header.kind {
            PageKind::DataV1 { num_values, .. } | PageKind::Dictionary { num_values, .. } => odd_size(rng, num_values),
            PageKind::DataV2 {
                num_values,
                num_nulls,
                num_rows,
                definition_levels_len,
                repetition_levels_len,
                is_compressed,
                ..
            } => match rng.below(7) {
                0 => odd_size(rng, num_nulls),
                1 => odd_size(rng, num_rows),
                2 => odd_size(rng, definition_levels_len),
                3 => odd_size(rng, repetition_levels_len),
                4 => *is_compressed = !*is_compressed,
                _ => {
                    odd_size(rng, num_values);
                    *num_rows = *num_values;
                }
            },
            PageKind::Other => {}
        },
    }
}

fn change_encoding(rng: &mut Rng, page: &mut Page) {
    let encodings = [
        Encoding::Plain,
        Encoding::PlainDictionary,
        Encoding::Rle,
        Encoding::BitPacked,
        Encoding::DeltaBinaryPacked,
        Encoding::DeltaLengthByteArray,
        Encoding::DeltaByteArray,
        Encoding::RleDictionary,
        Encoding::ByteStreamSplit,
        Encoding::Unknown(1),
        Encoding::Unknown(77),
    ];
    let other = rng.pick(&encodings);
    match &mut page.header.kind {
        PageKind::DataV1 { definition_level_encoding, .. } if rng.one_in(5) => *definition_level_encoding = other,
        PageKind::DataV1 { encoding, .. }
        | PageKind::DataV2 { encoding, .. }
        | PageKind::Dictionary { encoding, .. } => {
            *encoding = other;
        }
        PageKind::Other => {}
    }
}

/// Puts bytes in, or takes some out, and says so in the header.
fn change_bytes(rng: &mut Rng, page: &mut Page) {
    let before = page.body.len();
    let at = rng.below(before.min(40) + 1);
    match rng.below(4) {
        0 => page.body.truncate(at),
        1 => drop(page.body.drain(at..(at + 1 + rng.below(8)).min(before))),
        // A large varint in the place of a byte.
        2 => {
            let large = [vec![0xff; 1 + rng.below(9)], vec![rng.below(0x80) as u8]].concat();
            page.body.splice(at..(at + 1).min(before), large);
        }
        _ => {
            let some: Vec<u8> = (0..1 + rng.below(8)).map(|_| rng.word() as u8).collect();
            page.body.splice(at..at, some);
        }
    }
    page.header.crc = None;
    let is_stored = page.header.compressed_size == page.header.uncompressed_size;
    page.header.compressed_size = page.body.len();
    if is_stored {
        page.header.uncompressed_size = page.body.len();
    }
}

#[test]
fn a_mutant_differs_from_its_file() {
    let bytes = Bytes::from(std::fs::read(crate::oracle::data_path("pa_nulls_v1.parquet")).unwrap());
    let subject = Subject::new("pa_nulls_v1.parquet", bytes);
    let mut same = 0;
    for seed in 0..500 {
        let mutant = subject.mutate(&mut Rng::new(seed));
        let again = subject.mutate(&mut Rng::new(seed));
        assert!(mutant.bytes == again.bytes && mutant.what == again.what, "{}", mutant.what);
        same += usize::from(mutant.bytes == subject.bytes);
    }
    assert!(same < 10, "{same} mutants are no mutants");
}
