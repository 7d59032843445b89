//! What a job of a session waits for, in sentences.

use policy::counted;
use policy::lending::Waits;

/// Jobs that a sentence names.
const NAMED: usize = 3;

/// Why a job has no slots yet. `joining`: containers that the session does not have yet.
#[must_use]
pub fn waits_for_slots(waits: &Waits, joining: u32) -> String {
    let Waits {
        wanted,
        unit,
        free,
        all,
        short,
        holders,
        ahead,
    } = waits;
    let plural = |count: u32, of: &str| match count {
        1 => format!("1 {of}"),
        _ => format!("{count} {of}s"),
    };
    let mut parts = vec![format!("{free} free")];
    if let Some(short) = short {
        parts.push(format!(
            "a task takes {}, of which {} of {} are free",
            counted(&short.need.name, short.need.count),
            short.free,
            short.of
        ));
    }
    let holders_named = holders.iter().take(NAMED);
    parts.extend(holders_named.map(|(job, slots)| format!("job {job} holds {slots}")));
    if let Some(more) = holders.len().checked_sub(NAMED).filter(|more| *more > 0) {
        parts.push(format!("{more} more jobs hold others"));
    }
    if *ahead > 0 {
        parts.push(format!("{} came earlier", plural(*ahead, "job")));
    }
    if all < wanted {
        parts.push(match joining {
            0 => format!("there are {all} at all"),
            _ => format!(
                "{all} are there, and {} of the session {} still to come",
                plural(joining, "container"),
                if joining == 1 { "is" } else { "are" }
            ),
        });
    }
    format!(
        "waits for {} of {}: {}",
        plural(*wanted, "slot"),
        unit.memory,
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use policy::Resources;
    use policy::elements::ElementNeed;
    use policy::lending::ShortElement;

    use super::*;

    #[test]
    fn who_has_the_slots_is_named() {
        let waits = Waits {
            wanted: 4,
            unit: Resources::new(2048, 1),
            free: 3,
            all: 8,
            short: None,
            holders: vec![(5, 2)].into(),
            ahead: 0,
        };
        assert_eq!(
            waits_for_slots(&waits, 0),
            "waits for 4 slots of 2048 MiB: 3 free, job 5 holds 2"
        );
        let waits = Waits {
            wanted: 1,
            free: 0,
            all: 0,
            short: Some(ShortElement {
                need: ElementNeed::one("acc/kmeans-map"),
                free: 0,
                of: 4,
            }),
            holders: Vec::new().into(),
            ahead: 1,
            ..waits
        };
        assert_eq!(
            waits_for_slots(&waits, 2),
            "waits for 1 slot of 2048 MiB: 0 free, a task takes 1 acc/kmeans-map, of which 0 of 4 are free, 1 job came earlier, 0 are there, and 2 containers \
             of the session are still to come"
        );
    }
}
