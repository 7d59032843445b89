//! `fpgad`: the driver of a node's accelerators, and what belongs to it.

mod command;

use clap::{Parser, Subcommand};
use fpga_driver::client::address;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shares a node's accelerators between processes
#[derive(Parser)]
#[command(name = "fpgad", version)]
struct Arguments {
    /// The driver's socket [default: $GERBIL_FPGAD, else /run/gerbil/fpgad.sock of root, else /tmp/gerbil-UID/fpgad.sock]
    #[arg(long, global = true, value_name = "SOCKET")]
    fpgad: Option<PathBuf>,
    /// What the node has
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        default_value = "/etc/gerbil/fpga.toml"
    )]
    profile: PathBuf,
    #[command(subcommand)]
    command: Option<FpgadCommand>,
}

#[derive(Subcommand)]
enum FpgadCommand {
    /// Serve until killed (what fpgad does without a command)
    Serve {
        /// Let this user in, besides this one and root
        #[arg(long, value_name = "UID")]
        allow_uid: Vec<u32>,
    },
    /// List virtual devices, their boards, leases, rates and queues
    Ps,
    /// Check the profile, and say what it offers
    Profile {
        /// Print what YARN's resource-types.xml and node-resources.xml must say
        #[arg(long)]
        xml: bool,
    },
    /// Prove a board: registers, both directions, interrupts, known answers, rates
    Check {
        /// model, rtl, xdma:N for /dev/xdmaN, or xdma:PATH for files that begin so
        #[arg(long, value_name = "BOARD")]
        board: String,
    },
    /// Measure this machine: parsing, assembling, rings, latency, 20 clients, the driver at rest
    Bench {
        /// Draw the 20 clients' packets as an SVG
        #[arg(long, value_name = "FILE")]
        gantt: Option<PathBuf>,
        /// Seconds for each measurement
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
    },
    /// Measure whether a board pays: K-means of text on the processor alone and with a board of 200 MHz behind a link of
    /// 1000 MB/s, whose time is modelled
    Pays {
        /// Numbers of centroids
        #[arg(long, value_name = "K,...", value_delimiter = ',', default_values_t = [16, 32, 64, 128],
            value_parser = clap::value_parser!(u16).range(1..=1024))]
        centroids: Vec<u16>,
        /// Numbers of threads, each of which has a device of the same board
        #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1, 2],
            value_parser = clap::value_parser!(u8).range(1..=64))]
        threads: Vec<u8>,
        /// Seconds for each measurement
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
    },
    /// Lease a device and keep packets flying until killed: load for trying a node
    Exercise {
        /// echo or sink
        #[arg(long, default_value = "echo")]
        function: fpga_driver::Function,
    },
    /// Serve a folder with the device files of Xilinx's driver, over a modelled or simulated card
    XdmaEmu {
        /// The folder; the files' names begin with xdma0_
        folder: PathBuf,
        /// model or rtl
        #[arg(long, default_value = "model", value_name = "BOARD")]
        board: String,
    },
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) => {
            // Help and version are no refusals, and go to stdout.
            let code = if refusal.use_stderr() {
                command::USAGE
            } else {
                0
            };
            drop(refusal.print());
            return ExitCode::from(code);
        }
    };
    let named = arguments.fpgad.or_else(address::named_socket);
    let own = named.clone().unwrap_or_else(address::own_socket);
    let any = named.unwrap_or_else(address::default_socket);
    let profile = &arguments.profile;
    let done = match arguments.command {
        None => command::serve::run(own, profile, Vec::new()),
        Some(FpgadCommand::Serve { allow_uid }) => command::serve::run(own, profile, allow_uid),
        Some(FpgadCommand::Ps) => command::ps::run(&any),
        Some(FpgadCommand::Profile { xml }) => command::profile::run(profile, xml),
        Some(FpgadCommand::Check { board }) => command::check::run(&board),
        Some(FpgadCommand::Bench { gantt, seconds }) => {
            command::bench::run(gantt.as_deref(), seconds)
        }
        Some(FpgadCommand::Pays {
            centroids,
            threads,
            seconds,
        }) => command::bench::pays::run(&centroids, &threads, seconds),
        Some(FpgadCommand::Exercise { function }) => command::exercise::run(&any, function),
        Some(FpgadCommand::XdmaEmu { folder, board }) => command::emulate::run(&folder, &board),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            command::complain(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}
