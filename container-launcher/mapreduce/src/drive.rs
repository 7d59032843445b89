//! The role that drives: it says hello to its client, runs the driver's code, and says how that ended.

pub(crate) mod client;
pub(crate) mod run;
pub(crate) mod submit;

use std::process::ExitCode;

use gerbil_task::{FromDriver, VERSION};

use crate::app::App;
use crate::arguments::Arguments;
use crate::error::Result;
use crate::task::role::{FAILED, socket, tell_panics};
use client::DriverSocket;
use run::Run;

/// Drives the jobs of `app`, which its client runs.
pub(crate) fn drive(app: &App, arguments: &Arguments) -> Result<ExitCode> {
    let mut connection = socket()?.of_driver();
    connection.send(&FromDriver::Hello {
        version: VERSION,
        plan: app.digest(),
    })?;
    tell_panics(&connection)?;
    let Some(client) = DriverSocket::greet(connection)? else {
        return Ok(ExitCode::from(FAILED));
    };
    let mut run = Run {
        app,
        arguments,
        client: &client,
    };
    let driven = match app.driver() {
        Some(driver) => driver(&mut run),
        None => run.only_job(),
    };
    match driven {
        Ok(()) => client.done().map(|()| ExitCode::SUCCESS),
        Err(error) => client
            .failed(&error.to_string())
            .map(|()| ExitCode::FAILURE),
    }
}
