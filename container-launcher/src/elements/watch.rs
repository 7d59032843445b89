//! The elements of the launcher's own node: asked for when it begins, again every so often if the session wants
//! that, and again when a task has found a device gone.

use std::io::Error;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ::read_broker::Broker;
use fpga_client::client::address;
use gerbil_task::{
    DEVICE_PERMITS_VARIABLE, DEVICE_TURNS_VARIABLE, DEVICE_WAYS_VARIABLE, DEVICES_VARIABLE,
    READ_BROKER_VARIABLE,
};
use job::Role;
use job::element::{Element, ElementKind, Scan, usable};
use job::wire::FunctionLoad;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::core_watch::CoreWatch;
use super::read_broker;
use super::{DEADLINE, at_once, devices_at_once};
use crate::devices::{Devices, gpus};
use crate::functions::{self, FunctionWatch, Loss};
use crate::surroundings::Surroundings;

/// Beyond what libraries may take, for two processes to start and end.
const MORE: Duration = Duration::from_secs(1);
/// Most that the probe may say, bytes.
const SAID_MAX: u64 = 1 << 20;
/// A device that was lost is looked for again after this.
const LOST: Duration = Duration::from_secs(30);
/// Losses after which it is used no more.
const LOST_MAX: u32 = 2;

/// Where tasks queue for devices: one folder for all launchers of the node, in its memory.
const FOLDER: &str = "gerbil-turns";
/// Where tasks of this container queue for what it was granted of them: in its own folder, with which it goes.
const PERMITS: &str = "gerbil-permits";
/// The node's memory as a folder, below its root.
const MEMORY: &str = "dev/shm";

/// What is known of the node, and when it is looked at again.
#[derive(Debug)]
pub(crate) struct Watch {
    scan: Option<Scan>,
    around: Surroundings,
    known: Vec<Element>,
    due: Option<Instant>,
    /// What asks for them now.
    asking: JoinSet<Result<Vec<Element>, Error>>,
    losses: u32,
    /// A device that was lost is looked for again.
    looks_again: bool,
    /// What the accelerators' driver leases; none: nothing asks for it.
    functions: Option<FunctionWatch>,
    /// As it was told last.
    leased: Vec<Element>,
    /// The launcher's cores; none: nobody wants to know.
    cores: Option<CoreWatch>,
    /// Serves the engines of the node, or stands by; none: no job here has engines.
    broker: Option<Broker>,
}

impl Watch {
    /// Of a launcher that is told how to look, or that nobody wants to know.
    pub(crate) fn new(scan: Option<Scan>, around: &Surroundings) -> Self {
        let mut watch = Self {
            scan,
            around: around.clone(),
            known: Vec::new(),
            due: None,
            asking: JoinSet::new(),
            losses: 0,
            looks_again: false,
            functions: None,
            leased: Vec::new(),
            cores: None,
            broker: None,
        };
        if let Some(scan) = &watch.scan {
            let (all, asks) = at_once(scan, around);
            let (leased, known) = all.into_iter().partition(functions::is_leased);
            watch.known = known;
            watch.known.retain(is_device);
            watch.cores = Some(CoreWatch::new(scan));
            watch.leased = leased;
            let root = Path::new(&scan.root);
            watch.functions = Some(FunctionWatch::new(root, watch.leased.clone()));
            watch.due = match asks {
                true => Some(Instant::now()),
                false => watch.next_scan(),
            };
        }
        watch
    }

    fn next_scan(&self) -> Option<Instant> {
        let interval = self.scan.as_ref()?.interval?;
        Some(Instant::now() + Duration::from_millis(interval.0))
    }

    /// What there is when that was found out anew; never, while nothing is to be found out. May be dropped and
    /// called again.
    pub(crate) async fn next(&mut self) -> Vec<Element> {
        let Some(scan) = &self.scan else {
            return std::future::pending().await;
        };
        let root = PathBuf::from(&scan.root);
        let asked = tokio::select! {
            asked = devices(&self.around, &root, &mut self.due, &mut self.asking) => asked,
            leased = leased(&mut self.functions) => {
                self.leased = leased;
                return self.all();
            }
            () = other_cores(&mut self.cores, scan) => return self.all(),
        };
        self.known = match asked {
            Ok(elements) => elements,
            Err(error) => {
                let (mut elements, _) = devices_at_once(&root, &self.around);
                elements.push(Element {
                    broken: Some(format!("they could not be looked for: {error}")),
                    ..Element::none_of(ElementKind::Gpu)
                });
                elements
            }
        };
        // A process beside the launcher knows neither what was given nor what was measured.
        self.known.retain(is_device);
        self.due = self.next_scan();
        self.looks_again = false;
        self.all()
    }

    /// Everything that is known of the node.
    fn all(&self) -> Vec<Element> {
        let cores = self.cores.iter().flat_map(CoreWatch::classes);
        let mut all: Vec<Element> = cores.chain(self.known.iter().cloned()).collect();
        functions::add(&mut all, &self.leased);
        all
    }

    /// A task has not got a device of this function, or has lost it. What is known then.
    pub(crate) fn function_lost(&mut self, function: &str, loss: Loss) -> Option<Vec<Element>> {
        self.leased = self.functions.as_mut()?.lost(function, loss);
        Some(self.all())
    }

    /// What boards of functions on lease have to do, once for each look at them.
    pub(crate) fn take_loads(&mut self) -> Vec<FunctionLoad> {
        let functions = self.functions.as_mut();
        functions.map_or_else(Vec::new, FunctionWatch::take_loads)
    }

    /// A task has a device of this function.
    pub(crate) fn function_leased(&mut self, function: &str) {
        if let Some(functions) = &mut self.functions {
            functions.leased(function);
        }
    }

    /// Where functions are leased.
    pub(crate) fn driver(&self) -> PathBuf {
        let functions = self.functions.as_ref();
        functions.map_or_else(address::default_socket, FunctionWatch::socket)
    }

    /// Whether what is known now is not the last word: a device that was lost is looked for again, or libraries are being
    /// asked.
    pub(crate) fn looks_again(&self) -> bool {
        let functions = self.functions.as_ref();
        self.looks_again
            || !self.asking.is_empty()
            || functions.is_some_and(FunctionWatch::looks_again)
    }

    /// A task has not found the device that is there: the node has none until that was looked at again. What is
    /// known then; `None`: none was known.
    pub(crate) fn lost(&mut self) -> Option<Vec<Element>> {
        if usable(&self.known, ElementKind::Gpu) == 0 {
            return None;
        }
        self.losses = self.losses.saturating_add(1);
        let off = self.losses >= LOST_MAX;
        let why = match off {
            true => "lost by tasks twice: off for this session".to_owned(),
            false => format!("lost by a task: looked for again in {} s", LOST.as_secs()),
        };
        let gpus = self.known.iter_mut();
        for element in gpus.filter(|element| element.kind == ElementKind::Gpu) {
            element.broken = Some(why.clone());
        }
        // What is being asked was asked before.
        self.asking = JoinSet::new();
        self.due = (!off).then(|| Instant::now() + LOST);
        self.looks_again = !off;
        Some(self.all())
    }

    /// Tasks of this container ask a read broker whose chunk is read next: there is one from now on. `seconds`: how long a read
    /// may take.
    ///
    /// # Errors
    ///
    /// The order is not known, the seconds are none, or there is no thread: a sentence.
    pub(crate) fn order_reads(&mut self, order: &str, seconds: Option<&str>) -> Result<(), String> {
        if self.broker.is_some() {
            return Ok(());
        }
        // A node without GPUs has no engines.
        let (Some(scan), Some(key)) = (&self.scan, self.first_device()) else {
            return Ok(());
        };
        self.broker = Some(read_broker::start(
            Path::new(&scan.root),
            key,
            (order, seconds),
        )?);
        Ok(())
    }

    /// What the whole node calls the first of its GPUs.
    fn first_device(&self) -> Option<String> {
        let variables = self.variables().into_iter();
        let mut devices = variables.filter(|(name, _)| *name == DEVICES_VARIABLE);
        let (_, devices) = devices.next()?;
        let (_, key) = devices.split(',').next()?.split_once('@')?;
        Some(key.to_owned())
    }

    /// What the process of a task is told of the devices; nothing where there are none.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let Some(scan) = &self.scan else {
            return Vec::new();
        };
        let found = usable(&self.known, ElementKind::Gpu);
        let most = scan.granted.or(scan.most);
        if most.unwrap_or(u32::MAX).min(scan.granted.unwrap_or(found)) == 0 {
            return Vec::new();
        }
        let variable = |name: &str| Some(self.around.text(name)?.to_owned());
        let named = gpus::under(Path::new(&scan.root), &variable);
        let order = named.as_ref().and_then(Devices::order);
        let named = named.map(|devices| devices.keys()).unwrap_or_default();
        // Those without a file are known to a library, or to YARN, alone.
        let others = (0..).map(|number: u32| format!("{number}@gpu{number}"));
        let others = others.skip(named.len());
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        // YARN says how many are this container's, and not which.
        let count = match scan.granted {
            Some(granted) => size(granted).max(named.len()),
            None => size(found),
        };
        let devices: Vec<String> = named.iter().cloned().chain(others).take(count).collect();
        let mut variables = vec![
            (DEVICES_VARIABLE, devices.join(",")),
            (DEVICE_WAYS_VARIABLE, scan.ways.to_string()),
            (DEVICE_TURNS_VARIABLE, turns(Path::new(&scan.root))),
        ];
        variables.extend(self.broker.as_ref().map(|broker| {
            let socket = broker.socket().display().to_string();
            (READ_BROKER_VARIABLE, socket)
        }));
        // What the node's own settings say stays.
        let order = order.filter(|(name, _)| self.around.text(name).is_none());
        variables.extend(order.map(|(name, value)| (name, value.to_owned())));
        if let Some(most) = most.filter(|most| size(*most) < devices.len()) {
            let tasks = most.saturating_mul(scan.ways.get());
            let folder = self.around.folder.join(PERMITS);
            variables.push((
                DEVICE_PERMITS_VARIABLE,
                format!("{tasks}@{}", folder.display()),
            ));
        }
        variables
    }
}

/// What devices there are, when that was asked for anew; never, while nothing is due. May be dropped and called again.
async fn devices(
    around: &Surroundings,
    root: &Path,
    due: &mut Option<Instant>,
    asking: &mut JoinSet<Result<Vec<Element>, Error>>,
) -> Result<Vec<Element>, Error> {
    if asking.is_empty() {
        let Some(at) = *due else {
            return std::future::pending().await;
        };
        sleep_until(at).await;
        *due = None;
        asking.spawn(probed(around.clone(), root.to_owned()));
    }
    let asked = asking.join_next().await;
    let asked = asked.unwrap_or_else(|| Ok(Err(Error::other("nobody does"))));
    asked.unwrap_or_else(|error| Err(Error::other(error)))
}

/// What the driver leases, where that has changed.
async fn leased(functions: &mut Option<FunctionWatch>) -> Vec<Element> {
    match functions {
        Some(functions) => functions.next().await,
        None => std::future::pending().await,
    }
}

/// Until the launcher may use other cores than before.
async fn other_cores(cores: &mut Option<CoreWatch>, scan: &Scan) {
    match cores {
        Some(cores) => cores.next(scan).await,
        None => std::future::pending().await,
    }
}

/// Neither cores nor what the driver leases.
fn is_device(element: &Element) -> bool {
    element.kind != ElementKind::CoreClass && !functions::is_leased(element)
}

/// Where tasks queue for the devices of a machine, and find their read broker: where one that is only tried has no memory of its own, with all
/// others of this one.
pub(super) fn turns(root: &Path) -> String {
    let own = root.join(MEMORY);
    let memory = match own.is_dir() {
        true => own,
        false => Path::new("/").join(MEMORY),
    };
    memory.join(FOLDER).display().to_string()
}

/// Has the executable look.
async fn probed(around: Surroundings, root: PathBuf) -> Result<Vec<Element>, Error> {
    let mut child = around
        .command(Role::Probe)
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    // The thread that reaps ranks reaps it, and it ends by itself.
    let out = child.stdout.take();
    let out = out.ok_or_else(|| Error::other("there is no pipe"))?;
    let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(out))?;
    let mut text = Vec::new();
    let mut pipe = pipe.take(SAID_MAX);
    let reading = pipe.read_to_end(&mut text);
    match timeout(DEADLINE + MORE, reading).await {
        Ok(read) => read?,
        Err(_late) => return Err(Error::other("the probe does not end")),
    };
    serde_json::from_slice(&text).map_err(|_unclear| Error::other("the probe says nothing"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU32;

    use super::*;

    fn watch(known: Vec<Element>) -> Watch {
        let around = Surroundings {
            folder: PathBuf::from("/"),
            environment: BTreeMap::new(),
            executable: PathBuf::from("/bin/false"),
        };
        let scan = Scan {
            root: "/nonexistent".to_owned(),
            ..Scan::default()
        };
        Watch {
            known,
            ..Watch::new(Some(scan), &around)
        }
    }

    fn gpus(count: u32) -> Vec<Element> {
        vec![Element {
            count,
            ..Element::none_of(ElementKind::Gpu)
        }]
    }

    #[test]
    fn tasks_are_told_of_a_read_broker_where_a_job_asks_for_one_and_there_is_a_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join(MEMORY)).unwrap();
        let with = |known: Vec<Element>| {
            let mut watch = watch(known);
            watch.scan.as_mut().unwrap().root = root.display().to_string();
            watch
        };
        let told = |watch: &Watch| {
            let mut variables = watch.variables().into_iter();
            variables.find_map(|(name, value)| (name == READ_BROKER_VARIABLE).then_some(value))
        };
        let mut none = with(Vec::new());
        none.order_reads("spmario", None).unwrap();
        assert_eq!(told(&none), None);
        let mut some = with(gpus(1));
        assert_eq!(told(&some), None);
        let refused = some.order_reads("mario", None).unwrap_err();
        assert!(refused.contains("gpu.read-order"), "{refused}");
        some.order_reads("spmario", Some("60")).unwrap();
        let socket = told(&some).unwrap();
        let wanted = root.join(MEMORY).join(FOLDER).join("gpu0.socket");
        assert_eq!(Path::new(&socket), wanted);
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(std::time::Instant::now() < until, "nobody listens");
            std::thread::park_timeout(Duration::from_millis(1));
        }
        drop(some);
        assert!(!wanted.exists());
    }

    #[tokio::test]
    async fn a_device_that_is_lost_is_looked_for_again_and_after_the_second_time_no_more() {
        let mut watch = watch(gpus(2));
        assert_eq!(watch.due, None);
        let lost = watch.lost().unwrap();
        assert_eq!(usable(&lost, ElementKind::Gpu), 0);
        let due = watch.due.unwrap().saturating_duration_since(Instant::now());
        assert!(
            due > LOST - Duration::from_secs(5) && due <= LOST,
            "{due:?}"
        );
        assert!(watch.looks_again());
        // Others that ran beside it say nothing new.
        assert_eq!(watch.lost(), None);
        watch.known = gpus(2);
        let off = watch.lost().unwrap();
        assert!(
            off[0]
                .broken
                .as_deref()
                .unwrap()
                .contains("off for this session")
        );
        assert_eq!((watch.due, watch.looks_again()), (None, false));
    }

    #[tokio::test]
    async fn tasks_are_told_of_devices_that_are_found_or_granted() {
        let named = |watch: &Watch| {
            let variables = watch.variables();
            let mut devices = variables
                .into_iter()
                .filter(|(name, _)| *name == DEVICES_VARIABLE);
            devices.next().map(|(_, devices)| devices)
        };
        assert_eq!(named(&watch(gpus(0))), None);
        // No file stands for them.
        assert_eq!(named(&watch(gpus(2))).unwrap(), "0@gpu0,1@gpu1");
        let mut granted = watch(Vec::new());
        granted.scan.as_mut().unwrap().granted = Some(1);
        assert_eq!(named(&granted).unwrap(), "0@gpu0");
    }

    #[tokio::test]
    async fn tasks_use_no_more_devices_at_a_time_than_were_granted() {
        let permits = |granted: Option<u32>, most: Option<u32>, found: u32| {
            let mut watch = watch(gpus(found));
            let scan = watch.scan.as_mut().unwrap();
            (scan.granted, scan.most) = (granted, most);
            scan.ways = NonZeroU32::new(3).unwrap();
            let variables: BTreeMap<&str, String> = watch.variables().into_iter().collect();
            let devices = variables.get(DEVICES_VARIABLE);
            (
                devices.map_or(0, |devices| devices.split(',').count()),
                variables.get(DEVICE_PERMITS_VARIABLE).cloned(),
            )
        };
        let limited = |tasks: u32| Some(format!("{tasks}@/gerbil-permits"));
        assert_eq!(permits(None, Some(1), 2), (2, limited(3)));
        assert_eq!(permits(None, Some(2), 3), (3, limited(6)));
        // As many, or more, need no limit; of none nothing is told.
        assert_eq!(permits(None, Some(2), 2), (2, None));
        assert_eq!(permits(None, None, 2), (2, None));
        assert_eq!(permits(None, Some(0), 2), (0, None));
        assert_eq!(permits(None, Some(2), 0), (0, None));
        assert_eq!(permits(Some(2), None, 0), (2, None));
    }
}
