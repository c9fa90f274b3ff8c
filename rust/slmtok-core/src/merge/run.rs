//! The run kernel: a long piece that repeats one byte, such as a line of dashes, an indent, or adversarial input.
//!
//! The piece stays a run of `n` equal tokens followed by a short tail. A merged id is larger than both of its halves, so once
//! the run's own pair has the lowest rank, it merges along the whole run from left to right: half as many tokens of twice
//! the length, and an odd token moves to the front of the tail. Otherwise the last token of the run merges with the first of
//! the tail, or two tokens of the tail merge.
//!
//! The run's token never occurs in the tail: it is merged from two tokens of the previous run, of which the tail received
//! at most one. The steps are few. Only a halving adds a token to the tail, at most one, so a tail of a piece of n bytes has at
//! most log2(n) tokens, and no more merges happen inside it. Merged ids never decrease, and each merge of the run's last token
//! makes a larger id than the one before. These tokens repeat one byte, so they have different lengths, whose sum is at most
//! 32 MiB: there are at most 8,191.

use std::collections::VecDeque;

use super::pair_table::{NONE, PairTable};

/// Whether a piece repeats one byte.
pub fn is_run(piece: &[u8]) -> bool {
    piece.split_first().is_some_and(|(_, rest)| rest == &piece[..rest.len()])
}

/// Encodes `n` times `byte` into `ids`.
pub fn merge_run(pairs: &PairTable, byte: u8, mut n: usize, ids: &mut Vec<u32>) {
    let (mut token, mut tail) = (u32::from(byte), VecDeque::new());
    loop {
        debug_assert!(!tail.contains(&token));
        let run = if n > 1 { pairs.merged(token, token) } else { NONE };
        let before_tail = match tail.front() {
            Some(&first) if n > 0 => pairs.merged(token, first),
            _ => NONE,
        };
        let in_tail = (1..tail.len()).map(|at| (pairs.merged(tail[at - 1], tail[at]), at)).min();
        let (inside, at) = in_tail.unwrap_or((NONE, 0));
        // The run's token is not in the tail, so these are different pairs, and different pairs merge to different ids.
        let merged = run.min(before_tail).min(inside);
        if merged == NONE {
            break;
        } else if merged == run {
            if n % 2 == 1 {
                tail.push_front(token);
            }
            (token, n) = (run, n / 2);
        } else if merged == before_tail {
            // If this empties the run, its token is not used again.
            n -= 1;
            tail[0] = merged;
        } else {
            tail.remove(at);
            tail[at - 1] = merged;
        }
    }
    ids.clear();
    ids.resize(n, token);
    ids.extend(tail);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference::merge_by_definition;
    use super::*;
    use crate::merges::Merges;

    /// Tokens of one letter, each merged from any two before it, including merges that no trainer would learn.
    fn merges() -> impl Strategy<Value = Merges> {
        let picks = prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..12);
        picks.prop_map(|picks| {
            let (mut list, mut lengths) = (Vec::new(), vec![(97, 1)]);
            for [left, right] in picks {
                let ((left, a), (right, b)) = (lengths[left.index(lengths.len())], lengths[right.index(lengths.len())]);
                // No two tokens spell the same bytes.
                if lengths.iter().all(|&(_, length)| length != a + b) {
                    lengths.push((256 + list.len() as u32, a + b));
                    list.push((left, right));
                }
            }
            Merges::new(list).unwrap()
        })
    }

    proptest! {
        #[test]
        fn equals_the_reference(merges in merges(), n in 0usize..200) {
            let (pairs, piece) = (PairTable::new(&merges), vec![b'a'; n]);
            let mut ids = vec![7];
            merge_run(&pairs, b'a', n, &mut ids);
            prop_assert_eq!(ids, merge_by_definition(&pairs, &piece));
        }
    }

    #[test]
    fn runs_are_recognised() {
        assert!(is_run(b"a") && is_run(&[b' '; 1000]) && !is_run(b""));
        for at in 0..130 {
            let mut piece = [b' '; 130];
            piece[at] = b'a';
            assert!(!is_run(&piece), "{at}");
        }
    }
}
