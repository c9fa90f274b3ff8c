//! Structured input from the bytes of a fuzzer: small numbers first, text after them. All bytes are valid.

/// The remaining bytes.
#[derive(Clone, Copy)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        self.part(1).first().copied().unwrap_or(0)
    }

    /// A number below `limit`, which is at most 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// One of `values`.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// The next `n` bytes, or all that remain.
    pub fn part(&mut self, n: usize) -> &'a [u8] {
        let (part, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        part
    }

    /// The remaining bytes in `n` parts, whose lengths the first bytes determine.
    pub fn parts(&mut self, n: usize) -> Vec<&'a [u8]> {
        let lengths: Vec<usize> = (1..n).map(|_| 2 * usize::from(self.byte())).collect();
        let mut parts: Vec<&[u8]> = lengths.into_iter().map(|length| self.part(length)).collect();
        parts.push(self.part(usize::MAX));
        parts
    }
}
