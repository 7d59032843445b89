//! The header of a packet: 128 bytes, little-endian.
//!
//! Source: Li et al., "HeteroYARN: A Heterogeneous FPGA-Accelerated Architecture Based on YARN",
//! TPDS 2020, Figure 6 and §4.3.1.  Fields marked P are the paper's; the others are ours.
//!
//! ```text
//!      0       1       2       3       4       5       6       7
//!    ┌───────────────────────────────┬───────────────┬───────────────┐
//!   0│ magic "HAPK"                  │ version       │ function      │
//!    ├───────────────────────────────┴───────────────┴───────────────┤
//!   8│ sequence: number of the packet in its lease, from 0           │
//!    ├───────────────────────────────────────────────────────────────┤
//!  16│ data address                                                P │
//!  24│ data length, bytes                                          P │
//!  32│ result address                                              P │
//!  40│ result capacity, bytes                                        │
//!    ├───────────────────────────────┬───────────────────────────────┤
//!  48│ centroids                   P │ centroid offset             P │
//!  56│ pairs                       P │ pair offset                 P │
//!    ├───────────────┬───────┬───────┼───────┬───────┬───────────────┤
//!  64│ dimension   P │ bytes │ type: │ type: │ type: │ flags         │
//!    │               │ each P│ cent.P│ key  P│ value P│              │
//!    ├───────────────┴───────┴───────┴───────┴───────┴───────────────┤
//!  72│ model: 0, or the name of a loaded table                       │
//!    ├───────────────────────────────┬───────────────────────────────┤
//!  80│ CRC-32C of the data           │ zero                          │
//!  88│ zero …                                                        │
//! 120│ zero                          │ CRC-32C of bytes 0 to 123     │
//!    └───────────────────────────────┴───────────────────────────────┘
//! ```
//!
//! Addresses are offsets into the lease's memory when a client writes them, and addresses of the card's
//! bus when the driver hands the header on.  Offsets of centroids and pairs count from the start of the
//! data.  A result has no header, as in the paper.

use std::fmt;

/// Bytes of a header.
pub const HEADER_LENGTH: usize = 128;
/// The first four bytes of every header.
pub const MAGIC: [u8; 4] = *b"HAPK";
/// The layout drawn above.
pub const VERSION: u16 = 1;

/// Flag: the data is a table to keep under the packet's model, and there is no result.
pub const LOAD: u16 = 1;
/// Flag: the card combines what belongs to one centroid before it answers.
pub const COMBINE: u16 = 2;

/// Types of centroids, keys and values, as the header's one byte says them.
pub mod types {
    /// There are none in the packet.
    pub const NONE: u8 = 0;
    /// Unsigned, 32 bits.
    pub const U32: u8 = 1;
    /// Unsigned, 64 bits.
    pub const U64: u8 = 2;
    /// IEEE 754, 32 bits.
    pub const F32: u8 = 3;
    /// Fixed point, 22 bits after the point, in 32 bits.
    pub const Q1_22: u8 = 4;
    /// Signed, 64 bits.
    pub const I64: u8 = 5;
    /// Fixed point, 24 bits after the point, in 32 bits.
    pub const Q8_24: u8 = 6;
}

/// A field of the header, by its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
#[expect(missing_docs, reason = "the names say it, and the drawing the rest")]
pub enum Field {
    Magic = 0,
    Version = 4,
    Function = 6,
    Sequence = 8,
    DataAddress = 16,
    DataLength = 24,
    ResultAddress = 32,
    ResultCapacity = 40,
    Centroids = 48,
    CentroidOffset = 52,
    Pairs = 56,
    PairOffset = 60,
    Dimension = 64,
    BytesPerDimension = 66,
    CentroidType = 67,
    KeyType = 68,
    ValueType = 69,
    Flags = 70,
    Model = 72,
    DataCrc = 80,
    Zero = 84,
    HeaderCrc = 124,
}

impl Field {
    /// All fields, in the order of the header.
    pub const ALL: [Self; 22] = [
        Self::Magic,
        Self::Version,
        Self::Function,
        Self::Sequence,
        Self::DataAddress,
        Self::DataLength,
        Self::ResultAddress,
        Self::ResultCapacity,
        Self::Centroids,
        Self::CentroidOffset,
        Self::Pairs,
        Self::PairOffset,
        Self::Dimension,
        Self::BytesPerDimension,
        Self::CentroidType,
        Self::KeyType,
        Self::ValueType,
        Self::Flags,
        Self::Model,
        Self::DataCrc,
        Self::Zero,
        Self::HeaderCrc,
    ];

    /// The field's place in the header, bytes.
    pub fn offset(self) -> u16 {
        self as u16
    }

    /// The field that begins at this offset.
    pub fn at(offset: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.offset() == offset)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Magic => "magic",
            Self::Version => "version",
            Self::Function => "function",
            Self::Sequence => "sequence",
            Self::DataAddress => "data address",
            Self::DataLength => "data length",
            Self::ResultAddress => "result address",
            Self::ResultCapacity => "result capacity",
            Self::Centroids => "centroids",
            Self::CentroidOffset => "centroid offset",
            Self::Pairs => "pairs",
            Self::PairOffset => "pair offset",
            Self::Dimension => "dimension",
            Self::BytesPerDimension => "bytes per dimension",
            Self::CentroidType => "type of centroid",
            Self::KeyType => "type of key",
            Self::ValueType => "type of value",
            Self::Flags => "flags",
            Self::Model => "model",
            Self::DataCrc => "CRC of the data",
            Self::Zero => "bytes that must be zero",
            Self::HeaderCrc => "CRC of the header",
        };
        write!(f, "{name} (byte {})", self.offset())
    }
}

/// A header, decoded.  The drawing says what the fields mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of the drawing")]
pub struct Header {
    pub function: u16,
    pub sequence: u64,
    pub data_address: u64,
    pub data_length: u64,
    pub result_address: u64,
    pub result_capacity: u64,
    pub centroids: u32,
    pub centroid_offset: u32,
    pub pairs: u32,
    pub pair_offset: u32,
    pub dimension: u16,
    pub bytes_per_dimension: u8,
    pub centroid_type: u8,
    pub key_type: u8,
    pub value_type: u8,
    pub flags: u16,
    pub model: u64,
    pub data_crc: u32,
}

impl Header {
    /// The header as it travels, its own CRC included.
    pub fn encode(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        let mut put = |field: Field, value: &[u8]| {
            let at = usize::from(field.offset());
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        put(Field::Magic, &MAGIC);
        put(Field::Version, &VERSION.to_le_bytes());
        put(Field::Function, &self.function.to_le_bytes());
        put(Field::Sequence, &self.sequence.to_le_bytes());
        put(Field::DataAddress, &self.data_address.to_le_bytes());
        put(Field::DataLength, &self.data_length.to_le_bytes());
        put(Field::ResultAddress, &self.result_address.to_le_bytes());
        put(Field::ResultCapacity, &self.result_capacity.to_le_bytes());
        put(Field::Centroids, &self.centroids.to_le_bytes());
        put(Field::CentroidOffset, &self.centroid_offset.to_le_bytes());
        put(Field::Pairs, &self.pairs.to_le_bytes());
        put(Field::PairOffset, &self.pair_offset.to_le_bytes());
        put(Field::Dimension, &self.dimension.to_le_bytes());
        put(Field::BytesPerDimension, &[self.bytes_per_dimension]);
        put(Field::CentroidType, &[self.centroid_type]);
        put(Field::KeyType, &[self.key_type]);
        put(Field::ValueType, &[self.value_type]);
        put(Field::Flags, &self.flags.to_le_bytes());
        put(Field::Model, &self.model.to_le_bytes());
        put(Field::DataCrc, &self.data_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..HEADER_LENGTH - 4]);
        bytes[HEADER_LENGTH - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header whose magic, version, zeros and CRC are right; what its fields say is
    /// [`crate::function::shape`]'s to judge.
    ///
    /// # Errors
    ///
    /// The first field that is wrong: a stranger's bytes are known by their magic, damage by the CRC.
    pub fn decode(bytes: &[u8; HEADER_LENGTH]) -> Result<Self, Field> {
        if bytes[..4] != MAGIC {
            return Err(Field::Magic);
        }
        let crc = crc32c::crc32c(&bytes[..HEADER_LENGTH - 4]);
        if u32_at(bytes, Field::HeaderCrc) != crc {
            return Err(Field::HeaderCrc);
        }
        if u16_at(bytes, Field::Version) != VERSION {
            return Err(Field::Version);
        }
        let zeros = usize::from(Field::Zero.offset())..HEADER_LENGTH - 4;
        if bytes[zeros].iter().any(|&byte| byte != 0) {
            return Err(Field::Zero);
        }
        let byte = |field: Field| bytes[usize::from(field.offset())];
        Ok(Self {
            function: u16_at(bytes, Field::Function),
            sequence: u64_at(bytes, Field::Sequence),
            data_address: u64_at(bytes, Field::DataAddress),
            data_length: u64_at(bytes, Field::DataLength),
            result_address: u64_at(bytes, Field::ResultAddress),
            result_capacity: u64_at(bytes, Field::ResultCapacity),
            centroids: u32_at(bytes, Field::Centroids),
            centroid_offset: u32_at(bytes, Field::CentroidOffset),
            pairs: u32_at(bytes, Field::Pairs),
            pair_offset: u32_at(bytes, Field::PairOffset),
            dimension: u16_at(bytes, Field::Dimension),
            bytes_per_dimension: byte(Field::BytesPerDimension),
            centroid_type: byte(Field::CentroidType),
            key_type: byte(Field::KeyType),
            value_type: byte(Field::ValueType),
            flags: u16_at(bytes, Field::Flags),
            model: u64_at(bytes, Field::Model),
            data_crc: u32_at(bytes, Field::DataCrc),
        })
    }
}

fn at<const N: usize>(bytes: &[u8; HEADER_LENGTH], field: Field) -> [u8; N] {
    let start = usize::from(field.offset());
    std::array::from_fn(|i| bytes[start + i])
}

fn u16_at(bytes: &[u8; HEADER_LENGTH], field: Field) -> u16 {
    u16::from_le_bytes(at(bytes, field))
}

fn u32_at(bytes: &[u8; HEADER_LENGTH], field: Field) -> u32 {
    u32::from_le_bytes(at(bytes, field))
}

fn u64_at(bytes: &[u8; HEADER_LENGTH], field: Field) -> u64 {
    u64::from_le_bytes(at(bytes, field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Header {
        Header {
            function: 2,
            sequence: 7,
            data_address: 0x0010_1000,
            data_length: 8192 + 3 * 516,
            result_address: 0x0090_1000,
            result_capacity: 1 << 20,
            centroids: 16,
            centroid_offset: 0,
            pairs: 3,
            pair_offset: 8192,
            dimension: 128,
            bytes_per_dimension: 4,
            centroid_type: types::Q1_22,
            key_type: types::U32,
            value_type: types::Q1_22,
            flags: COMBINE,
            model: 0,
            data_crc: 0xdead_beef,
        }
    }

    #[test]
    fn a_header_has_these_bytes() {
        let bytes = sample().encode();
        assert_eq!(&bytes[..8], b"HAPK\x01\0\x02\0");
        assert_eq!(bytes[8..16], 7u64.to_le_bytes());
        assert_eq!(bytes[24..32], 9740u64.to_le_bytes());
        assert_eq!(
            bytes[48..64],
            [16, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 32, 0, 0]
        );
        assert_eq!(bytes[64..72], [128, 0, 4, 4, 1, 4, 2, 0]);
        assert_eq!(bytes[80..84], [0xef, 0xbe, 0xad, 0xde]);
        assert!(bytes[84..124].iter().all(|&byte| byte == 0));
        assert_eq!(
            crc32c::crc32c(b"123456789"),
            0xe306_9283,
            "CRC-32C's check value"
        );
        assert_eq!(Header::decode(&bytes), Ok(sample()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let sealed = |change: &dyn Fn(&mut [u8; HEADER_LENGTH])| {
            let mut bytes = sample().encode();
            change(&mut bytes);
            let crc = crc32c::crc32c(&bytes[..124]);
            bytes[124..].copy_from_slice(&crc.to_le_bytes());
            Header::decode(&bytes)
        };
        assert_eq!(sealed(&|bytes| bytes[0] = b'h'), Err(Field::Magic));
        assert_eq!(sealed(&|bytes| bytes[4] = 2), Err(Field::Version));
        assert_eq!(sealed(&|bytes| bytes[100] = 1), Err(Field::Zero));
        let mut bytes = sample().encode();
        bytes[64] ^= 1;
        assert_eq!(Header::decode(&bytes), Err(Field::HeaderCrc));
    }

    #[test]
    fn fields_are_known_by_their_offset() {
        for field in Field::ALL {
            assert_eq!(Field::at(field.offset()), Some(field));
        }
        assert_eq!(Field::at(1), None);
        assert_eq!(Field::Dimension.to_string(), "dimension (byte 64)");
    }

    proptest! {
        #[test]
        fn any_bit_flipped_is_noticed(bit in 0usize..HEADER_LENGTH * 8) {
            let mut bytes = sample().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::decode(&bytes).is_err());
        }

        #[test]
        fn strangers_are_turned_away(bytes in proptest::collection::vec(any::<u8>(), HEADER_LENGTH)) {
            let bytes: [u8; HEADER_LENGTH] = bytes.try_into().unwrap();
            prop_assert!(Header::decode(&bytes).is_err());
        }
    }
}
