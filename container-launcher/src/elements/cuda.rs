//! CUDA's driver library: which devices it knows.
//!
//! Five functions whose types have been the same since CUDA 3.2: a binding of all of CUDA would be larger than what
//! it does here, and ends the process where one function is missing.

use std::ffi::{CStr, c_char, c_int, c_uint};

use job::element::{Element, ElementKind};
use libloading::Library;

use super::api::{ApiAnswer, ApiLine, add, tell};

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_STUB_LIBRARY`: what is linked against on machines without a driver.
const STUB: c_int = 34;
/// More than any machine has.
const MOST: c_int = 1024;
/// Of a name, bytes.
const NAME: usize = 256;

/// Asks the library; only in a process that may crash.
#[expect(unsafe_code, reason = "CUDA is a C library")]
pub(super) fn ask(library: &Library) -> Result<ApiAnswer, libloading::Error> {
    // SAFETY: the functions have these types in every libcuda.so.1 (`cuda.h`); numbers go to functions that
    // take numbers, and what is written to lives across the call and has the length that is told.
    unsafe {
        let init = library.get::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit")?;
        let version =
            library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDriverGetVersion")?;
        let count = library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDeviceGetCount")?;
        let name = library
            .get::<unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int>("cuDeviceGetName")?;
        let memory = library
            .get::<unsafe extern "C" fn(*mut usize, c_int) -> c_int>("cuDeviceTotalMem_v2")?;

        tell(&ApiLine::Call("cuInit".to_owned()));
        match init(0) {
            0 => {}
            NO_DEVICE => return Ok(ApiAnswer::nothing("cuInit says 100 (no device)")),
            STUB => {
                return Ok(ApiAnswer::nothing(
                    "cuInit says 34 (a library without a driver)",
                ));
            }
            code => return Ok(ApiAnswer::Broken(format!("cuInit says {code}"))),
        }
        tell(&ApiLine::Call("cuDriverGetVersion".to_owned()));
        let mut driver = 0;
        let told = version(&raw mut driver) == 0 && driver > 0;
        let driver = match told {
            true => format!("CUDA {}.{}", driver / 1000, driver % 1000 / 10),
            false => String::new(),
        };
        tell(&ApiLine::Call("cuDeviceGetCount".to_owned()));
        let mut devices = 0;
        match count(&raw mut devices) {
            0 if devices > 0 => {}
            0 => return Ok(ApiAnswer::nothing("cuDeviceGetCount says 0")),
            code => return Ok(ApiAnswer::Broken(format!("cuDeviceGetCount says {code}"))),
        }
        let mut elements: Vec<Element> = Vec::new();
        // Without a list of its own a process sees them by these numbers.
        for device in 0..devices.min(MOST) {
            tell(&ApiLine::Call(format!(
                "cuDeviceGetName of device {device}"
            )));
            let mut text = [0_u8; NAME];
            let length = c_int::try_from(NAME - 1).unwrap_or(0);
            let code = name(text.as_mut_ptr().cast(), length, device);
            if code != 0 {
                return Ok(ApiAnswer::Broken(format!(
                    "cuDeviceGetName of device {device} says {code}"
                )));
            }
            tell(&ApiLine::Call(format!(
                "cuDeviceTotalMem of device {device}"
            )));
            let mut bytes = 0;
            let code = memory(&raw mut bytes, device);
            if code != 0 {
                return Ok(ApiAnswer::Broken(format!(
                    "cuDeviceTotalMem of device {device} says {code}"
                )));
            }
            let model = CStr::from_bytes_until_nul(&text).unwrap_or_default();
            add(
                &mut elements,
                Element {
                    maker: "nvidia".to_owned(),
                    model: model.to_string_lossy().into_owned(),
                    memory_mib: u64::try_from(bytes).unwrap_or(u64::MAX) >> 20,
                    count: 1,
                    driver: driver.clone(),
                    evidence: vec!["libcuda.so.1".to_owned()],
                    ..Element::none_of(ElementKind::Gpu)
                },
            );
        }
        Ok(ApiAnswer::Devices(elements))
    }
}
