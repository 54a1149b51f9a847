use crate::ratio::Bootstrap;

/// So many percent of the times are less.
pub(crate) fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * percent / 100]
}

/// `RATIO [LOW..HIGH]`.
pub(crate) fn with_bounds(bootstrap: &Bootstrap) -> String {
    let ratio = bootstrap.ratio();
    match ratio.bounds {
        Some((low, high)) => format!("{:.3} [{low:.3}..{high:.3}]", ratio.estimate),
        None => format!("{:.3}", ratio.estimate),
    }
}
