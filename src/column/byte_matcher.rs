//! Sets of byte arrays, or of their lengths, made ready to test values, by their first bytes as far as these tell.

use std::cmp::Ordering;

use super::buffer::Buffer;
use super::byte_buffer::ByteBuffer;
use super::matcher::{FEW, IntMatcher, Matcher, invert, select_by, wrong_type};
use crate::encoding::byte_array::{Border, ByteTest, HEADS, INLINE_LEN as INLINE, make_head, view_bytes, view_len};
use crate::error::Result;
use crate::kernels::{self, Lane, kernels, ones};
use crate::predicate::{BytesSet, IntSet, LengthUnit, ValueSet, Verdict, WINDOW_ROWS};

/// Tests byte arrays.
pub(crate) struct ByteMatcher {
    set: BytesSet,
    way: Way,
    /// See [`ByteTest::borders`].
    borders: Option<Vec<Border>>,
    of_ascii: Option<Box<Self>>,
}

/// How values are tested.
enum Way {
    All,
    None,
    /// A few values, inverted or not.
    Points {
        /// The heads of those that fit into their views: equal heads are equal values.
        short: Vec<u128>,
        /// Those of the others.
        long: Vec<u128>,
        inverted: bool,
    },
    /// Few intervals.
    Intervals(Vec<Change>),
    /// Sorted intervals.
    Search,
    /// Lengths.
    Lengths {
        unit: LengthUnit,
        set: IntSet,
        /// The same for many.
        matcher: IntMatcher<i32>,
    },
}

/// A byte string from which on membership is another one.
struct Change {
    /// The [`key`] of its head.
    key: i32,
    head: u128,
    from: Vec<u8>,
}

/// The first four bytes of a byte string, zeros after its end, as an integer: of two keys that differ, the lesser is that of the
/// lesser string. Of a head or a view.
fn key(head: u128) -> i32 {
    // The upper half of unsigned integers stands below zero.
    (((head >> 32) as u32).swap_bytes() ^ 0x8000_0000).cast_signed()
}

/// How two byte strings of these heads compare, if the heads tell.
fn compare_heads(a: u128, b: u128) -> Option<Ordering> {
    // The first byte is the most significant one.
    let beginning = |head: u128| (head >> 32).swap_bytes();
    let (a_len, b_len) = (view_len(a), view_len(b));
    match beginning(a).cmp(&beginning(b)) {
        Ordering::Equal if a_len.min(b_len) > INLINE => None,
        // One of them ends within the bytes that are equal.
        Ordering::Equal => Some(a_len.cmp(&b_len)),
        other => Some(other),
    }
}

/// Borders up to which all values are compared with each in turn.
const FEW_BORDERS: usize = 4;

impl ByteMatcher {
    /// What tests the same of values that are ASCII, and is quicker, if anything is.
    pub(crate) fn of_ascii(&self) -> Option<&Self> {
        self.of_ascii.as_deref()
    }

    /// Flips the bit of each value that is not below a change; `heads` are views, or heads, up to a window of them, `is_above` says of
    /// those that have the key of the change whether they are not below it.
    fn flip(heads: &[u128], changes: &[Change], words: &mut [u64], mut is_above: impl FnMut(usize, &Change) -> bool) {
        let mut keys = [0; WINDOW_ROWS];
        keys.iter_mut().zip(heads).for_each(|(to, head)| *to = key(*head));
        let keys = &keys[..heads.len()];
        let (mut above, mut equal) = ([0; WINDOW_ROWS / 64], [0; WINDOW_ROWS / 64]);
        let count = heads.len().div_ceil(64);
        for change in changes {
            match change.key.checked_add(1) {
                Some(next) => i32::in_range(kernels(), keys, next, i32::MAX, &mut above),
                None => above[..count].fill(0),
            }
            i32::in_range(kernels(), keys, change.key, change.key, &mut equal);
            words.iter_mut().zip(&above).for_each(|(word, above)| *word ^= above);
            for index in ones(&equal[..count]) {
                words[index / 64] ^= u64::from(is_above(index, change)) << (index % 64);
            }
        }
    }
}

impl ByteTest for ByteMatcher {
    fn test_heads(&self, heads: &[u128], passed: &mut [u64], open: &mut [u64]) {
        open.fill(0);
        match &self.way {
            Way::None => passed.fill(0),
            Way::All => {
                passed.fill(0);
                kernels::fill_bits(passed, 0, heads.len(), true);
            }
            Way::Points { short, long, inverted } => {
                kernels().in_views(heads, short, passed);
                if !long.is_empty() {
                    kernels().in_views(heads, long, open);
                }
                if *inverted {
                    invert(passed, heads.len());
                    // Of them nothing is known.
                    passed.iter_mut().zip(open).for_each(|(passed, open)| *passed &= !*open);
                }
            }
            Way::Intervals(changes) => {
                passed.fill(0);
                Self::flip(heads, changes, passed, |index, change| match compare_heads(heads[index], change.head) {
                    Some(order) => order.is_ge(),
                    None => {
                        open[index / 64] |= 1 << (index % 64);
                        false
                    }
                });
                passed.iter_mut().zip(open).for_each(|(passed, open)| *passed &= !*open);
            }
            Way::Lengths { unit, set, matcher } => {
                let mut numbers = [0; HEADS];
                for (number, head) in numbers.iter_mut().zip(heads) {
                    *number = match unit {
                        LengthUnit::Bytes => *head as u32,
                        LengthUnit::Characters => *head as u32 - continuations(*head),
                    }
                    .cast_signed();
                }
                matcher.select(&numbers[..heads.len()], passed);
                if *unit == LengthUnit::Bytes {
                    return;
                }
                for (index, head) in heads.iter().enumerate().filter(|(_, head)| view_len(**head) > INLINE) {
                    // A character has four bytes at the most.
                    let bytes = view_len(*head) as i64;
                    let verdict = set.verdict(&(bytes / 4), &bytes);
                    passed[index / 64] &= !(1 << (index % 64));
                    passed[index / 64] |= u64::from(verdict == Verdict::All) << (index % 64);
                    open[index / 64] |= u64::from(verdict == Verdict::Some) << (index % 64);
                }
            }
            Way::Search => {
                passed.fill(0);
                for (index, head) in heads.iter().enumerate() {
                    let is_short = view_len(*head) <= INLINE;
                    let words = if is_short { &mut *passed } else { &mut *open };
                    let bit = !is_short || self.set.contains(view_bytes(head, &[]));
                    words[index / 64] |= u64::from(bit) << (index % 64);
                }
            }
        }
    }

    fn test(&self, value: &[u8]) -> bool {
        match &self.way {
            Way::Lengths { unit, set, .. } => set.contains(&length(value, *unit).into()),
            _ => self.set.contains(value),
        }
    }

    fn borders(&self) -> Option<(&[Border], bool)> {
        Some((self.borders.as_deref()?, self.set.begins_inside()))
    }
}

/// The bytes of a head that go on with a character.
fn continuations(head: u128) -> u32 {
    let bytes = head >> 32;
    // The upper bit is set, and the next is not.
    (bytes & !(bytes << 1) & u128::from_le_bytes([0x80; 16])).count_ones()
}

fn length(value: &[u8], unit: LengthUnit) -> i32 {
    let length = match unit {
        LengthUnit::Bytes => value.len(),
        // All but those that go on with a character.
        LengthUnit::Characters => value.iter().filter(|byte| byte.cast_signed() >= -0x40).count(),
    };
    // Lengths fit in 31 bits.
    length as i32
}

/// The changes of a set, with those of a value and of its successor together; None if there are many.
fn borders(set: &BytesSet) -> Option<Vec<Border>> {
    let mut borders: Vec<Border> = Vec::new();
    for from in set.changes() {
        let value = from.strip_suffix(&[0]).unwrap_or(from);
        let is_above = value.len() < from.len();
        match borders.last_mut() {
            Some(last) if is_above && last.value == value => last.above = true,
            _ if is_above => borders.push(Border { value: value.to_vec(), at: false, above: true }),
            _ => borders.push(Border { value: value.to_vec(), at: true, above: false }),
        }
    }
    (borders.len() <= FEW_BORDERS).then_some(borders)
}

impl Matcher<ByteBuffer> for ByteMatcher {
    fn new(set: &ValueSet) -> Result<Self> {
        let set = match set {
            ValueSet::None => BytesSet::none(),
            ValueSet::All => BytesSet::all(),
            ValueSet::Bytes(set) => set.clone(),
            ValueSet::Lengths(unit, lengths) => {
                let matcher = IntMatcher::new(&ValueSet::Ints(lengths.clone()))?;
                let way = Way::Lengths { unit: *unit, set: lengths.clone(), matcher };
                let of_ascii = match unit {
                    LengthUnit::Bytes => None,
                    LengthUnit::Characters => {
                        Some(Box::new(Self::new(&ValueSet::Lengths(LengthUnit::Bytes, lengths.clone()))?))
                    }
                };
                return Ok(Self { set: BytesSet::all(), way, borders: None, of_ascii });
            }
            ValueSet::Ints(_) => return Err(wrong_type()),
        };
        let points = |set: &BytesSet, inverted| -> Option<Way> {
            let points = set.as_points()?;
            (points.len() <= FEW).then_some(())?;
            let (short, long) = points.into_iter().map(make_head).partition(|head| view_len(*head) <= INLINE);
            Some(Way::Points { short, long, inverted })
        };
        let way = if set.is_all() {
            Way::All
        } else if set.is_none() {
            Way::None
        } else if let Some(way) = points(&set, false).or_else(|| points(&set.clone().complement(), true)) {
            way
        } else if set.changes().nth(2 * FEW).is_none() {
            // The empty string is the least of all.
            let begin = set.contains(&[][..]).then(Vec::new);
            let others = set.changes().filter(|from| !from.is_empty()).cloned();
            let change = |from: Vec<u8>| Change { key: key(make_head(&from)), head: make_head(&from), from };
            Way::Intervals(begin.into_iter().chain(others).map(change).collect())
        } else {
            Way::Search
        };
        Ok(Self { borders: borders(&set), set, way, of_ascii: None })
    }

    fn is_all(&self) -> bool {
        match &self.way {
            Way::Lengths { matcher, .. } => matcher.is_all(),
            way => matches!(way, Way::All),
        }
    }

    fn select(&self, values: &ByteBuffer, words: &mut [u64]) {
        match &self.way {
            Way::None => words.fill(0),
            Way::All => {
                words.fill(0);
                kernels::fill_bits(words, 0, values.len(), true);
            }
            Way::Points { short, long, inverted } => {
                kernels().in_views(values.views(), short, words);
                if !long.is_empty() {
                    self.select_long(long, values, *inverted, words);
                }
                if *inverted {
                    invert(words, values.len());
                }
            }
            Way::Intervals(changes) => {
                words.fill(0);
                for (views, words) in values.views().chunks(WINDOW_ROWS).zip(words.chunks_mut(WINDOW_ROWS / 64)) {
                    Self::flip(views, changes, words, |index, change| {
                        values.bytes(&views[index]) >= change.from.as_slice()
                    });
                }
            }
            Way::Lengths { unit, matcher, .. } => {
                let mut numbers = [0; HEADS];
                for (views, words) in values.views().chunks(HEADS).zip(words.chunks_mut(HEADS / 64)) {
                    for (number, view) in numbers.iter_mut().zip(views) {
                        *number = match unit {
                            LengthUnit::Bytes => view_len(*view) as i32,
                            LengthUnit::Characters => length(values.bytes(view), *unit),
                        };
                    }
                    matcher.select(&numbers[..views.len()], words);
                }
            }
            Way::Search => select_by(values.views(), words, |view| self.set.contains(values.bytes(view))),
        }
    }
}

impl ByteMatcher {
    /// Sets the bit of each value that is one of those with the heads `long`.
    fn select_long(&self, long: &[u128], values: &ByteBuffer, inverted: bool, words: &mut [u64]) {
        let mut candidates = [0; WINDOW_ROWS / 64];
        for (views, words) in values.views().chunks(WINDOW_ROWS).zip(words.chunks_mut(WINDOW_ROWS / 64)) {
            kernels().in_view_beginnings(views, long, &mut candidates);
            for index in ones(&candidates[..views.len().div_ceil(64)]) {
                let passes = self.set.contains(values.bytes(&views[index])) ^ inverted;
                words[index / 64] |= u64::from(passes) << (index % 64);
            }
        }
    }
}
