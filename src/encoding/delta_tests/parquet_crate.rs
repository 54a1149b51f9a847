//! What the parquet crate's encoders write, against what its decoders make of it.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::encodings::decoding::get_decoder;
use parquet::encodings::encoding::get_encoder;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};

use crate::encoding::byte_array::{ViewBuffer, view_bytes};
use crate::encoding::delta_binary_packed::DeltaBinaryPacked;
use crate::encoding::delta_byte_array::DeltaByteArray;
use crate::encoding::delta_length_byte_array::DeltaLengthByteArray;
use crate::kernels::Lane;

use super::Random;

fn column<D: DataType>() -> ColumnDescPtr {
    let column = Type::primitive_type_builder("column", D::get_physical_type()).build().unwrap();
    Arc::new(ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from("column")))
}

/// The page of `values`, and what is read back from it.
fn round_trip<D: DataType>(values: &[D::T], encoding: Encoding) -> (Vec<u8>, Vec<D::T>) {
    let mut encoder = get_encoder::<D>(encoding, &column::<D>()).unwrap();
    encoder.put(values).unwrap();
    let page = encoder.flush_buffer().unwrap();
    let mut decoder = get_decoder::<D>(column::<D>(), encoding).unwrap();
    decoder.set_data(page.clone(), values.len()).unwrap();
    let mut out = vec![D::T::default(); values.len()];
    assert_eq!(decoder.get(&mut out).unwrap(), values.len());
    (page.to_vec(), out)
}

const COUNTS: [usize; 10] = [1, 2, 32, 33, 128, 129, 130, 257, 1000, 4097];

fn check_lane<D: DataType<T: Lane>>() {
    let mut random = Random(41);
    let mut decoder = DeltaBinaryPacked::<D::T>::default();
    for shift in 0..64 {
        for count in COUNTS {
            let values: Vec<D::T> = (0..count).map(|_| D::T::wrap(random.next() as i64 >> shift)).collect();
            let (page, expected) = round_trip::<D>(&values, Encoding::DELTA_BINARY_PACKED);
            decoder.reset(&page).unwrap();
            assert_eq!(decoder.end(&page).unwrap(), page.len());
            let mut out = vec![D::T::default(); count];
            decoder.read(&page, &mut out).unwrap();
            assert_eq!(out, expected);
            assert_eq!(out, values);
        }
    }
}

#[test]
fn binary_packed() {
    check_lane::<Int32Type>();
    check_lane::<Int64Type>();
}

#[test]
fn byte_arrays() {
    let mut random = Random(42);
    let mut length = DeltaLengthByteArray::default();
    let mut delta = DeltaByteArray::default();
    let mut out = ViewBuffer::default();
    for longest in [1, 5, 13, 40, 500] {
        for count in COUNTS {
            let mut values: Vec<ByteArray> = (0..count)
                .map(|_| {
                    let mut value = vec![b'a'; random.below(longest)];
                    value.extend(random.bytes(2));
                    value.into()
                })
                .collect();
            if count % 2 == 0 {
                values.sort_by(|a, b| a.data().cmp(b.data()));
            }

            let (page, expected) = round_trip::<ByteArrayType>(&values, Encoding::DELTA_LENGTH_BYTE_ARRAY);
            out.clear();
            length.reset(&page).unwrap();
            length.read(&page, count, &mut out).unwrap();
            let ours = out.views.iter().map(|view| view_bytes(view, &out.data));
            assert!(ours.eq(expected.iter().map(ByteArray::data)));

            let (page, expected) = round_trip::<ByteArrayType>(&values, Encoding::DELTA_BYTE_ARRAY);
            out.clear();
            delta.reset(&page, false).unwrap();
            delta.read(&page, count, &mut out).unwrap();
            let ours = out.views.iter().map(|view| view_bytes(view, &out.data));
            assert!(ours.eq(expected.iter().map(ByteArray::data)));
        }
    }
}
