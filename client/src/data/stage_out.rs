//! `--stage-out`: where results are to lie, and whether they can.

use job::StageOut;
use storage::{Storage, StorageError, parent};

use super::{DataError, Located, PERCENT, failed};

const OPTION: &str = "--stage-out";

/// A result, `%h` and `%p` in its address being known.
pub(super) fn pattern(name: &str, located: Located) -> Result<StageOut, DataError> {
    let path = located.path.replace(PERCENT, "%");
    let mut rest = path.as_str();
    while let Some((_, after)) = rest.split_once('%') {
        let Some(after) = after.strip_prefix(['h', 'p', '%']) else {
            let name = name.to_owned();
            return Err(DataError::BadPattern { name, path });
        };
        rest = after;
    }
    Ok(StageOut {
        local: name.to_owned(),
        address: located.address,
        path,
        option: OPTION.to_owned(),
    })
}

/// Whether the results could be made now.
///
/// # Errors
/// Something has a result's name already, or the file system does not answer.
pub(crate) async fn check(outs: &[StageOut]) -> Result<(), DataError> {
    // The names alone, before any of them is made.
    for (index, out) in outs.iter().enumerate() {
        if let Some(other) = outs[..index].iter().find(|other| collide(other, out)) {
            return Err(DataError::Collision {
                first: other.local.clone(),
                second: out.local.clone(),
                url: out.address.url(&out.path),
            });
        }
    }
    for out in outs {
        let storage = Storage::open(&out.address).map_err(|error| failed(OPTION, error))?;
        // Names that differ from node to node are known at the end.
        let fixed = !out.path.contains('%');
        let there = match fixed {
            true => storage
                .stat(&out.path)
                .await
                .map_err(|error| failed(OPTION, error))?,
            false => None,
        };
        if there.is_some() {
            return Err(DataError::ResultExists {
                url: out.address.url(&out.path),
            });
        }
        let until = out.path.find('%').unwrap_or(out.path.len());
        let folder = parent(&out.path[..until]);
        let made = storage.make_folder(folder).await;
        made.map_err(|error| match error {
            StorageError::Exists { url: file } => DataError::InAFile {
                file,
                url: out.address.url(&out.path),
            },
            other => failed(OPTION, other),
        })?;
    }
    Ok(())
}

fn collide(one: &StageOut, other: &StageOut) -> bool {
    let inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    one.address == other.address
        && (inside(&one.path, &other.path) || inside(&other.path, &one.path))
}

#[cfg(test)]
mod tests {
    use storage::Address;

    use super::*;

    fn out(path: &str) -> Result<StageOut, DataError> {
        let located = Located {
            address: Address::Shared,
            path: path.replace('%', PERCENT),
        };
        pattern("out", located)
    }

    #[test]
    fn a_node_has_a_host_and_a_number() {
        assert_eq!(out("/d/%h/%p").unwrap().path, "/d/%h/%p");
        assert_eq!(out("/d/e%%20f/%h").unwrap().path, "/d/e%%20f/%h");
        assert!(out("/d/%r").is_err() && out("/d/%%%").is_err() && out("/d/%").is_err());
    }

    #[tokio::test]
    async fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        let checked = async |paths: &[&str]| {
            let outs: Vec<_> = paths
                .iter()
                .map(|path| out(&format!("{top}/{path}")).unwrap())
                .collect();
            check(&outs).await.map_err(|failure| failure.to_string())
        };
        std::fs::create_dir(folder.path().join("there")).unwrap();
        checked(&["a/b", "a/c", "x%p"]).await.unwrap();
        assert!(
            checked(&["there"])
                .await
                .unwrap_err()
                .contains("exists already")
        );
        assert!(
            checked(&["a", "a/b"])
                .await
                .unwrap_err()
                .contains("one lie in the other")
        );
        assert!(checked(&["a", "a"]).await.is_err());
    }
}
