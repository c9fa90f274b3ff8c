//! Lazy initialisation that is safe across `fork()`.

use std::convert::Infallible;
use std::sync::OnceLock;

/// The value of `cell`; computes it with `init` if the cell is empty.
///
/// The value is computed outside the cell. A child process inherits a cell whose initialisation another thread had begun,
/// and `OnceLock::get_or_init` alone would wait forever for that thread. Two threads may both run `init`; one result is
/// dropped, so both must be equal.
pub fn get_or_init<T>(cell: &OnceLock<T>, init: impl FnOnce() -> T) -> &T {
    let Ok(value) = get_or_try_init(cell, || Ok::<T, Infallible>(init()));
    value
}

/// As [`get_or_init`], where computing the value may fail. After an error the cell is still empty.
///
/// # Errors
/// What `init` returns.
pub fn get_or_try_init<T, E>(cell: &OnceLock<T>, init: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = init()?;
    Ok(cell.get_or_init(|| value))
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

    #[test]
    fn after_an_error_the_next_call_computes_the_value() {
        let cell = OnceLock::new();
        assert_eq!(get_or_try_init(&cell, || Err("no memory")), Err("no memory"));
        assert_eq!(get_or_try_init(&cell, || Ok::<_, &str>(7)), Ok(&7));
        assert_eq!(get_or_try_init(&cell, || Err("not called")), Ok(&7));
    }
}
