//! The text in one field of a JSON object on one line.
//!
//! Accepts a subset of RFC 8259 on which every parser agrees: a well-formed object in valid UTF-8, whose last field of the
//! given name is a string without lone surrogates. Everything else (an escape in a name, deep nesting, a number of hundreds
//! of digits) is rejected and left to the fallback parser, so this one never decides a doubtful line.

use memchr::memchr2;

/// Nesting depth that is accepted; the kinds of the open containers fit one word.
const MAX_DEPTH: u32 = 64;
/// Length of a number that is accepted. Parsers reject integers of thousands of digits.
const MAX_NUMBER_LEN: usize = 300;

/// Appends the text in field `key` of `line` to `out`. Returns false for a line that the fallback parser must parse; `out` may
/// then hold a part of the text.
#[must_use]
pub fn text(line: &[u8], key: &[u8], out: &mut Vec<u8>) -> bool {
    let (controls, non_ascii) = classify(line);
    if non_ascii && simdutf8::basic::from_utf8(line).is_err() {
        return false;
    }
    Parser { line, at: 0, controls }.record(key, out).is_some()
}

/// Whether the line holds control characters before its end, and bytes that are not ASCII.
fn classify(line: &[u8]) -> (bool, bool) {
    let inner = line.strip_suffix(b"\n").unwrap_or(line);
    let inner = inner.strip_suffix(b"\r").unwrap_or(inner);
    (has_control(inner), !inner.is_ascii())
}

/// A recursive-descent parser without recursion. Each method consumes what it is named after, or returns `None`.
struct Parser<'a> {
    line: &'a [u8],
    at: usize,
    /// Whether strings must be searched for control characters.
    controls: bool,
}

impl<'a> Parser<'a> {
    fn record(&mut self, key: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let mut found = false;
        self.space();
        self.byte(b'{')?;
        self.space();
        loop {
            if self.name()? == key {
                self.byte(b'"')?;
                // The last of several fields of one name counts.
                out.truncate(start);
                self.unescaped(out)?;
                found = true;
            } else {
                self.value()?;
            }
            self.space();
            match self.next()? {
                b',' => self.space(),
                b'}' => break,
                _ => return None,
            }
        }
        self.space();
        (found && self.at == self.line.len()).then_some(())
    }

    /// A name without escapes, and the colon after it.
    fn name(&mut self) -> Option<&'a [u8]> {
        self.byte(b'"')?;
        let start = self.at;
        let plain = self.string()?;
        let name = &self.line[start..self.at - 1];
        self.colon()?;
        plain.then_some(name)
    }

    fn colon(&mut self) -> Option<()> {
        self.space();
        self.byte(b':')?;
        self.space();
        Some(())
    }

    /// Any value.
    fn value(&mut self) -> Option<()> {
        // One bit for each open container, the innermost lowest: 1 for an object.
        let (mut depth, mut objects) = (0, 0_u64);
        loop {
            let first = self.next()?;
            match first {
                b'{' | b'[' => {
                    // The closing bracket is the second character after the opening one in ASCII.
                    if !self.closes(first + 2) {
                        depth += 1;
                        objects = objects << 1 | u64::from(first == b'{');
                        if depth > MAX_DEPTH {
                            return None;
                        }
                        self.inner_name(objects)?;
                        continue;
                    }
                }
                b'"' => drop(self.string()?),
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                b'-' | b'0'..=b'9' => self.number(first)?,
                _ => return None,
            }
            loop {
                if depth == 0 {
                    return Some(());
                }
                self.space();
                match (self.next()?, objects & 1) {
                    (b',', _) => break,
                    (b'}', 1) | (b']', 0) => (depth, objects) = (depth - 1, objects >> 1),
                    _ => return None,
                }
            }
            self.space();
            self.inner_name(objects)?;
        }
    }

    /// The name of the next value, where the innermost container is an object.
    fn inner_name(&mut self, objects: u64) -> Option<()> {
        if objects & 1 == 1 {
            self.byte(b'"')?;
            self.string()?;
            self.colon()?;
        }
        Some(())
    }

    /// Whether the container that was just opened is empty; its end is consumed then.
    fn closes(&mut self, end: u8) -> bool {
        self.space();
        self.byte(end).is_some()
    }

    /// The rest of a string, without unescaping it. Returns whether it has no escapes.
    fn string(&mut self) -> Option<bool> {
        let mut plain = true;
        while self.run()?.1 == b'\\' {
            plain = false;
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => drop(self.code_unit()?),
                _ => return None,
            }
        }
        Some(plain)
    }

    /// The rest of a string, unescaped.
    fn unescaped(&mut self, out: &mut Vec<u8>) -> Option<()> {
        loop {
            let (run, end) = self.run()?;
            out.extend_from_slice(run);
            if end == b'"' {
                return Some(());
            }
            out.push(match self.next()? {
                plain @ (b'"' | b'\\' | b'/') => plain,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let mut bytes = [0; 4];
                    out.extend_from_slice(self.character()?.encode_utf8(&mut bytes).as_bytes());
                    continue;
                }
                _ => return None,
            });
        }
    }

    /// Characters up to the next quotation mark or backslash, and that byte.
    #[inline]
    fn run(&mut self) -> Option<(&'a [u8], u8)> {
        let rest = &self.line[self.at..];
        let size = memchr2(b'"', b'\\', rest)?;
        let run = &rest[..size];
        if self.controls && has_control(run) {
            return None;
        }
        self.at += size + 1;
        Some((run, rest[size]))
    }

    /// The character of one `\\u` escape or of a surrogate pair of them.
    fn character(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        self.byte(b'\\')?;
        self.byte(b'u')?;
        let second = self.code_unit()?;
        if !(0xDC00..0xE000).contains(&second) {
            return None;
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    /// Four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.line.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    }

    /// The rest of a number that begins with `first`.
    fn number(&mut self, first: u8) -> Option<()> {
        let start = self.at;
        let first = if first == b'-' { self.next()? } else { first };
        match first {
            b'0' => {}
            b'1'..=b'9' => drop(self.digits()),
            _ => return None,
        }
        if self.byte(b'.').is_some() && self.digits() == 0 {
            return None;
        }
        if matches!(self.line.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.line.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return None;
            }
        }
        (self.at - start < MAX_NUMBER_LEN).then_some(())
    }

    /// Zero or more digits; returns how many.
    fn digits(&mut self) -> usize {
        let count = self.line[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        let found = self.line[self.at..].starts_with(rest);
        self.at += rest.len();
        found.then_some(())
    }

    fn space(&mut self) {
        while matches!(self.line.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.line.get(self.at) == Some(&wanted)).then(|| self.at += 1)
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.line.get(self.at)?;
        self.at += 1;
        Some(byte)
    }
}

/// Whether `text` holds a control character, which JSON strings must escape.
fn has_control(text: &[u8]) -> bool {
    // Without an early exit the loop is vectorised.
    text.iter().fold(false, |found, &byte| found | (byte < 0x20))
}
