//! Physical expressions of DataFusion as [`Predicate`]s in the physical domain of a file.
//!
//! An expression over one column splits the values of the column into those for which it is true, those for which it is
//! false and the rest, for which it is NULL. [`Truth`] holds the first two sets, so that NOT, AND and OR of Kleene logic are
//! set algebra and NOT needs no rewriting. What has no exact translation gives None and is evaluated as it stands, over arrays.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::functions::string::octet_length::OctetLengthFunc;
use datafusion::functions::unicode::character_length::CharacterLengthFunc;
use datafusion::functions::unicode::left::LeftFunc;
use datafusion::functions::unicode::substr::SubstrFunc;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::literal::{Range, bytes, integer, keeps_values};
use crate::predicate::{BytesSet, Comparison, IntSet, LengthUnit, Matches, Predicate, ValueSet};
use crate::scan::Domain;

/// The columns of a file as predicates see them.
#[derive(Debug, Clone)]
pub(super) struct FileColumns {
    /// The root columns, in the types in which the scan delivers them.
    pub(super) schema: SchemaRef,
    /// The domain of each, None where the scan does not read it itself.
    pub(super) domains: Vec<Option<Domain>>,
}

/// What became of a conjunct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Translation {
    /// It is true for every row.
    Always,
    /// It is true for no row.
    Never,
    /// The scan evaluates it itself.
    Predicate(Predicate),
}

/// Translates a conjunct of a filter; None if it has no exact translation.
pub(super) fn translate(expr: &Arc<dyn PhysicalExpr>, columns: &FileColumns) -> Option<Translation> {
    if let Some(predicate) = compare_columns(expr, columns, false) {
        return Some(Translation::Predicate(predicate));
    }
    let Truth { column, when_true, on_null, .. } = truth(expr, columns)?;
    let nulls = on_null == Some(true);
    let values = normal(when_true);
    Some(match column {
        // A constant has no values of its own: it is true or not.
        None if values == ValueSet::All => Translation::Always,
        None => Translation::Never,
        Some(_) if values == ValueSet::None && !nulls => Translation::Never,
        Some(_) if values == ValueSet::All && nulls => Translation::Always,
        Some(column) => Translation::Predicate(Predicate::Column { column, matches: Matches { values, nulls } }),
    })
}

/// When an expression over at most one column is true, and when it is false. It is NULL for all other values.
#[derive(Debug, Clone)]
struct Truth {
    /// The column; None for a constant.
    column: Option<usize>,
    when_true: ValueSet,
    when_false: ValueSet,
    /// What it is where the column is NULL.
    on_null: Option<bool>,
}

impl Truth {
    fn constant(value: Option<bool>) -> Self {
        let all_if = |yes| if yes { ValueSet::All } else { ValueSet::None };
        Self {
            column: None,
            when_true: all_if(value == Some(true)),
            when_false: all_if(value == Some(false)),
            on_null: value,
        }
    }

    /// True for `values`, false for all others, NULL for NULL.
    fn strict(column: usize, values: ValueSet) -> Self {
        Self { column: Some(column), when_false: complement(values.clone()), when_true: values, on_null: None }
    }

    /// NULL whatever the column holds.
    fn unknown(column: usize) -> Self {
        Self { column: Some(column), ..Self::constant(None) }
    }

    fn not(self) -> Self {
        Self {
            column: self.column,
            when_true: self.when_false,
            when_false: self.when_true,
            on_null: self.on_null.map(|value| !value),
        }
    }

    fn and(self, other: Self) -> Option<Self> {
        let column = match (self.column, other.column) {
            (Some(left), Some(right)) if left != right => return None,
            (left, right) => left.or(right),
        };
        let on_null = match (self.on_null, other.on_null) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Some(Self {
            column,
            when_true: intersection(self.when_true, other.when_true)?,
            when_false: union(self.when_false, other.when_false)?,
            on_null,
        })
    }

    fn or(self, other: Self) -> Option<Self> {
        Some(self.not().and(other.not())?.not())
    }

    /// `IS NULL` of the expression.
    fn null_test(self) -> Option<Self> {
        let known = union(self.when_true, self.when_false)?;
        let on_null = Some(self.on_null.is_none());
        Some(Self { column: self.column, when_true: complement(known.clone()), when_false: known, on_null })
    }

    /// `IS NOT DISTINCT FROM value`: never NULL.
    fn is(self, value: Option<bool>) -> Option<Self> {
        match value {
            None => self.null_test(),
            Some(false) => self.not().is(Some(true)),
            Some(true) => Some(Self {
                when_false: complement(self.when_true.clone()),
                on_null: Some(self.on_null == Some(true)),
                ..self
            }),
        }
    }
}

fn truth(expr: &Arc<dyn PhysicalExpr>, columns: &FileColumns) -> Option<Truth> {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return match literal.value() {
            ScalarValue::Boolean(value) => Some(Truth::constant(*value)),
            ScalarValue::Null => Some(Truth::constant(None)),
            _ => None,
        };
    }
    if let Some(not) = expr.downcast_ref::<NotExpr>() {
        return Some(truth(not.arg(), columns)?.not());
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And => truth(binary.left(), columns)?.and(truth(binary.right(), columns)?),
            Operator::Or => truth(binary.left(), columns)?.or(truth(binary.right(), columns)?),
            op => {
                let op = Relation::of(*op)?;
                if let Some(literal) = binary.right().downcast_ref::<Literal>() {
                    compare(binary.left(), op, literal.value(), columns)
                } else {
                    let literal = binary.left().downcast_ref::<Literal>()?;
                    compare(binary.right(), op.swapped(), literal.value(), columns)
                }
            }
        };
    }
    if let Some(list) = expr.downcast_ref::<InListExpr>() {
        return in_list(list, columns);
    }
    if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
        return null_test(is_null.arg(), columns);
    }
    if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
        return Some(null_test(is_not_null.arg(), columns)?.not());
    }
    if let Some(like) = expr.downcast_ref::<LikeExpr>() {
        return self::like(like, columns);
    }
    let operand = Operand::of(expr, columns)?;
    (operand.domain == Domain::Boolean && operand.data_type == DataType::Boolean)
        .then(|| Truth::strict(operand.column, ValueSet::Ints(IntSet::points([1]))))
}

/// How two values relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Distinct,
    NotDistinct,
}

impl Relation {
    fn of(op: Operator) -> Option<Self> {
        Some(match op {
            Operator::Eq => Self::Eq,
            Operator::NotEq => Self::NotEq,
            Operator::Lt => Self::Lt,
            Operator::LtEq => Self::LtEq,
            Operator::Gt => Self::Gt,
            Operator::GtEq => Self::GtEq,
            Operator::IsDistinctFrom => Self::Distinct,
            Operator::IsNotDistinctFrom => Self::NotDistinct,
            _ => return None,
        })
    }

    /// The relation with its sides exchanged.
    fn swapped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            same => same,
        }
    }

    /// The comparison of columns that it is, negated on request; None for the relations that know NULL.
    fn comparison(self, negated: bool) -> Option<Comparison> {
        Some(match (self, negated) {
            (Self::Eq, false) | (Self::NotEq, true) => Comparison::Eq,
            (Self::NotEq, false) | (Self::Eq, true) => Comparison::NotEq,
            (Self::Lt, false) | (Self::GtEq, true) => Comparison::Lt,
            (Self::LtEq, false) | (Self::Gt, true) => Comparison::LtEq,
            (Self::Gt, false) | (Self::LtEq, true) => Comparison::Gt,
            (Self::GtEq, false) | (Self::Lt, true) => Comparison::GtEq,
            (Self::Distinct | Self::NotDistinct, _) => return None,
        })
    }
}

/// A column, a cast of one that keeps every value, or the beginning or the length of a text.
struct Operand {
    column: usize,
    /// The type after the cast, or of the length.
    data_type: DataType,
    domain: Domain,
    part: Part,
}

/// What of a value is compared.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    All,
    /// So many characters at the beginning.
    Beginning(usize),
    Length(LengthUnit),
}

impl Operand {
    fn of(expr: &Arc<dyn PhysicalExpr>, columns: &FileColumns) -> Option<Self> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let field = columns.schema.fields().get(column.index())?;
            let domain = (*columns.domains.get(column.index())?)?;
            return Some(Self {
                column: column.index(),
                data_type: field.data_type().clone(),
                domain,
                part: Part::All,
            });
        }
        if let Some((text, characters)) = beginning(expr) {
            let operand = Self::of(text, columns)?;
            let is_text = operand.domain == (Domain::Bytes { utf8: true }) && operand.part == Part::All;
            return is_text.then_some(Self { part: Part::Beginning(characters), ..operand });
        }
        if let Some((function, text, unit)) = length(expr) {
            let operand = Self::of(text, columns)?;
            let data_type = function.return_type().clone();
            let is_whole = matches!(operand.domain, Domain::Bytes { .. }) && operand.part == Part::All;
            // Of a fixed length there is nothing to test.
            let field = columns.schema.fields().get(operand.column)?;
            let varies = !matches!(field.data_type(), DataType::FixedSizeBinary(_));
            let is_length = matches!(data_type, DataType::Int32 | DataType::Int64);
            return (is_whole && varies && is_length).then_some(Self {
                part: Part::Length(unit),
                data_type,
                ..operand
            });
        }
        let (inner, to) = if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            (cast.expr(), cast.cast_type())
        } else {
            let cast = expr.downcast_ref::<TryCastExpr>()?;
            (cast.expr(), cast.cast_type())
        };
        let operand = Self::of(inner, columns)?;
        keeps_values(&operand.data_type, to).then(|| Self { data_type: to.clone(), ..operand })
    }

    /// The values that relate to `value` as `op` says.
    fn values(&self, op: Relation, value: &ScalarValue) -> Option<ValueSet> {
        if let Part::Length(unit) = self.part {
            let value = i64::try_from(integer(value, &self.data_type)?).ok()?;
            return Some(ValueSet::Lengths(
                unit,
                match op {
                    Relation::Eq | Relation::NotDistinct => IntSet::points([value]),
                    Relation::NotEq | Relation::Distinct => IntSet::points([value]).complement(),
                    Relation::Lt => IntSet::half_open(None, Some(value)),
                    Relation::LtEq => IntSet::closed(i64::MIN, value),
                    Relation::Gt => IntSet::closed(i64::MIN, value).complement(),
                    Relation::GtEq => IntSet::half_open(None, Some(value)).complement(),
                },
            ));
        }
        match self.domain {
            Domain::Boolean | Domain::Int { .. } => {
                let range = Range::of(self.domain)?;
                let value = integer(value, &self.data_type)?;
                Some(ValueSet::Ints(match op {
                    Relation::Eq | Relation::NotDistinct => range.set(value, value),
                    Relation::NotEq | Relation::Distinct => range.set(value, value).complement(),
                    Relation::Lt => range.set(range.low, value - 1),
                    Relation::LtEq => range.set(range.low, value),
                    Relation::Gt => range.set(value + 1, range.high),
                    Relation::GtEq => range.set(value, range.high),
                }))
            }
            Domain::Bytes { .. } if self.part != Part::All => {
                let set = self.points(vec![bytes(value, &self.data_type)?])?;
                match op {
                    Relation::Eq | Relation::NotDistinct => Some(ValueSet::Bytes(set)),
                    Relation::NotEq | Relation::Distinct => Some(ValueSet::Bytes(set.complement())),
                    Relation::Lt | Relation::LtEq | Relation::Gt | Relation::GtEq => None,
                }
            }
            Domain::Bytes { .. } => {
                let value = bytes(value, &self.data_type)?;
                let successor = BytesSet::successor(value);
                Some(ValueSet::Bytes(match op {
                    Relation::Eq | Relation::NotDistinct => BytesSet::points([value]),
                    Relation::NotEq | Relation::Distinct => BytesSet::points([value]).complement(),
                    // Nothing is below the empty string.
                    Relation::Lt if value.is_empty() => BytesSet::none(),
                    Relation::GtEq if value.is_empty() => BytesSet::all(),
                    Relation::Lt => BytesSet::half_open(None, Some(value.to_vec())),
                    Relation::LtEq => BytesSet::half_open(None, Some(successor)),
                    Relation::Gt => BytesSet::half_open(Some(successor), None),
                    Relation::GtEq => BytesSet::half_open(Some(value.to_vec()), None),
                }))
            }
            Domain::Opaque => None,
        }
    }

    /// The byte strings that are one of `values`.
    fn points(&self, values: Vec<&[u8]>) -> Option<BytesSet> {
        let Part::Beginning(characters) = self.part else { return Some(BytesSet::points(values)) };
        let mut whole = Vec::new();
        let mut set = BytesSet::none();
        for value in values {
            match std::str::from_utf8(value).ok()?.chars().count().cmp(&characters) {
                Ordering::Less => whole.push(value),
                Ordering::Equal => set = set.union(&BytesSet::prefix(value)),
                Ordering::Greater => {}
            }
        }
        Some(set.union(&BytesSet::points(whole)))
    }
}

/// The text of which `expr` takes so many characters from its beginning: `substr(text, 1, n)`, `left(text, n)`.
fn beginning(expr: &Arc<dyn PhysicalExpr>) -> Option<(&Arc<dyn PhysicalExpr>, usize)> {
    let (text, characters) = if let Some(substr) = ScalarFunctionExpr::try_downcast_func::<SubstrFunc>(expr.as_ref()) {
        let [text, start, characters] = substr.args() else { return None };
        (whole_number(start)? == 1).then_some((text, characters))?
    } else {
        let left = ScalarFunctionExpr::try_downcast_func::<LeftFunc>(expr.as_ref())?;
        let [text, characters] = left.args() else { return None };
        (text, characters)
    };
    // A negative number is an error of the one, and counts from the end for the other.
    Some((text, usize::try_from(whole_number(characters)?).ok()?))
}

/// A text or bytes whose length `expr` is, and what it is counted in: `character_length(text)`, `octet_length(text)`.
fn length(expr: &Arc<dyn PhysicalExpr>) -> Option<(&ScalarFunctionExpr, &Arc<dyn PhysicalExpr>, LengthUnit)> {
    let expr = expr.as_ref();
    let (function, unit) = match ScalarFunctionExpr::try_downcast_func::<CharacterLengthFunc>(expr) {
        Some(function) => (function, LengthUnit::Characters),
        None => (ScalarFunctionExpr::try_downcast_func::<OctetLengthFunc>(expr)?, LengthUnit::Bytes),
    };
    let [text] = function.args() else { return None };
    Some((function, text, unit))
}

fn whole_number(expr: &Arc<dyn PhysicalExpr>) -> Option<i64> {
    match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Int64(value) => *value,
        ScalarValue::Int32(value) => value.map(i64::from),
        _ => None,
    }
}

fn compare(expr: &Arc<dyn PhysicalExpr>, op: Relation, value: &ScalarValue, columns: &FileColumns) -> Option<Truth> {
    let Some(operand) = Operand::of(expr, columns) else {
        return compare_truth(truth(expr, columns)?, op, value);
    };
    if value.is_null() {
        return match op {
            Relation::Distinct => Some(null_test(expr, columns)?.not()),
            Relation::NotDistinct => null_test(expr, columns),
            _ => Some(Truth::unknown(operand.column)),
        };
    }
    let truth = Truth::strict(operand.column, operand.values(op, value)?);
    Some(match op {
        Relation::Distinct => Truth { on_null: Some(true), ..truth },
        Relation::NotDistinct => Truth { on_null: Some(false), ..truth },
        _ => truth,
    })
}

/// A condition compared with a boolean, as `(a > 5) IS TRUE` is.
fn compare_truth(truth: Truth, op: Relation, value: &ScalarValue) -> Option<Truth> {
    let value = match value {
        ScalarValue::Boolean(value) => *value,
        ScalarValue::Null => None,
        _ => return None,
    };
    match (op, value) {
        (Relation::NotDistinct, value) => truth.is(value),
        (Relation::Distinct, value) => Some(truth.is(value)?.not()),
        (_, None) => Some(Truth { column: truth.column, ..Truth::constant(None) }),
        (Relation::Eq, Some(true)) | (Relation::NotEq, Some(false)) => Some(truth),
        (Relation::Eq, Some(false)) | (Relation::NotEq, Some(true)) => Some(truth.not()),
        _ => None,
    }
}

fn in_list(list: &InListExpr, columns: &FileColumns) -> Option<Truth> {
    let operand = Operand::of(list.expr(), columns)?;
    let mut has_null = false;
    let mut literals = Vec::with_capacity(list.len());
    for item in list.list() {
        let value = item.downcast_ref::<Literal>()?.value();
        if value.is_null() {
            has_null = true;
        } else {
            literals.push(value);
        }
    }
    let values = match (operand.part, operand.domain) {
        (Part::Length(unit), _) => {
            let length = |value| i64::try_from(integer(value, &operand.data_type)?).ok();
            ValueSet::Lengths(unit, IntSet::points(literals.into_iter().map(length).collect::<Option<Vec<_>>>()?))
        }
        (_, Domain::Boolean | Domain::Int { .. }) => {
            let range = Range::of(operand.domain)?;
            let mut points = Vec::with_capacity(literals.len());
            for value in literals {
                let value = integer(value, &operand.data_type)?;
                if (range.low..=range.high).contains(&value) {
                    let wraps = range.unsigned && value > range.high / 2;
                    points.push(i64::try_from(if wraps { value - range.high - 1 } else { value }).ok()?);
                }
            }
            ValueSet::Ints(IntSet::points(points))
        }
        (_, Domain::Bytes { .. }) => {
            let points: Option<Vec<&[u8]>> =
                literals.into_iter().map(|value| bytes(value, &operand.data_type)).collect();
            ValueSet::Bytes(operand.points(points?)?)
        }
        (_, Domain::Opaque) => return None,
    };
    let mut truth = Truth::strict(operand.column, values);
    if list.is_empty() {
        // Nothing is in an empty list, not even NULL.
        truth.on_null = Some(false);
    }
    if has_null {
        // What is not found might be the NULL.
        truth.when_false = ValueSet::None;
    }
    Some(if list.negated() { truth.not() } else { truth })
}

fn null_test(expr: &Arc<dyn PhysicalExpr>, columns: &FileColumns) -> Option<Truth> {
    match Operand::of(expr, columns) {
        Some(operand) => Some(Truth { column: Some(operand.column), ..Truth::constant(Some(false)) }.null_is(true)),
        None => truth(expr, columns)?.null_test(),
    }
}

impl Truth {
    fn null_is(self, value: bool) -> Self {
        Self { on_null: Some(value), ..self }
    }
}

fn like(like: &LikeExpr, columns: &FileColumns) -> Option<Truth> {
    let operand = Operand::of(like.expr(), columns).filter(|operand| operand.part == Part::All)?;
    let pattern = like.pattern().downcast_ref::<Literal>()?.value();
    if like.case_insensitive() || operand.domain != (Domain::Bytes { utf8: true }) {
        return None;
    }
    if pattern.is_null() {
        return Some(Truth::unknown(operand.column));
    }
    let pattern = bytes(pattern, &operand.data_type)?;
    let plain = |text: &[u8]| !text.iter().any(|byte| matches!(byte, b'%' | b'_' | b'\\'));
    let values = match pattern.split_last() {
        Some((b'%', prefix)) if plain(prefix) => BytesSet::prefix(prefix),
        _ if plain(pattern) => BytesSet::points([pattern]),
        _ => return None,
    };
    let truth = Truth::strict(operand.column, ValueSet::Bytes(values));
    Some(if like.negated() { truth.not() } else { truth })
}

/// A comparison of two integer columns, cast to one type where they differ.
fn compare_columns(expr: &Arc<dyn PhysicalExpr>, columns: &FileColumns, negated: bool) -> Option<Predicate> {
    if let Some(not) = expr.downcast_ref::<NotExpr>() {
        return compare_columns(not.arg(), columns, !negated);
    }
    let binary = expr.downcast_ref::<BinaryExpr>()?;
    let op = Relation::of(*binary.op())?.comparison(negated)?;
    let (left, right) = (Operand::of(binary.left(), columns)?, Operand::of(binary.right(), columns)?);
    let (Domain::Int { unsigned, .. }, Domain::Int { unsigned: right_unsigned, .. }) = (left.domain, right.domain)
    else {
        return None;
    };
    // Widths may differ. A small unsigned type in one column, and a cast of a signed one in the other, do not compare.
    if unsigned != right_unsigned || left.data_type != right.data_type {
        return None;
    }
    Some(Predicate::Compare { left: left.column, op, right: right.column, unsigned })
}

fn normal(set: ValueSet) -> ValueSet {
    match set {
        ValueSet::Ints(set) if set.is_none() => ValueSet::None,
        ValueSet::Ints(set) if set.is_all() => ValueSet::All,
        ValueSet::Bytes(set) if set.is_none() => ValueSet::None,
        ValueSet::Bytes(set) if set.is_all() => ValueSet::All,
        ValueSet::Lengths(_, set) if set.is_none() => ValueSet::None,
        ValueSet::Lengths(_, set) if set.is_all() => ValueSet::All,
        set => set,
    }
}

pub(super) fn complement(set: ValueSet) -> ValueSet {
    match set {
        ValueSet::None => ValueSet::All,
        ValueSet::All => ValueSet::None,
        ValueSet::Ints(set) => ValueSet::Ints(set.complement()),
        ValueSet::Bytes(set) => ValueSet::Bytes(set.complement()),
        ValueSet::Lengths(unit, set) => ValueSet::Lengths(unit, set.complement()),
    }
}

/// The values in both sets; None where these are of different kinds, and no set says it.
pub(super) fn intersection(left: ValueSet, right: ValueSet) -> Option<ValueSet> {
    Some(match (left, right) {
        (ValueSet::All, set) | (set, ValueSet::All) => set,
        (ValueSet::None, _) | (_, ValueSet::None) => ValueSet::None,
        (ValueSet::Ints(left), ValueSet::Ints(right)) => normal(ValueSet::Ints(left.intersection(&right))),
        (ValueSet::Bytes(left), ValueSet::Bytes(right)) => normal(ValueSet::Bytes(left.intersection(&right))),
        (ValueSet::Lengths(unit, left), ValueSet::Lengths(other, right)) if unit == other => {
            normal(ValueSet::Lengths(unit, left.intersection(&right)))
        }
        _ => return None,
    })
}

fn union(left: ValueSet, right: ValueSet) -> Option<ValueSet> {
    Some(complement(intersection(complement(left), complement(right))?))
}

#[cfg(test)]
#[path = "expr_tests.rs"]
mod tests;
