//! Scans with other kernels than those that the machine would choose: this binary again, some of its tests.

use std::process::Command;

use miniblock::internals::kernels::{ISA_OVERRIDE, Isa};

/// Runs tests by name under the override. Those that take files of all writers, and random tables.
fn run_with(isa: &str) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["fixtures::contents", "fixtures::files", "differential::random"])
        .env(ISA_OVERRIDE, isa)
        .env("MINIBLOCK_CASES", "100")
        .output()
        .unwrap()
}

fn check(isa: Isa) {
    if std::env::var_os(ISA_OVERRIDE).is_some() {
        // All tests are run with an override already.
        return;
    }
    let output = run_with(isa.name());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if isa.is_available() {
        assert!(output.status.success(), "with {}:\n{printed}", isa.name());
        assert!(printed.contains("7 passed"), "with {}:\n{printed}", isa.name());
    } else {
        // A table is not opened then, and says why.
        assert!(printed.contains("which this processor lacks"), "with {}:\n{printed}", isa.name());
    }
}

#[test]
fn portable() {
    check(Isa::Portable);
}

#[test]
fn avx2() {
    check(Isa::Avx2);
}
