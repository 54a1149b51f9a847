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

/// The ZigZag code of a signed integer.
#[inline]
pub fn to_zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// Bytes of the longest ULEB128 integer.
pub const MAX_ULEB: usize = 10;

/// Writes an integer as ULEB128 to the front of `out`, and returns its length. The bytes after it may be overwritten.
#[inline(always)]
pub fn write_uleb(value: u64, out: &mut [u8; MAX_ULEB]) -> usize {
    if value >> 56 != 0 {
        return write_bytewise(value, out);
    }
    // Seven bits go to each byte, in three steps, and all bytes but the last one go on.
    let fours = (value & 0x0fff_ffff) | (value & 0x00ff_ffff_f000_0000) << 4;
    let pairs = (fours & 0x0000_3fff_0000_3fff) | (fours & 0x0fff_c000_0fff_c000) << 2;
    let sevens = (pairs & 0x007f_007f_007f_007f) | (pairs & 0x3f80_3f80_3f80_3f80) << 1;
    let len = (70 - (value | 1).leading_zeros() as usize) / 7;
    let word = sevens | 0x8080_8080_8080_8080 & ((1 << (8 * (len - 1))) - 1);
    out[..8].copy_from_slice(&word.to_le_bytes());
    len
}

/// Of more than 56 bits.
#[cold]
#[inline(never)]
fn write_bytewise(mut value: u64, out: &mut [u8; MAX_ULEB]) -> usize {
    let mut len = 0;
    while value >= 0x80 {
        out[len] = value as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    out[len] = value as u8;
    len + 1
}
