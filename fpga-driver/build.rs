//! Makes simulated cores of the Verilog in `rtl/` where Verilator is installed, and says so to the
//! crate (`cfg(rtl)`).  Without it everything else is built, and boards of kind `rtl` say what is missing.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const CORES: [&str; 3] = ["kmeans_map", "kmeans_reduce", "bayes_map"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rtl");
    println!("cargo::rustc-check-cfg=cfg(rtl)");
    let Some(include) = verilator_include() else {
        println!("cargo::rerun-if-env-changed=PATH");
        return Ok(());
    };
    // Not PATH, which has the same folders in many ways: with each other one the crate, and all that stands on it, would
    // be built anew.
    if let Some(verilator) = on_path("verilator") {
        println!("cargo::rerun-if-changed={}", verilator.display());
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?).join("rtl");
    // What an older rtl/ was made into is not to be compiled along.
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    for core in CORES {
        let mut command = Command::new("verilator");
        command
            .args([
                "--cc",
                "-O3",
                "-Wall",
                "--x-assign",
                "0",
                "--x-initial",
                "0",
            ])
            // Its data-flow graphs copy a memory's whole word, 32 centroids, before the lanes take theirs.
            .args([
                "-fno-dfg",
                "--noassert",
                "-Irtl",
                "--top-module",
                core,
                "--Mdir",
            ])
            .arg(&out)
            .arg(format!("rtl/{core}.v"));
        let status = command.status()?;
        if !status.success() {
            return Err(format!("{command:?}: {status}").into());
        }
    }
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .opt_level(3)
        .debug(false)
        .warnings(false)
        .std("c++17")
        .include(&out)
        .include(&include)
        .include(include.join("vltstd"))
        .define("VM_COVERAGE", "0")
        .define("VM_SC", "0")
        .define("VM_TRACE", "0")
        .file("rtl/shim.cpp")
        .file(include.join("verilated.cpp"))
        .file(include.join("verilated_threads.cpp"));
    for source in made(&out)? {
        build.file(source);
    }
    build.try_compile("gerbil_rtl")?;
    println!("cargo::rustc-cfg=rtl");
    Ok(())
}

/// The file that the shell would start.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// Verilator's headers; `None` where it, or a compiler for what it makes, is not installed.
fn verilator_include() -> Option<PathBuf> {
    Command::new("c++").arg("--version").output().ok()?;
    let root = Command::new("verilator")
        .args(["--getenv", "VERILATOR_ROOT"])
        .output()
        .ok()?;
    let root = String::from_utf8(root.stdout).ok()?;
    let include = Path::new(root.trim()).join("include");
    include.join("verilated.cpp").exists().then_some(include)
}

fn made(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "cpp") {
            sources.push(path);
        }
    }
    // Folders have no order; builds do.
    sources.sort();
    Ok(sources)
}
