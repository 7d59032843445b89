//! Whether the ranks of a share want PMIx, and what their server is told of the job.

use std::path::Path;

use job::exit::Exit;
use job::wire::{PmixJob, Refusal, Share};

use crate::cores::Cores;
use crate::node_facts;
use crate::program::LocalRanks;

/// Folder in the job's working directory with what libpmix and Open MPI share between processes.
const FOLDER: &str = ".gerbil-pmix";

/// The folder of a job that has its files in `folder`.
pub(super) fn folder(folder: &Path) -> std::path::PathBuf {
    folder.join(FOLDER)
}

/// What a server is told; none: no program of the share wants one.
///
/// # Errors
///
/// The refusal to send, where it cannot be served.
pub(super) fn of(
    share: &Share,
    programs: &[LocalRanks<'_>],
    files: &Path,
) -> Result<Option<PmixJob>, Refusal> {
    let mut libraries = programs.iter().map(|run| run.program.pmix_library.as_str());
    let Some(library) = libraries.clone().find(|library| !library.is_empty()) else {
        return Ok(None);
    };
    let refuse = |sentence: String| Refusal {
        sentence: format!("{}: {sentence}", node_facts::hostname()),
        exit_code: i32::from(Exit::Impossible.code()),
        group: 0,
    };
    if let Some(other) = libraries.find(|other| *other != library) {
        let other = match other {
            "" => "no PMIx",
            other => other,
        };
        return Err(refuse(format!(
            "the programs of the job want {library} and {other}: start programs of one MPI library together"
        )));
    }
    let Some(folder) = folder(files).to_str().map(str::to_owned) else {
        return Err(refuse(format!(
            "libpmix can use no folder whose name is no text: {}",
            files.display()
        )));
    };
    let runs = share.programs.iter().zip(0_u32..);
    let appnums = runs.flat_map(|(program, appnum)| {
        let ranks = usize::try_from(program.processes).unwrap_or(usize::MAX);
        std::iter::repeat_n(appnum, ranks)
    });
    let size = usize::try_from(share.size).unwrap_or(usize::MAX);
    Ok(Some(PmixJob {
        library: match files.join(library).to_str() {
            Some(path) => path.to_owned(),
            None => library.to_owned(),
        },
        folder,
        name_space: share.kvs_name.clone(),
        universe_size: share.universe_size,
        nodes: share.nodes.clone(),
        here: share.node,
        appnums: appnums.take(size).collect(),
        crowded: Cores::usable_of(&share.cpus).are_outnumbered_by(share.ranks.len()),
        group: 0,
        first: 0,
        parent_name_space: String::new(),
        parent_rank: 0,
    }))
}

#[cfg(test)]
mod tests {
    use job::wire::{PmixNode, Program};

    use super::*;
    use crate::program;

    fn share(libraries: &[&str], size: u32) -> Share {
        let programs = libraries.iter().map(|library| Program {
            processes: 2,
            pmix_library: (*library).to_owned(),
            ..Program::default()
        });
        Share {
            size,
            ranks: (0..u32::try_from(libraries.len()).unwrap() * 2).collect(),
            programs: programs.collect(),
            kvs_name: "kvs_1".to_owned(),
            node: 1,
            nodes: vec![PmixNode::default(), PmixNode::default()],
            ..Share::default()
        }
    }

    fn asked(share: &Share) -> Result<Option<PmixJob>, Refusal> {
        of(share, &program::of(share), Path::new("/container"))
    }

    #[test]
    fn only_who_wants_pmix_has_a_server() {
        assert_eq!(asked(&share(&["", ""], 4)).unwrap(), None);
        let job = asked(&share(&["/l/libpmix.so.2", "/l/libpmix.so.2"], 4));
        let job = job.unwrap().unwrap();
        assert_eq!(job.library, "/l/libpmix.so.2");
        assert_eq!(job.folder, "/container/.gerbil-pmix");
        assert_eq!(job.appnums, [0, 0, 1, 1]);
        assert_eq!((job.nodes.len(), job.here), (2, 1));
        // One that came with the job.
        let job = asked(&share(&["gerbil-lib/libpmix.so.2"], 4)).unwrap();
        assert_eq!(job.unwrap().library, "/container/gerbil-lib/libpmix.so.2");
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_its_reason() {
        let refusal = asked(&share(&["/l/libpmix.so.2", ""], 4)).unwrap_err();
        assert_eq!(refusal.exit_code, i32::from(Exit::Impossible.code()));
        for word in ["/l/libpmix.so.2", "no PMIx"] {
            assert!(refusal.sentence.contains(word), "{}", refusal.sentence);
        }
    }
}
