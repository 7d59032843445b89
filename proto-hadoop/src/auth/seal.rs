//! Protection of messages after the log-in.
//!
//! ```text
//! auth-int:   message | MAC, 10 bytes | 00 01 | sequence, 4 bytes
//! auth-conf:  3DES-CBC( message | padding, 1 to 8 bytes | MAC, 10 bytes ) | 00 01 | sequence
//! MAC:        the first 10 bytes of HMAC-MD5(key, sequence | message)
//! ```
//!
//! The cipher's state runs on from message to message; sequences count from 0 in each direction.
//! Follows RFC 2831 and `com.sun.security.sasl.digest.DigestMD5Base` of the JDK.

use cbc::cipher::{Block, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use des::TdesEde2;
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;

use super::digest::md5;
use super::{Qop, SaslError};

const MAC_BYTES: usize = 10;
const VERSION: [u8; 2] = [0, 1];
/// Version and sequence.
const TRAILER_BYTES: usize = 6;
const BLOCK_BYTES: usize = 8;

/// What was agreed on: nothing where frames go as they are.
#[derive(Debug)]
pub(crate) struct Protection {
    pub(crate) qop: Qop,
    pub(crate) sealer: Option<Sealer>,
    pub(crate) opener: Option<Opener>,
}

impl Protection {
    pub(crate) fn new(qop: Qop, session: [u8; 16]) -> Self {
        if qop == Qop::Auth {
            return Self {
                qop,
                sealer: None,
                opener: None,
            };
        }
        let encrypted = qop == Qop::AuthConf;
        let outgoing = SealKeys::derive(session, "client-to-server");
        let incoming = SealKeys::derive(session, "server-to-client");
        Self {
            qop,
            sealer: Some(Sealer::new(&outgoing, encrypted)),
            opener: Some(Opener::new(&incoming, encrypted)),
        }
    }
}

/// The other end of [`Protection::new`].
#[cfg(test)]
pub(crate) fn server_side(qop: Qop, session: [u8; 16]) -> (Option<Sealer>, Option<Opener>) {
    if qop == Qop::Auth {
        return (None, None);
    }
    let encrypted = qop == Qop::AuthConf;
    let outgoing = SealKeys::derive(session, "server-to-client");
    let incoming = SealKeys::derive(session, "client-to-server");
    (
        Some(Sealer::new(&outgoing, encrypted)),
        Some(Opener::new(&incoming, encrypted)),
    )
}

/// Keys of one direction.
struct SealKeys {
    signing: [u8; 16],
    sealing: [u8; 16],
}

impl SealKeys {
    fn derive(session: [u8; 16], direction: &str) -> Self {
        let signing = format!("Digest session key to {direction} signing key magic constant");
        let sealing = format!("Digest H(A1) to {direction} sealing key magic constant");
        Self {
            signing: md5(&[&session, signing.as_bytes()]),
            sealing: md5(&[&session, sealing.as_bytes()]),
        }
    }

    /// Two DES keys of 56 bits each, and the first initialization vector.
    fn cipher<
        C: KeyIvInit<KeySize = des::cipher::consts::U16, IvSize = des::cipher::consts::U8>,
    >(
        &self,
    ) -> C {
        let [
            k0,
            k1,
            k2,
            k3,
            k4,
            k5,
            k6,
            k7,
            k8,
            k9,
            k10,
            k11,
            k12,
            k13,
            k14,
            k15,
        ] = self.sealing;
        let first = with_parity([k0, k1, k2, k3, k4, k5, k6]);
        let second = with_parity([k7, k8, k9, k10, k11, k12, k13]);
        let mut key = [0; 16];
        for (slot, byte) in key.iter_mut().zip(first.into_iter().chain(second)) {
            *slot = byte;
        }
        C::new(&key.into(), &[k8, k9, k10, k11, k12, k13, k14, k15].into())
    }
}

/// Spreads 56 bits over 8 bytes, the lowest bit of each making its number of ones odd.
fn with_parity(key: [u8; 7]) -> [u8; 8] {
    let bits = key
        .iter()
        .fold(0u64, |bits, &byte| (bits << 8) | u64::from(byte));
    let mut spread = [0; 8];
    for (index, slot) in (0u32..).zip(&mut spread) {
        let seven = (bits >> (49 - 7 * index)) & 0x7f;
        // Seven bits and the parity bit fill the byte.
        let byte = u8::try_from(seven << 1).unwrap_or(0);
        *slot = byte | u8::from(byte.count_ones() % 2 == 0);
    }
    spread
}

/// Signature of message number `sequence`.
fn mac(key: &[u8; 16], sequence: u32, message: &[u8]) -> [u8; MAC_BYTES] {
    // HMAC fills a short key with zeros up to the block of its hash.
    let mut block = [0; 64];
    block
        .iter_mut()
        .zip(key)
        .for_each(|(slot, &byte)| *slot = byte);
    let mut mac = Hmac::<Md5>::new(&block.into());
    mac.update(&sequence.to_be_bytes());
    mac.update(message);
    let whole = mac.finalize().into_bytes();
    let mut short = [0; MAC_BYTES];
    short
        .iter_mut()
        .zip(whole)
        .for_each(|(slot, byte)| *slot = byte);
    short
}

/// Wraps what goes out.
pub(crate) struct Sealer {
    signing: [u8; 16],
    cipher: Option<cbc::Encryptor<TdesEde2>>,
    sequence: u32,
}

impl Sealer {
    fn new(keys: &SealKeys, encrypted: bool) -> Self {
        let cipher = encrypted.then(|| keys.cipher());
        Self {
            signing: keys.signing,
            cipher,
            sequence: 0,
        }
    }

    pub(crate) fn seal(&mut self, message: &[u8]) -> Result<Vec<u8>, SaslError> {
        let mut out = Vec::with_capacity(message.len() + 2 * BLOCK_BYTES + TRAILER_BYTES);
        out.extend_from_slice(message);
        let mac = mac(&self.signing, self.sequence, message);
        if let Some(cipher) = &mut self.cipher {
            let padding = BLOCK_BYTES - (message.len() + MAC_BYTES) % BLOCK_BYTES;
            out.extend(std::iter::repeat_n(
                u8::try_from(padding).unwrap_or(0),
                padding,
            ));
            out.extend_from_slice(&mac);
            for chunk in out.chunks_exact_mut(BLOCK_BYTES) {
                let mut block = Block::<TdesEde2>::default();
                block.copy_from_slice(chunk);
                cipher.encrypt_block(&mut block);
                chunk.copy_from_slice(&block);
            }
        } else {
            out.extend_from_slice(&mac);
        }
        out.extend_from_slice(&VERSION);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        self.sequence = self.sequence.checked_add(1).ok_or(SaslError::Exhausted)?;
        Ok(out)
    }
}

/// Unwraps what comes in.
pub(crate) struct Opener {
    signing: [u8; 16],
    cipher: Option<cbc::Decryptor<TdesEde2>>,
    sequence: u32,
}

impl Opener {
    fn new(keys: &SealKeys, encrypted: bool) -> Self {
        let cipher = encrypted.then(|| keys.cipher());
        Self {
            signing: keys.signing,
            cipher,
            sequence: 0,
        }
    }

    pub(crate) fn open(&mut self, blob: &[u8]) -> Result<Vec<u8>, SaslError> {
        let short = SaslError::Sealed {
            problem: "too few bytes",
        };
        let (body, trailer) = blob
            .split_last_chunk::<TRAILER_BYTES>()
            .ok_or(short.clone())?;
        let [v0, v1, sequence @ ..] = *trailer;
        if [v0, v1] != VERSION {
            return Err(SaslError::Sealed {
                problem: "an unknown version",
            });
        }
        let found = u32::from_be_bytes(sequence);
        if found != self.sequence {
            return Err(SaslError::Sequence {
                wanted: self.sequence,
                found,
            });
        }
        let mut plain = body.to_vec();
        if let Some(cipher) = &mut self.cipher {
            if plain.len() % BLOCK_BYTES != 0 {
                return Err(SaslError::Sealed {
                    problem: "a broken cipher block",
                });
            }
            for chunk in plain.chunks_exact_mut(BLOCK_BYTES) {
                let mut block = Block::<TdesEde2>::default();
                block.copy_from_slice(chunk);
                cipher.decrypt_block(&mut block);
                chunk.copy_from_slice(&block);
            }
        }
        let (message, &signature) = plain.split_last_chunk::<MAC_BYTES>().ok_or(short.clone())?;
        let message = if self.cipher.is_some() {
            let padding = usize::from(*message.last().ok_or(short.clone())?);
            let length = message.len().checked_sub(padding).ok_or(short)?;
            if !(1..=BLOCK_BYTES).contains(&padding) {
                return Err(SaslError::Sealed {
                    problem: "bad padding",
                });
            }
            message.get(..length).unwrap_or_default()
        } else {
            message
        };
        if mac(&self.signing, self.sequence, message) != signature {
            return Err(SaslError::Sealed {
                problem: "a wrong signature",
            });
        }
        self.sequence = self.sequence.wrapping_add(1);
        let length = message.len();
        plain.truncate(length);
        Ok(plain)
    }
}

/// Keys stay out of what is printed.
macro_rules! opaque {
    ($name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("encrypts", &self.cipher.is_some())
                    .field("sequence", &self.sequence)
                    .finish_non_exhaustive()
            }
        }
    };
}
opaque!(Sealer);
opaque!(Opener);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A client's sealer and the opener that a server would have against it.
    fn pair(encrypted: bool) -> (Sealer, Opener) {
        let keys = SealKeys::derive([7; 16], "client-to-server");
        (Sealer::new(&keys, encrypted), Opener::new(&keys, encrypted))
    }

    #[test]
    fn parity_is_odd_and_bits_keep_their_order() {
        assert_eq!(with_parity([0; 7]), [1; 8]);
        assert_eq!(with_parity([0xff; 7]), [0xfe; 8]);
        assert_eq!(
            with_parity([0x80, 0, 0, 0, 0, 0, 1]),
            [0x80, 1, 1, 1, 1, 1, 1, 2]
        );
    }

    #[test]
    fn a_changed_repeated_or_missing_message_is_refused() {
        for encrypted in [false, true] {
            let (mut sealer, mut opener) = pair(encrypted);
            let first = sealer.seal(b"first").unwrap();
            let second = sealer.seal(b"second").unwrap();
            assert_eq!(
                opener.open(&second).unwrap_err(),
                SaslError::Sequence {
                    wanted: 0,
                    found: 1
                }
            );
            assert_eq!(opener.open(&first).unwrap(), b"first");
            assert!(matches!(
                opener.open(&first),
                Err(SaslError::Sequence { .. })
            ));
            let mut changed = second;
            changed[0] ^= 1;
            assert!(matches!(
                opener.open(&changed),
                Err(SaslError::Sealed { .. })
            ));
        }
    }

    proptest! {
        #[test]
        fn round_trips_in_order(
            encrypted: bool,
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 1..6),
        ) {
            let (mut sealer, mut opener) = pair(encrypted);
            for message in messages {
                let blob = sealer.seal(&message).unwrap();
                prop_assert_eq!(opener.open(&blob).unwrap(), message);
            }
        }

        #[test]
        fn random_bytes_never_panic(
            encrypted: bool,
            mut blob in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let (_, mut opener) = pair(encrypted);
            if blob.len() % 2 == 0 {
                blob.extend([0, 1, 0, 0, 0, 0]);
            }
            prop_assert!(opener.open(&blob).is_err());
        }
    }
}
