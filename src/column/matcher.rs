//! Sets of values made ready to test windows.

use super::buffer::{BitBuffer, Buffer, ByteBuffer, Numbers};
use super::fixed::FixedByteBuffer;
use crate::encoding::byte_array::make_inline_view;
use crate::error::{Error, Result};
use crate::kernels::{self, Lane, Value, kernels};
use crate::predicate::{BytesSet, IntSet, ValueSet, WINDOW_ROWS};

/// Tests the values of one physical type.
pub(crate) trait Matcher<B: Buffer>: Send + Sized {
    /// # Errors
    /// If the set is of another type.
    fn new(set: &ValueSet) -> Result<Self>;

    /// Sets the bit of each value that is in the set; overwrites `words`, one word for 64 values.
    fn select(&self, values: &B, words: &mut [u64]);

    /// Whether every value is in the set.
    fn is_all(&self) -> bool;
}

#[cold]
fn wrong_type() -> Error {
    Error::unsupported("predicate on a column of another type")
}

/// Intervals up to which each is compared in turn.
const FEW: usize = 8;

/// Widest span of a set that is kept as a bitmap: it stays in the L1 cache.
const SMALL_BITMAP: u64 = 1 << 16;

/// The same for a set of many intervals: it stays in the L2 cache, and is still faster than a search.
const LARGE_BITMAP: u64 = 1 << 23;

/// Tests integers.
pub(crate) enum IntMatcher<T> {
    All,
    /// Few intervals, inverted or not.
    Ranges {
        ranges: Vec<(T, T)>,
        inverted: bool,
    },
    /// A bit for each value from `base` on, and one answer for all others.
    Bitmap {
        base: i64,
        words: Vec<u64>,
        outside: bool,
    },
    /// A few values that are far apart, in order.
    Points {
        points: Vec<T>,
        inverted: bool,
    },
    /// Sorted intervals.
    Search(IntSet),
}

/// Points up to which each is compared in turn.
const SOME: usize = 64;

/// The least value of a lane.
fn lowest<T: Lane>() -> i64 {
    i64::MIN >> (64 - T::BITS)
}

/// All values of a lane.
fn domain<T: Lane>() -> IntSet {
    IntSet::closed(lowest::<T>(), !lowest::<T>())
}

impl<T> IntMatcher<T> {
    /// The bounds of the set, both included, if it is one interval.
    pub(crate) fn as_range(&self) -> Option<&(T, T)> {
        match self {
            Self::Ranges { ranges, inverted: false } if ranges.len() == 1 => ranges.first(),
            _ => None,
        }
    }
}

impl<T: Lane + Value> Matcher<Numbers<T>> for IntMatcher<T> {
    fn new(set: &ValueSet) -> Result<Self> {
        let set = match set {
            ValueSet::None => return Ok(Self::Ranges { ranges: Vec::new(), inverted: false }),
            ValueSet::All => return Ok(Self::All),
            ValueSet::Ints(set) => set.intersection(&domain::<T>()),
            ValueSet::Bytes(_) => return Err(wrong_type()),
        };
        let outside = set.clone().complement().intersection(&domain::<T>());
        if outside.is_none() {
            return Ok(Self::All);
        }
        let few = |set: &IntSet| -> Option<Vec<(T, T)>> {
            let mut intervals = set.closed_intervals().map(|(low, high)| (T::wrap(low), T::wrap(high)));
            let few = intervals.by_ref().take(FEW).collect();
            intervals.next().is_none().then_some(few)
        };
        let (ranges, holes) = (few(&set), few(&outside));
        match (ranges, holes) {
            (Some(ranges), Some(holes)) if holes.len() < ranges.len() => {
                return Ok(Self::Ranges { ranges: holes, inverted: true });
            }
            (Some(ranges), _) => return Ok(Self::Ranges { ranges, inverted: false }),
            (None, Some(holes)) => return Ok(Self::Ranges { ranges: holes, inverted: true }),
            (None, None) => {}
        }
        // What the unbounded ends have in common is answered outside the bitmap.
        let (listed, outside) = if set.contains(&lowest::<T>()) { (outside, true) } else { (set.clone(), false) };
        let is_few = || listed.closed_intervals().nth(SOME).is_none();
        if let Some((low, high)) = listed.bounds()
            && let Some(span) = high.checked_sub(low).map(i64::cast_unsigned)
            && (span < SMALL_BITMAP || span < LARGE_BITMAP && !is_few())
        {
            let mut words = vec![if outside { u64::MAX } else { 0 }; (span / 64) as usize + 1];
            for (first, last) in listed.closed_intervals() {
                let (first, last) = ((first - low) as usize, (last - low) as usize);
                kernels::fill_bits(&mut words, first, last + 1 - first, !outside);
            }
            return Ok(Self::Bitmap { base: low, words, outside });
        }
        let points: Option<Vec<T>> =
            listed.closed_intervals().map(|(low, high)| (low == high).then(|| T::wrap(low))).take(SOME + 1).collect();
        match points {
            Some(points) if points.len() <= SOME => Ok(Self::Points { points, inverted: outside }),
            _ => Ok(Self::Search(set)),
        }
    }

    fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    fn select(&self, values: &Numbers<T>, words: &mut [u64]) {
        match self {
            Self::All => {
                words.fill(0);
                kernels::fill_bits(words, 0, values.len(), true);
            }
            Self::Ranges { ranges, inverted } => {
                match ranges.split_first() {
                    None => words.fill(0),
                    Some((&(low, high), rest)) => {
                        T::in_range(kernels(), values, low, high, words);
                        let mut more = [0; WINDOW_ROWS / 64];
                        for &(low, high) in rest {
                            for (values, words) in values.chunks(more.len() * 64).zip(words.chunks_mut(more.len())) {
                                T::in_range(kernels(), values, low, high, &mut more);
                                words.iter_mut().zip(&more).for_each(|(word, more)| *word |= more);
                            }
                        }
                    }
                }
                if *inverted {
                    invert(words, values.len());
                }
            }
            Self::Bitmap { base, words: bitmap, outside } => {
                T::in_bitmap(kernels(), values, T::wrap(*base), bitmap, *outside, words);
            }
            Self::Points { points, inverted } => {
                T::in_sorted(kernels(), values, points, words);
                if *inverted {
                    invert(words, values.len());
                }
            }
            Self::Search(set) => select_by(values, words, |&value| set.contains(&value.widen())),
        }
    }
}

/// Sets the bit of each value that is `inside`.
fn select_by<V>(values: &[V], words: &mut [u64], inside: impl Fn(&V) -> bool) {
    for (values, word) in values.chunks(64).zip(words) {
        *word = values.iter().enumerate().fold(0, |word, (bit, value)| word | u64::from(inside(value)) << bit);
    }
}

fn invert(words: &mut [u64], len: usize) {
    words.iter_mut().for_each(|word| *word = !*word);
    if let Some(last) = words.get_mut(len / 64) {
        *last &= (1 << (len % 64)) - 1;
    }
}

/// Tests byte arrays.
pub(crate) enum ByteMatcher {
    All,
    None,
    /// A few values that fit into their views: equal views are equal values.
    Views {
        views: Vec<u128>,
        inverted: bool,
    },
    /// Few intervals.
    Intervals(Vec<Change>),
    /// Sorted intervals.
    Search(BytesSet),
}

/// A byte string from which on membership is another one.
pub(crate) struct Change {
    /// Its [`key`].
    key: i32,
    from: Vec<u8>,
}

/// The first four bytes of a byte string, zeros after its end, as an integer: of two keys that differ, the lesser is that of the
/// lesser string.
fn key(view: u128) -> i32 {
    // The upper half of unsigned integers stands below zero.
    (((view >> 32) as u32).swap_bytes() ^ 0x8000_0000).cast_signed()
}

impl Change {
    fn new(from: Vec<u8>) -> Self {
        let mut prefix = [0; 4];
        prefix.iter_mut().zip(&from).for_each(|(byte, from)| *byte = *from);
        Self { key: key(u128::from(u32::from_le_bytes(prefix)) << 32), from }
    }

    /// Flips the bit of each value that is not below; `keys` are those of the values, up to a window of them.
    fn flip(&self, values: &ByteBuffer, views: &[u128], keys: &[i32], words: &mut [u64]) {
        let (mut above, mut equal) = ([0; WINDOW_ROWS / 64], [0; WINDOW_ROWS / 64]);
        if let Some(next) = self.key.checked_add(1) {
            i32::in_range(kernels(), keys, next, i32::MAX, &mut above);
        }
        i32::in_range(kernels(), keys, self.key, self.key, &mut equal);
        for (index, word) in words.iter_mut().enumerate() {
            *word ^= above[index];
            let mut equal = equal[index];
            while equal != 0 {
                let bit = equal.trailing_zeros();
                equal &= equal - 1;
                let value = values.bytes(&views[index * 64 + bit as usize]);
                *word ^= u64::from(value >= self.from.as_slice()) << bit;
            }
        }
    }
}

impl Matcher<ByteBuffer> for ByteMatcher {
    fn new(set: &ValueSet) -> Result<Self> {
        let set = match set {
            ValueSet::None => return Ok(Self::None),
            ValueSet::All => return Ok(Self::All),
            ValueSet::Bytes(set) => set,
            ValueSet::Ints(_) => return Err(wrong_type()),
        };
        let views = |set: &BytesSet| -> Option<Vec<u128>> {
            let points = set.as_points()?;
            (points.len() <= FEW).then_some(())?;
            points.into_iter().map(make_inline_view).collect()
        };
        Ok(if set.is_all() {
            Self::All
        } else if set.is_none() {
            Self::None
        } else if let Some(views) = views(set) {
            Self::Views { views, inverted: false }
        } else if let Some(views) = views(&set.clone().complement()) {
            Self::Views { views, inverted: true }
        } else if set.changes().nth(2 * FEW).is_none() {
            // The empty string is the least of all.
            let begin = set.contains(&[][..]).then(Vec::new);
            let others = set.changes().filter(|from| !from.is_empty()).cloned();
            Self::Intervals(begin.into_iter().chain(others).map(Change::new).collect())
        } else {
            Self::Search(set.clone())
        })
    }

    fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    fn select(&self, values: &ByteBuffer, words: &mut [u64]) {
        match self {
            Self::None => words.fill(0),
            Self::All => {
                words.fill(0);
                kernels::fill_bits(words, 0, values.len(), true);
            }
            Self::Views { views, inverted } => {
                kernels().in_views(values.views(), views, words);
                if *inverted {
                    invert(words, values.len());
                }
            }
            Self::Intervals(changes) => {
                words.fill(0);
                let mut keys = [0; WINDOW_ROWS];
                for (views, words) in values.views().chunks(WINDOW_ROWS).zip(words.chunks_mut(WINDOW_ROWS / 64)) {
                    keys.iter_mut().zip(views).for_each(|(to, view)| *to = key(*view));
                    changes.iter().for_each(|change| change.flip(values, views, &keys[..views.len()], words));
                }
            }
            Self::Search(set) => select_by(values.views(), words, |view| set.contains(values.bytes(view))),
        }
    }
}

/// Tests byte arrays of a fixed length.
pub(crate) struct FixedByteMatcher(BytesSet);

impl Matcher<FixedByteBuffer> for FixedByteMatcher {
    fn new(set: &ValueSet) -> Result<Self> {
        Ok(Self(match set {
            ValueSet::None => BytesSet::none(),
            ValueSet::All => BytesSet::all(),
            ValueSet::Bytes(set) => set.clone(),
            ValueSet::Ints(_) => return Err(wrong_type()),
        }))
    }

    fn is_all(&self) -> bool {
        self.0.is_all()
    }

    fn select(&self, values: &FixedByteBuffer, words: &mut [u64]) {
        words.fill(0);
        if self.is_all() {
            kernels::fill_bits(words, 0, values.len(), true);
        } else if !self.0.is_none() {
            for (index, row) in values.rows().enumerate() {
                words[index / 64] |= u64::from(self.0.contains(row)) << (index % 64);
            }
        }
    }
}

/// Tests booleans.
pub(crate) struct BitMatcher {
    on_false: bool,
    on_true: bool,
}

impl Matcher<BitBuffer> for BitMatcher {
    fn new(set: &ValueSet) -> Result<Self> {
        Ok(match set {
            ValueSet::None => Self { on_false: false, on_true: false },
            ValueSet::All => Self { on_false: true, on_true: true },
            ValueSet::Ints(set) => Self { on_false: set.contains(&0), on_true: set.contains(&1) },
            ValueSet::Bytes(_) => return Err(wrong_type()),
        })
    }

    fn is_all(&self) -> bool {
        self.on_false && self.on_true
    }

    fn select(&self, values: &BitBuffer, words: &mut [u64]) {
        let mask = |on: bool| if on { u64::MAX } else { 0 };
        for (word, bits) in words.iter_mut().zip(values.words()) {
            *word = bits & mask(self.on_true) | !bits & mask(self.on_false);
        }
        if let Some(last) = words.get_mut(values.len() / 64) {
            *last &= (1 << (values.len() % 64)) - 1;
        }
    }
}
