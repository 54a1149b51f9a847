//! The bodies of all kernels, instantiated once for each instruction set.
//!
//! The bodies are `#[inline(always)]` and name no features, so each takes on those of the shell that it is inlined into.

#[cfg(target_arch = "x86_64")]
use super::delta::decode_octets;
use super::delta::{self, Runs, decode, sum};
use super::encode::{self, Pack, pack};
use super::tools;
use super::{
    Isa, Kernels, bits, compare, front_code, front_coding, interleave, lane, select, sets, unpack, value, views,
};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// The instances of a kernel for the widths 0 to 32.
macro_rules! up_to_32 {
    ($kernel:ident $(, $lane:ty)?) => {
        by_width!($kernel, $($lane)?; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    };
}

/// The instances of a kernel for the widths 0 to 64.
macro_rules! up_to_64 {
    ($kernel:ident $(, $lane:ty)?) => {
        by_width!($kernel, $($lane)?; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
            33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64)
    };
}

macro_rules! by_width {
    ($kernel:ident, ; $($width:literal)*) => { &[$($kernel::<$width>),*] };
    ($kernel:ident, $lane:ty; $($width:literal)*) => { &[$($kernel::<$lane, $width>),*] };
}

/// A table of the bodies, each in a shell with the given attributes; `$tools` are those of the instruction set.
macro_rules! table {
    ($isa:expr, $tools:ty, $(#[$feature:meta])*) => {{
        use compare::Comparison;
        use interleave::Interleave;
        use lane::Lane;

        $(#[$feature])*
        fn unpack<const W: usize>(packed: &[u8], out: &mut [u32]) {
            unpack::unpack::<W>(packed, out);
        }
        $(#[$feature])*
        fn encode<T: Lane, const BLOCK: usize>(values: &[T], out: &mut [u8]) -> usize {
            encode::encode::<T, $tools, BLOCK>(values, out)
        }
        $(#[$feature])*
        fn in_range<T: Lane>(values: &[T], low: T, high: T, words: &mut [u64]) {
            compare::in_range::<T, $tools>(values, low, high, words);
        }
        $(#[$feature])*
        fn compare<T: Lane>(left: &[T], right: &[T], op: Comparison, signed: bool, words: &mut [u64]) {
            compare::compare::<T, $tools>(left, right, op, signed, words);
        }
        $(#[$feature])*
        fn in_bitmap<T: Lane>(values: &[T], base: T, bitmap: &[u64], outside: bool, words: &mut [u64]) {
            sets::in_bitmap(values, base, bitmap, outside, words);
        }
        $(#[$feature])*
        fn in_sorted<T: Lane>(values: &[T], set: &[T], words: &mut [u64]) {
            sets::in_sorted::<T, $tools>(values, set, words);
        }
        $(#[$feature])*
        fn compact<U: Copy>(values: &[U], words: &[u64], out: &mut [U]) -> usize {
            select::compact(values, words, out)
        }
        $(#[$feature])*
        fn expand<U: Copy + Default>(dense: &[U], words: &[u64], len: usize, out: &mut [U]) -> usize {
            select::expand(dense, words, len, out)
        }
        $(#[$feature])*
        fn gather<U: Copy>(dictionary: &[U], indices: &[u32], out: &mut [U]) -> bool {
            select::gather(dictionary, indices, out)
        }
        $(#[$feature])*
        fn interleave<U: Interleave>(streams: &[u8], stride: usize, out: &mut [U]) {
            U::interleave(streams, stride, out);
        }
        $(#[$feature])*
        fn front_coded_lengths(prefixes: &[i32], suffixes: &[i32]) -> front_coding::Lengths {
            front_coding::lengths(prefixes, suffixes)
        }
        $(#[$feature])*
        unsafe fn front_coded(values: &front_coding::FrontCoded<'_>, previous: u128, out: &mut [u128]) -> u128 {
            // SAFETY: the caller's.
            unsafe { front_coding::front_coded::<false>(values, previous, out) }
        }
        $(#[$feature])*
        unsafe fn front_coded_heads(values: &front_coding::FrontCoded<'_>, previous: u128, out: &mut [u128]) {
            // SAFETY: the caller's.
            unsafe { front_coding::front_coded::<true>(values, previous, out) };
        }
        $(#[$feature])*
        unsafe fn views_in_place(values: &front_coding::FrontCoded<'_>, place: u64, out: &mut [u128]) -> usize {
            // SAFETY: the caller's.
            unsafe { front_coding::views_in_place(values, place, out) }
        }
        $(#[$feature])*
        fn append(values: &[&[u8]], out: &mut [u8]) -> usize {
            front_code::append(values, out)
        }
        $(#[$feature])*
        fn front_code(previous: &[u8], values: &[&[u8]], lengths: (&mut [i32], &mut [i32]), out: &mut [u8]) -> usize {
            front_code::front_code(previous, values, lengths, out)
        }
        $(#[$feature])*
        fn in_views(views: &[u128], set: &[u128], words: &mut [u64]) {
            views::in_views(views, set, words);
        }
        $(#[$feature])*
        fn in_view_beginnings(views: &[u128], set: &[u128], words: &mut [u64]) {
            views::in_view_beginnings(views, set, words);
        }
        $(#[$feature])*
        fn count_ones(words: &[u64]) -> usize {
            bits::count_ones(words)
        }
        $(#[$feature])*
        fn pext_words(source: &[u64], mask: &[u64], out: &mut [u64]) -> usize {
            // SAFETY: the features are those of the function.
            unsafe { bits::pext_words::<$tools>(source, mask, out) }
        }
        $(#[$feature])*
        fn pdep_words(source: &[u64], mask: &[u64], out: &mut [u64]) -> usize {
            // SAFETY: the features are those of the function.
            unsafe { bits::pdep_words::<$tools>(source, mask, out) }
        }

        Kernels {
            isa: $isa,
            i32: lane::Table {
                delta: delta::PORTABLE_I32,
                encode: encode::<i32, { <i32 as Lane>::BLOCK }>,
                in_range: in_range::<i32>,
                compare: compare::<i32>,
                in_bitmap: in_bitmap::<i32>,
                in_sorted: in_sorted::<i32>,
            },
            i64: lane::Table {
                delta: delta::PORTABLE_I64,
                encode: encode::<i64, { <i64 as Lane>::BLOCK }>,
                in_range: in_range::<i64>,
                compare: compare::<i64>,
                in_bitmap: in_bitmap::<i64>,
                in_sorted: in_sorted::<i64>,
            },
            u32: value::Table {
                compact: compact::<u32>,
                expand: expand::<u32>,
                gather: gather::<u32>,
                interleave: interleave::<u32>,
            },
            u64: value::Table {
                compact: compact::<u64>,
                expand: expand::<u64>,
                gather: gather::<u64>,
                interleave: interleave::<u64>,
            },
            u128: value::Table {
                compact: compact::<u128>,
                expand: expand::<u128>,
                gather: gather::<u128>,
                interleave: interleave::<u128>,
            },
            unpack: up_to_32!(unpack),
            front_coded_lengths,
            front_coded,
            front_coded_heads,
            views_in_place,
            front_coded_long: None,
            append,
            front_code,
            in_views,
            in_view_beginnings,
            count_ones,
            pext_words,
            pdep_words,
        }
    }};
}

/// Instances for all widths, without features: of the portable kernels, and of what others leave to them.
#[cfg(target_arch = "x86_64")]
pub(super) static RUNS_I32: Runs<i32> = Runs { decode: up_to_32!(decode_octets), sum: up_to_64!(sum) };
#[cfg(not(target_arch = "x86_64"))]
pub(super) static RUNS_I32: Runs<i32> = Runs { decode: up_to_32!(decode, i32), sum: up_to_64!(sum) };
pub(super) static RUNS_I64: Runs<i64> = Runs { decode: up_to_64!(decode, i64), sum: up_to_64!(sum) };

/// Instances for all widths, without features, which they would not gain from.
pub(super) static PACK_I32: &[Pack<i32>] = up_to_32!(pack, i32);
pub(super) static PACK_I64: &[Pack<i64>] = up_to_64!(pack, i64);

pub(super) static PORTABLE: Kernels = table!(Isa::Portable, tools::Portable,);

#[cfg(target_arch = "x86_64")]
static AVX2: Kernels = {
    let mut kernels = table!(Isa::Avx2, tools::Wide<64>, #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]);
    kernels.i32.delta = avx2::delta::I32;
    kernels.i64.delta = avx2::delta::I64;
    kernels.unpack = {
        use avx2::unpack::unpack;
        up_to_32!(unpack)
    };
    kernels.i32.in_range = avx2::compare::in_range_i32;
    kernels.i64.in_range = avx2::compare::in_range_i64;
    kernels.i32.compare = avx2::compare::compare_i32;
    kernels.i64.compare = avx2::compare::compare_i64;
    kernels.i32.in_bitmap = avx2::sets::in_bitmap_i32;
    kernels.i64.in_bitmap = avx2::sets::in_bitmap_i64;
    kernels.i32.in_sorted = avx2::sets::in_sorted_i32;
    kernels.i64.in_sorted = avx2::sets::in_sorted_i64;
    kernels.u32.compact = avx2::select::compact_u32;
    kernels.u64.compact = avx2::select::compact_u64;
    kernels.u32.expand = avx2::select::expand_u32;
    kernels.u64.expand = avx2::select::expand_u64;
    kernels.u32.gather = avx2::gather::gather_u32;
    kernels.u32.interleave = avx2::interleave::interleave_u32;
    kernels.u64.interleave = avx2::interleave::interleave_u64;
    kernels
};

#[cfg(target_arch = "x86_64")]
static AVX512: Kernels = {
    let mut kernels = table!(
        Isa::Avx512,
        tools::Wide<32>,
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx2,bmi1,bmi2,popcnt,lzcnt")]
    );
    kernels.i32.delta = avx512::delta::I32;
    kernels.i64.delta = avx512::delta::I64;
    kernels.i32.encode = avx512::encode::encode_i32;
    kernels.i64.encode = avx512::encode::encode_i64;
    kernels.unpack = {
        use avx512::unpack::unpack;
        up_to_32!(unpack)
    };
    kernels.i32.in_range = avx512::compare::in_range_i32;
    kernels.i64.in_range = avx512::compare::in_range_i64;
    kernels.i32.compare = avx512::compare::compare_i32;
    kernels.i64.compare = avx512::compare::compare_i64;
    kernels.i32.in_bitmap = avx512::sets::in_bitmap_i32;
    kernels.i64.in_bitmap = avx512::sets::in_bitmap_i64;
    kernels.i32.in_sorted = avx512::sets::in_sorted_i32;
    kernels.i64.in_sorted = avx512::sets::in_sorted_i64;
    kernels.u32.compact = avx512::select::compact_u32;
    kernels.u64.compact = avx512::select::compact_u64;
    kernels.u32.expand = avx512::select::expand_u32;
    kernels.u64.expand = avx512::select::expand_u64;
    kernels.u32.gather = avx512::gather::gather_u32;
    kernels.u32.interleave = avx512::interleave::interleave_u32;
    kernels.u64.interleave = avx512::interleave::interleave_u64;
    kernels.u64.gather = avx512::gather::gather_u64;
    kernels.front_coded_long = Some(avx512::front_coding::front_coded_long);
    kernels.append = avx512::front_code::append;
    kernels.front_code = avx512::front_code::front_code;
    kernels.in_views = avx512::views::in_views;
    // With AVX-512 CD the search for set bits is vectorised, and takes half as long again.
    kernels.u128.compact = AVX2.u128.compact;
    kernels.u128.expand = AVX2.u128.expand;
    kernels
};

/// The AVX2 table, where the processor has all that its shells enable.
#[cfg(target_arch = "x86_64")]
pub(super) fn avx2() -> Option<&'static Kernels> {
    let available = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt");
    available.then_some(&AVX2)
}

/// The AVX-512 table, where the processor has all that its shells enable.
#[cfg(target_arch = "x86_64")]
pub(super) fn avx512() -> Option<&'static Kernels> {
    let available = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vnni")
        && avx2().is_some();
    available.then_some(&AVX512)
}
