//! What `policy` decides, and what the ApplicationMaster meets beside that, in sentences for the user: what
//! happened, with the numbers, and which option or Hadoop setting to change.
//!
//! A decision is data; here alone it meets the words of `gerbil-run`'s command line and the keys of
//! Hadoop's settings. Client and ApplicationMaster say the same of the same thing, so they share these
//! functions. Each returns one sentence without a full stop. Amounts have countable types by index: the
//! table that names them is that of the [`ClusterView`](policy::ClusterView) that the decision was made on.

mod cause;
mod checkpoint;
mod choice;
mod degraded;
mod element;
mod memory;
mod port;
mod rejection;
mod session;
mod slots;
mod trace;
mod waiting;

pub use cause::{cause, ended_for_one, left_early};
pub use checkpoint::checkpoint_stays;
pub use choice::choice;
pub use degraded::degraded;
pub use element::{elements_differ, is_on_processors, lack, on_processors, waits_for_element};
pub use port::{no_free_port, unreached};
pub use rejection::rejection;
pub use session::{
    INPUT_WAS_EMPTY, NO_JOB_CAME, OTHERS_FIRST, QueueIsFull, followed, not_kept,
    policy_for_devices, task_log_gone, too_many_processes, waits_for_turn,
};
pub use slots::waits_for_slots;
pub use trace::without_frames;
pub use waiting::{let_go, no_room, silent, unanswered, unused};
