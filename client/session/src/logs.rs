//! What a detached job has printed so far.

use follow::Layout;

use crate::error::SessionError;
use crate::reach::Reached;
use crate::record::SessionRecord;

impl Reached {
    /// Prints it, of one rank where one is named; the exit code.
    ///
    /// # Errors
    ///
    /// There is no such job, nothing is kept of it, or the session does not answer.
    pub async fn logs(
        self,
        kept: &SessionRecord,
        job: u32,
        rank: Option<u32>,
        layout: Layout,
    ) -> Result<u8, SessionError> {
        let printed = follow::logs(self.client, job, rank, layout).await;
        printed.map_err(|status| SessionError::Refused {
            name: kept.name.clone(),
            code: status.code(),
            why: status.message().to_owned(),
        })
    }
}
