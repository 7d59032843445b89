//! The client at the other end of a driver's socket: one question, one answer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::rc::Rc;

use gerbil_task::{Connection, FromDriver, Listed, Submission, ToDriver, VERSION};

use crate::context::Counters;
use crate::error::{Context as _, Error, Result};
use crate::input::Opened;
use crate::input::splits::OpenNamed;
use crate::local::inline::{self, InlineClient};
use crate::sentence::bounded;

/// Who answers.
#[derive(Debug)]
enum Client {
    /// The process at the other end of the socket.
    Process(Rc<RefCell<Connection>>),
    /// This one.
    Here(Rc<RefCell<InlineClient>>),
}

/// The other end of a driver's socket.
#[derive(Debug)]
pub(crate) struct DriverSocket {
    client: Client,
    submissions: Cell<u32>,
    /// Settings of the cluster, below those of the plan.
    pub(crate) defaults: BTreeMap<String, String>,
    /// Settings that the client was given, above those of the plan.
    pub(crate) given: BTreeMap<String, String>,
    /// Most bytes of a split of jobs whose splits have to fit a device.
    pub(crate) split_max: BTreeMap<String, u64>,
}

impl DriverSocket {
    /// Hears the answer to the driver's hello. It ends with the client, so it waits for that alone. None: it is
    /// refused, and the client says why.
    pub(crate) fn greet(mut connection: Connection) -> Result<Option<Self>> {
        match connection.receive()? {
            ToDriver::Welcome {
                version,
                defaults,
                given,
                split_max,
            } if version == VERSION => Ok(Some(Self {
                client: Client::Process(Rc::new(RefCell::new(connection))),
                submissions: Cell::new(0),
                defaults,
                given,
                split_max,
            })),
            ToDriver::Welcome { version, .. } => Err(Error::new(format!(
                "the client speaks version {version} of the task protocol, this is {VERSION}"
            ))),
            ToDriver::Refused { .. } => Ok(None),
            other => Err(Error::new(format!("no welcome but {other:?}"))),
        }
    }

    /// A client that is this very process.
    pub(crate) fn inline(client: Rc<RefCell<InlineClient>>) -> Self {
        Self {
            client: Client::Here(client),
            submissions: Cell::new(0),
            defaults: BTreeMap::new(),
            given: BTreeMap::new(),
            split_max: BTreeMap::new(),
        }
    }

    fn ask(&self, message: FromDriver) -> Result<ToDriver> {
        match &self.client {
            Client::Process(connection) => ask(&mut connection.borrow_mut(), &message),
            Client::Here(client) => client.borrow_mut().answer(message),
        }
    }

    /// Hands a job over; its number.
    pub(crate) fn submit(&self, mut submission: Submission) -> Result<u32> {
        let number = self.submissions.get();
        submission.submission = number;
        self.submissions.set(number + 1);
        match self.ask(FromDriver::Submit(submission))? {
            ToDriver::Accepted { .. } => Ok(number),
            other => Err(confused("submit", &other)),
        }
    }

    /// Waits for a job's end.
    pub(crate) fn wait(&self, submission: u32) -> Result<Counters> {
        match self.ask(FromDriver::Wait { submission })? {
            ToDriver::Ended {
                failure: Some(sentence),
                ..
            } => Err(Error::new(sentence)),
            ToDriver::Ended { counters, .. } => Ok(counters),
            other => Err(confused("wait", &other)),
        }
    }

    /// Waits for a job's output, whatever becomes of its counters.
    pub(crate) fn wait_for_output(&self, submission: u32) -> Result<()> {
        match self.ask(FromDriver::Wait { submission })? {
            ToDriver::Ended {
                failure: Some(sentence),
                has_output: false,
                ..
            } => Err(Error::new(sentence)),
            ToDriver::Ended { .. } => Ok(()),
            other => Err(confused("wait", &other)),
        }
    }

    /// The files of a folder, or the file of that name.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Listed>> {
        let path = path.to_owned();
        match self.ask(FromDriver::List { path })? {
            ToDriver::Listed { files } => Ok(files),
            other => Err(confused("list", &other)),
        }
    }

    /// The files of a job's input.
    pub(crate) fn files(
        &self,
        inputs: &[String],
        recursive: bool,
        map_files: bool,
    ) -> Result<Vec<Listed>> {
        let asked = FromDriver::Files {
            inputs: inputs.to_vec(),
            recursive,
            map_files,
        };
        match self.ask(asked)? {
            ToDriver::Listed { files } => Ok(files),
            other => Err(confused("files", &other)),
        }
    }

    /// What opens the client's files.
    pub(crate) fn opener(&self) -> OpenNamed {
        let Client::Process(connection) = &self.client else {
            return Rc::new(|path, _| inline::open(path).map(Opened::File));
        };
        let connection = Rc::clone(connection);
        Rc::new(move |path, from| {
            let file = open(&mut connection.borrow_mut(), path, from)?;
            let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
            Ok(if kind.is_file() {
                Opened::File(file)
            } else {
                Opened::Stream(file)
            })
        })
    }

    /// The text of these files in a row.
    pub(crate) fn read(&self, files: &[Listed]) -> Result<String> {
        let mut text = String::new();
        for file in files {
            let file_itself = match &self.client {
                Client::Process(connection) => open(&mut connection.borrow_mut(), &file.path, 0)?,
                Client::Here(_) => inline::open(&file.path)?,
            };
            text.push_str(&std::io::read_to_string(file_itself).context(|| file.path.clone())?);
        }
        Ok(text)
    }

    /// Removes the output of a job of this driver.
    pub(crate) fn remove(&self, path: &str) -> Result<()> {
        let path = path.to_owned();
        match self.ask(FromDriver::Remove { path })? {
            ToDriver::Removed => Ok(()),
            other => Err(confused("remove", &other)),
        }
    }

    /// Says that all is done, and waits for jobs that nobody waited for.
    pub(crate) fn done(&self) -> Result<()> {
        match self.ask(FromDriver::Done)? {
            ToDriver::Leave => Ok(()),
            other => Err(confused("done", &other)),
        }
    }

    /// Says why the driver has failed.
    pub(crate) fn failed(&self, sentence: &str) -> Result<()> {
        let sentence = bounded(sentence).into_owned();
        match &self.client {
            Client::Process(connection) => {
                let mut connection = connection.borrow_mut();
                Ok(connection.send(&FromDriver::Failed { sentence })?)
            }
            Client::Here(_) => Err(Error::new(sentence)),
        }
    }
}

/// Says something and hears the answer; a refusal is an error.
fn ask(connection: &mut Connection, message: &FromDriver) -> Result<ToDriver> {
    connection.send(message)?;
    match connection.receive()? {
        ToDriver::Refused { sentence } => Err(Error::new(sentence)),
        answer => Ok(answer),
    }
}

/// A file, or a pipe out of which it comes from this byte on.
fn open(connection: &mut Connection, path: &str, from: u64) -> Result<File> {
    let path = path.to_owned();
    match ask(connection, &FromDriver::Open { path, from })? {
        ToDriver::Opened => Ok(connection.descriptor()?.into()),
        other => Err(confused("open", &other)),
    }
}

fn confused(asked: &str, answer: &ToDriver) -> Error {
    Error::new(format!(
        "the client answered {asked} with {answer:?}, which makes no sense there"
    ))
}
