//! From `MPI_Init` to `MPI_Finalize`, of programs that know nothing of it: a library that is preloaded
//! into the ranks notes the two moments (`it/programs/span.c`).

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::mpi;

use crate::programs::Programs;

/// The library, and the folder where the ranks of one run leave a file each.
pub(crate) struct Spans {
    library: PathBuf,
    folder: PathBuf,
}

/// From the first rank past `MPI_Init` to the last at `MPI_Finalize`: nanoseconds of the machine's
/// monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Span {
    pub(crate) fn length(self) -> Duration {
        Duration::from_nanos(self.end.saturating_sub(self.begin))
    }
}

impl Spans {
    /// Compiles the library beside the programs, with the same compiler wrapper; one of these for each of
    /// `N` runs at once.
    pub(crate) fn beside<const N: usize>(programs: &Programs) -> Result<[Self; N]> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/span.c");
        let compiler = programs.mpich().mpicc();
        let library = mpi::compile(compiler, &source, programs.folder(), &["-shared", "-fPIC"])?;
        let spans = std::array::from_fn(|number| Self {
            library: library.clone(),
            folder: programs.folder().join(format!("spans-{number}")),
        });
        for one in &spans {
            fs::create_dir(&one.folder)?;
        }
        Ok(spans)
    }

    /// Preloads it; `mpiexec` and `gerbil-run` take the same words.
    pub(crate) fn options(&self) -> Vec<String> {
        let variables = [
            ("LD_PRELOAD", &self.library),
            ("MPI_SPAN_FOLDER", &self.folder),
        ];
        let words = variables.map(|(name, path)| {
            let path = path.display().to_string();
            ["-genv".to_owned(), name.to_owned(), path]
        });
        words.into_iter().flatten().collect()
    }

    /// Forgets the last run.
    pub(crate) fn clear(&self) -> Result<()> {
        fs::remove_dir_all(&self.folder)?;
        Ok(fs::create_dir(&self.folder)?)
    }

    /// The process ids of the ranks that are past `MPI_Init`.
    pub(crate) fn begun(&self) -> Result<Vec<i32>> {
        let notes = self.notes()?;
        Ok(notes.iter().filter_map(Note::begun).collect())
    }

    /// How many ranks have come to `MPI_Finalize`.
    pub(crate) fn ended(&self) -> Result<usize> {
        let notes = self.notes()?;
        Ok(notes.iter().filter(|note| note.ended().is_some()).count())
    }

    /// Of a run of so many ranks.
    pub(crate) fn span(&self, ranks: usize) -> Result<Span> {
        let notes = self.notes()?;
        ensure!(
            notes.len() == ranks,
            "{} ranks of {ranks} were watched",
            notes.len()
        );
        span(&notes)
    }

    fn notes(&self) -> Result<Vec<Note>> {
        let files = fs::read_dir(&self.folder)?;
        let notes = files.map(|file| Ok(Note(fs::read_to_string(file?.path())?)));
        notes.collect()
    }
}

/// What a rank wrote: its process id and the two moments, a line each.
struct Note(String);

impl Note {
    /// The number of a line that is written to its end.
    fn number<N: FromStr>(&self, line: usize) -> Option<N> {
        let line = self.0.split_inclusive('\n').nth(line)?;
        line.strip_suffix('\n')?.parse().ok()
    }

    /// The process id, when the first moment is there too.
    fn begun(&self) -> Option<i32> {
        self.number::<u64>(1).and_then(|_begin| self.number(0))
    }

    fn ended(&self) -> Option<u64> {
        self.number(2)
    }
}

fn span(notes: &[Note]) -> Result<Span> {
    let (mut begin, mut end) = (u64::MAX, 0);
    for note in notes {
        let begun: u64 = note.number(1).context("no moment of MPI_Init")?;
        let ended = note.ended().context("no moment of MPI_Finalize")?;
        (begin, end) = (begin.min(begun), end.max(ended));
    }
    ensure!(begin <= end, "the end before the begin");
    Ok(Span { begin, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(texts: &[&str]) -> Vec<Note> {
        texts.iter().map(|text| Note((*text).to_owned())).collect()
    }

    #[test]
    fn the_longest_span_is_from_the_first_begin_to_the_last_end() {
        let both = span(&notes(&["7\n1000\n9000\n", "8\n800\n8000\n"])).unwrap();
        assert_eq!(both.length(), Duration::from_nanos(8200));
        let error = span(&notes(&["7\n1000\n"])).unwrap_err().to_string();
        assert_eq!(error, "no moment of MPI_Finalize");
        assert!(span(&notes(&["7\n9\n8\n"])).is_err());
    }

    #[test]
    fn a_line_counts_when_it_is_whole() {
        let texts = ["", "17\n", "17\n10", "17\n1000\n", "17\n1000\n20"];
        let begun = texts.map(|text| Note(text.to_owned()).begun());
        assert_eq!(begun, [None, None, None, Some(17), Some(17)]);
        assert_eq!(Note("17\n1000\n20".to_owned()).ended(), None);
        assert_eq!(Note("17\n1000\n2000\n".to_owned()).ended(), Some(2000));
    }
}
