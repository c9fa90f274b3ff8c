//! Writes `slmtok-core/src/pretoken/unicode_table.rs`: the class of every code point, as split patterns see it.
//!
//! Usage: `cargo run -p unicode-tables > rust/slmtok-core/src/pretoken/unicode_table.rs`. The classes come from
//! `regex-syntax`, whose version `Cargo.toml` pins, so that named and custom patterns use the same Unicode version.

use std::collections::HashMap;
use std::fmt::Write;

use regex_syntax::hir::{Class, HirKind};

/// The Unicode version of the pinned `regex-syntax`.
const UNICODE_VERSION: &str = "16.0.0";
const CODE_POINTS: usize = 0x11_0000;
const BLOCK: usize = 256;

/// The classes by number; what no property claims is class 0. They are disjoint.
const PROPERTIES: [(u8, &str); 6] =
    [(1, r"[\p{Lu}\p{Lt}]"), (2, r"\p{Ll}"), (3, r"[\p{Lm}\p{Lo}]"), (4, r"\p{M}"), (5, r"\p{N}"), (6, r"\s")];

fn main() {
    match classes() {
        Ok(classes) => print!("{}", render(&classes)),
        Err(reason) => {
            eprintln!("{reason}");
            std::process::exit(1);
        }
    }
}

/// The class of each code point.
fn classes() -> Result<Vec<u8>, String> {
    let mut classes = vec![0; CODE_POINTS];
    for (class, property) in PROPERTIES {
        let hir = regex_syntax::parse(property).map_err(|error| error.to_string())?;
        let HirKind::Class(Class::Unicode(set)) = hir.kind() else {
            return Err(format!("{property} is not a class of characters"));
        };
        for range in set.iter() {
            for slot in &mut classes[range.start() as usize..=range.end() as usize] {
                if *slot != 0 {
                    return Err(format!("{property} meets class {slot}"));
                }
                *slot = class;
            }
        }
    }
    Ok(classes)
}

/// The Rust source: two stages for all code points, and one direct table for those of one and two bytes.
fn render(classes: &[u8]) -> String {
    let mut numbers: HashMap<Vec<u8>, u8> = HashMap::new();
    let (mut stage, mut blocks) = (Vec::new(), Vec::new());
    for block in classes.chunks(BLOCK) {
        let packed: Vec<u8> = block.chunks(2).map(|pair| pair[0] | pair[1] << 4).collect();
        let fresh = u8::try_from(numbers.len()).unwrap_or(u8::MAX);
        let number = *numbers.entry(packed.clone()).or_insert(fresh);
        if number == fresh && blocks.len() == usize::from(fresh) {
            blocks.push(packed);
        }
        stage.push(number);
    }
    let mut out = format!(
        "//! The class of every code point in Unicode {UNICODE_VERSION}. Written by `unicode-tables`; do not edit.\n\n\
         /// The Unicode version of these tables.\n\
         pub const UNICODE_VERSION: &str = \"{UNICODE_VERSION}\";\n\n\
         /// Classes of the code points below U+0800, by code point.\n"
    );
    table(&mut out, "pub(super) static DIRECT: [u8; 2048]", &classes[..2048]);
    out.push_str("\n/// Which block of [`BLOCKS`] describes the 256 code points `n << 8 ..`.\n");
    table(&mut out, "pub(super) static STAGE: [u8; 4352]", &stage);
    out.push_str("\n/// Two classes in a byte, that of the even code point in the low half.\n");
    let declaration = format!("pub(super) static BLOCKS: [[u8; 128]; {}]", blocks.len());
    nested(&mut out, &declaration, &blocks);
    out
}

/// Appends a table of bytes, 32 in a row.
fn table(out: &mut String, declaration: &str, values: &[u8]) {
    let _ = writeln!(out, "#[rustfmt::skip]\n{declaration} = [");
    for row in values.chunks(32) {
        let _ = writeln!(out, "    {},", row.iter().map(u8::to_string).collect::<Vec<_>>().join(","));
    }
    out.push_str("];\n");
}

/// Appends a table of tables, one in a row.
fn nested(out: &mut String, declaration: &str, blocks: &[Vec<u8>]) {
    let _ = writeln!(out, "#[rustfmt::skip]\n{declaration} = [");
    for block in blocks {
        let _ = writeln!(out, "    [{}],", block.iter().map(u8::to_string).collect::<Vec<_>>().join(","));
    }
    out.push_str("];\n");
}
