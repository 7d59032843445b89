//! The end of a job in words and numbers: exit code, final state, memory.

use job::exit::Exit;
use job::wire;
use policy::lifecycle::{Cause, KillReason, SeenMemory, Verdict};
use policy::{Rejection, ResourceTypes};
use proto_hadoop::yarn::FinalApplicationStatus;

/// What the client exits with.
pub(crate) fn exit_code(verdict: &Verdict) -> u8 {
    let Some(cause) = &verdict.cause else {
        return Exit::Success.code();
    };
    match cause {
        Cause::OthersLeft => Exit::Success.code(),
        Cause::RankFailed { end, .. } => end.code(),
        // As the shell would see it; an abort is never a success.
        Cause::Aborted { code, .. } => match code.to_le_bytes()[0] {
            0 => 1,
            low => low,
        },
        Cause::Broke { .. } | Cause::NeverInitialized { .. } => 1,
        Cause::Refused { code, .. } => *code,
        Cause::StartFailed { .. }
        | Cause::NotJoined { .. }
        | Cause::ContainerEnded { .. }
        | Cause::LinkLost { .. }
        | Cause::Misbehaved { .. }
        | Cause::NotRepeated { .. }
        | Cause::InputUsed
        | Cause::ResourceManagerLost { .. } => Exit::Lost.code(),
        // It was there when the job was submitted.
        Cause::Impossible(why) if matches!(**why, Rejection::HostAbsent { .. }) => {
            Exit::Lost.code()
        }
        Cause::Results { .. } => Exit::Staging.code(),
        Cause::Impossible(_) | Cause::RequestsRefused { .. } => Exit::Impossible.code(),
        Cause::NotInTime { .. } | Cause::NoRoomInTime { .. } => Exit::NotInTime.code(),
        Cause::TimedOut { .. } | Cause::Outlived { .. } => Exit::TimedOut.code(),
        Cause::Killed(KillReason::Interrupted) => Exit::Interrupted.code(),
        // As the shell says of a program that writes into a closed pipe.
        Cause::Killed(KillReason::NoReader) => 128 + 13,
        Cause::Killed(KillReason::ClientLost | KillReason::Terminated) => Exit::Killed.code(),
    }
}

/// The state on the wire to the client.
pub(crate) fn final_state(verdict: &Verdict) -> wire::FinalState {
    match &verdict.cause {
        None => wire::FinalState::Succeeded,
        Some(Cause::Killed(_)) => wire::FinalState::Killed,
        Some(_) => wire::FinalState::Failed,
    }
}

/// The state that YARN is told.
pub(crate) fn final_status(verdict: &Verdict) -> FinalApplicationStatus {
    match final_state(verdict) {
        wire::FinalState::Succeeded => FinalApplicationStatus::Succeeded,
        wire::FinalState::Failed => FinalApplicationStatus::Failed,
        wire::FinalState::Killed => FinalApplicationStatus::Killed,
    }
}

/// One sentence with the cause and what was seen of the ranks; empty for a success.
pub(crate) fn sentence(verdict: &Verdict, seen: SeenMemory, types: &ResourceTypes) -> String {
    let cause = verdict.cause.as_ref();
    cause
        .map(|cause| sentences::cause(cause, seen, types))
        .unwrap_or_default()
}

/// What YARN is told of a success: how many ranks on how many nodes, and how long they ran,
/// microseconds.
pub(crate) fn summary(ranks: usize, nodes: usize, ran_us: i64) -> String {
    let count = |number: usize, one: &str| match number {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let ms = u64::try_from(ran_us / 1000).unwrap_or(0);
    format!(
        "{} on {} ran for {}.{} s",
        count(ranks, "rank"),
        count(nodes, "node"),
        ms / 1000,
        ms % 1000 / 100
    )
}

/// Resident and virtual memory of this process, from `/proc/self/status`.
pub(crate) fn memory() -> wire::Memory {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
    };
    wire::Memory {
        resident_kib: kib("VmRSS:"),
        virtual_kib: kib("VmSize:"),
    }
}

#[cfg(test)]
mod tests {
    use policy::{End, Rank};

    use super::*;

    fn failed(cause: Cause) -> Verdict {
        Verdict { cause: Some(cause) }
    }

    #[test]
    fn the_code_is_that_of_the_program_where_there_is_one() {
        let rank = |end| Cause::RankFailed {
            rank: Rank(0).into(),
            host: "n".into(),
            end,
        };
        let abort = |code| Cause::Aborted {
            rank: Rank(0).into(),
            host: "n".into(),
            code,
        };
        assert_eq!(exit_code(&Verdict { cause: None }), 0);
        assert_eq!(exit_code(&failed(rank(End::Code(7)))), 7);
        assert_eq!(exit_code(&failed(rank(End::Signal(11)))), 139);
        let absent = Rejection::HostAbsent {
            host: "n4".into(),
            nodes: 3,
        };
        assert!(
            sentences::rejection(&absent, &ResourceTypes::default())
                .starts_with("the listed host n4 is lost")
        );
        assert_eq!(exit_code(&failed(Cause::Impossible(Box::new(absent)))), 70);
        assert_eq!(
            exit_code(&failed(Cause::Impossible(Box::new(Rejection::NoNodes)))),
            65
        );
        assert_eq!(exit_code(&failed(abort(77))), 77);
        assert_eq!(exit_code(&failed(abort(0))), 1);
        assert_eq!(exit_code(&failed(abort(256))), 1);
        assert_eq!(
            exit_code(&failed(Cause::Killed(KillReason::Interrupted))),
            130
        );
    }

    #[test]
    fn a_success_is_one_line() {
        assert_eq!(
            summary(8, 4, 12_345_678),
            "8 ranks on 4 nodes ran for 12.3 s"
        );
        assert_eq!(summary(1, 1, -5), "1 rank on 1 node ran for 0.0 s");
    }

    #[test]
    fn memory_is_what_the_kernel_says() {
        let memory = memory();
        assert!(memory.resident_kib > 100 && memory.virtual_kib > memory.resident_kib);
    }
}
