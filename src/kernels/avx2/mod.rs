//! Kernels by hand for AVX2 with BMI1, BMI2 and POPCNT.
//!
//! | file | job |
//! |---|---|
//! | `compare` | comparisons to bitmaps |
//! | `gather` | lookups in small dictionaries |
//! | `interleave` | values from streams of their bytes |
//! | `select` | selected values moved together and apart |
//! | `sets` | membership in sets of integers, to bitmaps |
//! | `unpack` | bit-packed values to lanes |

pub(super) mod compare;
pub(super) mod gather;
pub(super) mod interleave;
pub(super) mod select;
pub(super) mod sets;
pub(super) mod unpack;
