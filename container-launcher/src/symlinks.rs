//! Second names of files that YARN brings once.
//!
//! NodeManagers from Hadoop 3.1 on link a localized file into a container's working directory once,
//! however many names it was ordered under: they keep the links by the file they lead to.

use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Makes each of `links`, a name and the name that is there, in `folder`. What is there already stays.
pub(crate) fn make(folder: &Path, links: &[(String, String)]) -> io::Result<()> {
    for (name, there) in links {
        match symlink(there, folder.join(name)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_under_its_second_name() {
        let folder = tempfile::tempdir().unwrap();
        let links = [("second".to_owned(), "first".to_owned())];
        std::fs::write(folder.path().join("first"), "text").unwrap();
        for _again in 0..2 {
            make(folder.path(), &links).unwrap();
            let text = std::fs::read_to_string(folder.path().join("second")).unwrap();
            assert_eq!(text, "text");
        }
        assert!(make(&folder.path().join("gone"), &links).is_err());
    }
}
