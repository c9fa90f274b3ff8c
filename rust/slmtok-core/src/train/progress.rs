//! Progress of a training, through which its caller may end it.
//!
//! The training reports from its own thread: on another one, its memory would not come from that of the training before, and a
//! second training would take up to a sixth longer.

use crate::Result;

/// Reports to the caller of a training; an error of the caller ends it.
pub(super) struct Progress<'a> {
    report: &'a mut dyn FnMut(u64, u64) -> Result<()>,
    learned: u64,
    wanted: u64,
    /// Steps since the last report.
    steps: usize,
}

/// Steps of a loop between two reports: some milliseconds, where each misses the cache.
pub(super) const STEPS: usize = 1 << 16;

impl<'a> Progress<'a> {
    pub fn new(report: &'a mut dyn FnMut(u64, u64) -> Result<()>, wanted: u32) -> Self {
        Self { report, learned: 0, wanted: u64::from(wanted), steps: 0 }
    }

    /// Reports that nothing more was learned.
    pub fn report(&mut self) -> Result<()> {
        self.steps = 0;
        (self.report)(self.learned, self.wanted)
    }

    /// Reports how many merges are learned.
    pub fn learned(&mut self, merges: u32) -> Result<()> {
        self.learned = u64::from(merges);
        self.report()
    }

    /// Reports after [`STEPS`] steps, of which `steps` are now taken.
    #[inline]
    pub fn takes(&mut self, steps: usize) -> Result<()> {
        self.steps += steps;
        if self.steps >= STEPS { self.report() } else { Ok(()) }
    }

    /// Reports at every [`STEPS`]th `step` of a loop with short steps.
    #[inline(always)]
    pub fn at(&mut self, step: usize) -> Result<()> {
        if step % STEPS == STEPS - 1 { self.report() } else { Ok(()) }
    }
}
