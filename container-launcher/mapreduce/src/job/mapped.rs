//! A job with its mapper: what its records go through between maps and reduces, until it can be run.

use std::sync::Arc;

use gerbil_task::{Piece, PlannedJob};

use super::inputs::{self, Mapping, MoreInput};
use super::{Job, MakePlace, Ready, Reduce, Sample, Spec};
use crate::combiner::{Combining, Groups};
use crate::datum::{EncodeAs as _, Value};
use crate::error::{Error, Result};
use crate::hot_keys::shown;
use crate::input::splits::OpenNamed;
use crate::input::{Cutting, InputFormat};
use crate::map::Mapper;
use crate::order::Order;
use crate::output::{TextOutput, WriterOf};
use crate::partition::{Dealing, Partitioner, RecordPartitioner};
use crate::reduce::{Combiner, Reducer};
use crate::settings::Settings;
use crate::sort::collect::{Fold, RecordPlace};
use crate::sort::combine::Combine;
use crate::task::map::MapRun;
use crate::task::reduce::{Grouping, ReduceRun, run_reduce};

/// A job with its mapper.
pub struct Mapped<M: Mapper> {
    pub(crate) job: Job,
    make: Arc<dyn Fn() -> M>,
    more: Vec<(MoreInput, Mapping)>,
    combining: Option<Combining>,
    combiner: Option<String>,
    combiner_need: Option<&'static str>,
    /// One of the job's own, by the name of its type.
    partitioner: Option<(String, MakePlace)>,
    by_first: bool,
    ranges: bool,
    order: Order,
}

impl<M: Mapper> std::fmt::Debug for Mapped<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.job)
    }
}

impl<M: Mapper> Mapped<M> {
    pub(super) fn new(job: Job, make: Arc<dyn Fn() -> M>) -> Self {
        Self {
            job,
            make,
            more: Vec::new(),
            combining: None,
            combiner: None,
            combiner_need: None,
            partitioner: None,
            by_first: false,
            ranges: false,
            order: Order::Sorted,
        }
    }

    /// With one input more, which has a mapper of its own: Hadoop's `MultipleInputs`. `--NAME IN` on the command line names it
    /// as the first one is named: a file, folder, list or pattern. Without a default the option must be given;
    /// [`Submit::input_of`](crate::Submit::input_of) is how a driver says it. All mappers emit the same types of keys and
    /// values, and their formats read files.
    ///
    /// Maps are numbered input after input, so that a reduce is handed a key's values of the first input before those of the
    /// next: [`InnerJoin`](crate::InnerJoin) and its like join by that. What a mapper needs of its node is what all maps of
    /// the job need.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// /// `USER<TAB>MINUTES`.
    /// struct Visits;
    ///
    /// impl Mapper for Visits {
    ///     type Input = KeyValueText;
    ///     type Key = Text;
    ///     type Value = u64;
    ///     fn map(&mut self, user: &[u8], minutes: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
    ///         out.emit(user, &std::str::from_utf8(minutes)?.parse::<u64>()?)
    ///     }
    /// }
    ///
    /// let job = Job::new("minutes")
    ///     .map(|| Visits)
    ///     .and_lines("calls", None, "who called for a minute, a line each", |user, out| out.emit(user, &1))
    ///     .combine(|| Sum)
    ///     .reduce(|| Sum);
    /// let done = job.test().input("ann\t5\nbob\t3\n").input_of("calls", "bob\neve\n").run()?;
    /// assert_eq!(done.text(), "ann\t5\nbob\t4\neve\t1\n");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn and<N, F>(
        mut self,
        name: &'static str,
        default: Option<&'static str>,
        meaning: &'static str,
        make: F,
    ) -> Self
    where
        N: Mapper<Key = M::Key, Value = M::Value>,
        F: Fn() -> N + Copy + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a mapper captures something"
            )
        };
        self.job = self.job.with(MoreInput::option(name, default, meaning));
        let input = MoreInput::of::<N>(name, meaning);
        self.more.push((input, Mapping::of::<N>(Arc::new(make))));
        self
    }

    /// With combiners that `make` makes, which captures nothing, as in [`Job::map`].
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Most(u64);
    /// # impl Combiner<u64> for Most {
    /// #     fn combine(&mut self, left: u64, right: u64) -> Result<u64> { Ok((left + right).min(self.0)) }
    /// # }
    /// # const KNOWN: u64 = 7;
    /// # let _ = Job::new("job").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1)).combine(|| Most(KNOWN));
    /// ```
    ///
    /// ```compile_fail
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Most(u64);
    /// # impl Combiner<u64> for Most {
    /// #     fn combine(&mut self, left: u64, right: u64) -> Result<u64> { Ok((left + right).min(self.0)) }
    /// # }
    /// let known = std::env::args().count() as u64;
    /// # let _ =
    /// Job::new("job").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1)).combine(move || Most(known))
    /// # ;
    /// ```
    #[must_use]
    pub fn combine<C: Combiner<M::Value>, F: Fn() -> C + Copy + 'static>(
        mut self,
        make: F,
    ) -> Self {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a combiner captures something"
            )
        };
        self.combiner = Some(std::any::type_name::<C>().to_owned());
        self.combiner_need = C::NEED;
        self.combining = Some(Combining::Fold(Arc::new(move || -> Box<dyn Fold> {
            let mut combiner = make();
            Box::new(
                move |left: &[u8], right: &[u8], out: &mut Vec<u8>| -> Result<()> {
                    combiner
                        .combine(M::Value::decode(left)?, M::Value::decode(right)?)?
                        .append(out)
                },
            )
        })));
        self
    }

    /// With combiners that are reducers, which `make` makes and which captures nothing: each takes the sorted records that
    /// a map has for one reduce, whenever the map writes some, and emits fewer, as Hadoop's do. It is for what two values
    /// at a time cannot say, such as the ten largest of a key; sums and the like are faster with
    /// [`combine`](Self::combine), whose place it takes.
    ///
    /// Each record goes through none of them, one or several; what they emit goes to the reduce that its group was for,
    /// so it has the group's key.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// /// The two largest values of each key: as combiner and as reducer.
    /// struct Largest;
    ///
    /// impl Reducer<Text, u64> for Largest {
    ///     type Key = Text;
    ///     type Value = u64;
    ///     fn reduce(&mut self, key: &[u8], values: &mut Values<'_, Text, u64>, out: &mut Output<'_, Text, u64>) -> Result<()> {
    ///         let mut largest = [0; 3];
    ///         while let Some(value) = values.next()? {
    ///             largest[0] = value;
    ///             largest.sort_unstable();
    ///         }
    ///         largest[1..].iter().try_for_each(|value| out.emit(key, value))
    ///     }
    /// }
    ///
    /// let job = Job::new("largest").map_lines::<Text, u64, _>(|line, out| out.emit("length", &(line.len() as u64)));
    /// let job = job.combine_groups(|| Largest).reduce(|| Largest);
    /// # let done = job.test().input("a\nabc\nab\n").run()?;
    /// # assert_eq!(done.text(), "length\t2\nlength\t3\n");
    /// # assert_eq!(done.counter("org.apache.hadoop.mapreduce.TaskCounter", "REDUCE_INPUT_RECORDS"), 2);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn combine_groups<C, F>(mut self, make: F) -> Self
    where
        C: Reducer<M::Key, M::Value, Key = M::Key, Value = M::Value>,
        F: Fn() -> C + Copy + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a combiner captures something"
            )
        };
        self.combiner = Some(std::any::type_name::<C>().to_owned());
        self.combiner_need = C::NEED;
        self.combining = Some(Combining::Groups(Arc::new(
            move |context, order| -> Box<dyn Combine> {
                Box::new(Groups::<M::Key, M::Value, C, F>::new(make, context, order))
            },
        )));
        self
    }

    /// With a partitioner that `make` makes, which captures nothing, instead of Hadoop's hash. With
    /// [`group_by_first`](Self::group_by_first) it must send all keys of a group to one reduce.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Deal(u64);
    /// # impl Partitioner<Text> for Deal {
    /// #     fn partition(&mut self, _: &[u8], all: u32) -> Result<u32> { Ok(self.0 as u32 % all) }
    /// # }
    /// # const KNOWN: u64 = 7;
    /// # let _ = Job::new("job").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1)).partition(|| Deal(KNOWN));
    /// ```
    ///
    /// ```compile_fail
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Deal(u64);
    /// # impl Partitioner<Text> for Deal {
    /// #     fn partition(&mut self, _: &[u8], all: u32) -> Result<u32> { Ok(self.0 as u32 % all) }
    /// # }
    /// let known = std::env::args().count() as u64;
    /// # let _ =
    /// Job::new("job").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1)).partition(move || Deal(known))
    /// # ;
    /// ```
    #[must_use]
    pub fn partition<P: Partitioner<M::Key>, F: Fn() -> P + Copy + 'static>(
        mut self,
        make: F,
    ) -> Self {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a partitioner captures something"
            )
        };
        let place: MakePlace = Arc::new(move |partitions, settings| {
            let mut partitioner = make();
            partitioner.setup(settings)?;
            Ok(RecordPlace::by_key(move |key| {
                partitioner.partition(M::Key::decode(key)?, partitions)
            }))
        });
        self.partitioner = Some((std::any::type_name::<P>().to_owned(), place));
        self
    }

    /// With a partitioner that is handed each value, too, which `make` makes and which captures nothing; it takes the place
    /// of a [`partition`](Self::partition), or gives it up to a later one.
    ///
    /// A combiner joins what goes to one reduce alone, so that the output is the same with it and without. It does so when
    /// a map writes its sorted records, and not while they are collected: a combiner of many records with few keys
    /// takes longer than with a partitioner of keys.
    #[must_use]
    pub fn partition_records<P, F>(mut self, make: F) -> Self
    where
        P: RecordPartitioner<M::Key, M::Value>,
        F: Fn() -> P + Copy + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a partitioner captures something"
            )
        };
        let place: MakePlace = Arc::new(move |partitions, settings| {
            let mut partitioner = make();
            partitioner.setup(settings)?;
            Ok(RecordPlace::by_value(move |key, value| {
                let (key, value) = (M::Key::decode(key)?, M::Value::decode(value)?);
                partitioner.partition(key, value, partitions)
            }))
        });
        self.partitioner = Some((std::any::type_name::<P>().to_owned(), place));
        self
    }

    /// Hands reduces their keys in this order; [`Order::Sorted`] without it, and always where groups are
    /// made by a part of the key or partitions are ranges.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Groups and partitions by the first part of a tuple, and sorts by all of it: Hadoop's secondary sort. A
    /// [partitioner](Self::partition) of the job's own stays, and [ranges](Self::total_order) are those of first parts.
    #[must_use]
    pub const fn group_by_first(mut self) -> Self {
        self.by_first = true;
        self
    }

    /// Gives each reduce a range of keys, so that all outputs in a row are sorted; a sample of the input tells where
    /// ranges begin. A job that has a [partitioner](Self::partition) of its own, too, is refused.
    #[must_use]
    pub const fn total_order(mut self) -> Self {
        self.ranges = true;
        self
    }

    /// The order that holds: parts of keys, and ranges, make sense in their own alone.
    const fn keys(&self) -> Order {
        if self.by_first || self.ranges {
            Order::Sorted
        } else {
            self.order
        }
    }

    fn spec<K: Value, V: Value>(
        self,
        output: WriterOf,
        reducer: Option<(&str, Option<&'static str>)>,
        reduce: Option<Box<Reduce>>,
    ) -> Ready<K, V> {
        let keys = self.keys();
        let by_first = self.by_first;
        let dealing = Dealing::of::<M::Key>(self.partitioner, by_first, self.ranges);
        let mut needs = self.job.needs;
        let (more, of_more): (Vec<_>, Vec<_>) = self.more.into_iter().unzip();
        let mut mappings = vec![Mapping::of(self.make)];
        mappings.extend(of_more);
        let is_need_said = needs.iter().any(|(stage, _)| stage == "map");
        let contradiction = inputs::contradiction(&mappings, is_need_said);
        let (reducer, reducer_need) = reducer.unzip();
        for (stage, need) in [
            ("map", mappings.iter().find_map(|of| of.need)),
            ("combine", self.combiner_need),
            ("reduce", reducer_need.flatten()),
        ] {
            let is_said = needs.iter().any(|(said, _)| said == stage);
            let need = need.filter(|_| !is_said);
            needs.extend(need.map(|need| (stage.to_owned(), need.to_owned())));
        }
        let name = |of: &str| of.to_owned();
        let planned = PlannedJob {
            name: self.job.name.to_owned(),
            mapper: name(std::any::type_name::<M>()),
            combiner: self.combiner,
            reducer: reducer.map(name),
            partitioner: dealing.name,
            input: name(std::any::type_name::<M::Input>()),
            reads_no_files: !M::Input::FILES,
            output: name(output.name),
            between: [
                name(std::any::type_name::<M::Key>()),
                name(std::any::type_name::<M::Value>()),
            ],
            order: keys.name().to_owned(),
            settings: self.job.settings,
            needs,
            expansion: mappings.iter().map(|of| of.expansion).max().unwrap_or(1),
            more_inputs: more.iter().map(|of| of.planned.clone()).collect(),
        };
        let (combining, place) = (self.combining, dealing.place);
        let sampled = mappings.clone();
        let spec = Spec {
            planned,
            contradiction: (self.job.contradiction)
                .or(dealing.contradiction)
                .or(contradiction),
            options: self.job.options,
            typed: self.job.typed,
            cutting: Cutting::of::<M::Input>(),
            more,
            splits: if M::Input::FILES {
                None
            } else {
                Some(Box::new(M::Input::splits))
            },
            map: Box::new(move |run: MapRun<'_>| {
                let of = inputs::of_map(run.order.task, &run.context.settings, mappings.len())?;
                let mapping = mappings.get(of).ok_or_else(no_mapper)?;
                (mapping.map)(combining.as_ref(), &place, keys, run)
            }),
            reduce,
            direct: if reducer.is_some() {
                WriterOf::new::<TextOutput, M::Key, M::Value>()
            } else {
                output.clone()
            },
            output,
            shown: shown::<M::Key>,
            sample: self.ranges.then(|| -> Box<Sample> {
                Box::new(
                    move |splits: &[Vec<Piece>],
                          settings: &Settings,
                          params: &serde_json::Value,
                          open: &OpenNamed| {
                        let mut all = Vec::new();
                        for (of, splits) in
                            sampled
                                .iter()
                                .zip(by_input(splits, settings, sampled.len())?)
                        {
                            all.extend((of.sample)(by_first, splits, settings, params, open)?);
                        }
                        Ok(all)
                    },
                )
            }),
        };
        Ready::new(spec)
    }

    /// With reducers that `make` makes, which captures nothing.
    ///
    /// ```
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Say(u64);
    /// # impl Reducer<Text, u64> for Say {
    /// #     type Key = Text;
    /// #     type Value = u64;
    /// #     fn reduce(&mut self, key: &[u8], _: &mut Values<'_, Text, u64>, out: &mut Output<'_, Text, u64>) -> Result<()> {
    /// #         out.emit(key, &self.0)
    /// #     }
    /// # }
    /// # const KNOWN: u64 = 7;
    /// # let _ = Job::new("job").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1)).reduce(|| Say(KNOWN));
    /// ```
    ///
    /// ```compile_fail
    /// # use gerbil_mapreduce::prelude::*;
    /// # struct Say(u64);
    /// # impl Reducer<Text, u64> for Say {
    /// #     type Key = Text;
    /// #     type Value = u64;
    /// #     fn reduce(&mut self, key: &[u8], _: &mut Values<'_, Text, u64>, out: &mut Output<'_, Text, u64>) -> Result<()> {
    /// #         out.emit(key, &self.0)
    /// #     }
    /// # }
    /// let known = std::env::args().count() as u64;
    /// # let _ =
    /// Job::new("job").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1)).reduce(move || Say(known))
    /// # ;
    /// ```
    #[must_use]
    pub fn reduce<R, F>(self, make: F) -> Ready<R::Key, R::Value>
    where
        R: Reducer<M::Key, M::Value>,
        F: Fn() -> R + Copy + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "the constructor of a reducer captures something"
            )
        };
        let grouping = Grouping {
            by_first: self.by_first,
            order: self.keys(),
        };
        let run = move |run: ReduceRun| run_reduce::<M::Key, M::Value, R>(make(), grouping, run);
        let output = WriterOf::new::<TextOutput, R::Key, R::Value>();
        self.spec(
            output,
            Some((std::any::type_name::<R>(), R::NEED)),
            Some(Box::new(run)),
        )
    }

    /// Without reduces: what mappers emit is the output, unsorted.
    #[must_use]
    pub fn map_only(self) -> Ready<M::Key, M::Value> {
        self.spec(WriterOf::new::<TextOutput, M::Key, M::Value>(), None, None)
    }
}

fn no_mapper() -> Error {
    Error::new("an input without a mapper")
}

/// The splits of each input.
fn by_input<'a>(
    splits: &'a [Vec<Piece>],
    settings: &Settings,
    inputs: usize,
) -> Result<Vec<&'a [Vec<Piece>]>> {
    if inputs == 1 {
        return Ok(vec![splits]);
    }
    let mut rest = splits;
    let maps = inputs::maps(settings, inputs)?.into_iter();
    let of = maps.map(|maps| {
        let (of, behind) = rest.split_at(maps.min(rest.len()));
        rest = behind;
        of
    });
    Ok(of.collect())
}
