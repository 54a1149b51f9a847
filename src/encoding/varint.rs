//! ULEB128 and ZigZag, as the DELTA and RLE encodings write them.

use crate::error::{Error, Result};
use crate::kernels::read_varint;

/// Reads a ULEB128 integer at `position`, which moves past it.
///
/// # Errors
/// Corrupt: the bytes end inside of the integer, or it exceeds 64 bits.
#[inline]
pub fn read_uleb(bytes: &[u8], position: &mut usize) -> Result<u64> {
    let rest = bytes.get(*position..).unwrap_or_default();
    match rest.first() {
        Some(&byte) if byte < 0x80 => {
            *position += 1;
            return Ok(u64::from(byte));
        }
        _ => {}
    }
    if let Some(word) = rest.first_chunk()
        && let Some((value, len)) = read_varint(u64::from_le_bytes(*word))
    {
        *position += len;
        return Ok(value);
    }
    read_long_uleb(bytes, position)
}

/// Near the end of the bytes, or of an integer of more than 56 bits.
#[cold]
fn read_long_uleb(bytes: &[u8], position: &mut usize) -> Result<u64> {
    let rest = bytes.get(*position..).unwrap_or_default();
    let mut value = 0;
    for (index, &byte) in rest.iter().take(10).enumerate() {
        // The tenth byte holds the 64th bit alone.
        if index == 9 && byte > 1 {
            return Err(Error::corrupt("varint exceeds 64 bits"));
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *position += index + 1;
            return Ok(value);
        }
    }
    Err(Error::corrupt("data ends inside of a varint"))
}

/// The signed integer of a ZigZag code.
#[inline]
pub fn zigzag(code: u64) -> i64 {
    (code >> 1).cast_signed() ^ -(code & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_length() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = vec![0xff];
                let mut rest = value;
                while rest >= 0x80 {
                    bytes.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                bytes.push(rest as u8);
                let mut position = 1;
                assert_eq!(read_uleb(&bytes, &mut position).unwrap(), value);
                assert_eq!(position, bytes.len());
                for end in 1..bytes.len() {
                    let mut position = 1;
                    assert!(read_uleb(&bytes[..end], &mut position).is_err());
                    assert_eq!(position, 1);
                }
            }
        }
    }

    #[test]
    fn refuses_more_than_64_bits() {
        for last in [2, 0x7f, 0x80, 0x81, 0xff] {
            let mut bytes = [0x80; 12];
            bytes[9] = last;
            assert!(read_uleb(&bytes, &mut 0).is_err());
        }
        assert!(read_uleb(&[0xff; 11], &mut 0).is_err());
        assert!(read_uleb(&[], &mut 0).is_err());
        assert!(read_uleb(&[1], &mut 7).is_err());
        let mut overlong = [0x80; 10];
        overlong[9] = 0;
        assert_eq!(read_uleb(&overlong, &mut 0).unwrap(), 0);
    }

    #[test]
    fn zigzag_alternates() {
        assert_eq!([0, 1, 2, 3, 4].map(zigzag), [0, -1, 1, -2, 2]);
        assert_eq!(zigzag(u64::MAX), i64::MIN);
        assert_eq!(zigzag(u64::MAX - 1), i64::MAX);
    }
}
