//! `--record`: the file in which a session writes down what is decided, and whether it can be made.

use storage::{Address, CreateOptions, Readers, StorageError};

use super::{DataError, Located, failed};
use crate::cluster::Cluster;

const OPTION: &str = "--record";

/// The file that `given` names; a session `on_this_machine` takes any path of it.
///
/// # Errors
///
/// It names no place that the nodes see.
pub(crate) fn locate(
    given: &str,
    on_this_machine: bool,
    cluster: &Cluster,
) -> Result<Located, DataError> {
    if !on_this_machine || given.starts_with("file:") {
        return super::locate(OPTION, given, cluster);
    }
    let absolute = std::path::absolute(given).map_err(|error| error.to_string());
    let path = absolute.and_then(|path| {
        let path = path.into_os_string().into_string();
        path.map_err(|_other| "its folder has a name that is no text".to_owned())
    });
    let path = path.map_err(|why| DataError::BadPlace {
        option: OPTION.to_owned(),
        url: given.to_owned(),
        why,
        exit: job::exit::Exit::Usage,
    })?;
    let address = Address::Shared;
    Ok(Located { address, path })
}

/// Makes it, and removes it again.
///
/// # Errors
///
/// Its folder is not there, something is there already, or it cannot be made.
pub(crate) async fn check(file: &Located) -> Result<(), DataError> {
    let storage = file.open(OPTION)?;
    let cannot = |error: StorageError| failed(OPTION, error);
    if storage.stat(&file.path).await.map_err(cannot)?.is_some() {
        return Err(DataError::RecordExists { url: file.url() });
    }
    let folder = file.folder();
    let there = storage.stat(&folder.path).await.map_err(cannot)?;
    if !there.is_some_and(|there| there.is_folder) {
        return Err(DataError::NoRecordFolder { url: folder.url() });
    }
    let options = CreateOptions {
        readers: Readers::ByMask,
        needs_folder: true,
        ..CreateOptions::default()
    };
    let made = storage.create(&file.path, options).await.map_err(cannot)?;
    let closed = made.close().await;
    let removed = storage.remove(&file.path).await;
    closed.map(drop).and(removed).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_record_has_a_new_file_in_a_folder_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| Located {
            address: Address::Shared,
            path: format!("{}/{name}", folder.path().display()),
        };
        check(&of("new")).await.unwrap();
        assert!(!folder.path().join("new").exists());
        std::fs::write(folder.path().join("old"), "kept").unwrap();
        let why = check(&of("old")).await.unwrap_err().to_string();
        assert!(why.contains("old exists already"), "{why}");
        assert_eq!(
            std::fs::read_to_string(folder.path().join("old")).unwrap(),
            "kept"
        );
        let why = check(&of("none/new")).await.unwrap_err().to_string();
        let named = format!("--record: there is no folder {};", of("none").url());
        assert!(why.contains(&named), "{why}");
    }
}
