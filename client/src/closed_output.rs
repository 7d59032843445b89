//! Standard output that was closed when this command began (`>&-`).
//!
//! The runtime of Rust puts `/dev/null` in its place before `main`, and what a program prints is lost in there, as if it had
//! been written. Before that happens a `/dev/null` is put there that can only be read: writing fails as it does where
//! nothing is, also for whoever inherits it.

use std::ffi::CStr;

use nix::libc;

/// Of the process, by number.
const STDOUT: i32 = 1;
const NOTHING: &CStr = c"/dev/null";

#[used]
#[expect(unsafe_code, reason = "it runs before the runtime")]
// SAFETY: the section holds addresses of functions that take nothing that they need, and each is called once.
#[unsafe(link_section = ".init_array")]
static BEFORE_THE_RUNTIME: extern "C" fn() = keep_closed;

extern "C" fn keep_closed() {
    #[expect(unsafe_code, reason = "descriptors that nobody owns yet")]
    // SAFETY: system calls alone; no other thread is there, and nothing of the runtime is used.
    unsafe {
        if libc::fcntl(STDOUT, libc::F_GETFD) != -1 {
            return;
        }
        let opened = libc::open(NOTHING.as_ptr(), libc::O_RDONLY);
        if opened != -1 && opened != STDOUT {
            libc::dup2(opened, STDOUT);
            libc::close(opened);
        }
    }
}
