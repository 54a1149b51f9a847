//! The outcome as one JSON object.

use serde_json::{Map, Value, json};

use crate::cli::BenchOptions;
use crate::machine::{Machine, versions};
use crate::measure::Summary;
use crate::query::Query;
use crate::run::{Outcome, VariantOutcome};

/// One line, with its end.
pub(crate) fn render(query: &Query, options: &BenchOptions, outcome: &Outcome) -> String {
    let machine = Machine::this();
    let versions: Map<_, _> = versions().into_iter().map(|(name, version)| (name.to_owned(), json!(version))).collect();
    let ratio = |of: &VariantOutcome| Some((of.variant.to_string(), json!(outcome.ratio(of)?)));
    let ratios: Map<_, _> = outcome.variants.iter().filter_map(ratio).collect();
    let object = json!({
        "query": query.name,
        "scale_factor": number(options.data.scale_factor),
        "threads": options.threads,
        "compression": options.data.compression.name(),
        "answer_ok": outcome.answer_ok(),
        "machine": {"cpu": machine.cpu, "cores": machine.cores, "os": machine.os, "arch": machine.arch},
        "versions": versions,
        "variants": outcome.variants.iter().map(variant).collect::<Vec<_>>(),
        "ratios": ratios,
    });
    format!("{object}\n")
}

/// A whole number without a fraction.
fn number(value: f64) -> Value {
    format!("{value}").parse::<serde_json::Number>().map_or(Value::Null, Value::Number)
}

fn variant(of: &VariantOutcome) -> Value {
    json!({
        "name": of.variant.to_string(),
        "reader": of.variant.reader(),
        "encoding": of.variant.encoding().map(|encoding| encoding.name()),
        "pushdown": of.variant.pushdown(),
        "wall_ms": millis(of.wall()),
        "scan_ms": millis(of.scan()),
        "cpu_ms": millis(of.cpu()),
        "rows": of.rows(),
        "bytes_read": of.bytes_read(),
    })
}

fn millis(summary: Option<Summary>) -> Value {
    summary.map_or(Value::Null, |Summary { median, min, max }| json!({"median": median, "min": min, "max": max}))
}
