//! Something else where the ResourceManager should be.

use std::io::Write as _;
use std::net::TcpListener;

use anyhow::Result;
use it::settings::File as Setting;
use it::{expect, gerbil};

use crate::given::{Case, DEADLINE, Given};

pub const CASES: &[(&str, Case)] = &[
    ("wrong ResourceManager address", wrong_address),
    ("a port that speaks HTTP", http_port),
    ("a port that speaks something else", other_port),
    ("a port that says nothing", silent_port),
    (
        "the first of two ResourceManagers says nothing",
        silent_first,
    ),
];

fn wrong_address(given: &Given) -> Result<()> {
    // The cluster's own network, where nothing else listens.
    let host = given.cluster.nodes()[0].host;
    given.unreachable(&format!("{host}:8032"), &[])
}

fn http_port(given: &Given) -> Result<()> {
    let address = given
        .cluster
        .resource_manager_address()
        .replace(":8032", ":8088");
    given.unreachable(&address, &["HTTP"])
}

fn other_port(given: &Given) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    // Ends with the process; it holds nothing but a socket.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut connection = connection;
            drop(connection.write_all(b"SSH-2.0-Elsewhere\r\n"));
        }
    });
    given.unreachable(&address, &[])
}

fn silent_port(given: &Given) -> Result<()> {
    given.unreachable(&silence()?, &[])
}

/// As for clients and ApplicationMasters one is whose process is frozen.
fn silent_first(given: &Given) -> Result<()> {
    let silent = silence()?;
    let (living, scheduler) = (
        given.cluster.resource_manager_address(),
        given.cluster.scheduler_address(),
    );
    let rm = |name: &str, value: &str| (format!("yarn.resourcemanager.{name}"), value.to_owned());
    let settings = [
        rm("ha.enabled", "true"),
        rm("ha.rm-ids", "rm1,rm2"),
        rm("address.rm1", &silent),
        rm("scheduler.address.rm1", &silent),
        rm("address.rm2", &living),
        rm("scheduler.address.rm2", &scheduler),
    ];
    let settings: Vec<(Setting, &str, &str)> = settings
        .iter()
        .map(|(name, value)| (Setting::Yarn, name.as_str(), value.as_str()))
        .collect();
    let conf = given.settings("silent-first", &settings)?;
    let program = given.program("linger")?;
    let job = gerbil::run_with(&conf, ["-n", "2", &program, "0"])?;
    expect::job(&given.cluster, job.deadline(DEADLINE)).map(drop)
}

/// Where connections are taken, and nothing is answered, until this process ends.
fn silence() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let mut held = Vec::new();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            held.push(connection);
        }
    });
    Ok(address)
}
