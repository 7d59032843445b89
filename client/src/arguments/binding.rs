//! Which processors a process may run on, and what is brought to it.

use std::path::PathBuf;

use clap::Args;
use job::BindUnit;

/// The options on processors.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Processors of a node")]
pub(crate) struct BindArguments {
    /// Bind each process to so many neighbouring units of its container's processors: none,
    /// hwthread, core, socket or numa. Containers of one node know nothing of each other: where they
    /// have no processors of their own, all begin with the first
    #[arg(long, visible_aliases = ["binding", "cpu-bind"], value_name = "UNIT[:N]", value_parser = bind_to)]
    pub bind_to: Option<To>,

    /// With -bind-to: take the units from one socket (or numa, core) after the other, not in order
    #[arg(long, value_name = "UNIT", value_parser = map_by, requires = "bind_to")]
    pub map_by: Option<BindUnit>,
}

/// A unit and how many, or none.
pub(crate) type To = (Option<BindUnit>, u32);

impl BindArguments {
    pub(crate) fn resolved(&self) -> job::Binding {
        job::Binding {
            to: self.bind_to.and_then(|(unit, count)| Some((unit?, count))),
            map: self.map_by,
        }
    }
}

fn unit(text: &str) -> Option<BindUnit> {
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

fn map_by(text: &str) -> Result<BindUnit, String> {
    unit(text).ok_or_else(|| {
        format!(
            "{text}: processes of a node are mapped by hwthread, core, socket or numa; how many a node \
             gets say -ppn, -hosts and -r, and its ranks are consecutive"
        )
    })
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
}

/// A file here and its name in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shipped {
    pub path: PathBuf,
    pub name: String,
}

fn shipped(text: &str) -> Result<Shipped, String> {
    let (path, name) = match text.rsplit_once('#') {
        Some((path, name)) => (PathBuf::from(path), Some(name.to_owned())),
        None => (PathBuf::from(text), None),
    };
    if text.contains("://") {
        return Err(format!(
            "{text}: only files of this machine are brought along"
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
        assert!(map_by("ppr:2:node").unwrap_err().contains("-ppn"));
    }

    #[test]
    fn a_shipped_file_has_a_name() {
        let found = shipped("a/b.txt").unwrap();
        assert_eq!(
            (found.path, found.name.as_str()),
            ("a/b.txt".into(), "b.txt")
        );
        assert_eq!(shipped("a/b.txt#c").unwrap().name, "c");
        assert!(shipped("hdfs://n/x").is_err());
        assert!(shipped("a/..").is_err());
    }
}
