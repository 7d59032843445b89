//! A YARN client in pure Rust: Hadoop RPC, SASL, XML settings and typed clients.

pub mod conf;
