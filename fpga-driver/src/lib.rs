#![doc = include_str!("../README.md")]

pub mod bayes;
pub mod board;
pub mod client;
pub mod daemon;
pub mod echo;
pub mod fixed;
pub mod function;
pub mod kmeans;
pub mod packet;
pub mod profile;
pub mod ring;
pub mod status;
pub mod wire;
pub mod work;

pub use function::Function;
pub use status::Status;
