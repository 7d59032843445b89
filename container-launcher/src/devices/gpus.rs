//! The graphics processors of the node that this container may open.
//!
//! The libraries of the three makers each read a variable with the numbers of the devices that a
//! process may see.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use super::{DeviceKind, Devices, NodeDevice};

/// What the numbers of devices are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    Nvidia,
    Amd,
    Intel,
}

impl Maker {
    const EVERY: [Self; 3] = [Self::Nvidia, Self::Amd, Self::Intel];

    /// In small letters.
    const fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
        }
    }

    /// With the variable that CUDA, ROCm and Level Zero read.
    pub(super) const fn kind(self) -> DeviceKind {
        DeviceKind {
            plural: "GPUs",
            variable: match self {
                Self::Nvidia => "CUDA_VISIBLE_DEVICES",
                Self::Amd => "ROCR_VISIBLE_DEVICES",
                Self::Intel => "ZE_AFFINITY_MASK",
            },
            none: "-1",
            order: match self {
                // Otherwise CUDA counts the fastest first.
                Self::Nvidia => Some(("CUDA_DEVICE_ORDER", "PCI_BUS_ID")),
                Self::Amd | Self::Intel => None,
            },
        }
    }

    /// The files of those that this container may open, in the order of their numbers: others are not
    /// counted by the libraries either.
    fn files(self, root: &Path) -> Vec<PathBuf> {
        match self {
            Self::Nvidia => nvidia(root),
            Self::Amd => amd(root),
            Self::Intel => intel(root),
        }
    }
}

/// What this container has; `variable` reads its environment, where a list is believed.
pub(crate) fn here(variable: &dyn Fn(&str) -> Option<String>) -> Option<Devices> {
    under(Path::new("/"), variable)
}

/// The files of those below `root` that may be opened, by the maker's name, of all makers that have some.
pub(crate) fn by_maker(root: &Path) -> Vec<(&'static str, Vec<PathBuf>)> {
    let all = Maker::EVERY.into_iter();
    let all = all.map(|maker| (maker.name(), maker.files(root)));
    all.filter(|(_, files)| !files.is_empty()).collect()
}

/// What a container has on a machine below `root`.
pub(crate) fn under(root: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Option<Devices> {
    Maker::EVERY.into_iter().find_map(|maker| {
        let (files, kind) = (maker.files(root), maker.kind());
        let each: Vec<NodeDevice> = match variable(kind.variable).filter(|l| !l.is_empty()) {
            Some(list) if !files.is_empty() => {
                let named = list.split(',').map(str::trim).map(|name| NodeDevice {
                    name: name.to_owned(),
                    on_node: file_of(root, name, &files),
                });
                named.collect()
            }
            _ => {
                let numbered = files.iter().enumerate().map(|(number, file)| NodeDevice {
                    name: number.to_string(),
                    on_node: file.clone(),
                });
                numbered.collect()
            }
        };
        (!each.is_empty()).then_some(Devices { kind, each })
    })
}

/// The file of the device that a list calls `name`: by its number, or as NVIDIA's driver tells it. One of
/// neither kind, a part of a device, has a file that is made for it.
fn file_of(root: &Path, name: &str, files: &[PathBuf]) -> PathBuf {
    let by_number = name
        .parse()
        .ok()
        .and_then(|number: usize| files.get(number));
    let by_driver = || {
        let told = told_by_nvidia(root).into_iter();
        let minor = told.map(|(_, gpu)| gpu).find(|gpu| gpu.uuid == name)?.minor;
        Some(root.join(format!("dev/nvidia{minor}")))
    };
    let made = || {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        root.join(format!("dev/shm/{MADE}{name}"))
    };
    by_number.cloned().or_else(by_driver).unwrap_or_else(made)
}

/// What stands before the name of a device that has no file of its own.
const MADE: &str = "gerbil-gpu-";

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

fn opens(device: &Path) -> bool {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(device)
        .is_ok()
}

fn numbered(name: &str, before: &str) -> bool {
    let number = name.strip_prefix(before).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Those of `folder` that are `before` and a number, in the order of the numbers.
fn in_order(folder: &Path, before: &str) -> Vec<String> {
    let mut names = names(folder);
    names.retain(|name| numbered(name, before));
    // Of numbers without leading zeros.
    sort::by(&mut names, |a, b| (a.len(), a).cmp(&(b.len(), b)));
    names
}

/// What NVIDIA's driver tells of a GPU.
struct ToldGpu {
    uuid: String,
    /// The number of its file.
    minor: String,
}

/// Of each GPU, by its place in the machine: `0000:3b:00.0`.
fn told_by_nvidia(root: &Path) -> BTreeMap<String, ToldGpu> {
    let told = root.join("proc/driver/nvidia/gpus");
    let gpu = |bus: String| {
        let text = fs::read_to_string(told.join(&bus).join("information")).ok()?;
        let field = |wanted: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(':'));
            fields.find_map(|(key, value)| (key.trim() == wanted).then(|| value.trim().to_owned()))
        };
        let minor = field("Device Minor")?;
        let uuid = field("GPU UUID").unwrap_or_default();
        Some((bus, ToldGpu { uuid, minor }))
    };
    names(&told).into_iter().filter_map(gpu).collect()
}

/// In the order of their places in the machine, by which CUDA counts them with [`DeviceKind::order`]; in that of their
/// files, most often the same, where the driver does not tell the place of each.
fn nvidia(root: &Path) -> Vec<PathBuf> {
    let dev = root.join("dev");
    let places: BTreeMap<String, String> = told_by_nvidia(root)
        .into_iter()
        .map(|(bus, gpu)| (format!("nvidia{}", gpu.minor), bus))
        .collect();
    let mut devices = in_order(&dev, "nvidia");
    if devices.iter().all(|name| places.contains_key(name)) {
        sort::by_key(&mut devices, |name| places.get(name));
    }
    let devices = devices.into_iter().map(|name| dev.join(name));
    devices.filter(|device| opens(device)).collect()
}

/// The driver lists processors too, which have no vector units.
fn amd(root: &Path) -> Vec<PathBuf> {
    let nodes = root.join("sys/class/kfd/kfd/topology/nodes");
    let property = |node: &str, wanted: &str| -> Option<u64> {
        let text = fs::read_to_string(nodes.join(node).join("properties")).ok()?;
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(wanted)?.trim().parse().ok())
    };
    let device = |node: &String| {
        let minor = property(node, "drm_render_minor ").unwrap_or(0);
        let device = root.join(format!("dev/dri/renderD{minor}"));
        let computes = property(node, "simd_count ").is_some_and(|count| count > 0);
        (computes && opens(&device)).then_some(device)
    };
    in_order(&nodes, "").iter().filter_map(device).collect()
}

fn intel(root: &Path) -> Vec<PathBuf> {
    const VENDOR: &str = "0x8086";
    let drm = root.join("sys/class/drm");
    let device = |name: &String| {
        let vendor = fs::read_to_string(drm.join(name).join("device/vendor"));
        let device = root.join("dev/dri").join(name);
        (vendor.is_ok_and(|vendor| vendor.trim() == VENDOR) && opens(&device)).then_some(device)
    };
    in_order(&drm, "renderD")
        .iter()
        .filter_map(device)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(root: &Path, variable: Option<&str>) -> Option<(&'static str, usize)> {
        let found = under(root, &|_| variable.map(str::to_owned))?;
        Some((found.kind.variable, found.each.len()))
    }

    #[test]
    fn devices_are_those_that_may_be_opened() {
        let node = tempfile::tempdir().unwrap();
        assert_eq!(found(node.path(), None), None);
        // A variable alone makes no device.
        assert_eq!(found(node.path(), Some("0,1")), None);
        for (path, text) in [
            ("sys/class/drm/card0/device/vendor", "0x8086\n"),
            ("sys/class/drm/renderD128/device/vendor", "0x8086\n"),
            ("sys/class/drm/renderD129/device/vendor", "0x1002\n"),
            ("dev/dri/renderD128", ""),
        ] {
            write(node.path(), path, text);
        }
        assert_eq!(found(node.path(), None), Some(("ZE_AFFINITY_MASK", 1)));
        for (node_number, text) in [
            (0, "simd_count 0\ndrm_render_minor 0\n"),
            (1, "simd_count 304\ndrm_render_minor 129\n"),
            (2, "simd_count 304\ndrm_render_minor 130\n"),
        ] {
            let path = format!("sys/class/kfd/kfd/topology/nodes/{node_number}/properties");
            write(node.path(), &path, text);
        }
        write(node.path(), "dev/dri/renderD129", "");
        assert_eq!(found(node.path(), None), Some(("ROCR_VISIBLE_DEVICES", 1)));
        for name in ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"] {
            write(node.path(), &format!("dev/{name}"), "");
        }
        assert_eq!(found(node.path(), None), Some(("CUDA_VISIBLE_DEVICES", 2)));
        assert_eq!(
            found(node.path(), Some("5")),
            Some(("CUDA_VISIBLE_DEVICES", 1))
        );
    }

    /// A GPU that NVIDIA's driver tells of.
    fn tell(root: &Path, bus: &str, uuid: &str, minor: u32) {
        let information =
            format!("Model: \t\t H100\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n");
        let told = format!("proc/driver/nvidia/gpus/{bus}/information");
        write(root, &told, &information);
    }

    #[test]
    fn numbers_are_of_places_in_the_machine() {
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        for minor in 0..3 {
            write(root, &format!("dev/nvidia{minor}"), "");
        }
        // The driver has numbered the files in another order.
        tell(root, "0000:3b:00.0", "GPU-2", 2);
        tell(root, "0000:1a:00.0", "GPU-1", 1);
        tell(root, "0001:00:00.0", "GPU-0", 0);
        let found = under(root, &|_| None).unwrap();
        assert_eq!(found.keys(), ["0@nvidia1", "1@nvidia2", "2@nvidia0"]);
        assert_eq!(found.order(), Some(("CUDA_DEVICE_ORDER", "PCI_BUS_ID")));
    }

    #[test]
    fn a_device_of_a_list_is_known_by_its_file() {
        let node = tempfile::tempdir().unwrap();
        let root = node.path();
        for name in ["nvidia0", "nvidia1"] {
            write(root, &format!("dev/{name}"), "");
        }
        tell(root, "0000:01:00.0", "GPU-77", 1);
        let of = |list: &str| -> Vec<PathBuf> {
            let found = under(root, &|_| Some(list.to_owned())).unwrap();
            found
                .each
                .into_iter()
                .map(|device| device.on_node)
                .collect()
        };
        let [first, second] = ["dev/nvidia0", "dev/nvidia1"].map(|file| root.join(file));
        assert_eq!(of("1, 0"), [second.clone(), first]);
        assert_eq!(of("GPU-77"), [second]);
        assert_eq!(of("MIG-1/2"), [root.join("dev/shm/gerbil-gpu-MIG-1-2")]);
    }
}
