//! tiktoken's rank files, read fast where nothing is wrong: a line is a token in base64, a space, its rank.
//!
//! Of a file with any fault nothing is given; whoever asked reads it again slowly, and says what and where.

use crate::token_set::first_duplicate;

/// The tokens of a rank file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RankFile {
    bytes: Vec<u8>,
    /// For each rank, where its token is in `bytes`; empty for ranks that no token has.
    spans: Vec<(u32, u32)>,
}

impl RankFile {
    /// Reads `data`, in which no rank may reach `limit`. Nothing, if a line is not as it should be, a token or a rank
    /// comes twice, or one of the 256 bytes is missing.
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
        let fresh = self.spans[rank].1 == 0;
        self.spans[rank] = (start as u32, (self.bytes.len() - start) as u32);
        fresh.then_some(())
    }

    /// The token of each rank, nothing for ranks that no token has.
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

/// One to eight digits.
fn number(digits: &[u8]) -> Option<usize> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| usize::from(byte - b'0'));
    let sound = (1..=8).contains(&digits.len());
    digits.iter().try_fold(0, |number, &byte| Some(10 * number + digit(byte)?)).filter(|_| sound)
}

/// Appends what `text` stands for in base64 (RFC 4648, padded, no bits left over), which must not be empty.
fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (groups, rest) = text.as_chunks::<4>();
    let (last, whole) = groups.split_last()?;
    for group in whole {
        out.extend_from_slice(&three(*group)?);
    }
    let kept = match last {
        [_, _, b'=', b'='] => 1,
        [_, _, _, b'='] => 2,
        _ => 3,
    };
    let bytes = three(last.map(|byte| if byte == b'=' { b'A' } else { byte }))?;
    out.extend_from_slice(&bytes[..kept]);
    let padded = last[kept + 1..].iter().all(|&byte| byte == b'=') && !last[..=kept].contains(&b'=');
    (rest.is_empty() && padded && bytes[kept..].iter().all(|&byte| byte == 0)).then_some(())
}

fn three(group: [u8; 4]) -> Option<[u8; 3]> {
    let mut bits = 0;
    for byte in group {
        let six = SIX[usize::from(byte)];
        if six == NO_SIX {
            return None;
        }
        bits = bits << 6 | u32::from(six);
    }
    let [_, a, b, c] = bits.to_be_bytes();
    Some([a, b, c])
}

const NO_SIX: u8 = 0xFF;

/// Six bits for each letter of the alphabet.
const SIX: [u8; 256] = {
    let mut table = [NO_SIX; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut six = 0;
    while six < 64 {
        table[alphabet[six] as usize] = six as u8;
        six += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Base64, the slow way: bit by bit.
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
    fn any_fault_gives_nothing() {
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
}
