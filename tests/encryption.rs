//! Encrypted files: with keys they are DataFusion's to read, without them the error says that they are encrypted.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::{ConfigFileType, TableOptions};
use datafusion::datasource::listing::{ListingOptions, ListingTableConfig, ListingTableUrl};
use datafusion::prelude::SessionContext;
use miniblock::{MiniblockFormat, MiniblockOptions, MiniblockTable};
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::file::properties::EnabledStatistics;

use crate::files::{properties, sample, write};
use crate::oracle::{Settings, miniblock_session, register_miniblock, run};

const KEY: &[u8; 16] = b"0123456789012345";

/// What the queries say over a file whose column `s`, and `id` if `footer` is, are encrypted.
async fn said(name: &str, plaintext_footer: bool, columns: &[&str], sql: &str) -> Result<usize, String> {
    let mut encryption = FileEncryptionProperties::builder(KEY.to_vec()).with_plaintext_footer(plaintext_footer);
    for column in columns {
        encryption = encryption.with_column_key(column, b"1234567890123450".to_vec());
    }
    let properties = properties()
        .into_builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .with_file_encryption_properties(encryption.build().unwrap())
        .build();
    let table = write("encryption", name, &sample(2500), properties);
    let ctx = miniblock_session(Settings::default());
    let result = match register_miniblock(&ctx, &table).await {
        Ok(()) => run(&ctx, sql).await,
        Err(error) => Err(error),
    };
    result.map(|answer| answer.num_rows()).map_err(|error| {
        let error = error.to_string();
        assert!(error.contains(name), "{error}");
        error
    })
}

#[tokio::test]
async fn encrypted_footers() {
    for columns in [&[][..], &["s"]] {
        let error = said("footer.parquet", false, columns, "SELECT id FROM t").await.unwrap_err();
        assert!(error.contains("encrypted footer"), "{error}");
    }
}

#[tokio::test]
async fn encrypted_columns() {
    for sql in [
        "SELECT * FROM t",
        "SELECT s FROM t",
        "SELECT id FROM t WHERE s > 'text-5'",
        "SELECT id FROM t WHERE s LIKE '%7'",
    ] {
        let error = said("column.parquet", true, &["s"], sql).await.unwrap_err();
        assert!(error.contains("encrypted column") && error.contains("column s"), "{sql}: {error}");
        assert!(!error.contains("corrupt"), "{sql}: {error}");
    }
    // The others are readable.
    assert_eq!(said("column.parquet", true, &["s"], "SELECT id, k FROM t WHERE k = 3").await, Ok(54));
    // The footer's key is that of all columns.
    let error = said("all.parquet", true, &[], "SELECT id FROM t").await.unwrap_err();
    assert!(error.contains("encrypted column") && error.contains("column id"), "{error}");
}

#[tokio::test]
async fn keys_in_the_table_options_read_the_file() {
    for plaintext_footer in [false, true] {
        let encryption =
            FileEncryptionProperties::builder(KEY.to_vec()).with_plaintext_footer(plaintext_footer).build().unwrap();
        let properties = properties().into_builder().with_file_encryption_properties(encryption).build();
        let path = write("encryption", "with-keys.parquet", &sample(1000), properties).path;
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
            ("SELECT sum(id) FROM t WHERE id < 200 AND s LIKE 'text-001%'", "1290"),
        ] {
            assert_eq!(run(&ctx, sql).await.unwrap().scalar(), value, "{sql}");
        }
    }
}
