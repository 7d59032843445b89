//! OpenCL's loader: which devices its drivers know.
//!
//! A device is what its driver calls it, `CL_DEVICE_TYPE_GPU` or an accelerator. What runs on the node's processors
//! is neither.

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::null_mut;

use job::element::{Element, ElementKind};
use libloading::Library;

use super::api::{ApiAnswer, ApiLine, add, tell};

/// `CL_PLATFORM_NOT_FOUND_KHR`.
const NO_PLATFORM: c_int = -1001;
/// `CL_DEVICE_NOT_FOUND`.
const NO_DEVICE: c_int = -1;
/// `CL_DEVICE_TYPE_ALL`.
const ALL: c_ulong = 0xFFFF_FFFF;
/// `CL_DEVICE_TYPE_GPU`, `CL_DEVICE_TYPE_ACCELERATOR`.
const GPU: c_ulong = 1 << 2;
const ACCELERATOR: c_ulong = 1 << 3;
/// `CL_DEVICE_TYPE`, `CL_DEVICE_GLOBAL_MEM_SIZE`, `CL_DEVICE_NAME`, `CL_DEVICE_VENDOR`, `CL_DRIVER_VERSION`.
const TYPE: c_uint = 0x1000;
const MEMORY: c_uint = 0x101F;
const NAME: c_uint = 0x102B;
const VENDOR: c_uint = 0x102C;
const DRIVER: c_uint = 0x102D;
/// Most platforms, and devices of each.
const MOST: usize = 64;
/// Longest text, bytes.
const TEXT: usize = 1024;

type Handle = *mut c_void;
type Platforms = unsafe extern "C" fn(c_uint, *mut Handle, *mut c_uint) -> c_int;
type GetDeviceIds =
    unsafe extern "C" fn(Handle, c_ulong, c_uint, *mut Handle, *mut c_uint) -> c_int;
type Info = unsafe extern "C" fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;

/// Asks the library; only in a process that may crash.
#[expect(unsafe_code, reason = "OpenCL is a C library")]
pub(super) fn ask(library: &Library) -> Result<ApiAnswer, libloading::Error> {
    // SAFETY: the functions have these types in every libOpenCL.so.1 (`CL/cl.h`); handles are those that the
    // library gave, and what is written to lives across the call and has the length that is told.
    unsafe {
        let platforms = library.get::<Platforms>("clGetPlatformIDs")?;
        let devices = library.get::<GetDeviceIds>("clGetDeviceIDs")?;
        let info = library.get::<Info>("clGetDeviceInfo")?;

        tell(&ApiLine::Call("clGetPlatformIDs".to_owned()));
        let mut all = [null_mut(); MOST];
        let mut found = 0;
        match platforms(length(MOST), all.as_mut_ptr(), &raw mut found) {
            0 if found > 0 => {}
            0 | NO_PLATFORM => {
                return Ok(ApiAnswer::nothing(
                    "clGetPlatformIDs says -1001 (no driver)",
                ));
            }
            code => return Ok(ApiAnswer::Broken(format!("clGetPlatformIDs says {code}"))),
        }
        let (mut elements, mut others) = (Vec::new(), Vec::new());
        for platform in all.into_iter().take(size(found)) {
            tell(&ApiLine::Call("clGetDeviceIDs".to_owned()));
            let mut own = [null_mut(); MOST];
            let mut found = 0;
            match devices(
                platform,
                ALL,
                length(MOST),
                own.as_mut_ptr(),
                &raw mut found,
            ) {
                0 => {}
                NO_DEVICE => continue,
                code => return Ok(ApiAnswer::Broken(format!("clGetDeviceIDs says {code}"))),
            }
            for device in own.into_iter().take(size(found)) {
                tell(&ApiLine::Call("clGetDeviceInfo".to_owned()));
                match element(*info, device) {
                    Ok(element) => add(&mut elements, element),
                    Err(name) => others.push(format!("OpenCL has {name} alone, which is no GPU")),
                }
            }
        }
        Ok(match (elements.is_empty(), others.into_iter().next()) {
            (false, _) => ApiAnswer::Devices(elements),
            (true, Some(other)) => ApiAnswer::Nothing(other),
            (true, None) => ApiAnswer::nothing("clGetDeviceIDs says -1 (no device)"),
        })
    }
}

/// A device; or the name of one that is neither a GPU nor an accelerator.
#[expect(unsafe_code, reason = "OpenCL is a C library")]
fn element(info: Info, device: Handle) -> Result<Element, String> {
    let number = |what| {
        let mut value: u64 = 0;
        // SAFETY: the value has the eight bytes that both numbers have, and the device is the library's own.
        let code = unsafe { info(device, what, 8, (&raw mut value).cast(), null_mut()) };
        if code == 0 { value } else { 0 }
    };
    let text = |what| {
        let mut bytes = [0_u8; TEXT];
        // SAFETY: as above, with as many bytes as are told.
        let code = unsafe {
            info(
                device,
                what,
                TEXT - 1,
                bytes.as_mut_ptr().cast(),
                null_mut(),
            )
        };
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
        let text = bytes.get(..end).filter(|_| code == 0).unwrap_or_default();
        String::from_utf8_lossy(text).trim().to_owned()
    };
    let (name, vendor, kinds) = (text(NAME), text(VENDOR), number(TYPE));
    let kind = match kinds {
        kinds if kinds & GPU != 0 => ElementKind::Gpu,
        kinds if kinds & ACCELERATOR != 0 => ElementKind::Fpga,
        _ => return Err(name),
    };
    Ok(Element {
        maker: maker(&vendor),
        model: name,
        memory_mib: number(MEMORY) >> 20,
        count: 1,
        driver: format!("OpenCL {}", text(DRIVER)),
        evidence: vec!["libOpenCL.so.1".to_owned()],
        ..Element::none_of(kind)
    })
}

/// As the rest of this crate calls a vendor.
fn maker(vendor: &str) -> String {
    let small = vendor.to_lowercase();
    let known = [
        ("nvidia", "nvidia"),
        ("advanced micro devices", "amd"),
        ("amd", "amd"),
        ("intel", "intel"),
        ("xilinx", "xilinx"),
    ];
    let known = known.iter().find(|(word, _)| small.contains(word));
    known.map_or(small.clone(), |(_, maker)| (*maker).to_owned())
}

fn length(count: usize) -> c_uint {
    c_uint::try_from(count).unwrap_or(0)
}

fn size(count: c_uint) -> usize {
    usize::try_from(count).unwrap_or(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_called_as_the_devices_files_call_them() {
        assert_eq!(maker("NVIDIA Corporation"), "nvidia");
        assert_eq!(maker("Advanced Micro Devices, Inc."), "amd");
        assert_eq!(maker("Intel(R) Corporation"), "intel");
        assert_eq!(maker("GenuineIntel"), "intel");
        assert_eq!(maker("Mesa"), "mesa");
    }
}
