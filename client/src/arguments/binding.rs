//! Which processors a process may run on, and what is brought to it.

use std::path::{Path, PathBuf};

use clap::Args;
use job::BindUnit;
use staging::Shipped;
use staging::in_place::ProgramPlace;

use super::values::yes_or_no;
use crate::hostfile::PROCESSES_MAX;

/// The options on processors.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Processors of a node")]
pub(crate) struct BindArguments {
    /// Bind each process to so many neighbouring units of its container's processors: none,
    /// hwthread, core, socket or numa. Containers of one node know nothing of each other: where they
    /// have no processors of their own, all begin with the first
    #[arg(long, visible_aliases = ["binding", "cpu-bind"], value_name = "UNIT[:N]", value_parser = bind_to)]
    pub bind_to: Option<To>,

    /// With -bind-to: take the units from one socket (or numa, core) after the other, not in order.
    /// Without it, as Open MPI has it: node is the same as -rank-by node, slot as -rank-by slot,
    /// ppr:N:node as -ppn N
    #[arg(long, value_name = "UNIT", value_parser = map_by)]
    pub map_by: Option<MapBy>,

    /// Tell on standard error, before the program begins, which processors each process may run on
    #[arg(long)]
    pub report_bindings: bool,

    /// Give each process so many of its node's GPUs, by CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or
    /// ZE_AFFINITY_MASK. Where YARN counts them (yarn.io/gpu) it is asked for them, and no other job has
    /// the same. 0 hides them, AUTO says nothing of them, the default
    #[arg(short = 'g', long, value_name = "N", value_parser = gpus)]
    pub gpus_per_proc: Option<Gpus>,
}

/// By what processes are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapBy {
    /// The units of a node's processors.
    Unit(BindUnit),
    /// Node after node.
    Slot,
    /// One on each node in turn.
    Node,
    /// So many on each node.
    PerNode(u32),
}

/// GPUs of a process; `None`: nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gpus(pub Option<u32>);

fn gpus(text: &str) -> Result<Gpus, String> {
    match text {
        "AUTO" | "auto" => Ok(Gpus(None)),
        number => match number.parse() {
            Ok(number) => Ok(Gpus(Some(number))),
            Err(_) => Err(format!("{number} is no number of GPUs, nor AUTO")),
        },
    }
}

/// A unit and how many, or none.
pub(crate) type To = (Option<BindUnit>, u32);

impl BindArguments {
    pub(crate) fn resolved(&self) -> job::Binding {
        job::Binding {
            to: self.bind_to.and_then(|(unit, count)| Some((unit?, count))),
            map: match self.map_by {
                Some(MapBy::Unit(unit)) => Some(unit),
                Some(MapBy::Slot | MapBy::Node | MapBy::PerNode(_)) | None => None,
            },
            report: self.report_bindings,
        }
    }
}

pub(super) fn unit(text: &str) -> Option<BindUnit> {
    Some(match text {
        "hwthread" | "thread" | "threads" => BindUnit::Hwthread,
        "core" | "cores" => BindUnit::Core,
        "socket" | "sockets" | "package" => BindUnit::Socket,
        "numa" | "ldom" | "ldoms" => BindUnit::Numa,
        _ => return None,
    })
}

const POSSIBLE: &str = "none, hwthread, core, socket and numa are possible";

fn bind_to(text: &str) -> Result<To, String> {
    // srun's word to be told of it; nothing is bound otherwise than was asked.
    let plain = ["verbose,", "quiet,", "v,", "q,"];
    let plain = plain.iter().find_map(|word| text.strip_prefix(word));
    let plain = plain.unwrap_or(text);
    if plain == "none" {
        return Ok((None, 0));
    }
    let (name, count) = match plain.split_once(':') {
        Some((name, count)) => (name, count),
        None => (plain, "1"),
    };
    let unit = unit(name).ok_or_else(|| format!("{name} is no unit of processors; {POSSIBLE}"))?;
    match count.parse() {
        Ok(count @ 1..) => Ok((Some(unit), count)),
        Ok(0) | Err(_) => Err(format!("{count} is no number of them")),
    }
}

fn map_by(text: &str) -> Result<MapBy, String> {
    let on_each_node = || {
        let number = text.strip_prefix("ppr:")?.strip_suffix(":node")?;
        number
            .parse()
            .ok()
            .filter(|n| (1..=PROCESSES_MAX).contains(n))
    };
    match (text, unit(text), on_each_node()) {
        ("slot", ..) => Ok(MapBy::Slot),
        ("node", ..) => Ok(MapBy::Node),
        (_, Some(unit), _) => Ok(MapBy::Unit(unit)),
        (_, None, Some(number)) => Ok(MapBy::PerNode(number)),
        (_, None, None) => Err(format!(
            "{text}: the processes of a node are mapped by hwthread, core, socket or numa, all by slot, \
             node or ppr:N:node; how many a node gets say also -ppn, -hosts and -r"
        )),
    }
}

/// The options on what is shipped.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What is brought along")]
pub(crate) struct ShipArguments {
    /// Files to bring into the folder of every container, under their own names or another
    #[arg(long, value_name = "FILE[#NAME],...", value_delimiter = ',', value_parser = shipped)]
    pub files: Vec<Shipped>,

    /// The same with .tar, .tar.gz, .tgz and .zip archives, each unpacked into a folder of its name
    #[arg(long, value_name = "ARCHIVE[#NAME],...", value_delimiter = ',', value_parser = shipped)]
    pub archives: Vec<Shipped>,

    /// Bring a virtual environment of Python, or one of conda's, with the Python that it was made from:
    /// python3 is then the one of it. It is packed and uploaded once for what is in it; with --local it is not packed, but
    /// runs where it lies. Without this an environment's python3 is started at its own path, which the nodes have to have
    #[arg(long, value_name = "FOLDER")]
    pub venv: Option<PathBuf>,

    /// Whether the nodes run their own file at the program's path, where all have the very file that is here, in place
    /// of a copy of it; alone it is true. A program that looks for files beside its own finds them so. With --local,
    /// and in a session with --local, it runs where it lies [default: true for interpreters and outside of the home
    /// folder]
    #[arg(long, value_name = "BOOL", value_parser = yes_or_no)]
    pub in_place: Option<bool>,
}

impl ShipArguments {
    /// Which file of a program runs, on nodes that are this machine, or not.
    pub(crate) const fn place(&self, is_local: bool) -> ProgramPlace {
        match (self.in_place, is_local) {
            (Some(false), _) => ProgramPlace::Copy,
            (_, true) => ProgramPlace::Here,
            (Some(true), false) => ProgramPlace::Asked,
            (None, false) => ProgramPlace::Usual,
        }
    }
}

fn shipped(text: &str) -> Result<Shipped, String> {
    let (path, name) = match text.rsplit_once('#') {
        // A file whose own name has one.
        Some((path, _)) if Path::new(text).is_file() && !Path::new(path).exists() => {
            (PathBuf::from(text), None)
        }
        Some((path, name)) => (PathBuf::from(path), Some(name.to_owned())),
        None => (PathBuf::from(text), None),
    };
    if text.contains("://") {
        return Err(format!(
            "{text}: only files of this machine are brought along"
        ));
    }
    // Of . and .. too, which have no name of their own.
    if path.is_dir() {
        return Err(format!(
            "{text} is a folder; name its files one by one, or pack it and bring that: tar czf \
             /tmp/all.tgz {text}, then --archives /tmp/all.tgz"
        ));
    }
    let own = || Some(path.file_name()?.to_str()?.to_owned());
    match name.or_else(own) {
        Some(name) if !name.is_empty() => Ok(Shipped { path, name }),
        Some(_) | None => Err(format!("{text} wants a name behind #")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_the_names_of_three_launchers() {
        assert_eq!(bind_to("core"), Ok((Some(BindUnit::Core), 1)));
        assert_eq!(bind_to("socket:2"), Ok((Some(BindUnit::Socket), 2)));
        assert_eq!(bind_to("verbose,ldoms"), Ok((Some(BindUnit::Numa), 1)));
        assert_eq!(bind_to("none"), Ok((None, 0)));
        for bad in ["l3cache", "core:0", "core:x", ""] {
            assert!(bind_to(bad).is_err(), "{bad}");
        }
        assert_eq!(map_by("ppr:2:node"), Ok(MapBy::PerNode(2)));
        assert_eq!(map_by("socket"), Ok(MapBy::Unit(BindUnit::Socket)));
        for bad in ["ppr:2:socket", "ppr:0:node", "slot:PE=2", "l3cache"] {
            assert!(map_by(bad).unwrap_err().contains("-ppn"), "{bad}");
        }
        assert_eq!(gpus("AUTO"), Ok(Gpus(None)));
        assert_eq!(gpus("2"), Ok(Gpus(Some(2))));
        assert!(gpus("-1").is_err());
    }

    #[test]
    fn on_this_machine_a_program_runs_where_it_lies_unless_a_copy_is_asked_for() {
        for (in_place, local, cluster) in [
            (None, ProgramPlace::Here, ProgramPlace::Usual),
            (Some(true), ProgramPlace::Here, ProgramPlace::Asked),
            (Some(false), ProgramPlace::Copy, ProgramPlace::Copy),
        ] {
            let ship = ShipArguments {
                in_place,
                ..ShipArguments::default()
            };
            assert_eq!((ship.place(true), ship.place(false)), (local, cluster));
        }
    }

    #[test]
    fn a_shipped_file_has_a_name() {
        let found = shipped("a/b.txt").unwrap();
        assert_eq!(
            (found.path, found.name.as_str()),
            ("a/b.txt".into(), "b.txt")
        );
        assert_eq!(shipped("a/b.txt#c").unwrap().name, "c");
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("i#j");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(shipped(odd.to_str().unwrap()).unwrap().name, "i#j");
        assert!(shipped("hdfs://n/x").is_err());
        assert!(shipped("a/..").is_err());
        for folder in [".", "..", "/tmp"] {
            let error = shipped(folder).unwrap_err();
            assert!(
                error.starts_with(&format!("{folder} is a folder; ")),
                "{error}"
            );
        }
    }
}
