//! The functions that the library calls for its clients: each makes a [`Call`] of what it points to.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::abi::{
    App, Collected, Done, ERROR, Info, LookedUp, Module, NOT_FOUND, NOT_SUPPORTED, Proc, SUCCESS,
    Spawned, Status,
};
use crate::calls::{self, Call, Theirs, Waiting, begin, call_done};
use crate::logged;
use crate::names::{self, Names};
use crate::namespaces::Members;
use crate::spawn_command;

/// The module with the functions below.
pub(crate) const fn module() -> Module {
    Module {
        client_connected,
        client_finalized,
        abort,
        fence,
        modex,
        publish,
        lookup,
        unpublish,
        spawn,
        connect,
        disconnect: connect,
        between: [0; _],
        log,
        absent: [0; _],
        client_connected2,
        later: [0; _],
    }
}

/// What the library points to; null is none.
///
/// # Safety
///
/// There are so many.
#[expect(unsafe_code, reason = "an array of the library's")]
unsafe fn all<'a, T>(first: *const T, count: usize) -> &'a [T] {
    match first.is_null() {
        true => &[],
        // SAFETY: the caller's.
        false => unsafe { std::slice::from_raw_parts(first, count) },
    }
}

/// The group and the rank that the library means; none: no namespace that it was told of.
#[expect(unsafe_code, reason = "the library points to the rank it means")]
fn process_at(proc: *const Proc) -> Option<(u32, u32)> {
    // SAFETY: it is null or points to a rank's name for the time of the call.
    let proc = unsafe { proc.as_ref() }?;
    let group = calls::namespaces()?.of(proc)?;
    Some((group.number, proc.rank))
}

/// Tells what a rank asks, and has it wait.
fn of_rank(proc: *const Proc, call: impl FnOnce(u32) -> Call, waiting: Waiting) -> Status {
    match process_at(proc) {
        Some((group, rank)) => begin(group, call(rank), waiting),
        None => NOT_FOUND,
    }
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn client_connected(
    proc: *const Proc,
    _object: *mut c_void,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    let waiting = Waiting::Done(done, Theirs(theirs));
    of_rank(proc, |rank| Call::Connected { rank }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn client_connected2(
    proc: *const Proc,
    _object: *mut c_void,
    _infos: *const Info,
    _count: usize,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    let waiting = Waiting::Done(done, Theirs(theirs));
    of_rank(proc, |rank| Call::Connected { rank }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn client_finalized(
    proc: *const Proc,
    _object: *mut c_void,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    let waiting = Waiting::Done(done, Theirs(theirs));
    of_rank(proc, |rank| Call::Finalized { rank }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn abort(
    proc: *const Proc,
    _object: *mut c_void,
    status: c_int,
    message: *const c_char,
    _procs: *const Proc,
    _count: usize,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    let message = match message.is_null() {
        true => String::new(),
        // SAFETY: a string that ends with a null, for the time of the call.
        false => unsafe { CStr::from_ptr(message) }
            .to_string_lossy()
            .into_owned(),
    };
    let call = |rank| Call::Abort {
        rank,
        status,
        message,
    };
    of_rank(proc, call, Waiting::Done(done, Theirs(theirs)))
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn fence(
    procs: *const Proc,
    count: usize,
    _infos: *const Info,
    _info_count: usize,
    data: *mut c_char,
    length: usize,
    collected: Option<Collected>,
    theirs: *mut c_void,
) -> Status {
    // SAFETY: so many ranks' names, for the time of the call.
    let members = members(unsafe { all(procs, count) });
    let told = match data.is_null() {
        true => Vec::new(),
        // SAFETY: so many bytes, which are this function's to free.
        false => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec(),
    };
    // SAFETY: the library has it from malloc and leaves it to its host; null is none.
    unsafe { libc::free(data.cast()) };
    fenced(members, told, Waiting::Collected(collected, Theirs(theirs)))
}

fn members(procs: &[Proc]) -> Option<Members> {
    calls::namespaces()?.members(procs)
}

fn fenced(members: Option<Members>, data: Vec<u8>, waiting: Waiting) -> Status {
    let Some(Members { group, ranks }) = members else {
        return NOT_FOUND;
    };
    let call = Call::Fence {
        across: group.is_none(),
        ranks,
        data,
    };
    begin(group.unwrap_or_default(), call, waiting)
}

/// Groups of one job that connect, or part again, are known to each server: they have to wait for each other alone.
#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn connect(
    procs: *const Proc,
    count: usize,
    _infos: *const Info,
    _info_count: usize,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    // SAFETY: so many ranks' names, for the time of the call.
    let members = members(unsafe { all(procs, count) });
    fenced(members, Vec::new(), Waiting::Done(done, Theirs(theirs)))
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn modex(
    proc: *const Proc,
    _infos: *const Info,
    _count: usize,
    collected: Option<Collected>,
    theirs: *mut c_void,
) -> Status {
    let waiting = Waiting::Collected(collected, Theirs(theirs));
    of_rank(proc, |rank| Call::Modex { rank }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn publish(
    proc: *const Proc,
    infos: *const Info,
    count: usize,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    // SAFETY: so many, for the time of the call.
    let Some(names) = names::published(unsafe { all(infos, count) }) else {
        return NOT_SUPPORTED;
    };
    let waiting = Waiting::Done(done, Theirs(theirs));
    of_rank(proc, |rank| Call::Names { rank, names }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn lookup(
    proc: *const Proc,
    wanted: *mut *mut c_char,
    infos: *const Info,
    count: usize,
    found: Option<LookedUp>,
    theirs: *mut c_void,
) -> Status {
    // SAFETY: a list with a null behind its last, and so many directives, for the time of the call.
    let names = unsafe { names::looked_up(wanted, all(infos, count)) };
    let waiting = Waiting::Found(found, Theirs(theirs));
    of_rank(proc, |rank| Call::Names { rank, names }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn unpublish(
    proc: *const Proc,
    wanted: *mut *mut c_char,
    _infos: *const Info,
    _count: usize,
    done: Option<Done>,
    theirs: *mut c_void,
) -> Status {
    // SAFETY: a list with a null behind its last, for the time of the call.
    let names = unsafe { names::list(wanted) };
    let call = |rank| Call::Names {
        rank,
        names: Names::Unpublish { names },
    };
    of_rank(proc, call, Waiting::Done(done, Theirs(theirs)))
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn spawn(
    proc: *const Proc,
    _infos: *const Info,
    _info_count: usize,
    programs: *const App,
    count: usize,
    spawned: Option<Spawned>,
    theirs: *mut c_void,
) -> Status {
    // SAFETY: so many, with what they point to, for the time of the call.
    let apps = unsafe { all(programs, count) }.iter();
    // SAFETY: the same.
    let commands = apps.map(|app| unsafe { spawn_command::of(app) });
    let commands = commands.collect();
    let waiting = Waiting::Spawned(spawned, Theirs(theirs));
    of_rank(proc, |rank| Call::Spawn { rank, commands }, waiting)
}

#[expect(unsafe_code, reason = "a function of the module")]
unsafe extern "C" fn log(
    proc: *const Proc,
    infos: *const Info,
    count: usize,
    directives: *const Info,
    directive_count: usize,
    done: Option<Done>,
    theirs: *mut c_void,
) {
    // SAFETY: so many of each, for the time of the call.
    let (infos, directives) = unsafe { (all(infos, count), all(directives, directive_count)) };
    let logged::Logged { topic, texts } = logged::of(infos, directives);
    if texts.is_empty() {
        if let Some(done) = done {
            call_done(done, NOT_SUPPORTED, Theirs(theirs));
        }
        return;
    }
    let waiting = Waiting::Done(done, Theirs(theirs));
    if of_rank(proc, |rank| Call::Log { rank, topic, texts }, waiting) != SUCCESS
        && let Some(done) = done
    {
        call_done(done, ERROR, Theirs(theirs));
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};
    use std::sync::Mutex;
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::attribute::Attribute;
    use crate::calls::{Answer, Channel, answer, tell};
    use crate::information::Information;
    use crate::library::proc_of;
    use crate::namespaces::{ALL, Group};

    static ANSWERS: Mutex<Vec<(Status, Vec<u8>)>> = Mutex::new(Vec::new());

    #[expect(unsafe_code, reason = "what the library would give")]
    unsafe extern "C" fn done(status: Status, _theirs: *mut c_void) {
        ANSWERS.lock().unwrap().push((status, Vec::new()));
    }

    #[expect(unsafe_code, reason = "what the library would give")]
    unsafe extern "C" fn collected(
        status: Status,
        data: *const c_char,
        length: usize,
        _theirs: *mut c_void,
        release: Option<crate::abi::Release>,
        own: *mut c_void,
    ) {
        // SAFETY: what `answer` gives.
        unsafe {
            let data = std::slice::from_raw_parts(data.cast::<u8>(), length);
            ANSWERS.lock().unwrap().push((status, data.to_vec()));
            release.unwrap()(own);
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "what the library would call")]
    fn each_call_is_told_and_answered_once() {
        let (sender, told) = sync_channel(8);
        assert!(tell(Box::new(move |number, group, call| {
            assert_eq!(group, 7);
            sender.send((number, call)).unwrap();
        })));
        assert!(!tell(Box::new(|_, _, _| {})));
        let group = Group {
            number: 7,
            first: 0,
            size: 4,
        };
        calls::namespaces().unwrap().add("job", group);
        let (here, all) = (proc_of("job", 3), proc_of("job", ALL));
        let module = module();
        // SAFETY: all pointers are to what lives here, or null where that may be.
        unsafe {
            let of = null_mut();
            (module.client_connected2)(&raw const here, of, null(), 0, Some(done), of);
            let why = c"why".as_ptr();
            (module.abort)(&raw const here, of, 77, why, null(), 0, Some(done), of);
            let data = libc::malloc(2).cast::<c_char>();
            data.write(7);
            data.add(1).write(8);
            (module.fence)(&raw const all, 1, null(), 0, data, 2, Some(collected), of);
            (module.modex)(&raw const here, null(), 0, Some(collected), of);
            (module.connect)(&raw const here, 1, null(), 0, Some(done), of);
            let text = Information::new(&[Attribute::text("pmix.log.stderr", "why")]).unwrap();
            let texts = text.infos();
            let none = null();
            (module.log)(&raw const here, texts.as_ptr(), 1, none, 0, Some(done), of);
            // A namespace of another job.
            let stranger = proc_of("stranger", 3);
            let refused = (module.connect)(&raw const stranger, 1, null(), 0, Some(done), of);
            assert_eq!(refused, NOT_FOUND);
            // Of nobody's concern here: answered at once.
            (module.log)(&raw const here, null(), 0, none, 0, Some(done), of);
        }
        let calls: Vec<(u64, Call)> = told.try_iter().collect();
        let abort = Call::Abort {
            rank: 3,
            status: 77,
            message: "why".to_owned(),
        };
        let fence = Call::Fence {
            across: false,
            ranks: Vec::new(),
            data: vec![7, 8],
        };
        let only: Vec<&Call> = calls.iter().map(|(_, call)| call).collect();
        let modex = Call::Modex { rank: 3 };
        let connected = Call::Connected { rank: 3 };
        let log = Call::Log {
            rank: 3,
            topic: None,
            texts: vec![(Channel::Stderr, b"why".to_vec())],
        };
        let meet = Call::Fence {
            across: false,
            ranks: vec![3],
            data: Vec::new(),
        };
        assert_eq!(only, [&connected, &abort, &fence, &modex, &meet, &log]);
        for _ in 0..2 {
            answer(calls[0].0, Answer::Done(Vec::new()));
            answer(calls[1].0, Answer::Failed);
            answer(calls[2].0, Answer::Done(vec![1, 2, 3]));
            answer(calls[3].0, Answer::Done(vec![4]));
            answer(calls[4].0, Answer::Done(Vec::new()));
        }
        let answers = ANSWERS.lock().unwrap();
        let expected = [
            (NOT_SUPPORTED, vec![]),
            (SUCCESS, vec![]),
            (ERROR, vec![]),
            (SUCCESS, vec![1, 2, 3]),
            (SUCCESS, vec![4]),
            (SUCCESS, vec![]),
        ];
        assert_eq!(*answers, expected);
    }
}
