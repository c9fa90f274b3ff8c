//! Rank files against a plain reader.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use slmtok_core::encode::rank_file::RankFile;

use crate::input::Input;

/// Mostly a valid file of the 256 bytes, with further lines that may be invalid.
pub fn check_rank_file(input: &mut Input<'_>) {
    let limit = input.pick(&[1 << 21, 600, 256, 100]);
    let (with_bytes, line_end) = (input.below(8) > 0, input.pick(&["\n", "\n", "\r\n"]));
    let mut data = Vec::new();
    let mut push =
        |token: &[u8], rank| data.extend(format!("{} {rank}{line_end}", BASE64_STANDARD.encode(token)).bytes());
    for byte in (0..=255_u8).filter(|_| with_bytes) {
        push(&[byte], usize::from(byte));
    }
    for _ in 0..input.below(6) {
        let length = input.below(9);
        push(input.part(length), 256 + input.below(256));
    }
    data.extend(input.part(200));
    let found = RankFile::read(&data, limit).map(|file| {
        let tokens = file.tokens().map(|token| token.map(<[u8]>::to_vec)).collect::<Vec<_>>();
        tokens.into_iter().enumerate().filter_map(|(rank, token)| Some((rank, token?))).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(found, tokens_by_rank(&data, limit));
}

fn tokens_by_rank(data: &[u8], limit: usize) -> Option<BTreeMap<usize, Vec<u8>>> {
    let mut tokens: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for line in data.strip_suffix(b"\n").unwrap_or(data).split(|&byte| byte == b'\n').filter(|_| !data.is_empty()) {
        let text = str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).ok()?;
        let (token, rank) = text.split_once(' ')?;
        let digits = !rank.is_empty() && rank.len() <= 8 && rank.bytes().all(|byte| byte.is_ascii_digit());
        let rank: usize = if digits { rank.parse().ok()? } else { return None };
        let token = BASE64_STANDARD.decode(token).ok().filter(|token| !token.is_empty())?;
        let duplicate = tokens.values().any(|known| *known == token) || tokens.insert(rank, token).is_some();
        if duplicate || rank >= limit {
            return None;
        }
    }
    (0..=255).all(|byte: u8| tokens.values().any(|token| *token == [byte])).then_some(tokens)
}
