//! Ids as text: decimal numbers with a space between two, one document a line.

use super::{EncodedDocuments, PooledId};
use crate::Result;

/// Bytes that are collected before they are written.
const BLOCK: usize = 1 << 18;
/// The most bytes of an id with the space before it and the newline after it.
const MAX_WORD: usize = 12;

impl<I: PooledId> EncodedDocuments<I> {
    /// Writes the ids of each document as a line of decimal numbers, in blocks.
    ///
    /// # Errors
    /// Those of `write`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "offsets are indices of ids")]
    pub fn write_lines(&self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut block = Vec::with_capacity(BLOCK);
        for bounds in self.offsets.windows(2) {
            for (index, id) in self.ids[bounds[0] as usize..bounds[1] as usize].iter().enumerate() {
                if index > 0 {
                    block.push(b' ');
                }
                push_decimal(id.to_u32(), &mut block);
                write_full(&mut block, write)?;
            }
            block.push(b'\n');
            write_full(&mut block, write)?;
        }
        write(&block)
    }
}

/// Writes and empties a block that has no room for another word.
fn write_full(block: &mut Vec<u8>, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if block.len() + MAX_WORD > BLOCK {
        write(block)?;
        block.clear();
    }
    Ok(())
}

/// Appends the decimal digits of a number.
fn push_decimal(mut number: u32, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 10];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] += (number % 10).to_le_bytes()[0];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The lines as the standard library writes them, and the sizes of the blocks.
    fn check(documents: &[Vec<u32>]) {
        let mut encoded = EncodedDocuments { ids: documents.concat(), offsets: vec![0] };
        let mut expected = String::new();
        let mut end = 0;
        for ids in documents {
            end += i64::try_from(ids.len()).unwrap();
            encoded.offsets.push(end);
            expected += &ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            expected.push('\n');
        }
        let mut lines = Vec::new();
        encoded
            .write_lines(&mut |block| {
                assert!(block.len() <= BLOCK);
                lines.extend_from_slice(block);
                Ok(())
            })
            .unwrap();
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn lines_are_the_numbers_of_each_document(
            documents in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 0..9), 0..9)
        ) {
            check(&documents);
        }
    }

    #[test]
    fn blocks_end_between_words_and_between_lines() {
        check(&[vec![u32::MAX; BLOCK / 5], vec![0; BLOCK], vec![10, 9, 100, 99]]);
        check(&vec![Vec::new(); 2 * BLOCK + 1]);
    }
}
