//! Values that are made when they are first wanted, and that a fork cannot leave half made.

use std::sync::OnceLock;

/// The value of `cell`, made if it is not there.
///
/// Made outside the cell: a child of a fork inherits a cell in which another thread was at work, and would wait for that
/// thread for ever. Two threads may both make it, and one of the results is dropped.
pub fn get_or_init<T>(cell: &OnceLock<T>, make: impl Fn() -> T) -> &T {
    if cell.get().is_none() {
        // Another thread may have been faster, with the same value.
        let _ = cell.set(make());
    }
    cell.get_or_init(make)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_see_one_value() {
        let cell = OnceLock::new();
        let seen: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| std::ptr::from_ref(get_or_init(&cell, || vec![1, 2, 3])) as usize))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(seen.iter().all(|&address| address == seen[0]));
        assert_eq!(get_or_init(&cell, Vec::new), &[1, 2, 3]);
    }
}
