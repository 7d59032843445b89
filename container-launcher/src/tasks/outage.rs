//! What an attempt does when its files cannot be opened, or are not taken, because the file system is away.
//!
//! An attempt that fails at once is begun again at once, and has failed as often as it may before servers that are restarted
//! are back.

use std::time::Duration;

use storage::StorageError;

/// The attempt fails after this pause: four of them outlast a restart.
const PAUSE: Duration = Duration::from_secs(5);

/// Waits, if that is what has happened.
pub(super) async fn outlast(error: Option<&StorageError>) {
    if error.is_some_and(StorageError::may_pass) {
        tokio::time::sleep(PAUSE).await;
    }
}
