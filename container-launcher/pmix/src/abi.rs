//! The structures and functions of the PMIx standard that a server needs, as its header files lay them out.
//!
//! Releases append: a later one has a longer module and more kinds of values, the rest is where it was.

use std::ffi::{c_char, c_int, c_void};

/// `pmix_status_t`.
pub(crate) type Status = c_int;

pub(crate) const SUCCESS: Status = 0;
pub(crate) const ERROR: Status = -1;
/// `PMIX_ERR_NOT_FOUND`.
pub(crate) const NOT_FOUND: Status = -46;
/// `PMIX_ERR_DUPLICATE_KEY`.
pub(crate) const DUPLICATE_KEY: Status = -53;
/// `PMIX_ERR_NOT_SUPPORTED`.
pub(crate) const NOT_SUPPORTED: Status = -47;

/// Bytes of `pmix_nspace_t`, its null included.
pub(crate) const NAMESPACE: usize = 256;
/// Bytes of `pmix_key_t`, its null included.
pub(crate) const KEY: usize = 512;

/// `pmix_data_type_t`.
pub(crate) mod kind {
    pub(crate) const BOOL: u16 = 1;
    pub(crate) const BYTE: u16 = 2;
    pub(crate) const STRING: u16 = 3;
    pub(crate) const INT: u16 = 6;
    pub(crate) const INT32: u16 = 9;
    pub(crate) const UINT: u16 = 11;
    pub(crate) const UINT8: u16 = 12;
    pub(crate) const UINT16: u16 = 13;
    pub(crate) const UINT32: u16 = 14;
    pub(crate) const PROC: u16 = 22;
    pub(crate) const INFO: u16 = 24;
    pub(crate) const BYTES: u16 = 27;
    pub(crate) const PERSISTENCE: u16 = 30;
    pub(crate) const DATA_ARRAY: u16 = 39;
    pub(crate) const RANK: u16 = 40;
}

/// `pmix_proc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Proc {
    pub(crate) namespace: [u8; NAMESPACE],
    pub(crate) rank: u32,
}

/// `pmix_byte_object_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Bytes {
    pub(crate) first: *const u8,
    pub(crate) size: usize,
}

/// The union within `pmix_value_t`: its largest members have three words.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Data {
    pub(crate) flag: bool,
    pub(crate) short: u16,
    pub(crate) number: u32,
    pub(crate) text: *const c_char,
    pub(crate) array: *const DataArray,
    pub(crate) proc: *const Proc,
    pub(crate) bytes: Bytes,
    pub(crate) words: [u64; 3],
}

/// `pmix_value_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Value {
    pub(crate) kind: u16,
    pub(crate) data: Data,
}

/// `pmix_info_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Info {
    pub(crate) key: [u8; KEY],
    pub(crate) flags: u32,
    pub(crate) value: Value,
}

/// `pmix_pdata_t`: a value that somebody has published.
#[repr(C)]
pub(crate) struct PData {
    pub(crate) proc: Proc,
    pub(crate) key: [u8; KEY],
    pub(crate) value: Value,
}

/// `pmix_app_t`: processes of one program that are to be started.
#[repr(C)]
pub(crate) struct App {
    pub(crate) program: *const c_char,
    /// A list with a null behind the last, as the next.
    pub(crate) arguments: *mut *mut c_char,
    pub(crate) environment: *mut *mut c_char,
    pub(crate) folder: *const c_char,
    pub(crate) processes: c_int,
    pub(crate) infos: *const Info,
    pub(crate) info_count: usize,
}

/// `pmix_data_array_t`.
#[repr(C)]
pub(crate) struct DataArray {
    pub(crate) kind: u16,
    pub(crate) size: usize,
    pub(crate) array: *const Info,
}

/// `pmix_op_cbfunc_t`.
pub(crate) type Done = unsafe extern "C" fn(Status, *mut c_void);
/// `pmix_release_cbfunc_t`.
pub(crate) type Release = unsafe extern "C" fn(*mut c_void);
/// `pmix_modex_cbfunc_t`.
pub(crate) type Collected =
    unsafe extern "C" fn(Status, *const c_char, usize, *mut c_void, Option<Release>, *mut c_void);

pub(crate) type ClientChanged =
    unsafe extern "C" fn(*const Proc, *mut c_void, Option<Done>, *mut c_void) -> Status;
pub(crate) type ClientConnected = unsafe extern "C" fn(
    *const Proc,
    *mut c_void,
    *const Info,
    usize,
    Option<Done>,
    *mut c_void,
) -> Status;
pub(crate) type Abort = unsafe extern "C" fn(
    *const Proc,
    *mut c_void,
    c_int,
    *const c_char,
    *const Proc,
    usize,
    Option<Done>,
    *mut c_void,
) -> Status;
pub(crate) type Fence = unsafe extern "C" fn(
    *const Proc,
    usize,
    *const Info,
    usize,
    *mut c_char,
    usize,
    Option<Collected>,
    *mut c_void,
) -> Status;

pub(crate) type Modex =
    unsafe extern "C" fn(*const Proc, *const Info, usize, Option<Collected>, *mut c_void) -> Status;
/// `pmix_dmodex_response_fn_t`.
pub(crate) type Modexed = unsafe extern "C" fn(Status, *mut c_char, usize, *mut c_void);

pub(crate) type Publish =
    unsafe extern "C" fn(*const Proc, *const Info, usize, Option<Done>, *mut c_void) -> Status;
/// `pmix_lookup_cbfunc_t`.
pub(crate) type LookedUp = unsafe extern "C" fn(Status, *const PData, usize, *mut c_void);
pub(crate) type Lookup = unsafe extern "C" fn(
    *const Proc,
    *mut *mut c_char,
    *const Info,
    usize,
    Option<LookedUp>,
    *mut c_void,
) -> Status;
pub(crate) type Unpublish = unsafe extern "C" fn(
    *const Proc,
    *mut *mut c_char,
    *const Info,
    usize,
    Option<Done>,
    *mut c_void,
) -> Status;
/// Of `connect` and `disconnect`.
pub(crate) type Connect = unsafe extern "C" fn(
    *const Proc,
    usize,
    *const Info,
    usize,
    Option<Done>,
    *mut c_void,
) -> Status;
/// `pmix_spawn_cbfunc_t`.
pub(crate) type Spawned = unsafe extern "C" fn(Status, *const c_char, *mut c_void);
pub(crate) type Spawn = unsafe extern "C" fn(
    *const Proc,
    *const Info,
    usize,
    *const App,
    usize,
    Option<Spawned>,
    *mut c_void,
) -> Status;

pub(crate) type Log = unsafe extern "C" fn(
    *const Proc,
    *const Info,
    usize,
    *const Info,
    usize,
    Option<Done>,
    *mut c_void,
);

/// Functions of a module that are not there: the library answers its clients that they are not supported.
type Absent<const N: usize> = [usize; N];

/// `pmix_server_module_t`, and room behind it: a release reads as much of it as it knows.
#[repr(C)]
pub(crate) struct Module {
    pub(crate) client_connected: ClientChanged,
    pub(crate) client_finalized: ClientChanged,
    pub(crate) abort: Abort,
    pub(crate) fence: Fence,
    pub(crate) modex: Modex,
    pub(crate) publish: Publish,
    pub(crate) lookup: Lookup,
    pub(crate) unpublish: Unpublish,
    pub(crate) spawn: Spawn,
    pub(crate) connect: Connect,
    pub(crate) disconnect: Connect,
    /// From `register_events` to `tool_connected`.
    pub(crate) between: Absent<6>,
    pub(crate) log: Log,
    /// From `allocate` to `fabric`.
    pub(crate) absent: Absent<9>,
    pub(crate) client_connected2: ClientConnected,
    pub(crate) later: Absent<36>,
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_the_standard_s() {
        assert_eq!(size_of::<Proc>(), 260);
        assert_eq!(size_of::<Value>(), 32);
        assert_eq!(size_of::<Info>(), 552);
        assert_eq!(offset_of!(Info, value), 520);
        assert_eq!(size_of::<DataArray>(), 24);
        assert_eq!((size_of::<App>(), offset_of!(App, infos)), (56, 40));
        assert_eq!(offset_of!(PData, value), 776);
        assert_eq!(offset_of!(Module, publish), 5 * size_of::<usize>());
        assert_eq!(offset_of!(Module, modex), 4 * size_of::<usize>());
        assert_eq!(offset_of!(Module, log), 17 * size_of::<usize>());
        // The 28th function.
        assert_eq!(
            offset_of!(Module, client_connected2),
            27 * size_of::<usize>()
        );
        assert_eq!(size_of::<Module>(), 64 * size_of::<usize>());
    }
}
