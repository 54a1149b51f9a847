//! ULEB128 and ZigZag.

/// The ULEB128 integer that `bytes` begin with, and its length. None where they end inside of it, or it exceeds 64 bits.
#[inline(always)]
pub fn read_uleb(bytes: &[u8]) -> Option<(u64, usize)> {
    let Some(word) = bytes.first_chunk() else { return read_bytewise(bytes) };
    let word = u64::from_le_bytes(*word);
    // A branch for each of the lengths that are common: what follows is then foreseen rather than computed.
    if word & 0x80 == 0 {
        return Some((word & 0x7f, 1));
    }
    if word & 0x8000 == 0 {
        return Some((word & 0x7f | word >> 1 & 0x3f80, 2));
    }
    if word & 0x80_0000 == 0 {
        return Some((word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000, 3));
    }
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return read_bytewise(bytes);
    }
    // Seven bits of each byte up to the first one that ends an integer, moved together in three steps.
    let sevens = word & (ends ^ (ends - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
    let pairs = (sevens & 0x007f_007f_007f_007f) | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    let value = (fours & 0x0fff_ffff) | (fours & 0x0fff_ffff_0000_0000) >> 4;
    Some((value, (ends.trailing_zeros() / 8 + 1) as usize))
}

/// Near the end of the bytes, or of more than 56 bits.
#[inline(never)]
fn read_bytewise(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        // The tenth byte holds the 64th bit alone.
        if index == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// The signed integer of a ZigZag code.
#[inline]
pub fn zigzag(code: u64) -> i64 {
    (code >> 1).cast_signed() ^ -(code & 1).cast_signed()
}
