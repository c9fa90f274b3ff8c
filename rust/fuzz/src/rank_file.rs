//! Rank files, against a reader that is slow and plain: lines, base64 bit by bit, a map.

use std::collections::BTreeMap;

use slmtok_core::encode::rank_file::RankFile;

use crate::input::Input;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// In most cases a sound file of the 256 bytes, with more lines behind it or in its place.
pub fn read(input: &mut Input<'_>) {
    let limit = input.pick(&[1 << 21, 600, 256, 100]);
    let (sound, end) = (input.below(8) > 0, input.pick(&["\n", "\n", "\r\n"]));
    let mut data = Vec::new();
    for byte in (0..=255_u8).filter(|_| sound) {
        data.extend(format!("{} {byte}{end}", encoded(&[byte])).bytes());
    }
    for _ in 0..input.below(6) {
        let length = input.below(9);
        let token = encoded(input.part(length));
        data.extend(format!("{token} {}{end}", 256 + input.below(256)).bytes());
    }
    data.extend(input.part(200));
    let found = RankFile::read(&data, limit).map(|file| {
        let tokens = file.tokens().map(|token| token.map(<[u8]>::to_vec)).collect::<Vec<_>>();
        tokens.into_iter().enumerate().filter_map(|(rank, token)| Some((rank, token?))).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(found, slowly(&data, limit));
}

fn encoded(token: &[u8]) -> String {
    let mut text = String::new();
    for three in token.chunks(3) {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let six = (bits >> (18 - 6 * k)) as usize & 63;
            text.push(if k <= three.len() { char::from(ALPHABET[six]) } else { '=' });
        }
    }
    text
}

fn slowly(data: &[u8], limit: usize) -> Option<BTreeMap<usize, Vec<u8>>> {
    let mut tokens: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let mut lines: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    for line in lines {
        let text = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).ok()?;
        let (token, rank) = text.split_once(' ')?;
        let digits = !rank.is_empty() && rank.len() <= 8 && rank.bytes().all(|byte| byte.is_ascii_digit());
        let rank: usize = if digits { rank.parse().ok()? } else { return None };
        let token = decoded(token.as_bytes())?;
        let again = tokens.values().any(|known| *known == token) || tokens.insert(rank, token).is_some();
        if again || rank >= limit {
            return None;
        }
    }
    (0..=255).all(|byte: u8| tokens.values().any(|token| *token == [byte])).then_some(tokens)
}

/// The one token whose base64 this is, found by encoding what its letters stand for.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.iter().copied().take_while(|&byte| byte != b'=').collect();
    let mut bits = Vec::new();
    for letter in &letters {
        let six = ALPHABET.iter().position(|known| known == letter)?;
        bits.extend((0..6).rev().map(|k| six >> k & 1));
    }
    let bytes: Vec<u8> =
        bits.chunks_exact(8).map(|eight| eight.iter().fold(0, |byte, &bit| byte << 1 | bit as u8)).collect();
    (!bytes.is_empty() && encoded(&bytes).as_bytes() == text).then_some(bytes)
}
