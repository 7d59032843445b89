//! `-inputreader StreamXmlRecordReader,begin=…,end=…`: the marks between which records stand.

use super::{Asked, Given};

/// A class of Hadoop, which its documentation calls by the second name.
const NAMES: [&str; 2] = ["StreamXmlRecordReader", "StreamXmlRecord"];

impl Given {
    /// Takes what the option says.
    pub(super) fn reader(&mut self, spec: &str, asked: &mut Asked) -> Result<(), String> {
        let wrong = |why: &str| format!("-inputreader {spec}: {why}");
        let mut parts = spec.split(',');
        let class = parts.next().unwrap_or_default();
        let short = class
            .strip_prefix("org.apache.hadoop.streaming.")
            .unwrap_or(class);
        if !NAMES.contains(&short) {
            return Err(wrong(
                "gerbil runs no Java, and knows StreamXmlRecordReader,begin=MARK,end=MARK alone",
            ));
        }
        let (mut begin, mut end) = (None, None);
        for part in parts {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(&format!("{part} is no NAME=VALUE")))?;
            match (name, value) {
                ("begin", mark) if !mark.is_empty() => begin = Some(mark),
                ("end", mark) if !mark.is_empty() => end = Some(mark),
                ("slowmatch", "false") => {}
                ("slowmatch", _) => {
                    return Err(wrong(
                        "slowmatch takes marks for patterns and looks for CDATA; gerbil finds marks as they stand: leave it out",
                    ));
                }
                ("maxrec" | "lookahead", _) => asked.notes.push(format!(
                    "-inputreader {name}={value}: it matters with slowmatch alone; a record may be as long as \
                     gerbil.record.max allows"
                )),
                _ => {
                    return Err(wrong(&format!(
                        "{part} is not taken: begin=MARK and end=MARK are, as texts that are not empty"
                    )));
                }
            }
        }
        let (Some(begin), Some(end)) = (begin, end) else {
            return Err(wrong("begin=MARK and end=MARK are needed"));
        };
        for (name, mark) in [("begin", begin), ("end", end)] {
            let name = format!("stream.recordreader.{name}");
            self.settings.push((name, mark.to_owned()));
        }
        self.has_reader = true;
        Ok(())
    }
}
