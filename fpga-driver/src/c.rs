//! The face for C programs, `include/gerbil_fpga.h`.

use crate::client::{Accelerator, AcceleratorReader, AcceleratorWriter, Layout, address};
use crate::function::Function;
use crate::packet::Header;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// What a C program holds.
#[derive(Debug)]
pub struct Handle {
    writer: AcceleratorWriter,
    reader: AcceleratorReader,
    /// A block was handed out and not sent.
    filling: bool,
    /// A result was handed out and not given back.
    reading: bool,
}

/// `gerbil_fpga_layout`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CLayout {
    length: u64,
    model: u64,
    centroids: u32,
    centroid_offset: u32,
    pairs: u32,
    pair_offset: u32,
    function: u16,
    dimension: u16,
    flags: u16,
    bytes_per_dimension: u8,
    centroid_type: u8,
    key_type: u8,
    value_type: u8,
}

thread_local! {
    static FAILURE: RefCell<CString> = RefCell::default();
}

fn fail(message: &str) {
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    FAILURE.with(|failure| failure.replace(message));
}

/// The last failure of this thread.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub extern "C" fn gerbil_fpga_error() -> *const c_char {
    FAILURE.with(|failure| failure.borrow().as_ptr())
}

#[expect(unsafe_code, reason = "a string of a C program")]
unsafe fn text(string: *const c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the header asks for strings that end with a zero.
    let string = unsafe { CStr::from_ptr(string) };
    Some(string.to_string_lossy().into_owned())
}

fn open(lease: Accelerator) -> *mut Handle {
    match lease.open() {
        Ok((writer, reader)) => Box::into_raw(Box::new(Handle {
            writer,
            reader,
            filling: false,
            reading: false,
        })),
        Err(error) => {
            fail(&error.to_string());
            std::ptr::null_mut()
        }
    }
}

/// A lease.
///
/// # Safety
///
/// The strings end with a zero, or are null where the header allows it.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gerbil_fpga_lease(
    socket: *const c_char,
    function: *const c_char,
    holder: *const c_char,
    wait_ms: u32,
) -> *mut Handle {
    // SAFETY: the caller's, as above.
    let [socket, function, holder] = [socket, function, holder].map(|it| unsafe { text(it) });
    let socket = socket.map_or_else(address::default_socket, PathBuf::from);
    let wait = (wait_ms > 0).then(|| Duration::from_millis(wait_ms.into()));
    let lease = function
        .unwrap_or_default()
        .parse::<Function>()
        .map_err(|unknown| unknown.to_string())
        .and_then(|function| {
            Accelerator::lease(&socket, function, &holder.unwrap_or_default(), wait)
                .map_err(|error| error.to_string())
        });
    match lease {
        Ok(lease) => open(lease),
        Err(message) => {
            fail(&message);
            std::ptr::null_mut()
        }
    }
}

/// A lease whose socket was inherited.
///
/// # Safety
///
/// The descriptor is open, and nobody else's.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gerbil_fpga_inherit(socket: c_int) -> *mut Handle {
    // SAFETY: the caller's, as above.
    open(Accelerator::inherit(unsafe {
        OwnedFd::from_raw_fd(socket)
    }))
}

/// Ends a handle, and with it the lease unless another process holds its socket.
///
/// # Safety
///
/// The handle is one of ours, and not used again; or null.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gerbil_fpga_close(handle: *mut Handle) {
    if !handle.is_null() {
        // SAFETY: made by `open`, and given back once.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// The next block.
///
/// # Safety
///
/// The handle is one of ours; `size` may be written to.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gerbil_fpga_block(
    handle: *mut Handle,
    timeout_ms: u32,
    size: *mut usize,
) -> *mut c_void {
    // SAFETY: the caller's, as above.
    let (Some(handle), Some(size)) = (unsafe { handle.as_mut() }, unsafe { size.as_mut() }) else {
        fail("gerbil_fpga_block: a null pointer");
        return std::ptr::null_mut();
    };
    let block = if handle.filling {
        Ok(handle.writer.resume())
    } else {
        handle
            .writer
            .block(Some(Duration::from_millis(timeout_ms.into())))
    };
    match block {
        Ok(mut block) => {
            *size = block.len();
            let start = block.as_mut_ptr();
            block.keep();
            handle.filling = true;
            start.cast()
        }
        Err(error) => {
            fail(&error.to_string());
            std::ptr::null_mut()
        }
    }
}

/// Queues the block.
///
/// # Safety
///
/// The handle is one of ours; `layout` may be read, and `sequence` written to or null.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gerbil_fpga_send(
    handle: *mut Handle,
    layout: *const CLayout,
    sequence: *mut u64,
) -> c_int {
    // SAFETY: the caller's, as above.
    let (Some(handle), Some(layout)) = (unsafe { handle.as_mut() }, unsafe { layout.as_ref() })
    else {
        fail("gerbil_fpga_send: a null pointer");
        return -1;
    };
    if !std::mem::take(&mut handle.filling) {
        fail("gerbil_fpga_send: there is no block to send: ask for one first");
        return -1;
    }
    let layout = Layout {
        length: usize::try_from(layout.length).unwrap_or(usize::MAX),
        header: Header {
            function: layout.function,
            centroids: layout.centroids,
            centroid_offset: layout.centroid_offset,
            pairs: layout.pairs,
            pair_offset: layout.pair_offset,
            dimension: layout.dimension,
            bytes_per_dimension: layout.bytes_per_dimension,
            centroid_type: layout.centroid_type,
            key_type: layout.key_type,
            value_type: layout.value_type,
            flags: layout.flags,
            model: layout.model,
            ..Header::default()
        },
    };
    match handle.writer.resume().send(&layout) {
        Ok(number) => {
            // SAFETY: the caller's, as above.
            if let Some(sequence) = unsafe { sequence.as_mut() } {
                *sequence = number;
            }
            0
        }
        Err(error) => {
            fail(&error.to_string());
            -1
        }
    }
}

/// The next result.
///
/// # Safety
///
/// The handle is one of ours; the pointers may be written to.
#[expect(unsafe_code, reason = "a symbol for C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gerbil_fpga_result(
    handle: *mut Handle,
    timeout_ms: u32,
    length: *mut usize,
    sequence: *mut u64,
    status: *mut u32,
) -> *const c_void {
    // SAFETY: the caller's, as above.
    let pointers = unsafe {
        (
            handle.as_mut(),
            length.as_mut(),
            sequence.as_mut(),
            status.as_mut(),
        )
    };
    let (Some(handle), Some(length), Some(sequence), Some(status)) = pointers else {
        fail("gerbil_fpga_result: a null pointer");
        return std::ptr::null();
    };
    if std::mem::take(&mut handle.reading) {
        handle.reader.release();
    }
    match handle
        .reader
        .result(Some(Duration::from_millis(timeout_ms.into())))
    {
        Ok(result) => {
            *length = result.len();
            *sequence = result.verdict.sequence;
            *status = result.verdict.status.words().0;
            if *status != 0 {
                fail(&result.verdict.status.to_string());
            }
            let start = result.as_ptr();
            result.keep();
            handle.reading = true;
            start.cast()
        }
        Err(error) => {
            fail(&error.to_string());
            std::ptr::null()
        }
    }
}
