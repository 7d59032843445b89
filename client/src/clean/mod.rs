//! `gerbil clean`: what jobs and sessions have left, on the cluster's file system and on this machine. It is shown, and
//! removed where the user says so.
//!
//! Only names that gerbil makes are touched, only what is the user's own, and nothing that an application or a process
//! of the user's may still need. Results and checkpoints are the user's work: they are named, and stay.

mod here;
mod kept;
mod staged;

use std::collections::BTreeSet;
use std::process::ExitCode;

use ::job::exit::Exit;
use proto_hadoop::ApplicationId;
use proto_hadoop::conf::ConfError;
use terminal::table::{Column, table};
use terminal::{Text, print, say};

use crate::cluster::{Cluster, ClusterError};
use crate::failure::Failure;
use crate::frame;
use crate::ps::live;
use crate::subcommands::CleanArguments;

use self::kept::{Fate, Kept};
use self::staged::Staging;

/// The whole command.
pub(crate) fn main(given: CleanArguments) -> ExitCode {
    frame::interrupted_anywhere(clean(given))
}

async fn clean(given: CleanArguments) -> Result<u8, Failure> {
    let cluster = match Cluster::find() {
        Ok(cluster) => Some(cluster),
        Err(ClusterError::Settings(why @ ConfError::NoYarnSite { .. })) => {
            say(format_args!(
                "the cluster is not looked at, this machine alone: {why}"
            ));
            None
        }
        Err(failure) => return Err(failure.into()),
    };
    let (staging, running) = match &cluster {
        Some(cluster) => (
            Some(Staging::open(given.staging.as_deref(), cluster)?),
            running(cluster).await?,
        ),
        None => (None, BTreeSet::new()),
    };
    let mut all = here::kept(cluster.as_ref(), &running);
    if let Some(staging) = &staging {
        all.extend(staging.kept(&running).await?);
    }
    print(Text::Lines(lines(&all))).await?;
    let goes = all.iter().filter(|kept| kept.fate == Fate::Goes);
    let (files, bytes) = goes.fold((0, 0), |(files, bytes), kept| {
        (files + kept.files, bytes + kept.bytes)
    });
    if files == 0 {
        say("there is nothing to remove");
        return Ok(Exit::Success.code());
    }
    let size = kept::size(bytes);
    if !given.yes {
        say(format_args!(
            "gerbil clean --yes removes what goes: {size} in {files} files"
        ));
        return Ok(Exit::Success.code());
    }
    // One that was begun while the rest was looked at.
    let begun = match &cluster {
        Some(cluster) => crate::clean::running(cluster).await?,
        None => BTreeSet::new(),
    };
    if let Some(id) = begun.difference(&running).next() {
        say(format_args!(
            "{id} was begun meanwhile, so nothing is removed; give the command again"
        ));
        return Ok(Exit::Success.code());
    }
    here::remove(&all)?;
    if let Some(staging) = &staging {
        staging.remove(&all).await?;
    }
    say(format_args!("{size} in {files} files are removed"));
    Ok(Exit::Success.code())
}

/// The user's applications that wait or run.
async fn running(cluster: &Cluster) -> Result<BTreeSet<ApplicationId>, Failure> {
    let reports = live(&cluster.rm(), &cluster.user, None).await?;
    Ok(reports.iter().map(|report| report.id).collect())
}

fn lines(all: &[Kept]) -> Vec<String> {
    let columns = [
        Column::Left(""),
        Column::Right("files"),
        Column::Right("size"),
        Column::Left("what, and where"),
    ];
    let rows = all.iter().map(|kept| {
        let (fate, why) = match &kept.fate {
            Fate::Goes => ("goes", String::new()),
            Fate::Stays(why) => ("stays", format!(": {why}")),
        };
        vec![
            fate.to_owned(),
            kept.files.to_string(),
            kept::size(kept.bytes),
            format!("{}, {}{why}", kept.what, kept.place),
        ]
    });
    table(0, &columns, rows)
}
