//! The one error type of the crate: what is wrong, and where.
//!
//! Low floors say what is wrong; each floor above adds the part of the place that it knows, so that what reaches the
//! user names file, row group, column and page.

use std::fmt;
use std::sync::Arc;

/// The result of everything that reads or writes Parquet bytes here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes break the Parquet specification.
    #[error("corrupt Parquet data: {0}")]
    Corrupt(Box<Fault>),
    /// The bytes are legal Parquet that this crate does not read.
    #[error("unsupported Parquet data: {0}")]
    Unsupported(Box<Fault>),
    /// The bytes ask for more than an option allows.
    #[error("limit exceeded: {0}")]
    Limit(Box<Fault>),
    /// Code that read the file panicked: a bug, most likely on bytes that nobody expected.
    #[error("panic: {0}")]
    Panic(Box<Fault>),
    /// The parquet crate refused the footer, an index or a column that goes through it.
    #[error("{0}{suffix}", suffix = .1.suffix())]
    Parquet(#[source] parquet::errors::ParquetError, Place),
    /// Arrow refused an array.
    #[error("{0}{suffix}", suffix = .1.suffix())]
    Arrow(#[source] arrow::error::ArrowError, Place),
    /// The store, or an expression evaluated for the scan, failed.
    #[error("{0}{suffix}", suffix = .1.suffix())]
    External(#[source] Box<dyn std::error::Error + Send + Sync>, Place),
    /// A setting of the user is wrong; the message names the right ones.
    #[error("{0}")]
    Config(String),
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// Where it is.
    pub place: Place,
}

/// A place in a file, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Location of the file in its store.
    pub file: Option<Arc<str>>,
    /// Index of the row group in the file.
    pub row_group: Option<usize>,
    /// Path of the column.
    pub column: Option<Arc<str>>,
    /// Index of the page in the column chunk, dictionary page included.
    pub page: Option<usize>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.place.suffix())
    }
}

impl Place {
    /// The place in parentheses, or nothing if it is not known.
    fn suffix(&self) -> String {
        if *self == Self::default() { String::new() } else { format!(" ({self})") }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            write!(f, "file {file}")?;
            separator = ", ";
        }
        if let Some(row_group) = self.row_group {
            write!(f, "{separator}row group {row_group}")?;
            separator = ", ";
        }
        if let Some(column) = &self.column {
            write!(f, "{separator}column {column}")?;
            separator = ", ";
        }
        if let Some(page) = self.page {
            write!(f, "{separator}page {page}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("unknown place") } else { Ok(()) }
    }
}

impl Error {
    /// The bytes break the specification in the way that `message` says.
    #[cold]
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::Corrupt(Fault::boxed(message))
    }

    /// The bytes are legal, and not read here.
    #[cold]
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::Unsupported(Fault::boxed(message))
    }

    /// The bytes ask for more than an option allows.
    #[cold]
    pub fn limit(message: impl Into<String>) -> Self {
        Self::Limit(Fault::boxed(message))
    }

    /// What read the file panicked; `payload` is the panic's.
    #[cold]
    pub fn panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
        Self::Panic(Fault::boxed(message.unwrap_or("without a message")))
    }

    /// Something outside the crate failed: a store, an expression.
    pub fn external(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::External(source.into(), Place::default())
    }

    /// A setting is wrong; `message` names the right ones.
    pub fn config(message: impl Into<String>) -> Self {
        Self::Config(message.into())
    }

    /// Where the error happened, as far as it is known.
    pub fn place(&self) -> &Place {
        static NOWHERE: Place = Place { file: None, row_group: None, column: None, page: None };
        match self {
            Self::Corrupt(fault) | Self::Unsupported(fault) | Self::Limit(fault) | Self::Panic(fault) => &fault.place,
            Self::Parquet(_, place) | Self::Arrow(_, place) | Self::External(_, place) => place,
            Self::Config(_) => &NOWHERE,
        }
    }

    fn placed(mut self, name: impl FnOnce(&mut Place)) -> Self {
        match &mut self {
            Self::Corrupt(fault) | Self::Unsupported(fault) | Self::Limit(fault) | Self::Panic(fault) => {
                name(&mut fault.place)
            }
            Self::Parquet(_, place) | Self::Arrow(_, place) | Self::External(_, place) => name(place),
            Self::Config(_) => {}
        }
        self
    }

    /// Names the page, unless a floor below did.
    #[must_use]
    pub fn at_page(self, page: usize) -> Self {
        self.placed(|place| _ = place.page.get_or_insert(page))
    }

    /// Names the column, unless a floor below did.
    #[must_use]
    pub fn at_column(self, column: &Arc<str>) -> Self {
        self.placed(|place| _ = place.column.get_or_insert_with(|| Arc::clone(column)))
    }

    /// Names the row group, unless a floor below did.
    #[must_use]
    pub fn at_row_group(self, row_group: usize) -> Self {
        self.placed(|place| _ = place.row_group.get_or_insert(row_group))
    }

    /// Names the file, unless a floor below did.
    #[must_use]
    pub fn in_file(self, file: &Arc<str>) -> Self {
        self.placed(|place| _ = place.file.get_or_insert_with(|| Arc::clone(file)))
    }
}

impl Fault {
    fn boxed(message: impl Into<String>) -> Box<Self> {
        Box::new(Self { message: message.into(), place: Place::default() })
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(error: parquet::errors::ParquetError) -> Self {
        // What went through the parquet crate may be our own.
        match error {
            parquet::errors::ParquetError::External(source) => match source.downcast::<Self>() {
                Ok(own) => *own,
                Err(source) => Self::Parquet(parquet::errors::ParquetError::External(source), Place::default()),
            },
            error => Self::Parquet(error, Place::default()),
        }
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::Arrow(error, Place::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_and_where() {
        let file: Arc<str> = "a.parquet".into();
        let column: Arc<str> = "x".into();
        let error = Error::corrupt("no header").at_page(3).at_column(&column).at_row_group(0).in_file(&file);
        assert_eq!(
            error.to_string(),
            "corrupt Parquet data: no header (file a.parquet, row group 0, column x, page 3)"
        );
        assert_eq!(Error::external("no answer").to_string(), "no answer");
        assert_eq!(Error::external("no answer").in_file(&file).to_string(), "no answer (file a.parquet)");
        // What a low floor says of the place stands.
        assert_eq!(Error::limit("too large").at_page(1).at_page(2).place().page, Some(1));
    }
}
