//! Split patterns against regexes, on all code points and on hostile texts.

#![allow(clippy::unwrap_used, reason = "tests panic on errors")]

mod alphabet;
mod cases;
mod classes;
mod custom;
mod hostile;
mod oracle;
mod random;
mod speed;
mod sync_points;
mod thread_time;
