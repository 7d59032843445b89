//! Several programs on one command line, each with ranks and options of its own.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use super::program::{self, Further};
use super::program_hosts;
use super::{Arguments, ParseError, TypedProgram};
use crate::hostfile::PROCESSES_MAX;
use crate::usage::UsageError;

impl Arguments {
    /// Reads the programs behind the first; all of them then have a number of processes.
    pub(super) fn further(&mut self, lines: Vec<Vec<OsString>>) -> Result<(), ParseError> {
        if lines.is_empty() {
            return Ok(());
        }
        let refused = ParseError::Refused;
        let own = Further::command();
        for line in lines {
            let options = line
                .iter()
                .map_while(|word| word.to_str()?.strip_prefix("--"));
            for option in options.take_while(|option| !option.is_empty()) {
                let long = option.split('=').next().unwrap_or(option);
                if !own
                    .get_arguments()
                    .any(|known| known.get_long() == Some(long))
                {
                    return Err(refused(format!(
                        "--{long} counts for all programs; write it before the first of them"
                    )));
                }
            }
            self.further.push(Further::try_parse_from(line)?);
        }
        let first = self.mpi.as_ref().or(self.command.first());
        let first = (first, self.placement.processes);
        let rest = self.further.iter();
        let rest = rest.map(|own| (own.mpi.as_ref().or(own.command.first()), own.processes));
        let mut sum = 0u64;
        for ((program, processes), number) in std::iter::once(first).chain(rest).zip(1..) {
            let Some(program) = program else {
                return Err(refused(format!("program {number} of the line is missing")));
            };
            let Some(processes) = processes else {
                return Err(refused(format!(
                    "program {number} ({}) has no -n: a colon as a word of its own begins another program, and each wants \
                     its own; where it is a word for the program, run that by sh -c",
                    program.display()
                )));
            };
            sum += u64::from(processes);
        }
        let rest = (self.further.iter())
            .map(|own| (own.processes.unwrap_or_default(), own.hosts.as_ref()));
        let first = (
            self.placement.processes.unwrap_or_default(),
            self.placement.list(),
        );
        let placed: Vec<_> = std::iter::once(first).chain(rest).collect();
        if let Some((hosts, ranks)) = program_hosts::together(&placed).map_err(refused)? {
            if self.placement.rankmap.is_some() || self.placement.rank_by.is_some() {
                return Err(refused(
                    "-rankmap and -rank-by do not go with hosts of each program, which say where each rank runs".to_owned(),
                ));
            }
            self.placement.hostfile = None;
            self.placement.hosts = Some(hosts);
            self.placement.rankmap = Some(ranks);
        }
        self.first_processes = self.placement.processes;
        self.placement.processes = Some(
            u32::try_from(sum)
                .ok()
                .filter(|sum| *sum <= PROCESSES_MAX)
                .ok_or_else(|| {
                    refused(format!(
                        "the programs want {sum} processes together; a job has at most {PROCESSES_MAX}"
                    ))
                })?,
        );
        Ok(())
    }

    /// All programs, in the order of their ranks.
    ///
    /// # Errors
    /// A program is missing, or has arguments that are none.
    pub(crate) fn programs(&mut self) -> Result<Vec<TypedProgram>, UsageError> {
        let (mpi, command) = (self.mpi.take(), std::mem::take(&mut self.command));
        let (file, args) = program::named(mpi, self.arguments.as_deref(), command)?;
        let mut programs = vec![TypedProgram {
            processes: self.first_processes,
            file,
            args,
            start: self.start.clone(),
        }];
        for own in std::mem::take(&mut self.further) {
            let (file, args) = program::named(own.mpi, own.arguments.as_deref(), own.command)?;
            programs.push(TypedProgram {
                processes: own.processes,
                file,
                args,
                start: own.start,
            });
        }
        Ok(programs)
    }
}
