//! Files that ask for more than the options allow: an error that names the option, and no memory.

use arrow::array::{AsArray, RecordBatch};
use bytes::Bytes;
use miniblock::MiniblockOptions;
use parquet::basic::{Compression, Encoding as ParquetEncoding};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::encodings::encoding::get_encoder;

use super::pages::delta;
use super::parts::{Encoding, Page, Parts, run_of};
use super::read::{answer, register, session};
use crate::allocator::peak_bytes;

const TEXT: &str = "message m { required binary s (UTF8); }";
/// Text in lists, which goes through the parquet crate.
const NESTED: &str =
    "message m { optional group s (LIST) { repeated group list { required binary element (UTF8); } } }";

fn encoded(encoding: ParquetEncoding, values: &[Vec<u8>]) -> Vec<u8> {
    let parts = Parts::new(TEXT);
    let mut encoder = get_encoder::<ByteArrayType>(encoding, &parts.file.schema_descr().column(0)).unwrap();
    encoder.put(&values.iter().map(|value| ByteArray::from(value.clone())).collect::<Vec<_>>()).unwrap();
    encoder.flush_buffer().unwrap().to_vec()
}

/// `rows` times the same long string, as DELTA_BYTE_ARRAY: a page hardly longer than the string.
fn repeated(rows: usize, len: usize) -> Bytes {
    let mut prefixes = vec![len as i32; rows];
    let mut suffixes = vec![0; rows];
    (prefixes[0], suffixes[0]) = (0, len as i32);
    let values = [delta(&prefixes), delta(&suffixes), vec![b'x'; len]].concat();
    let page = Page::v1(rows, Encoding::DeltaByteArray, None, &values);
    assert!(page.body.len() < 2 * len + 2 * rows);
    Parts::new(TEXT).row_group(rows as i64, Compression::UNCOMPRESSED, vec![vec![page]]).assemble()
}

fn total_len(batches: &[RecordBatch]) -> usize {
    batches
        .iter()
        .flat_map(|batch| batch.column(0).as_string_view().iter().flatten().map(str::len).collect::<Vec<_>>())
        .sum()
}

async fn refused(bytes: &Bytes, options: MiniblockOptions, option: &str) {
    let (result, peak) = peak_of(bytes, options, "SELECT s FROM t").await;
    let error = result.err().unwrap_or_else(|| panic!("{option} has no effect")).to_string();
    assert!(error.contains(option) && error.contains("f.parquet"), "{option}: {error}");
    assert!(peak < 40 << 20, "{option}: {peak} bytes");
}

/// The answer, and the memory that it took. The work is done on this thread.
async fn peak_of(
    bytes: &Bytes,
    options: MiniblockOptions,
    sql: &str,
) -> (datafusion::error::Result<Vec<RecordBatch>>, usize) {
    let (ctx, store) = session(8192);
    let registered = register(&ctx, &store, bytes.clone(), options).await;
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        peak_bytes(|| {
            runtime.block_on(async {
                registered?;
                ctx.sql(sql).await?.collect().await
            })
        })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sizes_of_pages() {
    let value = vec![b'x'; 5000];
    let values = encoded(ParquetEncoding::PLAIN, &[value]);
    for compression in
        [Compression::SNAPPY, Compression::ZSTD(Default::default()), Compression::GZIP(Default::default())]
    {
        let page = Page::v1(1, Encoding::Plain, None, &values).compressed(compression);
        let bytes = Parts::new(TEXT).row_group(1, compression, vec![vec![page]]).assemble();
        let options = || MiniblockOptions::new().with_max_page_size(values.len());
        assert_eq!(total_len(&answer(&bytes, options(), 8192, "SELECT s FROM t").await.unwrap()), 5000);
        refused(&bytes, options().with_max_page_size(values.len() - 1), "max_page_size").await;

        let pages = vec![
            Page::dictionary(1, &values).compressed(compression),
            Page::v1(3, Encoding::RleDictionary, None, &[0, 6]).compressed(compression),
        ];
        let bytes = Parts::new(TEXT).row_group(3, compression, vec![pages]).assemble();
        let options = || MiniblockOptions::new().with_max_dictionary_page_size(values.len());
        assert_eq!(total_len(&answer(&bytes, options(), 8192, "SELECT s FROM t").await.unwrap()), 15_000);
        refused(&bytes, options().with_max_dictionary_page_size(values.len() - 1), "max_dictionary_page_size").await;
    }
}

/// Pages of few bytes that promise many.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn bombs() {
    let zeros = vec![0; 200 << 20];
    for compression in [Compression::ZSTD(Default::default()), Compression::BROTLI(Default::default())] {
        let page = Page::v1(1, Encoding::Plain, None, &zeros).compressed(compression);
        assert!(page.body.len() < 50_000);
        let bytes = Parts::new(TEXT).row_group(1, compression, vec![vec![page.clone()]]).assemble();
        refused(&bytes, MiniblockOptions::new(), "max_decompression_ratio").await;
        // The parquet crate would decompress it.
        let bytes = Parts::new(NESTED).row_group(1, compression, vec![vec![page]]).assemble();
        refused(&bytes, MiniblockOptions::new(), "max_decompression_ratio").await;
    }
    for compression in [Compression::SNAPPY, Compression::GZIP(Default::default()), Compression::LZ4_RAW] {
        let mut page = Page::v1(1, Encoding::Plain, None, &[0; 100]).compressed(compression);
        page.header.uncompressed_size = 250 << 20;
        for schema in [TEXT, NESTED] {
            let bytes = Parts::new(schema).row_group(1, compression, vec![vec![page.clone()]]).assemble();
            refused(&bytes, MiniblockOptions::new(), "cannot become").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn lengths_of_strings() {
    for (encoding, by) in [
        (Encoding::Plain, ParquetEncoding::PLAIN),
        (Encoding::DeltaLengthByteArray, ParquetEncoding::DELTA_LENGTH_BYTE_ARRAY),
        (Encoding::DeltaByteArray, ParquetEncoding::DELTA_BYTE_ARRAY),
    ] {
        let page = Page::v1(2, encoding, None, &encoded(by, &[vec![b'a'; 10], vec![b'x'; 5000]]));
        let bytes = Parts::new(TEXT).row_group(2, Compression::UNCOMPRESSED, vec![vec![page]]).assemble();
        let options = || MiniblockOptions::new().with_max_value_size(5000);
        assert_eq!(total_len(&answer(&bytes, options(), 8192, "SELECT s FROM t").await.unwrap()), 5010);
        refused(&bytes, options().with_max_value_size(4999), "max_value_size").await;
    }
}

/// Few bytes that legally stand for very many.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn expansion_of_delta_byte_array() {
    // 8 GiB in a page of half a megabyte: as many bytes as a window has room for are made, and no more.
    let bytes = repeated(8192, 1 << 20);
    let options = || MiniblockOptions::new().with_max_batch_size(30 << 20);
    for sql in ["SELECT s FROM t", "SELECT s FROM t WHERE s < 'y'", "SELECT s FROM t WHERE s LIKE '%y'"] {
        let (result, peak) = peak_of(&bytes, options(), sql).await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains("max_batch_size") && error.contains("f.parquet"), "{error}");
        assert!(peak < 150 << 20, "{peak} bytes for {sql}");
    }
    // What fits a window is cut into batches as it comes.
    let bytes = repeated(16_384, 40_000);
    for sql in ["SELECT s FROM t", "SELECT s FROM t WHERE s < 'y'", "SELECT s FROM t WHERE s LIKE '%x'"] {
        let (ctx, store) = session(8192);
        register(&ctx, &store, bytes.clone(), MiniblockOptions::new()).await.unwrap();
        let mut stream = ctx.sql(sql).await.unwrap().execute_stream().await.unwrap();
        let mut rows = 0;
        while let Some(batch) = futures::StreamExt::next(&mut stream).await {
            let batch = batch.unwrap();
            rows += batch.num_rows();
            assert!(batch.num_rows() <= 4096, "{} rows at once for {sql}", batch.num_rows());
        }
        assert_eq!(rows, 16_384, "{sql}");
    }
}

/// Strings with offsets repeat what a dictionary has once.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn expansion_of_dictionaries() {
    let pages = vec![
        Page::dictionary(1, &encoded(ParquetEncoding::PLAIN, &[vec![b'x'; 1 << 20]])),
        Page::v1(8000, Encoding::RleDictionary, None, &[&[0][..], &run_of(false, 8000)].concat()),
    ];
    let bytes = Parts::new(TEXT).row_group(8000, Compression::UNCOMPRESSED, vec![pages]).assemble();
    let batches = answer(&bytes, MiniblockOptions::new(), 8192, "SELECT s FROM t").await.unwrap();
    assert_eq!(total_len(&batches), 8000 << 20);
    let field = arrow::datatypes::Field::new("s", arrow::datatypes::DataType::LargeUtf8, false);
    let schema = std::sync::Arc::new(arrow::datatypes::Schema::new(vec![field]));
    let (ctx, store) = session(8192);
    ctx.sql("SET datafusion.execution.parquet.schema_force_view_types = false").await.unwrap();
    register(&ctx, &store, bytes, MiniblockOptions::new().with_schema(schema)).await.unwrap();
    let error = ctx.sql("SELECT s FROM t").await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("max_batch_size") && error.contains("f.parquet"), "{error}");
}
