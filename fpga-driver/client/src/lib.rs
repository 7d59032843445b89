//! What a program says to the driver of a node's accelerators, and what both share: functions, packets, rings and the
//! messages of the socket.

pub mod client;
pub mod echo;
pub mod function;
pub mod packet;
pub mod ring;
pub mod status;
pub mod wire;
pub mod work;

pub use function::Function;
pub use status::Status;
