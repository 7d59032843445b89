//! Rules that go around any policy: each is a [`Scheduler`](super::Scheduler) over another.

mod age;
mod avoid;
mod delay;
mod gang;
mod priority;
mod speculate;

pub use age::Age;
pub use avoid::Avoid;
pub use delay::Delay;
pub use gang::GangScheduling;
pub use priority::Priority;
pub use speculate::Speculate;
