//! Cuts a byte stream into lines and messages, without ever holding more than one of them and a bit.
//!
//! A PMI-1 line begins with a letter and ends with a newline. A PMI-2 message begins with its length: six
//! characters, blanks or digits.

use thiserror::Error;

use crate::LINE_MAX;

/// A rank sent more than [`LINE_MAX`] bytes without a newline, or a length that is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a line of more than {LINE_MAX} bytes")]
pub struct LineTooLong;

/// Bytes of the length before a message.
const LENGTH: usize = 6;

/// The bytes of one rank that do not yet make a line.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// Bytes of the message that is being read; `None`: no length has been read.
    length: Option<usize>,
}

impl Lines {
    /// Takes what was read and returns the lines and messages that it completes, in order, without
    /// newlines and lengths. A length that is no number comes out as a line.
    ///
    /// # Errors
    ///
    /// [`LineTooLong`]: the stream cannot be used any further.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LineTooLong> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let begin = self.pending.first().or(rest.first());
            let is_message = begin.is_some_and(|&byte| byte == b' ' || byte.is_ascii_digit());
            rest = match (self.length, is_message) {
                (Some(length), _) => self.take(length, rest, &mut lines)?,
                (None, true) => self.take_length(rest, &mut lines)?,
                (None, false) => self.take_line(rest, &mut lines)?,
            };
        }
        Ok(lines)
    }

    fn take_line<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: &mut Vec<Vec<u8>>,
    ) -> Result<&'a [u8], LineTooLong> {
        let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
            self.append(bytes)?;
            return Ok(&[]);
        };
        let (head, tail) = bytes.split_at(end);
        self.append(head)?;
        lines.push(std::mem::take(&mut self.pending));
        Ok(tail.get(1..).unwrap_or_default())
    }

    fn take_length<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: &mut Vec<Vec<u8>>,
    ) -> Result<&'a [u8], LineTooLong> {
        let missing = LENGTH.saturating_sub(self.pending.len());
        let (head, tail) = bytes.split_at(missing.min(bytes.len()));
        self.append(head)?;
        if self.pending.len() == LENGTH {
            let text = String::from_utf8_lossy(&self.pending);
            match text.trim().parse::<usize>() {
                Ok(length) if length > LINE_MAX => return Err(LineTooLong),
                Ok(length) if length > 0 => {
                    self.pending.clear();
                    self.length = Some(length);
                }
                _ => lines.push(std::mem::take(&mut self.pending)),
            }
        }
        Ok(tail)
    }

    fn take<'a>(
        &mut self,
        length: usize,
        bytes: &'a [u8],
        messages: &mut Vec<Vec<u8>>,
    ) -> Result<&'a [u8], LineTooLong> {
        let missing = length.saturating_sub(self.pending.len());
        let (head, tail) = bytes.split_at(missing.min(bytes.len()));
        self.append(head)?;
        if self.pending.len() == length {
            self.length = None;
            messages.push(std::mem::take(&mut self.pending));
        }
        Ok(tail)
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
    fn messages_come_out_however_the_bytes_are_cut() {
        let stream =
            b"cmd=init pmi_version=2\n    28cmd=kvs-put;key=a;value=1\n2;    14cmd=kvs-fence;     xcmd=";
        for size in 1..stream.len() {
            let mut lines = Lines::default();
            let pieces = stream.chunks(size);
            let seen: Vec<Vec<u8>> = pieces
                .flat_map(|piece| lines.push(piece).unwrap())
                .collect();
            assert_eq!(
                seen,
                [
                    b"cmd=init pmi_version=2".to_vec(),
                    b"cmd=kvs-put;key=a;value=1\n2;".to_vec(),
                    b"cmd=kvs-fence;".to_vec(),
                    b"     x".to_vec(),
                ],
                "{size}"
            );
        }
    }

    #[test]
    fn a_stream_without_newlines_is_given_up_at_the_bound() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(&vec![b'x'; LINE_MAX]), Ok(vec![]));
        assert_eq!(lines.push(b"x"), Err(LineTooLong));
        assert_eq!(Lines::default().push(b" 65537"), Err(LineTooLong));
    }
}
