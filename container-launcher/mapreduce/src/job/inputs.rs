//! Inputs behind a job's first one, each with a mapper of its own: Hadoop's `MultipleInputs`.
//!
//! Maps are numbered input after input, and the driver says in a setting how many each input has: so the number of a map
//! tells its mapper, and whoever starts tasks knows nothing of it.

use std::sync::Arc;

use gerbil_task::inputs::paths;
use gerbil_task::{Piece, PlannedInput};

use super::JobOption;
use crate::combiner::Combining;
use crate::error::{Error, Result};
use crate::input::splits::OpenNamed;
use crate::input::{Cutting, InputFormat};
use crate::job::MakePlace;
use crate::map::Mapper;
use crate::order::Order;
use crate::settings::{INPUT_MAPS, Settings};
use crate::task::map::{MapDone, MapRun, run_map};
use crate::task::sample::sample;

type Map = dyn Fn(Option<&Combining>, &MakePlace, Order, MapRun<'_>) -> Result<MapDone>;
type Sample =
    dyn Fn(bool, &[Vec<Piece>], &Settings, &serde_json::Value, &OpenNamed) -> Result<Vec<Vec<u8>>>;

/// How an input is mapped; the mapper's type is gone.
#[derive(Clone)]
pub(crate) struct Mapping {
    pub(crate) map: Arc<Map>,
    pub(crate) sample: Arc<Sample>,
    pub(crate) need: Option<&'static str>,
    pub(crate) expansion: u32,
    /// Its pieces are files.
    pub(crate) is_files: bool,
}

impl Mapping {
    pub(crate) fn of<M: Mapper>(make: Arc<dyn Fn() -> M>) -> Self {
        let sampled = Arc::clone(&make);
        Self {
            map: Arc::new(move |combining, place, keys, run| {
                run_map(&*make, combining, place, keys, run)
            }),
            sample: Arc::new(move |by_first, splits, settings, params, open| {
                sample(&*sampled, by_first, splits, settings, params, open)
            }),
            need: M::NEED,
            expansion: M::EXPANSION,
            is_files: M::Input::FILES,
        }
    }
}

/// An input that an option names, as runners see it.
pub(crate) struct MoreInput {
    pub(crate) planned: PlannedInput,
    pub(crate) meaning: &'static str,
    pub(crate) cutting: Cutting,
}

impl MoreInput {
    pub(crate) fn of<M: Mapper>(name: &str, meaning: &'static str) -> Self {
        Self {
            planned: PlannedInput {
                name: name.to_owned(),
                mapper: std::any::type_name::<M>().to_owned(),
                input: std::any::type_name::<M::Input>().to_owned(),
            },
            meaning,
            cutting: Cutting::of::<M::Input>(),
        }
    }

    /// The option that names such an input.
    pub(crate) const fn option(
        name: &'static str,
        default: Option<&'static str>,
        meaning: &'static str,
    ) -> JobOption {
        JobOption {
            name,
            default,
            meaning,
            kind: ("IN", "an input: a file, folder, list or pattern"),
            check: |value| paths(&[value.to_owned()]).is_ok(),
            is_brought: false,
        }
    }
}

/// Why inputs with these mappers, the first one's first, cannot be those of one job.
pub(crate) fn contradiction(mappings: &[Mapping], is_need_said: bool) -> Option<String> {
    if mappings.len() > 1 && mappings.iter().any(|of| !of.is_files) {
        return Some(
            "of several inputs each is of files, and the format of one of them reads none"
                .to_owned(),
        );
    }
    let mut needs = mappings.iter().filter_map(|of| of.need);
    let first = needs.next()?;
    let other = needs.find(|other| *other != first)?;
    (!is_need_said).then(|| {
        format!(
            "its mappers need {first} and {other}, and all maps of a job go to the same nodes: say with \
             needs(\"map\", …) what they need"
        )
    })
}

/// What goes from driver to tasks: how many maps each input has.
pub(crate) fn said(maps: &[usize]) -> String {
    let maps: Vec<String> = maps.iter().map(ToString::to_string).collect();
    maps.join(",")
}

/// The same, read again, of so many inputs.
pub(crate) fn maps(settings: &Settings, inputs: usize) -> Result<Vec<usize>> {
    let text = settings.get(INPUT_MAPS).unwrap_or_default();
    let maps: std::result::Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
    let maps = maps.ok().filter(|maps| maps.len() == inputs);
    maps.ok_or_else(|| {
        Error::new(format!(
            "{INPUT_MAPS}={text}: the job's driver says there how many maps each of its {inputs} inputs has"
        ))
    })
}

/// The number of the input that a map reads, of so many inputs.
pub(crate) fn of_map(task: u32, settings: &Settings, inputs: usize) -> Result<usize> {
    if inputs == 1 {
        return Ok(0);
    }
    let mut end = 0_usize;
    let maps = maps(settings, inputs)?;
    let of = maps.iter().position(|maps| {
        end = end.saturating_add(*maps);
        (task as usize) < end
    });
    of.ok_or_else(|| {
        Error::new(format!(
            "map {task} is of none of the job's inputs, which have {end} maps ({INPUT_MAPS})"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::{INPUT_MAPS, Settings, maps, of_map, said};

    fn settings(text: &str) -> Settings {
        let mut settings = Settings::default();
        settings.set(INPUT_MAPS, text);
        settings
    }

    #[test]
    fn the_number_of_a_map_tells_its_input() {
        let settings = settings(&said(&[2, 0, 1]));
        let inputs = (0..3).map(|task| of_map(task, &settings, 3).unwrap());
        assert_eq!(inputs.collect::<Vec<_>>(), [0, 0, 2]);
        let beyond = of_map(3, &settings, 3).unwrap_err().to_string();
        assert!(beyond.contains("map 3 is of none"), "{beyond}");
        // A job of one input needs no such setting.
        assert_eq!(of_map(9, &Settings::default(), 1).unwrap(), 0);
    }

    #[test]
    fn what_does_not_say_it_of_each_input_is_refused() {
        for text in ["", "1", "1,2,3", "1,x", "1,-1", "1,", "1, 2"] {
            let refused = maps(&settings(text), 2).unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("{INPUT_MAPS}={text}: ")),
                "{refused}"
            );
        }
    }
}
