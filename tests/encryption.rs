//! Encrypted files, of which nobody has the keys: the error says that they are encrypted.

use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::file::properties::EnabledStatistics;

use crate::files::{properties, sample, write};
use crate::oracle::{Settings, miniblock_session, register_miniblock, run};

/// What the queries say over a file whose column `s`, and `id` if `footer` is, are encrypted.
async fn said(name: &str, plaintext_footer: bool, columns: &[&str], sql: &str) -> Result<usize, String> {
    let mut encryption =
        FileEncryptionProperties::builder(b"0123456789012345".to_vec()).with_plaintext_footer(plaintext_footer);
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
