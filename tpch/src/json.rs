//! An outcome as one JSON object.

use serde_json::{Map, Value, json};

use crate::Result;
use crate::cli::BenchOptions;
use crate::machine::{Machine, versions};
use crate::measure::Summary;
use crate::query::Query;
use crate::ratio::Ratio;
use crate::run::{Outcome, VariantOutcome};
use crate::suite::{OnEncoding, SuiteOutcome};

/// One line, with its end.
pub(crate) fn render(query: &Query, options: &BenchOptions, outcome: &Outcome) -> String {
    let ratio = |of: &VariantOutcome| Some((of.variant.to_string(), json!(outcome.ratio(of)?)));
    let ratios: Map<_, _> = outcome.variants.iter().filter_map(ratio).collect();
    line(setting(options).chain(fields([
        ("query", json!(query.name)),
        ("answer_ok", json!(outcome.answer_ok())),
        ("variants", outcome.variants.iter().map(variant).collect()),
        ("ratios", Value::Object(ratios)),
    ])))
}

/// One line for all queries, with its end.
pub(crate) fn render_suite(options: &BenchOptions, outcome: &SuiteOutcome) -> String {
    let encodings: Vec<_> = outcome.encodings().into_iter().map(|encoding| outcome.on(encoding)).collect();
    let query = |(index, (name, of)): (usize, &(&str, Result<Outcome>))| match of {
        Ok(of) => json!({
            "query": name,
            "answer_ok": of.answer_ok(),
            "variants": of.variants.iter().map(variant).collect::<Vec<_>>(),
            "ratios": encodings.iter().filter_map(|on| comparison(on, index)).collect::<Vec<_>>(),
        }),
        Err(error) => json!({"query": name, "answer_ok": false, "error": error.to_string()}),
    };
    line(setting(options).chain(fields([
        ("repeats", json!(options.repeats)),
        ("answer_ok", json!(outcome.answer_ok())),
        ("queries", outcome.queries.iter().enumerate().map(query).collect()),
        ("geometric_means", encodings.iter().filter_map(mean).collect()),
    ])))
}

fn line(fields: impl Iterator<Item = (String, Value)>) -> String {
    format!("{}\n", Value::Object(fields.collect()))
}

fn fields<const N: usize>(of: [(&str, Value); N]) -> impl Iterator<Item = (String, Value)> {
    of.map(|(name, value)| (name.to_owned(), value)).into_iter()
}

/// What was run, on what.
fn setting(options: &BenchOptions) -> impl Iterator<Item = (String, Value)> {
    let machine = Machine::this();
    let versions: Map<_, _> = versions().into_iter().map(|(name, version)| (name.to_owned(), json!(version))).collect();
    fields([
        ("scale_factor", number(options.data.scale_factor)),
        ("threads", json!(options.threads)),
        ("compression", json!(options.data.compression.name())),
        ("machine", json!({"cpu": machine.cpu, "cores": machine.cores, "os": machine.os, "arch": machine.arch})),
        ("versions", Value::Object(versions)),
    ])
}

/// Miniblock against DataFusion's better setting; none where they did not run on the same file.
fn comparison(on: &OnEncoding, query: usize) -> Option<Value> {
    let (_, of) = on.queries.get(query)?;
    let of = of.as_ref()?.ratio?;
    Some(ratio(on, of).chain(fields([("slower", json!(of.is_slower()))])).collect())
}

fn mean(on: &OnEncoding) -> Option<Value> {
    Some(ratio(on, on.geometric_mean?).chain(fields([("queries", json!(on.compared))])).collect())
}

fn ratio(on: &OnEncoding, ratio: Ratio) -> impl Iterator<Item = (String, Value)> {
    fields([
        ("encoding", json!(on.encoding.name())),
        ("ratio", json!(ratio.estimate)),
        ("lower", json!(ratio.bounds.map(|(lower, _)| lower))),
        ("upper", json!(ratio.bounds.map(|(_, upper)| upper))),
    ])
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
