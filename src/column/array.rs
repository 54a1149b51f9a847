//! Dense values and validity to Arrow arrays.

use std::sync::Arc;

use arrow::array::{
    ArrayData, ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray, Date64Array, Decimal64Array,
    Decimal128Array, Decimal256Array, FixedSizeBinaryArray, GenericByteArray, Int8Array, Int16Array, PrimitiveArray,
    StringViewArray, UInt8Array, UInt16Array, make_array,
};
use arrow::buffer::{Buffer as ArrowBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, ByteArrayType, DataType, GenericBinaryType, GenericStringType, i256};

use super::Integers;
use super::buffer::{BitBuffer, Buffer, Numbers};
use super::byte_buffer::ByteBuffer;
use super::decimal::{fixed_decimals, var_decimals};
use super::fixed::FixedByteBuffer;
use crate::encoding::byte_array::{view_bytes, view_len};
use crate::error::{Error, Result};
use crate::kernels::{Lane, Value};

/// Buffers that can become Arrow arrays.
pub(crate) trait FinishRows: Buffer {
    /// Takes the values as an array of type `output`.
    ///
    /// # Errors
    /// If the physical type does not become `output`.
    fn finish(&mut self, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef>;

    /// The values as integers, if they are.
    fn integers<'a>(&'a self, validity: Option<&'a [u64]>) -> Option<Integers<'a>> {
        let _ = validity;
        None
    }
}

#[cold]
fn no_array(physical: &str, output: &DataType) -> Error {
    Error::unsupported(format!("{physical} as {output}"))
}

/// An array of a type whose native type has the width of `values`.
fn same_width<T: ArrowNativeType>(values: Vec<T>, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef> {
    let data = ArrayData::builder(output.clone())
        .len(values.len())
        .nulls(nulls)
        .add_buffer(ArrowBuffer::from_vec(values))
        .build()?;
    Ok(make_array(data))
}

/// An array of another width; integer types of fewer bits hold the low bits.
fn converted<P: ArrowPrimitiveType, T: Copy>(
    values: &[T],
    nulls: Option<NullBuffer>,
    convert: impl Fn(T) -> P::Native,
) -> PrimitiveArray<P> {
    PrimitiveArray::new(values.iter().map(|&value| convert(value)).collect(), nulls)
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Integers of `width` bits as an array of `output`, as a column of that physical type is delivered.
///
/// # Errors
/// If the physical type does not become `output`.
pub(crate) fn integer_array(values: &[i64], width: u32, output: &DataType) -> Result<ArrayRef> {
    fn numbers<T: Lane + Value>(values: &[i64]) -> Numbers<T> {
        let mut numbers = Numbers::default();
        numbers.grow(values.len()).iter_mut().zip(values).for_each(|(to, from)| *to = T::wrap(*from));
        numbers
    }
    match width {
        32 => numbers::<i32>(values).finish(None, output),
        _ => numbers::<i64>(values).finish(None, output),
    }
}

impl FinishRows for Numbers<i32> {
    fn finish(&mut self, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef> {
        let values = self.take();
        // The low bits: what INT(8) and INT(16) may lawfully hold fits.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
        Ok(match output {
            DataType::Int8 => Arc::new(converted(&values, nulls, |v| v as i8) as Int8Array),
            DataType::Int16 => Arc::new(converted(&values, nulls, |v| v as i16) as Int16Array),
            DataType::UInt8 => Arc::new(converted(&values, nulls, |v| v as u8) as UInt8Array),
            DataType::UInt16 => Arc::new(converted(&values, nulls, |v| v as u16) as UInt16Array),
            DataType::Decimal64(precision, scale) => Arc::new(
                (converted(&values, nulls, i64::from) as Decimal64Array)
                    .with_precision_and_scale(*precision, *scale)?,
            ),
            DataType::Decimal128(precision, scale) => Arc::new(
                (converted(&values, nulls, i128::from) as Decimal128Array)
                    .with_precision_and_scale(*precision, *scale)?,
            ),
            DataType::Decimal256(precision, scale) => Arc::new(
                (converted(&values, nulls, |v| i256::from_i128(v.into())) as Decimal256Array)
                    .with_precision_and_scale(*precision, *scale)?,
            ),
            DataType::Date64 => Arc::new(converted(&values, nulls, |days| i64::from(days) * DAY) as Date64Array),
            DataType::Timestamp(..) => same_width(values.into_iter().map(i64::from).collect(), nulls, output)?,
            output if output.primitive_width() == Some(4) => same_width(values, nulls, output)?,
            output => return Err(no_array("INT32", output)),
        })
    }

    fn integers<'a>(&'a self, validity: Option<&'a [u64]>) -> Option<Integers<'a>> {
        Some(Integers::I32(self, validity))
    }
}

impl FinishRows for Numbers<i64> {
    fn finish(&mut self, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef> {
        let values = self.take();
        Ok(match output {
            DataType::Decimal128(precision, scale) => Arc::new(
                (converted(&values, nulls, i128::from) as Decimal128Array)
                    .with_precision_and_scale(*precision, *scale)?,
            ),
            DataType::Decimal256(precision, scale) => Arc::new(
                (converted(&values, nulls, |v| i256::from_i128(v.into())) as Decimal256Array)
                    .with_precision_and_scale(*precision, *scale)?,
            ),
            output if output.primitive_width() == Some(8) => same_width(values, nulls, output)?,
            output => return Err(no_array("INT64", output)),
        })
    }

    fn integers<'a>(&'a self, validity: Option<&'a [u64]>) -> Option<Integers<'a>> {
        Some(Integers::I64(self, validity))
    }
}

impl FinishRows for BitBuffer {
    fn finish(&mut self, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef> {
        match output {
            DataType::Boolean => Ok(Arc::new(BooleanArray::new(self.take(), nulls))),
            output => Err(no_array("BOOLEAN", output)),
        }
    }
}

impl FinishRows for ByteBuffer {
    fn finish(&mut self, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef> {
        let limit = self.limit();
        let (views, buffers) = self.take();
        Ok(match output {
            DataType::Utf8View => {
                // SAFETY: `ByteBuffer` makes views alone that are inline, or lie in one of its buffers and carry the
                // prefix; columns of text validate each value as they read it.
                Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), buffers, nulls) })
            }
            DataType::BinaryView => {
                // SAFETY: as above; bytes need no validation.
                Arc::new(unsafe { BinaryViewArray::new_unchecked(ScalarBuffer::from(views), buffers, nulls) })
            }
            DataType::Utf8 => offsets::<GenericStringType<i32>>(&views, &buffers, nulls, limit)?,
            DataType::LargeUtf8 => offsets::<GenericStringType<i64>>(&views, &buffers, nulls, limit)?,
            DataType::Binary => offsets::<GenericBinaryType<i32>>(&views, &buffers, nulls, limit)?,
            DataType::LargeBinary => offsets::<GenericBinaryType<i64>>(&views, &buffers, nulls, limit)?,
            DataType::Decimal128(..) | DataType::Decimal256(..) => {
                let values = views.iter().map(|view| view_bytes(view, view_data(view, &buffers)));
                var_decimals(values, nulls, output)?
            }
            output => return Err(no_array("BYTE_ARRAY", output)),
        })
    }
}

impl FinishRows for FixedByteBuffer {
    fn finish(&mut self, nulls: Option<NullBuffer>, output: &DataType) -> Result<ArrayRef> {
        Ok(match output {
            DataType::FixedSizeBinary(width) => {
                Arc::new(FixedSizeBinaryArray::try_new(*width, ArrowBuffer::from_vec(self.take()), nulls)?)
            }
            DataType::Float16 if self.width() == 2 => {
                let values: Vec<u16> =
                    self.bytes().as_chunks().0.iter().map(|bits| u16::from_le_bytes(*bits)).collect();
                self.clear();
                same_width(values, nulls, output)?
            }
            output if output.is_decimal() => {
                let decimals = fixed_decimals(self.bytes(), self.width(), nulls, output)?;
                self.clear();
                decimals
            }
            output => return Err(no_array("FIXED_LEN_BYTE_ARRAY", output)),
        })
    }
}

/// The buffer that a view points into, if it does.
fn view_data<'a>(view: &u128, buffers: &'a [ArrowBuffer]) -> &'a [u8] {
    buffers.get((view >> 64) as u32 as usize).map_or(&[], |buffer| buffer.as_slice())
}

/// An array with offsets of the values behind `views`, of at most `limit` bytes.
fn offsets<T: ByteArrayType>(
    views: &[u128],
    buffers: &[ArrowBuffer],
    nulls: Option<NullBuffer>,
    limit: usize,
) -> Result<ArrayRef> {
    let total: usize = views.iter().map(|view| view_len(*view)).sum();
    if total > limit {
        return Err(Error::limit(format!("{total} bytes of {} in one batch (max_batch_size)", T::DATA_TYPE)));
    }
    if T::Offset::from_usize(total).is_none() {
        return Err(Error::limit(format!("{total} bytes of {} in one batch: use a view type", T::DATA_TYPE)));
    }
    let mut bytes = Vec::with_capacity(total);
    for view in views {
        bytes.extend_from_slice(view_bytes(view, view_data(view, buffers)));
    }
    let offsets = OffsetBuffer::from_lengths(views.iter().map(|view| view_len(*view)));
    // SAFETY: the offsets are the running lengths of the bytes, and columns of text validate each value as they read it.
    Ok(Arc::new(unsafe { GenericByteArray::<T>::new_unchecked(offsets, ArrowBuffer::from_vec(bytes), nulls) }))
}
