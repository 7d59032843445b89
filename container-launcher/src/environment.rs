//! The environment of a rank: the container's own, what the job adds, and what PMI needs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use job::wire::Share;

use crate::seat::FILE_VARIABLE;
use crate::sweep::MARK_VARIABLE;

/// Another process manager's variables would lead MPI astray.
const OTHER_MANAGERS: [&str; 2] = ["PMI_", "PMIX_"];
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// What all ranks of a share have in common.
pub(crate) fn common(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    share: &Share,
    container: &str,
    folder: &Path,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = inherited
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            // The credentials hold the keys of the job.
            name != FILE_VARIABLE && !OTHER_MANAGERS.iter().any(|other| name.starts_with(other))
        })
        .collect();
    for pair in &share.environment {
        environment.insert(pair.key.clone().into(), pair.value.clone().into());
    }
    if !share.library_folder.is_empty() {
        let mut path = folder.join(&share.library_folder).into_os_string();
        if let Some(old) = environment.get(OsStr::new(LIBRARY_PATH))
            && !old.is_empty()
        {
            path.push(":");
            path.push(old);
        }
        environment.insert(LIBRARY_PATH.into(), path);
    }
    let ranks = share.ranks.len().to_string();
    for (name, value) in [
        (MARK_VARIABLE, container),
        ("PMI_SIZE", &share.size.to_string()),
        ("PMI_SPAWNED", "0"),
        ("MPI_LOCALNRANKS", &ranks),
    ] {
        environment.insert(name.into(), value.into());
    }
    environment
}

#[cfg(test)]
mod tests {
    use job::wire::KeyValue;

    use super::*;

    #[test]
    fn ranks_get_what_they_need_and_no_secrets() {
        let share = Share {
            size: 8,
            ranks: vec![2, 3],
            environment: vec![KeyValue {
                key: "OMP_NUM_THREADS".to_owned(),
                value: "2".to_owned(),
            }],
            library_folder: "libs".to_owned(),
            ..Share::default()
        };
        let inherited = [
            ("HADOOP_TOKEN_FILE_LOCATION", "/secret"),
            ("PMIX_RANK", "0"),
            ("LD_LIBRARY_PATH", "/usr/lib/native"),
            ("PATH", "/bin"),
        ];
        let environment = common(
            inherited
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
            &share,
            "container_1_0001_01_000002",
            Path::new("/work"),
        );
        let expected: BTreeMap<OsString, OsString> = [
            ("CONTAINER_ID", "container_1_0001_01_000002"),
            ("LD_LIBRARY_PATH", "/work/libs:/usr/lib/native"),
            ("MPI_LOCALNRANKS", "2"),
            ("OMP_NUM_THREADS", "2"),
            ("PATH", "/bin"),
            ("PMI_SIZE", "8"),
            ("PMI_SPAWNED", "0"),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
        assert_eq!(environment, expected);
    }
}
