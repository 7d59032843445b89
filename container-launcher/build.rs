//! Builds the shim that yielding ranks are given (`yield/shim.c`), to be carried inside the binary.
//!
//! It is C, not Rust: it must load into programs of any age, so it may need no library and no start
//! code, and two versions of one symbol are to be told apart. A C compiler for the target is there
//! already, because the TLS library needs one.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=yield");
    let shim =
        PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?).join("shim.so");
    let compiler = cc::Build::new()
        .opt_level(2)
        .debug(false)
        .pic(true)
        .warnings(false)
        .try_get_compiler()?;
    let mut command = compiler.to_command();
    command
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .args(["-fvisibility=hidden", "-fno-sanitize=all"])
        // What these would call is not there on every C library.
        .args(["-fno-stack-protector", "-U_FORTIFY_SOURCE"])
        .args([
            "-shared",
            "-nostdlib",
            "-Wl,-z,lazy",
            "-Wl,-z,noexecstack",
            "-s",
        ])
        .arg("-Wl,--version-script=yield/versions.map")
        .arg("-Wl,-soname,libgerbil-yield.so")
        .arg("yield/shim.c")
        .arg("-o")
        .arg(&shim);
    let status = command.status()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(())
}
