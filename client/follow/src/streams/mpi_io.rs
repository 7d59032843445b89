//! What MPI's own words say of a file that all ranks open and some of them do not find.
//!
//! A container's folder is seen on its own node alone. The library of another node then says that a file does not exist,
//! of which its user knows that it does.

use std::collections::BTreeSet;

use job::wire::{OutputChunk, Stream};

/// What is said then.
pub(super) const SENTENCE: &str = "a rank does not find a file that the ranks open together (MPI-IO): over several nodes that \
                                   needs a folder that all nodes see, as with -wdir /shared/run7; a container's folder is \
                                   seen on its own node alone";

/// Looks at what ranks print until there is something to say, once.
#[derive(Debug, Default)]
pub(super) struct SharedFileWatch {
    nodes: BTreeSet<u32>,
    is_missing: bool,
    is_said: bool,
}

impl SharedFileWatch {
    /// Whether [`SENTENCE`] is to be said now.
    pub(super) fn sees(&mut self, chunk: &OutputChunk) -> bool {
        if self.is_said {
            return false;
        }
        self.nodes.insert(chunk.node);
        self.is_missing |= chunk.stream() == Stream::Stderr && is_of_a_missing_file(&chunk.data);
        self.is_said = self.is_missing && self.nodes.len() > 1;
        self.is_said
    }
}

/// MPICH and its kin: `ADIOI_UFS_OPEN(37): File out.h5 does not exist`, and of other ranks `ADIO_OPEN(219): open failed
/// on a remote node`.
fn is_of_a_missing_file(words: &[u8]) -> bool {
    let has = |wanted: &[u8]| words.windows(wanted.len()).any(|part| part == wanted);
    has(b"ADIO") && (has(b"does not exist") || has(b"open failed on a remote node"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(node: u32, stream: Stream, data: &str) -> OutputChunk {
        OutputChunk {
            node,
            stream: stream.into(),
            data: data.as_bytes().to_vec().into(),
            ..OutputChunk::default()
        }
    }

    const WORDS: &str = "Other I/O error File does not exist, error stack:\nADIOI_UFS_OPEN(37): File out.h5 does not exist\n";

    #[test]
    fn it_is_said_once_of_a_job_on_several_nodes() {
        let mut watch = SharedFileWatch::default();
        assert!(!watch.sees(&chunk(0, Stream::Stderr, "File out.h5 does not exist")));
        assert!(!watch.sees(&chunk(0, Stream::Stdout, WORDS)));
        assert!(!watch.sees(&chunk(0, Stream::Stderr, WORDS)));
        assert!(watch.sees(&chunk(1, Stream::Stdout, "")));
        assert!(!watch.sees(&chunk(1, Stream::Stderr, WORDS)));
    }
}
