//! Speed of the scanners in MB/s: a measurement, not a test.

use std::time::Instant;

use slmtok_core::pretoken::{Pattern, Scanner};

use crate::oracle::ALL;

/// `SLMTOK_TEXT=file cargo test --release -p slmtok-core --test pretoken_split -- --ignored speed --nocapture`
#[test]
#[ignore = "a measurement; needs SLMTOK_TEXT"]
fn speed() {
    let path = std::env::var("SLMTOK_TEXT").expect("SLMTOK_TEXT names a text file");
    let text = std::fs::read(path).unwrap();
    for name in ALL {
        let mut scanner = Pattern::new(name).unwrap().scanner();
        let (best, pieces) =
            (0..5).map(|_| measure(scanner.as_mut(), &text)).reduce(|a, b| (a.0.min(b.0), a.1)).unwrap();
        println!("{name:10} {:7.0} MB/s  {pieces} pieces", text.len() as f64 / best / 1e6);
    }
}

/// Seconds and pieces of one pass.
fn measure(scanner: &mut dyn Scanner, text: &[u8]) -> (f64, usize) {
    let clock = Instant::now();
    let (mut ends, mut at, mut pieces) = ([0; 256], 0, 0);
    loop {
        let filled = scanner.fill(text, at, &mut ends).unwrap();
        if filled == 0 {
            return (clock.elapsed().as_secs_f64(), pieces);
        }
        pieces += filled;
        at = ends[filled - 1];
    }
}
