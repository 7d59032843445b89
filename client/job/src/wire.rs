//! The gRPC schema between our own processes, generated from `proto/gerbil.proto`, where each
//! message and field is explained.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    clippy::nursery,
    reason = "generated code; the schema carries the documentation"
)]

tonic::include_proto!("gerbil");
