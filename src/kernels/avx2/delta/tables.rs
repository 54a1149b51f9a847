//! What the unpacking of a width needs: which bytes go to which lanes, by how much they shift, and what is masked off.
//!
//! Both halves of a vector are loaded from where whole bytes begin, so that one half's constants are the other's.

/// A vector's worth of bytes.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
pub(super) struct Bytes(pub(super) [u8; 32]);

/// Where the values of a vector of 16-bit lanes are: each is shifted down by a multiplication.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub(super) bytes: Bytes,
    /// Not shifted yet.
    pub(super) mask: Bytes,
    pub(super) factors: Bytes,
}

/// Where the values of a vector of wider lanes are: from `bytes` on, and what is left of them in `high_bytes`.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) bytes: Bytes,
    pub(super) shifts: Bytes,
    pub(super) high_bytes: Bytes,
    pub(super) high_shifts: Bytes,
}

/// 8 values of one width up to 16 as four even and four odd ones.
#[derive(Clone, Copy)]
pub(super) struct Pairs {
    pub(super) even: Lanes,
    pub(super) odd: Lanes,
    pub(super) mask: Bytes,
    /// Not shifted yet.
    pub(super) even_mask: Bytes,
    pub(super) odd_mask: Bytes,
}

/// 4 values of one width up to 32 that begin with a byte, and 4 that follow such.
#[derive(Clone, Copy)]
pub(super) struct Fours {
    pub(super) lanes: [Lanes; 2],
    pub(super) mask: Bytes,
}

/// 2 values of one width up to 64, as the first, .., fourth of four such groups of which the first begins with a byte.
#[derive(Clone, Copy)]
pub(super) struct Twos {
    pub(super) lanes: [Lanes; 4],
    pub(super) mask: Bytes,
}

/// The even and the odd ones of 16 values up to 8 bits.
pub(super) static HALVES: [[Halves; 2]; 9] = halves_tables();
pub(super) static PAIRS: [Pairs; 17] = pairs_tables();
pub(super) static FOURS: [Fours; 33] = fours_tables();
pub(super) static TWOS: [Twos; 65] = twos_tables();

const NONE: Bytes = Bytes([0; 32]);

/// Fills a vector of lanes of `$lane` with an expression of the lane's index in its half.
macro_rules! lanes {
    ($lane:ty, |$index:ident| $value:expr) => {{
        const SIZE: usize = size_of::<$lane>();
        let mut bytes = [0; 32];
        let mut $index = 0;
        while $index < 16 / SIZE {
            let lane = (($value) as $lane).to_le_bytes();
            let mut byte = 0;
            while byte < SIZE {
                bytes[$index * SIZE + byte] = lane[byte];
                bytes[16 + $index * SIZE + byte] = lane[byte];
                byte += 1;
            }
            $index += 1;
        }
        Bytes(bytes)
    }};
}

/// A byte of a load of 16, or none, of which a shuffle makes zero: what lies past the load belongs to no value.
const fn byte(index: usize) -> usize {
    if index < 16 { index } else { 0x80 }
}

const fn ones(width: usize) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

/// How far a value in 16 bits is from bit 0: at least 1, as no factor shifts by 0.
const fn half_shift(bit: usize) -> usize {
    if bit.is_multiple_of(8) { 8 } else { bit % 8 }
}

const fn halves(w: usize, first: usize) -> Halves {
    Halves {
        bytes: lanes!(u8, |i| {
            let bit = (i / 2 * 2 + first) * w;
            // A value that begins with a byte is read into the upper one.
            if !bit.is_multiple_of(8) {
                byte(bit / 8 + i % 2)
            } else if i % 2 == 1 {
                byte(bit / 8)
            } else {
                0x80
            }
        }),
        mask: lanes!(u16, |i| ones(w) << half_shift((2 * i + first) * w)),
        factors: lanes!(u16, |i| 1 << (16 - half_shift((2 * i + first) * w))),
    }
}

/// 4 lanes of 32 bits, of the values that begin at bit `first`, and each `step` bits after it.
const fn lanes_of_32(first: usize, step: usize) -> Lanes {
    Lanes {
        bytes: lanes!(u8, |i| byte((first + i / 4 * step) / 8 + i % 4)),
        shifts: lanes!(u32, |i| (first + i * step) % 8),
        high_bytes: lanes!(u8, |i| byte((first + i / 4 * step) / 8 + i % 4 + 4)),
        high_shifts: lanes!(u32, |i| 32 - (first + i * step) % 8),
    }
}

/// 2 lanes of 64 bits; `high_bytes` count from the second byte on, as they may be the 17th.
const fn lanes_of_64(first: usize, step: usize) -> Lanes {
    Lanes {
        bytes: lanes!(u8, |i| byte((first + i / 8 * step) / 8 + i % 8)),
        shifts: lanes!(u64, |i| (first + i * step) % 8),
        high_bytes: lanes!(u8, |i| byte((first + i / 8 * step) / 8 + i % 8 + 7)),
        high_shifts: lanes!(u64, |i| 64 - (first + i * step) % 8),
    }
}

const fn halves_tables() -> [[Halves; 2]; 9] {
    let mut tables = [[Halves { bytes: NONE, mask: NONE, factors: NONE }; 2]; 9];
    let mut w = 0;
    while w < tables.len() {
        tables[w] = [halves(w, 0), halves(w, 1)];
        w += 1;
    }
    tables
}

const fn pairs_tables() -> [Pairs; 17] {
    let lanes = lanes_of_32(0, 0);
    let mut tables = [Pairs { even: lanes, odd: lanes, mask: NONE, even_mask: NONE, odd_mask: NONE }; 17];
    let mut w = 0;
    while w < tables.len() {
        tables[w] = Pairs {
            even: lanes_of_32(0, 2 * w),
            odd: lanes_of_32(w, 2 * w),
            mask: lanes!(u32, |_i| ones(w)),
            even_mask: lanes!(u32, |i| ones(w) << (2 * i * w % 8)),
            odd_mask: lanes!(u32, |i| ones(w) << ((2 * i + 1) * w % 8)),
        };
        w += 1;
    }
    tables
}

const fn fours_tables() -> [Fours; 33] {
    let mut tables = [Fours { lanes: [lanes_of_32(0, 0); 2], mask: NONE }; 33];
    let mut w = 0;
    while w < tables.len() {
        tables[w] = Fours { lanes: [lanes_of_32(0, w), lanes_of_32(4 * w % 8, w)], mask: lanes!(u32, |_i| ones(w)) };
        w += 1;
    }
    tables
}

const fn twos_tables() -> [Twos; 65] {
    let mut tables = [Twos { lanes: [lanes_of_64(0, 0); 4], mask: NONE }; 65];
    let mut w = 0;
    while w < tables.len() {
        let mut two = 0;
        while two < 4 {
            tables[w].lanes[two] = lanes_of_64(2 * two * w % 8, w);
            two += 1;
        }
        tables[w].mask = lanes!(u64, |_i| ones(w));
        w += 1;
    }
    tables
}

/// Lanes of a shuffle, for constants that are no table's.
pub(super) use lanes;
