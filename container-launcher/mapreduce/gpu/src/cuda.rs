//! CUDA: the driver's library, and NVRTC, are looked for when they are used.
//!
//! The driver's calls alone, on the device's primary context: what is to be done is done when a call returns.

#![expect(unsafe_code, reason = "CUDA is a C library")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use cudarc::nvrtc::{self, CompileError, CompileOptions};

use crate::DIALECT;
#[cfg(feature = "opencl")]
use crate::device::another;
use crate::device::{Argument, DeviceMemory, Grid};
use crate::error::Error;
use crate::number::Number;

/// `CUDA_ERROR_STUB_LIBRARY`, `CUDA_ERROR_NO_DEVICE`, `CUDA_ERROR_INVALID_DEVICE`: what it says where there is none.
const NO_DEVICE: [i64; 3] = [34, 100, 101];
/// `CUDA_ERROR_OUT_OF_MEMORY`.
const NO_ROOM: i64 = 2;

pub(crate) struct Device {
    context: Rc<Context>,
    name: String,
}

/// A device's primary context, for as long as something of it is there.
struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

pub(crate) struct Module {
    module: sys::CUmodule,
    context: Rc<Context>,
}

pub(crate) struct Memory {
    at: sys::CUdeviceptr,
    bytes: usize,
    context: Rc<Context>,
}

impl Device {
    pub(crate) fn open(ordinal: usize) -> Result<Self, Error> {
        // SAFETY: the driver's initialisers have no conditions.
        let is_there = unsafe { sys::is_culib_present() };
        if !is_there {
            return Err(Error::no_device("no libcuda.so"));
        }
        result::init().map_err(|error| said(error, "cuInit"))?;
        let number = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let what = |call: &str| format!("{call} of device {ordinal}");
        let device =
            result::device::get(number).map_err(|error| said(error, &what("cuDeviceGet")))?;
        let name = result::device::get_name(device)
            .map_err(|error| said(error, &what("cuDeviceGetName")))?;
        // SAFETY: the device is one that the driver has just told.
        let context = unsafe { result::primary_ctx::retain(device) };
        let context = context.map_err(|error| said(error, &what("cuDevicePrimaryCtxRetain")))?;
        let context = Rc::new(Context { device, context });
        Ok(Self { context, name })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn compile(&self, source: &str) -> Result<Module, Error> {
        self.context.here()?;
        let text = CString::new(ptx(source)?)
            .ok()
            .ok_or_else(|| Error::new("NVRTC has made PTX with a zero in it"))?;
        // SAFETY: the text ends with a zero, and lives across the call.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) };
        let module = module.map_err(|error| said(error, "cuModuleLoadData"))?;
        Ok(Module {
            module,
            context: Rc::clone(&self.context),
        })
    }

    pub(crate) fn upload<T: Number>(&self, numbers: &[T]) -> Result<Memory, Error> {
        self.context.here()?;
        let bytes = size_of_val(numbers);
        // SAFETY: it is given back when it is dropped.
        let at = unsafe { result::malloc_sync(bytes) };
        let at = at.map_err(|error| self.not_given(error, bytes))?;
        let memory = Memory {
            at,
            bytes,
            context: Rc::clone(&self.context),
        };
        // SAFETY: the memory has as many bytes as the numbers, which live across the call.
        let copied = unsafe { result::memcpy_htod_sync(memory.at, numbers) };
        copied.map_err(|error| said(error, "cuMemcpyHtoD"))?;
        Ok(memory)
    }

    /// Why it gives no memory of so many bytes.
    fn not_given(&self, error: DriverError, bytes: usize) -> Error {
        let free = result::mem_get_info().map_or(0, |(free, _)| free >> 20);
        match error.0 as i64 {
            NO_ROOM => Error::no_room(bytes, &self.name, &format!("{free} MiB free")),
            _ => said(
                error,
                &format!("cuMemAlloc of {bytes} bytes on {}", self.name),
            ),
        }
    }

    pub(crate) fn download<T: Number>(
        &self,
        memory: &Memory,
        numbers: &mut [T],
    ) -> Result<(), Error> {
        self.context.here()?;
        if size_of_val(numbers) > memory.bytes {
            return Err(Error::new("more is asked of a device's memory than it has"));
        }
        // SAFETY: the memory has at least as many bytes as the numbers, and any bytes are numbers.
        let copied = unsafe { result::memcpy_dtoh_sync(numbers, memory.at) };
        copied.map_err(|error| said(error, "cuMemcpyDtoH"))
    }

    /// # Safety
    /// As [`crate::Device::launch`].
    pub(crate) unsafe fn launch(
        &self,
        program: &Module,
        name: &str,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        self.context.here()?;
        let called = CString::new(name)
            .ok()
            .ok_or_else(|| Error::new(format!("{name:?} is no name of a kernel")))?;
        // SAFETY: the module is loaded until the program is dropped.
        let function = unsafe { result::module::get_function(program.module, called) };
        let function =
            function.map_err(|error| said(error, &format!("cuModuleGetFunction of {name}")))?;
        // 8 bytes for each, of which the driver reads as many as the parameter has.
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(match argument {
                Argument::Memory(memory) => match &memory.0 {
                    DeviceMemory::Cuda(memory) => memory.at,
                    #[cfg(feature = "opencl")]
                    DeviceMemory::OpenCl(_) => return Err(another()),
                },
                Argument::I32(value) => u64::from(value.cast_unsigned()),
                Argument::U32(value) => u64::from(*value),
                Argument::U64(value) => *value,
                Argument::F32(value) => u64::from(value.to_bits()),
            });
        }
        let mut pointers: Vec<*mut c_void> = values
            .iter_mut()
            .map(|value: &mut u64| std::ptr::from_mut(value).cast())
            .collect();
        // SAFETY: each pointer leads to as many bytes as the widest parameter has, in x86's order, across the call;
        // of the kernel the caller takes care.
        let launched = unsafe {
            result::launch_kernel(
                function,
                (grid.groups, 1, 1),
                (grid.threads, 1, 1),
                0,
                null_mut(),
                &mut pointers,
            )
        };
        launched.map_err(|error| said(error, &format!("a launch of {name}")))?;
        result::ctx::synchronize()
            .map_err(|error| said(error, &format!("the kernel {name} on {}", self.name)))
    }
}

impl Context {
    /// Makes it this thread's.
    fn here(&self) -> Result<(), Error> {
        // SAFETY: it is held until this is dropped.
        let set = unsafe { result::ctx::set_current(self.context) };
        set.map_err(|error| said(error, "cuCtxSetCurrent"))
    }
}

// What the driver says when something is given back changes nothing.

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once.
        unsafe { result::primary_ctx::release(self.device) }.unwrap_or_default();
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.here().is_ok() {
            // SAFETY: it was loaded, and none of its kernels runs.
            unsafe { result::module::unload(self.module) }.unwrap_or_default();
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.context.here().is_ok() {
            // SAFETY: it was given by the driver, and no kernel runs.
            unsafe { result::free_sync(self.at) }.unwrap_or_default();
        }
    }
}

/// The kernels of `source`, for whatever device; the driver makes its own code of them.
pub(crate) fn ptx(source: &str) -> Result<String, Error> {
    // SAFETY: NVRTC's initialisers have no conditions.
    let is_there = unsafe { nvrtc::sys::is_culib_present() };
    if !is_there {
        return Err(Error::new(
            "no libnvrtc.so, which compiles kernels for CUDA: it is part of CUDA's toolkit",
        ));
    }
    let whole = [DIALECT, source].concat();
    if whole.contains('\0') {
        return Err(Error::new("there is a zero in a kernel's source"));
    }
    let options = CompileOptions {
        // As in OpenCL: what is not FMA is rounded at each step.
        fmad: Some(false),
        ..CompileOptions::default()
    };
    match nvrtc::compile_ptx_with_opts(whole, options) {
        Ok(ptx) => Ok(ptx.to_src()),
        Err(CompileError::CompileError { log, .. }) => Err(Error::new(format!(
            "NVRTC: {}",
            log.to_string_lossy().trim()
        ))),
        Err(error) => Err(Error::new(format!("NVRTC: {error}"))),
    }
}

/// What a call of the driver means that has returned this.
fn said(DriverError(code): DriverError, what: &str) -> Error {
    // Its names are as many as there are codes.
    let number = code as i64;
    match NO_DEVICE.contains(&number) {
        true => Error::no_device(format!("{what}: CUDA error {number} (no device)")),
        false => Error::new(format!("{what}: CUDA error {number} ({code:?})")),
    }
}
