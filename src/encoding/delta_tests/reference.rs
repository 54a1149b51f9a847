//! An encoder with free choice of everything, and decoders that go value by value.

/// The shape of the blocks of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) values_per_miniblock: usize,
    pub(crate) miniblocks: usize,
}

pub(crate) const SHAPES: [Shape; 8] = [
    Shape { values_per_miniblock: 32, miniblocks: 4 },
    Shape { values_per_miniblock: 32, miniblocks: 1 },
    Shape { values_per_miniblock: 64, miniblocks: 2 },
    Shape { values_per_miniblock: 256, miniblocks: 1 },
    Shape { values_per_miniblock: 256, miniblocks: 8 },
    Shape { values_per_miniblock: 96, miniblocks: 3 },
    // parquet-java allows these.
    Shape { values_per_miniblock: 8, miniblocks: 16 },
    Shape { values_per_miniblock: 40, miniblocks: 5 },
];

pub(super) fn write_uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn write_zigzag(out: &mut Vec<u8>, value: i64) {
    write_uleb(out, (value << 1 ^ value >> 63) as u64);
}

/// Appends values of `bit_width` bits; their number is a multiple of 8.
pub(super) fn pack(out: &mut Vec<u8>, values: &[u64], bit_width: u32) {
    let (mut pending, mut bits) = (0u128, 0);
    for &value in values {
        pending |= u128::from(value) << bits;
        bits += bit_width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    assert_eq!(bits, 0);
}

/// The stream of values that wrap at 64 bits, with the widths that they need, and 0xee for those of unused miniblocks,
/// the bytes of which are missing.
pub(super) fn encode(values: &[i64], shape: Shape) -> Vec<u8> {
    encode_with(values, shape, |delta| delta)
}

/// As [`encode`] for values that wrap at 32 bits.
pub(super) fn encode_i32(values: &[i32], shape: Shape) -> Vec<u8> {
    let wide: Vec<i64> = values.iter().map(|&value| i64::from(value)).collect();
    encode_with(&wide, shape, |delta| i64::from(delta as i32))
}

fn encode_with(values: &[i64], shape: Shape, wrap: impl Fn(i64) -> i64) -> Vec<u8> {
    let mut out = Vec::new();
    write_header(&mut out, shape, values.len() as u64, values.first().copied().unwrap_or(0));
    let deltas: Vec<i64> = values.windows(2).map(|pair| wrap(pair[1].wrapping_sub(pair[0]))).collect();
    for block in deltas.chunks(shape.values_per_miniblock * shape.miniblocks) {
        let min_delta = block.iter().copied().min().unwrap();
        write_zigzag(&mut out, min_delta);
        let miniblocks: Vec<Vec<u64>> = block
            .chunks(shape.values_per_miniblock)
            .map(|deltas| {
                // What wraps at 32 bits is at most 32 bits above the minimum, and all of 64 bits is.
                let mut packed: Vec<u64> = deltas.iter().map(|delta| delta.wrapping_sub(min_delta) as u64).collect();
                packed.resize(shape.values_per_miniblock, 0);
                packed
            })
            .collect();
        let width = |packed: &Vec<u64>| 64 - packed.iter().fold(0, |bits, value| bits | value).leading_zeros();
        for index in 0..shape.miniblocks {
            out.push(miniblocks.get(index).map_or(0xee, |packed| width(packed) as u8));
        }
        for packed in &miniblocks {
            pack(&mut out, packed, width(packed));
        }
    }
    out
}

pub(super) fn write_header(out: &mut Vec<u8>, shape: Shape, count: u64, first: i64) {
    write_uleb(out, (shape.values_per_miniblock * shape.miniblocks) as u64);
    write_uleb(out, shape.miniblocks as u64);
    write_uleb(out, count);
    write_zigzag(out, first);
}

/// The values of a valid stream, and where it ends.
pub(super) fn decode(bytes: &[u8]) -> (Vec<i64>, usize) {
    let mut position = 0;
    let block_size = read_uleb(bytes, &mut position) as usize;
    let miniblocks = read_uleb(bytes, &mut position) as usize;
    let count = read_uleb(bytes, &mut position) as usize;
    let mut value = read_zigzag(bytes, &mut position);
    let mut values = Vec::new();
    if count > 0 {
        values.push(value);
    }
    while values.len() < count {
        let min_delta = read_zigzag(bytes, &mut position);
        let widths = &bytes[position..position + miniblocks];
        position += miniblocks;
        for &width in widths {
            if values.len() == count {
                break;
            }
            for index in 0..block_size / miniblocks {
                let bit = |i: usize| u64::from(bytes[position + i / 8] >> (i % 8) & 1);
                let first = index * usize::from(width);
                let delta = (0..usize::from(width)).fold(0, |delta, i| delta | bit(first + i) << i);
                value = value.wrapping_add(min_delta).wrapping_add(delta as i64);
                if values.len() < count {
                    values.push(value);
                }
            }
            position += block_size / miniblocks / 8 * usize::from(width);
        }
    }
    (values, position)
}

fn read_uleb(bytes: &[u8], position: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*position];
        *position += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn read_zigzag(bytes: &[u8], position: &mut usize) -> i64 {
    let code = read_uleb(bytes, position);
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

pub(crate) fn encode_delta_length(values: &[Vec<u8>], shape: Shape) -> Vec<u8> {
    let lengths: Vec<i32> = values.iter().map(|value| value.len() as i32).collect();
    let mut out = encode_i32(&lengths, shape);
    out.extend(values.iter().flatten());
    out
}

/// With the longest prefixes, except that `shorten` may cut them.
pub(crate) fn encode_delta_byte_array(
    before: &[u8],
    values: &[Vec<u8>],
    shape: Shape,
    mut shorten: impl FnMut(usize) -> usize,
) -> Vec<u8> {
    let mut previous = before;
    let mut prefixes = Vec::new();
    for value in values {
        let common = previous.iter().zip(value).take_while(|(a, b)| a == b).count();
        prefixes.push(shorten(common) as i32);
        previous = value;
    }
    let mut out = encode_i32(&prefixes, shape);
    let suffixes: Vec<Vec<u8>> =
        values.iter().zip(&prefixes).map(|(value, &prefix)| value[prefix as usize..].to_vec()).collect();
    out.extend(encode_delta_length(&suffixes, shape));
    out
}
