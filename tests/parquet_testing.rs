//! The files of apache/parquet-testing, where `PARQUET_TEST_DATA` names their folder `data`; any other folder of Parquet
//! files will do as well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixtures::{Outcome, check_table};
use crate::oracle::{Settings, Table, announce};

/// The folder, if there is one.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("PARQUET_TEST_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if folder.is_none() {
        announce("PARQUET_TEST_DATA IS NOT SET: THE FILES OF PARQUET-TESTING ARE NOT READ");
    }
    folder
}

/// Parquet files in `folder` and below, hive folders apart.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else if [".parquet", ".parq", ".parquet.encrypted"].iter().any(|end| path.to_str().unwrap().ends_with(end)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What both say of the files in a folder; panics where they differ.
async fn check(folder: &Path) -> (usize, Vec<(String, Option<String>)>) {
    let (mut same, mut refused) = (0, Vec::new());
    for (turn, path) in files(folder).iter().enumerate() {
        let settings =
            Settings { partitions: [1, 3][turn % 2], batch_size: [8192, 100][turn / 2 % 2], view_types: turn % 3 != 0 };
        let path = path.to_str().unwrap();
        match check_table(&Table::new("t", path), settings).await {
            Outcome::Same(_) => same += 1,
            Outcome::Refused(said) => refused.push((path.to_string(), said)),
        }
    }
    (same, refused)
}

/// What ours says of a file that the other refuses: no panic, and its name.
fn assert_clear(refused: &[(String, Option<String>)]) {
    for (path, said) in refused {
        let Some(said) = said else { continue };
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        assert!(!said.contains("PANIC"), "{path}: {said}");
        assert!(said.contains(name), "{path} is not named: {said}");
        if name.ends_with(".encrypted") {
            assert!(said.to_lowercase().contains("encrypt"), "{path}: {said}");
        }
    }
}

#[tokio::test]
async fn readable_files_give_the_same_rows() {
    let Some(folder) = folder() else { return };
    let (same, refused) = check(&folder).await;
    assert!(same > 0, "nothing to compare in {}", folder.display());
    assert_clear(&refused);
}

#[tokio::test]
async fn bad_files_are_errors_or_the_same_rows() {
    let Some(folder) = folder().map(|folder| folder.join("../bad_data")).filter(|folder| folder.exists()) else {
        return;
    };
    let (same, refused) = check(&folder).await;
    assert!(same + refused.len() > 0, "nothing to compare in {}", folder.display());
    assert_clear(&refused);
}
