//! A libpmix, opened, and its functions for servers.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;

use crate::abi::{Done, Info, Modexed, Module, NAMESPACE, Proc, Status};

type Init = unsafe extern "C" fn(*mut Module, *mut Info, usize) -> Status;
type Generate = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> Status;
type RegisterNamespace =
    unsafe extern "C" fn(*const u8, c_int, *mut Info, usize, Option<Done>, *mut c_void) -> Status;
type RegisterClient = unsafe extern "C" fn(
    *const Proc,
    libc::uid_t,
    libc::gid_t,
    *mut c_void,
    Option<Done>,
    *mut c_void,
) -> Status;
type DeregisterNamespace = unsafe extern "C" fn(*const u8, Option<Done>, *mut c_void);
type SetupFork = unsafe extern "C" fn(*const Proc, *mut *mut *mut c_char) -> Status;
type ModexRequest = unsafe extern "C" fn(*const Proc, Option<Modexed>, *mut c_void) -> Status;
type ErrorString = unsafe extern "C" fn(Status) -> *const c_char;
type GetVersion = unsafe extern "C" fn() -> *const c_char;

/// The functions, which stay as long as the process: the library has threads that run in it.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) init: Init,
    pub(crate) generate_regex: Generate,
    pub(crate) generate_ppn: Generate,
    pub(crate) register_namespace: RegisterNamespace,
    pub(crate) register_client: RegisterClient,
    pub(crate) deregister_namespace: DeregisterNamespace,
    pub(crate) setup_fork: SetupFork,
    pub(crate) modex_request: ModexRequest,
    pub(crate) error_string: ErrorString,
    pub(crate) version: GetVersion,
}

impl Functions {
    /// Those of the library at `path`.
    ///
    /// # Errors
    ///
    /// It cannot be loaded, or has not all of them.
    pub(crate) fn of(path: &Path) -> Result<Self, libloading::Error> {
        let library: &'static Library = Box::leak(Box::new(open(path)?));
        Ok(Self {
            init: function(library, "PMIx_server_init")?,
            generate_regex: function(library, "PMIx_generate_regex")?,
            generate_ppn: function(library, "PMIx_generate_ppn")?,
            register_namespace: function(library, "PMIx_server_register_nspace")?,
            register_client: function(library, "PMIx_server_register_client")?,
            deregister_namespace: function(library, "PMIx_server_deregister_nspace")?,
            setup_fork: function(library, "PMIx_server_setup_fork")?,
            modex_request: function(library, "PMIx_server_dmodex_request")?,
            error_string: function(library, "PMIx_Error_string")?,
            version: function(library, "PMIx_Get_version")?,
        })
    }
}

#[expect(unsafe_code, reason = "a library is loaded")]
fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the initialisers of libpmix and of what it is linked to have no conditions; this process is there for
    // this alone.
    unsafe { Library::new(path) }
}

#[expect(unsafe_code, reason = "a function of a library is looked up")]
fn function<F: Copy>(library: &'static Library, name: &str) -> Result<F, libloading::Error> {
    // SAFETY: `F` is the type that the standard gives the function of this name, and the library is never unloaded.
    unsafe { library.get::<F>(name).map(|function| *function) }
}

/// `pmix_proc_t` of a rank. A name that is too long is cut, which the caller has excluded.
pub(crate) fn proc_of(namespace: &str, rank: u32) -> Proc {
    let mut name = [0; NAMESPACE];
    // The null at the end stays.
    let last = NAMESPACE.saturating_sub(1);
    for (to, &from) in name.iter_mut().take(last).zip(namespace.as_bytes()) {
        *to = from;
    }
    Proc {
        namespace: name,
        rank,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_libpmix_is_refused() {
        let none = Functions::of(Path::new("/nonexistent/libpmix.so.2"));
        assert!(none.is_err());
        // A library, and another one.
        assert!(Functions::of(Path::new("libc.so.6")).is_err());
    }

    #[test]
    fn a_rank_s_name_ends_with_a_null_however_long_it_is() {
        assert!(proc_of("job", 3).namespace.starts_with(b"job\0"));
        assert_eq!(proc_of(&"n".repeat(1000), 3).namespace.last(), Some(&0));
    }
}
