//! Lines of two inputs with the same key, side by side: what Hadoop's `hadoop-mapreduce-examples join` does,
//! but of inputs that need not be sorted (a join in the reduces), each with a mapper of its own.
//!
//! `cargo run --release --example join -- --local --orders ORDERS USERS OUT`, where lines are `KEY<TAB>VALUE`.

use gerbil_mapreduce::prelude::*;

struct Users;

impl Mapper for Users {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Side<Text, Text>;

    fn map(&mut self, user: &[u8], name: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(user, &Left(name))
    }
}

struct Orders;

impl Mapper for Orders {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Side<Text, Text>;

    fn map(&mut self, user: &[u8], what: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(user, &Right(what))
    }
}

fn main() -> ExitCode {
    Job::new("join")
        .map(|| Users)
        .and("orders", None, "what users have ordered", || Orders)
        .reduce(|| InnerJoin)
        .main()
}
