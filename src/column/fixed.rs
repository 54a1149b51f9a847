//! FIXED_LEN_BYTE_ARRAY: rows of one width, and their decoders.

use bytes::Bytes;

use super::buffer::Buffer;
use super::matcher::FixedByteMatcher;
use super::values::{Encodings, not_for};
use crate::encoding::byte_stream_split::ByteStreamSplit;
use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::encoding::plain::PlainFixedByteArray;
use crate::error::{Error, Result};
use crate::kernels::ones;
use crate::page::Encoding;

/// Bytes that a buffer holds at most: where Arrow's arrays of this kind end.
const MAX_BYTES: usize = i32::MAX as usize;

/// Byte arrays of one width, which is not zero, one behind the other.
#[derive(Debug)]
pub(crate) struct FixedByteBuffer {
    bytes: Vec<u8>,
    width: usize,
}

impl FixedByteBuffer {
    /// Bytes of a value.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The bytes of all values.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The values.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.width)
    }

    /// Takes the bytes of all values.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes.reserve(bytes.len());
        bytes
    }

    /// Where the bytes of `rows` more values go.
    ///
    /// # Errors
    /// Limit: they do not fit.
    fn sink(&mut self, rows: usize) -> Result<&mut Vec<u8>> {
        let end = rows.checked_mul(self.width).and_then(|len| len.checked_add(self.bytes.len()));
        match end {
            Some(end) if end <= MAX_BYTES => Ok(&mut self.bytes),
            _ => Err(Error::limit(format!("{rows} more values of {} bytes exceed 2 GiB", self.width))),
        }
    }

    /// Appends `rows` values, of which number `to` is value `from` of `source` for each of `moves`; the others are zeros.
    fn append_rows(&mut self, source: &Self, rows: usize, moves: impl Iterator<Item = (usize, usize)>) -> Result<()> {
        let width = self.width;
        let bytes = self.sink(rows)?;
        let start = bytes.len();
        bytes.resize(start + rows * width, 0);
        let (from, to) = (source.bytes.as_slice(), &mut bytes[start..]);
        match width {
            2 => move_rows::<2>(from, to, moves),
            4 => move_rows::<4>(from, to, moves),
            8 => move_rows::<8>(from, to, moves),
            16 => move_rows::<16>(from, to, moves),
            _ => moves.for_each(|(row, place)| {
                to[place * width..][..width].copy_from_slice(&from[row * width..][..width]);
            }),
        }
        Ok(())
    }
}

/// Moves rows of a constant width, which takes no call.
fn move_rows<const W: usize>(from: &[u8], to: &mut [u8], moves: impl Iterator<Item = (usize, usize)>) {
    let (from, _) = from.as_chunks::<W>();
    let (to, _) = to.as_chunks_mut::<W>();
    for (row, place) in moves {
        to[place] = from[row];
    }
}

impl Buffer for FixedByteBuffer {
    fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    fn clear(&mut self) {
        self.bytes.clear();
    }

    fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    fn append_selected(&mut self, source: &Self, words: &[u64], count: usize) -> Result<()> {
        if count == source.len() {
            self.sink(count)?.extend_from_slice(&source.bytes);
            return Ok(());
        }
        self.append_rows(source, count, ones(words).enumerate().map(|(place, row)| (row, place)))
    }

    fn append_spread(&mut self, source: &Self, words: &[u64], rows: usize) -> Result<()> {
        self.append_rows(source, rows, ones(words).enumerate())
    }
}

/// FIXED_LEN_BYTE_ARRAY.
pub(crate) struct FixedByteEncodings {
    width: usize,
    plain: PlainFixedByteArray,
    delta: DeltaByteArray,
    split: ByteStreamSplit,
    encoding: Encoding,
    /// Whether DELTA_BYTE_ARRAY goes on from page to page.
    continues: bool,
}

impl FixedByteEncodings {
    /// For values of `width` bytes, which is not zero.
    pub(crate) fn new(width: usize, continues: bool) -> Self {
        Self {
            width,
            continues,
            plain: PlainFixedByteArray::default(),
            delta: DeltaByteArray::default(),
            split: ByteStreamSplit::default(),
            encoding: Encoding::Plain,
        }
    }
}

impl Encodings for FixedByteEncodings {
    type Buffer = FixedByteBuffer;
    type Matcher = FixedByteMatcher;

    fn buffer(&self) -> FixedByteBuffer {
        FixedByteBuffer { bytes: Vec::new(), width: self.width }
    }

    fn start_chunk(&mut self) {
        self.delta.forget();
    }

    fn start(&mut self, encoding: Encoding, page: &[u8], _: Option<&Bytes>) -> Result<()> {
        self.encoding = encoding;
        match encoding {
            Encoding::Plain => self.plain.reset(),
            Encoding::DeltaByteArray => self.delta.reset(page, self.continues)?,
            Encoding::ByteStreamSplit => self.split.reset(page, self.width)?,
            other => return Err(not_for(other, "FIXED_LEN_BYTE_ARRAY")),
        }
        Ok(())
    }

    fn read(&mut self, page: &[u8], count: usize, out: &mut FixedByteBuffer) -> Result<()> {
        let out = out.sink(count)?;
        match self.encoding {
            Encoding::DeltaByteArray => self.delta.read_fixed(page, count, self.width, out),
            Encoding::ByteStreamSplit => self.split.read_fixed(page, count, out),
            _ => self.plain.read(page, count, self.width, out),
        }
    }

    fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        match self.encoding {
            Encoding::DeltaByteArray => self.delta.skip(page, count),
            Encoding::ByteStreamSplit => self.split.skip(page, count),
            _ => self.plain.skip(page, count, self.width),
        }
    }

    fn gather(dictionary: &FixedByteBuffer, indices: &[u32], out: &mut FixedByteBuffer) -> Result<()> {
        let moves = indices.iter().enumerate().map(|(place, &row)| (row as usize, place));
        out.append_rows(dictionary, indices.len(), moves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: [usize; 9] = [1, 2, 3, 4, 5, 8, 12, 16, 33];

    fn row(width: usize, value: usize) -> Vec<u8> {
        (0..width).map(|byte| (value * 31 + byte * 7 + 1) as u8).collect()
    }

    fn buffer(width: usize, values: usize) -> FixedByteBuffer {
        FixedByteBuffer { bytes: (0..values).flat_map(|value| row(width, value)).collect(), width }
    }

    #[test]
    fn rows_move_as_they_are() {
        let words = [0xf0f0_1234_dead_beef, 0x0000_0000_0000_0155];
        let set: Vec<usize> = ones(&words).collect();
        for width in WIDTHS {
            let source = buffer(width, 80);
            assert_eq!((source.len(), source.rows().count()), (80, 80));
            let mut selected = buffer(width, 1);
            selected.append_selected(&source, &words, set.len()).unwrap();
            let expected: Vec<Vec<u8>> = [0].iter().chain(&set).map(|&value| row(width, value)).collect();
            assert!(selected.rows().eq(expected.iter().map(Vec::as_slice)));

            let mut spread = buffer(width, 1);
            spread.append_spread(&source, &words, 80).unwrap();
            for (place, found) in spread.rows().skip(1).enumerate() {
                let expected =
                    set.iter().position(|&bit| bit == place).map_or(vec![0; width], |value| row(width, value));
                assert_eq!(found, expected);
            }

            let mut gathered = buffer(width, 1);
            FixedByteEncodings::gather(&source, &[79, 0, 5, 5], &mut gathered).unwrap();
            assert!(gathered.rows().eq([0, 79, 0, 5, 5].map(|value| row(width, value)).iter().map(Vec::as_slice)));

            // NULLs alone need no value.
            let mut nulls = buffer(width, 0);
            nulls.append_spread(&buffer(width, 0), &[0], 3).unwrap();
            assert_eq!(nulls.take(), vec![0; 3 * width]);
            assert_eq!(nulls.len(), 0);
        }
    }

    #[test]
    fn wide_rows_are_a_limit() {
        let mut wide = FixedByteBuffer { bytes: Vec::new(), width: i32::MAX as usize };
        assert!(matches!(wide.append_spread(&buffer(1, 0), &[0], 2), Err(Error::Limit(_))));
        let mut encodings = FixedByteEncodings::new(i32::MAX as usize, false);
        encodings.start(Encoding::Plain, &[0; 100], None).unwrap();
        assert!(matches!(encodings.read(&[0; 100], 2, &mut wide), Err(Error::Limit(_))));
        assert!(matches!(encodings.read(&[0; 100], 1, &mut wide), Err(Error::Corrupt(_))));
        assert!(matches!(encodings.read(&[0; 100], usize::MAX, &mut wide), Err(Error::Limit(_))));
        assert_eq!(wide.bytes.capacity(), 0);
    }

    #[test]
    fn encodings_of_other_types_are_refused() {
        let mut encodings = FixedByteEncodings::new(4, false);
        for encoding in [Encoding::DeltaBinaryPacked, Encoding::DeltaLengthByteArray, Encoding::Rle] {
            assert!(matches!(encodings.start(encoding, &[0; 8], None), Err(Error::Unsupported(_))));
        }
    }
}
