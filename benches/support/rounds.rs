//! How benches of whole scans measure: all contenders by turns, in an order that changes from round to round.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use crate::Error;
use crate::bounds::percentile;
use crate::contenders::{Contender, Received};
use crate::turns::turns;

/// What each of these benches is asked.
#[derive(Args)]
pub(crate) struct Rounds {
    /// Run the cases alone whose names have this in them
    filter: Option<String>,
    /// 7 rounds a case, and at least 0.3 seconds, instead of 21 rounds and 0.8 seconds
    #[arg(long)]
    quick: bool,
    /// So many rounds
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    rounds: Option<usize>,
    /// Time ours alone, for profilers
    #[arg(long)]
    alone: bool,
    /// Print the plans
    #[arg(long)]
    plans: bool,
    /// Print the names of the cases alone
    #[arg(long)]
    pub(crate) list: bool,
    /// What cargo says to each bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// A contender's name, and its milliseconds in each round.
pub(crate) type Times = (&'static str, Vec<f64>);

impl Rounds {
    pub(crate) fn asks_for(&self, case: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| case.contains(filter.as_str()))
    }

    /// The times of each contender, ours first. All have to deliver the same.
    pub(crate) async fn measure(&self, case: &str, mut contenders: Vec<Contender>) -> Result<Vec<Times>, Error> {
        if self.alone {
            contenders.truncate(1);
        }
        let mut expected: Option<Received> = None;
        for contender in &contenders {
            if self.plans {
                println!("{} of {case}:\n{}", contender.name(), contender.plan());
            }
            let Some(received) = contender.receive().await? else { continue };
            match &expected {
                None => expected = Some(received),
                Some(expected) if *expected == received => {}
                Some(expected) => {
                    let peer = contender.name();
                    return Err(format!("{case}: we deliver {expected:?}, {peer} delivers {received:?}").into());
                }
            }
        }
        let rows = expected.map_or(0, |received| received.rows);
        let rounds = self.rounds.unwrap_or(if self.quick { 7 } else { 21 });
        let mut times: Vec<Times> = contenders.iter().map(|contender| (contender.name(), Vec::new())).collect();
        // Short scans meet more noise.
        let (start, least) = (Instant::now(), Duration::from_millis(40) * rounds as u32);
        let mut round = 0;
        while round < rounds || self.rounds.is_none() && start.elapsed() < least {
            for index in turns(contenders.len(), round) {
                times[index].1.push(contenders[index].time(rows).await?);
            }
            round += 1;
        }
        let spreads: Vec<String> = times.iter().map(|(name, times)| format!("{name} {}", spread(times))).collect();
        println!("{case}: {rows} rows; {}", spreads.join(", "));
        Ok(times)
    }
}

fn spread(times: &[f64]) -> String {
    format!("{:.2} ({:.2} to {:.2})", percentile(times, 50), percentile(times, 10), percentile(times, 90))
}

/// A temporary folder.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(bench: &str) -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("miniblock-{bench}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
