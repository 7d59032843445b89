//! How a packet went.

use crate::packet::Field;
use crate::work::MOST_STEPS;
use std::fmt;

/// How a packet went, as the control page tells its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The result is there.
    Done,
    /// The packet is not one: this field is wrong.
    Bad(Field),
    /// The header is right, but its data is not: a cluster or term that does not exist, a list that
    /// ends beyond the data.
    Data,
    /// The model that it names is not loaded: it never was, or the board was reset, or others' models
    /// took its place.  Load it again.
    NoModel,
    /// The board lost it, and its lease is over.
    Lost,
    /// It asks for more work than one packet may ([`crate::work`]): so many million steps.
    TooMuchWork(u32),
    /// A status that this build does not know.
    Unknown(u32),
}

impl Status {
    /// The two words of the control page: status, and offset of the field or millions of steps.
    pub fn words(self) -> (u32, u32) {
        match self {
            Self::Done => (0, 0),
            Self::Bad(field) => (1, field.offset().into()),
            Self::Data => (2, 0),
            Self::NoModel => (3, Field::Model.offset().into()),
            Self::Lost => (4, 0),
            Self::TooMuchWork(millions) => (5, millions),
            Self::Unknown(status) => (status, 0),
        }
    }

    /// What the two words say.
    pub fn of(status: u32, field: u32) -> Self {
        match status {
            0 => Self::Done,
            1 => u16::try_from(field)
                .ok()
                .and_then(Field::at)
                .map_or(Self::Unknown(1), Self::Bad),
            2 => Self::Data,
            3 => Self::NoModel,
            4 => Self::Lost,
            5 => Self::TooMuchWork(field),
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Bad(field) => write!(f, "not a packet: its {field} is wrong"),
            Self::Data => f.write_str(
                "its data names a cluster or term that does not exist, or ends too early",
            ),
            Self::NoModel => f.write_str("the model that it names is not loaded: load it again"),
            Self::Lost => f.write_str("lost by the board, and its lease is over"),
            Self::TooMuchWork(millions) => write!(
                f,
                "it asks for {millions} million steps (centroids x vectors x dimension, or documents and terms x classes), and one packet may ask for at most {MOST_STEPS}: send fewer pairs in each packet"
            ),
            Self::Unknown(status) => write!(f, "status {status}, of another version"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_both_ways() {
        let mut all = vec![
            Status::Done,
            Status::Data,
            Status::NoModel,
            Status::Lost,
            Status::TooMuchWork(8590),
            Status::Unknown(77),
        ];
        all.extend(Field::ALL.map(Status::Bad));
        for status in all {
            let (word, field) = status.words();
            assert_eq!(Status::of(word, field), status);
        }
        assert_eq!(Status::of(1, 3), Status::Unknown(1));
    }
}
