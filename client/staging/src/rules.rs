//! Which libraries stay on the nodes, and which load others from a folder beside themselves.

/// Why a library is left to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// A part of the GNU C library. Its parts, the dynamic linker among them, are one release, and
    /// the node's linker has loaded the node's before the first of ours is looked at.
    CLibrary,
    /// Speaks to a driver of the node's kernel in a private way: only the one installed with that
    /// driver fits.
    Driver,
    /// Loads the driver of the network card from a folder fixed at its build, by a name that changes
    /// with its release. Where a fast network is, the node has the fitting one; ours in its place
    /// would find no card, and the job would crawl over TCP without a word.
    Fabric,
}

/// The parts of the C library that programs link to, up to the point of their version number, and
/// those that it loads itself.
const C_LIBRARY: [&str; 17] = [
    "libBrokenLocale",
    "libSegFault",
    "libanl",
    "libc",
    "libc_malloc_debug",
    "libdl",
    "libm",
    "libmemusage",
    "libmvec",
    "libnsl",
    "libnss_compat",
    "libnss_dns",
    "libnss_files",
    "libpthread",
    "libresolv",
    "librt",
    "libutil",
];

/// Starts of the names of libraries that belong to a kernel driver. `libcudart` and the other parts
/// of the CUDA toolkit do not: they travel.
const DRIVER: [&str; 7] = [
    "libcuda.so",
    "libcudadebugger.so",
    "libnvcuvid.so",
    "libnvidia-",
    "libnvoptix.so",
    "libxpmem.so",
    "libgdrapi.so",
];

/// Starts of the names of libraries that belong to a network card's driver (rdma-core and PSM).
const FABRIC: [&str; 10] = [
    "libefa.so",
    "libfabric-psm",
    "libhfi1",
    "libibverbs.so",
    "libmlx4.so",
    "libmlx5.so",
    "libmana.so",
    "libpsm2.so",
    "libpsm_infinipath.so",
    "librdmacm.so",
];

/// Whether a library, by the name that others need it under, is left to the node.
///
/// [`Stays::Fabric`] binds only where the library is wanted by a provider, which the node may do
/// without. A program that needs it to start at all takes it along.
#[must_use]
pub fn stays(name: &str) -> Option<Stays> {
    let stem = name.split(".so").next().unwrap_or(name);
    // libnsl.so.2 is a project of its own; the C library's is number 1.
    if name.starts_with("ld-linux")
        || name.starts_with("ld64.so")
        || name.starts_with("linux-vdso")
        || (C_LIBRARY.contains(&stem) && name != "libnsl.so.2")
    {
        Some(Stays::CLibrary)
    } else if DRIVER.iter().any(|start| name.starts_with(start)) {
        Some(Stays::Driver)
    } else if FABRIC.iter().any(|start| name.starts_with(start)) {
        Some(Stays::Fabric)
    } else {
        None
    }
}

/// The folder beside a library from which it loads providers while it runs.
///
/// - UCX looks for its transports in `ucx/` beside libucs; libuct is built and installed with it.
/// - libfabric opens `libNAME-fi.so` by name, and the relocatable builds of it (MPICH's wheels,
///   Intel MPI) carry a RUNPATH of `$ORIGIN/libfabric` or `$ORIGIN/prov`.
/// - hwloc's plugins (graphics, PCI names, an XML reader) are not here: hwloc looks for them in the
///   folder of its build alone, and nothing that places processes needs them.
#[must_use]
pub fn providers(name: &str) -> &'static [&'static str] {
    let is = |stem: &str| {
        let rest = name.strip_prefix(stem);
        rest.is_some_and(|rest| rest == ".so" || rest.starts_with(".so."))
    };
    if is("libucs") || is("libuct") {
        &["ucx"]
    } else if is("libfabric") {
        &["libfabric", "prov"]
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_node_stays_and_what_sounds_like_it_travels() {
        for name in [
            "libc.so.6",
            "libm.so.6",
            "libnsl.so.1",
            "libmvec.so.1",
            "ld-linux-x86-64.so.2",
            "ld-linux-aarch64.so.1",
            "libnss_dns.so.2",
        ] {
            assert_eq!(stays(name), Some(Stays::CLibrary), "{name}");
        }
        assert_eq!(stays("libcuda.so.1"), Some(Stays::Driver));
        assert_eq!(stays("libnvidia-ml.so.1"), Some(Stays::Driver));
        assert_eq!(stays("libibverbs.so.1"), Some(Stays::Fabric));
        for name in [
            "libcudart.so.12",
            "libmpi.so.12",
            "libstdc++.so.6",
            "libgcc_s.so.1",
            "libcrypt.so.1",
            "libnsl.so.2",
            "libcap.so.2",
            "librtmp.so.1",
            "libfabric.so.1",
        ] {
            assert_eq!(stays(name), None, "{name}");
        }
    }

    #[test]
    fn only_the_library_itself_has_providers() {
        assert_eq!(providers("libucs.so.0"), ["ucx"]);
        assert_eq!(providers("libfabric.so.1"), ["libfabric", "prov"]);
        assert!(providers("libucs_signal.so.0").is_empty());
        assert!(providers("libfabric-psm.so").is_empty());
    }
}
