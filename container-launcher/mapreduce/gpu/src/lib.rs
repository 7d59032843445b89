#![doc = include_str!("../README.md")]
//!
//! # The life of a launch
//!
//! [`Device::open`] looks for the library of each API in turn → [`Device::compile`] puts the dialect's macros
//! ([`DIALECT`]) before a source and has NVRTC, or OpenCL's driver, compile it → [`Device::upload`] and [`Device::zeros`] make memory
//! there → [`Device::launch`] runs a kernel and waits for it → [`Device::download`] brings memory back. Everything is
//! done when the call returns.
#![cfg(any(feature = "cuda", feature = "opencl"))]

#[cfg(feature = "cuda")]
mod cuda;
mod device;
mod error;
mod number;
#[cfg(feature = "cuda")]
mod nvrtc;
#[cfg(feature = "opencl")]
mod opencl;
#[cfg(feature = "cuda")]
mod ptx;

pub use device::{Argument, Buffer, Device, Grid, Memory, Pinned, Program};
pub use error::Error;
pub use number::Number;

/// The macros of the kernels' dialect, for OpenCL C and CUDA C.
pub const DIALECT: &str = include_str!("dialect.h");

/// Compiles kernels by NVRTC for any device: PTX.
///
/// # Errors
/// NVRTC is not there, or what the compiler says.
#[cfg(feature = "cuda")]
pub fn ptx(source: &str) -> Result<String, Error> {
    let image = nvrtc::compile(source, None)?;
    Ok(image.ptx.to_string_lossy().into_owned())
}
