//! ULEB128 and ZigZag, as the DELTA and RLE encodings write them.

use crate::error::{Error, Result};
use crate::kernels;

pub use crate::kernels::{MAX_ULEB, to_zigzag, write_uleb, zigzag};

/// Reads a ULEB128 integer at `position`, which moves past it.
///
/// # Errors
/// Corrupt: the bytes end inside of the integer, or it exceeds 64 bits.
#[inline]
pub fn read_uleb(bytes: &[u8], position: &mut usize) -> Result<u64> {
    let rest = bytes.get(*position..).unwrap_or_default();
    let Some((value, len)) = kernels::read_uleb(rest) else { return Err(malformed(rest)) };
    *position += len;
    Ok(value)
}

#[cold]
fn malformed(rest: &[u8]) -> Error {
    // Ten bytes are enough for any.
    Error::corrupt(if rest.len() < 10 { "data ends inside of a varint" } else { "varint exceeds 64 bits" })
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
    fn writes_every_length() {
        for shift in 0..64 {
            let power = 1u64 << shift;
            for value in [power - 1, power, power + 1, power | 0x55, u64::MAX >> shift, 0xaaaa_aaaa_aaaa_aaaa >> shift]
            {
                let mut expected = Vec::new();
                let mut rest = value;
                while rest >= 0x80 {
                    expected.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                expected.push(rest as u8);
                let mut bytes = [0xee; MAX_ULEB];
                let len = write_uleb(value, &mut bytes);
                assert_eq!(bytes[..len], expected);
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
        assert_eq!([0, -1, 1, -2, 2].map(to_zigzag), [0, 1, 2, 3, 4]);
        for value in [i64::MIN, i64::MAX, i64::MIN + 1, i32::MIN.into(), i32::MAX.into()] {
            assert_eq!(zigzag(to_zigzag(value)), value);
        }
        assert_eq!(zigzag(u64::MAX), i64::MIN);
        assert_eq!(zigzag(u64::MAX - 1), i64::MAX);
    }
}
