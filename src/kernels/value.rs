//! The faces of the kernels that move values of 4, 8 and 16 bytes.

use super::Kernels;

/// The kernels of one width.
pub(super) struct Table<U> {
    pub(super) compact: unsafe fn(&[U], &[u64], &mut [U]) -> usize,
    pub(super) expand: unsafe fn(&[U], &[u64], usize, &mut [U]) -> usize,
    pub(super) gather: unsafe fn(&[U], &[u32], &mut [U]) -> bool,
    pub(super) interleave: unsafe fn(&[u8], usize, &mut [U]),
}

/// A value of 4, 8 or 16 bytes that selections move: any integer or float of that width, or a string view as `u128`.
pub trait Value: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static + sealed::Value {
    /// Moves the values whose bit is set to the front of `out`, in order, and returns their number.
    ///
    /// `out` has at least `values.len()` elements: those after the selected ones are scratch, and may be overwritten with
    /// anything.
    ///
    /// # Panics
    /// `words` is shorter than `values.len().div_ceil(64)`, or `out` than `values`. Bits after the last value are ignored.
    #[inline]
    fn compact(kernels: &Kernels, values: &[Self], words: &[u64], out: &mut [Self]) -> usize {
        let out = &mut out[..values.len()];
        let words = &words[..values.len().div_ceil(64)];
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).compact)(Self::bits(values), words, Self::bits_mut(out)) }
    }

    /// Writes the next value of `dense` where a bit is set and the default (zero) elsewhere, for `len` rows; returns the
    /// number of values used: the inverse of [`Value::compact`].
    ///
    /// # Panics
    /// `words` is shorter than `len.div_ceil(64)`, `out` than `len`, or `dense` than the number of set bits.
    #[inline]
    fn expand(kernels: &Kernels, dense: &[Self], words: &[u64], len: usize, out: &mut [Self]) -> usize {
        let out = &mut out[..len];
        let words = &words[..len.div_ceil(64)];
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).expand)(Self::bits(dense), words, len, Self::bits_mut(out)) }
    }

    /// Looks the indices up; false, with `out` in any state, if one is past the end of `dictionary`.
    ///
    /// # Panics
    /// `out` is shorter than `indices`.
    #[inline]
    fn gather(kernels: &Kernels, dictionary: &[Self], indices: &[u32], out: &mut [Self]) -> bool {
        let out = &mut out[..indices.len()];
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).gather)(Self::bits(dictionary), indices, Self::bits_mut(out)) }
    }

    /// Puts values together from streams of their bytes, least significant first: byte `k` of value `i` is
    /// `streams[k * stride + i]`.
    ///
    /// # Panics
    /// The last of these is past the end of `streams`.
    #[inline]
    fn interleave(kernels: &Kernels, streams: &[u8], stride: usize, out: &mut [Self]) {
        if out.is_empty() {
            return;
        }
        let last = (size_of::<Self>() - 1).checked_mul(stride).and_then(|start| start.checked_add(out.len()));
        assert!(last.is_some_and(|end| end <= streams.len()), "each stream has a byte for each value");
        // SAFETY: there is a reference to the table, so the processor has its features.
        unsafe { (Self::table(kernels).interleave)(streams, stride, Self::bits_mut(out)) }
    }
}

pub(super) mod sealed {
    /// How a value maps to the unsigned integer that the kernels move.
    pub trait Value: Sized {
        /// The unsigned integer of the same width.
        type Bits: Copy + Default;
        fn bits(values: &[Self]) -> &[Self::Bits];
        fn bits_mut(values: &mut [Self]) -> &mut [Self::Bits];
        #[expect(private_interfaces, reason = "the trait is sealed")]
        fn table(kernels: &super::Kernels) -> &super::Table<Self::Bits>;
    }
}

macro_rules! value {
    ($bits:ident: $($value:ident)*) => {$(
        impl Value for $value {}

        impl sealed::Value for $value {
            type Bits = $bits;

            #[inline(always)]
            fn bits(values: &[Self]) -> &[$bits] {
                // SAFETY: both are plain numbers of the same size and alignment, and every bit pattern is valid.
                unsafe { &*(std::ptr::from_ref(values) as *const [$bits]) }
            }

            #[inline(always)]
            fn bits_mut(values: &mut [Self]) -> &mut [$bits] {
                // SAFETY: both are plain numbers of the same size and alignment, and every bit pattern is valid.
                unsafe { &mut *(std::ptr::from_mut(values) as *mut [$bits]) }
            }

            #[expect(private_interfaces, reason = "the trait is sealed")]
            #[inline(always)]
            fn table(kernels: &Kernels) -> &Table<$bits> {
                &kernels.$bits
            }
        }
    )*};
}

value!(u32: u32 i32 f32);
value!(u64: u64 i64 f64);
value!(u128: u128 i128);
