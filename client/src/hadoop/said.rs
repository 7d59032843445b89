//! What `gerbil hadoop fs` says on standard error, word for word as programs look for it in Hadoop's shell, without our own
//! name in front; and after which words it goes on.

use mapreduce_client::MapReduceError;
use storage::StorageError;

use super::files::Shell;
use crate::failure::Failure;

/// What Hadoop's shell returns where one of its paths could not be used.
pub(super) const FAILED: u8 = 1;

impl Shell<'_> {
    pub(super) fn failed(&mut self, command: &str, path: &str, why: &str) {
        eprint_line(&format!("{command}: `{path}': {why}"));
        self.code = FAILED;
    }

    /// Says what a file system refuses of one path, so that the next ones have their turn, as in Hadoop's shell. What
    /// stands in the way of all of them ends the command.
    pub(super) fn go_on(
        &mut self,
        command: &str,
        done: Result<(), Failure>,
    ) -> Result<(), Failure> {
        match done {
            Err(error) if is_of_one_path(&error) => {
                eprint_line(&format!("{command}: {error}"));
                self.code = FAILED;
                Ok(())
            }
            done => done,
        }
    }

    /// Of a new file or folder that nothing is there to lie in: as it was typed, and its whole name.
    pub(super) fn no_place(&mut self, command: &str, path: &str, whole: &str) {
        let why = format!("No such file or directory: `{whole}'");
        self.failed(command, path, &why);
    }

    /// Of a folder that was to be copied below itself.
    pub(super) fn refuse_copy_into_itself(&mut self, from: &str, to: &str) {
        eprint_line(&format!(
            "put: `{from}' to `{to}': is a subdirectory of itself"
        ));
        self.code = FAILED;
    }

    /// Of a file that something was to lie in, as HDFS says it.
    pub(super) fn no_folder(&mut self, command: &str, path: &str) {
        eprint_line(&format!("{command}: {path} (is not a directory)"));
        self.code = FAILED;
    }
}

/// Whether other paths may go well: the file system answers, and knows the user.
fn is_of_one_path(error: &Failure) -> bool {
    let (Failure::HdfsCopy(error) | Failure::MapReduce(MapReduceError::Storage(error))) = error
    else {
        return false;
    };
    !matches!(
        error,
        StorageError::Settings { .. }
            | StorageError::Authentication { .. }
            | StorageError::Down { .. }
            | StorageError::DataNodes { .. }
            | StorageError::SafeMode { .. }
            | StorageError::Silent { .. }
    )
}

/// A line on standard error.
fn eprint_line(line: &str) {
    use std::io::Write as _;
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

#[cfg(test)]
mod tests {
    use mapreduce_client::MapReduceError;
    use storage::StorageError;

    use super::is_of_one_path;
    use crate::failure::Failure;

    #[test]
    fn what_is_refused_of_one_path_leaves_the_others_their_turn() {
        let (doing, url) = ("reading", "hdfs://n/x".to_owned());
        let (said, user) = ("no".to_owned(), "alice".to_owned());
        let denied = StorageError::Permission {
            doing,
            url: url.clone(),
            user,
            said: said.clone(),
        };
        assert!(is_of_one_path(&Failure::HdfsCopy(denied)));
        let absent = MapReduceError::Storage(StorageError::Absent { url: url.clone() });
        assert!(is_of_one_path(&Failure::MapReduce(absent)));
        let down = StorageError::Down { doing, url, said };
        assert!(!is_of_one_path(&Failure::HdfsCopy(down)));
        let application = Failure::NoApplicationId { text: "x".into() };
        assert!(!is_of_one_path(&application));
    }
}
