//! What a command prints, as records.

use gerbil_mapreduce::Result;

use super::{Listener, Pump};

impl Pump {
    /// Hands over the lines that are whole; at the end the rest, too. They end with LF, CR LF or CR.
    pub(super) fn lines(&mut self, at_end: bool, to: &mut impl Listener) -> Result<()> {
        let held = self.output.get(..self.filled).unwrap_or_default();
        let whole = match at_end {
            true => held.len(),
            false => memchr::memrchr(b'\n', held).map_or(0, |at| at + 1),
        };
        if held.len() - whole > self.terms.line_max {
            let most = self.terms.line_max;
            return Err(self.failure(&format!("has printed a line of more than {most} bytes")));
        }
        let mut rest = held.get(..whole).unwrap_or_default();
        let has_returns = memchr::memchr(b'\r', rest).is_some();
        while !rest.is_empty() {
            let end = match has_returns {
                false => memchr::memchr(b'\n', rest),
                true => memchr::memchr2(b'\n', b'\r', rest),
            };
            let end = end.unwrap_or(rest.len());
            let (line, behind) = rest.split_at(end);
            to.line(line)?;
            self.printed += 1;
            let ends_twice = behind.starts_with(b"\r\n");
            rest = behind
                .get(1 + usize::from(ends_twice)..)
                .unwrap_or_default();
        }
        self.output.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        Ok(())
    }
}
