//! An outcome as one JSON object.

use serde_json::{Map, Value, json};

use crate::Result;
use crate::cli::BenchOptions;
use crate::dataset::Encoding;
use crate::machine::{Machine, versions};
use crate::measure::Summary;
use crate::query::Query;
use crate::ratio::Ratio;
use crate::run::{Outcome, VariantOutcome};
use crate::suite::{Comparison, SuiteOutcome};

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
    let query = |(name, of): &(&str, Result<Outcome>)| match of {
        Ok(of) => json!({
            "query": name,
            "answer_ok": of.answer_ok(),
            "variants": of.variants.iter().map(variant).collect::<Vec<_>>(),
            "ratios": of.encodings().into_iter().filter_map(|on| comparison(on, &Comparison::of(of, on))).collect::<Value>(),
        }),
        Err(error) => json!({"query": name, "answer_ok": false, "error": error.to_string()}),
    };
    let mean = |on: Encoding| {
        let (queries, mean) = outcome.geometric_mean(on)?;
        let mut object = ratio(on, mean);
        object.insert("queries".to_owned(), json!(queries));
        Some(Value::Object(object))
    };
    line(setting(options).chain(fields([
        ("repeats", json!(options.repeats)),
        ("answer_ok", json!(outcome.answer_ok())),
        ("queries", outcome.queries.iter().map(query).collect()),
        ("geometric_means", outcome.encodings().into_iter().filter_map(mean).collect()),
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
fn comparison(on: Encoding, of: &Comparison) -> Option<Value> {
    let ratio_of = of.ratio.as_ref()?.ratio();
    let mut object = ratio(on, ratio_of);
    object.insert("slower".to_owned(), json!(ratio_of.is_slower()));
    Some(Value::Object(object))
}

fn ratio(on: Encoding, ratio: Ratio) -> Map<String, Value> {
    fields([
        ("encoding", json!(on.name())),
        ("ratio", json!(ratio.estimate)),
        ("lower", json!(ratio.bounds.map(|(lower, _)| lower))),
        ("upper", json!(ratio.bounds.map(|(_, upper)| upper))),
    ])
    .collect()
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
