//! Replays every file of `regressions/TARGET-*` through its target, and 3,000 generated inputs through all targets.

#![allow(clippy::unwrap_used, reason = "a test panics on errors")]

use std::path::Path;

use slmtok_fuzz::TARGETS;

#[test]
fn regressions_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "README.md" {
            continue;
        }
        let target = TARGETS.iter().find(|(target, _)| name.starts_with(&format!("{target}-")));
        let (_, run) = target.unwrap_or_else(|| panic!("{name} belongs to no target"));
        run(&std::fs::read(&path).unwrap());
        replayed += 1;
    }
    assert!(replayed > 0, "no regressions were found");
}

#[test]
fn every_binary_is_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
    let stem = |entry: std::fs::DirEntry| entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
    let mut binaries: Vec<String> = std::fs::read_dir(folder).unwrap().map(|entry| stem(entry.unwrap())).collect();
    let mut targets = TARGETS.map(|(name, _)| name);
    binaries.sort_unstable();
    targets.sort_unstable();
    assert_eq!(binaries, targets);
}

#[test]
fn generated_inputs_pass() {
    const PARTS: [&[u8]; 21] = [
        b" ",
        b"\n",
        b"'ll",
        b"the",
        b"A",
        b"1",
        b"\xff",
        b"\xe4\xb8\xad",
        b"\xe4",
        b"\xcc\x81",
        b"--",
        b"\xf0\x9f",
        b"aaaa",
        "\u{661}".as_bytes(),
        "\u{3000}".as_bytes(),
        "é".as_bytes(),
        b"{\"text\":\"",
        b"\"}",
        b"\\u",
        b"d83d",
        b",\"a\": [",
    ];
    // A linear congruential generator, so that failures are reproducible.
    let mut state = 1_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for _ in 0..3000 {
        // Most targets read their parameters from the first bytes.
        let mut data: Vec<u8> = (0..10).map(|_| u8::try_from(next(256)).unwrap()).collect();
        for _ in 0..next(60) {
            data.extend_from_slice(PARTS[next(PARTS.len())]);
        }
        TARGETS.iter().for_each(|(_, target)| target(&data));
    }
}
