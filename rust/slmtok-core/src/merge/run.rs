//! The kernel for a long piece that is one byte again and again: a line of dashes, an indent, what somebody sends to bring
//! encoders to a halt.
//!
//! Such a piece stays a run of equal tokens with a short tail behind it. A merge that uses a token makes a larger id than the
//! token, so once the run's own pair makes the smallest id it does so along the whole run, from left to right: half as many
//! tokens of the next size, and of an odd number one that goes to the front of the tail. Else the last token of the run merges
//! with the first of the tail, or two of the tail with each other.
//!
//! The token of the run is never in the tail: it is made of two of the one before, of which the tail got one at most, when the
//! run left it. And it is cheap: each halving gives the tail one token, so it has some twenty, and each merge with the last of
//! the run makes a token longer than all before it in that place, of which a vocabulary of a gigabyte has some 46,000 at most.

use std::collections::VecDeque;

use super::pair_table::{NONE, PairTable};

/// Whether a piece is one byte again and again.
pub fn is_run(piece: &[u8]) -> bool {
    piece.split_first().is_some_and(|(_, rest)| rest == &piece[..rest.len()])
}

/// What `n` times `byte` encodes to, into `ids`.
pub fn merge_run(pairs: &PairTable, byte: u8, mut n: usize, ids: &mut Vec<u32>) {
    let (mut token, mut tail) = (u32::from(byte), VecDeque::new());
    loop {
        debug_assert!(!tail.contains(&token));
        let run = if n > 1 { pairs.made(token, token) } else { NONE };
        let before_tail = match tail.front() {
            Some(&first) if n > 0 => pairs.made(token, first),
            _ => NONE,
        };
        let in_tail = (1..tail.len()).map(|at| (pairs.made(tail[at - 1], tail[at]), at)).min();
        let (inside, at) = in_tail.unwrap_or((NONE, 0));
        // As the tail has none of the run's tokens, these are different pairs, and different pairs make different ids.
        let made = run.min(before_tail).min(inside);
        if made == NONE {
            break;
        } else if made == run {
            if n % 2 == 1 {
                tail.push_front(token);
            }
            (token, n) = (run, n / 2);
        } else if made == before_tail {
            // The run may end here; then its token is of no use any more.
            n -= 1;
            tail[0] = made;
        } else {
            tail.remove(at);
            tail[at - 1] = made;
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

    /// Tokens of one letter, each made of any two before it: trained ones, and such as no trainer would make.
    fn merges() -> impl Strategy<Value = Merges> {
        let picks = prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..12);
        picks.prop_map(|picks| {
            let (mut list, mut lengths) = (Vec::new(), vec![(97, 1)]);
            for [left, right] in picks {
                let ((left, a), (right, b)) = (lengths[left.index(lengths.len())], lengths[right.index(lengths.len())]);
                // A token cannot come twice, whatever it is made of.
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
        fn as_the_definition_says(merges in merges(), n in 0usize..200) {
            let (pairs, piece) = (PairTable::new(&merges), vec![b'a'; n]);
            let mut ids = vec![7];
            merge_run(&pairs, b'a', n, &mut ids);
            prop_assert_eq!(ids, merge_by_definition(&pairs, &piece));
        }
    }

    #[test]
    fn what_one_byte_is() {
        assert!(is_run(b"a") && is_run(&[b' '; 1000]) && !is_run(b""));
        for at in 0..130 {
            let mut piece = [b' '; 130];
            piece[at] = b'a';
            assert!(!is_run(&piece), "{at}");
        }
    }
}
