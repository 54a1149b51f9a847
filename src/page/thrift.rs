//! The Thrift compact protocol, as far as a page header or a footer needs it.

use crate::encoding::varint::{read_uleb, zigzag};
use crate::error::{Error, Result};

/// The type of a field or element; a field's boolean is stored in its type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Bool(bool),
    I8,
    I16,
    I32,
    I64,
    Double,
    Binary,
    /// List or set: they look the same.
    List,
    Map,
    Struct,
    Uuid,
}

impl Type {
    fn from_compact(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Bool(true),
            2 => Self::Bool(false),
            3 => Self::I8,
            4 => Self::I16,
            5 => Self::I32,
            6 => Self::I64,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return None,
        })
    }
}

/// A cursor over the Thrift compact protocol. It allocates nothing, never reads past the slice, takes time in proportion to
/// the bytes that it steps over, and bounds its recursion.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    position: usize,
    /// What the bytes are, for errors.
    what: &'static str,
}

impl<'a> Thrift<'a> {
    /// Containers in containers that are stepped over. No field of parquet.thrift comes near.
    const MAX_DEPTH: usize = 16;

    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, position: 0, what }
    }

    /// Where the next byte is.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    #[cold]
    fn corrupt(&self, wrong: &str) -> Error {
        Error::corrupt(format!("{} {wrong}", self.what))
    }

    /// Reads a field header: the type, with `id` moved on, or `None` where the struct ends.
    pub(super) fn field(&mut self, id: &mut i16) -> Result<Option<Type>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        let field = self.type_of(byte & 0x0f)?;
        let next = match byte >> 4 {
            0 => i16::try_from(self.varint()?).ok(),
            delta => id.checked_add(i16::from(delta)),
        };
        *id = next.ok_or_else(|| self.corrupt("with a field id over 16 bits"))?;
        Ok(Some(field))
    }

    fn type_of(&self, number: u8) -> Result<Type> {
        Type::from_compact(number).ok_or_else(|| self.corrupt(&format!("with Thrift type {number}")))
    }

    fn byte(&mut self) -> Result<u8> {
        let Some(&byte) = self.bytes.get(self.position) else {
            return Err(self.corrupt("is cut short"));
        };
        self.position += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<i64> {
        Ok(zigzag(read_uleb(self.bytes, &mut self.position)?))
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        i32::try_from(self.varint()?).map_err(|_| self.corrupt("with an integer over 32 bits"))
    }

    pub(super) fn size(&mut self, name: &str) -> Result<usize> {
        let value = self.i32()?;
        usize::try_from(value).map_err(|_| self.corrupt(&format!("with {name} {value}")))
    }

    /// Reads the header of a list: how many elements it promises, and their type, which means nothing where there are none.
    pub(super) fn list(&mut self) -> Result<(u64, Type)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => read_uleb(self.bytes, &mut self.position)?,
            short => u64::from(short),
        };
        // Some writers give an empty list no type.
        Ok((count, if count == 0 { Type::I8 } else { self.type_of(byte & 0x0f)? }))
    }

    fn advance(&mut self, n: u64) -> Result<()> {
        let left = self.bytes.len() - self.position;
        match usize::try_from(n) {
            Ok(n) if n <= left => {
                self.position += n;
                Ok(())
            }
            _ => Err(self.corrupt("is cut short")),
        }
    }

    /// Steps over the value of a field, `depth` containers down.
    pub(super) fn skip(&mut self, field: Type, depth: usize) -> Result<()> {
        if depth > Self::MAX_DEPTH {
            return Err(self.corrupt("is nested too deeply"));
        }
        match field {
            Type::Bool(_) => Ok(()),
            Type::I8 => self.advance(1),
            Type::I16 | Type::I32 | Type::I64 => read_uleb(self.bytes, &mut self.position).map(drop),
            Type::Double => self.advance(8),
            Type::Uuid => self.advance(16),
            Type::Binary => {
                let len = read_uleb(self.bytes, &mut self.position)?;
                self.advance(len)
            }
            Type::Struct => {
                let mut id = 0;
                while let Some(field) = self.field(&mut id)? {
                    self.skip(field, depth + 1)?;
                }
                Ok(())
            }
            Type::List => {
                let (count, element) = self.list()?;
                for _ in 0..count {
                    // An element takes a byte at least, so that the bytes bound the loop.
                    self.skip_element(element, depth + 1)?;
                }
                Ok(())
            }
            Type::Map => {
                let count = read_uleb(self.bytes, &mut self.position)?;
                if count == 0 {
                    return Ok(());
                }
                let byte = self.byte()?;
                let (key, value) = (self.type_of(byte >> 4)?, self.type_of(byte & 0x0f)?);
                for _ in 0..count {
                    self.skip_element(key, depth + 1)?;
                    self.skip_element(value, depth + 1)?;
                }
                Ok(())
            }
        }
    }

    /// Steps over an element of a container, where a boolean has a byte of its own.
    fn skip_element(&mut self, element: Type, depth: usize) -> Result<()> {
        match element {
            Type::Bool(_) => self.advance(1),
            other => self.skip(other, depth),
        }
    }
}
