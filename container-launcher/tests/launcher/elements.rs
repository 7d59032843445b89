//! What a launcher tells of its node's elements, and what its tasks are told of them: beside a library of devices
//! that is loaded for real.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use job::element::{Element, ElementKind, Scan};
use job::wire::launcher_event::Event as Told;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use policy::Millis;

use crate::support::tasks::{Bed, done};
use crate::support::{self, Appmaster, Link};

/// CUDA's driver library with two devices, which is in no hurry.
#[cfg(test)]
const CUDA: &str = r#"
#include <string.h>
#include <stddef.h>
#include <unistd.h>
int cuInit(unsigned flags) { usleep(200000); return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Trial", length); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)16 << 30; return 0; }
"#;

#[cfg(test)]
fn machine(root: &Path) {
    // Its tasks queue for its devices alone, whatever other tests have at the same time.
    let memory = root.join("dev/shm");
    fs::create_dir_all(&memory).unwrap();
    fs::set_permissions(&memory, Permissions::from_mode(0o1777)).unwrap();
    for device in ["nvidia0", "nvidia1"] {
        fs::write(root.join("dev").join(device), "").unwrap();
    }
    fs::write(root.join("cuda.c"), CUDA).unwrap();
    fs::create_dir_all(root.join("usr/lib")).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(root.join("usr/lib/libcuda.so.1"))
        .arg(root.join("cuda.c"))
        .status();
    assert!(
        built
            .expect("a C compiler: it/setup installs one")
            .success()
    );
}

#[cfg(test)]
fn scan(root: &Path) -> Option<Scan> {
    Some(Scan {
        root: root.display().to_string(),
        ..Scan::default()
    })
}

#[cfg(test)]
async fn found(link: &mut Link) -> Vec<Element> {
    told(link).await.0
}

/// What the node has, and whether more is to come.
#[cfg(test)]
async fn told(link: &mut Link) -> (Vec<Element>, bool) {
    loop {
        match link.told().await {
            Told::Elements(found) => {
                let elements = found.elements.into_iter().map(Into::into);
                return (elements.collect(), found.scanning);
            }
            Told::Task(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_node_without_devices_is_told_whole_with_the_hello_and_nobody_asks_who_does_not_want_to_know()
 {
    let mut am = Appmaster::start().await;
    let root = tempfile::tempdir().unwrap();
    let cards = root.path().join("dev");
    fs::create_dir_all(&cards).unwrap();
    fs::write(cards.join("xdma0_control"), "").unwrap();
    let _scans = am.launcher_that_scans(scan(root.path()));
    let link = am.link().await;
    let node = link.hello.node.clone().unwrap();
    assert!(!node.scanning);
    let kinds: Vec<ElementKind> = node
        .elements
        .into_iter()
        .map(|element| Element::from(element).kind)
        .collect();
    assert_eq!(kinds, [ElementKind::Fpga]);
    link.leave().await;
    let _does_not = am.launcher_that_scans(None);
    let link = am.link().await;
    assert!(link.hello.node.clone().unwrap().elements.is_empty());
    link.leave().await;
}

#[tokio::test]
async fn a_node_is_looked_at_again_as_often_as_its_session_wants() {
    let mut am = Appmaster::start().await;
    let root = tempfile::tempdir().unwrap();
    let cards = root.path().join("dev");
    fs::create_dir_all(&cards).unwrap();
    let again = scan(root.path()).map(|scan| Scan {
        interval: Some(Millis(100)),
        ..scan
    });
    let _launcher = am.launcher_that_scans(again);
    let mut link = am.link().await;
    assert!(link.hello.node.clone().unwrap().elements.is_empty());
    fs::write(cards.join("xdma0_control"), "").unwrap();
    let mut elements = found(&mut link).await;
    // Some looks may have begun before it was there.
    for _look in 0..100 {
        if !elements.is_empty() {
            break;
        }
        elements = found(&mut link).await;
    }
    let kinds: Vec<ElementKind> = elements.iter().map(|element| element.kind).collect();
    assert_eq!(kinds, [ElementKind::Fpga]);
    link.leave().await;
}

/// Lets every thread of a process run on these cores alone.
#[cfg(test)]
fn keep_to(process: u32, cores: &[u32]) {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(usize::try_from(*core).unwrap()).unwrap();
    }
    for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let thread = thread.unwrap().file_name();
        let thread = thread.to_str().unwrap().parse().unwrap();
        sched_setaffinity(Pid::from_raw(thread), &set).unwrap();
    }
}

#[tokio::test]
async fn a_launcher_that_loses_cores_tells_which_are_left() {
    let mut am = Appmaster::start().await;
    let root = tempfile::tempdir().unwrap();
    let own = sched_getaffinity(Pid::this()).unwrap();
    let own = (0..CpuSet::count()).filter(|core| own.is_set(*core).unwrap());
    let own: Vec<u32> = own.map(|core| u32::try_from(core).unwrap()).collect();
    let [fast, slow, ..] = own[..] else {
        panic!("a machine of two cores at the least is wanted, and these are there: {own:?}");
    };
    let with_cores = scan(root.path()).map(|scan| Scan {
        cores: vec![format!("fast={fast},slow={slow}").parse().unwrap()],
        ..scan
    });
    let launcher = am.launcher_that_scans(with_cores);
    let mut link = am.link().await;
    let shown = |elements: Vec<Element>| -> Vec<(String, Vec<u32>, u32)> {
        let elements = elements.into_iter();
        elements.map(|of| (of.model, of.cpus, of.count)).collect()
    };
    let of = |model: &str, cores: &[u32]| {
        (
            model.to_owned(),
            cores.to_vec(),
            u32::try_from(cores.len()).unwrap(),
        )
    };
    let both = [of("fast", &[fast]), of("slow", &[slow])];
    let node = link.hello.node.clone().unwrap();
    let first = node.elements.into_iter().map(Into::into).collect();
    assert_eq!(shown(first), both);
    keep_to(launcher.child.id(), &[slow]);
    assert_eq!(
        shown(found(&mut link).await),
        [of("fast", &[]), of("slow", &[slow])]
    );
    keep_to(launcher.child.id(), &own);
    assert_eq!(shown(found(&mut link).await), both);
    link.leave().await;
}

#[tokio::test]
async fn devices_are_told_when_their_library_has_answered_and_again_when_a_task_has_lost_one() {
    let mut am = Appmaster::start().await;
    let root = tempfile::tempdir().unwrap();
    machine(root.path());
    let _launcher = am.launcher_that_scans(scan(root.path()));
    let mut link = am.link().await;
    let node = link.hello.node.clone().unwrap();
    assert!(node.scanning && node.elements.is_empty(), "{node:?}");
    let (gpus, looks_again) = told(&mut link).await;
    assert_eq!((gpus.len(), gpus[0].usable()), (1, 2), "{gpus:?}");
    assert!(!looks_again);
    let bed = Bed::new(&["!device\n", "!lost\n", "!device\n"]).await;
    bed.set_up().await;
    let ended = bed.run(&mut link, 0, &bed.map(0, 0, 0)).await;
    done(&ended);
    // It exits as one does that finds no device.
    let lost = bed.start(1, 1, &bed.map(1, 0, 0));
    support::tasks::order(&link, job::wire::task_order::Order::Start(lost)).await;
    let (broken, looks_again) = told(&mut link).await;
    assert!(looks_again);
    let why = broken[0].broken.as_deref().unwrap_or_default();
    assert_eq!(why, "lost by a task: looked for again in 30 s");
    assert_eq!(broken[0].usable(), 0);
    bed.commit(&["attempt_m_000000_0"]).await;
    assert_eq!(bed.text("device-m-00000").await, "0\n");
    link.leave().await;
}

#[tokio::test]
async fn tasks_take_turns_at_what_was_granted_though_more_is_found() {
    let mut am = Appmaster::start().await;
    let root = tempfile::tempdir().unwrap();
    machine(root.path());
    let granted = scan(root.path()).map(|scan| Scan {
        most: Some(1),
        ..scan
    });
    let _launcher = am.launcher_that_scans(granted);
    let mut link = am.link().await;
    let gpus = found(&mut link).await;
    assert_eq!(gpus[0].usable(), 2, "{gpus:?}");
    let bed = Bed::new(&["!alone\n", "!alone\n", "!alone\n"]).await;
    bed.set_up().await;
    for task in 0..3 {
        let start = bed.start(task, task, &bed.map(task, 0, 0));
        support::tasks::order(&link, job::wire::task_order::Order::Start(start)).await;
    }
    for _ in 0..3 {
        done(&support::tasks::ended(&mut link).await);
    }
    bed.commit(&[
        "attempt_m_000000_0",
        "attempt_m_000001_0",
        "attempt_m_000002_0",
    ])
    .await;
    let said = bed.text("alone-m-00000").await;
    // Either device, and one of them at a time.
    assert!(said.starts_with("1@") && said.ends_with(" 2\n"), "{said}");
    link.leave().await;
}
