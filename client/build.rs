//! How the one file is linked, and of which commit it is.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=GERBIL_COMMIT={}", commit());
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

/// The commit that is checked out. A file that was not built for others does not say it: it would be built anew for each
/// commit that changes nothing of it.
fn commit() -> String {
    if env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return "unknown commit (a debug build)".to_owned();
    }
    let git = |words: &[&str]| {
        let said = Command::new("git").args(words).output().ok()?;
        let text = String::from_utf8(said.stdout).ok()?;
        let text = text.trim().to_owned();
        (said.status.success() && !text.is_empty()).then_some(text)
    };
    // Git writes there whenever another commit is checked out.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["log", "-1", "--format=%h of %cs"]).unwrap_or_else(|| "unknown commit".to_owned())
}
