//! `gerbil probe` beside libraries of devices that answer, crash, hang and are none: real libraries, loaded in a
//! real child.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a library of this size and a process cost, beyond the two seconds that one may hang.
#[cfg(test)]
const PATIENCE: Duration = Duration::from_millis(3_000);

/// CUDA's driver library with two devices of 16 GiB; `INIT` is what `cuInit` does.
#[cfg(test)]
const CUDA: &str = r#"
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <stddef.h>
int cuInit(unsigned flags) { INIT; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Trial 16", length); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)16 << 30; return 0; }
"#;

/// OpenCL's loader with a device of the type `TYPE`.
#[cfg(test)]
const OPEN_CL: &str = r#"
#include <string.h>
#include <stddef.h>
int clGetPlatformIDs(unsigned most, void **all, unsigned *count) { all[0] = (void *)1; *count = 1; return 0; }
int clGetDeviceIDs(void *platform, unsigned long type, unsigned most, void **all, unsigned *count) {
    all[0] = (void *)2; *count = 1; return 0;
}
int clGetDeviceInfo(void *device, unsigned what, size_t length, void *value, size_t *needed) {
    switch (what) {
        case 0x1000: *(unsigned long *)value = TYPE; break;
        case 0x101F: *(unsigned long *)value = 8ul << 30; break;
        case 0x102B: strcpy(value, "Trial CL"); break;
        case 0x102C: strcpy(value, "Intel(R) Corporation"); break;
        default: strcpy(value, "1.0"); break;
    }
    return 0;
}
"#;

/// A machine below `root` with a library, and these device files.
#[cfg(test)]
fn machine(root: &Path, library: &str, source: &str, files: &[&str]) {
    let folder = root.join("usr/lib");
    fs::create_dir_all(&folder).unwrap();
    let file = root.join("library.c");
    fs::write(&file, source).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(folder.join(library))
        .arg(&file)
        .status();
    assert!(
        built
            .expect("a C compiler: it/setup installs one")
            .success()
    );
    for name in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
}

/// What is said of it, and how long that took.
#[cfg(test)]
fn probe(root: &Path, words: &[&str]) -> (String, Duration) {
    let gerbil = root.join("gerbil");
    if !gerbil.exists() {
        symlink(env!("CARGO_BIN_EXE_gerbil-run"), &gerbil).unwrap();
    }
    let began = Instant::now();
    let said = Command::new(gerbil)
        .args(["probe", "--root"])
        .arg(root)
        .args(words)
        .output()
        .unwrap();
    assert!(said.status.success(), "{said:?}");
    (String::from_utf8(said.stdout).unwrap(), began.elapsed())
}

#[cfg(test)]
fn cuda(init: &str, files: &[&str]) -> (serde_json::Value, Duration) {
    let root = tempfile::tempdir().unwrap();
    machine(
        root.path(),
        "libcuda.so.1",
        &CUDA.replace("INIT", init),
        files,
    );
    let (said, took) = probe(root.path(), &["--json"]);
    (serde_json::from_str(&said).unwrap(), took)
}

#[test]
fn two_devices_answer() {
    let (said, took) = cuda("", &["dev/nvidia0", "dev/nvidia1"]);
    assert_eq!(said.as_array().unwrap().len(), 1, "{said}");
    let gpu = &said[0];
    assert_eq!(
        (&gpu["kind"], &gpu["maker"]),
        (&"gpu".into(), &"nvidia".into())
    );
    assert_eq!(
        (&gpu["model"], &gpu["count"]),
        (&"Trial 16".into(), &2.into())
    );
    assert_eq!(
        (&gpu["memory_mib"], &gpu["driver"]),
        (&16384.into(), &"CUDA 13.0".into())
    );
    assert!(gpu["broken"].is_null() && gpu["evidence"][0].as_str().unwrap().ends_with("nvidia0"));
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn a_library_that_crashes_or_hangs_is_broken_and_costs_two_seconds_at_most() {
    let broken = |init| {
        let (said, took) = cuda(init, &["dev/nvidia0"]);
        assert!(took < PATIENCE, "{init}: {took:?}");
        assert_eq!(said[0]["count"], 1, "{init}: {said}");
        said[0]["broken"].as_str().unwrap().to_owned()
    };
    assert_eq!(broken("raise(SIGSEGV)"), "signal 11 in cuInit");
    assert_eq!(
        broken("_exit(3)"),
        "its process exited with code 3 in cuInit"
    );
    assert_eq!(broken("return 803"), "cuInit says 803");
    assert_eq!(broken("return 100"), "cuInit says 100 (no device)");
    let began = Instant::now();
    assert_eq!(broken("for (;;) pause()"), "no answer within 2 s in cuInit");
    assert!(began.elapsed() >= Duration::from_secs(2));
}

#[test]
fn a_library_without_a_device_is_no_device() {
    let (said, _) = cuda("return 100", &[]);
    assert_eq!(said[0]["count"], 0);
    assert_eq!(said[0]["evidence"][0], "cuInit says 100 (no device)");
    assert!(said[0]["broken"].is_null());
}

#[test]
fn what_is_no_library_is_broken() {
    let root = tempfile::tempdir().unwrap();
    machine(
        root.path(),
        "libcuda.so.1",
        &CUDA.replace("INIT", ""),
        &["dev/nvidia0"],
    );
    fs::write(root.path().join("usr/lib/libcuda.so.1"), "no library").unwrap();
    let (said, _) = probe(root.path(), &[]);
    assert!(said.contains("broken: libcuda.so.1: "), "{said}");
}

#[test]
fn a_device_of_opencl_is_what_its_type_says() {
    for (kind, wanted) in [
        (
            "4",
            "1 gpu intel Trial CL 8192 MiB, OpenCL 1.0; by libOpenCL.so.1\n",
        ),
        (
            "8",
            "1 fpga intel Trial CL 8192 MiB, OpenCL 1.0; by libOpenCL.so.1\n",
        ),
        (
            "2",
            "0 gpu; by OpenCL has Trial CL alone, which is no GPU\n",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        let driver = "etc/OpenCL/vendors/trial.icd";
        let source = OPEN_CL.replace("TYPE", kind);
        machine(root.path(), "libOpenCL.so.1", &source, &[driver]);
        assert_eq!(probe(root.path(), &[]).0, wanted);
    }
}

#[test]
fn a_machine_without_devices_is_told_at_once() {
    let root = tempfile::tempdir().unwrap();
    let (said, took) = probe(root.path(), &[]);
    assert_eq!(said, "nothing was found beside cores and memory\n");
    assert!(took < PATIENCE, "{took:?}");
    let (said, _) = probe(root.path(), &["--node-attributes"]);
    assert_eq!(
        said,
        "NODE_ATTRIBUTE:gpu,STRING,0\nNODE_ATTRIBUTE:fpga,STRING,0\n"
    );
}
