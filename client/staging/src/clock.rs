//! What time it is where the staged files lie.
//!
//! The clock of this machine may be wrong by months, and one that is ahead would take every file of the
//! cache for unused, and another client's upload for one that will never end. So "now" is what the file
//! system itself says of a file just written.

use std::time::Duration;

use storage::{CreateOptions, Storage};
use tokio::time::timeout;

use super::Cache;
use super::upload::temporary;

/// For the answer. What depends on it can be done another day.
const SOON: Duration = Duration::from_secs(5);

/// Milliseconds since 1970, by the clock of the file system that has the cache; `None`: it does
/// not tell.
pub(crate) async fn now_ms(storage: &Storage, cache: &Cache) -> Option<i64> {
    let path = temporary(&cache.folder, "clock");
    let asked = async {
        let options = CreateOptions {
            readers: cache.readers,
            ..CreateOptions::default()
        };
        storage
            .create(&path, options)
            .await
            .ok()?
            .close()
            .await
            .ok()?;
        storage.stat(&path).await.ok()?
    };
    let told = timeout(SOON, asked).await.ok().flatten();
    // One that stays is removed with the uploads that did not end.
    let _removed = timeout(SOON, storage.remove(&path)).await.is_ok();
    told.map(|status| status.modified_ms)
}
