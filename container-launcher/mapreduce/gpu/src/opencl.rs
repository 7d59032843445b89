//! OpenCL: its loader is looked for when a device is opened.

#![expect(unsafe_code, reason = "OpenCL is a C library")]

use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{
    self, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
};
use opencl3::error_codes::{ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem as _};
use opencl3::platform::get_platforms;
use opencl3::types::{CL_BLOCKING, cl_uint};

use crate::DIALECT;
#[cfg(feature = "cuda")]
use crate::device::another;
use crate::device::{Argument, DeviceMemory, Grid, Named};
use crate::error::Error;
use crate::number::Number;

/// `CL_DEVICE_NOT_FOUND`, `CL_PLATFORM_NOT_FOUND_KHR`.
const NO_DEVICE: [i32; 2] = [-1, -1001];
/// `CL_MEM_OBJECT_ALLOCATION_FAILURE`, `CL_INVALID_BUFFER_SIZE`.
const NO_ROOM: [i32; 2] = [-4, -61];

/// One at a time: drivers of several threads that come at once have told less than they have (PoCL 3.1).
static OPENING: Mutex<()> = Mutex::new(());

/// The queue before the context, as they are to be given back.
pub(crate) struct Device {
    queue: CommandQueue,
    context: Context,
    name: String,
}

pub(crate) struct Program(opencl3::program::Program);

/// Its numbers are what the one who made it says.
pub(crate) struct Memory(Buffer<u8>);

impl Device {
    pub(crate) fn open(named: &Named<'_>, processors: bool) -> Result<Self, Error> {
        let (Named::Place(ordinal) | Named::Number(ordinal)) = *named else {
            return Err(Error::no_device(format!(
                "OpenCL knows devices by number alone, and not by a name such as {named}"
            )));
        };
        let _one = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = match processors {
            true => CL_DEVICE_TYPE_ALL,
            false => CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR,
        };
        let platforms = get_platforms().map_err(|error| said(error, "clGetPlatformIDs"))?;
        let mut all = Vec::new();
        for platform in platforms {
            match platform.get_devices(kinds) {
                Ok(devices) => all.extend(devices),
                Err(ClError(code)) if NO_DEVICE.contains(&code) => {}
                Err(error) => return Err(said(error, "clGetDeviceIDs")),
            }
        }
        let Some(id) = all.get(ordinal) else {
            let what = match processors {
                true => "devices",
                false => "GPUs and accelerators",
            };
            return Err(Error::no_device(format!(
                "OpenCL has {} {what}, and none of number {ordinal}",
                all.len()
            )));
        };
        let device = device::Device::new(*id);
        let name = device
            .name()
            .map_err(|error| said(error, "clGetDeviceInfo"))?;
        let context =
            Context::from_device(&device).map_err(|error| said(error, "clCreateContext"))?;
        // SAFETY: the device is the context's.
        let queue = unsafe { CommandQueue::create(&context, *id, 0) };
        let queue = queue.map_err(|error| said(error, "clCreateCommandQueue"))?;
        Ok(Self {
            queue,
            context,
            name: name.trim().to_owned(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn compile(&self, source: &str) -> Result<Program, Error> {
        // In one piece: cl3 0.13 hands over addresses of several that lead elsewhere.
        let whole = [DIALECT, source].concat();
        let device = device::Device::new(self.context.default_device());
        let config = device.single_fp_config().unwrap_or(0);
        // As CUDA does without being asked: a quotient and a root are rounded once, where the device can.
        let options = match config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT {
            0 => "-cl-std=CL1.2",
            _ => "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt",
        };
        let built =
            opencl3::program::Program::create_and_build_from_source(&self.context, &whole, options);
        let built =
            built.map_err(|log| Error::new(format!("OpenCL's compiler: {}", log.trim())))?;
        Ok(Program(built))
    }

    pub(crate) fn upload<T: Number>(&self, numbers: &[T]) -> Result<Memory, Error> {
        let mut memory = Memory(self.give(size_of_val(numbers))?);
        self.write(&mut memory, numbers)?;
        Ok(memory)
    }

    pub(crate) fn write<T: Number>(&self, memory: &mut Memory, numbers: &[T]) -> Result<(), Error> {
        let bytes = size_of_val(numbers);
        // SAFETY: numbers are plain bytes; the library refuses more of them than the memory has, and returns when they
        // are copied.
        let written = unsafe {
            let bytes = std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), bytes);
            self.queue
                .enqueue_write_buffer(&mut memory.0, CL_BLOCKING, 0, bytes, &[])
        };
        let written = written.map(drop);
        written.map_err(|error| self.not_given(error, bytes, "clEnqueueWriteBuffer"))
    }

    /// Memory of so many bytes, all zero.
    pub(crate) fn zeros(&self, bytes: usize) -> Result<Memory, Error> {
        let mut buffer = self.give(bytes)?;
        // SAFETY: the buffer has as many bytes; the pattern is copied before the call returns.
        let filled = unsafe {
            self.queue
                .enqueue_fill_buffer(&mut buffer, &[0_u8], 0, bytes, &[])
        };
        let filled = filled.and_then(|event| event.wait());
        filled.map_err(|error| self.not_given(error, bytes, "clEnqueueFillBuffer"))?;
        Ok(Memory(buffer))
    }

    /// Memory of so many bytes, which hold anything.
    fn give(&self, bytes: usize) -> Result<Buffer<u8>, Error> {
        // SAFETY: no memory of the host's is handed over.
        let buffer =
            unsafe { Buffer::<u8>::create(&self.context, CL_MEM_READ_WRITE, bytes, null_mut()) };
        buffer.map_err(|error| {
            let what = format!("clCreateBuffer of {bytes} bytes on {}", self.name);
            self.not_given(error, bytes, &what)
        })
    }

    /// Why it gives no memory of so many bytes; some drivers look for it when it is first used.
    fn not_given(&self, error: ClError, bytes: usize, what: &str) -> Error {
        let device = device::Device::new(self.context.default_device());
        let most = device.max_mem_alloc_size().unwrap_or(0) >> 20;
        match NO_ROOM.contains(&error.0) {
            true => Error::no_room(
                bytes,
                &self.name,
                &format!("which gives at most {most} MiB at once"),
            ),
            false => said(error, what),
        }
    }

    pub(crate) fn download<T: Number>(
        &self,
        memory: &Memory,
        numbers: &mut [T],
    ) -> Result<(), Error> {
        let bytes = size_of_val(numbers);
        // SAFETY: any bytes are numbers; the library refuses to read past the memory, and returns when all are there.
        let read = unsafe {
            let bytes = std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<u8>(), bytes);
            self.queue
                .enqueue_read_buffer(&memory.0, CL_BLOCKING, 0, bytes, &[])
        };
        read.map(drop)
            .map_err(|error| said(error, "clEnqueueReadBuffer"))
    }

    /// # Safety
    /// As [`crate::Device::launch`].
    pub(crate) unsafe fn launch(
        &self,
        program: &Program,
        name: &str,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        let kernel = Kernel::create(&program.0, name)
            .map_err(|error| said(error, &format!("clCreateKernel of {name}")))?;
        let wanted = kernel
            .num_args()
            .map_err(|error| said(error, "clGetKernelInfo"))?;
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        if wanted != arguments.len() {
            return Err(Error::parameters(name, wanted, arguments.len()));
        }
        for (number, argument) in (0..).zip(arguments) {
            // SAFETY: the library compares sizes with the parameter's; of the rest the caller takes care.
            let set = unsafe { set(&kernel, number, *argument)? };
            set.map_err(|error| said(error, &format!("argument {number} of the kernel {name}")))?;
        }
        let threads = [usize::try_from(grid.threads).unwrap_or(usize::MAX)];
        let all = [threads[0].saturating_mul(usize::try_from(grid.groups).unwrap_or(usize::MAX))];
        // SAFETY: one dimension is told, with one number each; of the kernel the caller takes care.
        let launched = unsafe {
            self.queue.enqueue_nd_range_kernel(
                kernel.get(),
                1,
                null(),
                all.as_ptr(),
                threads.as_ptr(),
                &[],
            )
        };
        let event = launched.map_err(|error| said(error, &format!("a launch of {name}")))?;
        event
            .wait()
            .map_err(|error| said(error, &format!("the kernel {name} on {}", self.name)))
    }
}

/// # Safety
/// The kernel's parameter is of the argument's type.
unsafe fn set(
    kernel: &Kernel,
    number: cl_uint,
    argument: Argument<'_>,
) -> Result<Result<(), ClError>, Error> {
    // SAFETY: as this function's caller promises.
    Ok(unsafe {
        match argument {
            Argument::Memory(memory) => match &memory.0 {
                DeviceMemory::OpenCl(memory) => kernel.set_arg(number, &memory.0.get()),
                #[cfg(feature = "cuda")]
                DeviceMemory::Cuda(_) => return Err(another()),
            },
            Argument::I32(value) => kernel.set_arg(number, &value),
            Argument::U32(value) => kernel.set_arg(number, &value),
            Argument::U64(value) => kernel.set_arg(number, &value),
            Argument::F32(value) => kernel.set_arg(number, &value),
        }
    })
}

/// What a call of the library means that has returned this.
fn said(ClError(code): ClError, what: &str) -> Error {
    match code {
        DLOPEN_RUNTIME_LOAD_FAILED => Error::no_device("no libOpenCL.so.1"),
        code if NO_DEVICE.contains(&code) => {
            Error::no_device(format!("{what}: OpenCL error {code} (no device)"))
        }
        code => Error::new(format!("{what}: OpenCL error {code} ({})", ClError(code))),
    }
}
