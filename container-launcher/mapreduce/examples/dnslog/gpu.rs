//! Counts on a GPU, when it is this task's turn.

use gerbil_mapreduce::gpu::{Argument, Grid};
use gerbil_mapreduce::{Context, Devices, Result};

use crate::{BUCKET, BUCKETS, COUNTS, SERVERS};

const SOURCE: &str = include_str!("count.k");

/// How many questions of each server are in each bucket.
#[expect(unsafe_code, reason = "a kernel is C")]
pub(crate) fn by_server(servers: &[u32], times: &[u32], context: &Context) -> Result<Vec<u32>> {
    let turn = Devices::wanted()?.turn(|| context.progress())?;
    let device = turn.open(context.settings())?;
    let program = device.compile(SOURCE)?;
    let (of_servers, of_times) = (device.upload(servers)?, device.upload(times)?);
    let counts = device.zeros::<u32>(SERVERS * COUNTS)?;
    let arguments = [
        of_servers.argument(),
        of_times.argument(),
        Argument::U32(u32::try_from(times.len())?),
        Argument::U32(BUCKET),
        Argument::U32(u32::try_from(BUCKETS)?),
        counts.argument(),
    ];
    let grid = Grid::of(u64::try_from(times.len())?)?;
    // SAFETY: there are as many servers as times, and both are told; servers are below 13, of which `counts` has all.
    unsafe { device.launch(&program, "count", grid, &arguments)? };
    context.progress();
    Ok(device.download(&counts)?)
}
