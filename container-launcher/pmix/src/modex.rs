//! What a local rank has told, for ranks of other nodes.

use std::ffi::{c_char, c_void};

use crate::abi::{SUCCESS, Status};
use crate::library::{Functions, proc_of};

/// Who wants it.
pub(crate) type Asker = Box<dyn FnOnce(Option<Vec<u8>>) + Send>;

/// Asks the library. It answers on a thread of its own, at once or when the rank is so far.
#[expect(unsafe_code, reason = "libpmix is a C library")]
pub(crate) fn request(functions: Functions, namespace: &str, rank: u32, asker: Asker) {
    let proc = proc_of(namespace, rank);
    let theirs = Box::into_raw(Box::new(asker));
    // SAFETY: the library copies the name, and hands `theirs` to `answered` once where it takes the request.
    let status =
        unsafe { (functions.modex_request)(&raw const proc, Some(answered), theirs.cast()) };
    if status != SUCCESS {
        // SAFETY: made of such a box above, and the library, which has refused, does not call with it.
        let asker = unsafe { Box::from_raw(theirs) };
        asker(None);
    }
}

#[expect(unsafe_code, reason = "the library answers")]
unsafe extern "C" fn answered(
    status: Status,
    data: *mut c_char,
    length: usize,
    theirs: *mut c_void,
) {
    // SAFETY: `request` made it of such a box, and the library answers once.
    let asker = unsafe { Box::from_raw(theirs.cast::<Asker>()) };
    let told = match data.is_null() {
        true => Vec::new(),
        // SAFETY: so many bytes, which stay the library's.
        false => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec(),
    };
    asker((status == SUCCESS).then_some(told));
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::abi::ERROR;

    #[test]
    #[expect(unsafe_code, reason = "what the library would call")]
    fn an_asker_hears_what_was_told_or_that_nothing_is() {
        let (sender, told) = sync_channel(4);
        let asker = || -> *mut c_void {
            let sender = sender.clone();
            let asker: Asker = Box::new(move |told| sender.send(told).unwrap());
            Box::into_raw(Box::new(asker)).cast()
        };
        let mut data = [7 as c_char, 8];
        // SAFETY: the data live here, and each asker is handed over once.
        unsafe {
            answered(SUCCESS, data.as_mut_ptr(), 2, asker());
            answered(SUCCESS, null_mut(), 0, asker());
            answered(ERROR, data.as_mut_ptr(), 2, asker());
        }
        let all: Vec<Option<Vec<u8>>> = told.try_iter().collect();
        assert_eq!(all, [Some(vec![7, 8]), Some(vec![]), None]);
    }
}
