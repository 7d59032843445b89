//! What a command writes to its standard error: counters and statuses for the framework, the rest for people.

use std::collections::VecDeque;

/// Most bytes of a line that is kept in one piece.
const LINE_MAX: usize = 8 << 10;
/// Lines that are kept for a sentence, and most bytes of each there.
const KEPT: usize = 10;
const KEPT_BYTES: usize = 300;

/// A line of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reported<'a> {
    /// A counter of that group grows, or shrinks.
    Counter(&'a str, &'a str, i64),
    /// What the task is at.
    Status(&'a str),
    /// Begins as one of these, and is none: why.
    Broken(&'static str),
    /// For people.
    Text,
}

/// What a line says to whoever reads it by `prefix`, which is Hadoop's `reporter:` unless the job says another.
pub(crate) fn reported<'a>(prefix: &str, line: &'a str) -> Reported<'a> {
    let Some(rest) = line.strip_prefix(prefix) else {
        return Reported::Text;
    };
    if let Some(counter) = rest.strip_prefix("counter:") {
        let mut parts = counter.trim().split(',');
        let (Some(group), Some(name), Some(by), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Reported::Broken("a counter is GROUP,NAME,NUMBER");
        };
        return match by.parse() {
            Ok(by) => Reported::Counter(group, name, by),
            Err(_) => Reported::Broken("a counter grows by a whole number"),
        };
    }
    match rest.strip_prefix("status:") {
        Some(status) => Reported::Status(status.trim()),
        None => Reported::Broken("what is reported is a counter: or a status:"),
    }
}

/// The bytes of a command's standard error as lines, and the last of them.
#[derive(Debug, Default)]
pub(crate) struct ErrorLines {
    begun: Vec<u8>,
    last: VecDeque<String>,
}

impl ErrorLines {
    /// Takes bytes, and hands each line that is whole to `each`; a line without end is handed over in pieces.
    pub(crate) fn take<E>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            self.begun.extend_from_slice(line);
            self.hand(&mut each)?;
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.begun.extend_from_slice(bytes);
        match self.begun.len() > LINE_MAX {
            true => self.hand(&mut each),
            false => Ok(()),
        }
    }

    /// Hands over what has no end.
    pub(crate) fn end<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self.begun.is_empty() {
            true => Ok(()),
            false => self.hand(&mut each),
        }
    }

    fn hand<E>(&mut self, each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.begun);
        let done = each(&line);
        self.begun = line;
        self.begun.clear();
        done
    }

    /// Keeps a line that is for people.
    pub(crate) fn keep(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last
            .push_back(gerbil_task::said::cut(line, KEPT_BYTES));
    }

    /// The last lines for people, for a sentence; empty: there was none.
    pub(crate) fn last(&self) -> String {
        let lines: Vec<&str> = self.last.iter().map(String::as_str).collect();
        lines.join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorLines, Reported, reported};

    #[test]
    fn lines_are_counters_statuses_or_text() {
        let said = |line| reported("reporter:", line);
        assert_eq!(
            said("reporter:counter:Words,long ones,3"),
            Reported::Counter("Words", "long ones", 3)
        );
        assert_eq!(
            said("reporter:counter: g,n,1 "),
            Reported::Counter("g", "n", 1)
        );
        assert_eq!(
            said("reporter:counter:g,n,-1"),
            Reported::Counter("g", "n", -1)
        );
        assert_eq!(
            said("reporter:status: half way "),
            Reported::Status("half way")
        );
        assert_eq!(said("Traceback"), Reported::Text);
        for broken in [
            "reporter:counter:g,n",
            "reporter:counter:g,n,x",
            "reporter:counter:g,n,1.5",
            "reporter:x",
        ] {
            assert!(matches!(said(broken), Reported::Broken(_)), "{broken}");
        }
        assert_eq!(reported("my:", "reporter:counter:g,n,1"), Reported::Text);
    }

    #[test]
    fn bytes_become_lines_however_they_come() {
        let text = b"one\ntwo\r\n\nthree";
        for size in 1..text.len() {
            let mut lines = ErrorLines::default();
            let mut found = Vec::new();
            let mut each = |line: &[u8]| {
                found.push(String::from_utf8(line.to_vec()).unwrap());
                Ok::<(), ()>(())
            };
            for bytes in text.chunks(size) {
                lines.take(bytes, &mut each).unwrap();
            }
            lines.end(&mut each).unwrap();
            assert_eq!(found, ["one", "two\r", "", "three"]);
        }
    }

    #[test]
    fn the_last_lines_are_kept_and_a_line_without_end_is_bounded() {
        let mut lines = ErrorLines::default();
        let mut pieces = 0;
        for _ in 0..100 {
            lines
                .take(&[b'x'; 1000], |_| {
                    pieces += 1;
                    Ok::<(), ()>(())
                })
                .unwrap();
        }
        assert!(pieces > 5 && lines.begun.len() < 10_000);
        for number in 0..30 {
            lines.keep(&format!("line {number}"));
        }
        lines.keep("  ");
        assert!(lines.last().starts_with("line 20 | ") && lines.last().ends_with("line 29"));
    }
}
