//! What the stages of a program's jobs need of their nodes: as settings say it, else as the program does, else as is
//! found in its files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gerbil_task::PlannedJob;
use gerbil_task::settings::{NEEDS_MAP, NEEDS_REDUCE, goes_on_without};
use job::StageNeed;
use policy::elements::ElementNeed;
use proto_hadoop::ApplicationClient;
use scan::{
    BadLabel, Declared, Detected, Finding, Label, ProgramStage, ScanRequest, detect, findings,
};
use tokio::sync::OnceCell;

use crate::error::MapReduceError;
use crate::settings::Settings;

/// A mapper's, reducer's or combiner's stage as plans call it.
const STAGES: [(&str, ProgramStage); 3] = [
    ("map", ProgramStage::Map),
    ("combine", ProgramStage::Combine),
    ("reduce", ProgramStage::Reduce),
];

/// What is known of one program, and what it is to run on.
#[derive(Debug)]
pub struct Needs {
    request: ScanRequest,
    /// Tells what the cluster counts; `None`: nobody does.
    rm: Option<Arc<ApplicationClient>>,
    detected: OnceCell<Detected>,
    /// What it counts; `None`: it does not tell.
    types: OnceCell<Option<Vec<String>>>,
}

/// What tasks of a job need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfJob {
    /// Each of its stages.
    pub findings: Vec<Finding>,
    /// Of a map, what its combiner needs included.
    pub map: Vec<ElementNeed>,
    /// Of a reduce.
    pub reduce: Vec<ElementNeed>,
}

impl Needs {
    /// Of `program`, on a cluster whose types `rm` knows.
    #[must_use]
    pub fn new(program: PathBuf, rm: Option<Arc<ApplicationClient>>) -> Self {
        Self {
            request: ScanRequest::here(program),
            rm,
            detected: OnceCell::new(),
            types: OnceCell::new(),
        }
    }

    /// What a job needs with these `settings`.
    ///
    /// # Errors
    /// A label is known neither everywhere nor on this cluster, or its number is none.
    pub async fn of(
        &self,
        planned: &PlannedJob,
        settings: &Settings,
    ) -> Result<OfJob, MapReduceError> {
        let mut stages = vec![ProgramStage::Map];
        stages.extend(planned.combiner.as_ref().map(|_| ProgramStage::Combine));
        stages.extend(planned.reducer.as_ref().map(|_| ProgramStage::Reduce));
        let goes_on = goes_on_without(|name| settings.get(name).map(String::as_str));
        let mut declared = self.of_settings(settings, goes_on).await?;
        for (stage, label) in &planned.needs {
            let Some((_, stage)) = STAGES.into_iter().find(|(name, _)| name == stage) else {
                continue;
            };
            let said_of = format!("{stage} of the job {} needs", planned.name);
            declared.push(Declared {
                stage,
                label: self.label(label, &said_of, goes_on).await?,
                by: "the job".to_owned(),
            });
        }
        let is_said = |stage: &ProgramStage| declared.iter().any(|of| of.stage == *stage);
        let nothing = Detected::default();
        let detected = match stages.iter().all(is_said) {
            true => &nothing,
            false => self.detected().await?,
        };
        for line in &detected.needs {
            for stage in stages_of(planned, &line.of, line.stage) {
                let said_of = format!("{stage} of {} needs", line.of);
                declared.push(Declared {
                    stage,
                    label: self.label(&line.need, &said_of, goes_on).await?,
                    by: format!("section gerbil_needs, type {}", line.of),
                });
            }
        }
        Ok(OfJob::of(findings(&stages, &declared, detected)))
    }

    /// What is found in the program's files, once.
    async fn detected(&self) -> Result<&Detected, MapReduceError> {
        let request = self.request.clone();
        let looking = async || {
            let found = tokio::task::spawn_blocking(move || detect(&request)).await;
            found.map_err(|broken| MapReduceError::System {
                doing: "look at the program",
                source: broken.into(),
            })
        };
        self.detected.get_or_try_init(looking).await
    }

    /// A setting for maps holds for their combiners, too.
    async fn of_settings(
        &self,
        settings: &Settings,
        goes_on: bool,
    ) -> Result<Vec<Declared>, MapReduceError> {
        let mut declared = Vec::new();
        for (name, stages) in [
            (NEEDS_MAP, &[ProgramStage::Map, ProgramStage::Combine][..]),
            (NEEDS_REDUCE, &[ProgramStage::Reduce][..]),
        ] {
            let given = settings.get(name).filter(|label| !label.trim().is_empty());
            let Some(given) = given else { continue };
            let label = self.label(given, &format!("{name} ="), goes_on).await?;
            declared.extend(stages.iter().map(|stage| Declared {
                stage: *stage,
                label: label.clone(),
                by: format!("{name}={}", given.trim()),
            }));
        }
        Ok(declared)
    }

    /// What a label means; the cluster is asked where not every one knows it. With `goes_on` a function that the cluster
    /// does not count is no mistake: nodes say whether they have it.
    async fn label(
        &self,
        text: &str,
        said_of: &str,
        goes_on: bool,
    ) -> Result<Label, MapReduceError> {
        if let Some(label) = Label::known_everywhere(text) {
            return Ok(label);
        }
        let asking = async || match &self.rm {
            // One that does not answer is said where jobs are submitted.
            Some(rm) => match rm.resource_types().await {
                Ok(types) => Some(types.iter().map(|counted| counted.name.clone()).collect()),
                Err(_unanswered) => None,
            },
            None => None,
        };
        let types = self.types.get_or_init(asking).await;
        let of_cluster = match Label::of(text, types.as_deref()) {
            Err(BadLabel::Uncounted(_)) if goes_on => Label::of(text, None),
            other => other,
        };
        of_cluster.map_err(|bad| match bad {
            BadLabel::Uncounted(_) => MapReduceError::Uncounted(bad),
            BadLabel::Unknown { .. } | BadLabel::Number(_) => {
                MapReduceError::Setting(format!("{said_of} {bad}"))
            }
        })
    }
}

/// The stages of a job that run what a line of its executable stands on: a reducer may be the combiner, too.
fn stages_of(planned: &PlannedJob, of: &str, said: ProgramStage) -> Vec<ProgramStage> {
    let is = |name: Option<&String>| name.is_some_and(|name| type_name(name) == of);
    let more = planned.more_inputs.iter().map(|input| &input.mapper);
    let mut mappers = std::iter::once(&planned.mapper).chain(more);
    let mut stages = Vec::new();
    match said {
        ProgramStage::Map if mappers.any(|mapper| is(Some(mapper))) => {
            stages.push(ProgramStage::Map);
        }
        ProgramStage::Combine | ProgramStage::Reduce if is(planned.combiner.as_ref()) => {
            stages.push(ProgramStage::Combine);
        }
        ProgramStage::Map | ProgramStage::Combine | ProgramStage::Reduce => {}
    }
    if said == ProgramStage::Reduce && is(planned.reducer.as_ref()) {
        stages.push(ProgramStage::Reduce);
    }
    stages
}

/// Without its path and what it is generic over.
fn type_name(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

impl OfJob {
    fn of(findings: Vec<Finding>) -> Self {
        let needs = |stages: &[ProgramStage]| -> Vec<ElementNeed> {
            let of_stage = findings.iter().filter(|of| stages.contains(&of.stage));
            let of_stage = of_stage.filter_map(|of| of.need.as_ref());
            let mut most: BTreeMap<String, u64> = BTreeMap::new();
            for need in of_stage.filter_map(|need| need.parse::<ElementNeed>().ok()) {
                // A map and its combiner have the same ones by turns.
                let count = most.entry(need.name).or_default();
                *count = need.count.max(*count);
            }
            let needs = most.into_iter();
            needs
                .map(|(name, count)| ElementNeed { name, count })
                .collect()
        };
        let (map, reduce) = (
            needs(&[ProgramStage::Map, ProgramStage::Combine]),
            needs(&[ProgramStage::Reduce]),
        );
        Self {
            findings,
            map,
            reduce,
        }
    }

    /// What should be known of it, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let (found, declared): (Vec<&Finding>, Vec<&Finding>) = (self.findings.iter())
            .filter(|of| of.need.is_some())
            .partition(|of| of.level > 1);
        // A setting says the same of mappers and combiners.
        let says_more = |of: &&&Finding| {
            let mut others = declared.iter();
            of.stage != ProgramStage::Combine
                || !others.any(|map| {
                    map.stage == ProgramStage::Map
                        && (&map.need, &map.evidence) == (&of.need, &of.evidence)
                })
        };
        let notes = declared.iter().filter(says_more);
        let mut notes: Vec<String> = notes.map(ToString::to_string).collect();
        // All that declare nothing have the same evidence.
        if let Some(first) = found.first() {
            let need = first.need.clone().unwrap_or_default();
            let stages: Vec<String> = found.iter().map(|of| of.stage.to_string()).collect();
            let (needs, advice) = match stages.len() {
                1 => ("needs", "to be sure, declare it".to_owned()),
                _ => ("need", "declare what each of them needs".to_owned()),
            };
            notes.push(format!(
                "{} {needs} {need} ({}: {}): {advice}, with #[cluster_resource] or -D {NEEDS_MAP}={need} and -D \
                 {NEEDS_REDUCE}=cpu",
                stages.join(" and "),
                first.confidence,
                first.evidence.join("; ")
            ));
        }
        notes
    }

    /// The same, for a report.
    #[must_use]
    pub fn report(&self) -> Vec<StageNeed> {
        let of = |finding: &Finding| StageNeed {
            stage: finding.stage.to_string(),
            need: finding.need.clone(),
            level: finding.level,
            evidence: finding.evidence.clone(),
            confidence: match finding.confidence {
                scan::Confidence::None => "none".to_owned(),
                other => other.to_string(),
            },
        };
        self.findings.iter().map(of).collect()
    }

    /// Puts down what is declared, by the settings' names.
    pub fn settle(&self, settings: &mut Settings) {
        for (name, stage) in [
            (NEEDS_MAP, ProgramStage::Map),
            (NEEDS_REDUCE, ProgramStage::Reduce),
        ] {
            let declared = self.findings.iter();
            let declared = declared
                .filter(|of| of.stage == stage && of.confidence == scan::Confidence::Declared);
            for finding in declared {
                let label = finding.need.as_deref().unwrap_or("cpu");
                settings.insert(name.to_owned(), label.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(needs: &[(&str, &str)]) -> PlannedJob {
        let needs = needs.iter();
        let needs = needs.map(|(stage, need)| ((*stage).to_owned(), (*need).to_owned()));
        PlannedJob {
            name: "near".into(),
            mapper: "near::Distances<u64>".into(),
            combiner: Some("near::Nearest".into()),
            reducer: Some("near::Nearest".into()),
            needs: needs.collect(),
            ..PlannedJob::default()
        }
    }

    /// Of a program that is a text, which tells nothing.
    async fn of(needs: &[(&str, &str)], settings: &[(&str, &str)]) -> Result<OfJob, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let settings = settings.iter();
        let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let known = Needs::new(file.path().to_owned(), None);
        let found = known.of(&planned(needs), &settings.collect()).await;
        found.map_err(|error| error.to_string())
    }

    fn words(needs: &[ElementNeed]) -> String {
        let words: Vec<String> = needs.iter().map(ToString::to_string).collect();
        words.join(" ")
    }

    #[tokio::test]
    async fn a_task_needs_so_many_of_a_function_as_its_map_or_its_combiner_and_is_labelled_so() {
        let needs = [
            ("map", "acc/kmeans-map"),
            ("combine", "acc/kmeans-map=3"),
            ("reduce", "acc/kmeans-reduce=2"),
        ];
        let found = of(&needs, &[]).await.unwrap();
        assert_eq!(words(&found.map), "acc/kmeans-map=3");
        assert_eq!(words(&found.reduce), "acc/kmeans-reduce=2");
        assert_eq!(found.report()[1].need.as_deref(), Some("acc/kmeans-map=3"));
        let found = of(&needs, &[(NEEDS_MAP, " acc/kmeans-map=2")])
            .await
            .unwrap();
        assert_eq!(words(&found.map), "acc/kmeans-map=2");
        let mut settings = Settings::new();
        found.settle(&mut settings);
        assert_eq!(
            (&*settings[NEEDS_MAP], &*settings[NEEDS_REDUCE]),
            ("acc/kmeans-map=2", "acc/kmeans-reduce=2")
        );
        assert_eq!(
            of(&[], &[(NEEDS_MAP, "acc/kmeans-map=0")])
                .await
                .unwrap_err(),
            "needs.map = acc/kmeans-map=0: \"0\" is no number of acc/kmeans-map; write acc/kmeans-map=N, N from 1"
        );
    }

    #[tokio::test]
    async fn a_map_task_needs_what_its_mapper_and_its_combiner_need() {
        let needs = [("map", "gpgpu"), ("combine", "fpga"), ("reduce", "cpu")];
        let found = of(&needs, &[]).await.unwrap();
        assert_eq!(
            (words(&found.map), found.reduce.len()),
            ("fpga gpu".into(), 0)
        );
        let notes = [
            "map needs gpu (declared: the job)",
            "combine needs fpga (declared: the job)",
        ];
        assert_eq!(found.notes(), notes);
        // A setting stands over the program, for the whole of the task.
        let found = of(&needs, &[(NEEDS_MAP, "cpu"), (NEEDS_REDUCE, " gpu")]).await;
        let found = found.unwrap();
        assert_eq!((found.map.len(), words(&found.reduce)), (0, "gpu".into()));
        let mut settings = Settings::new();
        found.settle(&mut settings);
        assert_eq!(
            (&*settings[NEEDS_MAP], &*settings[NEEDS_REDUCE]),
            ("cpu", "gpu")
        );
        let both = of(&[], &[(NEEDS_MAP, "gpu")]).await.unwrap();
        assert_eq!(both.notes(), ["map needs gpu (declared: needs.map=gpu)"]);
        let none = of(&[], &[]).await.unwrap();
        assert_eq!(
            (none.map.len(), none.reduce.len(), none.notes().len()),
            (0, 0, 0)
        );
        assert_eq!(none.report()[2].confidence, "none");
    }

    #[tokio::test]
    async fn a_label_that_nobody_knows_is_refused() {
        assert_eq!(
            of(&[], &[(NEEDS_MAP, "gpuu")]).await.unwrap_err(),
            "needs.map = \"gpuu\": known are cpu, gpu, fpga"
        );
        assert_eq!(
            of(&[("reduce", "gpus")], &[]).await.unwrap_err(),
            "reduce of the job near needs \"gpus\": known are cpu, gpu, fpga"
        );
    }

    #[test]
    fn lines_of_an_executable_belong_to_the_types_of_a_job() {
        let planned = planned(&[]);
        let stages = |of: &str, said| stages_of(&planned, of, said);
        assert_eq!(stages("Distances", ProgramStage::Map), [ProgramStage::Map]);
        assert_eq!(stages("Distances", ProgramStage::Reduce), []);
        assert_eq!(
            stages("Nearest", ProgramStage::Reduce),
            [ProgramStage::Combine, ProgramStage::Reduce]
        );
        assert_eq!(
            stages("Nearest", ProgramStage::Combine),
            [ProgramStage::Combine]
        );
        assert_eq!(stages("Other", ProgramStage::Map), []);
    }

    #[test]
    fn what_is_found_holds_for_all_that_declare_nothing() {
        let finding = |stage| Finding {
            stage,
            need: Some("gpu".into()),
            level: 2,
            evidence: vec!["symbol cuInit".into()],
            confidence: scan::Confidence::Sure,
        };
        let found = OfJob::of(
            [ProgramStage::Map, ProgramStage::Reduce]
                .map(finding)
                .into(),
        );
        assert_eq!(
            found.notes(),
            [
                "map and reduce need gpu (sure: symbol cuInit): declare what each of them needs, with \
              #[cluster_resource] or -D needs.map=gpu and -D needs.reduce=cpu"
            ]
        );
    }
}
