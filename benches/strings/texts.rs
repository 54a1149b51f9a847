//! The files: texts `s`, the same texts with NULLs `n`, and `i`, by which rows are selected.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringViewArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::Error;
use crate::random::random;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// One of seven, as l_shipmode.
    Shipmode,
    /// Pieces of 10 to 43 bytes of a text, as l_comment.
    Comment,
    /// Sorted.
    Urls,
    Uuid,
    /// Pieces of 0 to 10 KB of a text; short ones are as many as long ones, by orders of magnitude.
    Mixed,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shipmode => "shipmode",
            Self::Comment => "comment",
            Self::Urls => "urls",
            Self::Uuid => "uuid",
            Self::Mixed => "mixed",
        })
    }
}

const SHIPMODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

const WORDS: &str = "furiously quickly carefully blithely slyly express final ironic regular special pending bold even silent
    unusual deposits accounts packages requests instructions theodolites foxes dependencies asymptotes sleep haggle nag wake
    cajole above among pinto";

/// Percent of the rows of `n`.
const NULLS: u64 = 10;

/// The longest of [`Kind::Mixed`].
const LONGEST: usize = 10 << 10;

impl Kind {
    /// Of short texts so many, of long ones as many as are some 40 bytes for each of them.
    pub(crate) fn texts(self, rows: usize) -> Vec<String> {
        let seed = &mut 1;
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        let prose: Vec<&str> = (0..200_000).map(|_| any(&words, seed)).collect();
        let prose = prose.join(" ");
        let piece = |len: usize, seed: &mut u64| {
            let start = random(seed) as usize % (prose.len() - len);
            prose[start..][..len].to_string()
        };
        match self {
            Self::Shipmode => (0..rows).map(|_| any(&SHIPMODES, seed).to_string()).collect(),
            Self::Comment => (0..rows).map(|_| piece(10 + random(seed) as usize % 34, seed)).collect(),
            Self::Urls => {
                let mut urls: Vec<String> = (0..rows).map(|_| url(&words, seed)).collect();
                urls.sort_unstable();
                urls
            }
            Self::Uuid => (0..rows).map(|_| uuid(random(seed), random(seed))).collect(),
            Self::Mixed => {
                let (mut texts, mut bytes) = (Vec::new(), 0);
                while bytes < 40 * rows {
                    let exponent = random(seed) as f64 / u64::MAX as f64;
                    let len = (LONGEST as f64).powf(exponent) as usize - 1;
                    texts.push(piece(len, seed));
                    bytes += len;
                }
                texts
            }
        }
    }
}

fn any<'a>(of: &[&'a str], seed: &mut u64) -> &'a str {
    of[random(seed) as usize % of.len()]
}

/// Of one of a thousand hosts.
fn url(words: &[&str], seed: &mut u64) -> String {
    let [host, domain, section, topic] = [(); 4].map(|()| any(words, seed));
    format!("https://{host}.{domain}.example/{section}/{topic}?id={}", random(seed) % 100_000_000)
}

fn uuid(high: u64, low: u64) -> String {
    let (node, clock) = (low >> 16, low & 0xfff | 0x8000);
    format!("{:08x}-{:04x}-4{:03x}-{clock:04x}-{node:012x}", high >> 32, high >> 16 & 0xffff, high & 0xfff)
}

/// Writes a file of `texts`.
pub(crate) fn write(path: &Path, texts: &[String], encoding: Encoding) -> Result<(), Error> {
    let seed = &mut 2;
    let mut order: Vec<i32> = (0..texts.len() as i32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random(seed) as usize % (last + 1));
    }
    let nullable = texts.iter().map(|text| (random(seed) % 100 >= NULLS).then_some(text));
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("i", Arc::new(Int32Array::from(order)), false),
        ("s", Arc::new(StringViewArray::from_iter_values(texts)), false),
        ("n", Arc::new(nullable.collect::<StringViewArray>()), true),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_column_encoding("i".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("s".into(), encoding)
        .set_column_encoding("n".into(), encoding)
        .set_compression(Compression::UNCOMPRESSED)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
