//! Parquet files taken apart into pages, and put together from pages.

use std::sync::Arc;

use bytes::Bytes;
use miniblock::internals::page::{self, Codec, Decompressor, Limits, PageHeader, PageKind};
use parquet::basic::{Compression, Encoding as ColumnEncoding};
use parquet::compression::{CodecOptions, create_codec};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

pub(crate) use miniblock::internals::page::Encoding;

/// A page: what its header says, and its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) header: PageHeader,
    pub(crate) body: Vec<u8>,
}

/// A column chunk. Offsets and sizes of its metadata are those that it is written with.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) pages: Vec<Page>,
    pub(crate) metadata: ColumnChunkMetaData,
}

/// A row group.
#[derive(Debug, Clone)]
pub(crate) struct RowGroup {
    pub(crate) rows: i64,
    pub(crate) chunks: Vec<Chunk>,
}

/// A file. Page indexes and bloom filters are not part of it.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) file: FileMetaData,
    pub(crate) row_groups: Vec<RowGroup>,
}

impl Parts {
    /// Takes a file apart.
    pub(crate) fn of(bytes: &Bytes) -> Self {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
        let chunk = |column: &ColumnChunkMetaData| {
            let mut pages = Vec::new();
            for_each_page(bytes, column, |header, _, body| {
                pages.push(Page { header, body: bytes[body].to_vec() });
            });
            Chunk { pages, metadata: column.clone() }
        };
        let row_group = |row_group: &RowGroupMetaData| RowGroup {
            rows: row_group.num_rows(),
            chunks: row_group.columns().iter().map(chunk).collect(),
        };
        Self {
            file: metadata.file_metadata().clone(),
            row_groups: metadata.row_groups().iter().map(row_group).collect(),
        }
    }

    /// A file without row groups, with the columns of `schema`: `message m { optional int32 x; }`.
    pub(crate) fn new(schema: &str) -> Self {
        let schema = SchemaDescriptor::new(Arc::new(parse_message_type(schema).unwrap()));
        Self { file: FileMetaData::new(2, 0, None, None, Arc::new(schema), None), row_groups: Vec::new() }
    }

    /// With the name of a writer.
    pub(crate) fn created_by(mut self, writer: &str) -> Self {
        let schema = self.file.schema_descr_ptr();
        self.file = FileMetaData::new(2, 0, Some(writer.to_string()), None, schema, None);
        self
    }

    /// With one more row group: a chunk of these pages for each column.
    pub(crate) fn row_group(mut self, rows: i64, compression: Compression, chunks: Vec<Vec<Page>>) -> Self {
        let descriptor = self.file.schema_descr_ptr();
        let chunks = chunks.into_iter().enumerate().map(|(leaf, pages)| {
            let metadata = ColumnChunkMetaData::builder(descriptor.column(leaf))
                .set_num_values(rows)
                .set_compression(compression)
                .set_encodings(vec![ColumnEncoding::PLAIN])
                .build()
                .unwrap();
            Chunk { pages, metadata }
        });
        self.row_groups.push(RowGroup { rows, chunks: chunks.collect() });
        self
    }

    /// The same with pages that are not compressed.
    pub(crate) fn unpacked(&self) -> Self {
        let mut parts = self.clone();
        for chunk in parts.row_groups.iter_mut().flat_map(|row_group| &mut row_group.chunks) {
            let codec = Codec::try_from(chunk.metadata.compression()).unwrap();
            chunk.metadata =
                chunk.metadata.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build().unwrap();
            chunk.pages.iter_mut().for_each(|page| page.unpack(codec));
        }
        parts
    }

    /// The bytes of the file.
    pub(crate) fn assemble(&self) -> Bytes {
        let mut bytes = b"PAR1".to_vec();
        let mut row_groups = Vec::new();
        for row_group in &self.row_groups {
            let columns: Vec<_> = row_group.chunks.iter().map(|chunk| chunk.write(&mut bytes)).collect();
            let metadata = RowGroupMetaData::builder(self.file.schema_descr_ptr())
                .set_num_rows(row_group.rows)
                .set_total_byte_size(columns.iter().map(ColumnChunkMetaData::uncompressed_size).sum())
                .set_column_metadata(columns)
                .build();
            row_groups.push(metadata.unwrap());
        }
        let metadata = ParquetMetaData::new(self.file.clone(), row_groups);
        ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
        bytes.into()
    }
}

/// Calls `each` with the header of each page of a chunk, and where header and body are in the file.
pub(crate) fn for_each_page(
    file: &Bytes,
    column: &ColumnChunkMetaData,
    mut each: impl FnMut(PageHeader, std::ops::Range<usize>, std::ops::Range<usize>),
) {
    let (start, length) = column.byte_range();
    let (mut position, end) = (start as usize, (start + length) as usize);
    while position < end {
        let (header, size) = page::parse(&file[position..end]).unwrap();
        let body = position + size..position + size + header.compressed_size;
        each(header, position..body.start, body.clone());
        position = body.end;
    }
}

impl Chunk {
    /// Writes the pages; the metadata that goes with them.
    fn write(&self, bytes: &mut Vec<u8>) -> ColumnChunkMetaData {
        let start = bytes.len();
        let (mut uncompressed, mut first_data) = (0usize, None);
        for page in &self.pages {
            let position = bytes.len();
            bytes.extend(encode_header(&page.header));
            let header_size = bytes.len() - position;
            // Mutants have sizes that are none.
            uncompressed = page.header.uncompressed_size.wrapping_add(uncompressed).wrapping_add(header_size);
            bytes.extend_from_slice(&page.body);
            if !matches!(page.header.kind, PageKind::Dictionary { .. }) {
                first_data.get_or_insert(position);
            }
        }
        let first_data = first_data.unwrap_or(start);
        self.metadata
            .clone()
            .into_builder()
            .set_total_compressed_size((bytes.len() - start) as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_data_page_offset(first_data as i64)
            .set_dictionary_page_offset((first_data > start).then_some(start as i64))
            .set_column_index_offset(None)
            .set_column_index_length(None)
            .set_offset_index_offset(None)
            .set_offset_index_length(None)
            .set_bloom_filter_offset(None)
            .set_bloom_filter_length(None)
            .build()
            .unwrap()
    }
}

impl Page {
    fn new(kind: PageKind, body: Vec<u8>) -> Self {
        let size = body.len();
        Self { header: PageHeader { kind, uncompressed_size: size, compressed_size: size, crc: None }, body }
    }

    /// A V1 page; `levels` are those of an OPTIONAL column.
    pub(crate) fn v1(num_values: usize, encoding: Encoding, levels: Option<&[u8]>, values: &[u8]) -> Self {
        let mut body = Vec::new();
        if let Some(levels) = levels {
            body.extend((levels.len() as u32).to_le_bytes());
            body.extend_from_slice(levels);
        }
        body.extend_from_slice(values);
        Self::new(PageKind::DataV1 { num_values, encoding, definition_level_encoding: Encoding::Rle }, body)
    }

    /// A V2 page.
    pub(crate) fn v2(
        [num_values, num_nulls]: [usize; 2],
        encoding: Encoding,
        levels: Option<&[u8]>,
        values: &[u8],
    ) -> Self {
        let levels = levels.unwrap_or_default();
        let kind = PageKind::DataV2 {
            num_values,
            num_nulls,
            num_rows: num_values,
            encoding,
            definition_levels_len: levels.len(),
            repetition_levels_len: 0,
            is_compressed: false,
        };
        Self::new(kind, [levels, values].concat())
    }

    /// A dictionary of PLAIN values.
    pub(crate) fn dictionary(num_values: usize, values: &[u8]) -> Self {
        Self::new(PageKind::Dictionary { num_values, encoding: Encoding::Plain }, values.to_vec())
    }

    /// Bytes of levels in front of what is compressed.
    fn levels_len(&self) -> usize {
        match self.header.kind {
            PageKind::DataV2 { definition_levels_len, repetition_levels_len, .. } => {
                definition_levels_len + repetition_levels_len
            }
            _ => 0,
        }
    }

    /// Compresses a page that is not.
    pub(crate) fn compressed(self, compression: Compression) -> Self {
        let compress = |bytes: &[u8]| {
            let mut compressed = Vec::new();
            match create_codec(compression, &CodecOptions::default()).unwrap() {
                Some(mut codec) => codec.compress(bytes, &mut compressed).unwrap(),
                None => compressed.extend_from_slice(bytes),
            }
            compressed
        };
        self.compressed_by(compress)
    }

    /// Compresses a page that is not, by `compress`.
    pub(crate) fn compressed_by(mut self, compress: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        let (levels, values) = self.body.split_at(self.levels_len());
        self.body = [levels, &compress(values)].concat();
        self.header.compressed_size = self.body.len();
        if let PageKind::DataV2 { is_compressed, .. } = &mut self.header.kind {
            *is_compressed = true;
        }
        self
    }

    fn unpack(&mut self, codec: Codec) {
        let levels_len = self.levels_len();
        let is_packed = match &mut self.header.kind {
            PageKind::DataV2 { is_compressed, .. } => std::mem::take(is_compressed),
            PageKind::DataV1 { .. } | PageKind::Dictionary { .. } => true,
            PageKind::Other => false,
        };
        if is_packed && codec != Codec::Uncompressed {
            let (levels, values) = self.body.split_at(levels_len);
            let mut unpacked = Vec::new();
            let size = self.header.uncompressed_size - levels_len;
            Decompressor::default().decompress(codec, values, size, Limits::default(), &mut unpacked).unwrap();
            self.body = [levels, &unpacked].concat();
        }
        self.resize();
    }

    /// Says of a page that is not compressed what it is.
    pub(crate) fn resize(&mut self) {
        self.header.compressed_size = self.body.len();
        self.header.uncompressed_size = self.body.len();
        self.header.crc = None;
    }

    /// With the CRC of its body.
    pub(crate) fn with_crc(mut self) -> Self {
        let mut crc = u32::MAX;
        for &byte in &self.body {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
            }
        }
        self.header.crc = Some(!crc);
        self
    }
}

/// Definition levels: one bit-packed run.
pub(crate) fn levels(valid: &[bool]) -> Vec<u8> {
    let mut bytes = uleb((valid.len().div_ceil(8) as u64) << 1 | 1);
    bytes.extend(valid.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit))));
    bytes
}

/// Definition levels: one run of the same.
pub(crate) fn run_of(valid: bool, len: usize) -> Vec<u8> {
    let mut bytes = uleb((len as u64) << 1);
    bytes.push(u8::from(valid));
    bytes
}

pub(crate) fn uleb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A header in the Thrift compact protocol. Sizes may be of any kind: those over 31 bits wrap to negative ones.
pub(crate) fn encode_header(header: &PageHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    let int = |bytes: &mut Vec<u8>, value: i32| {
        bytes.push(0x15);
        bytes.extend(uleb(u64::from((value << 1 ^ value >> 31).cast_unsigned())));
    };
    let page_type = match header.kind {
        PageKind::DataV1 { .. } => 0,
        PageKind::Other => 1,
        PageKind::Dictionary { .. } => 2,
        PageKind::DataV2 { .. } => 3,
    };
    int(&mut bytes, page_type);
    int(&mut bytes, header.uncompressed_size as i32);
    int(&mut bytes, header.compressed_size as i32);
    let mut last_id = 3;
    if let Some(crc) = header.crc {
        int(&mut bytes, crc.cast_signed());
        last_id = 4;
    }
    let field = |id: u8| (id - last_id) << 4 | 12;
    match header.kind {
        PageKind::DataV1 { num_values, encoding, definition_level_encoding } => {
            bytes.push(field(5));
            int(&mut bytes, num_values as i32);
            int(&mut bytes, number(encoding));
            int(&mut bytes, number(definition_level_encoding));
            int(&mut bytes, number(Encoding::Rle));
            bytes.push(0);
        }
        PageKind::Other => {
            bytes.push(field(6));
            bytes.push(0);
        }
        PageKind::Dictionary { num_values, encoding } => {
            bytes.push(field(7));
            int(&mut bytes, num_values as i32);
            int(&mut bytes, number(encoding));
            bytes.push(0);
        }
        PageKind::DataV2 {
            num_values,
            num_nulls,
            num_rows,
            encoding,
            definition_levels_len,
            repetition_levels_len,
            is_compressed,
        } => {
            bytes.push(field(8));
            for value in [num_values, num_nulls, num_rows] {
                int(&mut bytes, value as i32);
            }
            int(&mut bytes, number(encoding));
            int(&mut bytes, definition_levels_len as i32);
            int(&mut bytes, repetition_levels_len as i32);
            bytes.push(if is_compressed { 0x11 } else { 0x12 });
            bytes.push(0);
        }
    }
    bytes.push(0);
    bytes
}

fn number(encoding: Encoding) -> i32 {
    match encoding {
        Encoding::Plain => 0,
        Encoding::PlainDictionary => 2,
        Encoding::Rle => 3,
        Encoding::BitPacked => 4,
        Encoding::DeltaBinaryPacked => 5,
        Encoding::DeltaLengthByteArray => 6,
        Encoding::DeltaByteArray => 7,
        Encoding::RleDictionary => 8,
        Encoding::ByteStreamSplit => 9,
        Encoding::Unknown(number) => number,
    }
}

#[test]
fn files_are_the_same_when_put_together_again() {
    for name in
        ["pa_nulls_v1.parquet", "sp_dict_fallback.parquet", "pa_mixed_snappy_v2.parquet", "pa_nested_v1.parquet"]
    {
        let bytes = Bytes::from(std::fs::read(crate::oracle::data_path(name)).unwrap());
        let parts = Parts::of(&bytes);
        let expected = super::read::by_parquet(&bytes, None, None).unwrap();
        for again in [parts.assemble(), parts.unpacked().assemble()] {
            let found = super::read::by_parquet(&again, None, None).unwrap();
            assert_eq!(expected, found, "{name}");
        }
    }
}
