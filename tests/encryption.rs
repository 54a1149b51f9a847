//! Encrypted files: with keys they are DataFusion's to read, without keys they are refused by name.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::common::config::{ConfigFileType, TableOptions};
use datafusion::datasource::listing::{ListingOptions, ListingTableConfig, ListingTableUrl};
use datafusion::prelude::SessionContext;
use miniblock::{MiniblockFormat, MiniblockOptions, MiniblockTable};
use parquet::arrow::ArrowWriter;
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::oracle::{Settings, Table, miniblock_session, register_miniblock, run};

const KEY: &[u8; 16] = b"0123456789012345";

/// Writes a file whose columns are all encrypted; the footer may stand in plain text.
fn write_encrypted(path: &Path, plaintext_footer: bool) {
    let numbers: ArrayRef = Arc::new((0..1000).collect::<Int64Array>());
    let names: ArrayRef = Arc::new((0..1000).map(|i| Some(format!("name {i}"))).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("number", numbers), ("name", names)]).unwrap();
    let encryption =
        FileEncryptionProperties::builder(KEY.to_vec()).with_plaintext_footer(plaintext_footer).build().unwrap();
    // Without a page index, at which DataFusion would stop a reader without keys before us.
    let properties = WriterProperties::builder()
        .with_file_encryption_properties(encryption)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn file(name: &str, plaintext_footer: bool) -> String {
    let path = std::env::temp_dir().join(format!("miniblock-{}-{name}.parquet", std::process::id()));
    write_encrypted(&path, plaintext_footer);
    path.to_str().unwrap().to_string()
}

#[tokio::test]
async fn keys_in_the_table_options_read_the_file() {
    for plaintext_footer in [false, true] {
        let path = file(&format!("with-keys-{plaintext_footer}"), plaintext_footer);
        let ctx = SessionContext::new();
        let mut table_options = TableOptions::default_from_session_config(ctx.state().config_options());
        table_options.set_config_format(ConfigFileType::PARQUET);
        let key: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
        table_options
            .alter_with_string_hash_map(&HashMap::from([(
                "format.crypto.file_decryption.footer_key_as_hex".to_string(),
                key,
            )]))
            .unwrap();
        let format = MiniblockFormat::new(table_options.parquet, MiniblockOptions::new());
        let listing = ListingOptions::new(Arc::new(format)).with_file_extension("");
        let config = ListingTableConfig::new(ListingTableUrl::parse(&path).unwrap()).with_listing_options(listing);
        let table = MiniblockTable::try_new(config.infer_schema(&ctx.state()).await.unwrap()).unwrap();
        ctx.register_table("t", Arc::new(table)).unwrap();
        for (sql, value) in [
            ("SELECT count(*) FROM t", "1000"),
            ("SELECT sum(number) FROM t WHERE number < 100 AND name LIKE 'name 1%'", "146"),
        ] {
            assert_eq!(run(&ctx, sql).await.unwrap().scalar(), value, "{sql}");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn without_keys_the_error_says_what_is_missing() {
    for (plaintext_footer, says) in [(false, "encrypted footer"), (true, "the column is encrypted")] {
        let path = file(&format!("without-keys-{plaintext_footer}"), plaintext_footer);
        let ctx = miniblock_session(Settings::default());
        let registered = register_miniblock(&ctx, &Table::new("t", &path)).await;
        let error = match registered {
            Ok(()) => run(&ctx, "SELECT sum(number) FROM t").await.map(|_| ()),
            Err(error) => Err(error),
        };
        let error = error.unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(path.rsplit('/').next().unwrap()), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}
