//! A node's GPUs, of which each runs a few tasks at a time, most often one.
//!
//! A launcher starts more tasks on such a node than its devices run, so that some load and store while others
//! compute: which one computes, tasks agree about among themselves. They queue in a folder of the node
//! ([`queue`]), in the order in which they come, whoever started them; the kernel takes a place and a device from
//! a process that ends, however it ends.

mod queue;

#[cfg(any(feature = "cuda", feature = "opencl"))]
use std::marker::PhantomData;
use std::path::PathBuf;

use gerbil_task::{
    DEVICE_PERMITS_VARIABLE, DEVICE_TURNS_VARIABLE, DEVICE_WAYS_VARIABLE, DEVICES_VARIABLE,
};

use crate::error::{Error, Result};
use queue::{DeviceLock, DeviceQueue};

/// The devices of this node.
///
/// ```no_run
/// # fn compute(device: &str) {}
/// # fn map(context: &gerbil_mapreduce::Context) -> gerbil_mapreduce::Result<()> {
/// let devices = gerbil_mapreduce::Devices::here()?;
/// // Here input is read and made ready, whoever computes meanwhile.
/// if let Some(devices) = devices {
///     let turn = devices.turn(|| context.progress())?;
///     compute(turn.device());
/// } // Here the next one's turn comes.
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Devices {
    /// As their maker's libraries name them.
    names: Vec<String>,
    queue: DeviceQueue,
    /// For what this task's container was granted of them; `None`: for all.
    permits: Option<DeviceQueue>,
}

/// The right to use a device, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    device: String,
    _held: DeviceLock,
    /// Given back last.
    _permit: Option<DeviceLock>,
}

impl Devices {
    /// Those that this task's launcher tells of; `None`: the node has none.
    ///
    /// They are in `GERBIL_DEVICES`, each as `NAME@KEY` with commas between them: the name, or number, by which
    /// CUDA and its kin know a device in this process, and the name by which the node's launchers know it. Set by
    /// hand (`GERBIL_DEVICES=0@gpu0`) the same holds for a job on this machine alone.
    ///
    /// # Errors
    /// What the launcher says makes no sense.
    pub fn here() -> Result<Option<Self>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(list) = variable(DEVICES_VARIABLE) else {
            return Ok(None);
        };
        let folder = variable(DEVICE_TURNS_VARIABLE).unwrap_or_else(|| FOLDER.to_owned());
        let ways = match variable(DEVICE_WAYS_VARIABLE) {
            None => 1,
            Some(ways) => ways.parse().ok().filter(|ways| *ways > 0).ok_or_else(|| {
                Error::new(format!(
                    "{DEVICE_WAYS_VARIABLE}={ways} is no number of tasks"
                ))
            })?,
        };
        let (mut names, mut keys) = (Vec::new(), Vec::new());
        for device in list.split(',') {
            let (name, key) = device.split_once('@').unwrap_or((device, device));
            let is_plain = |key: &str| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                !key.is_empty() && key.chars().all(plain)
            };
            if name.is_empty() || !is_plain(key) {
                return Err(Error::new(format!(
                    "{DEVICES_VARIABLE}={list}: {device:?} is no device, which is NAME@KEY, the key of letters, \
                     digits, - and _"
                )));
            }
            names.push(name.to_owned());
            keys.push(key.to_owned());
        }
        let permits = variable(DEVICE_PERMITS_VARIABLE);
        let permits = permits.map(|permits| {
            let (tasks, folder) = permits.split_once('@')?;
            let tasks = tasks.parse().ok().filter(|tasks| *tasks > 0)?;
            let permit = vec![PERMIT.to_owned()];
            Some(DeviceQueue::new(PathBuf::from(folder), permit, tasks))
        });
        if let Some(None) = permits {
            return Err(Error::new(format!(
                "{DEVICE_PERMITS_VARIABLE} is no number of tasks with a folder, which is NUMBER@FOLDER"
            )));
        }
        Ok(Some(Self {
            names,
            queue: DeviceQueue::new(PathBuf::from(folder), keys, ways),
            permits: permits.flatten(),
        }))
    }

    /// Those that this task's launcher tells of.
    ///
    /// # Errors
    /// The node has none, which queues the task again where there is one; or what the launcher says makes no sense.
    pub fn wanted() -> Result<Self> {
        Self::here()?.ok_or_else(|| {
            Error::no_device(format!(
                "this node has no GPU that its launcher knows of; with --local {DEVICES_VARIABLE}=0@gpu0 names the \
                 first of this machine"
            ))
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Waits until it is this task's turn, and that of no other that came later. Meanwhile `alive` is called again and
    /// again: a task that shows no sign of life for `mapreduce.task.timeout` is killed.
    ///
    /// # Errors
    /// The folder of the queue cannot be used.
    pub fn turn(&self, mut alive: impl FnMut()) -> Result<Turn> {
        let permit = self.permits.as_ref();
        let permit = permit.map(|permits| entered(permits, &mut alive));
        let permit = permit.transpose()?.map(|(_, permit)| permit);
        let (place, held) = entered(&self.queue, alive)?;
        Ok(Turn {
            device: self.names.get(place).cloned().unwrap_or_default(),
            _held: held,
            _permit: permit,
        })
    }
}

fn entered(queue: &DeviceQueue, alive: impl FnMut()) -> Result<(usize, DeviceLock)> {
    let held = queue.enter(alive);
    held.map_err(|error| {
        Error::new(format!(
            "no turn for a device, in {}: {error}",
            queue.folder().display()
        ))
    })
}

impl Turn {
    /// The device, as its maker's libraries name it in this process: most often its number.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Opens the device, for as long as the turn lasts.
    ///
    /// With `gerbil.opencl.processors` what runs OpenCL on processors counts as a GPU: for tests of kernels.
    ///
    /// # Errors
    /// There is no such device, which queues the task again where there is one; or it does not work.
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub fn open(&self, settings: &crate::Settings) -> Result<TurnDevice<'_>> {
        let processors = settings.parse(crate::settings::OPENCL_PROCESSORS)?;
        let opened = gerbil_gpu::Device::open(&self.device, processors);
        let device = opened.map_err(|error| match error.is_no_device() {
            true => Error::no_device(error.to_string()),
            false => error.into(),
        })?;
        Ok(TurnDevice {
            device,
            _turn: PhantomData,
        })
    }
}

/// The device of a [`Turn`], which does not outlive it.
#[cfg(any(feature = "cuda", feature = "opencl"))]
#[derive(Debug)]
pub struct TurnDevice<'turn> {
    device: gerbil_gpu::Device,
    _turn: PhantomData<&'turn Turn>,
}

#[cfg(any(feature = "cuda", feature = "opencl"))]
impl std::ops::Deref for TurnDevice<'_> {
    type Target = gerbil_gpu::Device;

    fn deref(&self) -> &gerbil_gpu::Device {
        &self.device
    }
}

/// Where the tasks of a node queue, where nothing else is said.
const FOLDER: &str = "/dev/shm/gerbil-turns";
/// What a queue for permits has places of.
const PERMIT: &str = "permit";
