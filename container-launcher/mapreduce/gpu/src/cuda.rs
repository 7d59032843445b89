//! CUDA: the driver's library is looked for when it is used, and so is NVRTC ([`nvrtc`]).
//!
//! The driver's calls alone, on the device's primary context: what is to be done is done when a call returns. Each [`Device`] has
//! a stream of its own, so that copies of one go on beside kernels of another, where the host's memory is pinned.

#![expect(unsafe_code, reason = "CUDA is a C library")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::rc::Rc;

use cudarc::driver::result::stream::StreamKind;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

#[cfg(feature = "opencl")]
use crate::device::another;
use crate::device::{Argument, DeviceMemory, Grid, Named};
use crate::error::Error;
use crate::number::Number;
use crate::nvrtc;
use crate::ptx::{self, Parameters};

/// What the driver says where no device works: `CUDA_ERROR_STUB_LIBRARY`, `CUDA_ERROR_NO_DEVICE`,
/// `CUDA_ERROR_INVALID_DEVICE`, and 802 to 804, `CUDA_ERROR_SYSTEM_NOT_READY` (no fabric manager runs),
/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH` and `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`.
const NO_DEVICE: [i64; 6] = [34, 100, 101, 802, 803, 804];
/// `CUDA_ERROR_OUT_OF_MEMORY`.
const NO_ROOM: i64 = 2;
/// `CU_MEMHOSTREGISTER_PORTABLE`: pinned for every context.
const PORTABLE: u32 = 1;

pub(crate) struct Device {
    stream: Stream,
    context: Rc<Context>,
    name: String,
}

/// What one [`Device`] does, in its order.
struct Stream {
    stream: sys::CUstream,
    context: Rc<Context>,
}

/// The host's memory, pinned until this is dropped.
pub(crate) struct Pinned {
    address: *mut c_void,
    context: Context,
}

// SAFETY: the driver's calls are for any thread, and the context is retained for this alone.
unsafe impl Send for Pinned {}

/// A device's primary context, for as long as something of it is there.
struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

pub(crate) struct Module {
    module: sys::CUmodule,
    parameters: Parameters,
    context: Rc<Context>,
}

pub(crate) struct Memory {
    at: sys::CUdeviceptr,
    bytes: usize,
    context: Rc<Context>,
}

impl Device {
    pub(crate) fn open(named: &Named<'_>) -> Result<Self, Error> {
        // SAFETY: the driver's initialisers have no conditions.
        let is_there = unsafe { sys::is_culib_present() };
        if !is_there {
            return Err(Error::no_device("no libcuda.so"));
        }
        result::init().map_err(|error| said(error, "cuInit"))?;
        let device = find(named)?;
        let what = |call: &str| format!("{call} of device {named}");
        let name = result::device::get_name(device)
            .map_err(|error| said(error, &what("cuDeviceGetName")))?;
        let context = Rc::new(Context::retain(device)?);
        context.here()?;
        let stream = result::stream::create(StreamKind::NonBlocking);
        let stream = stream.map_err(|error| said(error, &what("cuStreamCreate")))?;
        Ok(Self {
            stream: Stream {
                stream,
                context: Rc::clone(&context),
            },
            context,
            name,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn compile(&self, source: &str) -> Result<Module, Error> {
        self.context.here()?;
        let image = nvrtc::compile(source, Some(self.context.capability()?))?;
        let start: *const c_void = match &image.cubin {
            Some(cubin) => cubin.as_ptr().cast(),
            None => image.ptx.as_ptr().cast(),
        };
        // SAFETY: the code is whole, PTX ends with a zero, and both live across the call.
        let module = unsafe { result::module::load_data(start) };
        let module = module.map_err(|error| said(error, "cuModuleLoadData"))?;
        Ok(Module {
            module,
            parameters: ptx::parameters(&image.ptx.to_string_lossy()),
            context: Rc::clone(&self.context),
        })
    }

    pub(crate) fn upload<T: Number>(&self, numbers: &[T]) -> Result<Memory, Error> {
        let memory = self.give(size_of_val(numbers))?;
        // SAFETY: the memory has as many bytes as the numbers, which live across the call.
        let copied = unsafe { result::memcpy_htod_async(memory.at, numbers, self.stream.stream) };
        self.stream.done(copied, "cuMemcpyHtoDAsync")?;
        Ok(memory)
    }

    /// Memory of so many bytes, all zero.
    pub(crate) fn zeros(&self, bytes: usize) -> Result<Memory, Error> {
        let memory = self.give(bytes)?;
        // SAFETY: the memory has as many bytes.
        let set = unsafe { result::memset_d8_async(memory.at, 0, bytes, self.stream.stream) };
        self.stream.done(set, "cuMemsetD8Async")?;
        Ok(memory)
    }

    /// Memory of so many bytes, which hold anything.
    fn give(&self, bytes: usize) -> Result<Memory, Error> {
        self.context.here()?;
        // SAFETY: it is given back when it is dropped.
        let at = unsafe { result::malloc_sync(bytes) };
        let at = at.map_err(|error| self.not_given(error, bytes))?;
        Ok(Memory {
            at,
            bytes,
            context: Rc::clone(&self.context),
        })
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

    pub(crate) fn write<T: Number>(&self, memory: &mut Memory, numbers: &[T]) -> Result<(), Error> {
        self.context.here()?;
        if size_of_val(numbers) > memory.bytes {
            return Err(Error::new(
                "more is copied to a device's memory than it has",
            ));
        }
        // SAFETY: the memory has at least as many bytes as the numbers, which live across the call.
        let copied = unsafe { result::memcpy_htod_async(memory.at, numbers, self.stream.stream) };
        self.stream.done(copied, "cuMemcpyHtoDAsync")
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
        let copied = unsafe { result::memcpy_dtoh_async(numbers, memory.at, self.stream.stream) };
        self.stream.done(copied, "cuMemcpyDtoHAsync")
    }

    /// Pins memory of the host.
    ///
    /// # Safety
    /// As [`crate::Device::pin`].
    pub(crate) unsafe fn pin(&self, address: *mut u8, bytes: usize) -> Result<Pinned, Error> {
        let context = Context::retain(self.context.device)?;
        context.here()?;
        let address = address.cast();
        // SAFETY: as this function's caller promises.
        let pinned = unsafe { sys::cuMemHostRegister_v2(address, bytes, PORTABLE) };
        let what = || format!("cuMemHostRegister of {bytes} bytes");
        pinned.result().map_err(|error| said(error, &what()))?;
        Ok(Pinned { address, context })
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
        if let Some(sizes) = program.parameters.get(name) {
            fit(name, sizes, arguments)?;
        }
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
        // SAFETY: there are as many pointers as the kernel has parameters, and each leads to as many bytes as its
        // parameter has, in x86's order, across the call; of the kernel the caller takes care.
        let launched = unsafe {
            result::launch_kernel(
                function,
                (grid.groups, 1, 1),
                (grid.threads, 1, 1),
                0,
                self.stream.stream,
                &mut pointers,
            )
        };
        launched.map_err(|error| said(error, &format!("a launch of {name}")))?;
        self.stream
            .done(Ok(()), &format!("the kernel {name} on {}", self.name))
    }
}

impl Stream {
    /// Waits for what was begun, if it was.
    fn done(&self, begun: Result<(), DriverError>, what: &str) -> Result<(), Error> {
        // SAFETY: it was created, and is destroyed when this is dropped.
        let done = begun.and_then(|()| unsafe { result::stream::synchronize(self.stream) });
        done.map_err(|error| said(error, what))
    }
}

impl Context {
    /// Of a device that the driver has told.
    fn retain(device: sys::CUdevice) -> Result<Self, Error> {
        // SAFETY: the driver knows the device.
        let context = unsafe { result::primary_ctx::retain(device) };
        let context = context.map_err(|error| said(error, "cuDevicePrimaryCtxRetain"))?;
        Ok(Self { device, context })
    }

    /// The device's compute capability: 90 for 9.0.
    fn capability(&self) -> Result<c_int, Error> {
        use sys::CUdevice_attribute as Attribute;
        let part = |attribute| {
            // SAFETY: the device is one that the driver has told.
            let part = unsafe { result::device::get_attribute(self.device, attribute) };
            part.map_err(|error| said(error, "cuDeviceGetAttribute"))
        };
        let major = part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        Ok(major * 10 + part(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?)
    }

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

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.here().is_ok() {
            // SAFETY: it was created once, and all that was begun there is done.
            unsafe { result::stream::destroy(self.stream) }.unwrap_or_default();
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.here().is_ok() {
            // SAFETY: it was registered once.
            let gone = unsafe { sys::cuMemHostUnregister(self.address) };
            gone.result().unwrap_or_default();
        }
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

/// The device of this name, of those that the driver shows to this process.
fn find(named: &Named<'_>) -> Result<sys::CUdevice, Error> {
    let get = |ordinal: c_int| {
        let got = result::device::get(ordinal);
        got.map_err(|error| said(error, &format!("cuDeviceGet of device {named}")))
    };
    // The driver follows its own list.
    if let Named::Place(place) = named {
        return get(c_int::try_from(*place).unwrap_or(c_int::MAX));
    }
    let count = result::device::get_count().map_err(|error| said(error, "cuDeviceGetCount"))?;
    let mut all = Vec::new();
    for ordinal in 0..count {
        let device = get(ordinal)?;
        all.push((bus(device)?, device));
    }
    // The driver begins with the fastest; numbers are of the places in the machine, as the kernel and nvidia-smi number.
    all.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    let found = match named {
        Named::Number(number) => all.get(*number).map(|(_, device)| *device),
        Named::Uuid(uuid) => {
            let mut devices = all.iter().map(|(_, device)| *device);
            devices.find(|device| uuid_of(*device).is_ok_and(|of| is_uuid(uuid, of)))
        }
        Named::Place(_) => None,
    };
    found.ok_or_else(|| Error::no_device(format!("CUDA has {count} devices, and none is {named}")))
}

/// Where a device is in the machine: `00000000:3B:00.0`.
fn bus(device: sys::CUdevice) -> Result<CString, Error> {
    let mut text = [0_u8; 32];
    let length = c_int::try_from(text.len()).unwrap_or_default();
    // SAFETY: the driver writes at most as many bytes as it is told, a zero at the end among them.
    let told = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), length, device) };
    told.result()
        .map_err(|error| said(error, "cuDeviceGetPCIBusId"))?;
    Ok(CStr::from_bytes_until_nul(&text).map_or_else(|_| CString::default(), CStr::to_owned))
}

fn uuid_of(device: sys::CUdevice) -> Result<[u8; 16], Error> {
    let uuid = result::device::get_uuid(device).map_err(|error| said(error, "cuDeviceGetUuid"))?;
    Ok(uuid.bytes.map(|byte| byte.cast_unsigned()))
}

/// Whether `name` (`GPU-8f2e…`, `MIG-…`) is this UUID.
fn is_uuid(name: &str, uuid: [u8; 16]) -> bool {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let digits: String = digits.chars().filter(|c| *c != '-').collect();
    let wanted: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.eq_ignore_ascii_case(&wanted)
}

/// Whether arguments are as many, and of the sizes, as a kernel's parameters.
fn fit(name: &str, sizes: &[usize], arguments: &[Argument<'_>]) -> Result<(), Error> {
    if sizes.len() != arguments.len() {
        return Err(Error::parameters(name, sizes.len(), arguments.len()));
    }
    for (number, (size, argument)) in sizes.iter().zip(arguments).enumerate() {
        let given = match argument {
            Argument::Memory(_) | Argument::U64(_) => 8,
            Argument::I32(_) | Argument::U32(_) | Argument::F32(_) => 4,
        };
        if *size != given {
            return Err(Error::new(format!(
                "argument {number} of the kernel {name} has {given} bytes, and its parameter {size}"
            )));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_read_as_the_driver_writes_it() {
        let mut uuid = [0_u8; 16];
        (uuid[0], uuid[15]) = (0x8f, 0x0a);
        assert!(is_uuid("GPU-8f000000-0000-0000-0000-00000000000a", uuid));
        assert!(is_uuid("MIG-8F000000-0000-0000-0000-00000000000A", uuid));
        assert!(!is_uuid("GPU-8f000000-0000-0000-0000-00000000000b", uuid));
        assert!(!is_uuid("GPU-", uuid));
    }

    #[test]
    fn arguments_are_counted_and_measured() {
        let arguments = [Argument::U32(1), Argument::U64(2)];
        assert_eq!(fit("k", &[4, 8], &arguments), Ok(()));
        let refused = |sizes: &[usize]| fit("k", sizes, &arguments).unwrap_err().to_string();
        assert_eq!(
            refused(&[4]),
            "the kernel k has 1 parameters, and is handed 2 arguments"
        );
        assert_eq!(
            refused(&[4, 8, 8]),
            "the kernel k has 3 parameters, and is handed 2 arguments"
        );
        assert_eq!(
            refused(&[4, 4]),
            "argument 1 of the kernel k has 8 bytes, and its parameter 4"
        );
        assert_eq!(
            refused(&[0, 8]),
            "argument 0 of the kernel k has 4 bytes, and its parameter 0"
        );
    }
}
