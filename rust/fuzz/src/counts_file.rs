//! Bodies of counts files: any bytes are counts or an error, and what was read is written and read again as it was.

use slmtok_core::count::Counts;
use slmtok_core::count::counts_file::{Input as File, merge_files, read, write};
use slmtok_core::pretoken::Pattern;

use crate::input::Input;

/// A body as it stands, or one that was written and then changed in a few places.
pub fn counts_file(data: &[u8]) {
    let mut input = Input(data);
    let columns = 1 + input.below(3);
    let body = if input.below(2) == 0 { input.part(usize::MAX).to_vec() } else { changed(&mut input, columns) };
    let Some(found) = loaded(&body, columns) else { return };
    let parts: Vec<&Counts> = found.iter().collect();
    // Each column fits 64 bits; a row of several need not.
    let Some(again) = written(&parts) else { return };
    let back = loaded(&again, columns).expect("what was just written is sound");
    for (one, other) in found.iter().zip(&back) {
        assert_eq!((one.sorted(), one.totals.pieces), (other.sorted(), other.totals.pieces));
    }
    assert_eq!(merged(&body, columns), Some(again), "merging one file is writing what it holds");
}

fn pattern() -> Pattern {
    Pattern::new("whole").expect("a registered name compiles")
}

fn changed(input: &mut Input<'_>, columns: usize) -> Vec<u8> {
    let places: Vec<(usize, u8)> = (0..input.below(4)).map(|_| (input.below(256) * 7, input.byte())).collect();
    let counts: Vec<Counts> = (0..columns)
        .map(|_| {
            let pieces: Vec<&[u8]> = (0..input.below(40)).map(|n| input.part(1 + n % 19)).collect();
            let items = pieces.iter().zip(1u64..).map(|(piece, n)| (*piece, n << (n % 57)));
            Counts::from_items(pattern(), items, 0, 0).expect("small sums")
        })
        .collect();
    let mut body = written(&counts.iter().collect::<Vec<_>>()).expect("small sums");
    for (at, byte) in places {
        let length = body.len();
        body[at % length] = byte;
    }
    body
}

fn written(columns: &[&Counts]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut take = |block: &[u8]| {
        bytes.extend_from_slice(block);
        Ok(())
    };
    write(columns, &mut take).ok()?;
    Some(bytes)
}

fn loaded(body: &[u8], columns: usize) -> Option<Vec<Counts>> {
    on_disk(body, columns, |file| read(&[file], columns, &pattern()).ok())
}

fn merged(body: &[u8], columns: usize) -> Option<Vec<u8>> {
    on_disk(body, columns, |file| {
        let mut bytes = Vec::new();
        let mut take = |block: &[u8]| {
            bytes.extend_from_slice(block);
            Ok(())
        };
        // The sums tell what pruning took, which counts in memory do not know; forged, they may not fit when rows are added.
        merge_files(&[file], columns, 0, &mut take).ok()?;
        let pruned = bytes.len() - 8 * (columns + 2)..bytes.len() - 8;
        bytes[pruned].fill(0);
        Some(bytes)
    })
}

/// Calls `with` on a file that holds `body` alone.
fn on_disk<T>(body: &[u8], columns: usize, with: impl FnOnce(File) -> T) -> T {
    let path =
        std::env::temp_dir().join(format!("slmtok-fuzz-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::write(&path, body).expect("a temporary file");
    let length = body.len() as u64;
    let result =
        with(File { path: path.to_string_lossy().into_owned(), body: 0..length, columns: (0..columns).collect() });
    std::fs::remove_file(&path).expect("it was there");
    result
}
