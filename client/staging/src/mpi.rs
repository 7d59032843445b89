//! Which MPI library a program is linked to, by the names of the libraries that it needs.

/// Whose it is decides whether ranks find each other: a library that looks for another process manager
/// than ours makes each of them a job of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiLibrary {
    /// Name of the library.
    pub library: String,
    /// It wants Open MPI's own process manager.
    pub is_open_mpi: bool,
}

/// The library among `names`. The number of its interface tells MPICH and its kin, 12, from Open MPI:
/// 20 and 40. Debian calls MPICH's libmpich.
pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<MpiLibrary> {
    names.into_iter().find_map(|library| {
        let number = library.strip_prefix("libmpi.so.");
        let number = number.map(|rest| rest.split('.').next().unwrap_or(rest));
        let is_open_mpi = match number {
            Some(number) => matches!(number, "20" | "40"),
            None if library.starts_with("libmpich.so.") => false,
            None => return None,
        };
        Some(MpiLibrary {
            library: library.to_owned(),
            is_open_mpi,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_tells_whose_a_library_is() {
        let open = |names: &[&str]| of(names.iter().copied()).map(|mpi| mpi.is_open_mpi);
        assert_eq!(open(&["libc.so.6", "libmpi.so.40"]), Some(true));
        assert_eq!(open(&["libmpi.so.20.1"]), Some(true));
        assert_eq!(open(&["libmpi.so.12"]), Some(false));
        assert_eq!(open(&["libmpich.so.12"]), Some(false));
        assert_eq!(open(&["libmpi_cxx.so.40", "ucx/libuct.so.0"]), None);
    }
}
