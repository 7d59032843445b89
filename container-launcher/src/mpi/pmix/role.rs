//! The server's process, the role `--as=pmix`: standard input is the socket to its launcher.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use job::exit::Exit;
use job::wire::name_request::Kind;
use job::wire::{
    Fence, KeyValue, PmixAbort, PmixAnswer, PmixCall, PmixEvent, PmixFence, PmixJob, PmixLog,
    PmixModex, PmixModexed, PmixNames, PmixOrder, PmixReady, PmixRefusal, PmixSpawn, PmixText,
    PmixVariables, SpawnCommand, Stream, pmix_call, pmix_event, pmix_order,
};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, raise};
use pmix::{Answer, Call, Channel, JobData, Names, Node, Server};

use super::MESSAGE_MAX;
use crate::frames;
use crate::say;

/// A launcher reads at once what it is told; one that does not is dead or ends.
const WRITE_MAX: Duration = Duration::from_secs(10);

/// Runs the role.
pub fn pmix_main() -> ExitCode {
    set_pdeathsig(Signal::SIGKILL).ok();
    match serve() {
        Ok(()) => {
            // Handlers of the library that run at an exit find its threads at work, and nothing of it is to be kept.
            raise(Signal::SIGKILL).ok();
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!(
                "a PMIx server needs a launcher at its standard input: {error}"
            ));
            ExitCode::from(Exit::Usage.code())
        }
    }
}

/// Until the launcher has closed the socket.
fn serve() -> io::Result<()> {
    let mut launcher = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    launcher.set_write_timeout(Some(WRITE_MAX))?;
    let told = Arc::new(Mutex::new(launcher.try_clone()?));
    let order: PmixOrder = frames::receive(&mut launcher, MESSAGE_MAX)?;
    let Some(pmix_order::Order::Job(job)) = order.order else {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "its first words name no job",
        ));
    };
    let server = match begin(&job, &told) {
        Ok((server, ready)) => {
            tell(&told, pmix_event::Event::Ready(ready));
            server
        }
        Err(why) => {
            tell(&told, refused(&job, why));
            return Ok(());
        }
    };
    while let Ok(PmixOrder { order: Some(order) }) = frames::receive(&mut launcher, MESSAGE_MAX) {
        match order {
            pmix_order::Order::Job(job) => tell(&told, added(&server, &job)),
            pmix_order::Order::Over(group) => server.remove(group),
            pmix_order::Order::Answer(answer) => server.answer(answer.call, answer_of(answer)),
            pmix_order::Order::Modex(PmixModex {
                number,
                group,
                rank,
            }) => {
                let to = Arc::clone(&told);
                server.modex(group, rank, move |data| tell(&to, of_modexed(number, data)));
            }
        }
    }
    Ok(())
}

fn answer_of(answer: PmixAnswer) -> Answer {
    let PmixAnswer {
        failed,
        data,
        found,
        missing,
        known,
        name_space,
        call: _,
    } = answer;
    match failed {
        false if !name_space.is_empty() => Answer::Spawned(name_space),
        true if missing => Answer::Missing,
        true if known => Answer::Known,
        true => Answer::Failed,
        false if found.is_empty() => Answer::Done(data.into()),
        false => Answer::Found(
            found
                .into_iter()
                .map(|pair| (pair.key, pair.value))
                .collect(),
        ),
    }
}

fn of_names(rank: u32, names: Names) -> PmixNames {
    let of = |kind: Kind, entries: Vec<(String, String)>| PmixNames {
        rank,
        kind: kind.into(),
        entries: entries
            .into_iter()
            .map(|(key, value)| KeyValue { key, value })
            .collect(),
        ..PmixNames::default()
    };
    let bare = |names: Vec<String>| {
        names
            .into_iter()
            .map(|name| (name, String::new()))
            .collect()
    };
    match names {
        Names::Publish { entries, once } => PmixNames {
            once,
            ..of(Kind::Publish, entries)
        },
        Names::Lookup { names, wait } => PmixNames {
            waits: wait.is_some(),
            patience_s: wait.unwrap_or_default(),
            ..of(Kind::Lookup, bare(names))
        },
        Names::Unpublish { names } => of(Kind::Unpublish, bare(names)),
    }
}

fn of_modexed(number: u64, data: Option<Vec<u8>>) -> pmix_event::Event {
    pmix_event::Event::Modexed(PmixModexed {
        number,
        failed: data.is_none(),
        data: data.unwrap_or_default().into(),
    })
}

/// A server, and what its ranks are to be started with.
fn begin(job: &PmixJob, told: &Arc<Mutex<UnixStream>>) -> Result<(Server, PmixReady), String> {
    let to = Arc::clone(told);
    let on_call = move |number, group, call| {
        tell(&to, pmix_event::Event::Call(of_call(number, group, call)));
    };
    let data = data_of(job);
    let library = Path::new(&job.library);
    let words = |error: pmix::ServerError| error.to_string();
    let server = Server::begin(library, &job.folder, &data, on_call).map_err(words)?;
    let ready = ready(&server, &data).map_err(words)?;
    Ok((server, ready))
}

/// What comes of it when a group that was spawned is to be served, too.
fn added(server: &Server, job: &PmixJob) -> pmix_event::Event {
    let data = data_of(job);
    let ready = server.add(&data).and_then(|()| ready(server, &data));
    match ready {
        Ok(ready) => pmix_event::Event::Ready(ready),
        Err(error) => refused(job, error.to_string()),
    }
}

fn refused(job: &PmixJob, why: String) -> pmix_event::Event {
    pmix_event::Event::Refusal(PmixRefusal {
        group: job.group,
        why,
    })
}

fn ready(server: &Server, data: &JobData) -> Result<PmixReady, pmix::ServerError> {
    let here = data.nodes.get(data.here).map(|node| node.ranks.clone());
    let mut ranks = Vec::new();
    for rank in here.unwrap_or_default() {
        let variables = server.variables(data.group, rank)?.into_iter();
        let variables = variables.map(|(key, value)| KeyValue { key, value });
        ranks.push(PmixVariables {
            variables: variables.collect(),
        });
    }
    Ok(PmixReady {
        version: server.version(),
        ranks,
        group: data.group,
    })
}

fn data_of(job: &PmixJob) -> JobData {
    let nodes = job.nodes.iter().map(|node| Node {
        name: node.name.clone(),
        ranks: node.ranks.clone(),
    });
    JobData {
        namespace: job.name_space.clone(),
        group: job.group,
        first: job.first,
        universe: job.universe_size,
        nodes: nodes.collect(),
        here: usize::try_from(job.here).unwrap_or(usize::MAX),
        programs: job.appnums.clone(),
        is_crowded: job.crowded,
        parent: (!job.parent_name_space.is_empty())
            .then(|| (job.parent_name_space.clone(), job.parent_rank)),
    }
}

fn of_call(number: u64, group: u32, call: Call) -> PmixCall {
    let group = match call {
        Call::Fence { across: true, .. } => Fence::ACROSS,
        _ => group,
    };
    let call = match call {
        Call::Connected { rank } => pmix_call::Call::Connected(rank),
        Call::Finalized { rank } => pmix_call::Call::Finalized(rank),
        Call::Abort {
            rank,
            status,
            message,
        } => pmix_call::Call::Abort(PmixAbort {
            rank,
            status,
            message,
        }),
        Call::Fence { ranks, data, .. } => pmix_call::Call::Fence(PmixFence {
            ranks,
            data: data.into(),
        }),
        Call::Names { rank, names } => pmix_call::Call::Names(of_names(rank, names)),
        Call::Spawn { rank, commands } => pmix_call::Call::Spawn(PmixSpawn {
            rank,
            commands: commands.into_iter().map(command_of).collect(),
        }),
        Call::Modex { rank } => pmix_call::Call::Modex(rank),
        Call::Log { rank, topic, texts } => {
            let texts = texts.into_iter().map(|(channel, text)| PmixText {
                stream: stream_of(channel).into(),
                text,
            });
            pmix_call::Call::Log(PmixLog {
                rank,
                texts: texts.collect(),
                topic: topic.unwrap_or_default(),
            })
        }
    };
    PmixCall {
        number,
        group,
        call: Some(call),
    }
}

/// Its keys are those of MPI.
fn command_of(wanted: pmix::SpawnCommand) -> SpawnCommand {
    let pair = |key: String, value: String| KeyValue { key, value };
    let infos = [("wdir", wanted.folder), ("host", wanted.hosts)];
    let infos = infos.map(|(key, value)| Some(pair(key.to_owned(), value?)));
    SpawnCommand {
        processes: wanted.processes,
        program: wanted.program,
        args: wanted.arguments,
        infos: infos.into_iter().flatten().collect(),
        environment: wanted
            .environment
            .into_iter()
            .map(|(key, value)| pair(key, value))
            .collect(),
    }
}

const fn stream_of(channel: Channel) -> Stream {
    match channel {
        Channel::Stdout => Stream::Stdout,
        Channel::Stderr => Stream::Stderr,
    }
}

/// Tells the launcher. One that cannot be told any more has gone or stands still: the server goes, too.
fn tell(launcher: &Mutex<UnixStream>, event: pmix_event::Event) {
    let mut launcher = launcher.lock().unwrap_or_else(PoisonError::into_inner);
    let event = PmixEvent { event: Some(event) };
    if frames::send(&mut *launcher, &event).is_err() {
        raise(Signal::SIGKILL).ok();
    }
}
