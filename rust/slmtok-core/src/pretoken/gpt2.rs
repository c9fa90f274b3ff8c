//! The pattern of GPT-2: words, numbers and the rest, each with at most one space before it.

use super::class::{END, LETTERS, N, NUMBERS, OTHERS, W, class_at, is, letters, run};
use super::rules::{contraction, white_space};
use super::walker::Walk;

#[derive(Clone, Copy, Debug)]
pub(super) struct Gpt2;

impl Walk for Gpt2 {
    #[inline(always)]
    fn advance(&self, bytes: &[u8], at: usize) -> usize {
        let (here, length) = class_at(bytes, at);
        if here == W {
            let (after, more) = class_at(bytes, at + 1);
            if bytes[at] != b' ' || after == W || after == END {
                return white_space::<false, true>(bytes, at);
            }
            return rest(bytes, at + 1 + more, after);
        }
        if bytes[at] == b'\'' {
            let length = contraction::<false>(bytes, at);
            if length > 0 {
                return at + length;
            }
        }
        rest(bytes, at + length, here)
    }
}

/// The end of a run of this class, of which the characters before `at` are part.
#[inline(always)]
fn rest(bytes: &[u8], at: usize, class: u8) -> usize {
    if is(class, LETTERS) {
        letters(bytes, at)
    } else if class == N {
        run(bytes, at, NUMBERS)
    } else {
        run(bytes, at, OTHERS)
    }
}
