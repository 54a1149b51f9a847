//! The floors of the house: a module knows those below it alone. And the table of tests: what it names is there.

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. Modules of one line share a floor and do not know each other.
const FLOORS: &[&[&str]] = &[
    &["error"],
    &["kernels"],
    &["predicate"],
    &["encoding"],
    &["page", "write"],
    &["column"],
    &["scan"],
    &["provider"],
];

fn floor_of(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The first path segment after each `crate::` in the code, comments left out; `{a, b}` gives both.
fn imports(source: &str) -> Vec<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut modules = Vec::new();
    for (position, _) in code.match_indices("crate::") {
        if code[..position].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[position + "crate::".len()..];
        let word =
            |text: &str| text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = &list[..list.find('}').unwrap_or(list.len())];
                modules.extend(list.split(',').map(word));
            }
            None => modules.push(word(rest)),
        }
    }
    modules
}

#[test]
fn imports_go_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    let mut seen = 0;
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let floor = floor_of(module).unwrap_or_else(|| panic!("{module} stands on no floor"));
        for import in imports(&fs::read_to_string(&file).unwrap()) {
            if import == module {
                continue;
            }
            let Some(below) = floor_of(&import) else { panic!("{}: crate::{import} is no floor", relative.display()) };
            assert!(below < floor, "{}: {module} may not know {import}", relative.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "the walk found {seen} imports only");
}

/// `tests/README.md` says which test covers which class.
#[test]
fn tests_that_are_named_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    rust_files(&root.join("tests"), &mut files);
    let sources: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let readme = fs::read_to_string(root.join("tests/README.md")).unwrap();
    let mut seen = 0;
    for name in readme.split('`').skip(1).step_by(2).filter(|name| name.contains("::")) {
        let last = name.rsplit("::").next().unwrap().trim_end_matches('*');
        assert!(
            [format!("fn {last}"), format!("mod {last}")].iter().any(|item| sources.contains(item)),
            "there is no {name}"
        );
        seen += 1;
    }
    assert!(seen > 80, "{seen} names");
}

#[test]
fn the_walk_sees_imports() {
    assert_eq!(
        imports("use crate::{error, scan::Scan};\nlet x = crate::page::y();\n// crate::column"),
        ["error", "scan", "page"]
    );
}
