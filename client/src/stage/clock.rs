//! What time it is where the staged files lie.
//!
//! The clock of this machine may be wrong by months, and one that is ahead would take every file of the
//! cache for unused, and another client's upload for one that will never end. So "now" is what the file
//! system itself says of a file just written.

use std::time::Duration;

use tokio::sync::mpsc::channel;
use tokio::time::timeout;

use super::filesystem::FileSystem;
use super::upload::temporary;

/// For the answer. What depends on it can be done another day.
const SOON: Duration = Duration::from_secs(5);

/// Milliseconds since 1970, by the clock of the file system that has the folder `cache`; `None`: it does
/// not tell.
pub async fn now_ms<F: FileSystem>(filesystem: &F, cache: &str) -> Option<i64> {
    let path = temporary(cache, "clock");
    let asked = async {
        let (pieces, none) = channel(1);
        drop(pieces);
        filesystem.upload(&path, 0, none).await.ok()?;
        filesystem.stat(&path).await.ok()?
    };
    let told = timeout(SOON, asked).await.ok().flatten();
    // One that stays is removed with the uploads that did not end.
    let _removed = timeout(SOON, filesystem.delete(&path)).await.is_ok();
    told.map(|status| status.modified_ms)
}
