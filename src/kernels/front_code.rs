//! Byte arrays, written one after the other: whole, or without what each has in common with the one before.

use super::Kernels;

/// Bytes after the last value that kernels may write: they store whole vectors.
const SLACK: usize = 64;

/// Bytes that [`Kernels::append`] and [`Kernels::front_code`] want for values of so many bytes together.
pub const fn appended_room(total: usize) -> usize {
    total + SLACK
}

impl Kernels {
    /// Writes `values` to the front of `out`, and returns the number of bytes. Those after them may be overwritten.
    ///
    /// # Panics
    /// `out` is shorter than their [`appended_room`].
    pub fn append(&self, values: &[&[u8]], out: &mut [u8]) -> usize {
        assert!(total(values).is_some_and(|total| appended_room(total) <= out.len()), "room for all values");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.append)(values, out) }
    }

    /// Writes of each of `values` what follows the longest prefix that it has in common with the one before, of the first one
    /// with `previous`: the lengths of these to `prefixes`, of the rest to `suffixes`, and its bytes to the front of `out`, of
    /// which it returns the number. Those after them may be overwritten.
    ///
    /// # Panics
    /// `prefixes` or `suffixes` are not of as many, a value is longer than 31 bits, or `out` is shorter than the
    /// [`appended_room`] of all values.
    pub fn front_code(
        &self,
        previous: &[u8],
        values: &[&[u8]],
        (prefixes, suffixes): (&mut [i32], &mut [i32]),
        out: &mut [u8],
    ) -> usize {
        assert!(values.len() == prefixes.len() && values.len() == suffixes.len(), "two lengths of each value");
        assert!(values.iter().all(|value| value.len() <= i32::MAX as usize), "lengths have 31 bits");
        assert!(total(values).is_some_and(|total| appended_room(total) <= out.len()), "room for all values");
        // SAFETY: there is a reference to this table, so the processor has its features; the rest was checked.
        unsafe { (self.front_code)(previous, values, (prefixes, suffixes), out) }
    }
}

/// Bytes of all values; the same one may be there so often that they are no number.
fn total(values: &[&[u8]]) -> Option<usize> {
    values.iter().try_fold(0_usize, |total, value| total.checked_add(value.len()))
}

#[inline(always)]
pub(super) fn append(values: &[&[u8]], out: &mut [u8]) -> usize {
    let mut at = 0;
    for value in values {
        copy(value, &mut out[at..]);
        at += value.len();
    }
    at
}

#[inline(always)]
pub(super) fn front_code(
    previous: &[u8],
    values: &[&[u8]],
    (prefixes, suffixes): (&mut [i32], &mut [i32]),
    out: &mut [u8],
) -> usize {
    let (mut at, mut previous) = (0, previous);
    for ((&value, prefix), suffix) in values.iter().zip(prefixes).zip(suffixes) {
        let common = common_prefix(previous, value);
        let rest = &value[common..];
        (*prefix, *suffix) = (common as i32, rest.len() as i32);
        copy(rest, &mut out[at..]);
        at += rest.len();
        previous = value;
    }
    at
}

/// Copies a value to the front of `out`. A call of `memcpy` takes longer than most values do.
#[inline(always)]
fn copy(value: &[u8], out: &mut [u8]) {
    if value.len() < 8 {
        // There is room for more.
        if let Some(slot) = out.first_chunk_mut() {
            *slot = load_short(value).to_le_bytes();
        }
        return;
    }
    let out = &mut out[..value.len()];
    if value.len() > 64 {
        out.copy_from_slice(value);
        return;
    }
    let _ = copy_ends::<32>(value, out) || copy_ends::<16>(value, out) || copy_ends::<8>(value, out);
}

/// Copies the first `N` and the last `N` bytes, which are all of at most twice as many, unless there are fewer.
#[inline(always)]
fn copy_ends<const N: usize>(value: &[u8], out: &mut [u8]) -> bool {
    let (Some(first), Some(last)) = (value.first_chunk::<N>(), value.last_chunk::<N>()) else { return false };
    let Some(slot) = out.first_chunk_mut() else { return false };
    *slot = *first;
    let Some(slot) = out.last_chunk_mut() else { return false };
    *slot = *last;
    true
}

/// How many bytes both begin with.
#[inline(always)]
fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let len = left.len().min(right.len());
    let (left, right) = (&left[..len], &right[..len]);
    let mut at = 0;
    for (left, right) in left.as_chunks::<32>().0.iter().zip(right.as_chunks::<32>().0) {
        if left != right {
            break;
        }
        at += 32;
    }
    for (left, right) in left[at..].as_chunks::<8>().0.iter().zip(right[at..].as_chunks::<8>().0) {
        if let Some(common) = difference(u64::from_le_bytes(*left), u64::from_le_bytes(*right)) {
            return at + common;
        }
        at += 8;
    }
    // Of fewer than eight bytes, with those before them if there are any, which are the same.
    let (left, right) = match (left.last_chunk(), right.last_chunk()) {
        (Some(left), Some(right)) => {
            at = len - 8;
            (u64::from_le_bytes(*left), u64::from_le_bytes(*right))
        }
        _ => (load_short(left), load_short(right)),
    };
    difference(left, right).map_or(len, |common| at + common)
}

/// The first byte that is different.
#[inline(always)]
fn difference(left: u64, right: u64) -> Option<usize> {
    let bits = left ^ right;
    (bits != 0).then(|| bits.trailing_zeros() as usize / 8)
}

/// Fewer than eight bytes, and zeros.
#[inline(always)]
fn load_short(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (bytes.len() - 4));
    }
    // The first of one to three, the middle one, and the last; some are the same.
    let &[first, .., last] = bytes else { return bytes.first().copied().map_or(0, u64::from) };
    let middle = bytes.len() / 2;
    u64::from(first) | u64::from(bytes[middle]) << (8 * middle) | u64::from(last) << (8 * (bytes.len() - 1))
}
