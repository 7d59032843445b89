//! A PMIx server in this process, out of a program's own libpmix.
//!
//! PMIx is an interface of functions, not a protocol: each release of the library speaks to its clients in its own
//! way. So the library that the program is linked to is opened ([`library`]), told of the job ([`job_data`]) and of
//! each local rank, and what its clients ask for comes back as a [`Call`], which is answered by its number ([`calls`]).
//! What the ranks spawn is another namespace of the same server ([`namespaces`]).
//! The structures are those of the PMIx standard, versions 3 to 5 ([`abi`]).
//!
//! All unsafe code for PMIx is here. The library has threads of its own and may end its process: that should be a
//! process which serves one job and nothing else.

mod abi;
mod attribute;
mod calls;
mod information;
mod job_data;
mod library;
mod logged;
mod modex;
mod module;
mod names;
mod namespaces;
mod server;
mod spawn_command;

pub use calls::{Answer, Call, Channel};
pub use job_data::{JobData, Node};
pub use logged::TEXTS_MAX;
pub use names::Names;
pub use server::{Server, ServerError};
pub use spawn_command::SpawnCommand;
