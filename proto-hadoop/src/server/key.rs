//! Keys that sign tokens.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::wire::{FromWire, Incomplete, yarn};

/// Length of a key, bytes; as long as the signature.
const KEY_BYTES: usize = 20;

/// A key that signs token identifiers: HMAC-SHA1, as Hadoop 2.10 to 3.4 always and later ones by
/// default. ResourceManager and NodeManagers share it, and nobody else knows it.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    /// Which key of its owner it is; stands in every identifier that it signed.
    pub id: i32,
    bytes: Vec<u8>,
}

impl MasterKey {
    /// A fresh key.
    #[must_use]
    pub fn generate(id: i32) -> Self {
        let bytes: [u8; KEY_BYTES] = rand::random();
        Self {
            id,
            bytes: bytes.to_vec(),
        }
    }

    /// A key that another daemon has made.
    #[must_use]
    pub fn new(id: i32, bytes: Vec<u8>) -> Self {
        Self { id, bytes }
    }

    /// The password of the token with this identifier.
    #[must_use]
    pub fn sign(&self, identifier: &[u8]) -> Vec<u8> {
        // HMAC takes keys of every length.
        let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(&self.bytes) else {
            return Vec::new();
        };
        mac.update(identifier);
        mac.finalize().into_bytes().to_vec()
    }

    /// Whether `password` is the signature of `identifier`, in a time that does not tell how much of
    /// it is right.
    #[must_use]
    pub fn verifies(&self, identifier: &[u8], password: &[u8]) -> bool {
        let right = self.sign(identifier);
        let differing = right
            .iter()
            .zip(password)
            .fold(0, |all, (a, b)| all | (a ^ b));
        !right.is_empty() && right.len() == password.len() && differing == 0
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl FromWire<yarn::MasterKeyProto> for MasterKey {
    fn from_wire(wire: yarn::MasterKeyProto) -> Result<Self, Incomplete> {
        match (wire.key_id, wire.bytes) {
            (Some(id), Some(bytes)) if !bytes.is_empty() => Ok(Self::new(id, bytes.to_vec())),
            _ => Err(Incomplete { what: "master key" }),
        }
    }
}

impl From<&MasterKey> for yarn::MasterKeyProto {
    fn from(key: &MasterKey) -> Self {
        Self {
            key_id: Some(key.id),
            bytes: Some(key.bytes.clone().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of stock Hadoop: the AMRM token of `appattempt_1700000000000_0007_000001` under key 42.
    #[test]
    fn signatures_are_those_of_stock_hadoop() {
        let identifier = [
            0x0a, 0x0d, 0x0a, 0x09, 0x08, 0x07, 0x10, 0x80, 0xd0, 0x95, 0xff, 0xbc, 0x31, 0x10,
            0x01, 0x10, 0x2a,
        ];
        let key = MasterKey::new(42, b"0123456789abcdef0123".to_vec());
        let password = [
            0x4c, 0x3c, 0x71, 0x64, 0x5f, 0x55, 0x60, 0x64, 0x27, 0xbf, 0x2c, 0x48, 0xaf, 0xc2,
            0xf0, 0x47, 0xd4, 0xc9, 0x7a, 0xeb,
        ];
        assert_eq!(key.sign(&identifier), password);
        assert!(key.verifies(&identifier, &password));
        assert!(!key.verifies(&identifier, &password[..19]));
        assert!(!key.verifies(&identifier, &[0; 20]));
        assert!(!key.verifies(&identifier, &[]));
    }
}
