//! Lines of the inputs beside the line of a small table that has the same key: a join without reduces. Spark calls it a
//! broadcast join, Hive a map join.
//!
//! `cargo run --release --example mapjoin -- --local --table TABLE IN OUT`, where lines are `KEY<TAB>VALUE`.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};

use gerbil_mapreduce::prelude::*;

#[derive(Default)]
struct Lookup {
    table: HashMap<Vec<u8>, Vec<u8>>,
}

impl Mapper for Lookup {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Text;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        for line in BufReader::new(context.open("table")?).split(b'\n') {
            let line = line?;
            let tab = line.iter().position(|byte| *byte == b'\t');
            let (key, value) = line.split_at(tab.unwrap_or(line.len()));
            let value = value.get(1..).unwrap_or_default();
            self.table.insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }

    fn map(&mut self, key: &[u8], value: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        match self.table.get(key) {
            Some(found) => out.emit(key, &[found, b"\t".as_slice(), value].concat()),
            None => Ok(()),
        }
    }
}

fn main() -> ExitCode {
    Job::new("mapjoin")
        .brings(
            "table",
            Some(""),
            "the small side, of which each map has all",
        )
        .map(Lookup::default)
        .map_only()
        .main()
}
