//! Where output goes: to our own standard output and error, or into files; labelled or as it is.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use job::wire::{OutputChunk, Stream};
use tokio::runtime::Handle;

use crate::descriptor;
use crate::error::FollowError;
use crate::hdfs_copy::{CopyFolder, HdfsCopy, name_of};
use crate::label::Labels;
use crate::pattern::{Pattern, Subject};
use terminal::write_whole;

/// Files that are open at once: a job may have more ranks than we may have descriptors.
const OPEN_MAX: usize = 128;

/// What the user wishes.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Every line begins with this.
    pub label: Option<Pattern>,
    /// Files for standard output and error, in place of ours.
    pub files: [Option<Pattern>; 2],
    /// A folder that keeps a copy.
    pub copy: Option<PathBuf>,
    /// A folder of HDFS that keeps one.
    pub hdfs_copy: Option<Arc<CopyFolder>>,
    /// The one rank whose output counts.
    pub only: Option<u32>,
}

impl Layout {
    /// Before the job starts: makes the folders that are known already.
    pub fn prepare(&self) -> Result<(), FollowError> {
        let mut folders: Vec<PathBuf> = self.copy.iter().cloned().collect();
        for pattern in self.files.iter().flatten() {
            let begin = pattern.beginning();
            if let Some((folder, _)) = begin.rsplit_once('/') {
                folders.push(PathBuf::from(format!("{folder}/")));
            }
        }
        for folder in folders {
            std::fs::create_dir_all(&folder)
                .map_err(|source| FollowError::OutputFolder { folder, source })?;
        }
        Ok(())
    }
}

/// Takes output and puts it where it belongs.
pub(crate) struct OutputWriter<O, E> {
    layout: Layout,
    stdout: O,
    stderr: E,
    /// Host and node of each rank that has written, where they matter.
    origins: BTreeMap<u32, (String, u32)>,
    labels: Labels,
    files: OutputFiles,
    /// Which run of the program is shown.
    run: u32,
    /// Our standard output is in the middle of a line.
    in_line: bool,
    hdfs_copy: Option<HdfsCopy>,
}

impl<O: Write, E: Write> OutputWriter<O, E> {
    pub fn new(layout: Layout, stdout: O, stderr: E) -> Self {
        Self {
            layout,
            stdout,
            stderr,
            origins: BTreeMap::new(),
            labels: Labels::default(),
            files: OutputFiles::default(),
            run: 0,
            in_line: false,
            hdfs_copy: None,
        }
    }

    /// Opens the folder of HDFS that keeps a copy, if there is one; `runtime` speaks to it.
    pub fn keep(&mut self, runtime: Handle) -> io::Result<()> {
        let folder = self.layout.hdfs_copy.clone();
        self.hdfs_copy = folder
            .map(|folder| HdfsCopy::new(folder, runtime))
            .transpose()?;
        Ok(())
    }

    pub fn take(&mut self, chunk: OutputChunk) -> io::Result<()> {
        if chunk.run > self.run {
            self.begin(chunk.run)?;
        } else if chunk.run < self.run {
            // A run that is over has nothing more to say.
            return Ok(());
        }
        let stream = chunk.stream();
        let rank = chunk.rank;
        if self.layout.only.is_some_and(|only| only != rank) {
            return Ok(());
        }
        let matters = self.layout.label.is_some() || self.layout.files.iter().any(Option::is_some);
        if matters && !chunk.host.is_empty() {
            self.origins.insert(rank, (chunk.host, chunk.node));
        }
        match &self.layout.label {
            None => self.show(rank, stream, &chunk.data),
            Some(label) => {
                let label = label.of(subject(&self.origins, rank));
                let shown = self.labels.add(rank, stream, &chunk.data, &label);
                self.show(rank, stream, &shown)
            }
        }
    }

    /// Another run begins: unfinished lines are ended, and files written anew.
    fn begin(&mut self, run: u32) -> io::Result<()> {
        if self.run > 0 {
            self.flush()?;
            self.labels = Labels::default();
            self.files = OutputFiles::default();
            self.hdfs_copy = self.hdfs_copy.take().map(HdfsCopy::anew).transpose()?;
        }
        self.run = run;
        Ok(())
    }

    /// So many bytes are not there, which is said in their place, on a line of its own.
    pub fn leave_out(&mut self, bytes: u64) -> io::Result<()> {
        self.flush()?;
        let begin = if self.in_line { "\n" } else { "" };
        self.in_line = false;
        let words = format!("{begin}[gerbil: {bytes} bytes of output are left out here]\n");
        write_whole(&mut self.stdout, words.as_bytes())?;
        self.stdout.flush()
    }

    /// What is still held of unfinished lines.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.hdfs_copy.map_or(Ok(()), HdfsCopy::finish)
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(label) = self.layout.label.clone() else {
            return Ok(());
        };
        let origins = std::mem::take(&mut self.origins);
        let label = |rank| label.of(subject(&origins, rank));
        let rest = self.labels.rest(&label);
        self.origins.clone_from(&origins);
        rest.into_iter()
            .try_for_each(|(rank, stream, line)| self.show(rank, stream, &line))
    }

    fn show(&mut self, rank: u32, stream: Stream, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        if let Some(folder) = &self.layout.copy {
            let path = folder.join(name_of(rank, stream));
            self.files.write(&path, data)?;
        }
        if let Some(copy) = &mut self.hdfs_copy {
            copy.add(rank, stream, data)?;
        }
        let [out, err] = &self.layout.files;
        let pattern = match stream {
            Stream::Stdout => out,
            Stream::Stderr => err,
        };
        match (pattern, stream) {
            (Some(pattern), _) => {
                let path = PathBuf::from(pattern.of(subject(&self.origins, rank)));
                self.files.write(&path, data)
            }
            (None, Stream::Stdout) => {
                self.in_line = !data.ends_with(b"\n");
                write_whole(&mut self.stdout, data)?;
                // At once, so that the two streams keep their order on a terminal.
                self.stdout.flush()
            }
            (None, Stream::Stderr) => write_whole(&mut self.stderr, data),
        }
    }
}

fn subject(origins: &BTreeMap<u32, (String, u32)>, rank: u32) -> Subject<'_> {
    let (host, node) = origins
        .get(&rank)
        .map_or(("unknown", 0), |(host, node)| (host.as_str(), *node));
    Subject { rank, host, node }
}

/// Files by their paths. A file is written anew when it is first used, and added to from then on.
#[derive(Debug, Default)]
struct OutputFiles {
    /// `None`: closed for want of descriptors.
    known: BTreeMap<PathBuf, Option<File>>,
    /// Those that are open, the oldest first.
    open: VecDeque<PathBuf>,
}

impl OutputFiles {
    fn write(&mut self, path: &Path, data: &[u8]) -> io::Result<()> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        if let Some(Some(file)) = self.known.get_mut(path) {
            return write_whole(file, data).map_err(named);
        }
        while self.open.len() >= OPEN_MAX {
            let oldest = self.open.pop_front();
            if let Some(file) = oldest.and_then(|oldest| self.known.get_mut(&oldest)) {
                *file = None;
            }
        }
        if let Some(mut file) = descriptor::named(path).map_err(named)? {
            write_whole(&mut file, data).map_err(named)?;
            self.known.insert(path.to_owned(), Some(file));
            self.open.push_back(path.to_owned());
            return Ok(());
        }
        let mut options = OpenOptions::new();
        match self.known.contains_key(path) {
            true => options.append(true),
            false => options.write(true).create(true).truncate(true),
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(named)?;
        }
        let mut file = options.open(path).map_err(named)?;
        write_whole(&mut file, data).map_err(named)?;
        self.known.insert(path.to_owned(), Some(file));
        self.open.push_back(path.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(rank: u32, stream: Stream, text: &str, host: &str) -> OutputChunk {
        OutputChunk {
            rank,
            stream: stream.into(),
            data: text.as_bytes().to_vec().into(),
            host: host.into(),
            node: rank / 2,
            run: 1,
            ..OutputChunk::default()
        }
    }

    #[test]
    fn output_goes_into_files_by_rank_and_host() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let pattern = |text: &str| Pattern::parse(path(text).to_str().unwrap()).unwrap();
        std::fs::create_dir(path("n1")).unwrap();
        std::fs::write(path("n1/0.out"), "older and longer text").unwrap();
        let layout = Layout {
            label: Some(Pattern::parse("%p> ").unwrap()),
            files: [Some(pattern("%h/%r.out")), Some(pattern("errors"))],
            ..Layout::default()
        };
        layout.prepare().unwrap();
        let mut outlet = OutputWriter::new(layout, Vec::new(), Vec::new());
        for chunk in [
            chunk(0, Stream::Stdout, "one\nt", "n1"),
            chunk(3, Stream::Stdout, "three\n", "n2"),
            chunk(3, Stream::Stderr, "bad\n", "n2"),
            chunk(0, Stream::Stderr, "worse", "n1"),
            chunk(0, Stream::Stdout, "wo\n", ""),
        ] {
            outlet.take(chunk).unwrap();
        }
        outlet.finish().unwrap();
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        assert_eq!(read("n1/0.out"), "0> one\n0> two\n");
        assert_eq!(read("n2/3.out"), "1> three\n");
        assert_eq!(read("errors"), "1> bad\n0> worse\n");
    }

    #[test]
    fn a_copy_is_beside_what_is_shown_and_one_rank_may_be_shown_alone() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout {
            copy: Some(folder.path().join("deep/copy")),
            only: Some(1),
            ..Layout::default()
        };
        layout.prepare().unwrap();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut outlet = OutputWriter::new(layout, &mut stdout, &mut stderr);
        outlet.take(chunk(0, Stream::Stdout, "no", "n")).unwrap();
        outlet.take(chunk(1, Stream::Stdout, "yes", "n")).unwrap();
        outlet.take(chunk(1, Stream::Stderr, "well", "n")).unwrap();
        outlet.finish().unwrap();
        assert_eq!((stdout, stderr), (b"yes".to_vec(), b"well".to_vec()));
        let copy = |name: &str| std::fs::read_to_string(folder.path().join("deep/copy").join(name));
        assert_eq!(copy("rank-1.out").unwrap(), "yes");
        assert_eq!(copy("rank-1.err").unwrap(), "well");
        assert!(copy("rank-0.out").is_err());
    }

    #[test]
    fn what_is_left_out_is_a_line_of_its_own_in_its_place() {
        for (label, wanted) in [
            (
                None,
                "one\ntw\n[gerbil: 7 bytes of output are left out here]\nend\n",
            ),
            (
                Some(Pattern::label()),
                "[0] one\n[0] tw\n[gerbil: 7 bytes of output are left out here]\n[0] end\n",
            ),
        ] {
            let layout = Layout {
                label,
                ..Layout::default()
            };
            let mut stdout = Vec::new();
            let mut outlet = OutputWriter::new(layout, &mut stdout, Vec::new());
            outlet
                .take(chunk(0, Stream::Stdout, "one\ntw", "n"))
                .unwrap();
            outlet.leave_out(7).unwrap();
            outlet.take(chunk(0, Stream::Stdout, "end\n", "n")).unwrap();
            outlet.finish().unwrap();
            assert_eq!(String::from_utf8(stdout).unwrap(), wanted);
        }
    }

    #[test]
    fn another_run_begins_its_files_anew_and_the_one_before_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rank");
        let pattern = Pattern::parse(path.to_str().unwrap()).unwrap();
        let layout = Layout {
            files: [Some(pattern), None],
            ..Layout::default()
        };
        let mut stderr = Vec::new();
        let mut outlet = OutputWriter::new(layout, Vec::new(), &mut stderr);
        for (run, text) in [(1, "one"), (2, "two "), (1, "late"), (2, "three")] {
            for stream in [Stream::Stdout, Stream::Stderr] {
                let chunk = OutputChunk {
                    run,
                    ..chunk(0, stream, text, "n")
                };
                outlet.take(chunk).unwrap();
            }
        }
        outlet.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two three");
        assert_eq!(stderr, b"onetwo three");
    }

    #[test]
    fn more_files_than_descriptors_are_all_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = OutputFiles::default();
        for _ in 0..2 {
            for number in 0..OPEN_MAX + 20 {
                files
                    .write(&folder.path().join(number.to_string()), b"x")
                    .unwrap();
                assert!(files.open.len() <= OPEN_MAX);
            }
        }
        for number in 0..OPEN_MAX + 20 {
            assert_eq!(
                std::fs::read(folder.path().join(number.to_string())).unwrap(),
                b"xx"
            );
        }
        let error = files.write(Path::new("/proc/no/such"), b"x").unwrap_err();
        assert!(error.to_string().contains("/proc/no/such"), "{error}");
    }
}
