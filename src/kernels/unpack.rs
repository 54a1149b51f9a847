//! Bit-packed little-endian integers.

/// Unpacks 8 values, `W` bytes, of a constant width.
///
/// The loads stay inside of `packed`: those of the last values start earlier than they must, and shift further.
#[inline(always)]
pub(super) fn unpack8<const W: usize>(packed: &[u8]) -> [u64; 8] {
    let packed = &packed[..W];
    let mask = if W >= 64 { u64::MAX } else { (1 << W) - 1 };
    let mut out = [0; 8];
    if W < 8 {
        // All values in one word.
        let mut bytes = [0; 8];
        bytes[..W].copy_from_slice(packed);
        let word = u64::from_le_bytes(bytes);
        for (index, out) in out.iter_mut().enumerate() {
            *out = (word >> (index * W)) & mask;
        }
        return out;
    }
    for (index, out) in out.iter_mut().enumerate() {
        let bit = index * W;
        let start = (bit / 8).min(W - 8);
        let shift = bit - 8 * start;
        let low = load(packed, start) >> shift;
        // A value of 58 bits and more may straddle two words.
        let high = if shift + W > 64 { u64::from(packed[start + 8]) << (64 - shift) } else { 0 };
        *out = (low | high) & mask;
    }
    out
}

#[inline(always)]
pub(super) fn load(bytes: &[u8], start: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[start..start + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
pub(super) fn unpack<const W: usize>(packed: &[u8], out: &mut [u32]) {
    if W == 0 {
        out.fill(0);
        return;
    }
    let packed = &packed[..out.len() / 8 * W];
    for (packed, out) in packed.chunks_exact(W).zip(out.as_chunks_mut::<8>().0) {
        // No value of 32 bits and fewer is cut off.
        *out = unpack8::<W>(packed).map(|value| value as u32);
    }
}
