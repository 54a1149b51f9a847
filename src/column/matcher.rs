//! Sets of values made ready to test windows.

use super::buffer::{BitBuffer, Buffer, Numbers};
use super::fixed::FixedByteBuffer;
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
pub(super) fn wrong_type() -> Error {
    Error::unsupported("predicate on a column of another type")
}

/// Intervals up to which each is compared in turn.
pub(super) const FEW: usize = 8;

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

impl<T: Lane + Value> IntMatcher<T> {
    pub(super) fn new(set: &ValueSet) -> Result<Self> {
        let set = match set {
            ValueSet::None => return Ok(Self::Ranges { ranges: Vec::new(), inverted: false }),
            ValueSet::All => return Ok(Self::All),
            ValueSet::Ints(set) => set.intersection(&domain::<T>()),
            ValueSet::Bytes(_) | ValueSet::Lengths(..) => return Err(wrong_type()),
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

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// As [`Matcher::select`].
    pub(super) fn select(&self, values: &[T], words: &mut [u64]) {
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

impl<T: Lane + Value> Matcher<Numbers<T>> for IntMatcher<T> {
    fn new(set: &ValueSet) -> Result<Self> {
        Self::new(set)
    }

    fn is_all(&self) -> bool {
        self.is_all()
    }

    fn select(&self, values: &Numbers<T>, words: &mut [u64]) {
        self.select(values, words);
    }
}

/// Sets the bit of each value that is `inside`.
pub(super) fn select_by<V>(values: &[V], words: &mut [u64], inside: impl Fn(&V) -> bool) {
    for (values, word) in values.chunks(64).zip(words) {
        *word = values.iter().enumerate().fold(0, |word, (bit, value)| word | u64::from(inside(value)) << bit);
    }
}

pub(super) fn invert(words: &mut [u64], len: usize) {
    words.iter_mut().for_each(|word| *word = !*word);
    if let Some(last) = words.get_mut(len / 64) {
        *last &= (1 << (len % 64)) - 1;
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
            ValueSet::Ints(_) | ValueSet::Lengths(..) => return Err(wrong_type()),
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
            ValueSet::Bytes(_) | ValueSet::Lengths(..) => return Err(wrong_type()),
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
