//! How equal two outputs are, part file by part file.

use std::collections::BTreeMap;

use it::mapreduce::Files;

/// From the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Equality {
    Different,
    /// Each part file has the same lines, in another order.
    Lines,
    /// Keys are the same in the same order, and each has the same values.
    Values,
    Bytes,
}

impl Equality {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Lines => "the same lines, in another order where keys are held for equal",
            Self::Values => "equal up to the order of a key's values",
            Self::Bytes => "equal",
        }
    }
}

/// The least of all part files, and what differs first.
pub(crate) fn files(hadoop: &Files, gerbil: &Files) -> (Equality, String) {
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    if names(hadoop) != names(gerbil) {
        let why = format!("files {:?} and {:?}", names(hadoop), names(gerbil));
        return (Equality::Different, why);
    }
    let mut least = (Equality::Bytes, String::new());
    for (name, one) in hadoop {
        let other = gerbil.get(name).map(Vec::as_slice).unwrap_or_default();
        let found = part(one, other);
        if found < least.0 {
            let (one, other) = (lines(one), lines(other));
            let at = one.iter().zip(&other).position(|(a, b)| a != b);
            let at = at.unwrap_or(one.len().min(other.len()));
            let shown = |lines: &[&[u8]]| {
                let line = lines.get(at).copied().unwrap_or_default();
                String::from_utf8_lossy(line).into_owned()
            };
            let why = format!(
                "{name}, line {}: {:?} and {:?}",
                at + 1,
                shown(&one),
                shown(&other)
            );
            least = (found, why);
        }
    }
    least
}

fn lines(part: &[u8]) -> Vec<&[u8]> {
    part.split_inclusive(|byte| *byte == b'\n').collect()
}

fn part(hadoop: &[u8], gerbil: &[u8]) -> Equality {
    if hadoop == gerbil {
        return Equality::Bytes;
    }
    let key = |line: &[u8]| line.split(|byte| *byte == b'\t').next().map(<[u8]>::to_vec);
    let keys = |part: &[u8]| {
        let mut keys: Vec<_> = lines(part).into_iter().map(key).collect();
        keys.dedup();
        keys
    };
    let counted = |part: &[u8]| {
        let mut counted: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for line in lines(part) {
            *counted.entry(line.to_vec()).or_default() += 1;
        }
        counted
    };
    match (
        counted(hadoop) == counted(gerbil),
        keys(hadoop) == keys(gerbil),
    ) {
        (true, true) => Equality::Values,
        (true, false) => Equality::Lines,
        (false, _) => Equality::Different,
    }
}

#[cfg(test)]
mod tests {
    use super::{Equality, part};

    #[test]
    fn parts_are_as_equal_as_they_are() {
        for (one, other, wanted) in [
            ("a\t1\n", "a\t1\n", Equality::Bytes),
            ("a\t1\na\t2\nb\t3\n", "a\t2\na\t1\nb\t3\n", Equality::Values),
            ("a\t1\nb\t3\n", "b\t3\na\t1\n", Equality::Lines),
            ("a\t1\n", "a\t1\na\t1\n", Equality::Different),
            ("a\t1\n", "a\t1", Equality::Different),
        ] {
            assert_eq!(
                part(one.as_bytes(), other.as_bytes()),
                wanted,
                "{one:?} {other:?}"
            );
        }
    }
}
