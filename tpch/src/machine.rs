//! The machine: its name, the runtime on it, pinning, and the process's CPU time.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::Result;

/// A current-thread runtime for one thread, else one with that many workers.
pub(crate) fn runtime(threads: usize) -> Result<Runtime> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    Ok(builder.enable_all().build()?)
}

/// Pins this thread, and those that it starts from now on, to the core that it runs on; none where that cannot be done.
#[cfg(target_os = "linux")]
pub(crate) fn pin_to_one_core() -> Option<usize> {
    // SAFETY: takes no arguments and touches no memory of ours.
    let core = usize::try_from(unsafe { libc::sched_getcpu() }).ok()?;
    if core >= libc::CPU_SETSIZE as usize {
        return None;
    }
    // SAFETY: a cpu_set_t is an array of integers, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `core` was checked against the size of the set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: `set` is valid and its size is given; 0 is the calling thread.
    let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    (status == 0).then_some(core)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_to_one_core() -> Option<usize> {
    None
}

/// User and system time of the process so far, all threads together; none where it is not known.
#[cfg(unix)]
pub(crate) fn process_cpu_time() -> Option<Duration> {
    // SAFETY: an rusage is plain integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return None;
    }
    let duration = |time: libc::timeval| {
        let micros = u64::try_from(time.tv_usec).unwrap_or(0);
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
    };
    Some(duration(usage.ru_utime) + duration(usage.ru_stime))
}

#[cfg(not(unix))]
pub(crate) fn process_cpu_time() -> Option<Duration> {
    None
}

/// What a reader of the figures must know of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) os: &'static str,
    pub(crate) arch: &'static str,
}

impl Machine {
    pub(crate) fn this() -> Self {
        // Linux on x86-64; elsewhere the architecture must do.
        let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cores = cpu_info.lines().filter(|line| line.starts_with("processor")).count();
        Self {
            cpu: model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned()),
            // Not the cores that the process may use: by now it may be pinned to one.
            cores: if cores > 0 { cores } else { std::thread::available_parallelism().map_or(1, usize::from) },
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
        }
    }
}

/// The versions of the peers, by name.
pub(crate) fn versions() -> [(&'static str, &'static str); 3] {
    let parquet = parquet::file::properties::DEFAULT_CREATED_BY;
    [
        // One version for the whole workspace.
        ("miniblock", env!("CARGO_PKG_VERSION")),
        ("datafusion", datafusion::DATAFUSION_VERSION),
        ("parquet", parquet.rsplit(' ').next().unwrap_or(parquet)),
    ]
}
