//! Strings of many lengths and orders, and filters that look closely at them.

use std::collections::BTreeSet;

use super::predicate;
use super::rng::Rng;
use super::table::{Column, Table};
use super::values::Value;

/// How the strings of a column look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// In bytes; one of them.
    lengths: &'static [usize],
    alphabet: &'static [char],
    style: Style,
    /// That many bytes are the same, or values that are different.
    shared: usize,
    sorted: bool,
}

/// How the strings of a column follow each other.
#[derive(Debug, Clone, Copy)]
enum Style {
    Anything,
    /// Few different ones.
    Few,
    /// All begin alike.
    Alike,
    /// Each begins as the one before, for a while.
    Neighbours,
    /// A number at the end.
    Numbers,
}

/// Around what a view holds itself, what vectors hold, and one and two bytes of a varint.
const LENGTHS: [&[usize]; 12] = [
    &[0],
    &[0, 1, 2, 3, 4, 5],
    &[7, 8, 9],
    &[11, 12],
    &[12, 13],
    &[13, 16, 17],
    &[31, 32, 33],
    &[63, 64, 65],
    &[127, 128, 129],
    &[0, 4, 8, 12, 13, 16, 33, 65, 129],
    &[12, 1000],
    &[13, 1023, 1024, 4000],
];

const ALPHABETS: [&[char]; 4] = [
    &['a', 'b'],
    &['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'],
    &['a', 'e', 'i', 'k', 'x', 'A', 'Z', ' ', '\'', '-', '~', '!'],
    &['ä', 'é', 'ß', '水', '火', '😀', '𝄞', 'a', 'z', '\u{7ff}', '\u{ffff}'],
];

/// Bytes of a view that are compared first, that it holds, and others.
const SHARED: [usize; 12] = [1, 2, 3, 4, 5, 8, 11, 12, 13, 16, 32, 64];

impl Shape {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        Self {
            lengths: rng.pick(&LENGTHS),
            alphabet: rng.pick(&ALPHABETS),
            style: rng.pick(&[Style::Anything, Style::Few, Style::Alike, Style::Neighbours, Style::Numbers]),
            shared: rng.pick(&SHARED),
            sorted: rng.one_in(3),
        }
    }

    /// The longest string has that many bytes.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap()
    }

    /// `head`, cut off or made longer by other characters, so that it has `len` bytes.
    fn text(&self, rng: &mut Rng, head: &str, len: usize) -> String {
        let mut text = head[..head.floor_char_boundary(len)].to_string();
        while text.len() < len {
            let next = rng.pick(self.alphabet);
            text.push(if text.len() + next.len_utf8() > len { '.' } else { next });
        }
        text
    }

    pub(crate) fn values(&self, rng: &mut Rng, rows: usize) -> Vec<Value> {
        let head = self.text(rng, "", self.shared);
        let few: Vec<String> = (0..self.shared)
            .map(|_| {
                let len = rng.pick(self.lengths);
                self.text(rng, "", len)
            })
            .collect();
        let mut previous = String::new();
        let mut texts: Vec<String> = (0..rows)
            .map(|row| {
                let len = rng.pick(self.lengths);
                let text = match self.style {
                    Style::Anything => self.text(rng, "", len),
                    Style::Few => rng.pick(&few),
                    Style::Alike => self.text(rng, &head, len),
                    Style::Neighbours => {
                        let same = previous.floor_char_boundary(rng.below(previous.len() + 1));
                        self.text(rng, &previous[..same], len)
                    }
                    Style::Numbers => {
                        let number = row.to_string();
                        let head = self.text(rng, &head, len.saturating_sub(number.len()));
                        format!("{head}{number}")
                    }
                };
                previous.clone_from(&text);
                text
            })
            .collect();
        if self.sorted {
            texts.sort_unstable();
        }
        texts.into_iter().map(Value::Text).collect()
    }
}

/// A filter over a table of strings: AND of some conditions.
pub(crate) fn filter(rng: &mut Rng, table: &Table) -> String {
    let conjuncts: Vec<String> = (0..1 + rng.below(3)).map(|_| condition(rng, table, 0)).collect();
    conjuncts.join(" AND ")
}

fn condition(rng: &mut Rng, table: &Table, depth: usize) -> String {
    let strings: Vec<&Column> = table.columns.iter().filter(|column| column.is_text()).collect();
    match rng.below(12) {
        0 if depth < 2 => format!("NOT ({})", condition(rng, table, depth + 1)),
        1 if depth < 2 => {
            let (left, right) = (condition(rng, table, depth + 1), condition(rng, table, depth + 1));
            format!("({left} OR {right})")
        }
        // On one column.
        2 => {
            let column = rng.pick(&strings);
            let (left, right) = (test(rng, column), test(rng, column));
            format!("({left} {} {right})", rng.pick(&["OR", "AND"]))
        }
        // Of integers, or of two columns.
        3 | 4 => predicate::predicate(rng, table, 1),
        5 => {
            let other = table.columns.iter().find(|column| column.is_integer()).expect("a column of integers");
            format!("{} % {} = {}", other.sql(), rng.pick(&[2, 10, 100]), rng.below(3))
        }
        _ => {
            let column = rng.pick(&strings);
            test(rng, column)
        }
    }
}

/// A string that is one of the column, or nearly.
fn near(rng: &mut Rng, column: &Column) -> String {
    let text = match column.samples.is_empty() {
        true => String::new(),
        false => match rng.pick(&column.samples) {
            Value::Text(text) => text,
            other => panic!("{other:?} is no text"),
        },
    };
    let at = text.floor_char_boundary(rng.pick(&[0, 3, 4, 5, 8, 11, 12, 13, 16, 32, text.len()]).min(text.len()));
    let (head, tail) = text.split_at(at);
    let mut rest = tail.chars();
    let first = rest.next();
    let other = rng.pick(&['a', '~', 'é', '水', '0', '\u{10ffff}']);
    match rng.below(8) {
        0 => head.to_string(),
        1 => format!("{text}{other}"),
        2 => format!("{head}{other}{}", rest.as_str()),
        // A neighbour in the order.
        3 => match first.and_then(|first| char::from_u32(first as u32 + 1)) {
            Some(next) => format!("{head}{next}{}", rest.as_str()),
            None => text,
        },
        4 => format!("{head}{}", rest.as_str()),
        _ => text,
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A part of a value, for patterns.
fn part(rng: &mut Rng, column: &Column, of_the_end: bool) -> String {
    let text = near(rng, column).replace(['%', '_', '\\'], "");
    let at = rng.pick(&[0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 33, 64]).min(text.len());
    let part = if of_the_end {
        &text[text.ceil_char_boundary(text.len() - at)..]
    } else {
        &text[..text.floor_char_boundary(at)]
    };
    part.to_string()
}

/// A condition on a column of strings.
fn test(rng: &mut Rng, column: &Column) -> String {
    let name = column.sql();
    let not = rng.pick(&["", "NOT "]);
    let order = rng.pick(&["<", "<=", ">", ">="]);
    let literal = quoted(&near(rng, column));
    match rng.below(16) {
        0 | 1 => format!("{name} = {literal}"),
        2 => format!("{name} <> {literal}"),
        3 | 4 => format!("{name} {order} {literal}"),
        5 => {
            let mut bounds = [near(rng, column), near(rng, column)];
            if !rng.one_in(5) {
                bounds.sort();
            }
            format!("{name} {not}BETWEEN {} AND {}", quoted(&bounds[0]), quoted(&bounds[1]))
        }
        6..=8 => {
            let list: BTreeSet<String> =
                (0..rng.pick(&[1, 2, 3, 5, 12, 40])).map(|_| quoted(&near(rng, column))).collect();
            format!("{name} {not}IN ({})", list.into_iter().collect::<Vec<_>>().join(", "))
        }
        9 => format!("{name} {not}LIKE {}", quoted(&(part(rng, column, false) + "%"))),
        10 => format!("{name} {not}LIKE {}", quoted(&format!("%{}", part(rng, column, true)))),
        11 => {
            let both = [part(rng, column, false), part(rng, column, true)];
            let pattern = match rng.below(4) {
                0 => format!("%{}%", both[1]),
                1 => format!("{}%{}", both[0], both[1]),
                2 => format!("{}_", both[0]),
                _ => both[0].clone(),
            };
            format!("{name} {not}LIKE {}", quoted(&pattern))
        }
        12 => format!("{not}starts_with({name}, {})", quoted(&part(rng, column, false))),
        13 | 14 => {
            let function = rng.pick(&["length", "octet_length"]);
            let len = rng.pick(&[0, 1, 3, 4, 12, 13, 32, 64, 128, 1000]);
            format!("{function}({name}) {} {len}", rng.pick(&["=", "<>", order]))
        }
        _ => format!("{name} IS {not}NULL"),
    }
}
