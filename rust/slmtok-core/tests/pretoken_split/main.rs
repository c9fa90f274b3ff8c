//! What a split pattern promises, checked against regexes, against all code points and against hostile texts.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod alphabet;
mod cases;
mod certain;
mod classes;
mod custom;
mod hostile;
mod oracle;
mod random;
mod speed;
