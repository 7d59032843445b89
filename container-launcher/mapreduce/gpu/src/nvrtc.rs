//! NVRTC, NVIDIA's compiler of kernels, looked for when it is used.
//!
//! Where it knows the device it makes the device's own code, which every driver loads that knows the device. Otherwise it
//! makes PTX, which the driver compiles: that driver must be as new as the NVRTC.

#![expect(unsafe_code, reason = "NVRTC is a C library")]

use std::ffi::{CStr, CString, c_char, c_int};

use cudarc::nvrtc::result::{self, NvrtcError};
use cudarc::nvrtc::sys;

use crate::DIALECT;
use crate::error::Error;

/// What a driver is handed.
pub(crate) struct Image {
    /// With a zero at its end.
    pub(crate) ptx: CString,
    /// The device's own code, where NVRTC makes it.
    pub(crate) cubin: Option<Vec<u8>>,
}

/// Compiles the kernels of `source` for a device of compute capability `capability`, 90 for 9.0; for any where it is `None`.
///
/// # Errors
/// There is no NVRTC, it knows no device as old as this one, or what it says of the source.
pub(crate) fn compile(source: &str, capability: Option<c_int>) -> Result<Image, Error> {
    // SAFETY: NVRTC's initialisers have no conditions.
    let is_there = unsafe { sys::is_culib_present() };
    if !is_there {
        return Err(Error::new(
            "no libnvrtc.so, which compiles kernels for CUDA: it is part of CUDA's toolkit",
        ));
    }
    let whole = CString::new([DIALECT, source].concat());
    let whole = whole.ok();
    let whole = whole.ok_or_else(|| Error::new("there is a zero in a kernel's source"))?;
    // As in OpenCL: what is not FMA is rounded at each step.
    let mut options = vec!["--fmad=false".to_owned()];
    if let Some(capability) = capability {
        options.push(target(capability, &known()?)?);
    }
    let program = Program(result::create_program(&whole, None).map_err(|error| said(&error))?);
    // SAFETY: the program is held.
    if let Err(error) = unsafe { result::compile_program(program.0, &options) } {
        // SAFETY: the program is held.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let log = text(log);
        let log = log.to_string_lossy();
        return Err(match log.trim() {
            "" => said(&error),
            log => Error::new(format!("NVRTC: {log}")),
        });
    }
    // SAFETY: the program is held, and compiled.
    let ptx = unsafe { result::get_ptx(program.0) }.map_err(|error| said(&error))?;
    Ok(Image {
        ptx: text(ptx),
        cubin: program.cubin()?,
    })
}

/// The option that names the newest target that runs on a device of `capability`: `known` are NVRTC's.
fn target(capability: c_int, known: &[c_int]) -> Result<String, Error> {
    if known.contains(&capability) {
        return Ok(format!("--gpu-architecture=sm_{capability}"));
    }
    let older = known.iter().filter(|&&known| known < capability).max();
    let dotted = |number: c_int| format!("{}.{}", number / 10, number % 10);
    match older {
        Some(older) => Ok(format!("--gpu-architecture=compute_{older}")),
        None => Err(Error::new(format!(
            "the device has compute capability {}, and this NVRTC compiles for {} and later: an older CUDA toolkit's \
             libnvrtc.so is needed",
            dotted(capability),
            known
                .iter()
                .min()
                .map_or_else(|| "none".to_owned(), |least| dotted(*least)),
        ))),
    }
}

/// The compute capabilities that this NVRTC compiles for.
fn known() -> Result<Vec<c_int>, Error> {
    let mut count = 0;
    // SAFETY: it writes one number.
    let counted = unsafe { sys::nvrtcGetNumSupportedArchs(&raw mut count) };
    counted.result().map_err(|error| said(&error))?;
    let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
    if !known.is_empty() {
        // SAFETY: it writes as many numbers as it has said.
        let told = unsafe { sys::nvrtcGetSupportedArchs(known.as_mut_ptr()) };
        told.result().map_err(|error| said(&error))?;
    }
    Ok(known)
}

/// Given back when it is dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    /// What it was compiled to, where that is code and not PTX alone.
    fn cubin(&self) -> Result<Option<Vec<u8>>, Error> {
        let mut size = 0;
        // SAFETY: the program is held, and compiled; one number is written.
        let told = unsafe { sys::nvrtcGetCUBINSize(self.0, &raw mut size) };
        if told.result().is_err() || size == 0 {
            return Ok(None);
        }
        let mut cubin = vec![0_u8; size];
        // SAFETY: as many bytes are written as were said.
        let copied = unsafe { sys::nvrtcGetCUBIN(self.0, cubin.as_mut_ptr().cast()) };
        copied.result().map_err(|error| said(&error))?;
        Ok(Some(cubin))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it was created, and is not used any more. What NVRTC says to it changes nothing.
        unsafe { result::destroy_program(self.0) }.unwrap_or_default();
    }
}

/// What NVRTC has written, up to its first zero.
fn text(bytes: Vec<c_char>) -> CString {
    let bytes: Vec<u8> = bytes.into_iter().map(c_char::cast_unsigned).collect();
    let to_zero = CStr::from_bytes_until_nul(&bytes);
    to_zero.map_or_else(|_| CString::default(), CStr::to_owned)
}

fn said(NvrtcError(code): &NvrtcError) -> Error {
    Error::new(format!("NVRTC: {code:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_the_device_or_the_newest_that_is_older() {
        let known = [75, 80, 90, 100];
        assert_eq!(target(90, &known).unwrap(), "--gpu-architecture=sm_90");
        assert_eq!(target(89, &known).unwrap(), "--gpu-architecture=compute_80");
        assert_eq!(
            target(121, &known).unwrap(),
            "--gpu-architecture=compute_100"
        );
        let refused = target(61, &known).unwrap_err().to_string();
        assert!(
            refused.contains("6.1") && refused.contains("7.5"),
            "{refused}"
        );
        let refused = target(61, &[]).unwrap_err().to_string();
        assert!(refused.contains("none"), "{refused}");
    }
}
