//! Which maps have which mapper, where inputs of a job have mappers of their own.

use gerbil_task::PlannedJob;
use gerbil_task::settings::INPUT_MAPS;

use crate::error::MapReduceError;
use crate::settings::Settings;

/// A line for each input, the first one's first; none where there is one input. `maps` is how many maps the job has, and
/// `inputs` ends with what the driver names for the further inputs.
///
/// # Errors
/// The driver has not said of each map which input it reads.
pub fn lines(
    planned: &PlannedJob,
    settings: &Settings,
    inputs: &[String],
    maps: usize,
) -> Result<Vec<String>, MapReduceError> {
    let more = &planned.more_inputs;
    if more.is_empty() {
        return Ok(Vec::new());
    }
    let said = settings.get(INPUT_MAPS).map_or("", String::as_str);
    let counts: Result<Vec<usize>, _> = said.split(',').map(str::parse).collect();
    let counts = counts.unwrap_or_default();
    let sum = counts.iter().copied().fold(0, usize::saturating_add);
    if counts.len() != more.len() + 1 || sum != maps {
        return Err(MapReduceError::Asked(format!(
            "the job {} has {} inputs with mappers of their own and {maps} maps, and its driver says {INPUT_MAPS}={said}: \
             it is to say how many maps each input has",
            planned.name,
            more.len() + 1
        )));
    }
    let (first, others) = inputs.split_at(inputs.len().saturating_sub(more.len()));
    let named = more.iter().zip(others);
    let named = named.map(|(of, input)| (&of.mapper, format!("{input} (--{})", of.name)));
    let all = std::iter::once((&planned.mapper, first.join(", "))).chain(named);
    let mut from = 0_usize;
    let line = |(count, (mapper, input)): (usize, (&String, String))| {
        let (first, last) = (from, (from + count).saturating_sub(1));
        from += count;
        match count {
            0 => format!("no map: {mapper} reads {input}"),
            1 => format!("map {first}: {mapper} reads {input}"),
            _ => format!("maps {first} to {last}: {mapper} reads {input}"),
        }
    };
    Ok(counts.iter().copied().zip(all).map(line).collect())
}

#[cfg(test)]
mod tests {
    use gerbil_task::PlannedInput;

    use super::*;

    fn planned() -> PlannedJob {
        let more = |name: &str, mapper: &str| PlannedInput {
            name: name.into(),
            mapper: mapper.into(),
            input: "TextLines".into(),
        };
        PlannedJob {
            name: "join".into(),
            mapper: "join::Users".into(),
            more_inputs: vec![more("orders", "join::Orders"), more("gone", "join::Gone")],
            ..PlannedJob::default()
        }
    }

    fn of(said: &str, maps: usize) -> Result<Vec<String>, String> {
        let settings = [(INPUT_MAPS.to_owned(), said.to_owned())].into();
        let inputs = ["/a", "/b", "/c,/d", "/e"].map(str::to_owned);
        lines(&planned(), &settings, &inputs, maps).map_err(|error| error.to_string())
    }

    #[test]
    fn each_input_is_told_with_its_maps_and_its_mapper() {
        let wanted = [
            "maps 0 to 1: join::Users reads /a, /b",
            "map 2: join::Orders reads /c,/d (--orders)",
            "no map: join::Gone reads /e (--gone)",
        ];
        assert_eq!(of("2,1,0", 3).unwrap(), wanted);
        let one = PlannedJob::default();
        assert!(lines(&one, &Settings::new(), &[], 3).unwrap().is_empty());
    }

    #[test]
    fn a_driver_that_does_not_say_it_of_each_map_is_refused() {
        for (said, maps) in [
            ("", 3),
            ("2,1", 3),
            ("2,1,0", 4),
            ("2,1,x", 3),
            ("3,0,0", 2),
        ] {
            let refused = of(said, maps).unwrap_err();
            assert!(
                refused.contains("has 3 inputs with mappers of their own"),
                "{refused}"
            );
        }
    }
}
