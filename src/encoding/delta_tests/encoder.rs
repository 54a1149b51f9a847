//! What the encoders write: the bytes of the parquet crate's encoders, and the values that went in, on every instruction set and
//! by any calls.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::encodings::decoding::{Decoder, get_decoder};
use parquet::encodings::encoding::{Encoder, get_encoder};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};

use crate::encoding::delta_binary_packed::DeltaBinaryPacked;
use crate::encoding::encoder::delta_binary_packed::DeltaBinaryPackedEncoder;
use crate::kernels::{Isa, Kernels, Lane, kernels_for};

use super::Random;
use super::reference;

pub(super) fn tables() -> impl Iterator<Item = &'static Kernels> {
    Isa::ALL.into_iter().filter_map(kernels_for)
}

/// The parquet crate's encoder and decoder, which are used again.
pub(super) struct Peer<D: DataType> {
    encoder: Box<dyn Encoder<D>>,
    decoder: Box<dyn Decoder<D>>,
}

impl<D: DataType> Peer<D> {
    pub(super) fn new(encoding: Encoding) -> Self {
        let column = Type::primitive_type_builder("column", D::get_physical_type()).build().unwrap();
        let column: ColumnDescPtr = Arc::new(ColumnDescriptor::new(Arc::new(column), 0, 0, ColumnPath::from("column")));
        Self {
            encoder: get_encoder::<D>(encoding, &column).unwrap(),
            decoder: get_decoder::<D>(column, encoding).unwrap(),
        }
    }

    pub(super) fn encode(&mut self, values: &[D::T]) -> Vec<u8> {
        self.encoder.put(values).unwrap();
        self.encoder.flush_buffer().unwrap().to_vec()
    }

    pub(super) fn decode(&mut self, page: &[u8], count: usize) -> Vec<D::T> {
        self.decoder.set_data(page.to_vec().into(), count).unwrap();
        let mut out = vec![D::T::default(); count];
        assert_eq!(self.decoder.get(&mut out).unwrap(), count);
        out
    }
}

/// Encoders of one lane, by every instruction set, beside the parquet crate's.
struct Encoders<D: DataType<T: Lane>> {
    ours: Vec<(&'static Kernels, DeltaBinaryPackedEncoder<D::T>)>,
    decoder: DeltaBinaryPacked<D::T>,
    peer: Peer<D>,
}

impl<D: DataType<T: Lane>> Encoders<D> {
    fn new() -> Self {
        Self {
            ours: tables().map(|kernels| (kernels, DeltaBinaryPackedEncoder::new(kernels))).collect(),
            decoder: DeltaBinaryPacked::default(),
            peer: Peer::new(Encoding::DELTA_BINARY_PACKED),
        }
    }

    /// Encodes in pieces of up to `largest` values.
    fn check(&mut self, random: &mut Random, values: &[D::T], largest: usize, context: &str) {
        let expected = self.peer.encode(values);
        let before = random.bytes(3);
        for (kernels, encoder) in &mut self.ours {
            let mut page = before.clone();
            let mut rest = values;
            while !rest.is_empty() {
                let piece;
                (piece, rest) = rest.split_at(random.below(largest + 1).min(rest.len()));
                encoder.put(piece);
                assert_eq!(encoder.count(), values.len() - rest.len());
            }
            let estimate = encoder.estimated_len();
            encoder.finish(&mut page);
            assert_eq!(encoder.count(), 0);
            let page = &page[before.len()..];
            assert!(page.len() <= estimate && estimate <= page.len() + 2200, "{context}: {estimate} of {}", page.len());
            // The first difference says more than all bytes.
            let difference = page.iter().zip(&expected).position(|(ours, theirs)| ours != theirs);
            assert!(page == expected, "{context}, {kernels:?}: {} bytes, differ at {difference:?}", page.len());
        }
        self.decoder.reset(&expected).unwrap();
        let mut out = vec![D::T::default(); values.len()];
        self.decoder.read(&expected, &mut out).unwrap();
        assert_eq!(self.decoder.end(&expected).unwrap(), expected.len());
        assert!(out == values, "{context}: our decoder");
        assert!(self.peer.decode(&expected, values.len()) == values, "{context}: the parquet crate's decoder");
        let (read, end) = reference::decode(&expected);
        assert!(end == expected.len() && read.iter().map(|&value| D::T::wrap(value)).eq(values.iter().copied()));
    }
}

/// Values whose deltas need up to `width` bits above a minimum.
fn of_width<T: Lane>(random: &mut Random, count: usize, width: u32, min_delta: i64) -> Vec<T> {
    let mut last = T::wrap(random.next() as i64);
    let mut next = || {
        let delta = random.next().checked_shr(64 - width).unwrap_or(0);
        last = last.add(T::wrap(min_delta)).add(T::wrap(delta as i64));
        last
    };
    (0..count).map(|_| next()).collect()
}

fn every_width<D: DataType<T: Lane>>() {
    let mut random = Random(61);
    let mut encoders = Encoders::<D>::new();
    for width in 0..=64 {
        for min_delta in [0, -1, 77, -5000, i64::from(i32::MIN), i64::MIN, i64::MAX] {
            let values = of_width(&mut random, 3 * D::T::BLOCK + 1, width, min_delta);
            encoders.check(&mut random, &values, values.len(), &format!("width {width}, minimum {min_delta}"));
        }
    }
}

#[test]
fn every_width_of_both_lanes() {
    every_width::<Int32Type>();
    every_width::<Int64Type>();
}

fn every_count<D: DataType<T: Lane>>() {
    let mut random = Random(62);
    let mut encoders = Encoders::<D>::new();
    let miniblock = D::T::BLOCK / 4;
    let near = |of: usize| of.saturating_sub(2)..=of + 2;
    let counts = (0..=9).flat_map(|index| near(index * miniblock)).chain(near(16 * D::T::BLOCK));
    for count in counts.chain(near(17 * D::T::BLOCK)).chain([5000]) {
        for largest in [1, 7, miniblock, D::T::BLOCK + 1, 5000] {
            let width = random.below(D::T::BITS as usize + 1) as u32;
            let values = of_width(&mut random, count, width, -9);
            encoders.check(&mut random, &values, largest, &format!("{count} values in pieces of up to {largest}"));
        }
    }
}

#[test]
fn every_count_of_both_lanes() {
    every_count::<Int32Type>();
    every_count::<Int64Type>();
}

fn widths_that_change<D: DataType<T: Lane>>() {
    let mut random = Random(63);
    let mut encoders = Encoders::<D>::new();
    let miniblock = D::T::BLOCK / 4;
    for round in 0..200 {
        let mut values: Vec<D::T> = Vec::new();
        let top = 1 + random.below(D::T::BITS as usize);
        for _ in 0..random.below(40) {
            let width = random.below(top + 1) as u32;
            let mut next = of_width::<D::T>(&mut random, miniblock, width, 0);
            let shift = values.last().copied().unwrap_or_default().sub(next[0]);
            next.iter_mut().for_each(|value| *value = value.add(shift));
            values.extend(next);
        }
        values.truncate(values.len().saturating_sub(random.below(miniblock)));
        let largest = 1 + random.below(2000);
        encoders.check(&mut random, &values, largest, &format!("round {round}"));
    }
}

#[test]
fn widths_that_change_in_both_lanes() {
    widths_that_change::<Int32Type>();
    widths_that_change::<Int64Type>();
}

fn extremes<D: DataType<T: Lane>>() {
    let mut random = Random(64);
    let mut encoders = Encoders::<D>::new();
    let [min, max] = [i64::MIN, i64::MAX].map(|value| D::T::wrap(value >> (64 - D::T::BITS)));
    let some = |values: &[D::T]| values.iter().copied().cycle().take(2 * D::T::BLOCK + 40).collect::<Vec<_>>();
    let one = D::T::wrap(1);
    let zero = D::T::default();
    for values in [
        vec![],
        vec![min],
        vec![max],
        vec![min, max],
        some(&[min, max]),
        some(&[max, min, min]),
        some(&[zero, min]),
        some(&[max, zero, min, one]),
        some(&[min]),
        some(&[max, max.sub(one)]),
    ] {
        encoders.check(&mut random, &values, 1000, &format!("{:?}", values.iter().take(5)));
    }
    let pool = [min, max, zero, one, zero.sub(one), min.add(one), max.sub(one)];
    for _ in 0..100 {
        let values: Vec<D::T> = (0..random.below(700)).map(|_| random.pick(&pool)).collect();
        encoders.check(&mut random, &values, 300, "extremes");
    }
}

#[test]
fn extremes_of_both_lanes() {
    extremes::<Int32Type>();
    extremes::<Int64Type>();
}

#[test]
fn cleared_encoders_start_over() {
    let mut encoder = DeltaBinaryPackedEncoder::<i32>::default();
    encoder.put(&[5; 300]);
    encoder.clear();
    let mut page = Vec::new();
    encoder.finish(&mut page);
    assert_eq!(page, [0x80, 1, 4, 0, 0]);
}
