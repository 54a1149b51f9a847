//! What the benches share: ours beside others in one process, by turns, and a line of the ratio for each of them.
//!
//! Machines are noisy, and their noise has a duration: whoever is measured a second later meets another machine. So a round
//! lets each contender run for some 50 to 100 microseconds, the order rotates from round to round, and medians over all
//! rounds are compared. Criterion decides how many rounds there are, and has the command line and the baselines: to it, a
//! round is an iteration that takes the time of one call of ours.

use std::cell::RefCell;
use std::hint::black_box;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};

pub(crate) use random::random;

mod random;

/// The name of the crate that we compare ourselves with.
pub(crate) const PEER: &str = "peer";

const MEMCPY: &str = "memcpy";

/// What a contender runs for in each round.
const BATCH: Duration = Duration::from_micros(50);

/// A bench of cases.
pub(crate) struct Bench {
    criterion: Criterion,
    lines: Vec<String>,
}

impl Bench {
    /// Options come from the command line, as criterion has them.
    pub(crate) fn from_args() -> Self {
        let quick = std::env::args().any(|arg| arg == "--quick");
        let criterion = Criterion::default()
            .without_plots()
            .sample_size(20)
            // Criterion's estimates are of ours alone, and decide nothing here.
            .nresamples(1001)
            .warm_up_time(Duration::from_millis(100))
            // Of a quick run the most, after which criterion does not wait for its samples to agree.
            .measurement_time(Duration::from_millis(if quick { 100 } else { 600 }))
            .configure_from_args();
        println!("ns a value: median (10th to 90th percentile) over rounds in which all are measured");
        Self { criterion, lines: Vec::new() }
    }

    /// A case by name, on `values` values; `ours` is one call.
    pub(crate) fn case<'a, A>(&'a mut self, name: &str, values: usize, ours: impl FnMut() -> A + 'a) -> Case<'a> {
        let name = name.to_string();
        Case { bench: self, name, values, buffers: String::new(), contenders: vec![Contender::new("ours", ours)] }
    }

    /// Prints a line for each case that ran and each of its contenders: `ratio CASE OURS_NS PEER_NS RATIO` and
    /// `NAME-ratio CASE OURS_NS NAME_NS RATIO` say how many times faster we are, `memcpy CASE OURS_NS MEMCPY_NS RATIO` how many
    /// times as long we take.
    pub(crate) fn finish(self) {
        for line in &self.lines {
            println!("{line}");
        }
    }
}

/// A case: contenders that do the same work.
pub(crate) struct Case<'a> {
    bench: &'a mut Bench,
    name: String,
    values: usize,
    buffers: String,
    contenders: Vec<Contender<'a>>,
}

impl<'a> Case<'a> {
    /// A contender: one call of `work`. [`PEER`] is another crate.
    pub(crate) fn against<A>(mut self, name: &'static str, work: impl FnMut() -> A + 'a) -> Self {
        self.contenders.push(Contender::new(name, work));
        self
    }

    /// A copy of `values`, which are what we write, to `out`.
    pub(crate) fn memcpy<T: Copy>(self, values: &'a [T], out: &'a RefCell<Buffer<T>>) -> Self {
        self.buffer("output", size_of_val(values))
            .against(MEMCPY, move || black_box(&mut **out.borrow_mut()).copy_from_slice(black_box(values)))
    }

    /// Says how large a buffer is.
    pub(crate) fn buffer(mut self, name: &str, bytes: usize) -> Self {
        self.buffers += &format!("; {name} of {bytes} bytes");
        self
    }

    /// Measures, unless the command line filters the case out.
    pub(crate) fn run(self) {
        let Self { bench, name, values, buffers, mut contenders } = self;
        let (face, rest) = name.split_once('/').expect("FACE/TYPE/WIDTH/COUNT/ISA");
        let mut round = 0;
        let mut group = bench.criterion.benchmark_group(face);
        group.throughput(Throughput::Elements(values as u64));
        group.bench_function(rest, |bencher| {
            bencher.iter_custom(|rounds| {
                let mut ours = 0.0;
                for _ in 0..rounds {
                    round += 1;
                    for turn in 0..contenders.len() {
                        let contender = (round + turn) % contenders.len();
                        contenders[contender].sample();
                    }
                    ours += contenders[0].samples.last().expect("a sample was taken");
                }
                Duration::from_secs_f64(ours / 1e9)
            });
        });
        group.finish();
        if round == 0 {
            return;
        }
        let spreads: Vec<_> = contenders.iter_mut().map(|contender| contender.spread(values)).collect();
        let times: Vec<String> = contenders
            .iter()
            .zip(&spreads)
            .map(|(contender, [low, median, high])| format!("{} {median:.4} ({low:.4} to {high:.4})", contender.name))
            .collect();
        println!("{name}: {}; {round} rounds{buffers}\n", times.join(", "));
        let [_, ours, _] = spreads[0];
        for (contender, [_, other, _]) in contenders.iter().zip(&spreads).skip(1) {
            let (line, ratio) = match contender.name {
                PEER => ("ratio".to_string(), other / ours),
                MEMCPY => (MEMCPY.to_string(), ours / other),
                own => (format!("{own}-ratio"), other / ours),
            };
            bench.lines.push(format!("{line} {name} {ours:.4} {other:.4} {ratio:.2}"));
        }
    }
}

/// One of those who are compared.
struct Contender<'a> {
    name: &'static str,
    /// The time of so many calls.
    time: Box<dyn FnMut(u32) -> Duration + 'a>,
    /// Calls that take a [`BATCH`]; 0 before they are known.
    calls: u32,
    /// Nanoseconds a call.
    samples: Vec<f64>,
}

impl<'a> Contender<'a> {
    fn new<A>(name: &'static str, mut work: impl FnMut() -> A + 'a) -> Self {
        let time = move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(work());
            }
            start.elapsed()
        };
        Self { name, time: Box::new(time), calls: 0, samples: Vec::new() }
    }

    fn sample(&mut self) {
        if self.calls == 0 {
            self.calls = 1;
            while (self.time)(self.calls) < BATCH {
                self.calls *= 2;
            }
        }
        // Not counted: what the others left of our buffers is not in the cache.
        (self.time)(1);
        self.samples.push((self.time)(self.calls).as_nanos() as f64 / f64::from(self.calls));
    }

    /// The 10th, 50th and 90th percentile, in nanoseconds a value.
    fn spread(&mut self, values: usize) -> [f64; 3] {
        self.samples.sort_unstable_by(f64::total_cmp);
        [10, 50, 90].map(|percent| self.samples[(self.samples.len() - 1) * percent / 100] / values as f64)
    }
}

/// Values that begin at a line of the cache.
pub(crate) struct Buffer<T> {
    values: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Buffer<T> {
    pub(crate) fn new(len: usize) -> Self {
        Self::aligned_at(0, len)
    }

    /// Values of which the one at `index` begins at a line.
    pub(crate) fn aligned_at(index: usize, len: usize) -> Self {
        let line = 64 / size_of::<T>();
        let values = vec![T::default(); len + 2 * line];
        let start = values.as_ptr().align_offset(64) + (line - index % line) % line;
        Self { values, start, len }
    }

    /// Not the zeros of [`Buffer::new`], which the system may keep in one page of memory.
    pub(crate) fn copy_of(values: &[T]) -> Self {
        let mut buffer = Self::new(values.len());
        buffer.copy_from_slice(values);
        buffer
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[self.start..][..self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..][..self.len]
    }
}
