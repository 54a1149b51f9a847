//! Bit-packed values to 32-bit lanes, 8 at a time.

use std::arch::x86_64::*;

use crate::kernels::unpack;

/// Constants to unpack one width: the upper four lanes count from the byte in which their first value begins.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Table {
    /// The four bytes in which each value begins, and those after them.
    bytes: [u8; 32],
    high_bytes: [u8; 32],
    /// By how much these are shifted, down and up.
    shifts: [u32; 8],
    high_shifts: [u32; 8],
}

static TABLES: [Table; 33] = {
    let mut tables = [Table { bytes: [0; 32], high_bytes: [0; 32], shifts: [0; 8], high_shifts: [0; 8] }; 33];
    let mut width = 0;
    while width <= 32 {
        let mut lane = 0;
        while lane < 8 {
            let first = if lane < 4 { 0 } else { width / 2 * 8 };
            let bit = lane * width - first;
            let mut byte = 0;
            while byte < 4 {
                // Past the load is nothing that the value needs.
                tables[width].bytes[4 * lane + byte] = if bit / 8 + byte < 16 { (bit / 8 + byte) as u8 } else { 0x80 };
                let high = bit / 8 + byte + 4;
                tables[width].high_bytes[4 * lane + byte] = if high < 16 { high as u8 } else { 0x80 };
                byte += 1;
            }
            tables[width].shifts[lane] = (bit % 8) as u32;
            tables[width].high_shifts[lane] = 32 - (bit % 8) as u32;
            lane += 1;
        }
        width += 1;
    }
    tables
};

/// The body of `Kernels::unpack`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(in crate::kernels) fn unpack<const W: usize>(packed: &[u8], out: &mut [u32]) {
    if W == 0 {
        out.fill(0);
        return;
    }
    let packed = &packed[..out.len() / 8 * W];
    if packed.len() < 32 {
        unpack::unpack::<W>(packed, out);
        return;
    }
    // Nothing that the compiler knows: it would replace shuffles by worse ones.
    let table = std::hint::black_box(&TABLES[W]);
    // SAFETY: 32 bytes each, aligned to as many.
    let (bytes, high_bytes, shifts, high_shifts) = unsafe {
        (
            _mm256_load_si256(table.bytes.as_ptr().cast()),
            _mm256_load_si256(table.high_bytes.as_ptr().cast()),
            _mm256_load_si256(table.shifts.as_ptr().cast()),
            _mm256_load_si256(table.high_shifts.as_ptr().cast()),
        )
    };
    let mask = _mm256_set1_epi32((u32::MAX >> (32 - W)).cast_signed());
    // What two loads of 16 bytes span.
    let span = const { W / 2 + 16 };
    // The values of eight, from 16 bytes at `source` and at `source + W / 2`.
    let values = |source: *const u8| {
        // SAFETY: the callers'.
        let loaded = unsafe { _mm256_loadu2_m128i(source.add(W / 2).cast(), source.cast()) };
        let lanes = _mm256_shuffle_epi8(loaded, bytes);
        let lanes = if W.is_multiple_of(8) {
            lanes
        } else if W <= 25 {
            _mm256_srlv_epi32(lanes, shifts)
        } else {
            let high = _mm256_sllv_epi32(_mm256_shuffle_epi8(loaded, high_bytes), high_shifts);
            _mm256_or_si256(_mm256_srlv_epi32(lanes, shifts), high)
        };
        _mm256_and_si256(lanes, mask)
    };
    let mut eights = out.as_chunks_mut::<8>().0.iter_mut();
    // `span` is 32 at most.
    let whole = (packed.len() - span) / W + 1;
    let mut at = 0;
    for out in eights.by_ref().take(whole) {
        // SAFETY: `span` bytes from `at` on; and a whole vector.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), values(packed.as_ptr().add(at))) };
        at += W;
    }
    // The rest, which is shorter than `span`, from a copy of the last bytes with zeros after them.
    let mut padded = [0; 64];
    // SAFETY: `packed` has 32 bytes and more, and `padded` as well.
    unsafe {
        let last = _mm256_loadu_si256(packed.as_ptr().add(packed.len() - 32).cast());
        _mm256_storeu_si256(padded.as_mut_ptr().cast(), last);
    }
    let rest = 32 + at - packed.len();
    for (index, out) in eights.enumerate() {
        let source = &padded[rest + index * W..][..span];
        // SAFETY: `span` bytes; and a whole vector.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), values(source.as_ptr())) };
    }
}
