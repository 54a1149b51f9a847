//! What encoders allocate: nothing, once they have written a page.

use arrow::array::{StringArray, StringViewArray};
use miniblock::internals::encoding::encoder::delta_binary_packed::DeltaBinaryPackedEncoder;
use miniblock::internals::encoding::encoder::delta_byte_array::DeltaByteArrayEncoder;
use miniblock::internals::encoding::encoder::delta_length_byte_array::DeltaLengthByteArrayEncoder;
use miniblock::internals::encoding::encoder::{slices, views};
use miniblock::internals::kernels::{Isa, kernels_for};

use crate::allocator::allocations;

const PAGE: usize = 30_000;
const PAGES: usize = 4;

/// Values that are the same in each page, or buffers would grow with them.
fn pseudo_random(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Counts what pages after the first one allocate; the buffer is used again, too.
fn check(name: &str, mut encode: impl FnMut(&mut Vec<u8>)) {
    let mut page = Vec::new();
    for index in 0..PAGES {
        page.clear();
        let count = allocations(|| encode(&mut page));
        assert!(index == 0 || count == 0, "{name}: {count} allocations in page {index}");
        assert!(!page.is_empty());
    }
}

#[test]
fn pages_after_the_first_allocate_nothing() {
    let ints: Vec<i32> = (0..PAGE).map(|i| (pseudo_random(i) >> 50) as i32).collect();
    let longs: Vec<i64> = (0..PAGE).map(|i| pseudo_random(i) as i64 >> (i / 500 % 64)).collect();
    let texts = |i: usize| format!("{:05}-{}", i / 7, "x".repeat((pseudo_random(i) % 30) as usize));
    let view_array = StringViewArray::from_iter_values((0..PAGE).map(texts));
    let array = StringArray::from_iter_values((0..PAGE).map(texts));
    for kernels in Isa::ALL.into_iter().filter_map(kernels_for) {
        let mut encoder = DeltaBinaryPackedEncoder::<i32>::new(kernels);
        check("INT32", |page| {
            encoder.put(&ints);
            encoder.finish(page);
        });
        let mut encoder = DeltaBinaryPackedEncoder::<i64>::new(kernels);
        check("INT64 by pieces", |page| {
            longs.chunks(777).for_each(|longs| encoder.put(longs));
            encoder.finish(page);
        });
        let mut encoder = DeltaLengthByteArrayEncoder::new(kernels);
        check("DELTA_LENGTH_BYTE_ARRAY of views", |page| {
            encoder.put(views(view_array.views(), view_array.data_buffers())).unwrap();
            encoder.finish(page);
        });
        let mut encoder = DeltaLengthByteArrayEncoder::new(kernels);
        check("DELTA_LENGTH_BYTE_ARRAY of offsets", |page| {
            encoder.put_offsets(array.value_offsets(), array.value_data()).unwrap();
            encoder.finish(page);
        });
        let mut encoder = DeltaByteArrayEncoder::new(kernels);
        check("DELTA_BYTE_ARRAY of views", |page| {
            views(view_array.views(), view_array.data_buffers()).for_each(|value| encoder.put([value]).unwrap());
            encoder.finish(page);
        });
        let mut encoder = DeltaByteArrayEncoder::new(kernels);
        check("DELTA_BYTE_ARRAY of offsets", |page| {
            encoder.put(slices(array.value_offsets(), array.value_data())).unwrap();
            encoder.finish(page);
        });
    }
}
