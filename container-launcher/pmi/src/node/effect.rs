//! What comes of the ranks' lines.

use crate::Pair;
use crate::spawn::SpawnRequest;

/// What a rank asks of the job's name service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameRequest {
    /// Make a port known under a name.
    Publish {
        /// The name that others look for.
        service: String,
        /// The port's name, as MPI gave it.
        port: String,
    },
    /// Which port has this name?
    Lookup(String),
    /// Forget a name.
    Unpublish(String),
}

/// How far a rank got. MPI is in use between the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PmiStage {
    /// It never said anything: not an MPI program, or not yet in `MPI_Init`.
    #[default]
    Silent,
    /// Since `MPI_Init`.
    Initialized,
    /// Since `MPI_Finalize`.
    Finalized,
}

/// What the owner of the sockets is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send these bytes, one or more whole lines, to the rank.
    Reply {
        /// The rank, by the number under which its lines are handed in.
        rank: u32,
        /// The bytes, newlines included.
        line: String,
    },
    /// Every rank of the node has entered the barrier: send these values up, and call
    /// [`fence_done`](super::NodeServer::fence_done) with the answer.
    Fence {
        /// What was put since the last one, ordered by key.
        puts: Vec<Pair>,
    },
    /// The rank asks the name service; [`name_answer`](super::NodeServer::name_answer) answers.
    Name {
        /// The rank, by the number under which its lines are handed in.
        rank: u32,
        /// What it wants to have known, found or forgotten.
        request: NameRequest,
    },
    /// The rank wants new processes; [`spawn_answer`](super::NodeServer::spawn_answer) answers.
    Spawn {
        /// The rank, by the number under which its lines are handed in.
        rank: u32,
        /// The programs and how many processes of each.
        request: SpawnRequest,
    },
    /// The rank asks to end the job, as `MPI_Abort` does.
    Abort {
        /// The rank, by the number under which its lines are handed in.
        rank: u32,
        /// As the program gave it; not limited to 0..=255.
        exit_code: i32,
        /// Its words; may be empty.
        message: String,
    },
    /// The rank has reached another stage.
    Stage {
        /// The rank, by the number under which its lines are handed in.
        rank: u32,
        /// Where it is now.
        stage: PmiStage,
    },
    /// The rank does not speak PMI as it should and is not answered any more: end it.
    Broken {
        /// The rank, by the number under which its lines are handed in.
        rank: u32,
        /// What it did.
        sentence: String,
    },
}
