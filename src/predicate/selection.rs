//! The rows of a window that are still wanted.

use std::ops::Range;

use crate::kernels::kernels;

/// Rows that the scan handles at a time. A window costs some hundred nanoseconds a column, whatever its rows: as much as to decode
/// a thousand of them.
pub const WINDOW_ROWS: usize = 4096;

const WORDS: usize = WINDOW_ROWS / 64;

/// A bitmap over the rows of one window, of which the bits from [`Selection::len`] on are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    words: [u64; WORDS],
    len: usize,
}

impl Selection {
    /// All of `len` rows, `len` at most [`WINDOW_ROWS`].
    pub fn all(len: usize) -> Self {
        assert!(len <= WINDOW_ROWS, "a window has at most {WINDOW_ROWS} rows");
        let mut words = [0; WORDS];
        let (full, rest) = (len / 64, len % 64);
        words[..full].fill(u64::MAX);
        if rest > 0 {
            words[full] = (1 << rest) - 1;
        }
        Self { words, len }
    }

    /// Rows of the window.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.words.iter().fold(0, |any, word| any | word) == 0
    }

    /// Rows that are selected.
    pub fn count(&self) -> usize {
        kernels().count_ones(self.words())
    }

    /// Whether every row is selected.
    pub fn is_full(&self) -> bool {
        self.count() == self.len
    }

    /// The words that cover [`Selection::len`] rows.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.len.div_ceil(64)]
    }

    /// Keeps the rows that are set in `words` too.
    pub fn narrow(&mut self, words: &[u64]) {
        for (word, other) in self.words.iter_mut().zip(words) {
            *word &= other;
        }
    }

    /// Deselects every row.
    pub fn clear(&mut self) {
        self.words = [0; WORDS];
    }

    /// The first and the last selected row.
    pub fn bounds(&self) -> Option<(usize, usize)> {
        self.spans(WINDOW_ROWS).next().map(|span| (span.start, span.end - 1))
    }

    /// From the first to behind the last selected row of each run of `rows` rows, a multiple of 64, that has any.
    pub fn spans(&self, rows: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let runs = self.words().chunks(rows / 64).zip((0..).step_by(rows));
        runs.filter_map(|(words, start)| {
            let first = words.iter().position(|word| *word != 0)?;
            let last = words.iter().rposition(|word| *word != 0)?;
            let end = start + last * 64 + 64 - words[last].leading_zeros() as usize;
            Some(start + first * 64 + words[first].trailing_zeros() as usize..end)
        })
    }

    /// The rows from `from` to `to` (excluded) as a window of their own.
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let mut part = Self::all(to - from);
        let (source, shift) = (&self.words[from / 64..], from % 64);
        let used = part.len.div_ceil(64);
        for (index, word) in part.words[..used].iter_mut().enumerate() {
            // In two steps, as a shift by 64 is none.
            let high = source.get(index + 1).map_or(0, |word| word << 1 << (63 - shift));
            *word &= source[index] >> shift | high;
        }
        part
    }

    /// The rows that are set in `held` as a window of their own, which has all rows of this selection.
    pub fn within(&self, held: &Self) -> Self {
        let mut words = [0; WORDS];
        kernels().pext_words(&self.words, &held.words, &mut words);
        Self { words, len: held.count() }
    }

    /// Deselects rows beyond the first `limit` selected ones.
    pub fn truncate(&mut self, limit: usize) {
        let mut left = limit;
        for word in &mut self.words {
            let ones = word.count_ones() as usize;
            if ones > left {
                let mut kept = 0;
                for _ in 0..left {
                    let lowest = *word & word.wrapping_neg();
                    kept |= lowest;
                    *word ^= lowest;
                }
                *word = kept;
                left = 0;
            } else {
                left -= ones;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_bounds_slices() {
        for len in 0..=WINDOW_ROWS {
            let all = Selection::all(len);
            assert_eq!(all.count(), len);
            assert_eq!(all.is_empty(), len == 0);
            assert_eq!(all.bounds(), (len > 0).then(|| (0, len - 1)));
        }
        let mut odd = Selection::all(1000);
        odd.narrow(&[0xaaaa_aaaa_aaaa_aaaa; WORDS]);
        for (from, to) in [
            (0, 1000),
            (0, 77),
            (64, 1000),
            (192, 200),
            (960, 1000),
            (1000, 1000),
            (1, 1000),
            (63, 64),
            (64, 129),
            (333, 999),
            (5, 5),
        ] {
            let part = odd.slice(from, to);
            assert_eq!(part.len(), to - from);
            assert_eq!(part.count(), (from..to).filter(|row| row % 2 == 1).count());
            assert_eq!(
                part.bounds().map(|(first, _)| (first + from) % 2),
                (from + 1 < to || from % 2 == 1 && from < to).then_some(1)
            );
        }
        assert_eq!(odd.spans(128).collect::<Vec<_>>()[..2], [1..128, 129..256]);
        assert_eq!(odd.slice(100, 900).spans(320).collect::<Vec<_>>(), [1..320, 321..640, 641..800]);
        let mut one = Selection::all(WINDOW_ROWS);
        one.narrow(&std::array::from_fn::<_, WORDS, _>(|word| u64::from(word == 5) << 7));
        assert!(one.spans(256).eq(std::iter::once(327..328)));
        for limit in [0, 1, 31, 32, 33, 499, 500, 501] {
            let mut some = odd.clone();
            some.truncate(limit);
            assert_eq!(some.count(), limit.min(500));
            assert_eq!(some.bounds().map(|(first, _)| first), (limit > 0).then_some(1));
        }
    }
}
