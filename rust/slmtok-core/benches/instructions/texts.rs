//! Texts of our own making, the same on every machine and in every run: what counts of instructions and of the engine's work
//! are taken over.
//!
//! They resemble prose, code and scripts in what matters here: which characters stand beside which, how long words are, and how
//! often they come again. They mean nothing.

/// A linear congruence: no other generator is promised to stay the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    /// A rank below `n`, low ones far more often, about as words are distributed.
    fn rank(&mut self, n: usize) -> usize {
        let wide = 1 + self.below(n);
        let less = 1 + self.below(wide);
        self.below(less)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Adds parts until there are `size` bytes, and some that end the last part.
fn filled(size: usize, seed: u64, mut add: impl FnMut(&mut Dice, &mut String)) -> String {
    let (mut dice, mut text) = (Dice(seed), String::with_capacity(size + 100));
    while text.len() < size {
        add(&mut dice, &mut text);
    }
    text
}

/// The words of a language that nobody speaks: the k-th always is the same.
fn word(k: usize, syllables: &[&str]) -> String {
    let mut dice = Dice(k as u64 * 977 + 5);
    (0..1 + dice.below(2) + usize::from(k > 60) + dice.below(1 + k.min(900) / 300))
        .map(|_| dice.pick(syllables))
        .collect()
}

const LATIN: [&str; 24] = [
    "a", "be", "con", "der", "e", "fi", "ga", "her", "in", "jo", "ka", "lis", "mo", "na", "o", "per", "qui", "ra",
    "ston", "the", "un", "ver", "wy", "zel",
];

/// Sentences and paragraphs.
#[must_use]
pub fn prose(size: usize) -> String {
    filled(size, 1, |dice, text| {
        let n = 3 + dice.below(14);
        for at in 0..n {
            let mut next = match dice.below(60) {
                0 => dice.below(3000).to_string(),
                1 => word(dice.rank(3000), &LATIN) + dice.pick(&["'s", "'ll", "n't", "'re"]),
                2 => format!("“{}”", word(dice.rank(3000), &LATIN)),
                _ => word(dice.rank(3000), &LATIN),
            };
            if at == 0
                && let Some(first) = next.get_mut(..1)
            {
                first.make_ascii_uppercase();
            }
            *text += &next;
            *text += if at + 1 < n { dice.pick(&[" ", " ", " ", " ", " ", ", ", " ", "; "]) } else { "" };
        }
        *text += dice.pick(&[". ", ". ", ".\n", "? ", "!\n\n", ".” "]);
    })
}

/// Indented lines with names, numbers and operators.
#[must_use]
pub fn code(size: usize) -> String {
    filled(size, 2, |dice, text| {
        *text += &" ".repeat(4 * dice.below(5));
        for _ in 0..1 + dice.below(5) {
            let name = word(dice.rank(500), &LATIN);
            match dice.below(6) {
                0 => *text += &format!("{name}_{} = ", dice.below(9)),
                1 => *text += &format!("self.{name}("),
                2 => *text += &format!("0x{:04x}, ", dice.below(1 << 16)),
                3 => *text += &format!("if {name} != {} {{ ", dice.below(300)),
                4 => *text += &format!("get{}{name}();", name.to_uppercase()),
                _ => *text += &format!("// {name} -> {name}\t"),
            }
        }
        *text += dice.pick(&["\n", "\n", "\r\n", "\n\n", ")\n"]);
    })
}

/// Alphabets with more than one byte a letter, marks, wide digits and spaces, curly quotes, pictures.
#[must_use]
pub fn multilingual(size: usize) -> String {
    const PARTS: [&[&str]; 5] = [
        &["при", "вет", "мо", "ска", "не", "то", "ко"],
        &["κα", "λη", "μέ", "ρα", "τη", "ς", "ου"],
        &["é", "tu", "ça", "où", "naï", "ve", "Ö"],
        &["हि", "न्दी", "में", "है", "का", "ए"],
        &["한", "국", "어", "입", "니", "다"],
    ];
    filled(size, 3, |dice, text| {
        let script = PARTS[dice.below(PARTS.len())];
        for _ in 0..4 + dice.below(9) {
            *text += &word(dice.rank(400), script);
            *text += dice.pick(&[" ", " ", " ", " ", ", ", " — ", "\u{a0}"]);
        }
        *text += dice.pick(&["٣٤", "«", "😀 ", "❤\u{fe0f}", "1234", "’s "]);
        *text += dice.pick(&[".\n", ". ", "。", "!\n"]);
    })
}

/// Clauses of ideographs and kana, without spaces.
#[must_use]
pub fn clauses(size: usize) -> String {
    filled(size, 4, |dice, text| {
        for _ in 0..4 + dice.below(16) {
            let ideograph = dice.below(4) > 0;
            let (first, rank) = if ideograph { (0x4E00, dice.rank(2500) * 7) } else { (0x3042, dice.rank(80)) };
            text.extend(char::from_u32(first + rank as u32));
        }
        *text += dice.pick(&["，", "。", "、", "。\n", "！"]);
    })
}

/// Pieces too long for the table of short ones: half of them come again.
#[must_use]
pub fn long_pieces(size: usize) -> String {
    filled(size, 5, |dice, text| {
        let seed = if dice.below(2) == 0 { dice.below(20) } else { dice.below(1 << 20) };
        let mut letters = Dice(seed as u64);
        let length = 20 + letters.below(300);
        text.extend((0..length).map(|_| char::from(b'a' + letters.rank(26) as u8)));
        text.push(' ');
    })
}
