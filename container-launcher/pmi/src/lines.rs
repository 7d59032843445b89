//! Cuts a byte stream into lines, without ever holding more than one line and a bit.

use thiserror::Error;

use crate::LINE_MAX;

/// A rank sent more than [`LINE_MAX`] bytes without a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a line of more than {LINE_MAX} bytes")]
pub struct LineTooLong;

/// The bytes of one rank that do not yet make a line.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    /// Takes what was read and returns the lines it completes, in order, without their newlines.
    ///
    /// # Errors
    ///
    /// [`LineTooLong`]: the stream cannot be used any further.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LineTooLong> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            self.append(head)?;
            lines.push(std::mem::take(&mut self.pending));
            rest = tail.get(1..).unwrap_or_default();
        }
        self.append(rest)?;
        Ok(lines)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.pending.len().saturating_add(bytes.len()) > LINE_MAX {
            return Err(LineTooLong);
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_however_the_bytes_are_cut() {
        let stream = b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\n\ncmd=fin";
        for size in 1..stream.len() {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for piece in stream.chunks(size) {
                seen.extend(lines.push(piece).unwrap());
            }
            assert_eq!(
                seen,
                [
                    b"cmd=init pmi_version=1 pmi_subversion=1".to_vec(),
                    b"cmd=get_maxes".to_vec(),
                    b"".to_vec()
                ]
            );
            assert_eq!(lines.pending, b"cmd=fin");
        }
    }

    #[test]
    fn a_stream_without_newlines_is_given_up_at_the_bound() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(&vec![b'x'; LINE_MAX]), Ok(vec![]));
        assert_eq!(lines.push(b"x"), Err(LineTooLong));
    }
}
