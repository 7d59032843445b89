//! Our terminal while it is rank 0's: every key goes there, and its size too.

use std::io::{IsTerminal as _, Stdin};
use std::os::fd::AsRawFd as _;

use job::wire::WindowSize;
use nix::libc;
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

/// Keys are handed on as they are pressed, until this is dropped.
pub(crate) struct Raw {
    terminal: Stdin,
    before: Termios,
}

impl Raw {
    /// `None` where standard input is no terminal, or one that belongs to another job of the shell.
    pub fn enter() -> Option<Self> {
        let terminal = std::io::stdin();
        if !terminal.is_terminal() {
            return None;
        }
        let before = tcgetattr(&terminal).ok()?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(&terminal, SetArg::TCSADRAIN, &raw).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _restored = tcsetattr(&self.terminal, SetArg::TCSADRAIN, &self.before).is_ok();
    }
}

/// A window where there is none.
const USUAL: WindowSize = WindowSize {
    rows: 24,
    columns: 80,
};

/// What rank 0 is to have; a plain one where standard input is no terminal.
pub fn described() -> job::Terminal {
    let size = size().unwrap_or(USUAL);
    job::Terminal {
        rows: size.rows,
        columns: size.columns,
        name: std::env::var("TERM").unwrap_or_else(|_| "dumb".into()),
    }
}

/// The size of the window; `None` where standard input is no terminal.
pub(crate) fn size() -> Option<WindowSize> {
    let terminal = std::io::stdin();
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    #[expect(unsafe_code, reason = "no library has a safe face for this call")]
    // SAFETY: standard input is not closed by this process, and `size` is of the type that is written.
    let answer = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (answer == 0 && size.ws_col > 0).then(|| WindowSize {
        rows: size.ws_row.into(),
        columns: size.ws_col.into(),
    })
}
