//! Whose turn it is.

/// The order of `count` contestants in round `round`.
///
/// Whoever comes after one that read the same files finds them in the caches. So each follows each other one equally often, over
/// `count` rounds, or twice as many where `count` is odd (a Latin square that E. J. Williams balanced so in 1949).
pub(crate) fn turns(count: usize, round: usize) -> impl Iterator<Item = usize> {
    let zigzag = move |turn: usize| if turn.is_multiple_of(2) { count - turn / 2 } else { turn.div_ceil(2) };
    let reversed = !count.is_multiple_of(2) && (round / count) % 2 == 1;
    (0..count).map(move |turn| (zigzag(if reversed { count - 1 - turn } else { turn }) + round) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_follows_each_other_equally_often() {
        for count in 1..9 {
            let rounds = if count % 2 == 0 { count } else { 2 * count };
            let mut follows = vec![vec![0; count]; count];
            for round in 0..rounds {
                let turns: Vec<usize> = turns(count, round).collect();
                let mut sorted = turns.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..count), "{turns:?}");
                turns.windows(2).for_each(|pair| follows[pair[0]][pair[1]] += 1);
            }
            for (first, row) in follows.iter().enumerate() {
                for (second, &times) in row.iter().enumerate() {
                    assert_eq!(times, if first == second { 0 } else { rounds / count }, "{first} {second} of {count}");
                }
            }
        }
    }
}
