//! Comparisons of views.

use std::arch::x86_64::*;

/// Views that are compared at once.
const AT_ONCE: usize = 16;

/// # Safety
/// The processor has the features; `words` has one for each 64 views.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
pub(in crate::kernels) unsafe fn in_views(views: &[u128], set: &[u128], words: &mut [u64]) {
    for (views, word) in views.chunks(64).zip(words) {
        let (whole, rest) = views.as_chunks::<AT_ONCE>();
        *word = 0;
        for (index, views) in whole.iter().enumerate() {
            *word |= u64::from(sixteen(views, set)) << (index * AT_ONCE);
        }
        if !rest.is_empty() {
            let mut last = [0; AT_ONCE];
            last[..rest.len()].copy_from_slice(rest);
            let verdicts = u64::from(sixteen(&last, set)) & ((1 << rest.len()) - 1);
            *word |= verdicts << (whole.len() * AT_ONCE);
        }
    }
}

/// A bit for each view that is in `set`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
#[inline]
fn sixteen(views: &[u128; AT_ONCE], set: &[u128]) -> u16 {
    let at = views.as_ptr().cast::<__m512i>();
    // SAFETY: sixteen views are four vectors.
    let (a, b, c, d) = unsafe {
        let load = |index| _mm512_loadu_si512(at.add(index));
        (load(0), load(1), load(2), load(3))
    };
    let mut pairs = 0;
    for one in set {
        // SAFETY: 16 bytes.
        let one = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(std::ptr::from_ref(one).cast()) });
        let low = u32::from(_mm512_cmpeq_epi64_mask(a, one)) | u32::from(_mm512_cmpeq_epi64_mask(b, one)) << 8;
        let high = u32::from(_mm512_cmpeq_epi64_mask(c, one)) | u32::from(_mm512_cmpeq_epi64_mask(d, one)) << 8;
        let halves = low | high << 16;
        pairs |= halves & halves >> 1;
    }
    // Both halves of a view are equal.
    _pext_u32(pairs, 0x5555_5555) as u16
}
