//! A device, whichever API speaks to it.

use std::fmt;
use std::marker::PhantomData;

#[cfg(feature = "cuda")]
use crate::cuda;
use crate::error::Error;
use crate::number::Number;
#[cfg(feature = "opencl")]
use crate::opencl;

/// An open device, of this process alone as far as this process is concerned.
pub struct Device(Backend);

enum Backend {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Device),
    #[cfg(feature = "opencl")]
    OpenCl(opencl::Device),
}

/// Kernels that a device's driver has compiled.
pub struct Program(Compiled);

enum Compiled {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Module),
    #[cfg(feature = "opencl")]
    OpenCl(opencl::Program),
}

/// Memory of a device with so many numbers, until it is dropped.
pub struct Buffer<T> {
    memory: Memory,
    length: usize,
    of: PhantomData<T>,
}

/// Memory of a device, as a kernel is handed it.
pub struct Memory(pub(crate) DeviceMemory);

pub(crate) enum DeviceMemory {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Memory),
    #[cfg(feature = "opencl")]
    OpenCl(opencl::Memory),
}

/// Memory of the host that [`Device::pin`] has pinned.
pub struct Pinned {
    #[cfg(feature = "cuda")]
    _held: cuda::Pinned,
    #[cfg(not(feature = "cuda"))]
    _held: std::convert::Infallible,
}

/// What a kernel is handed.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A pointer to memory of the device: [`Buffer::argument`].
    Memory(&'a Memory),
    /// `int`.
    I32(i32),
    /// `uint`.
    U32(u32),
    /// `ulong`.
    U64(u64),
    /// `float`.
    F32(f32),
}

/// How many threads run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Groups, each of which shares memory and barriers.
    pub groups: u32,
    /// Threads of a group.
    pub threads: u32,
}

impl Grid {
    /// Threads of a group where nothing is said: what every GPU and PoCL can run.
    const THREADS: u32 = 64;

    /// At least `threads` threads, in groups of 64: kernels compare `THREAD` with how many there are to be.
    ///
    /// # Errors
    /// They are more than a launch may have, 2³¹ groups.
    pub fn of(threads: u64) -> Result<Self, Error> {
        let groups = u32::try_from(threads.div_ceil(u64::from(Self::THREADS)).max(1));
        let groups = groups.ok().filter(|groups| *groups < 1 << 31);
        let groups = groups.ok_or_else(|| {
            Error::new(format!(
                "{threads} threads are more than a launch may have: launch a kernel several times"
            ))
        })?;
        Ok(Self {
            groups,
            threads: Self::THREADS,
        })
    }
}

impl Device {
    /// Opens the device `name`: CUDA's where CUDA knows it, otherwise OpenCL's. A name is one that stands in a list such
    /// as `CUDA_VISIBLE_DEVICES`, a UUID as `nvidia-smi -L` writes it (CUDA alone), or a number. CUDA's devices are
    /// numbered by their places in the machine, as the kernel and `nvidia-smi` number them, whatever `CUDA_DEVICE_ORDER`
    /// says.
    ///
    /// OpenCL's devices are GPUs and accelerators; with `processors` those that run on the machine's processors,
    /// such as PoCL's, count as well: for tests of kernels.
    ///
    /// # Errors
    /// There is no such device, or its driver does not work.
    #[cfg_attr(
        not(feature = "opencl"),
        expect(unused_variables, reason = "CUDA knows no processors")
    )]
    pub fn open(name: &str, processors: bool) -> Result<Self, Error> {
        let named = named(name, &|variable| std::env::var(variable).ok())?;
        let mut missing: Vec<String> = Vec::new();
        #[cfg(feature = "cuda")]
        match cuda::Device::open(&named) {
            Ok(device) => return Ok(Self(Backend::Cuda(device))),
            Err(error) if error.is_no_device() => missing.push(error.to_string()),
            Err(error) => return Err(error),
        }
        #[cfg(feature = "opencl")]
        match opencl::Device::open(&named, processors) {
            Ok(device) => return Ok(Self(Backend::OpenCl(device))),
            Err(error) if error.is_no_device() => missing.push(error.to_string()),
            Err(error) => return Err(error),
        }
        Err(Error::no_device(missing.join("; ")))
    }

    /// What its driver calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => device.name(),
            #[cfg(feature = "opencl")]
            Backend::OpenCl(device) => device.name(),
        }
    }

    /// The API that it was opened with: `CUDA` or `OpenCL`.
    #[must_use]
    pub const fn api(&self) -> &'static str {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) => "CUDA",
            #[cfg(feature = "opencl")]
            Backend::OpenCl(_) => "OpenCL",
        }
    }

    /// Compiles kernels written in the dialect.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(&self, source: &str) -> Result<Program, Error> {
        Ok(Program(match &self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => Compiled::Cuda(device.compile(source)?),
            #[cfg(feature = "opencl")]
            Backend::OpenCl(device) => Compiled::OpenCl(device.compile(source)?),
        }))
    }

    /// Memory that holds `numbers`.
    ///
    /// # Errors
    /// It has no room for them, or is lost.
    pub fn upload<T: Number>(&self, numbers: &[T]) -> Result<Buffer<T>, Error> {
        // No API gives memory of no length.
        let one = [T::default()];
        let copied = if numbers.is_empty() {
            one.as_slice()
        } else {
            numbers
        };
        let held = match &self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => DeviceMemory::Cuda(device.upload(copied)?),
            #[cfg(feature = "opencl")]
            Backend::OpenCl(device) => DeviceMemory::OpenCl(device.upload(copied)?),
        };
        Ok(Buffer {
            memory: Memory(held),
            length: numbers.len(),
            of: PhantomData,
        })
    }

    /// Memory that holds `length` zeros.
    ///
    /// # Errors
    /// It has no room for them, or is lost.
    pub fn zeros<T: Number>(&self, length: usize) -> Result<Buffer<T>, Error> {
        // No API gives memory of no length.
        let bytes = length.max(1).checked_mul(size_of::<T>());
        let bytes = bytes.ok_or_else(|| {
            Error::new(format!(
                "{length} numbers are more than a machine can address"
            ))
        })?;
        let held = match &self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => DeviceMemory::Cuda(device.zeros(bytes)?),
            #[cfg(feature = "opencl")]
            Backend::OpenCl(device) => DeviceMemory::OpenCl(device.zeros(bytes)?),
        };
        Ok(Buffer {
            memory: Memory(held),
            length,
            of: PhantomData,
        })
    }

    /// Copies `numbers` to the beginning of memory that is there; what lies behind them stays.
    ///
    /// # Errors
    /// The memory is shorter, or another's, or the device is lost.
    pub fn write<T: Number>(&self, buffer: &mut Buffer<T>, numbers: &[T]) -> Result<(), Error> {
        if numbers.len() > buffer.length {
            let (many, room) = (numbers.len(), buffer.length);
            return Err(Error::new(format!(
                "{many} numbers do not fit into memory of {room}"
            )));
        }
        if numbers.is_empty() {
            return Ok(());
        }
        match (&self.0, &mut buffer.memory.0) {
            #[cfg(feature = "cuda")]
            (Backend::Cuda(device), DeviceMemory::Cuda(memory)) => device.write(memory, numbers),
            #[cfg(feature = "opencl")]
            (Backend::OpenCl(device), DeviceMemory::OpenCl(memory)) => {
                device.write(memory, numbers)
            }
            #[cfg(all(feature = "cuda", feature = "opencl"))]
            _ => Err(another()),
        }
    }

    /// What memory holds.
    ///
    /// # Errors
    /// The device is lost, or the memory is another's.
    pub fn download<T: Number>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let mut numbers = vec![T::default(); buffer.length];
        self.read(buffer, &mut numbers)?;
        Ok(numbers)
    }

    /// Copies the beginning of what memory holds: as many as there is room for in `numbers`.
    ///
    /// # Errors
    /// The memory is shorter, or another's, or the device is lost.
    pub fn read<T: Number>(&self, buffer: &Buffer<T>, numbers: &mut [T]) -> Result<(), Error> {
        if numbers.len() > buffer.length {
            let (many, room) = (numbers.len(), buffer.length);
            return Err(Error::new(format!(
                "{many} numbers are asked of memory of {room}"
            )));
        }
        if numbers.is_empty() {
            return Ok(());
        }
        match (&self.0, &buffer.memory.0) {
            #[cfg(feature = "cuda")]
            (Backend::Cuda(device), DeviceMemory::Cuda(memory)) => device.download(memory, numbers),
            #[cfg(feature = "opencl")]
            (Backend::OpenCl(device), DeviceMemory::OpenCl(memory)) => {
                device.download(memory, numbers)
            }
            #[cfg(all(feature = "cuda", feature = "opencl"))]
            _ => Err(another()),
        }
    }

    /// Pins memory of the host until the answer is dropped: a copy from there, or to there, goes on beside kernels of other
    /// [`Device`]s of this one. `None`: its driver has no such thing.
    ///
    /// # Safety
    ///
    /// Whatever begins at `address` is this process's for so many bytes, and stays there until the answer is dropped.
    ///
    /// # Errors
    /// The driver refuses: copies are made by a detour.
    #[expect(unsafe_code, reason = "memory is a pointer")]
    #[cfg_attr(
        not(feature = "cuda"),
        expect(unused_variables, reason = "OpenCL pins nothing that it has not made")
    )]
    pub unsafe fn pin(&self, address: *mut u8, bytes: usize) -> Result<Option<Pinned>, Error> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => {
                // SAFETY: as this function's caller promises.
                let held = unsafe { device.pin(address, bytes) }?;
                Ok(Some(Pinned { _held: held }))
            }
            #[cfg(feature = "opencl")]
            Backend::OpenCl(_) => Ok(None),
        }
    }

    /// Runs the kernel `name` of `program`, and waits for its end.
    ///
    /// # Safety
    ///
    /// A kernel is C: handed these arguments by this many threads it must stay inside of the memory that they name,
    /// and its parameters must be of their types.
    ///
    /// # Errors
    /// There is no such kernel, it has another number of parameters, or the device says why not.
    #[expect(unsafe_code, reason = "nobody checks what a kernel does")]
    pub unsafe fn launch(
        &self,
        program: &Program,
        name: &str,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        match (&self.0, &program.0) {
            #[cfg(feature = "cuda")]
            (Backend::Cuda(device), Compiled::Cuda(program)) => {
                // SAFETY: as this function's caller promises.
                unsafe { device.launch(program, name, grid, arguments) }
            }
            #[cfg(feature = "opencl")]
            (Backend::OpenCl(device), Compiled::OpenCl(program)) => {
                // SAFETY: as this function's caller promises.
                unsafe { device.launch(program, name, grid, arguments) }
            }
            #[cfg(all(feature = "cuda", feature = "opencl"))]
            _ => Err(another()),
        }
    }
}

impl<T> Buffer<T> {
    /// As a kernel is handed it.
    #[must_use]
    pub const fn argument(&self) -> Argument<'_> {
        Argument::Memory(&self.memory)
    }
}

#[cfg(all(feature = "cuda", feature = "opencl"))]
pub(crate) fn another() -> Error {
    Error::new("this is memory, or a program, of another device")
}

/// How a device is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    /// By its place in the list that the maker's library follows.
    Place(usize),
    /// By its number in the machine.
    Number(usize),
    /// By the UUID that its maker gave it.
    Uuid(&'a str),
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(number) | Self::Number(number) => write!(f, "number {number}"),
            Self::Uuid(uuid) => f.write_str(uuid),
        }
    }
}

/// What `name` means in a process that has these variables.
fn named<'a>(name: &'a str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Named<'a>, Error> {
    for list in [
        "CUDA_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "ZE_AFFINITY_MASK",
    ] {
        let place = variable(list).and_then(|list| {
            let mut names = list.split(',').map(str::trim);
            names.position(|listed| listed == name)
        });
        if let Some(place) = place {
            return Ok(Named::Place(place));
        }
    }
    if name.starts_with("GPU-") || name.starts_with("MIG-") {
        return Ok(Named::Uuid(name));
    }
    let number = name.parse().ok().map(Named::Number);
    number.ok_or_else(|| {
        Error::new(format!(
            "{name:?} is no number or UUID of a device, and stands in no list such as CUDA_VISIBLE_DEVICES"
        ))
    })
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name(), self.api())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kernels")
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers of a device", self.length)
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pinned memory")
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory of a device")
    }
}

impl fmt::Debug for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(memory) => memory.fmt(f),
            Self::I32(number) => number.fmt(f),
            Self::U32(number) => number.fmt(f),
            Self::U64(number) => number.fmt(f),
            Self::F32(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_place_in_the_list_that_the_process_has_or_a_number_or_a_uuid() {
        let none = |_: &str| None;
        assert_eq!(named("1", &none), Ok(Named::Number(1)));
        assert_eq!(named("GPU-77", &none), Ok(Named::Uuid("GPU-77")));
        assert_eq!(named("MIG-1/2", &none), Ok(Named::Uuid("MIG-1/2")));
        let error = named("first", &none).unwrap_err();
        assert!(!error.is_no_device() && error.to_string().contains("\"first\""));
        let list =
            |variable: &str| (variable == "CUDA_VISIBLE_DEVICES").then(|| "5, GPU-77".into());
        assert_eq!(named("5", &list), Ok(Named::Place(0)));
        assert_eq!(named("GPU-77", &list), Ok(Named::Place(1)));
        assert_eq!(named("3", &list), Ok(Named::Number(3)));
    }

    #[test]
    fn a_grid_has_a_thread_for_each_and_its_last_group_more() {
        let of = |threads| Grid::of(threads).unwrap().groups;
        assert_eq!([of(0), of(1), of(64), of(65)], [1, 1, 1, 2]);
        assert!(Grid::of(1 << 40).is_err());
    }
}
