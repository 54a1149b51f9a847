//! How sure a ratio of medians is.

/// Resamples that bounds are taken from.
const RESAMPLES: usize = 2000;
/// Fewer rounds cannot bound a median: all of five lie on one side of it in one case of sixteen.
const FEWEST_ROUNDS: usize = 5;

/// A ratio, and where it was known well enough the bounds that hold it with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) estimate: f64,
    pub(crate) bounds: Option<(f64, f64)>,
}

impl Ratio {
    /// Below 1 whatever the noise.
    pub(crate) fn is_slower(self) -> bool {
        self.bounds.is_some_and(|(_, upper)| upper < 1.0)
    }

    /// Above 1 whatever the noise.
    pub(crate) fn is_faster(self) -> bool {
        self.bounds.is_some_and(|(lower, _)| lower > 1.0)
    }
}

/// A ratio and its bootstrap replicates: what it would have been, had other rounds been drawn from the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Bootstrap {
    estimate: f64,
    /// Empty where there were too few rounds.
    replicates: Vec<f64>,
}

impl Bootstrap {
    /// The best median of `theirs` over that of `ours`. Times with the same index were measured in the same round, next to
    /// each other, and are drawn together: what slowed a whole round down slowed all of them.
    ///
    /// None without rounds on both sides.
    pub(crate) fn of_medians(ours: &[f64], theirs: &[&[f64]]) -> Option<Self> {
        let rounds = theirs.iter().map(|times| times.len()).chain([ours.len()]).min()?;
        if rounds == 0 || theirs.is_empty() {
            return None;
        }
        let ratio = |drawn: &[usize]| {
            let median = |times: &[f64]| median(drawn.iter().map(|&round| times[round]).collect());
            theirs.iter().map(|times| median(times)).fold(f64::INFINITY, f64::min) / median(ours)
        };
        let mut drawn: Vec<usize> = (0..rounds).collect();
        let estimate = ratio(&drawn);
        let mut replicates = Vec::new();
        if rounds >= FEWEST_ROUNDS {
            // The same times have the same bounds, and other queries draw other rounds.
            let mut random = SplitMix(ours[0].to_bits());
            replicates.extend((0..RESAMPLES).map(|_| {
                drawn.fill_with(|| random.below(rounds));
                ratio(&drawn)
            }));
        }
        Some(Self { estimate, replicates })
    }

    /// None of none.
    pub(crate) fn geometric_mean<'a>(of: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let of: Vec<_> = of.into_iter().collect();
        if of.is_empty() {
            return None;
        }
        let mean = |logarithms: f64| (logarithms / of.len() as f64).exp();
        let replicates = of.iter().map(|ratio| ratio.replicates.len()).min().unwrap_or(0);
        Some(Self {
            estimate: mean(of.iter().map(|ratio| ratio.estimate.ln()).sum()),
            replicates: (0..replicates).map(|i| mean(of.iter().map(|ratio| ratio.replicates[i].ln()).sum())).collect(),
        })
    }

    pub(crate) fn ratio(&self) -> Ratio {
        let mut sorted = self.replicates.clone();
        sorted.sort_by(f64::total_cmp);
        let tail = sorted.len() / 40;
        let bounds = sorted.get(tail).zip(sorted.iter().rev().nth(tail));
        Ratio { estimate: self.estimate, bounds: bounds.map(|(&lower, &upper)| (lower, upper)) }
    }
}

/// Of one value or more.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// Steele, Lea and Flood's generator: good enough to draw rounds.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(ours: &[f64], theirs: &[&[f64]]) -> Ratio {
        Bootstrap::of_medians(ours, theirs).unwrap().ratio()
    }

    #[test]
    fn the_better_setting_counts() {
        let ratio = ratio(&[2.0; 5], &[&[6.0; 5], &[3.0; 5]]);
        assert_eq!(ratio, Ratio { estimate: 1.5, bounds: Some((1.5, 1.5)) });
        assert!(ratio.is_faster() && !ratio.is_slower());
    }

    #[test]
    fn few_rounds_have_no_bounds() {
        let ratio = ratio(&[2.0; 4], &[&[1.0; 4]]);
        assert_eq!(ratio, Ratio { estimate: 0.5, bounds: None });
        assert!(!ratio.is_slower());
        assert!(Bootstrap::of_medians(&[], &[&[]]).is_none());
        assert!(Bootstrap::of_medians(&[1.0], &[]).is_none());
    }

    #[test]
    fn bounds_hold_the_noise() {
        let ours: Vec<_> = (0..15).map(|round| 10.0 + f64::from(round % 5)).collect();
        let theirs: Vec<_> = (0..15).map(|round| 10.5 + f64::from((round * 7) % 5)).collect();
        let noisy = ratio(&ours, &[&theirs]);
        let (lower, upper) = noisy.bounds.unwrap();
        assert!(lower < noisy.estimate && noisy.estimate < upper, "{noisy:?}");
        assert!(!noisy.is_slower() && !noisy.is_faster(), "{noisy:?}");
        // Noise that a round has in common with itself is none.
        let shared: Vec<_> = ours.iter().map(|time| time * 0.9).collect();
        assert!(ratio(&ours, &[&shared]).is_slower());
    }

    #[test]
    fn geometric_means() {
        let of = |ours: f64| Bootstrap::of_medians(&[ours; 5], &[&[1.0; 5]]).unwrap();
        let mean = Bootstrap::geometric_mean([&of(0.5), &of(0.125)]).unwrap().ratio();
        assert!((mean.estimate - 4.0).abs() < 1e-12);
        assert!(mean.bounds.is_some_and(|(lower, upper)| (lower - 4.0).abs() < 1e-12 && (upper - 4.0).abs() < 1e-12));
        assert!(Bootstrap::geometric_mean([]).is_none());
    }

    #[test]
    fn draws_are_even() {
        let mut counts = [0; 5];
        let mut random = SplitMix(1);
        (0..5000).for_each(|_| counts[random.below(5)] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }
}
