//! One line of JSON: the text in one of its fields.
//!
//! Says yes only where a parser that knows everything would say the same: a well-formed object in valid UTF-8, whose last
//! field of that name is a string without lone surrogates. Whatever is unusual besides (an escape in a name, deep nesting,
//! a number of hundreds of digits) is left to that parser too, so no line is ever judged here that is not plain.
//! The grammar is RFC 8259.

use memchr::memchr2;

/// Containers within containers that are followed.
const DEPTH: u32 = 64;
/// Characters of a number. Parsers refuse integers of thousands of digits.
const NUMBER: usize = 300;

/// Appends the text in field `key` of `line` to `out`. False where the line is not plainly such a record: `out` may hold
/// some of it then.
#[must_use]
pub fn text(line: &[u8], key: &[u8], out: &mut Vec<u8>) -> bool {
    let (controls, wide) = classes(line);
    if wide && simdutf8::basic::from_utf8(line).is_err() {
        return false;
    }
    Scan { line, at: 0, controls }.record(key, out).is_some()
}

/// Whether there are control characters within the line, and bytes that are not ASCII.
fn classes(line: &[u8]) -> (bool, bool) {
    let inner = line.strip_suffix(b"\n").unwrap_or(line);
    let inner = inner.strip_suffix(b"\r").unwrap_or(inner);
    (has_control(inner), !inner.is_ascii())
}

/// A place in a line. Every method passes what it is named after, or says that it is not there.
struct Scan<'a> {
    line: &'a [u8],
    at: usize,
    /// Whether strings must be searched for control characters.
    controls: bool,
}

impl<'a> Scan<'a> {
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

    /// A name without escapes, and what stands between it and its value.
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
        // The last bit tells whether the innermost container is an object.
        let (mut depth, mut objects) = (0, 0_u64);
        loop {
            let first = self.next()?;
            match first {
                b'{' | b'[' => {
                    // Both are closed by the second character after their own.
                    if !self.closes(first + 2) {
                        depth += 1;
                        objects = objects << 1 | u64::from(first == b'{');
                        if depth > DEPTH {
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

    /// Where the innermost container is an object, the name of its next value.
    fn inner_name(&mut self, objects: u64) -> Option<()> {
        if objects & 1 == 1 {
            self.byte(b'"')?;
            self.string()?;
            self.colon()?;
        }
        Some(())
    }

    /// Whether the container that was just opened is empty; passes its end then.
    fn closes(&mut self, end: u8) -> bool {
        self.space();
        self.byte(end).is_some()
    }

    /// What is left of a string, without unescaping it. Tells whether it has no escapes.
    fn string(&mut self) -> Option<bool> {
        let mut plain = true;
        while self.run()?.1 == b'\\' {
            plain = false;
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => drop(self.unit()?),
                _ => return None,
            }
        }
        Some(plain)
    }

    /// The same, unescaped.
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

    /// Characters of a string that stand for themselves, and what ends them: a quotation mark or a backslash.
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

    /// The character that one or two escaped units spell.
    fn character(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        self.byte(b'\\')?;
        self.byte(b'u')?;
        let second = self.unit()?;
        if !(0xDC00..0xE000).contains(&second) {
            return None;
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.line.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    }

    /// What is left of a number that begins with `first`.
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
        (self.at - start < NUMBER).then_some(())
    }

    /// Digits, if any; tells how many.
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

/// Whether there is a control character, which no string may hold.
fn has_control(text: &[u8]) -> bool {
    // Without a way out half-way this is compiled to wide instructions.
    text.iter().fold(false, |found, &byte| found | (byte < 0x20))
}
