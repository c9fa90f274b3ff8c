//! Foreign vocabularies: from tiktoken's ranks to merges.
//!
//! tiktoken merges neighbours whose *joined bytes* have a rank; we merge *pairs*. Where every token encodes to itself the
//! two are the same, and the pair of a token is what its bytes merge to just before the last step. So each token is taken
//! apart by the merges before it; one that does not end as two parts is refused.

use crate::merge::merge_uncached;
use crate::merge::pair_table::PairTable;
use crate::merges::{MAX_TOKENS, Merges};
use crate::{Error, Result};

/// Merges for `tokens`, given in the order of their ranks, and for each internal id its place in `tokens`.
///
/// # Errors
/// A missing byte, a repeated or empty token, or one that pair merges cannot reach.
pub fn merges_from_ranks(tokens: &[&[u8]]) -> Result<(Merges, Vec<usize>)> {
    let fail = |rank: usize, token: &[u8], reason: &str| {
        Err(Error::InvalidRanks { rank, token: token.to_vec(), reason: reason.to_owned() })
    };
    let mut rank_of_byte = [None; 256];
    for (rank, &token) in tokens.iter().enumerate() {
        if token.is_empty() || rank >= MAX_TOKENS {
            return fail(rank, token, "is empty, or beyond 2^21 tokens");
        }
        if let [byte] = *token
            && rank_of_byte[usize::from(byte)].replace(rank).is_some()
        {
            return fail(rank, token, "is there twice");
        }
    }
    let mut places = Vec::with_capacity(tokens.len());
    for (byte, rank) in (0..=255).zip(rank_of_byte) {
        match rank {
            Some(rank) => places.push(rank),
            None => return fail(tokens.len(), &[byte], "is missing: all 256 bytes must be tokens"),
        }
    }
    let (mut pairs, mut table) = (Vec::new(), PairTable::with_capacity(tokens.len()));
    let mut parts = Vec::new();
    for (rank, &token) in tokens.iter().enumerate().filter(|(_, token)| token.len() > 1) {
        merge_uncached(&table, token, &mut parts);
        let (left, right) = match parts[..] {
            [left, right] => (left, right),
            // Later merges do not get in the way of earlier ones: it merges to itself, so it is known.
            [_] => return fail(rank, token, "is there twice"),
            _ => {
                let reason = format!("is never made by merging pairs: its bytes end as {} tokens", parts.len());
                return fail(rank, token, &reason);
            }
        };
        table.insert(left, right, 256 + pairs.len() as u32);
        pairs.push((left, right));
        places.push(rank);
    }
    Ok((Merges::new(pairs)?, places))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_bytes<'a>(more: &[&'a [u8]], bytes: &'a [[u8; 1]]) -> Vec<&'a [u8]> {
        bytes.iter().map(<[u8; 1]>::as_slice).chain(more.iter().copied()).collect()
    }

    #[test]
    fn ranks_become_pairs() {
        // Bytes in another order than their values, as in real tables.
        let bytes: Vec<[u8; 1]> = (0..=255u8).rev().map(|byte| [byte]).collect();
        let tokens = with_bytes(&[b"ab", b"abc", b"bc"], &bytes);
        let (merges, places) = merges_from_ranks(&tokens).unwrap();
        assert_eq!(merges.pairs(), [(97, 98), (256, 99), (98, 99)]);
        assert_eq!((places[97], places[256]), (158, 256));
    }

    #[test]
    fn a_table_that_pairs_cannot_follow_is_refused() {
        let bytes: Vec<[u8; 1]> = (0..=255u8).map(|byte| [byte]).collect();
        let fault = |more: &[&[u8]]| merges_from_ranks(&with_bytes(more, &bytes)).unwrap_err().to_string();
        assert!(fault(&[b"abc"]).contains("never made"));
        assert!(fault(&[b"ab", b"ab"]).contains("twice"));
        assert!(fault(&[b"ab", b"bc", b"abc", b"abcab", b"abc"]).contains("twice"));
        assert!(fault(&[b"ab", b"a"]).contains("twice"));
        assert!(fault(&[b""]).contains("empty"));
        assert!(merges_from_ranks(&with_bytes(&[], &bytes)[1..]).unwrap_err().to_string().contains("missing"));
    }
}
