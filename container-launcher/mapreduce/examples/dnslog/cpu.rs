//! Counts on the task's own core.

use gerbil_mapreduce::{Context, Result};

use crate::{BUCKET, COUNTS, LONGER, NONE, SERVERS, UNANSWERED};

/// How many questions of each server are in each bucket.
pub(crate) fn by_server(servers: &[u32], times: &[u32], context: &Context) -> Result<Vec<u32>> {
    let mut counts = vec![0; SERVERS * COUNTS];
    for (server, time) in servers.iter().zip(times) {
        let bucket = match *time {
            NONE => UNANSWERED,
            time => usize::try_from(time / BUCKET)?.min(LONGER),
        };
        counts[usize::try_from(*server)? * COUNTS + bucket] += 1;
    }
    context.progress();
    Ok(counts)
}
