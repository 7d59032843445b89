//! From `MPI_Init` to `MPI_Finalize`, of programs that know nothing of it: a library that is preloaded
//! into the ranks notes the two moments (`it/programs/span.c`).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::mpi;

use crate::programs::Programs;

/// The library, and the folder where the ranks of one run leave a file each.
pub(crate) struct Spans {
    library: PathBuf,
    folder: PathBuf,
}

impl Spans {
    /// Compiles the library beside the programs, with the same compiler wrapper.
    pub(crate) fn beside(programs: &Programs) -> Result<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/span.c");
        let compiler = programs.mpich().mpicc();
        let library = mpi::compile(compiler, &source, programs.folder(), &["-shared", "-fPIC"])?;
        let folder = programs.folder().join("spans");
        fs::create_dir(&folder)?;
        Ok(Self { library, folder })
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

    /// How many ranks are past `MPI_Init`.
    pub(crate) fn begun(&self) -> Result<usize> {
        Ok(fs::read_dir(&self.folder)?.count())
    }

    /// From the first rank past `MPI_Init` to the last at `MPI_Finalize`.
    pub(crate) fn longest(&self, ranks: usize) -> Result<Duration> {
        let files = fs::read_dir(&self.folder)?;
        let texts = files.map(|file| Ok(fs::read_to_string(file?.path())?));
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        ensure!(
            texts.len() == ranks,
            "{} ranks of {ranks} were watched",
            texts.len()
        );
        longest(&texts)
    }
}

/// Of ranks that wrote this: two lines each, nanoseconds.
fn longest(texts: &[String]) -> Result<Duration> {
    let (mut first, mut last) = (u64::MAX, 0);
    for text in texts {
        let mut moments = text.lines().map(str::parse::<u64>);
        let mut moment = |of| moments.next().with_context(|| format!("no moment of {of}"));
        first = first.min(moment("MPI_Init")??);
        last = last.max(moment("MPI_Finalize")??);
    }
    let span = last
        .checked_sub(first)
        .context("the end before the begin")?;
    Ok(Duration::from_nanos(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_span_is_from_the_first_begin_to_the_last_end() {
        let texts = ["1000\n9000\n", "800\n8000\n"].map(str::to_owned);
        assert_eq!(longest(&texts).unwrap(), Duration::from_nanos(8200));
        let text = ["1000\n".to_owned()];
        let error = longest(&text).unwrap_err().to_string();
        assert_eq!(error, "no moment of MPI_Finalize");
        assert!(longest(&["9\n8\n".to_owned()]).is_err());
    }
}
