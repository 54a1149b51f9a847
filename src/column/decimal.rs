//! Decimals from big-endian two's complement, as BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY hold them.

use std::sync::Arc;

use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, i256};

use crate::error::{Error, Result};

/// The bytes as a number of `N` bytes; None if they need more. No bytes are zero.
fn sign_extended<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let sign = |byte: u8| if byte < 0x80 { 0 } else { u8::MAX };
    let fill = bytes.first().map_or(0, |&first| sign(first));
    let (more, rest) = bytes.split_at(bytes.len().saturating_sub(N));
    let fits = more.iter().all(|&byte| byte == fill) && rest.first().is_none_or(|&first| sign(first) == fill);
    let mut number = [fill; N];
    number[N - rest.len()..].copy_from_slice(rest);
    fits.then_some(number)
}

/// An array of the type `output`, whose precision and scale are `precision` and `scale`; None is a value that does not fit.
fn array<P: DecimalType>(
    values: impl Iterator<Item = Option<P::Native>>,
    nulls: Option<NullBuffer>,
    output: &DataType,
    (precision, scale): (u8, i8),
) -> Result<ArrayRef> {
    let mut fit = true;
    let values = values.map(|value| {
        fit &= value.is_some();
        value.unwrap_or_default()
    });
    let array = PrimitiveArray::<P>::try_new(values.collect(), nulls)?;
    if !fit {
        return Err(Error::corrupt(format!("a decimal has more bytes than {output} holds")));
    }
    Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
}

/// Decimals from values of any length.
///
/// # Errors
/// Corrupt: a value does not fit. Unsupported: `output` is no decimal.
pub(super) fn var_decimals<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    nulls: Option<NullBuffer>,
    output: &DataType,
) -> Result<ArrayRef> {
    match *output {
        DataType::Decimal32(precision, scale) => {
            let values = values.map(|value| sign_extended(value).map(i32::from_be_bytes));
            array::<Decimal32Type>(values, nulls, output, (precision, scale))
        }
        DataType::Decimal64(precision, scale) => {
            let values = values.map(|value| sign_extended(value).map(i64::from_be_bytes));
            array::<Decimal64Type>(values, nulls, output, (precision, scale))
        }
        DataType::Decimal128(precision, scale) => {
            let values = values.map(|value| sign_extended(value).map(i128::from_be_bytes));
            array::<Decimal128Type>(values, nulls, output, (precision, scale))
        }
        DataType::Decimal256(precision, scale) => {
            let values = values.map(|value| sign_extended(value).map(i256::from_be_bytes));
            array::<Decimal256Type>(values, nulls, output, (precision, scale))
        }
        _ => Err(Error::unsupported(format!("bytes as {output}"))),
    }
}

/// Bytes of the widest numbers that [`fixed_decimals`] loads.
const WORD: usize = size_of::<i128>();

/// Decimals from values of `width` bytes, which is not zero.
///
/// # Errors
/// As [`var_decimals`].
pub(super) fn fixed_decimals(
    bytes: &[u8],
    width: usize,
    nulls: Option<NullBuffer>,
    output: &DataType,
) -> Result<ArrayRef> {
    let values = bytes.chunks_exact(width);
    if width > WORD {
        return var_decimals(values, nulls, output);
    }
    let values = (1..=values.len()).map(|row| number_until(bytes, row * width, width));
    match *output {
        DataType::Decimal32(precision, scale) => {
            array::<Decimal32Type>(values.map(|value| value.try_into().ok()), nulls, output, (precision, scale))
        }
        DataType::Decimal64(precision, scale) => {
            array::<Decimal64Type>(values.map(|value| value.try_into().ok()), nulls, output, (precision, scale))
        }
        DataType::Decimal128(precision, scale) => {
            array::<Decimal128Type>(values.map(Some), nulls, output, (precision, scale))
        }
        DataType::Decimal256(precision, scale) => {
            let values = values.map(|value| Some(i256::from_i128(value)));
            array::<Decimal256Type>(values, nulls, output, (precision, scale))
        }
        _ => Err(Error::unsupported(format!("bytes as {output}"))),
    }
}

/// The value whose `width` bytes, at most [`WORD`], end at `end`: what stands before them is loaded too, and shifted out.
#[inline(always)]
fn number_until(bytes: &[u8], end: usize, width: usize) -> i128 {
    let word = bytes[..end].last_chunk::<WORD>().copied().unwrap_or_else(|| {
        let mut word = [0; WORD];
        word[WORD - end..].copy_from_slice(&bytes[..end]);
        word
    });
    let shift = 8 * (WORD - width);
    i128::from_be_bytes(word) << shift >> shift
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;

    use super::*;

    const NUMBERS: [i128; 17] = [
        0,
        1,
        -1,
        127,
        128,
        -128,
        -129,
        255,
        32_767,
        -32_769,
        i32::MAX as i128,
        i32::MIN as i128 - 1,
        i64::MAX as i128 + 1,
        i64::MIN as i128,
        1 << 100,
        i128::MAX,
        i128::MIN,
    ];

    /// The low `width` bytes, and whether they are the number.
    fn be_bytes(number: i128, width: usize) -> Option<Vec<u8>> {
        let mut bytes = i256::from_i128(number).to_be_bytes().to_vec();
        bytes.splice(..0, [if number < 0 { u8::MAX } else { 0 }; 8]);
        let bytes = bytes[bytes.len() - width..].to_vec();
        let sign = if bytes[0] & 0x80 == 0 { 0 } else { u8::MAX };
        let mut whole = [sign; 40];
        whole[40 - width..].copy_from_slice(&bytes);
        let value = i256::from_be_bytes(*whole.last_chunk().unwrap());
        (value == i256::from_i128(number)).then_some(bytes)
    }

    fn outputs() -> [DataType; 4] {
        [
            DataType::Decimal32(9, 2),
            DataType::Decimal64(18, 2),
            DataType::Decimal128(38, 2),
            DataType::Decimal256(76, 2),
        ]
    }

    fn fits(number: i128, output: &DataType) -> bool {
        match output {
            DataType::Decimal32(..) => i32::try_from(number).is_ok(),
            DataType::Decimal64(..) => i64::try_from(number).is_ok(),
            _ => true,
        }
    }

    fn read(array: &ArrayRef) -> Vec<i256> {
        match array.data_type() {
            DataType::Decimal32(9, 2) => {
                array.as_primitive::<Decimal32Type>().values().iter().map(|&v| i256::from_i128(v.into())).collect()
            }
            DataType::Decimal64(18, 2) => {
                array.as_primitive::<Decimal64Type>().values().iter().map(|&v| i256::from_i128(v.into())).collect()
            }
            DataType::Decimal128(38, 2) => {
                array.as_primitive::<Decimal128Type>().values().iter().map(|&v| i256::from_i128(v)).collect()
            }
            DataType::Decimal256(76, 2) => array.as_primitive::<Decimal256Type>().values().to_vec(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn numbers_of_every_width() {
        for output in outputs() {
            for width in 1..=40 {
                let stored: Vec<(i128, Vec<u8>)> =
                    NUMBERS.iter().filter_map(|&number| Some((number, be_bytes(number, width)?))).collect();
                let (good, bad): (Vec<_>, Vec<_>) = stored.iter().partition(|(number, _)| fits(*number, &output));
                let expected: Vec<i256> = good.iter().map(|(number, _)| i256::from_i128(*number)).collect();
                let bytes: Vec<u8> = good.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
                let array = fixed_decimals(&bytes, width, None, &output).unwrap();
                assert_eq!((array.data_type(), read(&array)), (&output, expected.clone()), "{width}");
                let array = var_decimals(good.iter().map(|(_, bytes)| bytes.as_slice()), None, &output).unwrap();
                assert_eq!((array.data_type(), read(&array)), (&output, expected), "{width}");
                for (number, bytes) in bad {
                    let refused = fixed_decimals(bytes, width, None, &output);
                    assert!(matches!(refused, Err(Error::Corrupt(_))), "{number} as {output}");
                    let refused = var_decimals([bytes.as_slice()].into_iter(), None, &output);
                    assert!(matches!(refused, Err(Error::Corrupt(_))), "{number} as {output}");
                }
            }
        }
    }

    #[test]
    fn no_bytes_are_zero() {
        for output in outputs() {
            let array = var_decimals([&[][..], &[0xff], &[]].into_iter(), None, &output).unwrap();
            assert_eq!(read(&array), [0, -1, 0].map(i256::from_i128));
            assert_eq!(fixed_decimals(&[], 5, None, &output).unwrap().len(), 0);
        }
        assert!(matches!(fixed_decimals(&[1], 1, None, &DataType::Int32), Err(Error::Unsupported(_))));
    }
}
