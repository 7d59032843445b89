//! Which graphics processors of the node a rank may use.
//!
//! The libraries of the three makers each read a variable with the numbers of the devices that a
//! process may see. The node's devices are dealt in the order of the local ranks, as many to each as
//! is wanted, none to two.

use std::fs::{self, OpenOptions};
use std::path::Path;

/// What the numbers of devices are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Nvidia,
    Amd,
    Intel,
}

impl Maker {
    const EVERY: [Self; 3] = [Self::Nvidia, Self::Amd, Self::Intel];

    /// The variable that CUDA, ROCm and Level Zero read.
    const fn variable(self) -> &'static str {
        match self {
            Self::Nvidia => "CUDA_VISIBLE_DEVICES",
            Self::Amd => "ROCR_VISIBLE_DEVICES",
            Self::Intel => "ZE_AFFINITY_MASK",
        }
    }

    /// Those that this container may open: others are not counted by the libraries either.
    fn count(self, root: &Path) -> usize {
        match self {
            Self::Nvidia => nvidia(&root.join("dev")),
            Self::Amd => amd(root),
            Self::Intel => intel(root),
        }
    }
}

/// The devices of a node, of one maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Devices {
    maker: Maker,
    /// As the variable names them.
    names: Vec<String>,
}

impl Devices {
    /// What this container has; `variable` reads its environment, where a list is believed.
    pub(crate) fn here(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        Self::under(Path::new("/"), variable)
    }

    fn under(root: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        Maker::EVERY.into_iter().find_map(|maker| {
            let count = maker.count(root);
            let names = match variable(maker.variable()).filter(|list| !list.is_empty()) {
                Some(list) if count > 0 => list.split(',').map(|n| n.trim().to_owned()).collect(),
                _ => (0..count)
                    .map(|number| number.to_string())
                    .collect::<Vec<_>>(),
            };
            (!names.is_empty()).then_some(Self { maker, names })
        })
    }
}

/// The variables of each of `ranks` local ranks that is to have `each` devices.
///
/// # Errors
///
/// The node has too few: a sentence without the host.
pub(crate) fn deal(
    devices: Option<&Devices>,
    ranks: usize,
    each: u32,
) -> Result<Vec<Option<(String, String)>>, String> {
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    let there = devices.map_or(0, |devices| devices.names.len());
    let wanted = ranks.saturating_mul(each);
    if wanted > there {
        return Err(format!(
            "{ranks} processes with {each} GPUs each want {wanted}, and the node has {there}; ask \
             for fewer with -gpus-per-proc, for fewer processes on a node with -ppn, or for nodes \
             that have more with --node-label"
        ));
    }
    let variable = |rank: usize| {
        let devices = devices?;
        let first = rank.saturating_mul(each);
        let own = devices.names.get(first..first.saturating_add(each))?;
        // An empty list would mean all of them.
        let list = match own {
            [] => "-1".to_owned(),
            own => own.join(","),
        };
        Some((devices.maker.variable().to_owned(), list))
    };
    Ok((0..ranks).map(variable).collect())
}

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

fn nvidia(dev: &Path) -> usize {
    let devices = names(dev).into_iter();
    devices
        .filter(|name| numbered(name, "nvidia") && opens(&dev.join(name)))
        .count()
}

/// The driver lists processors too, which have no vector units.
fn amd(root: &Path) -> usize {
    let nodes = root.join("sys/class/kfd/kfd/topology/nodes");
    let property = |node: &str, wanted: &str| -> Option<u64> {
        let text = fs::read_to_string(nodes.join(node).join("properties")).ok()?;
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(wanted)?.trim().parse().ok())
    };
    let usable = |node: &String| {
        let minor = property(node, "drm_render_minor ").unwrap_or(0);
        property(node, "simd_count ").is_some_and(|count| count > 0)
            && opens(&root.join(format!("dev/dri/renderD{minor}")))
    };
    names(&nodes).iter().filter(|node| usable(node)).count()
}

fn intel(root: &Path) -> usize {
    const VENDOR: &str = "0x8086";
    let drm = root.join("sys/class/drm");
    let usable = |name: &String| {
        let vendor = fs::read_to_string(drm.join(name).join("device/vendor"));
        numbered(name, "renderD")
            && vendor.is_ok_and(|vendor| vendor.trim() == VENDOR)
            && opens(&root.join("dev/dri").join(name))
    };
    names(&drm).iter().filter(|name| usable(name)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(root: &Path, variable: Option<&str>) -> Option<(Maker, usize)> {
        let found = Devices::under(root, &|_| variable.map(str::to_owned))?;
        Some((found.maker, found.names.len()))
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
        assert_eq!(found(node.path(), None), Some((Maker::Intel, 1)));
        for (node_number, text) in [
            (0, "simd_count 0\ndrm_render_minor 0\n"),
            (1, "simd_count 304\ndrm_render_minor 129\n"),
            (2, "simd_count 304\ndrm_render_minor 130\n"),
        ] {
            let path = format!("sys/class/kfd/kfd/topology/nodes/{node_number}/properties");
            write(node.path(), &path, text);
        }
        write(node.path(), "dev/dri/renderD129", "");
        assert_eq!(found(node.path(), None), Some((Maker::Amd, 1)));
        for name in ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"] {
            write(node.path(), &format!("dev/{name}"), "");
        }
        assert_eq!(found(node.path(), None), Some((Maker::Nvidia, 2)));
        assert_eq!(found(node.path(), Some("5")), Some((Maker::Nvidia, 1)));
    }

    #[test]
    fn no_device_is_dealt_twice() {
        let devices = Devices {
            maker: Maker::Nvidia,
            names: ["0", "1", "GPU-a"].map(str::to_owned).to_vec(),
        };
        let lists = |ranks, each| {
            let dealt = deal(Some(&devices), ranks, each)?.into_iter();
            Ok::<_, String>(dealt.map(|own| own.unwrap().1).collect::<Vec<_>>())
        };
        assert_eq!(lists(3, 1).unwrap(), ["0", "1", "GPU-a"]);
        assert_eq!(lists(1, 2).unwrap(), ["0,1"]);
        assert_eq!(lists(2, 0).unwrap(), ["-1", "-1"]);
        let refused = lists(2, 2).unwrap_err();
        assert!(
            refused.contains("want 4") && refused.contains("has 3"),
            "{refused}"
        );
        assert_eq!(deal(None, 2, 0), Ok(vec![None, None]));
        assert!(deal(None, 1, 1).unwrap_err().contains("has 0"));
    }
}
