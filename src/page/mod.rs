//! Pages of a column chunk: headers, decompression, and the split of a page into levels and values.
//!
//! [`PageReader`] walks the headers of a chunk, so that pages nobody wants are never decompressed; [`PageBuffer`] holds
//! the page that is read and is reused for the next. Only flat columns come here: no repetition levels, and definition
//! levels of at most one bit.

mod compression;
mod header;
mod reader;

pub use compression::{Codec, Decompressor, Limits};
pub use header::{Encoding, PageHeader, PageKind, parse};
pub use reader::{PageBuffer, PageReader, looks_encrypted};
