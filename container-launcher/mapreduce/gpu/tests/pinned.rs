//! Pinned memory and streams, by a library in C that stands for CUDA's driver: what is asked of it, and what its refusal says.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

use std::process::Command;

use gerbil_gpu::Device;

/// The folder of the library, in the process that has it for CUDA's.
const CHILD: &str = "PINNED_CHILD";

/// Runs this test once more, with the library in C instead of CUDA's driver.
fn again(name: &str, refuses: bool) {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver.c");
    let library = folder.path().join("libcuda.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    let built = compiler.arg(source).status().unwrap();
    assert!(built.success(), "cc: it/setup installs what is missing");
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", name, "--nocapture"])
        .env(CHILD, "yes")
        .env("LD_LIBRARY_PATH", folder.path())
        .env_remove("CUDA_VISIBLE_DEVICES");
    if refuses {
        test.env("DRIVER_REFUSES", "yes");
    }
    let done = test.output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Pages of this process.
#[repr(align(4096))]
struct Pages([u8; 8192]);

#[test]
#[expect(unsafe_code, reason = "memory is a pointer")]
fn memory_is_pinned_until_it_is_dropped_and_copies_are_a_devices_own() {
    if !is_child() {
        return again(
            "memory_is_pinned_until_it_is_dropped_and_copies_are_a_devices_own",
            false,
        );
    }
    let devices = [
        Device::open("0", false).unwrap(),
        Device::open("0", false).unwrap(),
    ];
    assert_eq!((devices[0].api(), devices[0].name()), ("CUDA", "Trial"));
    let mut pages = Box::new(Pages([7; 8192]));
    let address = pages.0.as_mut_ptr();
    // SAFETY: the pages are dropped later.
    let pinned = unsafe { devices[0].pin(address, 8192) }.unwrap().unwrap();
    // Another thread may drop it, after the device that has pinned it.
    let [first, second] = devices;
    drop(first);
    let on_device = second.upload(&pages.0).unwrap();
    assert_eq!(second.download(&on_device).unwrap(), [7; 8192]);
    assert_eq!(
        second.download(&second.zeros::<u32>(3).unwrap()).unwrap(),
        [0; 3]
    );
    std::thread::spawn(move || drop(pinned)).join().unwrap();
    // SAFETY: the pages are dropped later. One byte of a page is none that this driver pins.
    let refused = unsafe { second.pin(address, 1) }.unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("cuMemHostRegister of 1 bytes: CUDA error 801")
    );
}

#[test]
#[expect(unsafe_code, reason = "memory is a pointer")]
fn what_refuses_to_pin_is_said() {
    if !is_child() {
        return again("what_refuses_to_pin_is_said", true);
    }
    let device = Device::open("0", false).unwrap();
    let mut pages = Box::new(Pages([0; 8192]));
    // SAFETY: the pages are dropped later.
    let refused = unsafe { device.pin(pages.0.as_mut_ptr(), 8192) }.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cuMemHostRegister of 8192 bytes: CUDA error 1 (CUDA_ERROR_INVALID_VALUE)"
    );
}
