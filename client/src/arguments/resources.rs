//! Countable resource types of a process, as they are written on the command line.

use std::collections::BTreeSet;

use policy::{GPU, MOST_RESOURCE_TYPES};
use proto_hadoop::yarn::{MEMORY, VCORES};

use crate::usage::UsageError;

/// `acc/kmeans-map=2`.
pub(super) fn resource(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text
        .rsplit_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("{text} names no resource and number; write NAME=N"))?;
    let instead = match name {
        MEMORY => Some("--mem-per-proc"),
        VCORES => Some("--vcores-per-proc"),
        GPU => Some("-gpus-per-proc, which also tells each process which are its own"),
        _ => None,
    };
    if let Some(option) = instead {
        return Err(format!("for {name} write {option}"));
    }
    match number.parse() {
        Ok(number @ 1..) if i64::try_from(number).is_ok() => Ok((name.to_owned(), number)),
        Ok(_) | Err(_) => Err(format!(
            "{number} is no number of {name}; write one from 1 to {}",
            i64::MAX
        )),
    }
}

/// Those of a process, each type once.
///
/// # Errors
/// A type stands there twice, or there are too many.
pub(crate) fn of_a_process(given: Vec<(String, u64)>) -> Result<Vec<(String, u64)>, UsageError> {
    // One place is kept for GPUs.
    let most = MOST_RESOURCE_TYPES.saturating_sub(1);
    let mut seen = BTreeSet::new();
    if let Some((twice, _)) = given.iter().find(|(name, _)| !seen.insert(name)) {
        return Err(UsageError::ResourceTwice {
            name: twice.clone(),
        });
    }
    match given.len() > most {
        true => Err(UsageError::ResourceTypes {
            count: given.len(),
            most,
        }),
        false => Ok(given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_a_name_and_a_number() {
        assert_eq!(resource("acc/map=2"), Ok(("acc/map".into(), 2)));
        assert_eq!(resource("a=b=2"), Ok(("a=b".into(), 2)));
        for bad in [
            "acc/map",
            "=2",
            "a=0",
            "a=-1",
            "a=x",
            "a=9999999999999999999",
        ] {
            assert!(resource(bad).is_err(), "{bad}");
        }
        for (own, option) in [("memory-mb", "--mem"), ("vcores", "--vc"), (GPU, "-gpus")] {
            let said = resource(&format!("{own}=1")).unwrap_err();
            assert!(said.contains(option), "{said}");
        }
    }

    #[test]
    fn each_type_stands_there_once() {
        let types = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect();
        assert!(of_a_process(types(&["a", "b"])).is_ok());
        assert!(
            of_a_process(types(&["a", "b", "a"]))
                .unwrap_err()
                .to_string()
                .contains("a twice")
        );
        let many: Vec<(String, u64)> = (0..8).map(|n| (n.to_string(), 1)).collect();
        assert!(
            of_a_process(many)
                .unwrap_err()
                .to_string()
                .contains("may want 7")
        );
    }
}
