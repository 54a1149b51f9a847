//! What footers and indexes promise, before anybody takes memory or stack for it.
//!
//! The parquet crate reserves memory for lists by their counts, and descends into the schema by recursion. Here the counts
//! are held against the bytes, and the depth against a limit.

use super::thrift::{Thrift, Type};
use crate::error::{Error, Result};

/// Groups in groups of a schema. A list takes two of them.
const MAX_SCHEMA_DEPTH: usize = 100;

/// Checks a `FileMetaData` of parquet.thrift.
///
/// # Errors
/// It is no Thrift, has fewer elements than a list promises, or a schema that is no tree or too deep.
pub fn check_footer(bytes: &[u8]) -> Result<()> {
    const SCHEMA: i16 = 2;
    let mut thrift = Thrift::new(bytes, "footer");
    let mut id = 0;
    while let Some(field) = thrift.field(&mut id)? {
        match (id, field) {
            (SCHEMA, Type::List) => check_schema(&mut thrift)?,
            (_, other) => thrift.skip(other, 0)?,
        }
    }
    Ok(())
}

/// Checks an `OffsetIndex` or a `ColumnIndex` of parquet.thrift.
///
/// # Errors
/// It is no Thrift, or has fewer elements than a list promises.
pub fn check_index(bytes: &[u8]) -> Result<()> {
    Thrift::new(bytes, "page index").skip(Type::Struct, 0)
}

/// A schema is the nodes of a tree in depth-first order, each with the number of its children.
fn check_schema(thrift: &mut Thrift<'_>) -> Result<()> {
    let (count, element) = thrift.list()?;
    if count > 0 && !matches!(element, Type::Struct) {
        return Err(Error::corrupt("footer with a schema that is no list of structs"));
    }
    // Children that are still to come, from the root down to the node that was read last.
    let mut open: Vec<u64> = Vec::new();
    for index in 0..count {
        let children = num_children(thrift)?;
        while open.last() == Some(&0) {
            open.pop();
        }
        match open.last_mut() {
            Some(left) => *left -= 1,
            None if index > 0 => return Err(Error::corrupt("footer with a schema of two roots")),
            None => {}
        }
        if children > count - index - 1 {
            return Err(Error::corrupt(format!("footer with a group of {children} columns, more than there are")));
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > MAX_SCHEMA_DEPTH {
            return Err(Error::limit(format!("schema of more than {MAX_SCHEMA_DEPTH} levels")));
        }
    }
    if open.iter().any(|&left| left > 0) {
        return Err(Error::corrupt("footer with a schema that is cut short"));
    }
    Ok(())
}

/// Steps over a `SchemaElement`.
fn num_children(thrift: &mut Thrift<'_>) -> Result<u64> {
    const NUM_CHILDREN: i16 = 5;
    let mut children = 0;
    let mut id = 0;
    while let Some(field) = thrift.field(&mut id)? {
        match (id, field) {
            (NUM_CHILDREN, Type::I32) => children = thrift.size("num_children")? as u64,
            (_, other) => thrift.skip(other, 0)?,
        }
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a schema of groups that have `children` each.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x29, 0xfc];
        let mut count = children.len();
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        children.iter().for_each(|children| bytes.extend([0x55, children * 2, 0]));
        bytes.push(0);
        bytes
    }

    #[test]
    fn footers_of_all_files_are_good() {
        let folder = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() || path.extension().is_none_or(|extension| extension != "parquet") {
                continue;
            }
            let file = std::fs::read(&path).unwrap();
            let (rest, tail) = file.split_last_chunk::<8>().unwrap();
            let len = u32::from_le_bytes(*tail.first_chunk().unwrap()) as usize;
            let footer = &rest[rest.len() - len..];
            check_footer(footer).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for len in (0..footer.len()).step_by(7) {
                assert!(check_footer(&footer[..len]).is_err(), "{} cut to {len}", path.display());
            }
        }
    }

    #[test]
    fn schemas_are_trees() {
        for good in [&[0][..], &[1, 0], &[2, 1, 0, 0], &[3, 0, 0, 0], &[2, 0, 2, 0, 0]] {
            check_footer(&footer(good)).unwrap();
        }
        for bad in [&[0, 0][..], &[1], &[63, 0, 0], &[1, 0, 0], &[2, 1, 0]] {
            assert!(matches!(check_footer(&footer(bad)), Err(Error::Corrupt(_))), "{bad:?}");
        }
        let chain = |levels: usize| footer(&[vec![1; levels], vec![0]].concat());
        check_footer(&chain(MAX_SCHEMA_DEPTH)).unwrap();
        for levels in [MAX_SCHEMA_DEPTH + 1, 100_000] {
            assert!(matches!(check_footer(&chain(levels)), Err(Error::Limit(_))));
        }
    }

    #[test]
    fn lists_are_as_long_as_they_say() {
        // 2^31 - 1 row groups; as many page locations.
        let row_groups = [0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0];
        assert!(check_footer(&row_groups).is_err());
        let locations = [0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0];
        assert!(check_index(&locations).is_err());
        check_index(&[0x19, 0x1c, 0x16, 2, 0x15, 2, 0x16, 2, 0, 0]).unwrap();
    }
}
