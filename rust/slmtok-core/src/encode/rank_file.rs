//! Vocabularies in tiktoken's form: reading rank files, and from ranks to merges.
//!
//! A line of a rank file is a token in base64, a space, and its rank. A file with any fault is refused as a whole; the caller
//! reads it again in Python to report the line.
//!
//! tiktoken merges neighbours whose *joined bytes* have a rank; this crate merges *pairs*. Where every token encodes to itself
//! both are the same, and the pair of a token is what its bytes merge to just before the last step. So each token is encoded
//! by the merges before it; one that does not end as two parts is refused.

use crate::merge::merge_by_pairs;
use crate::merge::pair_table::PairTable;
use crate::merges::{MAX_TOKENS, Merges};
use crate::token_set::first_duplicate;
use crate::{Error, Result};

/// The tokens of a rank file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RankFile {
    bytes: Vec<u8>,
    /// For each rank the start and length of its token in `bytes`; empty for a rank without a token.
    spans: Vec<(u32, u32)>,
}

impl RankFile {
    /// Reads `data`, in which all ranks must be below `limit`. `None` if a line is malformed, a token or a rank repeats, or one
    /// of the 256 bytes is missing.
    #[must_use]
    pub fn read(data: &[u8], limit: usize) -> Option<Self> {
        let mut file = Self { bytes: Vec::with_capacity(data.len()), spans: Vec::new() };
        u32::try_from(data.len()).ok()?;
        let mut rest = data;
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            file.read_line(rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]), limit)?;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        (first_duplicate(file.tokens().map(Option::unwrap_or_default)).is_none() && file.has_all_bytes())
            .then_some(file)
    }

    #[expect(clippy::cast_possible_truncation, reason = "`read` refuses files of 4 GiB and more")]
    fn read_line(&mut self, line: &[u8], limit: usize) -> Option<()> {
        let space = line.iter().position(|&byte| byte == b' ')?;
        let rank = number(&line[space + 1..])?;
        let start = self.bytes.len();
        decode(&line[..space], &mut self.bytes)?;
        if rank >= limit {
            return None;
        }
        if rank >= self.spans.len() {
            self.spans.resize(rank + 1, (0, 0));
        }
        let is_new = self.spans[rank].1 == 0;
        self.spans[rank] = (start as u32, (self.bytes.len() - start) as u32);
        is_new.then_some(())
    }

    /// The token of each rank.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.spans.iter().map(|&(start, length)| (length > 0).then(|| &self.bytes[start as usize..][..length as usize]))
    }

    fn has_all_bytes(&self) -> bool {
        let mut found = [false; 256];
        for token in self.tokens().flatten() {
            if let [byte] = *token {
                found[usize::from(byte)] = true;
            }
        }
        found == [true; 256]
    }
}

/// A number of one to eight digits.
fn number(digits: &[u8]) -> Option<usize> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| usize::from(byte - b'0'));
    let valid = (1..=8).contains(&digits.len());
    digits.iter().try_fold(0, |number, &byte| Some(10 * number + digit(byte)?)).filter(|_| valid)
}

/// Appends the bytes of `text` in base64 (RFC 4648, padded, no bits left over), which must not be empty.
fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (groups, rest) = text.as_chunks::<4>();
    let (last, whole) = groups.split_last()?;
    for group in whole {
        out.extend_from_slice(&decode_group(*group)?);
    }
    let kept = match last {
        [_, _, b'=', b'='] => 1,
        [_, _, _, b'='] => 2,
        _ => 3,
    };
    let bytes = decode_group(last.map(|byte| if byte == b'=' { b'A' } else { byte }))?;
    out.extend_from_slice(&bytes[..kept]);
    let padded = last[kept + 1..].iter().all(|&byte| byte == b'=') && !last[..=kept].contains(&b'=');
    (rest.is_empty() && padded && bytes[kept..].iter().all(|&byte| byte == 0)).then_some(())
}

fn decode_group(group: [u8; 4]) -> Option<[u8; 3]> {
    let mut bits = 0;
    for byte in group {
        let sextet = SEXTETS[usize::from(byte)];
        if sextet == INVALID {
            return None;
        }
        bits = bits << 6 | u32::from(sextet);
    }
    let [_, a, b, c] = bits.to_be_bytes();
    Some([a, b, c])
}

const INVALID: u8 = 0xFF;

/// The six bits of each letter of the alphabet.
#[expect(clippy::cast_possible_truncation, reason = "there are 64 letters")]
const SEXTETS: [u8; 256] = {
    let mut table = [INVALID; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sextet = 0;
    while sextet < 64 {
        table[alphabet[sextet] as usize] = sextet as u8;
        sextet += 1;
    }
    table
};

/// The merges of `tokens`, which are in the order of their ranks, and the rank of each internal id.
///
/// # Errors
/// A missing byte, a repeated or empty token, or one that pair merges cannot produce.
#[expect(clippy::cast_possible_truncation, reason = "there are at most `MAX_TOKENS`")]
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
            return fail(rank, token, "repeats an earlier token");
        }
    }
    let mut rank_of = Vec::with_capacity(tokens.len());
    for (byte, rank) in (0..=255).zip(rank_of_byte) {
        match rank {
            Some(rank) => rank_of.push(rank),
            None => return fail(tokens.len(), &[byte], "is missing: all 256 bytes must be tokens"),
        }
    }
    let (mut pairs, mut table) = (Vec::new(), PairTable::with_capacity(tokens.len()));
    let mut parts = Vec::new();
    for (rank, &token) in tokens.iter().enumerate().filter(|(_, token)| token.len() > 1) {
        merge_by_pairs(&table, token, &mut parts)?;
        let (left, right) = match parts[..] {
            [left, right] => (left, right),
            // It merges to a single id, so that token has the same bytes.
            [_] => return fail(rank, token, "repeats an earlier token"),
            _ => {
                let reason = format!("is not the merge of two tokens: its bytes merge to {} tokens", parts.len());
                return fail(rank, token, &reason);
            }
        };
        table.insert(left, right, 256 + pairs.len() as u32);
        pairs.push((left, right));
        rank_of.push(rank);
    }
    Ok((Merges::new(pairs)?, rank_of))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference base64, bit by bit.
    fn encoded(token: &[u8]) -> String {
        let bits: Vec<u8> = token.iter().flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1)).collect();
        let six =
            |six: &[u8]| six.iter().chain(&[0; 6]).take(6).fold(0_usize, |value, &bit| 2 * value + usize::from(bit));
        let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
        let mut text: String = bits.chunks(6).map(|chunk| alphabet[six(chunk)]).collect();
        text.extend(std::iter::repeat_n('=', (3 - token.len() % 3) % 3));
        text
    }

    fn bytes() -> Vec<Vec<u8>> {
        (0..=255).map(|byte| vec![byte]).collect()
    }

    fn file(tokens: &[(Vec<u8>, usize)]) -> String {
        tokens.iter().map(|(token, rank)| format!("{} {rank}\n", encoded(token))).collect()
    }

    #[test]
    fn tokens_by_rank_with_holes() {
        let mut tokens: Vec<(Vec<u8>, usize)> = bytes().into_iter().rev().zip(3..).collect();
        tokens.push((b"the quick brown fox".to_vec(), 1000));
        tokens.push((b"ab".to_vec(), 0));
        let text = file(&tokens);
        for text in [text.clone(), text.trim_end().to_owned(), text.replace('\n', "\r\n")] {
            let read = RankFile::read(text.as_bytes(), 1001).unwrap();
            let found: Vec<Option<&[u8]>> = read.tokens().collect();
            assert_eq!(found.len(), 1001);
            for (rank, token) in found.iter().enumerate() {
                let want = tokens.iter().find(|(_, of)| *of == rank).map(|(token, _)| token.as_slice());
                assert_eq!(*token, want, "rank {rank}");
            }
        }
        assert_eq!(RankFile::read(text.as_bytes(), 1000), None);
    }

    #[test]
    fn any_fault_refuses_the_file() {
        let good = file(&bytes().into_iter().zip(0..).collect::<Vec<_>>());
        assert!(RankFile::read(good.as_bytes(), 4000).is_some());
        let faults = [
            "YWI=",
            "YWI= ",
            "YWI= x",
            "YWI=  300",
            " 300",
            "YW*= 300",
            "YWI 300",
            "YWJ= 300",
            "Y=== 300",
            "YWI== 300",
            "=WI= 300",
            "YWI=YWI= 300",
            "YWI= 123456789",
            "YQ== 300",
            "YWI= 7",
            "",
            "YWI= 300 ",
        ];
        for fault in faults {
            assert_eq!(RankFile::read(format!("{good}{fault}\n").as_bytes(), 4000), None, "{fault:?}");
        }
        let twice = format!("{good}YWI= 300\nYWI= 301\n");
        assert_eq!(RankFile::read(twice.as_bytes(), 4000), None);
        let missing = &good[good.find('\n').unwrap() + 1..];
        assert_eq!(RankFile::read(missing.as_bytes(), 4000), None);
        assert_eq!(RankFile::read(b"", 4000), None);
    }

    fn with_bytes<'a>(more: &[&'a [u8]], bytes: &'a [[u8; 1]]) -> Vec<&'a [u8]> {
        bytes.iter().map(<[u8; 1]>::as_slice).chain(more.iter().copied()).collect()
    }

    #[test]
    fn ranks_become_pairs() {
        // Bytes in another order than their values, as in real tables.
        let bytes: Vec<[u8; 1]> = (0..=255u8).rev().map(|byte| [byte]).collect();
        let tokens = with_bytes(&[b"ab", b"abc", b"bc"], &bytes);
        let (merges, ranks) = merges_from_ranks(&tokens).unwrap();
        assert_eq!(merges.pairs(), [(97, 98), (256, 99), (98, 99)]);
        assert_eq!((ranks[97], ranks[256]), (158, 256));
    }

    #[test]
    fn a_table_that_pair_merges_cannot_reproduce_is_refused() {
        let bytes: Vec<[u8; 1]> = (0..=255u8).map(|byte| [byte]).collect();
        let fault = |more: &[&[u8]]| merges_from_ranks(&with_bytes(more, &bytes)).unwrap_err().to_string();
        assert!(fault(&[b"abc"]).contains("not the merge"));
        assert!(fault(&[b"ab", b"ab"]).contains("repeats"));
        assert!(fault(&[b"ab", b"bc", b"abc", b"abcab", b"abc"]).contains("repeats"));
        assert!(fault(&[b"ab", b"a"]).contains("repeats"));
        assert!(fault(&[b""]).contains("empty"));
        assert!(merges_from_ranks(&with_bytes(&[], &bytes)[1..]).unwrap_err().to_string().contains("missing"));
    }
}
