//! Finding a token that comes twice.

use crate::piece::{fresh_seed, hash_long};

/// The index of the first token that equals one before it. Empty tokens are passed over.
pub fn first_repeat<'a>(tokens: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<usize> {
    let size = (2 * tokens.len()).next_power_of_two();
    let mut seen: Vec<&[u8]> = vec![&[]; size];
    let seed = fresh_seed();
    let mut known = |token: &'a [u8]| {
        let mut at = hash_long(token, seed) as usize;
        loop {
            let slot = &mut seen[at & (size - 1)];
            if slot.is_empty() {
                *slot = token;
                return false;
            }
            if *slot == token {
                return true;
            }
            at += 1;
        }
    };
    tokens.enumerate().find(|(_, token)| !token.is_empty() && known(token)).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_comes_again() {
        let repeat = |text: &str| first_repeat(text.split(' ').map(str::as_bytes).collect::<Vec<_>>().into_iter());
        assert_eq!(repeat("a b ab ba abc"), None);
        assert_eq!(repeat("a b ab b a"), Some(3));
        assert_eq!(repeat("a   b"), None, "empty ones");
        assert_eq!(repeat("a  b a"), Some(3));
        let many: Vec<String> = (0..50_000).map(|n| n.to_string()).collect();
        assert_eq!(first_repeat(many.iter().map(String::as_bytes)), None);
        assert_eq!(
            first_repeat(many.iter().chain(&many[7..8]).map(String::as_bytes).collect::<Vec<_>>().into_iter()),
            Some(50_000)
        );
    }
}
