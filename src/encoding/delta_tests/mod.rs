//! Tests of the DELTA encodings: against value-by-value decoders, over shapes that no one writer would produce, and over
//! bytes that no writer should.

mod binary_packed;
mod byte_arrays;
mod encoder;
mod encoder_byte_arrays;
mod fixed;
mod hostile;
mod parquet_crate;
pub(crate) mod reference;

/// xorshift64*, so that runs repeat.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
