//! Our terminal while it is rank 0's: every key goes there, and its size too.

use std::io::{IsTerminal as _, Stdin};

use job::wire::WindowSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Keys are handed on as they are pressed, until this is dropped.
#[derive(Debug)]
pub struct Raw {
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
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Drain, &raw).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _restored = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before).is_ok();
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
pub fn size() -> Option<WindowSize> {
    let size = tcgetwinsize(std::io::stdin()).ok()?;
    (size.ws_col > 0).then(|| WindowSize {
        rows: size.ws_row.into(),
        columns: size.ws_col.into(),
    })
}
