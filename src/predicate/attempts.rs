//! When to try again what was tried in vain.

/// The longest pause.
const LONGEST: u32 = 64;

/// Whether to try what costs time and may be in vain: after some failures in a row there are pauses, each twice as long as the
/// one before.
#[derive(Debug, Clone)]
pub struct Attempts {
    patience: u32,
    /// Failures since the last success.
    in_vain: u32,
    /// Calls of [`Attempts::is_due`] before the next that says yes.
    pause: u32,
}

impl Attempts {
    /// Without pauses before more than `patience` failures in a row.
    pub const fn new(patience: u32) -> Self {
        Self { patience, in_vain: 0, pause: 0 }
    }

    /// Whether to try now. Asked each time that one could.
    pub fn is_due(&mut self) -> bool {
        self.pause = self.pause.saturating_sub(1);
        self.pause == 0
    }

    /// Whether there are no pauses now.
    pub fn is_hopeful(&self) -> bool {
        self.in_vain <= self.patience
    }

    /// Notes how a try ended.
    pub fn note(&mut self, success: bool) {
        if success {
            *self = Self::new(self.patience);
            return;
        }
        self.in_vain = self.in_vain.saturating_add(1);
        let more = self.in_vain.saturating_sub(self.patience).min(LONGEST.ilog2());
        self.pause = if more == 0 { 0 } else { 1 << more };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let mut attempts = Attempts::new(2);
        let mut fail = || {
            let pause = (1..).find(|_| attempts.is_due());
            attempts.note(false);
            pause
        };
        let pauses: Vec<_> = std::iter::from_fn(&mut fail).take(11).collect();
        assert_eq!(pauses, [1, 1, 1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!((1..).find(|_| attempts.is_due()), Some(64));
        attempts.note(true);
        assert!(attempts.is_due());
    }
}
