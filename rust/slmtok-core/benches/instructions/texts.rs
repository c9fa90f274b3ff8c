//! Generated texts, the same on every machine and in every run, for counts of instructions and of the engine's work.
//!
//! They resemble prose, code and scripts in adjacent characters, word lengths and word frequencies.

/// A linear congruential generator, whose sequence never changes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    /// A rank below `n`, distributed roughly like word frequencies.
    fn rank(&mut self, n: usize) -> usize {
        let wide = 1 + self.below(n);
        let less = 1 + self.below(wide);
        self.below(less)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Appends parts until the text has at least `size` bytes.
fn filled(size: usize, seed: u64, mut add: impl FnMut(&mut Random, &mut String)) -> String {
    let (mut random, mut text) = (Random(seed), String::with_capacity(size + 100));
    while text.len() < size {
        add(&mut random, &mut text);
    }
    text
}

/// The k-th word of a language, which is always the same.
fn word(k: usize, syllables: &[&str]) -> String {
    let mut random = Random(k as u64 * 977 + 5);
    (0..1 + random.below(2) + usize::from(k > 60) + random.below(1 + k.min(900) / 300))
        .map(|_| random.pick(syllables))
        .collect()
}

const LATIN: [&str; 24] = [
    "a", "be", "con", "der", "e", "fi", "ga", "her", "in", "jo", "ka", "lis", "mo", "na", "o", "per", "qui", "ra",
    "ston", "the", "un", "ver", "wy", "zel",
];

/// Sentences and paragraphs.
#[must_use]
pub fn prose(size: usize) -> String {
    filled(size, 1, |random, text| {
        let n = 3 + random.below(14);
        for at in 0..n {
            let mut next = match random.below(60) {
                0 => random.below(3000).to_string(),
                1 => word(random.rank(3000), &LATIN) + random.pick(&["'s", "'ll", "n't", "'re"]),
                2 => format!("“{}”", word(random.rank(3000), &LATIN)),
                _ => word(random.rank(3000), &LATIN),
            };
            if at == 0
                && let Some(first) = next.get_mut(..1)
            {
                first.make_ascii_uppercase();
            }
            *text += &next;
            *text += if at + 1 < n { random.pick(&[" ", " ", " ", " ", " ", ", ", " ", "; "]) } else { "" };
        }
        *text += random.pick(&[". ", ". ", ".\n", "? ", "!\n\n", ".” "]);
    })
}

/// Indented lines with names, numbers and operators.
#[must_use]
pub fn code(size: usize) -> String {
    filled(size, 2, |random, text| {
        *text += &" ".repeat(4 * random.below(5));
        for _ in 0..1 + random.below(5) {
            let name = word(random.rank(500), &LATIN);
            match random.below(6) {
                0 => *text += &format!("{name}_{} = ", random.below(9)),
                1 => *text += &format!("self.{name}("),
                2 => *text += &format!("0x{:04x}, ", random.below(1 << 16)),
                3 => *text += &format!("if {name} != {} {{ ", random.below(300)),
                4 => *text += &format!("get{}{name}();", name.to_uppercase()),
                _ => *text += &format!("// {name} -> {name}\t"),
            }
        }
        *text += random.pick(&["\n", "\n", "\r\n", "\n\n", ")\n"]);
    })
}

/// Scripts with several bytes per letter, marks, wide digits and spaces, curly quotes, emoji.
#[must_use]
pub fn multilingual(size: usize) -> String {
    const PARTS: [&[&str]; 5] = [
        &["при", "вет", "мо", "ска", "не", "то", "ко"],
        &["κα", "λη", "μέ", "ρα", "τη", "ς", "ου"],
        &["é", "tu", "ça", "où", "naï", "ve", "Ö"],
        &["हि", "न्दी", "में", "है", "का", "ए"],
        &["한", "국", "어", "입", "니", "다"],
    ];
    filled(size, 3, |random, text| {
        let script = PARTS[random.below(PARTS.len())];
        for _ in 0..4 + random.below(9) {
            *text += &word(random.rank(400), script);
            *text += random.pick(&[" ", " ", " ", " ", ", ", " — ", "\u{a0}"]);
        }
        *text += random.pick(&["٣٤", "«", "😀 ", "❤\u{fe0f}", "1234", "’s "]);
        *text += random.pick(&[".\n", ". ", "。", "!\n"]);
    })
}

/// Clauses of ideographs and kana, without spaces.
#[must_use]
pub fn clauses(size: usize) -> String {
    filled(size, 4, |random, text| {
        for _ in 0..4 + random.below(16) {
            let ideograph = random.below(4) > 0;
            let (first, rank) = if ideograph { (0x4E00, random.rank(2500) * 7) } else { (0x3042, random.rank(80)) };
            text.extend(char::from_u32(first + rank as u32));
        }
        *text += random.pick(&["，", "。", "、", "。\n", "！"]);
    })
}

/// Pieces too long for a key; half of them recur.
#[must_use]
pub fn long_pieces(size: usize) -> String {
    filled(size, 5, |random, text| {
        let seed = if random.below(2) == 0 { random.below(20) } else { random.below(1 << 20) };
        let mut letters = Random(seed as u64);
        let length = 20 + letters.below(300);
        text.extend((0..length).map(|_| char::from(b'a' + letters.rank(26) as u8)));
        text.push(' ');
    })
}
