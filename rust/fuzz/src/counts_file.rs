//! Bodies of counts files: any bytes are counts or an error, and counts that were read are written and read back unchanged.

use slmtok_core::Result;
use slmtok_core::count::Counts;
use slmtok_core::count::counts_file::{Input as File, merge_files, read, write};
use slmtok_core::pretoken::Pattern;

use crate::input::Input;

/// A block of a body is appended here.
type Write<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

/// Reads the input as a body, or writes a body and changes a few of its bytes.
pub fn counts_file(data: &[u8]) {
    let mut input = Input(data);
    let columns = 1 + input.below(3);
    let body = if input.below(2) == 0 { input.part(usize::MAX).to_vec() } else { changed(&mut input, columns) };
    let Some(counts) = loaded(&body, columns) else { return };
    // Each column fits 64 bits; the sum of a row may not.
    let Some(rewritten) = written(&counts) else { return };
    let reread = loaded(&rewritten, columns).expect("a body that was just written is valid");
    for (one, other) in counts.iter().zip(&reread) {
        assert_eq!((one.sorted(), one.totals.pieces), (other.sorted(), other.totals.pieces));
    }
    assert_eq!(merged(&body, columns), Some(rewritten), "merging a single file rewrites it");
}

fn pattern() -> Pattern {
    Pattern::new("whole").expect("registered names compile")
}

fn changed(input: &mut Input<'_>, columns: usize) -> Vec<u8> {
    let changes: Vec<(usize, u8)> = (0..input.below(4)).map(|_| (input.below(256) * 7, input.byte())).collect();
    let column = |input: &mut Input<'_>| {
        let pieces: Vec<&[u8]> = (0..input.below(40)).map(|n| input.part(1 + n % 19)).collect();
        let items = pieces.iter().zip(1u64..).map(|(piece, n)| (*piece, n << (n % 57)));
        Counts::from_items(pattern(), items, 0, 0).expect("small sums")
    };
    let counts: Vec<Counts> = (0..columns).map(|_| column(input)).collect();
    let mut body = written(&counts).expect("small sums");
    for (at, byte) in changes {
        let length = body.len();
        body[at % length] = byte;
    }
    body
}

/// The bytes that `write` passes to its callback.
fn collected<T>(write: impl FnOnce(Write<'_>) -> Result<T>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    write(&mut |block| {
        bytes.extend_from_slice(block);
        Ok(())
    })
    .ok()?;
    Some(bytes)
}

fn written(columns: &[Counts]) -> Option<Vec<u8>> {
    let columns: Vec<&Counts> = columns.iter().collect();
    collected(|take| write(&columns, take))
}

fn loaded(body: &[u8], columns: usize) -> Option<Vec<Counts>> {
    on_disk(body, columns, |file| read(&[file], columns, &pattern(), u64::MAX).ok())
}

fn merged(body: &[u8], columns: usize) -> Option<Vec<u8>> {
    on_disk(body, columns, |file| {
        let mut bytes = collected(|take| merge_files(&[file], columns, 0, take))?;
        // The sums include what pruning removed, which counts in memory do not contain.
        let pruned = bytes.len() - 8 * (columns + 2)..bytes.len() - 8;
        bytes[pruned].fill(0);
        Some(bytes)
    })
}

/// Calls `with` on a file that contains `body` only.
fn on_disk<T>(body: &[u8], columns: usize, with: impl FnOnce(File) -> T) -> T {
    let name = format!("slmtok-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, body).expect("a temporary file");
    let body = 0..body.len() as u64;
    let result = with(File { path: path.to_string_lossy().into_owned(), body, columns: (0..columns).collect() });
    std::fs::remove_file(&path).expect("the file exists");
    result
}
