//! The outcome as a table for people.

use std::fmt::Write;

use crate::cli::BenchOptions;
use crate::dataset::{Encoding, Table};
use crate::machine::{Machine, versions};
use crate::query::Query;
use crate::run::{Outcome, VariantOutcome};
use crate::variant::Variant;

const BAR_WIDTH: usize = 24;

/// Header, table, legend and verdict.
pub(crate) fn render(query: &Query, options: &BenchOptions, outcome: &Outcome, pinned: Option<usize>) -> String {
    let mut lines = vec![setting(&query.name.to_uppercase(), options, pinned), machine(), String::new()];
    lines.extend(table(query, outcome));
    lines.push(String::new());
    lines.extend(legend(query, outcome));
    lines.push(String::new());
    lines.push(answers(outcome));
    lines.push(verdict(query, outcome));
    lines.join("\n") + "\n"
}

/// Each variant's plan, where it was kept, with the metrics of its last run.
pub(crate) fn plans(outcome: &Outcome) -> String {
    let plan = |of: &VariantOutcome| Some(format!("plan of {}\n{}\n", of.variant, of.plan.as_ref()?));
    outcome.variants.iter().filter_map(plan).collect()
}

/// What was run, and how.
pub(crate) fn setting(what: &str, options: &BenchOptions, pinned: Option<usize>) -> String {
    let threads = match (options.threads, pinned) {
        (1, Some(core)) => format!("one thread, pinned to core {core}"),
        (1, None) => "one thread, not pinned".to_owned(),
        (threads, _) => format!("{threads} threads"),
    };
    let data = &options.data;
    let rounds = if options.repeats == 1 { "1 round".to_owned() } else { format!("{} rounds", options.repeats) };
    format!(
        "TPC-H {what}, SF {}, compression {}, {threads}, {rounds} after one of warm-up",
        data.scale_factor,
        data.compression.name()
    )
}

pub(crate) fn machine() -> String {
    let Machine { cpu, cores, os, arch } = Machine::this();
    let versions: Vec<_> = versions().iter().map(|(name, version)| format!("{name} {version}")).collect();
    format!("{cpu}, {cores} cores, {os} {arch}; {}", versions.join(", "))
}

/// A row of cells a variant, under two rows of headings.
fn table(query: &Query, outcome: &Outcome) -> Vec<String> {
    let headings = ["variant", "median", "min", "max", "ratio", "scan ms", "scan rows", "scan MB", "cpu ms"];
    let slowest = outcome.variants.iter().filter_map(|of| of.wall()).map(|wall| wall.median).fold(0.0, f64::max);
    let mut rows = vec![headings.map(str::to_owned)];
    let mut bars = vec![String::new()];
    for of in &outcome.variants {
        let wall = of.wall();
        rows.push([
            of.variant.to_string(),
            cell(wall.map(|wall| millis(wall.median))),
            cell(wall.map(|wall| millis(wall.min))),
            cell(wall.map(|wall| millis(wall.max))),
            cell(outcome.ratio(of).map(|ratio| format!("{ratio:.2}"))),
            cell(of.scan().map(|scan| millis(scan.median))),
            cell(of.rows().map(thousands)),
            cell(of.bytes_read().map(|bytes| format!("{:.1}", bytes as f64 / 1e6))),
            cell(of.cpu().map(|cpu| millis(cpu.median))),
        ]);
        bars.push(bar(wall.map_or(0.0, |wall| wall.median / slowest)));
    }
    let widths = widths(&rows);
    let wall_width = widths[1] + widths[2] + widths[3] + 4;
    let scan_width = widths[5] + widths[6] + widths[7] + 4;
    let mut lines = vec![format!(
        "{}  {}  {}  {}",
        " ".repeat(widths[0]),
        over("wall ms", wall_width),
        " ".repeat(widths[4]),
        over(scanned(query), scan_width)
    )];
    for (index, (row, bar)) in rows.iter().zip(&bars).enumerate() {
        lines.push(format!("{}  {bar}", aligned(row, &widths)).trim_end().to_owned());
        if index == 0 {
            let width = widths.iter().sum::<usize>() + 2 * (widths.len() - 1) + 2 + BAR_WIDTH;
            lines.push("─".repeat(width));
        }
    }
    lines
}

/// What each column's longest cell takes.
pub(crate) fn widths<const N: usize>(rows: &[[String; N]]) -> [usize; N] {
    std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
}

/// A row of cells, names to the left and numbers to the right.
pub(crate) fn aligned<const N: usize>(row: &[String; N], widths: &[usize; N]) -> String {
    let mut line = String::new();
    for (column, (text, &width)) in row.iter().zip(widths).enumerate() {
        // Writing to a string does not fail.
        let _ = if column == 0 { write!(line, "{text:<width$}") } else { write!(line, "  {text:>width$}") };
    }
    line
}

/// A heading over several columns: `── wall ms ──`.
pub(crate) fn over(text: &str, width: usize) -> String {
    let dashes = width.saturating_sub(text.chars().count() + 2);
    format!("{} {text} {}", "─".repeat(dashes / 2), "─".repeat(dashes - dashes / 2))
}

pub(crate) fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

pub(crate) fn millis(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A bar of eighths of a character; `share` is between 0 and 1.
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR_WIDTH) as f64).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// What the scan's columns are about.
fn scanned(query: &Query) -> &'static str {
    query.watched.map_or("all tables", Table::name)
}

fn legend(query: &Query, outcome: &Outcome) -> Vec<String> {
    let table = scanned(query);
    let mut lines = vec![
        "wall   planning and execution, to the last row; the bar shows the median".to_owned(),
        "ratio  median over that of miniblock on the same file".to_owned(),
        format!("scan   the scan of {table}: time_elapsed_processing (median), rows handed on, bytes read"),
        "cpu    user and system time of the process (median)".to_owned(),
    ];
    if outcome.variants.iter().any(|of| of.variant == Variant::Floor) {
        let encoding = outcome.floor_encoding;
        lines.push(format!(
            "floor  the same plan over rows in memory, already filtered; its ratio is to miniblock-{encoding}"
        ));
    }
    lines
}

fn answers(outcome: &Outcome) -> String {
    let checked = outcome.checked();
    let wrong: Vec<_> = outcome.variants.iter().filter(|of| !of.answer_ok()).map(|of| of.variant.to_string()).collect();
    if wrong.is_empty() {
        format!("{checked} answers checked, all right")
    } else {
        format!("WRONG ANSWERS from {}", wrong.join(", "))
    }
}

/// One line: ours against DataFusion's better setting, on the first encoding in full and on the others in short.
fn verdict(query: &Query, outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    for encoding in outcome.encodings() {
        let Some((ours, theirs, pushdown)) = duel(outcome, encoding) else { continue };
        let (factor, word) = if theirs >= ours { (theirs / ours, "faster") } else { (ours / theirs, "slower") };
        if parts.is_empty() {
            let setting = if pushdown { "on" } else { "off" };
            parts.push(format!(
                "{} on {encoding}: miniblock {} ms, {factor:.1} x {word} than DataFusion's better setting (pushdown {setting}, {} ms)",
                query.name.to_uppercase(),
                short(ours),
                short(theirs)
            ));
        } else {
            parts.push(format!("{encoding}: {factor:.1} x {word}"));
        }
    }
    if parts.is_empty() {
        return format!(
            "{}: no verdict, for miniblock and datafusion did not run on the same file",
            query.name.to_uppercase()
        );
    }
    parts.join("; ")
}

/// The medians of ours and of DataFusion's better setting on one encoding, and which setting that is.
fn duel(outcome: &Outcome, encoding: Encoding) -> Option<(f64, f64, bool)> {
    let median = |of: &VariantOutcome| of.wall().map(|wall| wall.median);
    let ours = outcome.find(Variant::Miniblock(encoding)).and_then(median)?;
    let theirs = [false, true].into_iter().filter_map(|pushdown| {
        let of = outcome.find(Variant::Datafusion { encoding, pushdown })?;
        Some((median(of)?, pushdown))
    });
    let (theirs, pushdown) = theirs.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((ours, theirs, pushdown))
}

fn short(millis: f64) -> String {
    if millis < 10.0 { format!("{millis:.1}") } else { format!("{millis:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1000, 6_001_215].map(thousands), ["0", "999", "1,000", "6,001,215"]);
        assert_eq!([millis(9.994), millis(12.34)], ["9.99", "12.3"]);
    }

    #[test]
    fn bars_fill_their_width() {
        assert_eq!(bar(1.0).chars().count(), BAR_WIDTH);
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(1.0 / (8 * BAR_WIDTH) as f64), "▏");
        assert_eq!(bar(f64::NAN), "");
    }

    #[test]
    fn headings_fill_their_width() {
        for width in 12..20 {
            assert_eq!(over("wall ms", width).chars().count(), width);
        }
    }
}
