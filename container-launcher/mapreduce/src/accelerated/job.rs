//! Jobs of accelerated mappers and reducers.

use fpga_client::Function;

use super::{Accelerated, AcceleratedMapper, AcceleratedReducer, AcceleratedReduction, need};
use crate::job::{Job, Mapped, Ready};
use crate::settings::ACC_FALLBACK;

/// What the name of a map's function ends with.
const OF_MAPS: &str = "-map";

impl Job {
    /// Says what the job computes: with the tag `kmeans` its map computes `kmeans-map`, and its reduce `kmeans-reduce`.
    #[must_use]
    pub fn tag(mut self, tag: &'static str) -> Self {
        let tags = Function::ALL.map(|function| function.name().strip_suffix(OF_MAPS));
        let tags: Vec<&str> = tags.into_iter().flatten().collect();
        if !tags.contains(&tag) {
            self.contradict(format!("job tag {tag:?}: known are {}", tags.join(", ")));
        }
        self.tag = Some(tag);
        self
    }

    /// With accelerated mappers that `make` makes, which captures nothing, as in [`Job::map`]. Each map needs
    /// [`DEVICES`](AcceleratedMapper::DEVICES) of its function, unless [`Job::needs`] says something else.
    #[must_use]
    pub fn accelerated_map<A: AcceleratedMapper, F: Fn() -> A + Copy + 'static>(
        mut self,
        make: F,
    ) -> Mapped<Accelerated<A>> {
        self.accelerate("map", A::FUNCTION, A::DEVICES);
        self.map(move || Accelerated::new(make()))
    }

    fn accelerate(&mut self, stage: &str, function: Function, devices: u32) {
        if !self.needs.iter().any(|(said, _)| said == stage) {
            self.needs.push((stage.to_owned(), need(function, devices)));
        }
        // It has a version for the processor.
        let fallback = self.settings.entry(ACC_FALLBACK.to_owned());
        fallback.or_insert_with(|| "start".to_owned());
        let of_tag = self.tag.map(|tag| format!("{tag}-{stage}"));
        if let Some(of_tag) = of_tag.filter(|name| name != function.name()) {
            self.contradict(format!(
                "its tag says that its {stage} computes {of_tag}, which computes {function}"
            ));
        }
    }

    fn contradict(&mut self, sentence: String) {
        self.contradiction.get_or_insert(sentence);
    }
}

impl<M: crate::Mapper> Mapped<M> {
    /// With accelerated reducers that `make` makes, which captures nothing. Each reduce needs
    /// [`DEVICES`](AcceleratedReducer::DEVICES) of its function, unless [`Job::needs`] says something else.
    #[must_use]
    pub fn accelerated_reduce<A, F>(mut self, make: F) -> Ready<A::Key, A::Value>
    where
        A: AcceleratedReducer<M::Key, M::Value>,
        F: Fn() -> A + Copy + 'static,
    {
        self.job.accelerate("reduce", A::FUNCTION, A::DEVICES);
        self.reduce(move || AcceleratedReduction::new(make()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_functions_that_there_are_and_those_of_its_stages() {
        let unknown = Job::new("job").tag("kmean").contradiction;
        assert_eq!(
            unknown.as_deref(),
            Some("job tag \"kmean\": known are kmeans, bayes")
        );
        let mut job = Job::new("job").tag("kmeans");
        job.accelerate("map", Function::KmeansMap, 1);
        assert_eq!(job.contradiction, None);
        job.accelerate("reduce", Function::BayesMap, 1);
        assert_eq!(
            job.contradiction.as_deref(),
            Some("its tag says that its reduce computes kmeans-reduce, which computes bayes-map")
        );
    }
}
