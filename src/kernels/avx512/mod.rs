//! Kernels by hand for AVX-512 with VBMI, VBMI2 and VNNI, on top of those for AVX2.
//!
//! | file | job |
//! |---|---|
//! | `compare` | comparisons to bitmaps |
//! | `delta` | DELTA_BINARY_PACKED: decoded, added up, compared |
//! | `encode` | deltas to packed blocks |
//! | `front_code` | values, without what each has in common with the one before |
//! | `front_coding` | values that begin as the one before |
//! | `gather` | lookups in small dictionaries |
//! | `interleave` | values from streams of their bytes |
//! | `select` | selected values moved together and apart |
//! | `sets` | membership in sets of integers, to bitmaps |
//! | `tables` | constants to unpack each width |
//! | `unpack` | bit-packed values to lanes |
//! | `views` | comparisons of views |

pub(super) mod compare;
pub(super) mod delta;
pub(super) mod encode;
pub(super) mod front_code;
pub(super) mod front_coding;
pub(super) mod gather;
pub(super) mod interleave;
pub(super) mod select;
pub(super) mod sets;
mod tables;
pub(super) mod unpack;
pub(super) mod views;
