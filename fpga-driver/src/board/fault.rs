//! What a modelled card does wrong, on order.

use std::fmt;
use std::str::FromStr;

/// One thing that goes wrong with one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The interrupt of *sent* comes late.
    LateSent,
    /// The interrupt of *sent* never comes.
    LostSent,
    /// The interrupt of *result* comes late.
    LateResult,
    /// The interrupt of *result* never comes.
    LostResult,
    /// The result's length is one byte short.
    WrongLength,
    /// STATE says busy until the card is reset.
    Stuck,
    /// The card forgets everything.
    Reset,
    /// One bit of the data arrives wrong.
    FlipData,
    /// One bit of the result is written wrong.
    FlipResult,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 9] = [
        Self::LateSent,
        Self::LostSent,
        Self::LateResult,
        Self::LostResult,
        Self::WrongLength,
        Self::Stuck,
        Self::Reset,
        Self::FlipData,
        Self::FlipResult,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::LateSent => "late-sent",
            Self::LostSent => "lost-sent",
            Self::LateResult => "late-result",
            Self::LostResult => "lost-result",
            Self::WrongLength => "wrong-length",
            Self::Stuck => "stuck",
            Self::Reset => "reset",
            Self::FlipData => "flip-data",
            Self::FlipResult => "flip-result",
        }
    }
}

/// Which packets a fault befalls; packets count from 0 by their doorbells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultOrder {
    /// What goes wrong.
    pub fault: Fault,
    /// The first packet.
    pub at: u64,
    /// Every so many packets from there on; 0 for once.
    pub every: u64,
}

impl FaultOrder {
    /// Whether it befalls packet `n`.
    pub fn befalls(self, n: u64) -> bool {
        n == self.at || (self.every > 0 && n > self.at && (n - self.at).is_multiple_of(self.every))
    }
}

impl fmt::Display for FaultOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.fault.name(), self.at)?;
        if self.every > 0 {
            write!(f, "+{}", self.every)?;
        }
        Ok(())
    }
}

/// An order that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error(
    "{given:?} orders no fault: it is FAULT@PACKET or FAULT@PACKET+EVERY, as in lost-result@3 or stuck@0+5, with one of {names}",
    names = Fault::ALL.map(Fault::name).join(", ")
)]
pub struct UnknownFault {
    given: String,
}

impl FromStr for FaultOrder {
    type Err = UnknownFault;

    fn from_str(given: &str) -> Result<Self, UnknownFault> {
        let parsed = given.split_once('@').and_then(|(name, packets)| {
            let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name)?;
            let (at, every) = packets.split_once('+').unwrap_or((packets, "0"));
            Some(Self {
                fault,
                at: at.parse().ok()?,
                every: every.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| UnknownFault {
            given: given.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_kept() {
        let order: FaultOrder = "stuck@2+5".parse().unwrap();
        let hit: Vec<u64> = (0..15).filter(|&n| order.befalls(n)).collect();
        assert_eq!(hit, [2, 7, 12]);
        let once: FaultOrder = "lost-result@3".parse().unwrap();
        assert_eq!((0..99).filter(|&n| once.befalls(n)).count(), 1);
        for fault in Fault::ALL {
            let order = FaultOrder {
                fault,
                at: 1,
                every: 2,
            };
            assert_eq!(order.to_string().parse::<FaultOrder>().unwrap(), order);
        }
        assert!(
            "lost@3"
                .parse::<FaultOrder>()
                .unwrap_err()
                .to_string()
                .contains("late-sent")
        );
    }
}
