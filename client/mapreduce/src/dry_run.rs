//! What a job would be, in words, without running it.

use std::collections::BTreeSet;

use job::Split;

use crate::order::JobOrder;

/// Its splits, tasks and sums.
#[must_use]
pub fn words(order: &JobOrder) -> Vec<String> {
    let job = &order.job;
    let lengths: Vec<u64> = job.splits.iter().map(length).collect();
    let bytes = lengths.iter().copied().fold(0, u64::saturating_add);
    let mut lines = vec![format!(
        "{}: {} over {}, {}",
        order.name,
        count(job.splits.len(), "map"),
        megabytes(bytes),
        count(usize::try_from(job.reduces).unwrap_or(usize::MAX), "reduce")
    )];
    let files = job.splits.iter().flat_map(|split| &split.files);
    let files: BTreeSet<_> = sort::set(files.map(|file| (file.address, &file.path)));
    if !files.is_empty() {
        let (least, most) = (lengths.iter().min(), lengths.iter().max());
        let hosts: BTreeSet<&String> = sort::set(job.splits.iter().flat_map(|split| &split.hosts));
        let near = job.splits.iter().filter(|split| !split.hosts.is_empty());
        lines.push(format!(
            "splits: {} to {}, of {}; {} of them near blocks, on {}",
            megabytes(least.copied().unwrap_or_default()),
            megabytes(most.copied().unwrap_or_default()),
            count(files.len(), "file"),
            near.count(),
            count(hosts.len(), "host"),
        ));
    }
    lines.extend(order.mappers.iter().cloned());
    lines.push(match &order.overwrite {
        None => format!("output: {}", order.output.url()),
        Some(_) => format!(
            "output: {}, which is there, and goes to the trash when the new one is complete",
            order.output.url()
        ),
    });
    if job.reduces > 0 && !files.is_empty() {
        // Once where maps left it and once where reduces gather it.
        lines.push(format!(
            "local disk: {} in all, and up to {} where one reduce gathers, if the maps write as much as they read, \
             without compression",
            megabytes(bytes.saturating_mul(2)),
            megabytes(bytes.div_ceil(job.reduces.into())),
        ));
    }
    let [map, reduce] = [&job.map, &job.reduce].map(|terms| {
        let attempts = usize::try_from(terms.attempts).unwrap_or(usize::MAX);
        count(attempts, "attempt")
    });
    lines.push(match job.reduces == 0 || map == reduce {
        true => format!("{map} of a task at the most"),
        false => format!("{map} of a map and {reduce} of a reduce at the most"),
    });
    lines.extend(order.notes.iter().cloned());
    lines
}

fn length(split: &Split) -> u64 {
    let pieces = split.pieces.iter().map(|piece| piece.length);
    pieces.fold(0, u64::saturating_add)
}

/// With a tenth, as long as that says something.
fn megabytes(bytes: u64) -> String {
    match bytes {
        0 => "0 MB".to_owned(),
        bytes if bytes < 10_000_000 => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
        bytes => format!("{} MB", bytes / 1_000_000),
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::brought::BroughtFiles;

    use gerbil_task::Piece;
    use job::{BlockPlaces, FileAt, MapReduceJob, MpiProgram, StageTerms};
    use policy::Resources;
    use storage::Address;

    use super::*;
    use crate::places::Location;

    fn split(file: &str, length: u64, hosts: &[&str]) -> Split {
        Split {
            pieces: vec![Piece {
                name: file.to_owned(),
                offset: 0,
                length,
                size: length,
            }],
            files: vec![FileAt {
                address: 0,
                path: file.to_owned(),
                modified_ms: 0,
            }],
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            blocks: Vec::new(),
        }
    }

    fn terms(attempts: u32) -> StageTerms {
        StageTerms {
            unit: Resources::new(0, 1),
            needs: Vec::new(),
            attempts,
            speculative: true,
        }
    }

    #[test]
    fn a_job_is_told_with_its_sums() {
        let order = JobOrder {
            starts: 2,
            name: "sort".into(),
            brought: BroughtFiles::default(),
            priority: None,
            queue: None,
            job: MapReduceJob {
                program: MpiProgram::default(),
                plan: String::new(),
                job: "sort".into(),
                settings: BTreeMap::new(),
                params: serde_json::Value::Null,
                addresses: vec![Address::Shared],
                output: FileAt::default(),
                map: terms(4),
                reduce: terms(2),
                node_failures: 3,
                skip_max: 0,
                skip_groups: 0,
                explain: false,
                wait_for_nodes: false,
                output_is_new: false,
                block_places: BlockPlaces::default(),
                splits: vec![
                    split("/a", 64_000_000, &["n1", "n2"]),
                    split("/a", 2_500_000, &["n1"]),
                    split("/b", 0, &[]),
                ],
                reduces: 2,
                history: None,
            },
            output: Location {
                address: Address::Shared,
                path: "/out".into(),
            },
            overwrite: None,
            needs: Vec::new(),
            mappers: vec!["maps 0 to 2: Users reads /a".into()],
            notes: vec!["a note".into()],
        };
        let wanted = [
            "sort: 3 maps over 66 MB, 2 reduces",
            "splits: 0 MB to 64 MB, of 2 files; 2 of them near blocks, on 2 hosts",
            "maps 0 to 2: Users reads /a",
            "output: file:/out",
            "local disk: 133 MB in all, and up to 33 MB where one reduce gathers, if the maps write as much as they \
             read, without compression",
            "4 attempts of a map and 2 attempts of a reduce at the most",
            "a note",
        ];
        assert_eq!(words(&order), wanted);
    }
}
