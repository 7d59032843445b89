//! Something else where the ResourceManager should be.

use std::io::Write as _;
use std::net::TcpListener;

use anyhow::Result;

use crate::given::{Case, Given};

pub const CASES: &[(&str, Case)] = &[
    ("wrong ResourceManager address", wrong_address),
    ("a port that speaks HTTP", http_port),
    ("a port that speaks something else", other_port),
    ("a port that says nothing", silent_port),
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
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let mut held = Vec::new();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            held.push(connection);
        }
    });
    given.unreachable(&address, &[])
}
