//! Which of a node's devices are this container's alone.
//!
//! YARN counts a node's GPUs, and says to nobody which of them a container was given. Where the node lets a
//! container open its own alone there is nothing to choose. Elsewhere the launchers of all jobs agree among
//! themselves: a device is the job's whose launcher is bound to the abstract socket of the device's name,
//! which the kernel lets one process be, and frees when that has ended, however it came to that.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Devices;

/// What stands before a device's name.
const PREFIX: &str = "gerbil-gpu:";
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// Devices that are ours for as long as this lives.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    _bound: Vec<UnixListener>,
}

/// So many of `devices` that nobody else has; a job that is about to end may hold some until `until`.
///
/// # Errors
///
/// There were too few: a sentence without the host.
pub(crate) async fn lease(
    devices: &Devices,
    wanted: usize,
    until: Instant,
) -> Result<(Devices, Lease), String> {
    let there = devices.each.len();
    loop {
        let (own, lease) = free(devices, wanted);
        let found = own.each.len();
        if found == wanted.min(there) {
            return Ok((own, lease));
        }
        if Instant::now() >= until {
            return Err(format!(
                "{wanted} of the node's {there} GPUs were to be this job's, and other jobs of gerbil-run \
                 use {} of them; YARN's count of GPUs (yarn.io/gpu) is larger than what the node has",
                there - found
            ));
        }
        drop(lease);
        sleep(PAUSE).await;
    }
}

/// The first of `devices` that nobody has, at most so many.
fn free(devices: &Devices, wanted: usize) -> (Devices, Lease) {
    let own = devices.each.iter().filter_map(|device| {
        let name = format!("{PREFIX}{}", device.on_node);
        let address = SocketAddr::from_abstract_name(name).ok()?;
        let bound = UnixListener::bind_addr(&address).ok()?;
        Some((device.clone(), bound))
    });
    let (each, bound) = own.take(wanted).unzip();
    let maker = devices.maker;
    (Devices { maker, each }, Lease { _bound: bound })
}

#[cfg(test)]
mod tests {
    use super::super::{Device, Maker};
    use super::*;

    fn names(devices: &Devices) -> Vec<&str> {
        let each = devices.each.iter();
        each.map(|device| device.name.as_str()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_device_is_one_jobs_until_that_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let devices = Devices {
            maker: Maker::Nvidia,
            each: ["0", "1", "2"]
                .map(|name| Device {
                    name: name.to_owned(),
                    on_node: folder.path().join(name).display().to_string(),
                })
                .to_vec(),
        };
        let soon = || Instant::now() + Duration::from_secs(10);
        let (own, first) = lease(&devices, 2, soon()).await.unwrap();
        assert_eq!(names(&own), ["0", "1"]);
        let (own, _second) = lease(&devices, 1, soon()).await.unwrap();
        assert_eq!(names(&own), ["2"]);
        let refused = lease(&devices, 1, soon()).await.unwrap_err();
        assert!(refused.contains("1 of the node's 3 GPUs"), "{refused}");
        assert!(refused.contains("use 3 of them"), "{refused}");
        let waiting = lease(&devices, 2, soon());
        let ending = async {
            sleep(Duration::from_secs(5)).await;
            drop(first);
        };
        let (waited, ()) = tokio::join!(waiting, ending);
        assert_eq!(names(&waited.unwrap().0), ["0", "1"]);
        // More than there are is another's to refuse.
        assert!(lease(&devices, 0, soon()).await.is_ok());
    }
}
