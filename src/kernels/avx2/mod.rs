//! Kernels by hand for AVX2 with BMI1, BMI2, POPCNT and LZCNT.
//!
//! | file | job |
//! |---|---|
//! | `compare` | comparisons to bitmaps |
//! | `delta` | DELTA_BINARY_PACKED: decoded, added up, compared |
//! | `gather` | lookups in small dictionaries |
//! | `interleave` | values from streams of their bytes |
//! | `select` | selected values moved together and apart |
//! | `sets` | membership in sets of integers, to bitmaps |
//! | `unpack` | bit-packed values to lanes |

pub(super) mod compare;
pub(super) mod delta;
pub(super) mod gather;
pub(super) mod interleave;
pub(super) mod select;
pub(super) mod sets;
pub(super) mod unpack;
