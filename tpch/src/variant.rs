//! Variants: a reader, an encoding, a setting. Their names are the words of `--variants`.

use std::fmt;

use clap::ValueEnum;

use crate::Result;
use crate::dataset::Encoding;

/// One way to run a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Miniblock(Encoding),
    Datafusion { encoding: Encoding, pushdown: bool },
    Floor,
}

impl Variant {
    /// Every variant over these encodings, in the order in which they run and are printed.
    pub(crate) fn all(encodings: &[Encoding], with_floor: bool) -> Vec<Self> {
        let of_encoding = |&encoding: &Encoding| {
            [
                Self::Miniblock(encoding),
                Self::Datafusion { encoding, pushdown: false },
                Self::Datafusion { encoding, pushdown: true },
            ]
        };
        encodings.iter().flat_map(of_encoding).chain(with_floor.then_some(Self::Floor)).collect()
    }

    pub(crate) fn reader(self) -> &'static str {
        match self {
            Self::Miniblock(_) => "miniblock",
            Self::Datafusion { .. } => "datafusion",
            Self::Floor => "floor",
        }
    }

    /// The encoding of its files; none for the floor, which reads none.
    pub(crate) fn encoding(self) -> Option<Encoding> {
        match self {
            Self::Miniblock(encoding) | Self::Datafusion { encoding, .. } => Some(encoding),
            Self::Floor => None,
        }
    }

    /// Whether the scan takes filters; none for the floor, where there is nothing left to filter.
    pub(crate) fn pushdown(self) -> Option<bool> {
        match self {
            Self::Miniblock(_) => Some(true),
            Self::Datafusion { pushdown, .. } => Some(pushdown),
            Self::Floor => None,
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reader())?;
        if let Some(encoding) = self.encoding() {
            write!(f, "-{encoding}")?;
        }
        if let Self::Datafusion { pushdown: true, .. } = self {
            f.write_str("-pushdown")?;
        }
        Ok(())
    }
}

/// The variants that `names` choose (none: all over the default or the named encodings), each once.
///
/// # Errors
/// An unknown name, or one whose encoding `--encoding` leaves out: the message lists what there is.
pub(crate) fn select(
    names: &[String],
    named_encodings: &[Encoding],
    encodings: &[Encoding],
    with_floor: bool,
) -> Result<Vec<Variant>> {
    if names.is_empty() {
        return Ok(Variant::all(encodings, with_floor));
    }
    // A variant may bring an encoding of its own unless --encoding says which there are.
    let known = if named_encodings.is_empty() { Encoding::value_variants() } else { encodings };
    let known = Variant::all(known, with_floor);
    let is_default = |variant: &Variant| variant.encoding().is_none_or(|encoding| encodings.contains(&encoding));
    let mut selected = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let named =
            |variant: &&Variant| variant.to_string() == name || (variant.reader() == name && is_default(variant));
        let found: Vec<Variant> = known.iter().filter(named).copied().collect();
        if found.is_empty() {
            let names: Vec<_> = known.iter().map(Variant::to_string).collect();
            return Err(format!("there is no variant {name:?}; known are: {}", names.join(", ")).into());
        }
        for variant in found {
            if !selected.contains(&variant) {
                selected.push(variant);
            }
        }
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variants: &[&str], encodings: &[Encoding]) -> Result<Vec<String>> {
        let variants: Vec<_> = variants.iter().map(|name| (*name).to_owned()).collect();
        let chosen = if encodings.is_empty() { Encoding::DEFAULT } else { encodings };
        Ok(select(&variants, encodings, chosen, true)?.iter().map(Variant::to_string).collect())
    }

    #[test]
    fn all_by_default() {
        let delta = names(&[], &[Encoding::Delta]).unwrap();
        assert_eq!(delta, ["miniblock-delta", "datafusion-delta", "datafusion-delta-pushdown", "floor"]);
        assert_eq!(names(&[], &[]).unwrap().len(), 10);
    }

    #[test]
    fn names_and_readers() {
        assert_eq!(
            names(&["floor", "miniblock-delta-length", "floor"], &[]).unwrap(),
            ["floor", "miniblock-delta-length"]
        );
        assert_eq!(names(&["miniblock"], &[]).unwrap(), ["miniblock-delta", "miniblock-dictionary", "miniblock-plain"]);
    }

    #[test]
    fn only_some_queries_have_a_floor() {
        let all = select(&[], &[], &[Encoding::Plain], false).unwrap();
        assert_eq!(all.len(), 3);
        assert!(!all.contains(&Variant::Floor));
        let error = select(&["floor".to_owned()], &[], Encoding::DEFAULT, false).unwrap_err().to_string();
        assert!(error.starts_with("there is no variant \"floor\"; known are: miniblock-delta"), "{error}");
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let error = names(&["miniblock-plain"], &[Encoding::Delta]).unwrap_err().to_string();
        assert!(error.contains("known are: miniblock-delta, datafusion-delta"), "{error}");
    }
}
