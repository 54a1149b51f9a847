//! Sets of values made ready to test windows.

use super::buffer::{BitBuffer, Buffer, ByteBuffer, Numbers};
use super::fixed::FixedByteBuffer;
use crate::encoding::byte_array::make_inline_view;
use crate::error::{Error, Result};
use crate::kernels::{self, Lane, Value, kernels};
use crate::predicate::{BytesSet, IntSet, ValueSet};

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
const BITMAP_BITS: u64 = 1 << 16;

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
        let clamp = |set: &IntSet| -> Vec<(T, T)> {
            set.closed_intervals().map(|(low, high)| (T::wrap(low), T::wrap(high))).collect()
        };
        let outside = set.clone().complement().intersection(&domain::<T>());
        if outside.is_none() {
            return Ok(Self::All);
        }
        let (ranges, holes) = (clamp(&set), clamp(&outside));
        if ranges.len().min(holes.len()) <= FEW {
            let inverted = holes.len() < ranges.len();
            return Ok(Self::Ranges { ranges: if inverted { holes } else { ranges }, inverted });
        }
        // What the unbounded ends have in common is answered outside the bitmap.
        let outside = set.contains(&lowest::<T>());
        let listed = if outside { set.clone().complement().intersection(&domain::<T>()) } else { set.clone() };
        let bounds = listed
            .closed_intervals()
            .fold(None, |bounds: Option<(i64, i64)>, (low, high)| Some((bounds.map_or(low, |(first, _)| first), high)));
        if let Some((low, high)) = bounds
            && let Some(span) = high.checked_sub(low)
            && (span as u64) < BITMAP_BITS
        {
            let mut words = vec![if outside { u64::MAX } else { 0 }; span as usize / 64 + 1];
            for (first, last) in listed.closed_intervals() {
                for bit in (first - low)..=(last - low) {
                    words[bit as usize / 64] ^= 1 << (bit % 64);
                }
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
                        let mut more = [0; crate::predicate::WINDOW_ROWS / 64];
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
    /// Sorted intervals.
    Search(BytesSet),
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
