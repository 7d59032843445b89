//! Lines of two inputs with the same key, side by side: what Hadoop's `hadoop-mapreduce-examples join` does,
//! but of inputs that need not be sorted (a join in the reduces).
//!
//! `cargo run --release --example join -- --local --left users LEFT RIGHT OUT`, where files whose names contain
//! `users` are the left side.

use gerbil_mapreduce::prelude::*;

struct Sides {
    left: String,
}

impl Mapper for Sides {
    type Input = KeyValueText;
    /// The key, and the side: lines of the left come first.
    type Key = (Text, u8);
    type Value = Text;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.left = context.option("left")?;
        Ok(())
    }

    fn map(&mut self, key: &[u8], value: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let side = u8::from(!out.input().contains(&self.left));
        out.emit(&(key, side), value)
    }
}

struct Inner;

impl Reducer<(Text, u8), Text> for Inner {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        (key, _): (std::borrow::Cow<'_, [u8]>, u8),
        lines: &mut Values<'_, (Text, u8), Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let mut left: Vec<Vec<u8>> = Vec::new();
        while let Some(((_, side), line)) = lines.next_pair()? {
            if side == 0 {
                left.push(line.to_vec());
            } else {
                left.iter().try_for_each(|left| {
                    out.emit(&key, &[left.as_slice(), b"\t", line].concat())
                })?;
            }
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    Job::new("join")
        .option::<String>("left", None, "what names of files of the left side contain")
        .map(|| Sides {
            left: String::new(),
        })
        .group_by_first()
        .reduce(|| Inner)
        .main()
}
