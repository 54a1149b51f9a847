//! Pages of a column chunk: headers, decompression, and the split of a page into levels and values.
//!
//! [`PageReader`] walks the headers of a [`Chunk`], so that pages nobody wants are never decompressed, nor fetched if they
//! are not there yet; [`PageBuffer`] holds the page that is read and is reused for the next. Only flat columns come here: no
//! repetition levels, and definition levels of at most one bit. What the parquet crate reads instead is looked at before it
//! gets it: [`check_headers`], [`check_footer`].

mod chunk;
mod compression;
mod footer;
mod header;
mod limits;
mod reader;
mod thrift;

pub use chunk::{Chunk, PageStart};
pub use compression::{Codec, Decompressor};
pub use footer::{check_footer, check_index};
pub use header::{Encoding, PageHeader, PageKind, parse};
pub use limits::Limits;
pub use reader::{LargePage, PageBuffer, PageReader, check_headers};
