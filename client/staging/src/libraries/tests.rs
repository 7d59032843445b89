use super::*;
use crate::crafted::Crafted;
use std::ffi::OsStr;
use std::os::unix::fs::symlink;

struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn library(&self, name: &str, crafted: &Crafted<'_>) {
        crafted.write(&self.path(name));
    }

    /// The closure of `bin/program`, with the laboratory as the system's root.
    fn closure(&self, library_path: &str) -> Result<Closure, StageError> {
        let program = self.path("bin/program");
        let elf = Elf::read(&program).unwrap().unwrap();
        let variable = Some(OsStr::new(library_path));
        let search = Search::new(elf.machine, variable, self.folder.path());
        closure(&program, &elf, &search)
    }
}

fn inside(closure: &Closure) -> Vec<&str> {
    closure
        .shipped
        .iter()
        .map(|shipped| shipped.inside.as_str())
        .collect()
}

/// As the wheels of MPICH 5 are laid out.
fn mpich(lab: &Lab) {
    let own = |folder| Crafted {
        runpath: Some(folder),
        ..Crafted::default()
    };
    let program = Crafted {
        needed: &["libmpi.so.12", "libc.so.6"],
        runpath: Some("$ORIGIN/../lib"),
        versions: &["GLIBC_2.2.5", "GLIBC_2.17"],
        ..Crafted::default()
    };
    lab.library("bin/program", &program);
    let mpi = Crafted {
        needed: &["libfabric.so.1", "libucs.so.0", "libm.so.6"],
        runpath: Some("$ORIGIN:$ORIGIN/mpich"),
        versions: &["GLIBC_2.28"],
        ..Crafted::default()
    };
    lab.library("lib/libmpi.so.12", &mpi);
    lab.library(
        "lib/mpich/libfabric.so.1",
        &own("$ORIGIN:$ORIGIN/libfabric"),
    );
    lab.library("lib/mpich/libucs.so.0.0.0", &own("$ORIGIN:$ORIGIN/ucx"));
    symlink("libucs.so.0.0.0", lab.path("lib/mpich/libucs.so.0")).unwrap();
    let verbs = Crafted {
        needed: &[
            "libfabric.so.1",
            "libibverbs.so.1",
            "libnl-3.so.200",
            "libgone.so.1",
        ],
        soname: Some("libverbs-fi.so"),
        versions: &["GLIBC_2.38"],
        ..Crafted::default()
    };
    lab.library("lib/mpich/libfabric/libverbs-fi.so", &verbs);
    let transport = Crafted {
        needed: &["libucs.so.0"],
        soname: Some("libuct_ib.so.0"),
        ..Crafted::default()
    };
    lab.library("lib/mpich/ucx/libuct_ib.so.0.0.0", &transport);
    symlink(
        "libuct_ib.so.0.0.0",
        lab.path("lib/mpich/ucx/libuct_ib.so.0"),
    )
    .unwrap();
    symlink("libuct_ib.so.0", lab.path("lib/mpich/ucx/libuct_ib.so")).unwrap();
    let dependent = Crafted {
        needed: &["libuct_ib.so.0"],
        soname: Some("libuct_rdmacm.so.0"),
        runpath: Some("$ORIGIN:$ORIGIN/.."),
        ..Crafted::default()
    };
    lab.library("lib/mpich/ucx/libuct_rdmacm.so.0", &dependent);
    fs::write(lab.path("lib/mpich/ucx/README"), "not a library").unwrap();
    lab.library("usr/lib/libnl-3.so.200", &Crafted::default());
    lab.library("usr/lib/libibverbs.so.1", &Crafted::default());
}

#[test]
fn providers_keep_their_folder_and_everything_else_lies_flat() {
    let lab = Lab::new();
    mpich(&lab);
    let closure = lab.closure("").unwrap();
    let wanted = [
        "libfabric.so.1",
        "libfabric/libverbs-fi.so",
        "libmpi.so.12",
        "libnl-3.so.200",
        "libucs.so.0",
        "ucx/libuct_ib.so.0",
        "ucx/libuct_rdmacm.so.0",
    ];
    assert_eq!(inside(&closure), wanted);
    let source = |name: &str| {
        let shipped = closure
            .shipped
            .iter()
            .find(|shipped| shipped.inside == name);
        shipped.unwrap().source.clone()
    };
    let real = lab
        .path("lib/mpich/libucs.so.0.0.0")
        .canonicalize()
        .unwrap();
    assert_eq!(source("libucs.so.0"), real);
    let why = |name: &str| {
        let left = closure.left.iter().find(|left| left.library == name);
        left.unwrap().why
    };
    assert_eq!(why("libibverbs.so.1"), Some(Stays::Fabric));
    assert_eq!(why("libgone.so.1"), None);
    assert_eq!(why("libm.so.6"), Some(Stays::CLibrary));
    let (version, file) = closure.glibc.unwrap();
    assert_eq!(version.to_string(), "2.28");
    assert!(file.ends_with("lib/libmpi.so.12"), "{}", file.display());
}

#[test]
fn what_intel_mpi_opens_by_itself_travels_with_the_variables_that_say_where() {
    let lab = Lab::new();
    let needs = |library: &'static [&'static str]| Crafted {
        needed: library,
        ..Crafted::default()
    };
    lab.library("bin/program", &needs(&["libmpi.so.12"]));
    lab.library("intel/lib/libmpi.so.12", &needs(&["libc.so.6"]));
    let fabric = "intel/lib/libfabric/libfabric.so.1";
    lab.library(fabric, &needs(&["libc.so.6"]));
    let provider = "intel/lib/libfabric/prov/libtcp-fi.so";
    lab.library(provider, &needs(&["libfabric.so.1", "libgone.so.1"]));
    let tables = lab.path("intel/opt/mpi/etc");
    fs::create_dir_all(&tables).unwrap();
    fs::write(tables.join("tuning_generic_shm.dat"), "table").unwrap();
    let path = lab.path("intel/lib");
    let closure = lab.closure(path.to_str().unwrap()).unwrap();
    let wanted = [
        "libfabric.so.1",
        "libmpi.so.12",
        "opt/mpi/etc/tuning_generic_shm.dat",
        "prov/libtcp-fi.so",
    ];
    assert_eq!(inside(&closure), wanted);
    let variable = |name: &str, inside: &str| (name.to_owned(), inside.to_owned());
    assert_eq!(
        closure.variables,
        [
            variable("FI_PROVIDER_PATH", "prov"),
            variable("I_MPI_ROOT", "")
        ]
    );
    // MPICH finds its own by itself.
    mpich(&lab);
    assert_eq!(lab.closure("").unwrap().variables, []);
}

#[test]
fn a_network_library_that_the_program_itself_needs_travels() {
    let lab = Lab::new();
    mpich(&lab);
    let program = Crafted {
        needed: &["libmpi.so.12", "libibverbs.so.1"],
        runpath: Some("$ORIGIN/../lib"),
        ..Crafted::default()
    };
    lab.library("bin/program", &program);
    assert!(inside(&lab.closure("").unwrap()).contains(&"libibverbs.so.1"));
}

#[test]
fn a_missing_library_is_named_with_who_wants_it_and_where_was_looked() {
    let lab = Lab::new();
    mpich(&lab);
    fs::remove_file(lab.path("lib/mpich/libfabric.so.1")).unwrap();
    let missing = lab.closure("").unwrap_err();
    assert_eq!(missing.exit(), job::exit::Exit::NotExecutable);
    let said = missing.to_string();
    for word in [
        "library libfabric.so.1, which ",
        "lib/libmpi.so.12 needs",
        "lib/mpich, ",
        "LD_LIBRARY_PATH",
        "--no-ship-libs",
    ] {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
}

#[test]
fn an_rpath_is_inherited_and_a_runpath_is_not() {
    let lab = Lab::new();
    let needs = |library: &'static [&'static str]| Crafted {
        needed: library,
        ..Crafted::default()
    };
    lab.library("opt/liba.so", &needs(&["libb.so"]));
    lab.library("opt/libb.so", &needs(&[]));
    let opt = lab.path("opt");
    let mut program = needs(&["liba.so"]);
    program.rpath = opt.to_str();
    lab.library("bin/program", &program);
    assert_eq!(inside(&lab.closure("").unwrap()), ["liba.so", "libb.so"]);
    program.runpath = program.rpath.take();
    lab.library("bin/program", &program);
    let missing = lab.closure("").unwrap_err().to_string();
    assert!(missing.contains("library libb.so"), "{missing}");
    assert_eq!(
        inside(&lab.closure(opt.to_str().unwrap()).unwrap()).len(),
        2
    );
}

#[test]
fn libraries_that_need_each_other_come_to_an_end() {
    let lab = Lab::new();
    let needs = |library: &'static [&'static str]| Crafted {
        needed: library,
        ..Crafted::default()
    };
    lab.library(
        "bin/program",
        &needs(&["liba.so", "/opt/fixed.so", "libcuda.so.1"]),
    );
    lab.library("lib/liba.so", &needs(&["libb.so"]));
    lab.library("lib/libb.so", &needs(&["liba.so"]));
    let closure = lab.closure("").unwrap();
    assert_eq!(inside(&closure), ["liba.so", "libb.so"]);
    assert_eq!(closure.left.len(), 2);
    assert_eq!(closure.left[1].why, Some(Stays::Driver));
}
