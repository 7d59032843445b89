//! The command line as the user typed it.

use std::ffi::OsString;

use clap::Parser;

use crate::words;

/// Runs MPI programs on a Hadoop YARN cluster, as mpiexec does on its own hosts.
#[derive(Debug, Parser)]
#[command(
    name = "gerbil-run",
    version,
    override_usage = "gerbil-run [OPTIONS] PROGRAM [ARGS]...\n       gerbil-run [OPTIONS] -a PROGRAM [-i \"ARGS\"]\n       gerbil-run -k APPLICATION_ID",
    after_help = "The cluster is the one that HADOOP_CONF_DIR, YARN_CONF_DIR or HADOOP_HOME names.\n\
                  The exit code is that of the first rank that failed, 128 + N for signal N; \
                  gerbil-run's own codes are 64 (usage), 65 (the cluster can never give this), \
                  69 (cluster unreachable), 70 (job lost), 74 (staging), 78 (settings), \
                  126 and 127 (program not executable, not found), 130 (Ctrl-C)."
)]
pub(crate) struct Arguments {
    /// Number of processes, at most a million
    #[arg(short = 'n', long = "processes", value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub processes: u32,

    /// Priority of the application in its queue; higher is sooner
    #[arg(short = 'p', long, value_name = "P", allow_negative_numbers = true)]
    pub priority: Option<i32>,

    /// The program, in GERBIL's own form
    #[arg(
        short = 'a',
        long = "mpi",
        value_name = "PROGRAM",
        conflicts_with = "command"
    )]
    pub mpi: Option<OsString>,

    /// Its arguments, in GERBIL's own form: one string, quotes honoured
    #[arg(short = 'i', long, value_name = "ARGS")]
    pub arguments: Option<String>,

    /// End the application with this id, and wait until it is gone
    #[arg(short = 'k', long, value_name = "APPLICATION_ID", conflicts_with_all = ["mpi", "command"])]
    pub kill: Option<String>,

    /// Queue to submit to
    #[arg(long, value_name = "QUEUE", default_value = "default")]
    pub queue: String,

    /// Name of the application, as YARN's pages show it [default: the program's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Memory of one process: MiB, or with a unit as in 512m or 4g [default: the cluster's smallest
    /// container]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub mem_per_proc: Option<u64>,

    /// Cores of one process
    #[arg(long, value_name = "CORES", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub vcores_per_proc: u32,

    /// Ports the ApplicationMaster may listen on, for firewalls
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    pub am_ports: Option<(u16, u16)>,

    /// Network interface of the nodes over which the job talks
    #[arg(long, value_name = "INTERFACE")]
    pub iface: Option<String>,

    /// Do not ship the shared libraries that the program needs: the nodes have them
    #[arg(long)]
    pub no_ship_libs: bool,

    /// Folder to stage files in: hdfs://… or file:/… on every node [default: .gerbil in the user's
    /// home folder on the cluster's file system]
    #[arg(long, value_name = "URL")]
    pub staging: Option<String>,

    /// At the end print where the time went
    #[arg(long)]
    pub timing: bool,

    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM [ARGS]"
    )]
    pub command: Vec<OsString>,
}

impl Arguments {
    /// The program and its arguments, from whichever form was used.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(crate) fn program(&mut self) -> Result<(OsString, Vec<String>), String> {
        match (self.mpi.take(), &self.arguments) {
            (Some(program), None) => Ok((program, Vec::new())),
            (Some(program), Some(text)) => Ok((program, words::split(text)?)),
            (None, Some(text)) => Err(format!(
                "-i {text}: arguments in this form belong to a program given with -a; without -a \
                 write them behind the program"
            )),
            (None, None) => {
                let mut command = std::mem::take(&mut self.command).into_iter();
                let Some(program) = command.next() else {
                    return Err("no program given; write for example: gerbil-run -n 4 ./cpi".into());
                };
                if let Some(option) = program.to_str().filter(|word| word.starts_with('-')) {
                    return Err(format!(
                        "there is no option {option} (gerbil-run --help lists all); a program of that \
                         name is written ./{option}"
                    ));
                }
                let text = |arg: OsString| {
                    arg.into_string()
                        .map_err(|arg| format!("the argument {} is no UTF-8", arg.display()))
                };
                Ok((program, command.map(text).collect::<Result<_, _>>()?))
            }
        }
    }
}

/// `512`, `512m`, `4g`, `1t`, also `4GiB` and `4GB`, as MiB.
fn memory(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    let number: u64 = digits.parse().map_err(|_not_a_number| {
        format!("{text} is no amount of memory; write for example 512m or 4g")
    })?;
    let scale = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" | "m" => 1,
        "g" => 1024,
        "t" => 1024 * 1024,
        _ => return Err(format!("{unit} is no unit of memory; write m, g or t")),
    };
    match number.checked_mul(scale) {
        Some(0) | None => Err(format!("{text} is out of range")),
        Some(mib) => Ok(mib),
    }
}

/// `50100-50200`, or one port.
fn ports(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| match text.trim().parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        Ok(_) | Err(_) => Err(format!("{text} is no port; write for example 50100-50200")),
    };
    let (first, last) = (port(first)?, port(last)?);
    if first > last {
        return Err(format!("the range {text} is empty"));
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("gerbil-run").chain(line.split_whitespace()))
    }

    #[test]
    fn everything_after_the_program_belongs_to_the_program() {
        let given = parse("-n 8 --queue q ./cpi -n 3 --queue x --help").unwrap();
        assert_eq!(given.processes, 8);
        assert_eq!(given.queue, "q");
        assert_eq!(
            given.command,
            ["./cpi", "-n", "3", "--queue", "x", "--help"]
        );
    }

    #[test]
    fn gerbils_own_form_says_the_same() {
        let theirs = parse("-a ./cpi -n 2 -i 1").unwrap().program();
        let mpiexecs = parse("-n 2 ./cpi 1").unwrap().program();
        assert_eq!(theirs, mpiexecs);
        assert_eq!(theirs, Ok(("./cpi".into(), vec!["1".to_owned()])));
        assert!(parse("-a ./cpi ./other").is_err());
        assert!(parse("-i x ./cpi").unwrap().program().is_err());
        assert!(parse("-n 2").unwrap().program().is_err());
        assert!(parse("-n 0 ./cpi").is_err());
        assert!(parse("-n 1000000000 ./cpi").is_err());
        let unknown = parse("-n 2 --no-such 5 ./cpi").unwrap().program();
        assert!(unknown.unwrap_err().contains("--no-such"));
    }

    #[test]
    fn amounts_of_memory_have_units() {
        assert_eq!(memory("512"), Ok(512));
        assert_eq!(memory("4g"), Ok(4096));
        assert_eq!(memory("4GiB"), Ok(4096));
        assert_eq!(memory("1tb"), Ok(1024 * 1024));
        for bad in ["", "g", "0", "12x", "99999999999999999t", "-1"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn port_ranges_are_ranges() {
        assert_eq!(ports("50100-50200"), Ok((50100, 50200)));
        assert_eq!(ports("50100"), Ok((50100, 50100)));
        for bad in ["", "0-5", "9-8", "1-70000", "a-b"] {
            assert!(ports(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_definition_holds_together() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
