//! The contents of vocabulary files, as the loaders pass them to the core: any pairs, tokens, ids and specials give a consistent
//! encoder or an error, never a panic. The core reads rank files only; Python reads the other files and fuzzes that.

use slmtok_core::decode::Decoder;
use slmtok_core::encode::Encoder;
use slmtok_core::merges::Merges;
use slmtok_core::pretoken::Pattern;

use crate::input::Input;
use crate::rank_file::check_rank_file;
use crate::vocab::pick_pattern;

/// Merges, ranks, whole tokens, or a rank file.
pub fn vocab_file(data: &[u8]) {
    let mut input = Input(data);
    let pattern = pick_pattern(&mut input);
    let kind = input.below(4);
    if kind == 3 {
        return check_rank_file(&mut input);
    }
    let specials: Vec<(u32, Vec<u8>)> = (0..input.below(4)).map(|_| special(&mut input)).collect();
    let encoder = match kind {
        0 => from_merges(&mut input, pattern, specials),
        1 => from_ranks(&mut input, pattern, specials),
        _ => from_tokens(&mut input, pattern, specials),
    };
    if let Some(encoder) = encoder {
        check(&encoder, input.part(300));
    }
}

fn special(input: &mut Input<'_>) -> (u32, Vec<u8>) {
    let id = number(input);
    let length = input.below(6);
    (id, input.part(length).to_vec())
}

/// Small, near a limit, or arbitrary.
fn number(input: &mut Input<'_>) -> u32 {
    let byte = u32::from(input.byte());
    match input.below(8) {
        0..5 => byte,
        5 => 256 + byte,
        6 => (1 << 21) - 128 + byte,
        _ => byte.wrapping_mul(0x0101_0101),
    }
}

fn ids(input: &mut Input<'_>, n: usize) -> Vec<u32> {
    let first = number(input).min(1 << 23);
    let mut ids: Vec<u32> = (0..n as u32).map(|k| first + k).collect();
    for _ in 0..input.below(3) {
        let (at, id) = (number(input) as usize, number(input));
        if let Some(slot) = ids.get_mut(at) {
            *slot = id;
        }
    }
    ids.truncate(n - input.pick(&[0, 0, 0, 1]).min(n));
    ids
}

fn from_merges(input: &mut Input<'_>, pattern: Pattern, specials: Vec<(u32, Vec<u8>)>) -> Option<Encoder> {
    let pairs: Vec<(u32, u32)> = (0..input.below(64)).map(|_| (number(input), number(input))).collect();
    let non_emitting: Vec<u32> = (0..input.below(3)).map(|_| number(input)).collect();
    let merges = Merges::new(pairs.clone()).ok()?;
    assert_eq!(merges.pairs(), pairs);
    let public_ids = ids(input, merges.tokens().len());
    Encoder::from_merges(pattern, merges, public_ids, specials, non_emitting).ok()
}

/// Tokens from the bytes of the input, after all single bytes if `with_bytes`.
fn tokens(input: &mut Input<'_>, with_bytes: bool) -> Vec<Vec<u8>> {
    let mut tokens: Vec<Vec<u8>> = if with_bytes { (0..=255).map(|byte| vec![byte]).collect() } else { Vec::new() };
    for _ in 0..input.below(64) {
        let length = input.below(8);
        let token = input.part(length).to_vec();
        let (is_duplicate, keep) = (token.len() < 2 || tokens.contains(&token), input.below(4) == 0);
        if keep || !is_duplicate {
            tokens.push(token);
        }
    }
    tokens
}

fn from_ranks(input: &mut Input<'_>, pattern: Pattern, specials: Vec<(u32, Vec<u8>)>) -> Option<Encoder> {
    let with_bytes = input.below(8) > 0;
    let tokens = tokens(input, with_bytes);
    let slices: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
    let ids = ids(input, slices.len());
    let encoder = Encoder::from_ranks(pattern, &slices, &ids, specials).ok()?;
    for (token, &id) in tokens.iter().zip(&ids) {
        assert_eq!(encoder.token(id), Some(token.as_slice()));
    }
    assert!(encoder.unreachable().expect("memory").is_empty(), "tables with unreachable tokens are refused");
    Some(encoder)
}

fn from_tokens(input: &mut Input<'_>, pattern: Pattern, specials: Vec<(u32, Vec<u8>)>) -> Option<Encoder> {
    let tokens = tokens(input, false);
    let slices: Vec<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
    Encoder::from_tokens(pattern, &slices, ids(input, 256 + slices.len()), specials).ok()
}

/// An accepted encoder encodes, decodes, and knows its own tokens.
fn check(encoder: &Encoder, text: &[u8]) {
    let decoder = Decoder::new(encoder).expect("few tokens fit");
    let ids = encoder.encode::<u32>(text).expect("a named pattern");
    assert_eq!(decoder.decode(&ids).expect("known ids"), text);
    for (id, token) in encoder.ordinary_tokens() {
        assert_eq!((decoder.token(i64::from(id), 0), encoder.is_special(id)), (Ok(token), false));
        if let Some((left, right)) = encoder.halves(id) {
            let part = |id: u32| encoder.token(id).expect("a part is a token");
            assert_eq!([part(left), part(right)].concat(), token);
        }
    }
    assert!(encoder.unreachable().expect("memory").iter().all(|&id| encoder.token(id).is_some()));
    if !encoder.wide() {
        assert!(encoder.encode::<u16>(text).expect("a named pattern").iter().map(|&id| u32::from(id)).eq(ids));
    }
}
