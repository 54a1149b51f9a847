//! Comparisons of whole slices, to bitmaps.

use super::Lane;
use super::tools::Tools;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `left = right`
    Eq,
    /// `left <> right`
    NotEq,
    /// `left < right`
    Lt,
    /// `left <= right`
    LtEq,
    /// `left > right`
    Gt,
    /// `left >= right`
    GtEq,
}

impl Comparison {
    /// The comparison with its sides exchanged: `a op b` is `b op.swap() a`.
    #[must_use]
    pub const fn swap(self) -> Self {
        match self {
            Self::Eq => Self::Eq,
            Self::NotEq => Self::NotEq,
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
        }
    }
}

#[inline(always)]
pub(super) fn in_range<T: Lane, V: Tools>(values: &[T], low: T, high: T, words: &mut [u64]) {
    let words = &mut words[..values.len().div_ceil(64)];
    if low > high {
        words.fill(0);
        return;
    }
    // One unsigned comparison decides both bounds.
    let span = high.sub(low).unsigned();
    let holds = |value: T| value.sub(low).unsigned() <= span;
    let (chunks, rest) = values.as_chunks::<64>();
    for (chunk, word) in chunks.iter().zip(words.iter_mut()) {
        *word = V::pack(T::BITS, |index| holds(chunk[index]));
    }
    if let (false, Some(word)) = (rest.is_empty(), words.last_mut()) {
        *word = pack_rest(rest.iter().map(|&value| holds(value)));
    }
}

/// A word of fewer than 64 verdicts.
#[inline(always)]
fn pack_rest(verdicts: impl Iterator<Item = bool>) -> u64 {
    verdicts.enumerate().fold(0, |word, (index, verdict)| word | u64::from(verdict) << index)
}

#[inline(always)]
pub(super) fn compare<T: Lane, V: Tools>(left: &[T], right: &[T], op: Comparison, signed: bool, words: &mut [u64]) {
    let words = &mut words[..left.len().div_ceil(64)];
    match (op, signed) {
        (Comparison::Eq, _) => compare_by::<T, V>(left, right, words, |l, r| l == r),
        (Comparison::NotEq, _) => compare_by::<T, V>(left, right, words, |l, r| l != r),
        (Comparison::Lt, true) => compare_by::<T, V>(left, right, words, |l, r| l < r),
        (Comparison::LtEq, true) => compare_by::<T, V>(left, right, words, |l, r| l <= r),
        (Comparison::Gt, true) => compare_by::<T, V>(left, right, words, |l, r| l > r),
        (Comparison::GtEq, true) => compare_by::<T, V>(left, right, words, |l, r| l >= r),
        (Comparison::Lt, false) => compare_by::<T, V>(left, right, words, |l, r| l.unsigned() < r.unsigned()),
        (Comparison::LtEq, false) => compare_by::<T, V>(left, right, words, |l, r| l.unsigned() <= r.unsigned()),
        (Comparison::Gt, false) => compare_by::<T, V>(left, right, words, |l, r| l.unsigned() > r.unsigned()),
        (Comparison::GtEq, false) => compare_by::<T, V>(left, right, words, |l, r| l.unsigned() >= r.unsigned()),
    }
}

#[inline(always)]
fn compare_by<T: Lane, V: Tools>(left: &[T], right: &[T], words: &mut [u64], holds: impl Fn(T, T) -> bool) {
    let (left_chunks, left_rest) = left.as_chunks::<64>();
    let (right_chunks, right_rest) = right.as_chunks::<64>();
    for ((left, right), word) in left_chunks.iter().zip(right_chunks).zip(words.iter_mut()) {
        *word = V::pack(T::BITS, |index| holds(left[index], right[index]));
    }
    if let (false, Some(word)) = (left_rest.is_empty(), words.last_mut()) {
        *word = pack_rest(left_rest.iter().zip(right_rest).map(|(&left, &right)| holds(left, right)));
    }
}
