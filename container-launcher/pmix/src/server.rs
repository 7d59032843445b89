//! The server: opened, told of its job, asked for what each rank is started with.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::abi::{Done, Module, NAMESPACE, SUCCESS, Status};
use crate::attribute::{Attribute, Value};
use crate::calls::{self, Answer, Call};
use crate::information::Information;
use crate::job_data::JobData;
use crate::library::{Functions, proc_of};
use crate::modex;
use crate::module;
use crate::namespaces::Group;

/// The library answers at once; one that does not never will.
const PATIENCE: Duration = Duration::from_secs(8);
/// By which a map begins that is a list; what the library makes of a long one is no text.
const LIST: &str = "raw:";
const NO_TEXT: &str = "blob";

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The library cannot be loaded, or is none of PMIx.
    #[error("{why}")]
    Library {
        /// The loader's words.
        why: String,
    },
    /// A function of the library failed.
    #[error("{function}: {why}")]
    Call {
        /// Which.
        function: &'static str,
        /// The library's words.
        why: String,
    },
    /// A name that is no text for C, or too long.
    #[error("{name}: it has a null within, or more than {} bytes", NAMESPACE - 1)]
    Name {
        /// Which.
        name: String,
    },
    /// There is one already.
    #[error("a process can have one PMIx server, and this one has it")]
    Second,
}

/// The one server of this process.
pub struct Server {
    functions: Functions,
    /// Where the library has its files.
    folder: String,
    /// By group.
    namespaces: Mutex<BTreeMap<u32, String>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the libpmix at `library` and begins to serve a job; the library's files go below `folder`. What clients
    /// ask is told to `told` with its number and its group, on a thread of the library's, which waits for it.
    ///
    /// # Errors
    ///
    /// See [`ServerError`].
    pub fn begin(
        library: &Path,
        folder: &str,
        job: &JobData,
        told: impl Fn(u64, u32, Call) + Send + Sync + 'static,
    ) -> Result<Self, ServerError> {
        let functions = Functions::of(library).map_err(|error| ServerError::Library {
            why: words_of(&error),
        })?;
        if !calls::tell(Box::new(told)) {
            return Err(ServerError::Second);
        }
        let server = Self {
            functions,
            folder: folder.to_owned(),
            namespaces: Mutex::default(),
        };
        server.init(job)?;
        server.add(job)?;
        Ok(server)
    }

    /// Serves another group of ranks of the job, too.
    ///
    /// # Errors
    ///
    /// See [`ServerError`].
    pub fn add(&self, job: &JobData) -> Result<(), ServerError> {
        if job.namespace.len() >= NAMESPACE || job.namespace.contains('\0') {
            return Err(ServerError::Name {
                name: job.namespace.clone(),
            });
        }
        if let Some(known) = calls::namespaces() {
            let group = Group {
                number: job.group,
                first: job.first,
                size: job.size(),
            };
            known.add(&job.namespace, group);
        }
        let mut namespaces = self.lock();
        namespaces.insert(job.group, job.namespace.clone());
        drop(namespaces);
        self.register(job)?;
        for &rank in job.local() {
            self.register_client(&job.namespace, rank)?;
        }
        Ok(())
    }

    /// All ranks of a group have ended, wherever they ran: nobody asks for it any more.
    pub fn remove(&self, group: u32) {
        let Some(namespace) = self.lock().remove(&group) else {
            return;
        };
        if let Some(known) = calls::namespaces() {
            known.remove(&namespace);
        }
        let name = proc_of(&namespace, 0);
        #[expect(unsafe_code, reason = "libpmix is a C library")]
        let _done = wait(|done, theirs| {
            // SAFETY: the name ends with a null and is copied; the library answers by calling `done` once.
            unsafe {
                (self.functions.deregister_namespace)(name.namespace.as_ptr(), Some(done), theirs);
            }
            SUCCESS
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, String>> {
        self.namespaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What the library calls a group; none is called so: nobody has told of it.
    fn name_of(&self, group: u32) -> String {
        self.lock().get(&group).cloned().unwrap_or_default()
    }

    /// What the library calls itself.
    #[must_use]
    #[expect(unsafe_code, reason = "libpmix is a C library")]
    pub fn version(&self) -> String {
        // SAFETY: the function has no condition and returns a string that lives as long as the library.
        text(unsafe { (self.functions.version)() })
    }

    fn init(&self, job: &JobData) -> Result<(), ServerError> {
        // The library keeps the pointer in some releases.
        let module: &'static mut Module = Box::leak(Box::new(module::module()));
        let mut information = information(&[
            Attribute::text("pmix.srvr.tmpdir", self.folder.as_str()),
            Attribute::text("pmix.sys.tmpdir", self.folder.as_str()),
            // By which it knows what of the job's map is here.
            Attribute::text("pmix.hname", job.name()),
        ])?;
        #[expect(unsafe_code, reason = "libpmix is a C library")]
        // SAFETY: the module is never freed, and the attributes are there until the call returns.
        let status =
            unsafe { (self.functions.init)(module, information.as_mut_ptr(), information.len()) };
        self.checked("PMIx_server_init", status)
    }

    fn register(&self, job: &JobData) -> Result<(), ServerError> {
        let nodes = self.map(
            self.functions.generate_regex,
            "PMIx_generate_regex",
            job.node_list(),
        )?;
        let ranks = self.map(
            self.functions.generate_ppn,
            "PMIx_generate_ppn",
            job.rank_lists(),
        )?;
        let mut attributes = job.attributes(nodes, ranks);
        attributes.extend([
            Attribute::text("pmix.tmpdir", self.folder.as_str()),
            Attribute::text("pmix.nsdir", self.folder.as_str()),
            // The launcher removes the folder.
            Attribute::new("pmix.tdir.rmclean", Value::Flag(true)),
        ]);
        let mut information = information(&attributes)?;
        let (name, local) = (proc_of(&job.namespace, 0), job.local().len());
        let local = c_int::try_from(local).unwrap_or(c_int::MAX);
        #[expect(unsafe_code, reason = "libpmix is a C library")]
        let waited = wait(|done, theirs| {
            // SAFETY: the name ends with a null and is copied; the attributes are there until `done` is called, or
            // for good.
            unsafe {
                (self.functions.register_namespace)(
                    name.namespace.as_ptr(),
                    local,
                    information.as_mut_ptr(),
                    information.len(),
                    Some(done),
                    theirs,
                )
            }
        });
        if waited.is_none() {
            // The library may still read them.
            std::mem::forget(information);
        }
        self.answered("PMIx_server_register_nspace", waited)
    }

    fn register_client(&self, namespace: &str, rank: u32) -> Result<(), ServerError> {
        let proc = proc_of(namespace, rank);
        #[expect(unsafe_code, reason = "libpmix is a C library")]
        let waited = wait(|done, theirs| {
            // SAFETY: the library copies the name; ids are numbers.
            unsafe {
                let (uid, gid) = (libc::geteuid(), libc::getegid());
                let register = self.functions.register_client;
                register(&raw const proc, uid, gid, null_mut(), Some(done), theirs)
            }
        });
        self.answered("PMIx_server_register_client", waited)
    }

    /// The variables by which a rank of a group finds this server.
    ///
    /// # Errors
    ///
    /// The library has none for it.
    #[expect(unsafe_code, reason = "libpmix is a C library")]
    pub fn variables(&self, group: u32, rank: u32) -> Result<Vec<(String, String)>, ServerError> {
        let proc = proc_of(&self.name_of(group), rank);
        let mut list: *mut *mut c_char = null_mut();
        // SAFETY: a list that is null is made by the library.
        let status = unsafe { (self.functions.setup_fork)(&raw const proc, &raw mut list) };
        self.checked("PMIx_server_setup_fork", status)?;
        let mut variables = Vec::new();
        let mut at = list;
        // SAFETY: a list of strings, with a null behind the last, each of which ends with a null. It and they are
        // from malloc, and the caller's to free.
        unsafe {
            while !at.is_null() && !(*at).is_null() {
                let pair = text(*at);
                if let Some((name, value)) = pair.split_once('=') {
                    variables.push((name.to_owned(), value.to_owned()));
                }
                libc::free((*at).cast());
                at = at.add(1);
            }
            libc::free(list.cast());
        }
        Ok(variables)
    }

    /// Answers a call, which was told under this number.
    pub fn answer(&self, number: u64, answer: Answer) {
        calls::answer(number, answer);
    }

    /// What a local rank of a group has told: `told` has it once the rank has said that all of it is there; none: it
    /// cannot be had.
    pub fn modex(
        &self,
        group: u32,
        rank: u32,
        told: impl FnOnce(Option<Vec<u8>>) + Send + 'static,
    ) {
        modex::request(self.functions, &self.name_of(group), rank, Box::new(told));
    }

    /// A list in the library's own spelling.
    #[expect(unsafe_code, reason = "libpmix is a C library")]
    fn map(
        &self,
        generate: unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> Status,
        function: &'static str,
        list: String,
    ) -> Result<String, ServerError> {
        let Ok(given) = CString::new(list.as_str()) else {
            return Err(ServerError::Name { name: list });
        };
        let mut made: *mut c_char = null_mut();
        // SAFETY: a string that ends with a null, and a place for a pointer.
        let status = unsafe { generate(given.as_ptr(), &raw mut made) };
        self.checked(function, status)?;
        let map = text(made);
        // SAFETY: from malloc, and the caller's.
        unsafe { libc::free(made.cast()) };
        Ok(match map.starts_with(NO_TEXT) || map.is_empty() {
            true => format!("{LIST}{list}"),
            false => map,
        })
    }

    fn checked(&self, function: &'static str, status: Status) -> Result<(), ServerError> {
        match status {
            SUCCESS => Ok(()),
            failed => Err(ServerError::Call {
                function,
                why: self.words(failed),
            }),
        }
    }

    fn answered(&self, function: &'static str, waited: Option<Status>) -> Result<(), ServerError> {
        match waited {
            Some(status) => self.checked(function, status),
            None => Err(ServerError::Call {
                function,
                why: format!("no answer within {} s", PATIENCE.as_secs()),
            }),
        }
    }

    #[expect(unsafe_code, reason = "libpmix is a C library")]
    fn words(&self, status: Status) -> String {
        // SAFETY: any number is allowed, and the string lives as long as the library.
        let words = text(unsafe { (self.functions.error_string)(status) });
        format!("{words} ({status})")
    }
}

/// What the loader says of a library is in what its error comes from.
fn words_of(error: &libloading::Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

fn information(attributes: &[Attribute]) -> Result<Information, ServerError> {
    Information::new(attributes).map_err(|_null| ServerError::Name {
        name: "an attribute of the job".to_owned(),
    })
}

/// A string of the library's; null: none.
#[expect(unsafe_code, reason = "libpmix is a C library")]
fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: what the library gives ends with a null.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}

/// Calls a function that answers by calling another one; none: it did not.
fn wait(call: impl FnOnce(Done, *mut c_void) -> Status) -> Option<Status> {
    let (sender, receiver) = sync_channel::<Status>(1);
    let theirs = Box::into_raw(Box::new(sender));
    match call(answered, theirs.cast()) {
        SUCCESS => receiver.recv_timeout(PATIENCE).ok(),
        // It is done, and nothing will be called.
        OPERATION_SUCCEEDED => Some(SUCCESS),
        failed => Some(failed),
    }
}

/// `PMIX_OPERATION_SUCCEEDED`.
const OPERATION_SUCCEEDED: Status = -157;

#[expect(unsafe_code, reason = "the library answers")]
unsafe extern "C" fn answered(status: Status, theirs: *mut c_void) {
    // SAFETY: `wait` made it of such a box, and the library answers once.
    let sender = unsafe { Box::from_raw(theirs.cast::<SyncSender<Status>>()) };
    let status = if status == OPERATION_SUCCEEDED {
        SUCCESS
    } else {
        status
    };
    sender.try_send(status).ok();
}
