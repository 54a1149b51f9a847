//! Values put together from streams of their bytes.

/// Values that are put together at once, which is done by halves: bytes to pairs, pairs to fours, and so on.
const CHUNK: usize = 64;

/// An integer of which the bytes come from as many streams.
pub(super) trait Interleave: Copy {
    /// Puts values together of which byte `k` stands `k * stride` after the first.
    fn interleave(streams: &[u8], stride: usize, out: &mut [Self]);

    /// The values of a chunk; that of each stream begins at `position`.
    fn chunk(streams: &[u8], stride: usize, position: usize, out: &mut [Self; CHUNK]);
}

impl Interleave for u8 {
    #[inline(always)]
    fn interleave(streams: &[u8], _: usize, out: &mut [Self]) {
        out.copy_from_slice(&streams[..out.len()]);
    }

    #[inline(always)]
    fn chunk(streams: &[u8], _: usize, position: usize, out: &mut [Self; CHUNK]) {
        out.copy_from_slice(&streams[position..position + CHUNK]);
    }
}

macro_rules! interleave {
    ($($bits:ident of two $half:ident),*) => {$(
        impl Interleave for $bits {
            #[inline(always)]
            fn interleave(streams: &[u8], stride: usize, out: &mut [Self]) {
                let (chunks, rest) = out.as_chunks_mut::<CHUNK>();
                let done = chunks.len() * CHUNK;
                for (index, out) in chunks.iter_mut().enumerate() {
                    Self::chunk(streams, stride, index * CHUNK, out);
                }
                for (index, out) in rest.iter_mut().enumerate() {
                    *out = Self::from_le_bytes(std::array::from_fn(|byte| streams[byte * stride + done + index]));
                }
            }

            #[inline(always)]
            fn chunk(streams: &[u8], stride: usize, position: usize, out: &mut [Self; CHUNK]) {
                let (mut low, mut high) = ([0; CHUNK], [0; CHUNK]);
                $half::chunk(streams, stride, position, &mut low);
                $half::chunk(streams, stride, position + size_of::<$half>() * stride, &mut high);
                for ((out, &low), &high) in out.iter_mut().zip(&low).zip(&high) {
                    *out = Self::from(low) | Self::from(high) << $half::BITS;
                }
            }
        }
    )*};
}

interleave!(u16 of two u8, u32 of two u16, u64 of two u32, u128 of two u64);
