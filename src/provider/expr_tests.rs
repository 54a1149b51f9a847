//! Random expressions, nested and negated: what is translated selects exactly the rows for which DataFusion's evaluation is
//! true, for every value and NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit, i256};
use datafusion::common::ScalarValue;
use datafusion::functions::{string, unicode};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, IsNotNullExpr, IsNullExpr, LikeExpr, NotExpr, in_list, lit,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::super::filter::{conjuncts, merge};
use super::super::residual::evaluate;
use super::{FileColumns, Translation, translate};
use crate::predicate::{Comparison, LengthUnit, Matches, Predicate, ValueSet};
use crate::scan::Domain;

type Expr = Arc<dyn PhysicalExpr>;

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A type, its values of interest, and types to which it can be cast without loss.
struct Case {
    data_type: DataType,
    domain: Domain,
    values: Vec<ScalarValue>,
    casts: Vec<DataType>,
}

fn ints(data_type: DataType, domain: Domain, casts: &[DataType], values: &[i128]) -> Case {
    let value = |value: &i128| match &data_type {
        DataType::Int8 => ScalarValue::Int8(i8::try_from(*value).ok()),
        DataType::Int16 => ScalarValue::Int16(i16::try_from(*value).ok()),
        DataType::Int32 => ScalarValue::Int32(i32::try_from(*value).ok()),
        DataType::Int64 => ScalarValue::Int64(i64::try_from(*value).ok()),
        DataType::UInt8 => ScalarValue::UInt8(u8::try_from(*value).ok()),
        DataType::UInt16 => ScalarValue::UInt16(u16::try_from(*value).ok()),
        DataType::UInt32 => ScalarValue::UInt32(u32::try_from(*value).ok()),
        DataType::UInt64 => ScalarValue::UInt64(u64::try_from(*value).ok()),
        DataType::Date32 => ScalarValue::Date32(i32::try_from(*value).ok()),
        DataType::Time32(TimeUnit::Second) => ScalarValue::Time32Second(i32::try_from(*value).ok()),
        DataType::Time32(_) => ScalarValue::Time32Millisecond(i32::try_from(*value).ok()),
        DataType::Date64 => ScalarValue::Date64(i64::try_from(*value).ok()),
        DataType::Duration(_) => ScalarValue::DurationMicrosecond(i64::try_from(*value).ok()),
        DataType::Time64(_) => ScalarValue::Time64Microsecond(i64::try_from(*value).ok()),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            ScalarValue::TimestampNanosecond(i64::try_from(*value).ok(), zone.clone())
        }
        DataType::Timestamp(TimeUnit::Second, zone) => {
            ScalarValue::TimestampSecond(i64::try_from(*value).ok(), zone.clone())
        }
        DataType::Timestamp(_, zone) => ScalarValue::TimestampMillisecond(i64::try_from(*value).ok(), zone.clone()),
        DataType::Decimal64(p, s) => ScalarValue::Decimal64(i64::try_from(*value).ok(), *p, *s),
        DataType::Decimal128(p, s) => ScalarValue::Decimal128(Some(*value), *p, *s),
        DataType::Decimal256(p, s) => ScalarValue::Decimal256(Some(i256::from_i128(*value)), *p, *s),
        other => panic!("no integers of {other}"),
    };
    let mut values: Vec<ScalarValue> = values.iter().map(value).filter(|value| !value.is_null()).collect();
    values.push(ScalarValue::try_new_null(&data_type).unwrap());
    Case { domain, values, casts: casts.to_vec(), data_type }
}

fn cases() -> Vec<Case> {
    use DataType as D;
    let near = |ends: &[i128]| -> Vec<i128> {
        let mut all: Vec<i128> = ends.iter().chain(&[0]).flat_map(|end| [end - 1, *end, end + 1]).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (i32s, u32s) = (Domain::Int { unsigned: false, width: 32 }, Domain::Int { unsigned: true, width: 32 });
    let (i64s, u64s) = (Domain::Int { unsigned: false, width: 64 }, Domain::Int { unsigned: true, width: 64 });
    let i64_ends = near(&[i64::MIN.into(), i64::MAX.into(), 7]);
    let i32_ends = near(&[i32::MIN.into(), i32::MAX.into(), 7]);
    let text = ["", "a", "a\0", "ab", "abc", "b", "\u{10ffff}", "a string of more than twelve bytes", "a%", "a_"];
    let strings = |data_type: D, casts: &[D]| Case {
        values: text
            .iter()
            .map(|text| ScalarValue::Utf8(Some((*text).to_string())).cast_to(&data_type).unwrap())
            .chain([ScalarValue::try_new_null(&data_type).unwrap()])
            .collect(),
        domain: Domain::Bytes { utf8: true },
        casts: casts.to_vec(),
        data_type,
    };
    vec![
        Case {
            data_type: D::Boolean,
            domain: Domain::Boolean,
            values: [None, Some(true), Some(false)].map(ScalarValue::Boolean).to_vec(),
            casts: vec![],
        },
        ints(D::Int8, i32s, &[D::Int16, D::Int64], &near(&[-128, 127, 5])),
        ints(D::Int16, i32s, &[D::Int32], &near(&[-32768, 32767, 5])),
        ints(D::Int32, i32s, &[D::Int64], &i32_ends),
        ints(D::Int64, i64s, &[], &i64_ends),
        ints(D::UInt8, u32s, &[D::Int16, D::UInt64], &near(&[255, 128])),
        ints(D::UInt16, u32s, &[D::Int32], &near(&[65535, 32768])),
        ints(D::UInt32, u32s, &[D::Int64, D::UInt64], &near(&[u32::MAX.into(), 1 << 31])),
        ints(D::UInt64, u64s, &[], &near(&[u64::MAX.into(), 1 << 63])),
        ints(D::Date32, i32s, &[], &i32_ends),
        ints(D::Time32(TimeUnit::Millisecond), i32s, &[], &near(&[86_399_999])),
        ints(D::Time64(TimeUnit::Microsecond), i64s, &[], &near(&[86_399_999_999])),
        ints(D::Timestamp(TimeUnit::Millisecond, None), i64s, &[], &i64_ends),
        ints(
            D::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            i64s,
            &[D::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into()))],
            &i64_ends,
        ),
        ints(D::Decimal128(9, 2), i32s, &[D::Decimal128(20, 2)], &near(&[-999_999_999, 999_999_999, 100])),
        ints(D::Decimal128(18, 4), i64s, &[], &near(&[-999_999_999_999_999_999, 999_999_999_999_999_999, 100])),
        ints(D::Time32(TimeUnit::Second), i32s, &[], &near(&[86_399])),
        ints(D::Timestamp(TimeUnit::Second, None), i64s, &[], &i64_ends),
        ints(D::Duration(TimeUnit::Microsecond), i64s, &[], &i64_ends),
        ints(D::Date64, i64s, &[], &near(&[86_400_000])),
        ints(D::Decimal256(18, 4), i64s, &[D::Decimal256(40, 4)], &near(&[-999_999_999_999_999_999, 100])),
        dictionary(ints(D::Int32, i32s, &[D::Int64], &i32_ends)),
        dictionary(ints(D::UInt16, u32s, &[D::UInt16], &near(&[65535, 32768]))),
        dictionary(strings(D::Utf8, &[D::Utf8, D::Utf8View])),
        ints(D::Decimal64(18, 0), i64s, &[], &near(&[-999_999_999_999_999_999, 999_999_999_999_999_999])),
        strings(D::Utf8, &[D::Utf8View]),
        strings(D::LargeUtf8, &[]),
        strings(D::Utf8View, &[D::LargeUtf8]),
        Case {
            values: [&b""[..], b"\0", b"\xff", b"\xff\xff", b"ab", b"more than twelve bytes"]
                .iter()
                .map(|bytes| ScalarValue::BinaryView(Some(bytes.to_vec())))
                .chain([ScalarValue::BinaryView(None)])
                .collect(),
            data_type: D::BinaryView,
            domain: Domain::Bytes { utf8: false },
            casts: vec![D::Binary],
        },
        Case {
            values: [b"\0\0", b"\0\x01", b"ab", b"\x7f\xff", b"\xff\0", b"\xff\xff"]
                .iter()
                .map(|bytes| ScalarValue::FixedSizeBinary(2, Some(bytes.to_vec())))
                .chain([ScalarValue::FixedSizeBinary(2, None)])
                .collect(),
            data_type: D::FixedSizeBinary(2),
            domain: Domain::Bytes { utf8: false },
            casts: vec![D::Binary],
        },
    ]
}

/// The same values behind keys.
fn dictionary(case: Case) -> Case {
    let data_type = DataType::Dictionary(Box::new(DataType::Int16), Box::new(case.data_type));
    let values = case.values.iter().map(|value| value.cast_to(&data_type).unwrap()).collect();
    Case { data_type, values, ..case }
}

const COMPARISONS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
    Operator::IsNotDistinctFrom,
];

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Arc::new(BinaryExpr::new(left, op, right))
}

/// A column, now and then under a cast that keeps its values, with its type.
fn column(case: &Case, index: usize, random: &mut Random) -> (Expr, DataType) {
    let column: Expr = Arc::new(Column::new(["a", "b"][index], index));
    if !case.casts.is_empty() && random.below(3) == 0 {
        let to = random.pick(&case.casts).clone();
        return (Arc::new(CastExpr::new(column, to.clone(), None)), to);
    }
    (column, case.data_type.clone())
}

/// Some characters from the beginning of a text.
fn beginning(text: Expr, random: &mut Random, schema: &Schema) -> Expr {
    let (function, args) = match random.below(2) {
        0 => (unicode::substr(), vec![text, lit(1_i64), lit(random.below(4) as i64)]),
        _ => (unicode::left(), vec![text, lit(random.below(4) as i64)]),
    };
    Arc::new(ScalarFunctionExpr::try_new(function, args, schema, Arc::default()).unwrap())
}

fn leaf(case: &Case, index: usize, random: &mut Random, schema: &Schema) -> Expr {
    let (operand, data_type) = column(case, index, random);
    let literal = |random: &mut Random| lit(random.pick(&case.values).cast_to(&data_type).unwrap());
    match random.below(9) {
        0 | 1 => binary(operand, *random.pick(&COMPARISONS), literal(random)),
        2 => binary(literal(random), *random.pick(&COMPARISONS), operand),
        3 => {
            let low = binary(Arc::clone(&operand), Operator::GtEq, literal(random));
            binary(low, Operator::And, binary(operand, Operator::LtEq, literal(random)))
        }
        4 | 5 => {
            let list = (0..1 + random.below(5)).map(|_| literal(random)).collect();
            in_list(operand, list, &(random.below(2) == 0), schema).unwrap()
        }
        6 => Arc::new(IsNullExpr::new(operand)),
        7 => Arc::new(IsNotNullExpr::new(operand)),
        _ if matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) && random.below(2) == 0 => {
            let beginning = beginning(operand, random, schema);
            let text = |random: &mut Random| {
                let text = *random.pick(&["", "a", "ab", "b", "\u{e4}", "\u{10ffff}", "more than twelve bytes"]);
                lit(ScalarValue::Utf8(Some(text.to_string())).cast_to(&data_type).unwrap())
            };
            if random.below(2) == 0 {
                let same = [Operator::Eq, Operator::NotEq, Operator::IsDistinctFrom, Operator::IsNotDistinctFrom];
                return binary(beginning, *random.pick(&same), text(random));
            }
            let items = (0..random.below(4)).map(|_| text(random)).collect();
            in_list(beginning, items, &(random.below(2) == 0), schema).unwrap()
        }
        _ if case.domain == (Domain::Bytes { utf8: true }) => {
            let pattern = *random.pick(&["%", "", "a%", "ab%", "ab", "b%", "\u{10ffff}%"]);
            let pattern = lit(ScalarValue::Utf8(Some(pattern.to_string())).cast_to(&data_type).unwrap());
            Arc::new(LikeExpr::new(random.below(2) == 0, false, operand, pattern))
        }
        _ if case.data_type == DataType::Boolean => operand,
        _ => binary(operand, Operator::Eq, lit(ScalarValue::try_new_null(&data_type).unwrap())),
    }
}

fn tree(case: &Case, index: usize, depth: usize, random: &mut Random, schema: &Schema) -> Expr {
    if depth == 0 {
        return leaf(case, index, random, schema);
    }
    let boolean = |random: &mut Random| lit(ScalarValue::Boolean(*random.pick(&[None, Some(true), Some(false)])));
    let child = |random: &mut Random| tree(case, index, depth - 1, random, schema);
    match random.below(9) {
        0 | 1 => Arc::new(NotExpr::new(child(random))),
        2 | 3 => binary(child(random), Operator::And, child(random)),
        4 | 5 => binary(child(random), Operator::Or, child(random)),
        6 => Arc::new(IsNullExpr::new(child(random))),
        7 => {
            let op =
                *random.pick(&[Operator::Eq, Operator::NotEq, Operator::IsDistinctFrom, Operator::IsNotDistinctFrom]);
            binary(child(random), op, boolean(random))
        }
        _ => binary(child(random), *random.pick(&[Operator::And, Operator::Or]), boolean(random)),
    }
}

/// A value as it stands in the file.
enum Physical {
    Int(i64),
    Bytes(Vec<u8>),
}

fn physical(value: &ScalarValue) -> Option<Physical> {
    use ScalarValue as S;
    Some(match value {
        _ if value.is_null() => return None,
        S::Boolean(Some(value)) => Physical::Int((*value).into()),
        S::Int8(Some(value)) => Physical::Int((*value).into()),
        S::Int16(Some(value)) => Physical::Int((*value).into()),
        S::Int32(Some(value))
        | S::Date32(Some(value))
        | S::Time32Second(Some(value))
        | S::Time32Millisecond(Some(value)) => Physical::Int((*value).into()),
        S::UInt8(Some(value)) => Physical::Int((*value).into()),
        S::UInt16(Some(value)) => Physical::Int((*value).into()),
        S::UInt32(Some(value)) => Physical::Int(value.cast_signed().into()),
        S::UInt64(Some(value)) => Physical::Int(value.cast_signed()),
        S::Int64(Some(value))
        | S::Date64(Some(value))
        | S::Time64Microsecond(Some(value))
        | S::DurationMicrosecond(Some(value))
        | S::Decimal64(Some(value), ..)
        | S::TimestampSecond(Some(value), _)
        | S::TimestampMillisecond(Some(value), _)
        | S::TimestampNanosecond(Some(value), _) => Physical::Int(*value),
        S::Decimal256(Some(value), ..) => Physical::Int(value.to_i128().unwrap().try_into().unwrap()),
        S::Dictionary(_, value) => return physical(value),
        S::Decimal128(Some(value), ..) => Physical::Int((*value).try_into().unwrap()),
        S::Utf8(Some(value)) | S::LargeUtf8(Some(value)) | S::Utf8View(Some(value)) => {
            Physical::Bytes(value.as_bytes().to_vec())
        }
        S::BinaryView(Some(value)) | S::FixedSizeBinary(_, Some(value)) => Physical::Bytes(value.clone()),
        other => panic!("no physical value of {other:?}"),
    })
}

fn selects(predicate: &Predicate, row: [&ScalarValue; 2]) -> bool {
    match predicate {
        Predicate::Column { column, matches: Matches { values, nulls } } => match (physical(row[*column]), values) {
            (None, _) => *nulls,
            (Some(_), ValueSet::All) => true,
            (Some(_), ValueSet::None) => false,
            (Some(Physical::Int(value)), ValueSet::Ints(set)) => set.contains(&value),
            (Some(Physical::Bytes(value)), ValueSet::Bytes(set)) => set.contains(&value),
            (Some(Physical::Bytes(value)), ValueSet::Lengths(LengthUnit::Bytes, set)) => {
                set.contains(&(value.len() as i64))
            }
            (Some(Physical::Bytes(value)), ValueSet::Lengths(LengthUnit::Characters, set)) => {
                set.contains(&(std::str::from_utf8(&value).unwrap().chars().count() as i64))
            }
            _ => panic!("a set of another kind"),
        },
        Predicate::Compare { left, op, right, unsigned } => {
            let (Some(Physical::Int(left)), Some(Physical::Int(right))) = (physical(row[*left]), physical(row[*right]))
            else {
                return false;
            };
            let ordering = if *unsigned { left.cast_unsigned().cmp(&right.cast_unsigned()) } else { left.cmp(&right) };
            match op {
                Comparison::Eq => ordering.is_eq(),
                Comparison::NotEq => ordering.is_ne(),
                Comparison::Lt => ordering.is_lt(),
                Comparison::LtEq => ordering.is_le(),
                Comparison::Gt => ordering.is_gt(),
                Comparison::GtEq => ordering.is_ge(),
            }
        }
    }
}

/// The rows that a filter selects by its translation; None if a conjunct has none.
fn translated(filter: &Expr, columns: &FileColumns, rows: &[[&ScalarValue; 2]]) -> Option<Vec<bool>> {
    let mut predicates = Vec::new();
    let mut never = false;
    for conjunct in conjuncts(filter) {
        match translate(&conjunct, columns)? {
            Translation::Always => {}
            Translation::Never => never = true,
            Translation::Predicate(predicate) => predicates.push(predicate),
        }
    }
    let predicates = merge(predicates);
    Some(rows.iter().map(|row| !never && predicates.iter().all(|predicate| selects(predicate, *row))).collect())
}

/// All pairs of the values of a case, as rows and as a batch.
fn pairs(case: &Case) -> (Vec<[&ScalarValue; 2]>, RecordBatch, FileColumns) {
    let rows: Vec<[&ScalarValue; 2]> =
        case.values.iter().flat_map(|a| case.values.iter().map(move |b| [a, b])).collect();
    let array =
        |side: usize| -> ArrayRef { ScalarValue::iter_to_array(rows.iter().map(|row| row[side].clone())).unwrap() };
    let fields = ["a", "b"].map(|name| Field::new(name, case.data_type.clone(), true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array(0), array(1)]).unwrap();
    (rows, batch, FileColumns { schema, domains: vec![Some(case.domain); 2] })
}

fn check(filter: &Expr, columns: &FileColumns, rows: &[[&ScalarValue; 2]], batch: &RecordBatch) -> bool {
    let Some(found) = translated(filter, columns, rows) else { return false };
    let expected = evaluate(filter, batch).unwrap();
    for (row, found) in found.into_iter().enumerate() {
        let expected = expected.is_valid(row) && expected.value(row);
        assert_eq!(found, expected, "{filter} at {:?}", rows[row]);
    }
    true
}

#[test]
fn translations_select_what_expressions_select() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for case in cases() {
        let (rows, batch, columns) = pairs(&case);
        for round in 0..600 {
            let filter = tree(&case, 0, round % 5, &mut random, &columns.schema);
            // All that has one column and these shapes is translated.
            assert!(check(&filter, &columns, &rows, &batch), "{}: {filter}", case.data_type);
        }
        let mut checked = 0;
        for round in 0..300 {
            let left = tree(&case, 0, round % 3, &mut random, &columns.schema);
            let right = tree(&case, 1, round % 3, &mut random, &columns.schema);
            let op = *random.pick(&[Operator::And, Operator::And, Operator::Or]);
            let mut filter = binary(left, op, right);
            if random.below(3) == 0 {
                filter = Arc::new(NotExpr::new(filter));
            }
            checked += usize::from(check(&filter, &columns, &rows, &batch));
        }
        assert!(checked > 100, "{}: {checked}", case.data_type);
    }
}

#[test]
fn lengths_of_texts() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for case in cases() {
        let Domain::Bytes { utf8 } = case.domain else { continue };
        let (rows, batch, columns) = pairs(&case);
        let functions = [string::octet_length(), unicode::character_length()];
        // Characters are those of texts.
        for function in functions.into_iter().take(1 + usize::from(utf8)) {
            let (text, data_type) = column(&case, 0, &mut random);
            let length = ScalarFunctionExpr::try_new(function, vec![text], &columns.schema, Arc::default());
            // Not of what has a fixed length.
            let Ok(length) = length else { continue };
            let length: Expr = Arc::new(length);
            let Ok(to) = length.data_type(&columns.schema) else { continue };
            if evaluate(
                &binary(Arc::clone(&length), Operator::Eq, lit(ScalarValue::Int32(Some(1)).cast_to(&to).unwrap())),
                &batch,
            )
            .is_err()
            {
                continue;
            }
            let is_plain = matches!(to, DataType::Int32 | DataType::Int64);
            let number = |random: &mut Random| {
                let number = *random.pick(&[i32::MIN, -1, 0, 1, 2, 3, 4, 12, 13, 22, i32::MAX]);
                lit(ScalarValue::Int32(Some(number)).cast_to(&to).unwrap())
            };
            let leaf = |random: &mut Random| match random.below(3) {
                0 => binary(Arc::clone(&length), *random.pick(&COMPARISONS), number(random)),
                1 => binary(number(random), *random.pick(&COMPARISONS), Arc::clone(&length)),
                _ => {
                    let list = (0..1 + random.below(4)).map(|_| number(random)).collect();
                    in_list(Arc::clone(&length), list, &(random.below(2) == 0), &columns.schema).unwrap()
                }
            };
            for _ in 0..200 {
                let lengths =
                    binary(leaf(&mut random), *random.pick(&[Operator::And, Operator::Or]), leaf(&mut random));
                let negated: Expr = Arc::new(NotExpr::new(Arc::clone(&lengths)));
                assert_eq!(check(&lengths, &columns, &rows, &batch), is_plain, "{utf8} {data_type}: {lengths}");
                assert_eq!(check(&negated, &columns, &rows, &batch), is_plain, "{utf8} {data_type}: {negated}");
                let other = tree(&case, 0, 1, &mut random, &columns.schema);
                let both = binary(Arc::clone(&lengths), Operator::And, Arc::clone(&other));
                assert_eq!(check(&both, &columns, &rows, &batch), is_plain, "{utf8} {data_type}: {both}");
                // No set says it, unless one side says nothing.
                let either = binary(lengths, Operator::Or, other);
                check(&either, &columns, &rows, &batch);
            }
        }
    }
}

#[test]
fn comparisons_of_columns() {
    for case in cases() {
        let (rows, batch, columns) = pairs(&case);
        let sides: [Expr; 2] = [Arc::new(Column::new("a", 0)), Arc::new(Column::new("b", 1))];
        for op in COMPARISONS {
            let known = !matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
            let is_integer = matches!(case.domain, Domain::Int { .. });
            for (left, right) in [(0, 1), (1, 0), (0, 0)] {
                let filter = binary(Arc::clone(&sides[left]), op, Arc::clone(&sides[right]));
                assert_eq!(check(&filter, &columns, &rows, &batch), known && is_integer, "{filter}");
                let negated: Expr = Arc::new(NotExpr::new(filter));
                assert_eq!(check(&negated, &columns, &rows, &batch), known && is_integer, "{negated}");
            }
        }
    }
}

#[test]
fn what_is_not_exact_stays_an_expression() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("s", DataType::Utf8View, true),
        Field::new("f", DataType::Float64, true),
        Field::new("t", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ]));
    let int = Domain::Int { unsigned: false, width: 64 };
    let domains = vec![Some(int), Some(Domain::Bytes { utf8: true }), Some(Domain::Opaque), Some(int)];
    let columns = FileColumns { schema, domains };
    let column = |name: &str, index| -> Expr { Arc::new(Column::new(name, index)) };
    let like = |pattern: &str, case_insensitive| -> Expr {
        let pattern = lit(ScalarValue::Utf8View(Some(pattern.to_string())));
        Arc::new(LikeExpr::new(false, case_insensitive, column("s", 1), pattern))
    };
    let cast = |index, name, to| -> Expr { Arc::new(CastExpr::new(column(name, index), to, None)) };
    let residual = [
        // Fails where the value does not fit.
        binary(cast(0, "a", DataType::Int32), Operator::Eq, lit(5_i32)),
        // Rounds.
        binary(cast(0, "a", DataType::Float64), Operator::Gt, lit(5.0)),
        binary(column("f", 2), Operator::Gt, lit(5.0)),
        // Another unit, and local time as UTC.
        binary(
            cast(3, "t", DataType::Timestamp(TimeUnit::Second, None)),
            Operator::Eq,
            lit(ScalarValue::TimestampSecond(Some(1), None)),
        ),
        binary(
            cast(3, "t", DataType::Timestamp(TimeUnit::Millisecond, Some("+02:00".into()))),
            Operator::Eq,
            lit(ScalarValue::TimestampMillisecond(Some(1), Some("+02:00".into()))),
        ),
        like("%a", false),
        like("a_", false),
        like("a\\%", false),
        like("a%", true),
        binary(column("a", 0), Operator::Plus, lit(1_i64)),
        binary(binary(column("a", 0), Operator::Plus, lit(1_i64)), Operator::Eq, lit(1_i64)),
    ];
    for filter in residual {
        assert_eq!(translate(&filter, &columns), None, "{filter}");
    }
    let null_test: Expr = Arc::new(IsNullExpr::new(column("f", 2)));
    let expected = Predicate::Column { column: 2, matches: Matches::null_test(false, true) };
    assert_eq!(translate(&null_test, &columns), Some(Translation::Predicate(expected)));
    // A condition that holds for all values but NULL reads no value.
    let all = binary(column("a", 0), Operator::GtEq, lit(i64::MIN));
    let expected = Predicate::Column { column: 0, matches: Matches::null_test(true, false) };
    assert_eq!(translate(&all, &columns), Some(Translation::Predicate(expected)));
    assert_eq!(
        translate(&binary(column("a", 0), Operator::Eq, lit(ScalarValue::Int64(None))), &columns),
        Some(Translation::Never)
    );
}
