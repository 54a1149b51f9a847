//! Sets of values as unions of intervals.

use super::Verdict;

/// A set of values of an ordered type: a union of intervals, closed under AND, OR and NOT.
///
/// Kept as the sorted list of the values at which membership changes: a value is inside iff an odd number of changes
/// lies at or below it, the other way round for a set that begins inside. The complement then is one flipped bit.
///
/// ```
/// use miniblock::predicate::IntSet;
///
/// let teens = IntSet::closed(13, 19);
/// let set = teens.union(&IntSet::points([42, 7])).complement();
/// assert!(set.contains(&20) && !set.contains(&15) && !set.contains(&42));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalSet<B> {
    /// Whether values below the first change are inside.
    begins_inside: bool,
    changes: Vec<B>,
}

/// A set of integers.
pub type IntSet = IntervalSet<i64>;

/// A set of byte strings in unsigned byte order.
pub type BytesSet = IntervalSet<Vec<u8>>;

impl<B: Ord + Clone> IntervalSet<B> {
    /// No value.
    pub const fn none() -> Self {
        Self { begins_inside: false, changes: Vec::new() }
    }

    /// Every value.
    pub const fn all() -> Self {
        Self { begins_inside: true, changes: Vec::new() }
    }

    /// The values `v` with `low <= v < high`; a missing bound is open. Empty if `low >= high`.
    pub fn half_open(low: Option<B>, high: Option<B>) -> Self {
        if let (Some(low), Some(high)) = (&low, &high)
            && low >= high
        {
            return Self::none();
        }
        Self { begins_inside: low.is_none(), changes: low.into_iter().chain(high).collect() }
    }

    /// Whether the set has no value.
    pub fn is_none(&self) -> bool {
        !self.begins_inside && self.changes.is_empty()
    }

    /// Whether the set has every value.
    pub fn is_all(&self) -> bool {
        self.begins_inside && self.changes.is_empty()
    }

    /// Whether values below the first change are in the set.
    pub fn begins_inside(&self) -> bool {
        self.begins_inside
    }

    /// Whether `value` is in the set.
    pub fn contains<Q>(&self, value: &Q) -> bool
    where
        B: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let changes = self.changes.partition_point(|change| change.borrow() <= value);
        self.begins_inside ^ (changes % 2 == 1)
    }

    /// The values that are not in the set.
    #[must_use]
    pub fn complement(mut self) -> Self {
        self.begins_inside = !self.begins_inside;
        self
    }

    /// The values in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a || b)
    }

    /// The values in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a && b)
    }

    fn combine(&self, other: &Self, inside: impl Fn(bool, bool) -> bool) -> Self {
        let mut result = Self { begins_inside: inside(self.begins_inside, other.begins_inside), changes: Vec::new() };
        let (mut left, mut right) = (self.changes.iter().peekable(), other.changes.iter().peekable());
        let (mut in_left, mut in_right, mut in_result) =
            (self.begins_inside, other.begins_inside, result.begins_inside);
        loop {
            let change = match (left.peek(), right.peek()) {
                (None, None) => return result,
                (Some(&change), None) | (None, Some(&change)) => change,
                (Some(&a), Some(&b)) => a.min(b),
            };
            in_left ^= left.next_if(|&next| next == change).is_some();
            in_right ^= right.next_if(|&next| next == change).is_some();
            if inside(in_left, in_right) != in_result {
                in_result = !in_result;
                result.changes.push(change.clone());
            }
        }
    }

    /// How many of the values from `low` to `high`, both included, are in the set.
    pub fn verdict(&self, low: &B, high: &B) -> Verdict {
        let changes = |value: &B| self.changes.partition_point(|change| change <= value);
        let (first, last) = (changes(low), changes(high));
        match (first == last, self.begins_inside ^ (first % 2 == 1)) {
            (false, _) => Verdict::Some,
            (true, true) => Verdict::All,
            (true, false) => Verdict::None,
        }
    }

    /// The values at which membership changes, in ascending order.
    pub fn changes(&self) -> impl Iterator<Item = &B> {
        self.changes.iter()
    }

    /// The intervals `low <= v < high` in ascending order; a missing bound is open.
    pub fn intervals(&self) -> impl Iterator<Item = (Option<&B>, Option<&B>)> {
        let bounds = self.begins_inside.then_some(None).into_iter().chain(self.changes.iter().map(Some));
        let mut bounds = bounds;
        std::iter::from_fn(move || {
            let low = bounds.next()?;
            Some((low, bounds.next().flatten()))
        })
    }
}

impl IntSet {
    /// The integers from `low` to `high`, both included. Empty if `low > high`.
    pub fn closed(low: i64, high: i64) -> Self {
        if low > high {
            return Self::none();
        }
        Self::half_open((low != i64::MIN).then_some(low), high.checked_add(1))
    }

    /// The given integers.
    pub fn points(values: impl IntoIterator<Item = i64>) -> Self {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        let mut set = Self::none();
        set.extend_ascending(values);
        set
    }

    /// Adds integers that ascend, all above those of the set.
    pub fn extend_ascending(&mut self, values: impl IntoIterator<Item = i64>) {
        for value in values {
            if value == i64::MIN {
                self.begins_inside = true;
            } else if self.changes.last() == Some(&value) {
                self.changes.pop();
            } else {
                self.changes.push(value);
            }
            self.changes.extend(value.checked_add(1));
        }
    }

    /// The least and the greatest member; None if there is none.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let mut intervals = self.closed_intervals();
        let (low, first) = intervals.next()?;
        Some((low, intervals.last().map_or(first, |(_, high)| high)))
    }

    /// The intervals as closed ones, in ascending order.
    pub fn closed_intervals(&self) -> impl Iterator<Item = (i64, i64)> {
        self.intervals()
            .map(|(low, high)| (low.copied().unwrap_or(i64::MIN), high.map_or(i64::MAX, |high| high.wrapping_sub(1))))
    }
}

impl BytesSet {
    /// The given byte strings.
    pub fn points<V: Into<Vec<u8>>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut values: Vec<Vec<u8>> = values.into_iter().map(Into::into).collect();
        values.sort_unstable();
        values.dedup();
        let mut set = Self::none();
        for value in values {
            let next = Self::successor(&value);
            if set.changes.last() == Some(&value) {
                set.changes.pop();
            } else {
                set.changes.push(value);
            }
            set.changes.push(next);
        }
        set
    }

    /// The byte strings that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        // The least string above all of them: without trailing 0xff, the last byte one higher.
        let mut high = prefix.to_vec();
        while high.pop_if(|last| *last == u8::MAX).is_some() {}
        if let Some(last) = high.last_mut() {
            *last += 1;
        }
        Self::half_open((!prefix.is_empty()).then(|| prefix.to_vec()), (!high.is_empty()).then_some(high))
    }

    /// The least byte string above `value`: `value` and a zero byte.
    pub fn successor(value: &[u8]) -> Vec<u8> {
        let mut next = Vec::with_capacity(value.len() + 1);
        next.extend_from_slice(value);
        next.push(0);
        next
    }

    /// The members, if there are finitely many and each is an interval of its own.
    pub fn as_points(&self) -> Option<Vec<&[u8]>> {
        self.intervals()
            .map(|(low, high)| {
                let (low, high) = (low.map_or(&[][..], Vec::as_slice), high?);
                (high.split_last() == Some((&0, low))).then_some(low)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set over a small domain, from its bits.
    fn small(bits: u32) -> IntSet {
        IntSet::points((0..5).filter(|i| bits >> i & 1 == 1))
    }

    #[test]
    fn verdicts_over_all_small_sets() {
        for bits in 0..32u32 {
            for set in [small(bits), small(bits).complement()] {
                for low in -1..6 {
                    for high in low..6 {
                        let inside = (low..=high).filter(|value| set.contains(value)).count() as i64;
                        match set.verdict(&low, &high) {
                            Verdict::None => assert_eq!(inside, 0),
                            Verdict::All => assert_eq!(inside, high - low + 1),
                            Verdict::Some => assert!(0 < inside && inside < high - low + 1),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn algebra_over_all_small_sets() {
        for a in 0..32u32 {
            for b in 0..32u32 {
                let (union, both) = (small(a).union(&small(b)), small(a).intersection(&small(b)));
                let not = small(a).complement();
                for v in -1..6i64 {
                    let bit = |bits: u32| (0..5).contains(&v) && bits >> v & 1 == 1;
                    assert_eq!(union.contains(&v), bit(a) || bit(b));
                    assert_eq!(both.contains(&v), bit(a) && bit(b));
                    assert_eq!(not.contains(&v), !bit(a));
                }
                assert_eq!(small(a) == small(b), a == b);
            }
        }
    }

    #[test]
    fn ends_of_the_domain() {
        assert_eq!(IntSet::closed(i64::MIN, i64::MAX), IntSet::all());
        assert_eq!(
            IntSet::points([i64::MIN, i64::MAX]).closed_intervals().collect::<Vec<_>>(),
            [(i64::MIN, i64::MIN), (i64::MAX, i64::MAX)]
        );
        assert_eq!(IntSet::points([i64::MIN, i64::MIN + 1]), IntSet::closed(i64::MIN, i64::MIN + 1));
        assert!(IntSet::closed(1, 0).is_none());
    }

    #[test]
    fn byte_points_and_prefixes() {
        let set = BytesSet::points([&b"MAIL"[..], b"SHIP", b"MAIL"]);
        assert_eq!(set.as_points(), Some(vec![&b"MAIL"[..], b"SHIP"]));
        assert!(set.contains(&b"SHIP"[..]) && !set.contains(&b"SHIP\0"[..]) && !set.contains(&b"SHI"[..]));
        let prefix = BytesSet::prefix(b"a\xff");
        assert!(prefix.contains(&b"a\xff"[..]) && prefix.contains(&b"a\xff\xff"[..]));
        assert!(!prefix.contains(&b"b"[..]) && !prefix.contains(&b"a\xfe\xff"[..]));
        assert_eq!(prefix.as_points(), None);
        assert_eq!(BytesSet::prefix(b""), BytesSet::all());
        assert_eq!(BytesSet::prefix(b"\xff"), BytesSet::half_open(Some(vec![0xff]), None));
        assert_eq!(BytesSet::points([&b""[..]]).as_points(), Some(vec![&b""[..]]));
        // "a" and "a\0" are neighbours: one interval, not two points.
        assert!(BytesSet::points([&b"a"[..], b"a\0"]).contains(&b"a\0"[..]));
    }
}
