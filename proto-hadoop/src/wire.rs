//! Generated protobuf types. They stay inside this crate: every public type is plain Rust.

/// Package `hadoop.common`: the RPC envelope and tokens.
#[expect(
    clippy::enum_variant_names,
    reason = "the generator keeps the names of the .proto files"
)]
pub(crate) mod common {
    include!(concat!(env!("OUT_DIR"), "/hadoop.common.rs"));
}

/// Package `hadoop.yarn`: the YARN protocols.
#[expect(
    clippy::enum_variant_names,
    clippy::use_self,
    reason = "the generator keeps the names of the .proto files and writes types out"
)]
pub(crate) mod yarn {
    include!(concat!(env!("OUT_DIR"), "/hadoop.yarn.rs"));
}

/// Package `hadoop.hdfs`: the NameNode's protocol.
#[expect(
    clippy::enum_variant_names,
    reason = "the generator keeps the names of the .proto files"
)]
pub(crate) mod hdfs {
    include!(concat!(env!("OUT_DIR"), "/hadoop.hdfs.rs"));
}

use crate::yarn::Rows;

/// A message that decodes but lacks what it cannot be used without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer has no usable {what}")]
pub(crate) struct Incomplete {
    pub(crate) what: &'static str,
}

/// Makes a plain type of a wire message.
pub(crate) trait FromWire<W>: Sized {
    fn from_wire(wire: W) -> Result<Self, Incomplete>;
}

/// Makes a plain type of an optional wire message that must be there.
pub(crate) fn required<T: FromWire<W>, W>(
    wire: Option<W>,
    what: &'static str,
) -> Result<T, Incomplete> {
    wire.ok_or(Incomplete { what }).and_then(T::from_wire)
}

/// Makes plain types of a list of wire messages.
pub(crate) fn all<T: FromWire<W>, W>(wire: Vec<W>) -> Result<Vec<T>, Incomplete> {
    wire.into_iter().map(T::from_wire).collect()
}

/// Makes plain types of the rows of a list of `what` that can be read. The others are left out and
/// counted: one odd row must not hide all others.
pub(crate) fn readable<T: FromWire<W>, W>(wire: Vec<W>, what: &'static str) -> Rows<T> {
    let sent = wire.len();
    let mut first = None;
    let rows = wire.into_iter().filter_map(|row| {
        let row = T::from_wire(row);
        row.map_err(|error| first.get_or_insert(error.what)).ok()
    });
    let rows: Vec<T> = rows.collect();
    let unread = sent.saturating_sub(rows.len());
    if let Some(lacking) = first {
        tracing::warn!("{unread} of {sent} {what} of an answer are left out: no usable {lacking}");
    }
    Rows { rows, unread }
}

/// Of an answer that says nothing but that the call was done.
pub(crate) fn nothing(_done: ()) -> Result<(), Incomplete> {
    Ok(())
}

impl FromWire<common::TokenProto> for credentials::Token {
    fn from_wire(wire: common::TokenProto) -> Result<Self, Incomplete> {
        Ok(Self {
            identifier: wire.identifier.to_vec(),
            password: wire.password.to_vec(),
            kind: wire.kind,
            service: wire.service,
        })
    }
}

pub(crate) fn token(token: &credentials::Token) -> common::TokenProto {
    common::TokenProto {
        identifier: token.identifier.clone().into(),
        password: token.password.clone().into(),
        kind: token.kind.clone(),
        service: token.service.clone(),
    }
}
