//! Floor 0: the loops over slices that everything else is built from.
//!
//! A kernel has one face, a method of [`Lane`], [`Value`] or [`Kernels`], which checks what the bodies rely on, and a body for
//! each instruction set: a generic one, safe where it can be, that a compiler vectorises; and for AVX2 and AVX-512 one by
//! hand where that is clearly faster. `isa` makes a table of them for each instruction set, and [`kernels`] chooses among the
//! tables once: a choice costs one indirect call for a window or a page, and never for a value.
//!
//! | file | job |
//! |---|---|
//! | `lane`, `value` | faces: integers of 32 and 64 bits; anything of 4, 8 or 16 bytes |
//! | `isa` | the tables |
//! | `delta` | DELTA_BINARY_PACKED: the walk over blocks for all instruction sets, and the generic engines |
//! | `encode` | DELTA_BINARY_PACKED: blocks of deltas, packed |
//! | `compare`, `sets` | comparisons and membership, to bitmaps |
//! | `select` | selected values moved together, apart, and by index |
//! | `front_coding` | byte arrays of which each begins as the one before |
//! | `front_code` | the same, written |
//! | `views` | Arrow views of byte arrays in sets |
//! | `unpack`, `interleave` | bit-packed values; values from streams of their bytes |
//! | `bits`, `varint` | bitmaps; integers of any length |
//! | `tools` | what differs between instruction sets in few words |
//! | `avx2`, `avx512` | the bodies by hand, in files of the same names |
//!
//! Bitmaps are slices of `u64` words, bit `i` of word `i / 64` for row `i`, least significant bit first.
//!
//! Nothing here allocates or returns errors. What a caller must have checked is an assertion in the face; pages and streams
//! are never trusted: a kernel stops before what it does not understand, and `encoding` says what is wrong with it.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crate::error::{Error, Result};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bits;
mod compare;
mod delta;
mod encode;
mod front_code;
mod front_coding;
mod interleave;
mod isa;
mod lane;
mod select;
mod sets;
#[cfg(test)]
mod tests;
mod tools;
mod unpack;
mod value;
mod varint;
mod views;

pub use bits::{copy_bits, copy_packed_bits, fill_bits, low_ones, ones};
pub use compare::Comparison;
pub use delta::{Blocks, Stream, UNIT};
pub use encode::{MINIBLOCKS, encoded_room};
pub use front_code::appended_room;
pub use front_coding::{FrontCoded, LONGEST, MARGIN, Misfit, REGISTERS};
pub use lane::Lane;
pub use value::Value;
pub use varint::{MAX_ULEB, read_uleb, to_zigzag, write_uleb, zigzag};

/// The environment variable that overrides the choice of [`kernels`]: `portable`, `avx2` or `avx512`.
pub const ISA_OVERRIDE: &str = "MINIBLOCK_ISA";

/// The instruction sets that kernels are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What the compiler's target guarantees.
    Portable,
    /// AVX2 with BMI1, BMI2, POPCNT and LZCNT.
    Avx2,
    /// AVX-512 F, BW, VL, DQ, CD, VBMI, VBMI2 and VNNI on top of [`Isa::Avx2`]; machines that lack some of them take that.
    Avx512,
}

impl Isa {
    /// Every instruction set, least capable first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name that [`ISA_OVERRIDE`] takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether the processor that runs this has the instruction set.
    pub fn is_available(self) -> bool {
        kernels_for(self).is_some()
    }

    fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Portable)
    }
}

/// The kernels of one instruction set.
///
/// There are references to the tables of instruction sets that the processor has, and to no others: the private fields and
/// [`kernels_for`] see to it, which is what makes the safe faces sound.
pub struct Kernels {
    isa: Isa,
    i32: lane::Table<i32>,
    i64: lane::Table<i64>,
    u32: value::Table<u32>,
    u64: value::Table<u64>,
    u128: value::Table<u128>,
    /// One for each width up to 32.
    unpack: &'static [Unpack],
    front_coded_lengths: unsafe fn(&[i32], &[i32]) -> front_coding::Lengths,
    front_coded: unsafe fn(&FrontCoded<'_>, u128, &mut [u128]) -> u128,
    front_coded_heads: unsafe fn(&FrontCoded<'_>, u128, &mut [u128]),
    views_in_place: unsafe fn(&FrontCoded<'_>, u64, &mut [u128]) -> usize,
    front_coded_long: Option<FrontCodedLong>,
    append: unsafe fn(&[&[u8]], &mut [u8]) -> usize,
    front_code: FrontCode,
    in_views: unsafe fn(&[u128], &[u128], &mut [u64]),
    in_view_beginnings: unsafe fn(&[u128], &[u128], &mut [u64]),
    count_ones: unsafe fn(&[u64]) -> usize,
    pext_words: unsafe fn(&[u64], &[u64], &mut [u64]) -> usize,
    pdep_words: unsafe fn(&[u64], &[u64], &mut [u64]) -> usize,
}

/// See [`Kernels::front_coded_long`].
type FrontCodedLong =
    unsafe fn(&FrontCoded<'_>, &mut [u8; REGISTERS], &mut [MaybeUninit<u8>], (u32, u32), &mut [u128]) -> usize;

/// See [`Kernels::front_code`].
type FrontCode = unsafe fn(&[u8], &[&[u8]], (&mut [i32], &mut [i32]), &mut [u8]) -> usize;

/// Unpacks values of one width.
type Unpack = unsafe fn(&[u8], &mut [u32]);

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernels").field(&self.isa).finish()
    }
}

/// The kernels to use: those of [`check_isa_override`], or of the best instruction set where that is an error.
pub fn kernels() -> &'static Kernels {
    static CHOICE: OnceLock<&'static Kernels> = OnceLock::new();
    CHOICE.get_or_init(|| {
        let isa = check_isa_override().unwrap_or_else(|_| Isa::best());
        kernels_for(isa).unwrap_or(&isa::PORTABLE)
    })
}

/// The kernels of `isa`, if the processor has it.
pub fn kernels_for(isa: Isa) -> Option<&'static Kernels> {
    match isa {
        Isa::Portable => Some(&isa::PORTABLE),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => isa::avx2(),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => isa::avx512(),
        #[cfg(not(target_arch = "x86_64"))]
        _ => None,
    }
}

/// The instruction set that [`kernels`] uses: that of [`ISA_OVERRIDE`] where it is set, else the best.
///
/// # Errors
/// The variable names no instruction set, or one that the processor lacks. Checked where a table is opened, so that an
/// override never fails silently.
pub fn check_isa_override() -> Result<Isa> {
    match std::env::var_os(ISA_OVERRIDE) {
        None => Ok(Isa::best()),
        Some(name) => parse_override(&name.to_string_lossy()),
    }
}

fn parse_override(name: &str) -> Result<Isa> {
    let Some(isa) = Isa::ALL.into_iter().find(|isa| isa.name() == name) else {
        let message = format!("{ISA_OVERRIDE} is {name:?}, which is none of portable, avx2 and avx512");
        return Err(Error::config(message));
    };
    if !isa.is_available() {
        return Err(Error::config(format!("{ISA_OVERRIDE} is {name:?}, which this processor lacks")));
    }
    Ok(isa)
}

impl Kernels {
    /// The instruction set of these kernels.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Unpacks `out.len()` little-endian values of `bit_width` bits.
    ///
    /// # Panics
    /// `bit_width` is over 32, `out.len()` is no multiple of 8, or `packed` is shorter than `out.len() / 8 * bit_width`.
    pub fn unpack(&self, packed: &[u8], bit_width: u32, out: &mut [u32]) {
        assert!(out.len().is_multiple_of(8), "values are unpacked eight at a time");
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { self.unpack[bit_width as usize](packed, out) }
    }

    /// Sets bit `i` where bit `indices[i]` of `bitmap` is set, and clears it elsewhere, up to the end of the last word; bits past
    /// the end of `bitmap` are not set.
    ///
    /// # Panics
    /// `words` is shorter than `indices.len().div_ceil(64)`; further words are untouched.
    pub fn gather_bits(&self, bitmap: &[u64], indices: &[u32], words: &mut [u64]) {
        // SAFETY: integers of the same size and alignment.
        let indices = unsafe { &*(std::ptr::from_ref(indices) as *const [i32]) };
        i32::in_bitmap(self, indices, 0, bitmap, false, words);
    }

    /// The number of set bits.
    pub fn count_ones(&self, words: &[u64]) -> usize {
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { (self.count_ones)(words) }
    }

    /// The number of set bits among the `len` from bit `from` on.
    ///
    /// # Panics
    /// The range ends past `words`.
    pub fn count_range(&self, words: &[u64], from: usize, len: usize) -> usize {
        if len == 0 {
            return 0;
        }
        let (first, last) = (from / 64, (from + len - 1) / 64);
        // What stands in the outer words outside of the range is counted with the rest, and taken off again.
        let before = words[first] & bits::low_ones((from % 64) as u32);
        let after = words[last] & !bits::low_ones(((from + len - 1) % 64) as u32 + 1);
        self.count_ones(&words[first..=last]) - (before.count_ones() + after.count_ones()) as usize
    }

    /// Moves the bits of `source` at the set positions of `mask` together at the front of `out`, and returns their number.
    ///
    /// This is how a selection of rows becomes one of values: `mask` is the validity. `out` needs a word for each 64 bits
    /// written, or part thereof; the last of these is padded with zeros, further ones are untouched.
    ///
    /// # Panics
    /// `source` and `mask` differ in length, or `out` is too short.
    pub fn pext_words(&self, source: &[u64], mask: &[u64], out: &mut [u64]) -> usize {
        assert_eq!(source.len(), mask.len(), "source and mask are bitmaps of the same rows");
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { (self.pext_words)(source, mask, out) }
    }

    /// Moves the leading bits of `source` to the set positions of `mask`, zeros elsewhere, and returns their number: the
    /// inverse of [`Kernels::pext_words`].
    ///
    /// Writes `mask.len()` words of `out`. Bits past the end of `source` are zeros.
    ///
    /// # Panics
    /// `out` is shorter than `mask`.
    pub fn pdep_words(&self, source: &[u64], mask: &[u64], out: &mut [u64]) -> usize {
        // SAFETY: there is a reference to this table, so the processor has its features.
        unsafe { (self.pdep_words)(source, mask, &mut out[..mask.len()]) }
    }
}
