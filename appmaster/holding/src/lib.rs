//! The containers of one application: asked for, granted, started, spoken to, given back.
//!
//! What runs in them is not known here. The life of one of them:
//!
//! ```text
//! ask ──▶ rows of an allocate call ──▶ granted ──▶ start ──▶ joined ══ orders and events ══▶ leave
//!  │          (requests, draft)       with its NM   ticket      │    link after link            │
//!  │                                  token         issued      │       (orders)                ▼
//!  └─ another round replaces it                                 └──▶ lost, or ended by YARN   release
//! ```
//!
//! The owner says what it wants ([`Asking`]); [`requests`] turns that into rows, which stand in the
//! draft of the next call ([`next_allocate`]) until the one task that owns the allocate stream ([`resource_manager`])
//! has sent them. What that brings is [`ContainerEvent`]: a [`Granted`] container has the token of its NodeManager with
//! it. [`Holding::start`] gives it a ticket and starts a launcher in it ([`containers`]), from what all of
//! them have in common. The launcher dials the application's one [`Port`]: TLS with a certificate of this
//! application ([`handshake`], [`peers`]), then its ticket ([`tickets`]), which is good for one launcher.
//! From then on [`orders`] holds the conversation, by one link after another: neither direction loses or
//! repeats anything. Its output and input pass by into [`Streams`] ([`launchers`]). A container that is
//! given back is told to leave first; one that YARN has ended, or of which nothing is heard for long, is
//! [lost](ContainerEvent::Lost).
//!
//! Invariants:
//!
//! 1. One value, [`Holding`], says what is wanted, and none of its verbs waits for anybody. One task owns
//!    the allocate stream. Whatever becomes of the containers comes by one bounded channel ([`ContainerEventSender`]),
//!    in the order in which it happened, and is heard by [`Holding::hear`] first.
//! 2. What waits is bounded: the draft by what is wanted and held, orders by number and bytes for each
//!    launcher, strangers at the port by number and time.
//! 3. A ResourceManager that has restarted is told again what is outstanding and what was given back, until
//!    it has told the end of it. Nothing is asked for twice and nothing held that is not wanted. What it does not
//!    allow (any more) is found and told to its owner, and holds nothing else up ([`suspects`]).
//! 4. A grant is counted to the request of its id on its host, however many of them one host has.
//! 5. A ticket is shown by one launcher of its own container; nothing secret is in an environment, on a
//!    command line or in a log.
//! 6. An application that hears nothing of the ResourceManager for half the time after which YARN takes it
//!    for dead is told so, once: no two attempts run side by side.
//! 7. Every task belongs to the set that the owner gives, every wait on a peer has a deadline.
//!
//! Caveat: containers do not outlive their AM; what registration tells of earlier ones is not read.

mod address;
mod cluster;
mod container_event;
mod containers;
mod handshake;
mod holding;
mod keys;
mod launchers;
mod next_allocate;
mod nodes;
mod orders;
mod peers;
mod port;
mod registration;
mod requests;
mod resource_manager;
mod startup;
mod streams;
mod suspects;
#[cfg(test)]
mod test_keys;
mod tickets;

pub use address::{BoundPort, joined};
pub use cluster::ApplicationCluster;
pub use container_event::{ContainerEvent, ContainerEventSender, Deaf, Granted};
pub use holding::{Holding, LauncherLink};
pub use keys::Keys;
pub use next_allocate::Nodes;
pub use nodes::{Candidates, ClusterLimits, amount};
pub use orders::Orders;
pub use peers::{Admitted, same_build};
pub use port::{Doors, Port};
pub use registration::register;
pub use requests::Asking;
pub use resource_manager::Finished;
pub use startup::Opening;
pub use streams::{Bringing, Streams};
