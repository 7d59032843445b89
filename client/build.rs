//! How the one file is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let target = [
        ("CARGO_CFG_TARGET_ARCH", "x86_64"),
        ("CARGO_CFG_TARGET_OS", "linux"),
        ("CARGO_CFG_TARGET_ENV", "gnu"),
    ];
    // Functions that consist of the same instructions become one, 0.4 MB in all: nobody compares addresses of functions,
    // which Rust promises to be different to nobody. The linker is the one that comes with Rust for this target; other
    // ones do not know the word.
    if is("PROFILE", "release") && target.iter().all(|(name, value)| is(name, value)) {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        // No panic unwinds, and nothing else does: the tables for it are left out, 1.7 MB. The names in a backtrace, which
        // a stripped file has not got anyhow, are all that they would be read for.
        let script = "no-unwind-tables.ld";
        println!("cargo::rerun-if-changed={script}");
        let here = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
        // Not behind -Wl, which would part a folder's name at its commas.
        println!("cargo::rustc-link-arg-bins=-Xlinker");
        println!("cargo::rustc-link-arg-bins=--script={here}/{script}");
    }
}
