//! `--profile FILE`: what earlier runs of jobs were like.

use std::path::PathBuf;

use policy::schedule::trace::{TracedJob, read_trace};

use crate::usage::UsageError;

/// The jobs of the trace in a file.
///
/// # Errors
///
/// It cannot be read, or is no trace.
pub(super) fn profiles(path: PathBuf) -> Result<Vec<TracedJob>, UsageError> {
    let read = match std::fs::read_to_string(&path) {
        Ok(text) => read_trace(&text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    read.map_err(|why| UsageError::Profile { path, why })
}

#[cfg(test)]
mod tests {
    use policy::schedule::trace::HEADER;

    use super::*;

    #[test]
    fn a_file_that_is_no_trace_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.csv");
        let read = || profiles(path.clone()).map_err(|error| error.to_string());
        let shown = path.display();
        assert_eq!(
            read().unwrap_err(),
            format!("--profile {shown}: No such file or directory (os error 2)")
        );
        std::fs::write(&path, format!("{HEADER}\nsort,0,batch,4,1,10,1,5\n")).unwrap();
        assert_eq!(read().unwrap().len(), 1);
        std::fs::write(&path, format!("{HEADER}\nsort\n")).unwrap();
        assert!(
            read()
                .unwrap_err()
                .starts_with(&format!("--profile {shown}: line 2: "))
        );
    }
}
