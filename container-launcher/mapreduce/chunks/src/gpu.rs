//! Devices of CUDA and OpenCL, by [`gerbil_gpu`].
//!
//! A stream opens the device and compiles the kernel in its own thread. Every call of [`gerbil_gpu`] waits for what it
//! does, so times are this machine's clock around it: on a device that others use as well they have waiting in them.

use std::io;

use gerbil_gpu::{Argument, Buffer, Grid, Program};

use crate::{ChunkBuffer, Device, Span, Stream, now};

/// What is computed of each chunk, and what becomes of that.
///
/// # Safety
///
/// The kernel is C, which nobody checks. Of the parameters
///
/// ```text
/// KERNEL(name)(GLOBAL const … *chunk, ulong bytes, GLOBAL const float *constants, GLOBAL uint *words)
/// ```
///
/// it must read no more than `bytes` of `chunk` and the [constants](Self::constants), and write nothing but the first
/// [`words`](Self::words) of `words`, with the threads of [`grid`](Self::grid).
#[expect(unsafe_code, reason = "nobody checks what a kernel does")]
pub unsafe trait ChunkKernel: Sync {
    /// The kernel, in [`gerbil_gpu`]'s dialect.
    fn source(&self) -> String;

    /// Its name.
    fn name(&self) -> &str;

    /// What all threads read.
    fn constants(&self) -> &[f32];

    /// How many words of 32 bits it makes of a chunk of so many bytes at the most: no more than of a longer one.
    fn words(&self, bytes: u64) -> usize;

    /// What the first words are when the kernel begins with a chunk of so many bytes: none, where it writes all of them itself.
    fn heading(&self, bytes: u64) -> Vec<u32> {
        let _ = bytes;
        Vec::new()
    }

    /// How many words it has made of a chunk of so many bytes, by what the first ones are now that had a
    /// [heading](Self::heading): all of them, where there was none.
    ///
    /// # Errors
    ///
    /// It wanted to make more than there is room for: the engine ends.
    fn made(&self, bytes: u64, heading: &[u32]) -> io::Result<usize> {
        let _ = heading;
        Ok(self.words(bytes))
    }

    /// By how many threads.
    ///
    /// # Errors
    ///
    /// They are more than a launch may have, or the chunk is not what it should be.
    fn grid(&self, bytes: u64) -> io::Result<Grid>;

    /// Takes what was made of the chunk of `bytes` that begins at `offset`; threads of all streams call it.
    ///
    /// # Errors
    ///
    /// It makes no sense: the engine ends.
    fn emit(&self, offset: u64, bytes: u64, words: &[u32]) -> io::Result<()>;
}

/// A device, and what it computes.
pub struct GpuDevice<'a> {
    /// As [`gerbil_gpu::Device::open`] has it.
    pub name: &'a str,
    /// Whether OpenCL's devices on the machine's processors count.
    pub processors: bool,
    /// Of each chunk.
    pub kernel: &'a dyn ChunkKernel,
}

impl std::fmt::Debug for GpuDevice<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {}", self.name, self.kernel.name())
    }
}

impl Device for GpuDevice<'_> {
    fn stream(&self, bytes: usize) -> io::Result<Box<dyn Stream + '_>> {
        let kernel = self.kernel;
        let device = gerbil_gpu::Device::open(self.name, self.processors).map_err(said)?;
        let program = device.compile(&kernel.source()).map_err(said)?;
        let chunk = device.zeros(bytes).map_err(said)?;
        let constants = device.upload(kernel.constants()).map_err(said)?;
        let room = kernel.words(u64::try_from(bytes).unwrap_or(u64::MAX));
        let words = device.zeros(room).map_err(said)?;
        Ok(Box::new(GpuStream {
            kernel,
            device,
            program,
            chunk,
            constants,
            words,
            room,
            offset: 0,
            bytes: 0,
        }))
    }

    #[expect(unsafe_code, reason = "memory is a pointer")]
    fn pin(&self, buffers: &mut [ChunkBuffer]) -> io::Result<()> {
        let device = gerbil_gpu::Device::open(self.name, self.processors).map_err(said)?;
        buffers.iter_mut().try_for_each(|buffer| {
            // SAFETY: a buffer has its memory until what is answered here is dropped.
            buffer.pin(|address, bytes| unsafe { device.pin(address, bytes) }.map_err(said))
        })
    }
}

/// What it holds on the device is given back before the device.
struct GpuStream<'a> {
    kernel: &'a dyn ChunkKernel,
    chunk: Buffer<u8>,
    constants: Buffer<f32>,
    words: Buffer<u32>,
    /// How many words these are.
    room: usize,
    program: Program,
    device: gerbil_gpu::Device,
    /// Of the chunk that was copied last.
    offset: u64,
    bytes: u64,
}

impl Stream for GpuStream<'_> {
    fn copy(&mut self, offset: u64, chunk: &[u8]) -> io::Result<Span> {
        self.offset = offset;
        self.bytes = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        let Self { device, .. } = self;
        spanned(|| device.write(&mut self.chunk, chunk))
    }

    #[expect(unsafe_code, reason = "a kernel is C")]
    fn map(&mut self) -> io::Result<Span> {
        let grid = self.kernel.grid(self.bytes)?;
        let heading = self.kernel.heading(self.bytes);
        self.device.write(&mut self.words, &heading).map_err(said)?;
        let arguments = [
            self.chunk.argument(),
            Argument::U64(self.bytes),
            self.constants.argument(),
            self.words.argument(),
        ];
        let (device, program, name) = (&self.device, &self.program, self.kernel.name());
        // SAFETY: as the kernel's trait promises, of memory that is as long as it says.
        spanned(|| unsafe { device.launch(program, name, grid, &arguments) })
    }

    fn copy_back(&mut self) -> io::Result<Span> {
        let (kernel, device, bytes) = (self.kernel, &self.device, self.bytes);
        let mut heading = kernel.heading(bytes);
        let begin = now();
        device.read(&self.words, &mut heading).map_err(said)?;
        let made = kernel.made(bytes, &heading)?;
        let room = self.room;
        if made > room {
            return Err(io::Error::other(format!(
                "the kernel {} makes {made} words of {bytes} bytes, and {room} of a whole chunk",
                kernel.name(),
            )));
        }
        let mut words = vec![0; made];
        device.read(&self.words, &mut words).map_err(said)?;
        let span = Span { begin, end: now() };
        kernel.emit(self.offset, bytes, &words)?;
        Ok(span)
    }
}

/// From when to when it is done.
fn spanned(done: impl FnOnce() -> Result<(), gerbil_gpu::Error>) -> io::Result<Span> {
    let begin = now();
    done().map_err(said)?;
    Ok(Span { begin, end: now() })
}

fn said(error: gerbil_gpu::Error) -> io::Error {
    io::Error::other(error)
}
