//! What an engine and the read broker of its GPU say to each other: whose chunk is read next.
//!
//! An engine is a process whose tasks feed a GPU with chunks of files. It reads a chunk when it was granted that.

use crate::json::tagged;

/// Longest frame between an engine and a broker, bytes of JSON.
pub const BROKER_FRAME_MAX: usize = 4 << 10;

tagged! {
    /// What an engine says. Nothing but `hello` is answered; times are in nanoseconds.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum FromEngine {
        /// The first message; answered by `welcome`.
        "hello" Hello {
            /// The version of the protocol that the process speaks.
            version: u32,
            /// What its job is called on this node.
            job: String,
            /// Its GPU, as the whole node calls it.
            gpu: String,
            /// With which engines it shares its turns: `shared` (all of its GPU; also where it is empty), `own`, or a name.
            container: String = default,
        },
        /// A host buffer of a task is free. The first time the task is new, and the other members count.
        "ready" Ready {
            /// Its number in the engine.
            task: u32,
            /// Bytes of a chunk.
            chunk: u64,
            /// Bytes that it reads from now on.
            bytes: u64,
            /// Of its job, 1 to 10.
            priority: u32,
        },
        /// A chunk that was granted is read: the token is back.
        "read" Read {
            /// Of which task.
            task: u32,
        },
        /// The oldest chunk of a task is computed.
        "done" Done {
            /// Of which task.
            task: u32,
            /// Its bytes.
            bytes: u64,
            /// How long it was read.
            io: u64,
            /// How long it was copied to the device.
            h2d: u64,
            /// How long it was computed.
            kernel: u64,
            /// How long results were copied back.
            d2h: u64,
        },
        /// A task reads no more.
        "ended" Ended {
            /// Which.
            task: u32,
        },
    }
}

tagged! {
    /// What a broker says.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ToEngine {
        /// The answer to `hello`.
        "welcome" Welcome {
            /// The version of the protocol that the broker speaks.
            version: u32,
        },
        /// The token: the next chunks of this task are read, after those that were granted before.
        "read" Read {
            /// Of which task.
            task: u32,
            /// How many.
            chunks: u32,
        },
        /// The engine is parted with.
        "refused" Refused {
            /// Why, in one sentence.
            sentence: String,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn messages_are_written_as_the_page_says() {
        let hello = json!({"type": "hello", "version": 2, "job": "s42.7", "gpu": "nvidia0"});
        let FromEngine::Hello { container, .. } = from_value(hello).unwrap() else {
            panic!("no hello");
        };
        assert_eq!(container, "");
        let ready = FromEngine::Ready {
            task: 1,
            chunk: 4096,
            bytes: 8192,
            priority: 1,
        };
        let written =
            json!({"type": "ready", "task": 1, "chunk": 4096, "bytes": 8192, "priority": 1});
        assert_eq!(to_value(&ready).unwrap(), written);
        let read = json!({"type": "read", "task": 1, "chunks": 1});
        assert_eq!(
            from_value::<ToEngine>(read.clone()).unwrap(),
            ToEngine::Read { task: 1, chunks: 1 }
        );
        assert_eq!(
            from_value::<FromEngine>(read).unwrap(),
            FromEngine::Read { task: 1 }
        );
        assert!(from_value::<FromEngine>(json!({"type": "welcome", "version": 2})).is_err());
    }
}
