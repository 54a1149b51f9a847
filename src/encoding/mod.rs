//! Floor 2: bytes to values, one encoding a file, and in [`encoder`] values to bytes.
//!
//! A decoder owns no page: the value bytes are passed in at each call, the same slice until the next `reset`, so that
//! buffers can be recycled. `read` fills all of `out` or errs, and after an error only `reset` makes sense. File bytes are
//! hostile: counts and lengths are checked against the bytes that there are, and nothing is allocated from them.

pub mod boolean;
pub mod byte_array;
pub mod byte_stream_split;
pub mod delta_binary_packed;
pub mod delta_byte_array;
pub mod delta_length_byte_array;
pub mod dictionary;
pub mod encoder;
pub mod plain;
pub mod rle;
pub mod varint;

#[cfg(test)]
pub(crate) mod delta_tests;
