//! Numbers in base 128: the low digits first, the top bit set in all bytes but the last.

/// Appends `number`.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number at `at`, which moves behind it; nothing where it is cut off or exceeds 64 bits.
pub(super) fn take(bytes: &[u8], at: &mut usize) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_what_is_no_number_does_not() {
        for number in [0, 1, 127, 128, 300, 1 << 40, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, number);
            let mut at = 0;
            assert_eq!((take(&out, &mut at), at), (Some(number), out.len()));
            assert_eq!(take(&out[..out.len() - 1], &mut 0), None);
        }
        assert_eq!(take(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2], &mut 0), None);
        assert_eq!(take(&[0x80; 11], &mut 0), None);
    }
}
