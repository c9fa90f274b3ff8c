//! Front coding of sorted pieces: each piece is stored as the length of the prefix that it shares with the previous piece of
//! its block, the length of the rest, and the rest. Numbers are LEB128 varints (base 128, low digits first).

/// Appends `number` as a varint.
#[expect(clippy::cast_possible_truncation, reason = "the low seven bits are wanted")]
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads the varint at `at` and advances `at`; `None` if it is truncated or exceeds 64 bits.
pub(super) fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A block that is written: `header` bytes for the caller, then front-coded pieces with their counts.
pub(super) struct BlockWriter {
    pub bytes: Vec<u8>,
    header: usize,
    previous: Vec<u8>,
}

impl BlockWriter {
    pub fn new(header: usize) -> Self {
        Self { bytes: vec![0; header], header, previous: Vec::new() }
    }

    /// Appends a piece that is greater than all before it, and its counts.
    pub fn push(&mut self, piece: &[u8], counts: &[u64]) {
        let shared = piece.iter().zip(&self.previous).take_while(|(a, b)| a == b).count();
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, (piece.len() - shared) as u64);
        self.bytes.extend_from_slice(&piece[shared..]);
        counts.iter().for_each(|&count| put_varint(&mut self.bytes, count));
        self.previous.truncate(shared);
        self.previous.extend_from_slice(&piece[shared..]);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.header
    }

    /// Starts a new block. The first piece of a block shares no prefix.
    pub fn clear(&mut self) {
        self.bytes.truncate(self.header);
        self.previous.clear();
    }
}

/// A block that is read. Its contents are untrusted.
#[derive(Default)]
pub(super) struct BlockReader {
    pub bytes: Vec<u8>,
    at: usize,
    pub piece: Vec<u8>,
}

impl BlockReader {
    /// Returns to the first row of `bytes`. The last piece of the previous block is kept, because the first piece of this
    /// block must be greater.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    pub fn is_done(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Reads the next row, its piece into `self.piece`. `None` if the bytes are no ascending sequence of rows.
    pub fn next(&mut self, counts: &mut [u64]) -> Option<()> {
        let first = self.at == 0;
        let shared = usize::try_from(take_varint(&self.bytes, &mut self.at)?).ok()?;
        let more = usize::try_from(take_varint(&self.bytes, &mut self.at)?).ok()?;
        let suffix = self.bytes.get(self.at..self.at.checked_add(more)?)?;
        self.at += more;
        if first && shared > 0 || shared > self.piece.len() || suffix <= &self.piece[shared..] {
            return None;
        }
        self.piece.truncate(shared);
        self.piece.extend_from_slice(suffix);
        for count in counts {
            *count = take_varint(&self.bytes, &mut self.at)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_and_invalid_ones_are_refused() {
        for number in [0, 1, 127, 128, 300, 1 << 40, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, number);
            let mut at = 0;
            assert_eq!((take_varint(&out, &mut at), at), (Some(number), out.len()));
            assert_eq!(take_varint(&out[..out.len() - 1], &mut 0), None);
        }
        assert_eq!(take_varint(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2], &mut 0), None);
        assert_eq!(take_varint(&[0x80; 11], &mut 0), None);
    }
}
