//! Choices out of the bytes of a fuzzer: small numbers first, the rest is text. Any bytes are an input.

/// What of the bytes is left.
#[derive(Clone, Copy)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte; 0 where there is none.
    pub fn byte(&mut self) -> u8 {
        self.part(1).first().copied().unwrap_or(0)
    }

    /// A number below `limit`, which is at most 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// One of some values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// The next `n` bytes, or all that there are.
    pub fn part(&mut self, n: usize) -> &'a [u8] {
        let (part, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        part
    }

    /// What is left, cut into up to `n` parts of lengths that the first bytes choose.
    pub fn parts(&mut self, n: usize) -> Vec<&'a [u8]> {
        let lengths: Vec<usize> = (1..n).map(|_| 2 * usize::from(self.byte())).collect();
        let mut parts: Vec<&[u8]> = lengths.into_iter().map(|length| self.part(length)).collect();
        parts.push(self.part(usize::MAX));
        parts
    }
}
