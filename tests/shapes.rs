//! Queries over TPC-H data in every encoding, page version and compression.

use std::fs;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, Type};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::oracle::{
    How, Settings, Table, compare, data_path, miniblock_session, oracle_session, register_miniblock, register_oracle,
    run,
};

/// TPC-H query 12.
pub(crate) const Q12: &str = "\
select
    l_shipmode,
    sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) as high_line_count,
    sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) as low_line_count
from orders, lineitem
where o_orderkey = l_orderkey
    and l_shipmode in ('MAIL', 'SHIP')
    and l_commitdate < l_receiptdate
    and l_shipdate < l_commitdate
    and l_receiptdate >= date '1994-01-01'
    and l_receiptdate < date '1994-01-01' + interval '1' year
group by l_shipmode
order by l_shipmode";

const QUERIES: [&str; 15] = [
    Q12,
    "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), count(*)
     from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus",
    "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
     from orders, lineitem where l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
     group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate, l_orderkey limit 10",
    "select o_orderpriority, count(*) from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'
     and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by o_orderpriority",
    "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01'
     and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24",
    "select * from lineitem",
    "select * from orders where o_orderkey between 100 and 300",
    "select l_comment, l_linenumber from lineitem where l_shipinstruct = 'DELIVER IN PERSON' and l_quantity > 25",
    "select l_orderkey from lineitem where l_shipmode not in ('AIR', 'REG AIR', 'MAIL') and l_comment like '%the%'",
    "select count(*), min(l_shipdate), max(l_comment), count(distinct l_partkey) from lineitem where l_returnflag <> 'N'",
    "select o_custkey, o_comment from orders where o_clerk like 'Clerk#00000000%' or o_totalprice > 200000",
    "select l_shipmode, l_receiptdate from lineitem where l_shipdate = l_commitdate or l_receiptdate < l_shipdate + interval '3' day",
    "select l_partkey, l_suppkey from lineitem where l_partkey in (1, 5, 9, 17, 23, 31, 38, 40) and not l_suppkey = 2",
    "select l_orderkey, l_comment from lineitem where l_comment >= 'f' and l_comment < 'i' order by l_comment, l_orderkey limit 20",
    "select count(*) from lineitem l, orders o where l.l_orderkey = o.o_orderkey and o.o_orderstatus = 'F' and l.l_linestatus = 'F'",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Delta,
    DeltaLength,
    Plain,
    Dictionary,
    /// Dictionaries that fall back to DELTA in the middle of a chunk.
    Fallback,
}

const SHAPES: [Shape; 5] = [Shape::Delta, Shape::DeltaLength, Shape::Plain, Shape::Dictionary, Shape::Fallback];

fn compressions() -> [Compression; 6] {
    [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::BROTLI(Default::default()),
    ]
}

fn read(file: &str) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(data_path(file)).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn write(batch: &RecordBatch, path: &PathBuf, shape: Shape, version: WriterVersion, compression: Compression) {
    let mut properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(compression)
        .set_dictionary_enabled(matches!(shape, Shape::Dictionary | Shape::Fallback))
        .set_max_row_group_row_count(Some(700))
        .set_data_page_row_count_limit(250)
        .set_write_batch_size(50);
    if shape == Shape::Fallback {
        properties = properties.set_dictionary_page_size_limit(150);
    }
    let schema = parquet::arrow::ArrowSchemaConverter::new().convert(&batch.schema()).unwrap();
    for column in schema.columns() {
        let integers = matches!(column.physical_type(), Type::INT32 | Type::INT64);
        let encoding = match (shape, column.physical_type()) {
            (Shape::Delta | Shape::DeltaLength | Shape::Fallback, _) if integers => Encoding::DELTA_BINARY_PACKED,
            (Shape::Delta | Shape::Fallback, Type::BYTE_ARRAY) => Encoding::DELTA_BYTE_ARRAY,
            (Shape::DeltaLength, Type::BYTE_ARRAY) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            _ => Encoding::PLAIN,
        };
        properties = properties.set_column_encoding(column.path().clone(), encoding);
    }
    let mut writer =
        ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_encoding_version_and_compression() {
    let sources = ["tpch_delta_none_lineitem.parquet", "tpch_delta_none_orders.parquet"];
    let names = ["lineitem", "orders"];
    let batches = sources.map(read);
    let oracle = oracle_session(Settings::default());
    for (name, source) in names.iter().zip(sources) {
        register_oracle(&oracle, &Table::data(name, source)).await.unwrap();
    }
    let mut expected = Vec::new();
    for sql in QUERIES {
        expected.push(run(&oracle, sql).await.unwrap());
    }
    assert!(expected[0].num_rows() == 2 && expected.iter().all(|answer| answer.num_rows() > 0));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shapes");
    fs::create_dir_all(&folder).unwrap();
    let mut turn = 0;
    for shape in SHAPES {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for compression in compressions() {
                let settings = Settings {
                    batch_size: [8192, 64, 1][turn % 3],
                    partitions: [1, 2, 7][turn / 3 % 3],
                    view_types: true,
                };
                let ctx = miniblock_session(settings);
                for (name, batch) in names.iter().zip(&batches) {
                    let path = folder.join(format!("{name}-{turn}.parquet"));
                    write(batch, &path, shape, version, compression);
                    register_miniblock(&ctx, &Table::new(name, path.to_str().unwrap())).await.unwrap();
                }
                // Q12 always; the others in turn, all of them where nothing is compressed.
                let all = compression == Compression::UNCOMPRESSED;
                for (index, sql) in QUERIES.iter().enumerate() {
                    if index == 0 || all || index % 4 == turn % 4 {
                        let place = format!("{shape:?} {version:?} {compression} {settings:?}\n{sql}");
                        let found = run(&ctx, sql).await.unwrap_or_else(|error| panic!("{place}\n{error}"));
                        compare(&expected[index], &found, How::AnyOrder)
                            .unwrap_or_else(|difference| panic!("{place}\n{difference}"));
                    }
                }
                turn += 1;
            }
        }
    }
}
