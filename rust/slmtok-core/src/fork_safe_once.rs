//! Lazy initialisation that is safe across `fork()`.

use std::sync::OnceLock;

/// The value of `cell`; computes it with `init` if the cell is empty.
///
/// The value is computed outside the cell. A child process inherits a cell whose initialisation another thread had begun,
/// and `OnceLock::get_or_init` alone would wait forever for that thread. Two threads may both run `init`; one result is
/// dropped.
pub fn get_or_init<T>(cell: &OnceLock<T>, init: impl Fn() -> T) -> &T {
    if cell.get().is_none() {
        // An error means that another thread stored an equal value first.
        let _ = cell.set(init());
    }
    cell.get_or_init(init)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_get_one_value() {
        let cell = OnceLock::new();
        let addresses: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| std::ptr::from_ref(get_or_init(&cell, || vec![1, 2, 3])) as usize))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(addresses.iter().all(|&address| address == addresses[0]));
        assert_eq!(get_or_init(&cell, Vec::new), &[1, 2, 3]);
    }
}
