//! Tasks that take functions of accelerators, beside a driver of a modelled board.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use fpga_client::client::map;
use fpga_driver::daemon::{Driver, DriverOptions, Stop};
use fpga_driver::profile::Profile;
use job::element::{Element, ElementKind, Scan};
use job::wire::launcher_event::Event as Told;
use job::wire::task_event::Event as TaskTold;
use job::wire::task_order::Order;
use job::wire::{TaskEnded, TaskEvent};

use crate::support::tasks::{Bed, done, order};
use crate::support::{Appmaster, Link, within};

/// A driver that listens where one of the machine below a folder does.
#[cfg(test)]
struct RunningDriver {
    socket: PathBuf,
    running: Option<(Stop, JoinHandle<()>)>,
}

#[cfg(test)]
impl RunningDriver {
    /// With two devices of each function.
    fn start(root: &Path) -> Self {
        let folder = root.join("run/gerbil");
        fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("fpgad.sock");
        let options = DriverOptions {
            socket: socket.clone(),
            allowed: Vec::new(),
            profile: Profile::model(2),
        };
        let driver = Driver::start(options, |warning| panic!("{warning}")).unwrap();
        let stop = driver.stopper();
        let thread = std::thread::spawn(move || driver.run().unwrap());
        Self {
            socket,
            running: Some((stop, thread)),
        }
    }

    async fn all_are_free(&self) {
        within(async {
            while map(&self.socket)
                .unwrap()
                .0
                .iter()
                .any(|of| of.lease.is_some())
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

impl Drop for RunningDriver {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            stop.stop();
            thread.join().unwrap();
        }
    }
}

#[cfg(test)]
fn is_echo(of: &Element) -> bool {
    of.kind == ElementKind::Function && of.model == "echo"
}

/// What the launcher tells of the function next.
#[cfg(test)]
async fn echo(link: &mut Link) -> Element {
    loop {
        match link.told().await {
            Told::Elements(found) => {
                let mut elements = found.elements.into_iter().map(Element::from);
                return elements.find(is_echo).unwrap();
            }
            Told::Task(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(test)]
async fn ended(link: &mut Link) -> TaskEnded {
    loop {
        match link.told().await {
            Told::Task(TaskEvent {
                event: Some(TaskTold::Ended(ended)),
                ..
            }) => return ended,
            Told::Task(_) | Told::Elements(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A task that takes this.
#[cfg(test)]
async fn start(link: &Link, bed: &Bed, task: u32, function: &str) {
    let mut start = bed.start(task, 0, &bed.map(task, 0, 0));
    start.functions = vec![function.to_owned()];
    order(link, Order::Start(start)).await;
}

#[tokio::test]
async fn a_task_has_the_devices_it_takes_and_what_the_driver_refuses_three_times_is_off() {
    let mut am = Appmaster::start().await;
    let root = tempfile::tempdir().unwrap();
    let driver = RunningDriver::start(root.path());
    let _launcher = am.launcher_that_scans(Some(Scan {
        root: root.path().display().to_string(),
        ..Scan::default()
    }));
    let mut link = am.link().await;
    let node = link.hello.node.clone().unwrap();
    let mut elements = node.elements.into_iter().map(Element::from);
    assert_eq!(elements.find(is_echo).unwrap().usable(), 2);

    let bed = Bed::new(&["!leased\n", "", "", ""]).await;
    bed.set_up().await;
    start(&link, &bed, 0, "acc/echo=2").await;
    done(&ended(&mut link).await);
    driver.all_are_free().await;

    // The driver has two, and never gives three.
    for time in 1..=3 {
        start(&link, &bed, time, "acc/echo=3").await;
        let refused = echo(&mut link).await;
        assert_eq!(refused.usable(), 0);
        let why = refused.broken.unwrap();
        assert_eq!(why.contains("refused it 3 times"), time == 3, "{why}");
        assert!(why.contains("3 virtual devices for echo"), "{why}");
        let ended = ended(&mut link).await;
        assert_eq!(ended.missing_device, "acc/echo");
        assert!(ended.device_gone && ended.no_device, "{ended:?}");
        assert!(ended.trouble.contains("no acc/echo: "), "{ended:?}");
        // What the driver says it has counts again at the next look, unless it is off.
        let looked_at = echo(&mut link).await;
        assert_eq!(looked_at.usable(), if time == 3 { 0 } else { 2 });
    }

    bed.commit(&["attempt_m_000000_0"]).await;
    let said = bed.text("leased-m-00000").await;
    let (named, answers) = said.split_once('\n').unwrap();
    let functions: Vec<&str> = named
        .split(',')
        .map(|it| it.split('@').next().unwrap())
        .collect();
    assert_eq!(functions, ["echo", "echo"], "{named}");
    assert_eq!(answers, "echo there\necho there\n");
    link.leave().await;
}
