//! The modules of the core form layers: each imports only modules above it in [`LAYERS`], and only those listed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every module with the modules that it may import, which must be above it. Only `encode` imports `accel`.
const LAYERS: [(&str, &[&str]); 23] = [
    ("error", &[]),
    ("threads", &["error"]),
    ("interrupt", &["error", "threads"]),
    ("mem", &["error"]),
    ("utf8", &[]),
    ("fork_safe_once", &[]),
    ("simd_limit", &["fork_safe_once"]),
    ("byte_hash", &[]),
    ("ordered", &["error", "threads", "interrupt"]),
    ("file_blocks", &["error", "mem"]),
    ("pretoken", &["error", "threads", "interrupt", "mem", "utf8", "simd_limit"]),
    ("byte_automaton", &["error", "pretoken"]),
    ("parallel", &["error", "threads", "interrupt", "pretoken"]),
    ("cache", &["error", "mem", "simd_limit", "byte_hash"]),
    ("token_set", &["byte_hash"]),
    ("merges", &["error", "token_set"]),
    ("merge", &["error", "interrupt", "mem", "fork_safe_once", "simd_limit", "merges"]),
    ("corpus", &["error", "interrupt", "mem", "parallel"]),
    (
        "count",
        &[
            "error",
            "threads",
            "mem",
            "utf8",
            "byte_hash",
            "interrupt",
            "file_blocks",
            "pretoken",
            "parallel",
            "cache",
            "corpus",
        ],
    ),
    ("train", &["error", "interrupt", "mem", "utf8", "pretoken", "merges", "count"]),
    ("accel", &["error", "mem", "simd_limit", "pretoken", "parallel", "cache"]),
    (
        "encode",
        &[
            "error",
            "threads",
            "interrupt",
            "mem",
            "utf8",
            "fork_safe_once",
            "ordered",
            "file_blocks",
            "pretoken",
            "parallel",
            "cache",
            "token_set",
            "merges",
            "merge",
            "accel",
        ],
    ),
    ("decode", &["error", "threads", "mem", "fork_safe_once", "parallel", "encode"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// The modules that a source imports outside its tests.
fn imports(source: &str) -> BTreeSet<String> {
    let library = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = library.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let names = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(group) => group.split('}').next().unwrap_or_default().split(", ").collect::<Vec<_>>(),
        None => vec![rest],
    });
    let name =
        |text: &str| text.chars().take_while(|&letter| letter.is_alphanumeric() || letter == '_').collect::<String>();
    // `Error` and `Result` are re-exported from `error`.
    let module = |name: String| if matches!(name.as_str(), "Error" | "Result") { "error".to_owned() } else { name };
    names.map(name).map(module).collect()
}

/// The modules that `module` imports, directly or through others.
fn dependencies(module: &str) -> BTreeSet<&'static str> {
    let (_, allowed) = LAYERS.iter().find(|(name, _)| *name == module).unwrap();
    allowed.iter().flat_map(|&name| dependencies(name).into_iter().chain([name])).collect()
}

#[test]
fn the_parts_of_encoding_do_not_depend_on_each_other() {
    let parts = ["pretoken", "cache", "merge"];
    for (part, other) in parts.iter().flat_map(|part| parts.map(|other| (*part, other))) {
        assert!(!dependencies(part).contains(other), "{part} depends on {other}");
    }
    for (part, other) in [("train", "merge"), ("train", "encode"), ("encode", "train"), ("encode", "count")] {
        assert!(!dependencies(part).contains(other), "{part} depends on {other}");
    }
}

#[test]
fn modules_import_only_lower_layers() {
    for (at, (module, allowed)) in LAYERS.iter().enumerate() {
        let above = LAYERS[..at].iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert!(allowed.iter().all(|name| above.contains(name)), "{module} lists a module that is not above it");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut modules = BTreeSet::new();
    for path in files {
        let relative = path.strip_prefix(&root).unwrap().with_extension("");
        let module = relative.iter().next().unwrap().to_str().unwrap().to_owned();
        let is_test = matches!(relative.file_name().and_then(|name| name.to_str()), Some("tests" | "testing"));
        if module == "lib" || is_test {
            continue;
        }
        let layer = LAYERS.iter().find(|(name, _)| *name == module);
        let (_, allowed) = layer.unwrap_or_else(|| panic!("{module} has no layer"));
        for import in imports(&std::fs::read_to_string(&path).unwrap()) {
            assert!(import == module || allowed.contains(&import.as_str()), "{} imports {import}", path.display());
        }
        modules.insert(module);
    }
    assert_eq!(modules.len(), LAYERS.len());
}
