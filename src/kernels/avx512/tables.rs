//! What the unpacking of a width needs: which bytes go to which lanes, by how much they shift, and what is masked off.

/// A vector's worth of bytes.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(super) struct Bytes(pub(super) [u8; 64]);

/// Constants to unpack one width up to 32 into 32-bit lanes, or two 16-bit halves of them, or four bytes.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    /// 16 values in the lanes of a vector: the four bytes in which each begins, and those after them.
    pub(super) natural: Bytes,
    pub(super) natural_high: Bytes,
    /// Shifts of the lanes above.
    pub(super) natural_shifts: Bytes,
    /// Of 32 values the even ones, as above; from the 16th on the bytes are counted from the 16th.
    pub(super) even: Bytes,
    pub(super) even_shifts: Bytes,
    pub(super) odd: Bytes,
    pub(super) odd_shifts: Bytes,
    pub(super) mask: Bytes,
    /// 32 values up to 16 bits in halves of lanes.
    pub(super) halves: Bytes,
    pub(super) halves_shifts: Bytes,
    pub(super) halves_mask: Bytes,
    /// 64 values up to 8 bits in the bytes of lanes.
    pub(super) bytes: Bytes,
    pub(super) bytes_shifts: Bytes,
    pub(super) bytes_mask: Bytes,
    /// The same, dealt: lane `4 * i + j` holds the four values from `16 * j + 4 * i` on.
    pub(super) dealt: Bytes,
    pub(super) dealt_shifts: Bytes,
}

/// Constants to unpack one width up to 32 into 32-bit lanes, by words of the packed values: the one in which each value begins,
/// the one after it, and the shift of both.
#[repr(align(512))]
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// Where the second 64 bytes begin: what is less than a vector lies in the first.
    pub(super) second: usize,
    /// Of 32 values the even ones, and the odd ones.
    pub(super) even: [Bytes; 3],
    pub(super) odd: [Bytes; 3],
    pub(super) mask: Bytes,
}

/// Constants to unpack one width up to 64 into 64-bit lanes.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    /// 8 values: the eight bytes in which each begins, and those after them.
    pub(super) natural: Bytes,
    pub(super) natural_high: Bytes,
    pub(super) natural_shifts: Bytes,
    /// Of 16 values up to 32 bits the even ones, and the odd ones.
    pub(super) even: Bytes,
    pub(super) even_shifts: Bytes,
    pub(super) odd: Bytes,
    pub(super) odd_shifts: Bytes,
    pub(super) mask: Bytes,
}

pub(super) static NARROW: [Narrow; 33] = narrow_tables();
pub(super) static WORDS: [Words; 33] = words_tables();
pub(super) static WIDE: [Wide; 65] = wide_tables();

const NONE: Bytes = Bytes([0; 64]);

/// Fills a vector of lanes of `$lane` with an expression of the lane's index.
macro_rules! lanes {
    ($lane:ty, |$index:ident| $value:expr) => {{
        const SIZE: usize = size_of::<$lane>();
        let mut bytes = [0; 64];
        let mut $index = 0;
        while $index < 64 / SIZE {
            let lane = (($value) as $lane).to_le_bytes();
            let mut byte = 0;
            while byte < SIZE {
                bytes[$index * SIZE + byte] = lane[byte];
                byte += 1;
            }
            $index += 1;
        }
        Bytes(bytes)
    }};
}

/// Byte `byte` of the field that begins at bit `bit`. Positions past the load belong to lanes that nobody uses.
const fn at(bit: usize, byte: usize) -> usize {
    (bit / 8 + byte) % 64
}

const fn ones(width: usize) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

const fn narrow_tables() -> [Narrow; 33] {
    let mut tables = [Narrow {
        natural: NONE,
        natural_high: NONE,
        natural_shifts: NONE,
        even: NONE,
        even_shifts: NONE,
        odd: NONE,
        odd_shifts: NONE,
        mask: NONE,
        halves: NONE,
        halves_shifts: NONE,
        halves_mask: NONE,
        bytes: NONE,
        bytes_shifts: NONE,
        bytes_mask: NONE,
        dealt: NONE,
        dealt_shifts: NONE,
    }; 33];
    let mut w = 0;
    while w <= 32 {
        let mask = ones(w);
        let table = &mut tables[w];
        table.natural = lanes!(u8, |i| at(i / 4 * w, i % 4));
        table.natural_high = lanes!(u8, |i| at(i / 4 * w, i % 4 + 4));
        table.natural_shifts = lanes!(u32, |i| i * w % 8);
        table.even = lanes!(u8, |i| at(2 * (i / 4) * w - i / 32 * 16 * w, i % 4));
        table.even_shifts = lanes!(u32, |i| 2 * i * w % 8);
        table.odd = lanes!(u8, |i| at((2 * (i / 4) + 1) * w - i / 32 * 16 * w, i % 4));
        table.odd_shifts = lanes!(u32, |i| (2 * i + 1) * w % 8);
        table.mask = lanes!(u32, |_i| mask);
        if w <= 16 {
            table.halves = lanes!(u8, |i| at(i / 8 * 4 * w, i % 8));
            table.halves_shifts = lanes!(u8, |i| (i / 8 * 4 * w % 8 + i % 8 / 2 * w + i % 2 * 8) % 64);
            table.halves_mask = lanes!(u16, |_i| mask);
        }
        if w <= 8 {
            table.bytes = lanes!(u8, |i| at(i / 4 * 4 * w, i % 4));
            table.bytes_shifts = lanes!(u8, |i| (i / 4 % 2 * 32 + i / 4 * 4 * w % 8 + i % 4 * w) % 64);
            table.bytes_mask = lanes!(u8, |_i| mask);
            table.dealt = lanes!(u8, |i| at(quad(i / 4) * 4 * w, i % 4));
            table.dealt_shifts = lanes!(u8, |i| (i / 4 % 2 * 32 + quad(i / 4) * 4 * w % 8 + i % 4 * w) % 64);
        }
        w += 1;
    }
    tables
}

const fn words_tables() -> [Words; 33] {
    let mut tables = [Words { second: 0, even: [NONE; 3], odd: [NONE; 3], mask: NONE }; 33];
    let mut w = 0;
    while w <= 32 {
        let second = if w < 16 { 4 * w } else { 64 };
        tables[w] = Words { second, even: words(w, 0), odd: words(w, 1), mask: lanes!(u32, |_i| ones(w)) };
        w += 1;
    }
    tables
}

/// For every second value of `w` bits from `first` on.
const fn words(w: usize, first: usize) -> [Bytes; 3] {
    [
        lanes!(u32, |i| (2 * i + first) * w / 32),
        lanes!(u32, |i| (2 * i + first) * w / 32 + 1),
        lanes!(u32, |i| (2 * i + first) * w % 32),
    ]
}

/// Which four values lane `lane` holds: four by four, lanes are transposed.
pub(super) const fn quad(lane: usize) -> usize {
    4 * (lane % 4) + lane / 4
}

const fn wide_tables() -> [Wide; 65] {
    let mut tables = [Wide {
        natural: NONE,
        natural_high: NONE,
        natural_shifts: NONE,
        even: NONE,
        even_shifts: NONE,
        odd: NONE,
        odd_shifts: NONE,
        mask: NONE,
    }; 65];
    let mut w = 0;
    while w <= 64 {
        let mask = ones(w);
        let table = &mut tables[w];
        table.natural = lanes!(u8, |i| at(i / 8 * w, i % 8));
        table.natural_high = lanes!(u8, |i| at(i / 8 * w, i % 8 + 8));
        table.natural_shifts = lanes!(u64, |i| i * w % 8);
        table.even = lanes!(u8, |i| at(i / 8 * 2 * w, i % 8));
        table.even_shifts = lanes!(u64, |i| 2 * i * w % 8);
        table.odd = lanes!(u8, |i| at((i / 8 * 2 + 1) * w, i % 8));
        table.odd_shifts = lanes!(u64, |i| (2 * i + 1) * w % 8);
        table.mask = lanes!(u64, |_i| mask);
        w += 1;
    }
    tables
}

/// Lanes of a permutation, for constants that are no table's.
pub(super) use lanes;
