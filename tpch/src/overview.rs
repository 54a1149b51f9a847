//! The outcome of many queries as a table for people: a line for each.

use crate::cli::BenchOptions;
use crate::dataset::Encoding;
use crate::ratio::Ratio;
use crate::report::{aligned, cell, machine, millis, over, setting, widths};
use crate::run::Outcome;
use crate::suite::{Comparison, SuiteOutcome};

/// Header, a table an encoding, legend and verdicts.
pub(crate) fn render(options: &BenchOptions, outcome: &SuiteOutcome, pinned: Option<usize>) -> String {
    let what = match outcome.queries.as_slice() {
        [(name, _)] => name.to_uppercase(),
        queries => format!("{} queries", queries.len()),
    };
    let mut lines = vec![setting(&what, options, pinned), machine(), String::new()];
    for encoding in outcome.encodings() {
        lines.extend(table(outcome, encoding));
        lines.push(String::new());
    }
    lines.extend(
        [
            "wall    planning and execution, to the last row (median)",
            "ratio   the median of DataFusion's better setting over that of miniblock: above 1 miniblock is faster",
            "bounds  of the ratio, 95 %, by a bootstrap over the rounds; five rounds are wanted for that",
            "slower  the upper bound is below 1",
        ]
        .map(str::to_owned),
    );
    lines.push(String::new());
    lines.push(answers(outcome));
    lines.extend(outcome.encodings().into_iter().map(|encoding| verdict(outcome, encoding)));
    lines.join("\n") + "\n"
}

/// A row of cells a query, and the geometric mean.
fn table(outcome: &SuiteOutcome, encoding: Encoding) -> Vec<String> {
    let headings = ["query", "miniblock", "datafusion", "datafusion-pushdown", "ratio", "lower", "upper"];
    let mut rows = vec![headings.map(str::to_owned)];
    let mut marks = vec![""];
    for (name, of) in &outcome.queries {
        let Ok(of) = of else {
            let mut row = [(); 7].map(|()| "-".to_owned());
            (*name).clone_into(&mut row[0]);
            rows.push(row);
            marks.push("FAILED");
            continue;
        };
        let Comparison { miniblock, datafusion, pushdown, ratio, answer_ok } = Comparison::of(of, encoding);
        let ratio = ratio.map(|ratio| ratio.ratio());
        let [miniblock, datafusion, pushdown] = [miniblock, datafusion, pushdown].map(|time| cell(time.map(millis)));
        let [estimate, lower, upper] = ratio_cells(ratio);
        rows.push([(*name).to_owned(), miniblock, datafusion, pushdown, estimate, lower, upper]);
        marks.push(match ratio {
            _ if !answer_ok => "WRONG",
            Some(ratio) if ratio.is_slower() => "slower",
            _ => "",
        });
    }
    let [estimate, lower, upper] = ratio_cells(outcome.geometric_mean(encoding).map(|(_, mean)| mean));
    let none = String::new;
    rows.push(["geometric mean".to_owned(), none(), none(), none(), estimate, lower, upper]);
    marks.push("");

    let widths = widths(&rows);
    let wall_width = widths[1] + widths[2] + widths[3] + 4;
    let bounds_width = widths[5] + widths[6] + 2;
    let mut lines = vec![format!(
        "{:<first$}  {}  {:ratio$}  {}",
        encoding.name(),
        over("wall ms", wall_width),
        "",
        over("bounds", bounds_width),
        first = widths[0],
        ratio = widths[4],
    )];
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));
    for (index, (row, mark)) in rows.iter().zip(marks).enumerate() {
        if index + 1 == rows.len() {
            lines.push(rule.clone());
        }
        lines.push(format!("{}  {mark}", aligned(row, &widths)).trim_end().to_owned());
        if index == 0 {
            lines.push(rule.clone());
        }
    }
    lines
}

fn ratio_cells(ratio: Option<Ratio>) -> [String; 3] {
    let bounds = ratio.and_then(|ratio| ratio.bounds);
    [ratio.map(|ratio| ratio.estimate), bounds.map(|(lower, _)| lower), bounds.map(|(_, upper)| upper)]
        .map(|value| cell(value.map(|value| format!("{value:.2}"))))
}

fn answers(outcome: &SuiteOutcome) -> String {
    let names = |bad: fn(&&Outcome) -> bool| -> Vec<&str> {
        outcome.queries.iter().filter(|(_, of)| of.as_ref().is_ok_and(|of| bad(&of))).map(|(name, _)| *name).collect()
    };
    let wrong = names(|of| !of.answer_ok());
    let failed: Vec<_> = outcome.queries.iter().filter(|(_, of)| of.is_err()).map(|(name, _)| *name).collect();
    let checked: usize = outcome.queries.iter().filter_map(|(_, of)| of.as_ref().ok()).map(Outcome::checked).sum();
    let mut parts = Vec::new();
    if !wrong.is_empty() {
        parts.push(format!("WRONG ANSWERS to {}", wrong.join(", ")));
    }
    if !failed.is_empty() {
        parts.push(format!("FAILED: {}", failed.join(", ")));
    }
    if parts.is_empty() { format!("{checked} answers checked, all right") } else { parts.join("; ") }
}

/// One line: ours against DataFusion's better setting.
fn verdict(outcome: &SuiteOutcome, encoding: Encoding) -> String {
    let Some((queries, mean)) = outcome.geometric_mean(encoding) else {
        return format!("{encoding}: no verdict, for miniblock and datafusion did not run on the same file");
    };
    let names = |which: fn(Ratio) -> bool| -> Vec<&str> {
        let ratio = |of: &Outcome| Comparison::of(of, encoding).ratio.map(|ratio| ratio.ratio());
        let is = |of: &Outcome| ratio(of).is_some_and(which);
        outcome.queries.iter().filter(|(_, of)| of.as_ref().is_ok_and(is)).map(|(name, _)| *name).collect()
    };
    let faster = names(Ratio::is_faster);
    let slower = names(Ratio::is_slower);
    let (factor, word) = if mean.estimate >= 1.0 { (mean.estimate, "faster") } else { (1.0 / mean.estimate, "slower") };
    let noise = match (mean.bounds, slower.as_slice()) {
        (None, _) => String::new(),
        (_, []) => format!("; beyond noise faster on {}, slower on none", faster.len()),
        (_, slower) => format!("; beyond noise faster on {}, slower on {}", faster.len(), slower.join(", ")),
    };
    format!(
        "{encoding}: miniblock {factor:.2} x {word} than DataFusion's better setting, geometric mean of {queries}{noise}"
    )
}
