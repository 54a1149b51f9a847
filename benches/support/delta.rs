//! DELTA_BINARY_PACKED pages whose miniblocks have the widths that are asked for.

use std::ops::RangeInclusive;

use bytes::Bytes;
use miniblock::internals::kernels::Lane;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::encodings::decoding::{Decoder, DeltaBitPackDecoder};
use parquet::encodings::encoding::{DeltaBitPackEncoder, Encoder};

use crate::support::{Buffer, random};

/// A type that DELTA_BINARY_PACKED knows.
pub(crate) trait Integer: Lane {
    const NAME: &'static str;
    /// Values in a miniblock of arrow's writers, whose blocks have 4 of them.
    const MINIBLOCK: usize;
    type Physical: DataType<T = Self>;

    /// The parquet crate's decoder.
    fn peer() -> Box<dyn Decoder<Self::Physical>>;
}

impl Integer for i32 {
    const NAME: &'static str = "i32";
    const MINIBLOCK: usize = 32;
    type Physical = Int32Type;

    fn peer() -> Box<dyn Decoder<Int32Type>> {
        Box::new(DeltaBitPackDecoder::<Int32Type>::new())
    }
}

impl Integer for i64 {
    const NAME: &'static str = "i64";
    const MINIBLOCK: usize = 64;
    type Physical = Int64Type;

    fn peer() -> Box<dyn Decoder<Int64Type>> {
        Box::new(DeltaBitPackDecoder::<Int64Type>::new())
    }
}

/// A page, and the values in it.
pub(crate) struct Page<T> {
    pub(crate) bytes: Bytes,
    pub(crate) values: Buffer<T>,
}

impl<T: Integer> Page<T> {
    /// Shaped as arrow's writers do it. Each miniblock has one of `widths`; deltas are negative now and then, and values of
    /// wide ones wrap.
    pub(crate) fn new(seed: &mut u64, count: usize, widths: &RangeInclusive<u32>) -> Self {
        // Of up to two bytes, as a real writer's.
        Self::build(seed, count, widths, |block, _| -(block * 77 % 4000))
    }

    /// As [`Page::new`], but of values that stay near each other, as dates do: deltas are 0 in the middle.
    pub(crate) fn near(seed: &mut u64, count: usize, widths: &RangeInclusive<u32>) -> Self {
        Self::build(seed, count, widths, |_, widths| {
            -widths.iter().map(|&width| (1i64 << width.min(60)) / 2).sum::<i64>() / widths.len() as i64
        })
    }

    fn build(
        seed: &mut u64,
        count: usize,
        widths: &RangeInclusive<u32>,
        min_delta: impl Fn(i64, &[u32]) -> i64,
    ) -> Self {
        let first = 10_000i64;
        let (mut bytes, mut values) = (Vec::new(), vec![T::wrap(first)]);
        uleb(&mut bytes, 4 * T::MINIBLOCK as u64);
        uleb(&mut bytes, 4);
        uleb(&mut bytes, count as u64);
        zigzag(&mut bytes, first);
        // The last block is full, with padding.
        for block in 0..count.saturating_sub(1).div_ceil(4 * T::MINIBLOCK) as i64 {
            let span = u64::from(widths.end() - widths.start() + 1);
            let widths = [(); 4].map(|()| widths.start() + (random(seed) % span) as u32);
            let min_delta = min_delta(block, &widths);
            zigzag(&mut bytes, min_delta);
            bytes.extend(widths.map(|width| width as u8));
            for width in widths {
                let (mut bits, mut used) = (0u128, 0);
                for _ in 0..T::MINIBLOCK {
                    let delta = random(seed).checked_shr(64 - width).unwrap_or(0);
                    bits |= u128::from(delta) << used;
                    used += width;
                    while used >= 8 {
                        bytes.push(bits as u8);
                        bits >>= 8;
                        used -= 8;
                    }
                    let last = values[values.len() - 1];
                    values.push(last.add(T::wrap(min_delta)).add(T::wrap(delta as i64)));
                }
            }
        }
        Self { bytes: bytes.into(), values: Buffer::copy_of(&values[..count]) }
    }
}

impl Page<i32> {
    /// What the parquet crate writes.
    pub(crate) fn written(values: &[i32]) -> Self {
        let mut encoder = DeltaBitPackEncoder::<Int32Type>::new();
        encoder.put(values).unwrap();
        Self { bytes: encoder.flush_buffer().unwrap(), values: Buffer::copy_of(values) }
    }
}

fn uleb(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    uleb(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}
