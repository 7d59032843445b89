//! SequenceFiles of pairs of Writables, made of text, and read as text, as they come or sorted:
//! `writables --job write|read|sort --types text-int --local IN OUT`. Hadoop's counterpart is `sort` of its examples,
//! with `-inFormat`, `-outFormat`, `-outKey` and `-outValue`. `--job pack --types text-bytes` makes a SequenceFile of
//! whole files.

use std::marker::PhantomData;

use gerbil_mapreduce::Key;
use gerbil_mapreduce::prelude::*;

/// A type that is written in text as `toString` of its Writable shows it; but `Bytes`, which are the text itself.
trait OfText: Key {
    fn of_text(text: &str) -> Result<Self::Owned>;
    fn owned(view: Self::View<'_>) -> Self::Owned;
}

macro_rules! numbers {
    ($($type:ty as $number:ty),*) => {$(
        impl OfText for $type {
            fn of_text(text: &str) -> Result<$number> {
                Ok(text.parse()?)
            }

            fn owned(view: $number) -> $number {
                view
            }
        }
    )*};
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl OfText for $type {
            fn of_text(text: &str) -> Result<Vec<u8>> {
                Ok(text.into())
            }

            fn owned(view: &[u8]) -> Vec<u8> {
                view.to_vec()
            }
        }
    )*};
}

numbers!(
    i32 as i32,
    i64 as i64,
    i8 as i8,
    i16 as i16,
    f32 as f32,
    f64 as f64,
    bool as bool
);
numbers!(VInt as i32, VLong as i64);
texts!(Text, Bytes);

impl OfText for () {
    fn of_text(_: &str) -> Result<()> {
        Ok(())
    }

    fn owned((): ()) {}
}

/// Out of lines with a key, a tab and a value.
struct Write<K, V>(PhantomData<fn(K, V)>);

impl<K: OfText, V: OfText> Mapper for Write<K, V> {
    type Input = KeyValueText;
    type Key = K;
    type Value = V;

    fn map(&mut self, key: &[u8], value: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (key, value) = (std::str::from_utf8(key)?, std::str::from_utf8(value)?);
        out.emit(&K::of_text(key)?, &V::of_text(value)?)
    }
}

/// Out of a SequenceFile of these types.
struct Read<K, V>(PhantomData<fn(K, V)>);

impl<K: OfText, V: OfText> Mapper for Read<K, V> {
    type Input = SequenceFile<K, V>;
    type Key = K;
    type Value = V;

    fn map(
        &mut self,
        key: K::View<'_>,
        value: V::View<'_>,
        out: &mut Emit<'_, Self>,
    ) -> Result<()> {
        out.emit(&K::owned(key), &V::owned(value))
    }
}

/// Whole files to a SequenceFile: their paths and what is in them.
struct Pack;

impl Mapper for Pack {
    type Input = WholeFile;
    type Key = Text;
    type Value = Bytes;

    fn map(&mut self, path: &str, content: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(path, content)
    }
}

/// Registers the three jobs of a pair, by their names.
fn with<K: OfText, V: OfText>(app: App, [write, read, sort]: [&'static str; 3]) -> App {
    app.job(
        Job::new(write)
            .map(|| Write::<K, V>(PhantomData))
            .map_only()
            .output::<SequenceFileOutput>(),
    )
    .job(Job::new(read).map(|| Read::<K, V>(PhantomData)).map_only())
    .job(
        Job::new(sort)
            .map(|| Read::<K, V>(PhantomData))
            .reduce(|| Identity),
    )
}

/// `with` each of some pairs.
macro_rules! pairs {
    ($app:expr, $($name:literal: $key:ty, $value:ty;)*) => {{
        let app = $app;
        $(let app = with::<$key, $value>(
            app,
            [concat!("write-", $name), concat!("read-", $name), concat!("sort-", $name)],
        );)*
        app
    }};
}

fn main() -> ExitCode {
    // The first job has the options of all.
    let app = App::new("writables").job(
        Job::new("lines")
            .option::<String>("job", Some("read"), "write, read, sort or pack")
            .option::<String>(
                "types",
                Some("text-int"),
                "text-int, long-double, bytes-float, …",
            )
            .map(|| Write::<Text, Text>(PhantomData))
            .map_only(),
    );
    let app = app.job(
        Job::new("pack-text-bytes")
            .map(|| Pack)
            .map_only()
            .output::<SequenceFileOutput>(),
    );
    let app = pairs! {app,
        "text-int": Text, i32;
        "long-double": i64, f64;
        "bytes-float": Bytes, f32;
        "int-boolean": i32, bool;
        "double-null": f64, ();
        "text-bytes": Text, Bytes;
        "byte-short": i8, i16;
        "vint-vlong": VInt, VLong;
        "vlong-vint": VLong, VInt;
    };
    app.drive(|run| {
        let (job, types) = (run.option::<String>("job")?, run.option::<String>("types")?);
        let (inputs, output) = (run.inputs(), run.output().to_owned());
        let job = run.job(&format!("{job}-{types}"));
        job.inputs(inputs).output(&output).wait().map(drop)
    })
    .main()
}
