//! Joins by key, in reduces: what two inputs have under the same key, side by side.
//!
//! A key's left values come before its right ones, since maps are numbered input after input. The left ones are kept, and
//! each right one is joined with all of them as it comes. What is kept is in memory up to a bound, and behind that in a file
//! without a name, which is read once for each right value: as often as its records are emitted.

use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::sync::Arc;

use crate::datum::{EncodeAs, Key, Side, Value};
use crate::emit::Output;
use crate::error::{Context as _, Error, Result};
use crate::job::{Mapped, Ready};
use crate::map::Mapper;
use crate::order::Order;
use crate::reduce::{Reducer, Values};
use crate::sort::scratch::{Scratch, Spill};

/// Which part of the sort buffer the left values of a key may have in memory.
const SHARE: usize = 16;
/// Bytes that are written and read at a time.
const BUFFER: usize = 256 << 10;

macro_rules! joins {
    ($($(#[$about:meta])* $name:ident: $left:ident, $right:ident;)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl<K: Key, L: Key, R: Key> Reducer<K, Side<L, R>> for $name
        where
            L::Owned: EncodeAs<L>,
        {
            type Key = K;
            type Value = (sides!($left L), sides!($right R));

            fn reduce(
                &mut self,
                _: K::View<'_>,
                values: &mut Values<'_, K, Side<L, R>>,
                out: &mut Output<'_, K, Self::Value>,
            ) -> Result<()> {
                let keeps = Keeps {
                    lonely_left: sides!($right),
                    lonely_right: sides!($left),
                };
                let key = values.order.key(values.run.key()).to_vec();
                let mut pair = Vec::new();
                join(values, keeps, out, |left, right, out| {
                    pair.clear();
                    sides!($left L, left, pair, L::as_part);
                    sides!($right R, right, pair, alone);
                    out.pass(&key, &pair)
                })
            }
        }
    )+};
}

/// Whether a side may be missing; its type; and how its bytes go into a pair.
macro_rules! sides {
    (there) => { false };
    (maybe) => { true };
    (there $of:ident) => { $of };
    (maybe $of:ident) => { Option<$of> };
    (there $of:ident, $side:ident, $pair:ident, $append:expr) => {
        if let Some(bytes) = $side {
            $append(bytes, &mut $pair);
        }
    };
    (maybe $of:ident, $side:ident, $pair:ident, $append:expr) => {
        $pair.push(u8::from($side.is_some()));
        if let Some(bytes) = $side {
            $append(bytes, &mut $pair);
        }
    };
}

/// As the last part of a tuple is laid out.
fn alone(bytes: &[u8], pair: &mut Vec<u8>) {
    pair.extend_from_slice(bytes);
}

joins! {
    /// Emits each key with each pair of a left and a right value that it has: an inner join. The left values are those of
    /// the job's first input ([`Job::map`](crate::Job::map)), whose mapper emits [`Left`](crate::Left); the right ones are those of the
    /// other ([`Mapped::and`]), whose mapper emits [`Right`](crate::Right). Neither input needs to be sorted.
    ///
    /// In memory are the left values of one key, up to a sixteenth of `mapreduce.task.io.sort.mb`; where a key has more,
    /// they lie in a file on the local disk, the counter `JOINS_FROM_DISK` of the group `gerbil` says for how many keys,
    /// and that file is read once for each right value. Of right values a key may have any number: the input with fewer
    /// values of a key is best the first one.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Users;
    /// # impl Mapper for Users {
    /// #     type Input = KeyValueText;
    /// #     type Key = Text;
    /// #     type Value = Side<Text, Text>;
    /// #     fn map(&mut self, id: &[u8], name: &[u8], out: &mut Emit<'_, Self>) -> Result<()> { out.emit(id, &Left(name)) }
    /// # }
    /// # struct Orders;
    /// # impl Mapper for Orders {
    /// #     type Input = KeyValueText;
    /// #     type Key = Text;
    /// #     type Value = Side<Text, Text>;
    /// #     fn map(&mut self, id: &[u8], what: &[u8], out: &mut Emit<'_, Self>) -> Result<()> { out.emit(id, &Right(what)) }
    /// # }
    /// let job = Job::new("join").map(|| Users).and("orders", None, "USER<TAB>WHAT", || Orders).reduce(|| InnerJoin);
    /// let test = job.test().input("1\tann\n2\tbob\n").input_of("orders", "2\tink\n3\tcup\n2\tpen\n");
    /// assert_eq!(test.run()?.text(), "2\tbob\tink\n2\tbob\tpen\n");
    /// # Ok::<(), Error>(())
    /// ```
    InnerJoin: there, there;
    /// As [`InnerJoin`], and left values whose key has no right one come with none: a left outer join.
    LeftJoin: there, maybe;
    /// As [`InnerJoin`], and right values whose key has no left one come with none: a right outer join.
    RightJoin: maybe, there;
    /// As [`InnerJoin`], and values whose key has none on the other side come with none: a full outer join.
    FullJoin: maybe, maybe;
}

impl<M, K, L, R> Mapped<M>
where
    M: Mapper<Key = K, Value = Side<L, R>>,
    K: Key,
    L: Value,
    R: Value,
{
    /// With a closure that is called with each pair of a left and a right value of a key, and with each value whose key has
    /// none on the other side: a [`FullJoin`] whose output is the closure's. It keeps as much in memory.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// let job = Job::new("sold")
    ///     .map_lines::<Text, Side<u64, ()>, _>(|line, out| out.emit(line, &Left(1)))
    ///     .and_lines("gone", None, "what is not sold any more", |line, out| out.emit(line, &Right(())))
    ///     .join_with::<Text, u64, _>(|key, left, right, out| match (left, right) {
    ///         (Some(count), None) => out.emit(key, &count),
    ///         _ => Ok(()),
    ///     });
    /// let done = job.test().input("cup\npen\n").input_of("gone", "cup\n").run()?;
    /// assert_eq!(done.text(), "pen\t1\n");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn join_with<A, B, F>(self, join: F) -> Ready<A, B>
    where
        A: Value,
        B: Value,
        F: Fn(
                &K::View<'_>,
                Option<L::View<'_>>,
                Option<R::View<'_>>,
                &mut Output<'_, A, B>,
            ) -> Result<()>
            + Copy
            + 'static,
    {
        const { assert!(size_of::<F>() == 0, "the closure captures something") };
        self.reduce_with::<A, B, _>(move |key, values, out| {
            let keeps = Keeps {
                lonely_left: true,
                lonely_right: true,
            };
            self::join(values, keeps, out, |left, right, out| {
                let (left, right) = (left.map(L::decode), right.map(R::decode));
                join(&key, left.transpose()?, right.transpose()?, out)
            })
        })
    }
}

/// Which values are emitted that have none on the other side.
#[derive(Clone, Copy, Debug)]
struct Keeps {
    lonely_left: bool,
    lonely_right: bool,
}

/// Hands all pairs of a key to `emit`, as bytes.
fn join<K: Key, L: Value, R: Value, A, B>(
    values: &mut Values<'_, K, Side<L, R>>,
    keeps: Keeps,
    out: &mut Output<'_, A, B>,
    mut emit: impl FnMut(Option<&[u8]>, Option<&[u8]>, &mut Output<'_, A, B>) -> Result<()>,
) -> Result<()>
where
    A: Value,
    B: Value,
{
    if values.order == Order::None {
        return Err(Error::new(
            "a join wants all values of a key together, and order(Order::None) leaves them where they are",
        ));
    }
    let mut lefts = Lefts::new(out.settings.arena()? / SHARE, values.scratch);
    let mut is_lonely = true;
    while values.step()? {
        match Side::<L, R>::parts(values.run.value())? {
            Side::Left(_) if !is_lonely => {
                return Err(Error::new(
                    "a left value came behind a right one: the left side is the job's first input (map), the right \
                     side the other one (and)",
                ));
            }
            Side::Left(left) => {
                let kept = lefts.keep(left);
                values.is_broken |= kept.is_err();
                kept?;
            }
            Side::Right(right) => {
                is_lonely = false;
                if lefts.count == 0 && keeps.lonely_right {
                    emit(None, Some(right), out)?;
                }
                let each = lefts.each(|left| emit(Some(left), Some(right), out));
                values.is_broken |= lefts.is_broken;
                each?;
            }
        }
    }
    if is_lonely && keeps.lonely_left {
        let each = lefts.each(|left| emit(Some(left), None, out));
        values.is_broken |= lefts.is_broken;
        each?;
    }
    if lefts.spilled.is_some() {
        out.counting.add("gerbil", "JOINS_FROM_DISK", 1);
    }
    Ok(())
}

/// The left values of a key, in their order.
struct Lefts<'a> {
    /// Each is behind its length.
    room: Vec<u8>,
    most: usize,
    count: u64,
    scratch: Option<&'a Arc<Scratch>>,
    spilled: Option<BufWriter<Spill>>,
    /// The file could not be read.
    is_broken: bool,
}

impl<'a> Lefts<'a> {
    const fn new(most: usize, scratch: Option<&'a Arc<Scratch>>) -> Self {
        Self {
            room: Vec::new(),
            most,
            count: 0,
            scratch,
            spilled: None,
            is_broken: false,
        }
    }

    fn keep(&mut self, left: &[u8]) -> Result<()> {
        self.count += 1;
        let length = (left.len() as u64).to_le_bytes();
        if self.spilled.is_none() && self.room.len() + length.len() + left.len() <= self.most {
            self.room.extend_from_slice(&length);
            self.room.extend_from_slice(left);
            return Ok(());
        }
        let file = match &mut self.spilled {
            Some(file) => file,
            None => {
                let scratch = self.scratch.ok_or_else(|| {
                    Error::new("a combiner has no files: joins are made by reduces")
                })?;
                let file = BufWriter::with_capacity(BUFFER, scratch.on_disk()?);
                self.spilled.insert(file)
            }
        };
        file.write_all(&length)
            .and_then(|()| file.write_all(left))
            .context(no_room)
    }

    /// Hands each of them out, those in memory first, as they came first.
    fn each(&mut self, mut with: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut rest = self.room.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let length = crate::width::size(u64::from_le_bytes(*length));
            let (left, behind) = behind.split_at_checked(length).ok_or_else(broken)?;
            with(left)?;
            rest = behind;
        }
        let Some(spilled) = &mut self.spilled else {
            return Ok(());
        };
        // Only what `with` says is no matter of the file.
        self.is_broken = true;
        spilled.flush().context(no_room)?;
        let mut file = spilled.get_ref().file();
        file.rewind().context(no_read)?;
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut left = Vec::new();
        while !file.fill_buf().context(no_read)?.is_empty() {
            let mut length = [0; 8];
            file.read_exact(&mut length).context(no_read)?;
            left.resize(crate::width::size(u64::from_le_bytes(length)), 0);
            file.read_exact(&mut left).context(no_read)?;
            if let Err(error) = with(&left) {
                self.is_broken = false;
                return Err(error);
            }
        }
        self.is_broken = false;
        Ok(())
    }
}

fn no_room() -> String {
    "left values of a key, on the local disk".to_owned()
}

fn no_read() -> String {
    "left values of a key, read again from the local disk".to_owned()
}

fn broken() -> Error {
    Error::new("left values of a key are not as they were kept")
}
