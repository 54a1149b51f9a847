//! The outcome of many queries as a table for people: a line for each.

use crate::Result;
use crate::cli::BenchOptions;
use crate::ratio::Ratio;
use crate::report::{aligned, cell, machine, millis, over, setting, widths};
use crate::run::Outcome;
use crate::suite::{Comparison, OnEncoding, SuiteOutcome};

/// Header, a table an encoding, legend and verdicts.
pub(crate) fn render(options: &BenchOptions, outcome: &SuiteOutcome, pinned: Option<usize>) -> String {
    let what = match outcome.queries.as_slice() {
        [(name, _)] => name.to_uppercase(),
        queries => format!("{} queries", queries.len()),
    };
    let encodings: Vec<_> = outcome.encodings().into_iter().map(|encoding| outcome.on(encoding)).collect();
    let mut lines = vec![setting(&what, options, pinned), machine(), String::new()];
    for of in &encodings {
        lines.extend(table(of));
        lines.push(String::new());
    }
    lines.extend(
        [
            "wall    planning and execution, to the last row (median)",
            "ratio   the median of DataFusion's better setting over that of miniblock: above 1 miniblock is faster",
            "bounds  of the ratio, 95 %, by a bootstrap over the rounds; it takes five",
            "slower  the upper bound is below 1",
        ]
        .map(str::to_owned),
    );
    lines.push(String::new());
    lines.push(answers(outcome));
    lines.extend(encodings.iter().map(verdict));
    lines.join("\n") + "\n"
}

/// A row of cells a query, and the geometric mean.
fn table(of: &OnEncoding) -> Vec<String> {
    let headings = ["query", "miniblock", "datafusion", "datafusion-pushdown", "ratio", "lower", "upper"];
    let mut rows = vec![headings.map(str::to_owned)];
    let mut marks = vec![""];
    for (name, query) in &of.queries {
        let median = |of: fn(&Comparison) -> Option<f64>| cell(query.as_ref().and_then(of).map(millis));
        let ratio = query.as_ref().and_then(|query| query.ratio);
        let [estimate, lower, upper] = ratio_cells(ratio);
        rows.push([
            (*name).to_owned(),
            median(|of| of.miniblock),
            median(|of| of.datafusion),
            median(|of| of.pushdown),
            estimate,
            lower,
            upper,
        ]);
        marks.push(match query {
            None => "FAILED",
            Some(query) if !query.answer_ok => "WRONG",
            _ if ratio.is_some_and(Ratio::is_slower) => "slower",
            _ => "",
        });
    }
    let [estimate, lower, upper] = ratio_cells(of.geometric_mean);
    let none = String::new;
    rows.push(["geometric mean".to_owned(), none(), none(), none(), estimate, lower, upper]);
    marks.push("");

    let widths = widths(&rows);
    let over_wall = over("wall ms", widths[1] + widths[2] + widths[3] + 4);
    let over_bounds = over("bounds", widths[5] + widths[6] + 2);
    let (encoding, ratio) = (format!("{:<1$}", of.encoding.name(), widths[0]), " ".repeat(widths[4]));
    let mut lines = vec![format!("{encoding}  {over_wall}  {ratio}  {over_bounds}")];
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));
    lines.extend(rows.iter().zip(marks).map(|(row, mark)| {
        let line = format!("{}  {mark}", aligned(row, &widths));
        line.trim_end().to_owned()
    }));
    lines.insert(2, rule.clone());
    lines.insert(lines.len() - 1, rule);
    lines
}

fn ratio_cells(ratio: Option<Ratio>) -> [String; 3] {
    let bounds = ratio.and_then(|ratio| ratio.bounds);
    [ratio.map(|ratio| ratio.estimate), bounds.map(|(lower, _)| lower), bounds.map(|(_, upper)| upper)]
        .map(|value| cell(value.map(|value| format!("{value:.2}"))))
}

fn answers(outcome: &SuiteOutcome) -> String {
    let names = |bad: fn(&Result<Outcome>) -> bool| -> Vec<&str> {
        outcome.queries.iter().filter(|(_, of)| bad(of)).map(|(name, _)| *name).collect()
    };
    let wrong = names(|of| of.as_ref().is_ok_and(|of| !of.answer_ok()));
    let failed = names(Result::is_err);
    let mut parts = Vec::new();
    if !wrong.is_empty() {
        parts.push(format!("WRONG ANSWERS to {}", wrong.join(", ")));
    }
    if !failed.is_empty() {
        parts.push(format!("FAILED: {}", failed.join(", ")));
    }
    if parts.is_empty() {
        let checked: usize = outcome.queries.iter().filter_map(|(_, of)| of.as_ref().ok()).map(Outcome::checked).sum();
        parts.push(format!("{checked} answers checked, all right"));
    }
    parts.join("; ")
}

/// One line: ours against DataFusion's better setting.
fn verdict(of: &OnEncoding) -> String {
    let OnEncoding { encoding, compared, geometric_mean, .. } = of;
    let Some(mean) = geometric_mean else {
        return format!("{encoding}: no verdict, for there is no query that both answered right on the same file");
    };
    let (factor, word) = if mean.estimate >= 1.0 { (mean.estimate, "faster") } else { (1.0 / mean.estimate, "slower") };
    let mut line = format!(
        "{encoding}: miniblock {factor:.2} x {word} than DataFusion's better setting, geometric mean of {compared}"
    );
    if mean.bounds.is_some() {
        let slower = of.names(Ratio::is_slower);
        let slower = if slower.is_empty() { "none".to_owned() } else { slower.join(", ") };
        line += &format!("; beyond noise faster on {}, slower on {slower}", of.names(Ratio::is_faster).len());
    }
    line
}
