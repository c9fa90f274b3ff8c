//! A plain JSON parser, one rule a function, in the manner of Python's: lone surrogates are characters, the last field of a
//! name counts. The slow twin of the engine's reader of records.

/// What the parser keeps of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Code points, lone surrogates among them.
    Text(Vec<u32>),
    /// Fields in their order.
    Object(Vec<(Vec<u32>, Value)>),
    /// Anything else.
    Other,
}

/// The value that `line` is, if it is JSON.
pub fn parse(line: &[u8]) -> Option<Value> {
    let text: Vec<char> = std::str::from_utf8(line).ok()?.chars().collect();
    let mut parser = Parser { text: &text, at: 0 };
    parser.space();
    let value = parser.value()?;
    parser.space();
    (parser.at == text.len()).then_some(value)
}

/// The text in field `key`, in UTF-8, if `line` is an object that has one.
pub fn text(line: &[u8], key: &str) -> Option<Vec<u8>> {
    let Value::Object(fields) = parse(line)? else { return None };
    let key: Vec<u32> = key.chars().map(u32::from).collect();
    let (_, Value::Text(points)) = fields.into_iter().rfind(|(name, _)| *name == key)? else { return None };
    points.into_iter().map(char::from_u32).collect::<Option<String>>().map(String::into_bytes)
}

struct Parser<'a> {
    text: &'a [char],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.at += 1;
        Some(found)
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Option<Value> {
        match self.next()? {
            '"' => self.string().map(Value::Text),
            '{' => self.object(),
            '[' => self.array(),
            't' => self.word("rue"),
            'f' => self.word("alse"),
            'n' => self.word("ull"),
            '-' => {
                let first = self.next()?;
                self.number(first)
            }
            first => self.number(first),
        }
    }

    fn word(&mut self, rest: &str) -> Option<Value> {
        rest.chars().all(|wanted| self.eat(wanted)).then_some(Value::Other)
    }

    fn number(&mut self, first: char) -> Option<Value> {
        match first {
            '0' => {}
            '1'..='9' => self.digits(),
            _ => return None,
        }
        if self.eat('.') {
            self.peek().filter(char::is_ascii_digit)?;
            self.digits();
        }
        if self.eat('e') || self.eat('E') {
            let _ = self.eat('+') || self.eat('-');
            self.peek().filter(char::is_ascii_digit)?;
            self.digits();
        }
        Some(Value::Other)
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|found| found.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn array(&mut self) -> Option<Value> {
        self.space();
        if self.eat(']') {
            return Some(Value::Other);
        }
        loop {
            self.space();
            self.value()?;
            self.space();
            match self.next()? {
                ',' => {}
                ']' => return Some(Value::Other),
                _ => return None,
            }
        }
    }

    fn object(&mut self) -> Option<Value> {
        let mut fields = Vec::new();
        self.space();
        if self.eat('}') {
            return Some(Value::Object(fields));
        }
        loop {
            self.space();
            let name = if self.eat('"') { self.string()? } else { return None };
            self.space();
            if !self.eat(':') {
                return None;
            }
            self.space();
            fields.push((name, self.value()?));
            self.space();
            match self.next()? {
                ',' => {}
                '}' => return Some(Value::Object(fields)),
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<Vec<u32>> {
        let mut points = Vec::new();
        loop {
            match self.next()? {
                '"' => return Some(points),
                '\\' => {
                    let point = self.escape()?;
                    points.push(point);
                }
                plain if plain < ' ' => return None,
                plain => points.push(u32::from(plain)),
            }
        }
    }

    fn escape(&mut self) -> Option<u32> {
        Some(match self.next()? {
            plain @ ('"' | '\\' | '/') => u32::from(plain),
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'u' => {
                let first = self.unit()?;
                let before = self.at;
                if (0xD800..0xDC00).contains(&first) && self.eat('\\') && self.eat('u') {
                    let second = self.unit()?;
                    if (0xDC00..0xE000).contains(&second) {
                        return Some(0x10000 + (first - 0xD800) * 0x400 + (second - 0xDC00));
                    }
                }
                self.at = before;
                first
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit * 16 + self.next()?.to_digit(16)?))
    }
}
