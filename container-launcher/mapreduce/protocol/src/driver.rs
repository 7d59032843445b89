//! What a driver and its client say to each other: jobs submitted, waited for, and what they left.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::json::{record, tagged};
use crate::message::Piece;

tagged! {
    /// What a driver says. Each message but `failed` has one answer, in order.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub enum FromDriver {
        /// The first message; answered by `welcome`.
        "hello" Hello {
            /// The version of the protocol that the process speaks.
            version: u32,
            /// Digest of its plan, in hexadecimal digits.
            plan: String,
        },
        /// A job is to be run; answered by `accepted` at once.
        "submit" Submit(Submission),
        /// A job's end is waited for; answered by `ended`, however long that takes.
        "wait" Wait {
            /// Number of the submission.
            submission: u32,
        },
        /// The files of a folder are asked for, or the file of that name; answered by `listed`.
        "list" List {
            /// A path, as the command line may have it.
            path: String,
        },
        /// The files of a job's input are asked for, to be cut into splits; answered by `listed`.
        "files" Files {
            /// Files, folders, lists and patterns, as the submission will have them.
            inputs: Vec<String>,
            /// Folders inside of folders are read, too.
            recursive: bool,
            /// Of a folder that is a MapFile of Hadoop's the data are a file, wherever it is.
            map_files: bool = default,
        },
        /// A file is to be read; answered by `opened`. Several may be open at once: a pipe is filled beside what is said.
        "open" Open {
            /// A path, as `listed` has it.
            path: String,
            /// From which byte on; a file that is no pipe is handed over as it is, standing at its beginning.
            from: u64 = default,
        },
        /// The output of a job that this driver submitted is not needed any more; answered by `removed`.
        "remove" Remove {
            /// The job's output.
            path: String,
        },
        /// All is done; answered by `leave` when every job that was submitted has ended.
        "done" Done,
        /// The driver has failed; jobs under way are ended.
        "failed" Failed {
            /// Why, in one sentence.
            sentence: String,
        },
    }
}

tagged! {
    /// What a client says to its driver.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub enum ToDriver {
        /// The answer to `hello`.
        "welcome" Welcome {
            /// The version of the protocol that the client speaks.
            version: u32,
            /// Settings of the cluster, over which those of the plan stand.
            defaults: BTreeMap<String, String> = default,
            /// Settings that the client was given: they stand over those of the plan, and below those of the driver's
            /// own command line.
            given: BTreeMap<String, String> = default,
            /// Jobs whose splits have to fit a device, and the most bytes that a split of each may have.
            split_max: BTreeMap<String, u64> = default,
        },
        /// The job is on its way.
        "accepted" Accepted {
            /// What people call the job, such as `s42.7`.
            id: String,
        },
        /// The job has ended.
        "ended" Ended {
            /// Counters, group by group; what there is of them if the job failed.
            counters: Counters,
            /// Why it failed, in one sentence; nothing if it ended well.
            failure: Option<String> = default,
            /// Its output is there all the same, and nothing but its counters is lost: a failure to a driver that
            /// wants them, and none to one that does not.
            has_output: bool = default,
        },
        /// What there is.
        "listed" Listed {
            /// Files, in the order of their names; none that begins with `_` or `.`.
            files: Vec<Listed>,
        },
        /// The file comes along: itself, which is read by position, or a pipe out of which it comes from the byte
        /// that was asked for.
        "opened" Opened,
        /// It is gone.
        "removed" Removed,
        /// What was asked for cannot be had.
        "refused" Refused {
            /// Why, in one sentence.
            sentence: String,
        },
        /// The driver may end.
        "leave" Leave,
    }
}

record! {
    /// A job to be run.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Submission {
        /// A number that this driver has not used before.
        pub submission: u32,
        /// The job's name among those that the executable registers.
        pub job: String,
        /// Files, folders, lists and patterns.
        pub inputs: Vec<String>,
        /// A folder that is not there yet.
        pub output: String,
        /// All settings: those of the client, of the plan, of the command line and of this submission.
        pub settings: BTreeMap<String, String>,
        /// What tasks are given along, as it is.
        pub params: serde_json::Value,
        /// What each map reads: pieces of the files that `files` named, or what is no file where the job's plan says
        /// so. Empty: the client cuts the files as it likes.
        pub splits: Vec<Vec<Piece>> = default,
        /// Files that its tasks find in the folder in which they begin.
        pub brings: Vec<BroughtFile> = default,
    }
}

record! {
    /// A file that a job brings to its tasks.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct BroughtFile {
        /// Its name there; no slashes.
        pub name: String,
        /// Where it is now: a path as inputs have it, or of this machine.
        pub path: String,
        /// The path is of the machine of driver and client.
        pub here: bool = default,
        /// It is an archive, and its contents lie in a folder of that name.
        pub unpack: bool = default,
    }
}

record! {
    /// A file that there is.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Listed {
        /// Its path.
        pub path: String,
        /// Its length, bytes.
        pub length: u64,
    }
}
