//! Random filters as SQL.

use arrow::datatypes::DataType;

use super::rng::Rng;
use super::table::{Column, Table, plain};
use super::values::{Value, domain, zeros};

/// A filter over `table`: AND of some predicates.
pub(crate) fn filter(rng: &mut Rng, table: &Table) -> String {
    let conjuncts: Vec<String> = (0..1 + rng.below(3)).map(|_| predicate(rng, table, 0)).collect();
    conjuncts.join(" AND ")
}

pub(super) fn predicate(rng: &mut Rng, table: &Table, depth: usize) -> String {
    if depth < 3 && rng.one_in(3) {
        let left = predicate(rng, table, depth + 1);
        return match rng.below(5) {
            0 => format!("NOT ({left})"),
            1 | 2 => format!("({left} OR {})", predicate(rng, table, depth + 1)),
            3 => format!("({left} AND {})", predicate(rng, table, depth + 1)),
            // On one column: this is a union of intervals.
            _ => {
                let column = rng.pick(&table.columns);
                let conditions: Vec<String> =
                    (0..2 + rng.below(3)).map(|_| condition(rng, &column).unwrap_or_else(|| left.clone())).collect();
                format!("({})", conditions.join(rng.pick(&[" OR ", " AND "])))
            }
        };
    }
    let column = rng.pick(&table.columns);
    match rng.below(12) {
        0..=6 => condition(rng, &column).unwrap_or_else(|| null_test(rng, &column)),
        7 | 8 => between_columns(rng, table, &column).unwrap_or_else(|| null_test(rng, &column)),
        9 | 10 => residual(rng, table, &column),
        _ if rng.one_in(8) => rng.pick(&["true", "false", "NULL", "random() < 2"]).to_string(),
        _ => null_test(rng, &column),
    }
}

fn null_test(rng: &mut Rng, column: &Column) -> String {
    format!("{} {}", column.sql(), rng.pick(&["IS NULL", "IS NOT NULL"]))
}

const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// A condition on one column that is a set of values.
fn condition(rng: &mut Rng, column: &Column) -> Option<String> {
    let name = column.sql();
    if column.data_type == DataType::Boolean {
        let forms = [
            "{}",
            "NOT {}",
            "{} = true",
            "{} <> true",
            "{} IS TRUE",
            "{} IS NOT TRUE",
            "{} IS FALSE",
            "{} IS UNKNOWN",
            "false < {}",
            "{} IN (true)",
            "{} NOT IN (false, NULL)",
        ];
        return Some(rng.pick(&forms).replace("{}", &name));
    }
    let mut operand = || literal(rng, column);
    let (low, high) = (operand()?, operand()?);
    let not = rng.pick(&["", "NOT "]);
    Some(match rng.below(8) {
        0..=2 => format!("{name} {} {low}", rng.pick(&COMPARISONS)),
        3 => format!("{low} {} {name}", rng.pick(&COMPARISONS)),
        4 => format!("{name} {not}BETWEEN {low} AND {high}"),
        5 | 6 => {
            let mut list: Vec<String> =
                (0..rng.pick(&[1, 2, 3, 4, 12, 30])).filter_map(|_| literal(rng, column)).collect();
            if rng.one_in(6) {
                list.push("NULL".into());
            }
            format!("{name} {not}IN ({})", list.join(", "))
        }
        _ if column.is_text() => {
            let prefix: String =
                low.trim_matches('\'').replace(['\'', '%', '_', '\\'], "").chars().take(rng.below(8)).collect();
            format!("{name} {not}LIKE '{prefix}%'")
        }
        // In brackets: what follows FROM takes an AND in.
        _ => format!("({name} IS {not}DISTINCT FROM {low})"),
    })
}

fn between_columns(rng: &mut Rng, table: &Table, column: &Column) -> Option<String> {
    let others: Vec<&Column> = table
        .columns
        .iter()
        .filter(|other| {
            other.name != column.name
                && (other.data_type == column.data_type || other.is_integer() && column.is_integer())
        })
        .collect();
    let other = if others.is_empty() { column } else { rng.pick(&others) };
    let (left, right) = (column.sql(), other.sql());
    Some(match rng.below(6) {
        0 if column.is_integer() && column.distribution.is_tame() && other.distribution.is_tame() => {
            format!("{left} + {right} > {}", rng.between(-100, 100))
        }
        1 => format!("({left} IS DISTINCT FROM {right})"),
        _ => format!("{left} {} {right}", rng.pick(&COMPARISONS)),
    })
}

/// What no kernel decides.
fn residual(rng: &mut Rng, table: &Table, column: &Column) -> String {
    let name = column.sql();
    let number = rng.between(0, 9);
    if column.is_integer() {
        return match rng.below(5) {
            0 if column.distribution.is_tame() => format!("abs({name}) % 7 = {number}"),
            1 => format!("CAST({name} AS DOUBLE) * 0.5 > {number}"),
            2 => format!("CASE WHEN {name} > {number} THEN {name} % 2 = 0 ELSE {name} IS NULL END"),
            3 => format!("coalesce({name}, {number}) = {number}"),
            _ => format!("{name} % 5 = {}", number % 5),
        };
    }
    if column.is_text() {
        let forms =
            ["length({}) > #", "{} LIKE '%#%'", "{} || 'a' > 'k'", "lower({}) = 'mail'", "substr({}, 2, 1) = '#'"];
        return rng.pick(&forms).replace("{}", &name).replace('#', &number.to_string());
    }
    match (&column.data_type, literal(rng, column)) {
        (DataType::Boolean, _) => format!("{name} = ({} IS NULL)", rng.pick(&table.columns).sql()),
        (_, Some(literal)) => format!("nullif({name}, {literal}) IS NULL"),
        (_, None) => format!("coalesce({name}, {name}) IS NULL"),
    }
}

/// A literal of the column's type or one that compares with it, often near a value of the column.
pub(crate) fn literal(rng: &mut Rng, column: &Column) -> Option<String> {
    if rng.one_in(40) {
        return Some("NULL".into());
    }
    let sample = if column.samples.is_empty() { None } else { Some(rng.pick(&column.samples)) };
    if let Some((low, high)) = domain(&column.data_type) {
        let sample = match sample {
            Some(Value::Int(value)) => value,
            _ => 0,
        };
        let value = match rng.below(9) {
            0..=3 => sample,
            4 => sample + 1,
            5 => sample - 1,
            6 => sample + rng.between(-1000, 1000),
            7 => rng.pick(&[low, high, 0]),
            _ => rng.between(low, high),
        };
        return Some(integer(rng, plain(&column.data_type), value.clamp(low, high)));
    }
    let data_type = plain(&column.data_type);
    Some(match (data_type, sample) {
        (DataType::Float16 | DataType::Float32 | DataType::Float64, sample) => {
            let value = match sample {
                Some(Value::Float(value)) if !rng.one_in(4) => value,
                _ => rng.pick(&[0.0, -0.0, 1.5, -7.25, f64::NAN, f64::INFINITY]),
            };
            if value.is_finite() && !rng.one_in(3) {
                format!("{value:?}")
            } else {
                format!("arrow_cast('{value}', '{data_type}')")
            }
        }
        (DataType::Utf8 | DataType::LargeUtf8, Some(Value::Text(text))) => {
            let text = if rng.one_in(5) { format!("{text}a") } else { text };
            format!("'{}'", text.replace('\'', "''"))
        }
        (DataType::Utf8 | DataType::LargeUtf8, _) => "'MAIL'".into(),
        (DataType::Binary | DataType::FixedSizeBinary(_), Some(Value::Bytes(bytes))) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            match data_type {
                DataType::Binary => format!("X'{hex}'"),
                other => format!("arrow_cast(X'{hex}', '{other}')"),
            }
        }
        (DataType::Binary, _) => "X'4d41'".into(),
        _ => return None,
    })
}

fn integer(rng: &mut Rng, data_type: &DataType, value: i128) -> String {
    match data_type {
        DataType::Date32 => match date(value) {
            Some(date) if rng.one_in(2) => format!("DATE '{date}'"),
            _ => format!("arrow_cast(arrow_cast({value}, 'Int32'), 'Date32')"),
        },
        DataType::Timestamp(..) | DataType::Duration(_) | DataType::Date64 | DataType::Time64(_) => {
            format!("arrow_cast({value}, '{}')", escaped(data_type))
        }
        DataType::Time32(_) => format!("arrow_cast(arrow_cast({value}, 'Int32'), '{data_type}')"),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            let text = decimal(value, zeros(*precision), *scale);
            match rng.below(4) {
                // A double, and a comparison of doubles or decimals as the planner likes.
                0 => text,
                _ => format!("arrow_cast('{text}', '{data_type}')"),
            }
        }
        _ => match rng.below(20) {
            // Outside of the type, or between two of its values.
            0 => rng.pick(&["-1", "300", "70000", "5000000000", "0.5", "-2.5", "1e3"]).into(),
            1 => format!("arrow_cast('{value}', '{data_type}')"),
            _ => value.to_string(),
        },
    }
}

fn escaped(data_type: &DataType) -> String {
    data_type.to_string().replace('\'', "''")
}

/// A decimal of the digits of `value` with `zeros` zeros behind them, of which the last `scale` are a fraction.
fn decimal(value: i128, zeros: usize, scale: i8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let scale = usize::try_from(scale).unwrap();
    let digits = format!("{}{}", value.unsigned_abs(), "0".repeat(zeros));
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// Days since 1970 as a date of four-digit years.
fn date(days: i128) -> Option<String> {
    if !(-700_000..2_900_000).contains(&days) {
        return None;
    }
    // From the civil calendar's 400-year eras, which begin on the first of March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

#[test]
fn dates_are_civil() {
    assert_eq!(date(0).unwrap(), "1970-01-01");
    assert_eq!(date(-1).unwrap(), "1969-12-31");
    assert_eq!(date(8766).unwrap(), "1994-01-01");
    assert_eq!(date(11_016).unwrap(), "2000-02-29");
}
