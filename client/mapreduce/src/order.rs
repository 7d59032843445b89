//! A submission of a driver as a job for a session: checked, its input listed, its splits placed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use gerbil_task::inputs::{Folders, check_output, paths};
use gerbil_task::renamed::{current, remark};
use gerbil_task::settings::{
    AM_ATTEMPTS, JOB_NAME, KNOWN, MAP_ATTEMPTS, MAP_MEMORY, MAP_SPECULATIVE, NODE_FAILURES, QUEUE,
    RECURSIVE, REDUCE_ATTEMPTS, REDUCE_MEMORY, REDUCE_SPECULATIVE, REDUCES, SKIP, SKIP_GROUPS,
    SPLIT_MAX, SPLIT_PACK,
};
use gerbil_task::splits::{self, REDUCES_MAX};
use gerbil_task::{Listed, PlannedJob, Submission, said};
use job::{BlockPlaces, FileAt, MapReduceJob, MpiProgram, Split, StageNeed, StageTerms};
use policy::{MiB, Resources};
use storage::Address;

use crate::blocks::blocks;
use crate::brought::BroughtFiles;
use crate::device_split;
use crate::error::MapReduceError;
use crate::input::{self, InputFile};
use crate::mappers;
use crate::needs::{Needs, OfJob};
use crate::output::OutputPlace;
use crate::overwrite::Overwrite;
use crate::places::{FileSystems, Location, of_a_disk};
use crate::plan::Planned;
use crate::settings::{RunSettings, Settings, check, number, priority};
use crate::splits::placed;

/// Attempts of a task that may fail, where nobody says another number: Hadoop's.
const ATTEMPTS: u32 = 4;
/// Failed attempts of a job that make it avoid a node, likewise.
const FAILURES_OF_A_NODE: u32 = 3;
/// Hadoop's default of [`AM_ATTEMPTS`].
const STARTS: u32 = 2;
/// What splits have to fit.
const GPU: &str = "gpu";

/// A job for a session; what it runs is still to be said.
#[derive(Clone, Debug)]
pub struct JobOrder {
    /// How often it begins at the most, where it is lost with an application of its own.
    pub starts: u32,
    /// What lists call it.
    pub name: String,
    /// Where it stands among others.
    pub priority: Option<i32>,
    /// Where an application of its own goes, where the command names no queue; in a session, that of its policy.
    pub queue: Option<String>,
    /// All but its program.
    pub job: MapReduceJob,
    /// What its tasks find beside that.
    pub brought: BroughtFiles,
    /// Where its output goes.
    pub output: Location,
    /// That takes the place of an old one there.
    pub overwrite: Option<Overwrite>,
    /// What its stages need, for a report.
    pub needs: Vec<StageNeed>,
    /// Which maps have which mapper, a line for each input, where inputs have mappers of their own.
    pub mappers: Vec<String>,
    /// What should be known of it, a sentence each.
    pub notes: Vec<String>,
}

/// Makes orders of the submissions of one program.
#[derive(Debug)]
pub struct JobOrders {
    /// What the program has to offer.
    pub planned: Planned,
    /// Where names lead.
    pub places: FileSystems,
    /// Old outputs make place for new ones.
    overwrites: bool,
    /// Jobs tell of each task.
    explain: bool,
    /// Jobs wait for nodes that have what they need.
    wait_for_nodes: bool,
    /// What the program needs.
    needs: Needs,
    /// Memory of the smallest GPU that a node offers; `None`: it is not known.
    smallest_device: Option<MiB>,
    /// Files that the driver knows of, by whole name.
    listed: Mutex<BTreeMap<String, InputFile>>,
}

impl JobOrders {
    /// Of the jobs of a plan.
    #[must_use]
    pub fn new(planned: Planned, places: FileSystems, needs: Needs, overwrites: bool) -> Self {
        Self {
            planned,
            places,
            overwrites,
            explain: false,
            wait_for_nodes: false,
            needs,
            smallest_device: None,
            listed: Mutex::default(),
        }
    }

    /// With every placement and end of a task told.
    #[must_use]
    pub const fn explained(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }

    /// Waiting for nodes that have what stages need, where none has.
    #[must_use]
    pub const fn waiting_for_nodes(mut self, waits: bool) -> Self {
        self.wait_for_nodes = waits;
        self
    }

    /// With splits of maps that need a GPU cut for one of so much memory, the smallest that a node offers.
    #[must_use]
    pub const fn fitting(mut self, smallest_device: Option<MiB>) -> Self {
        self.smallest_device = smallest_device;
        self
    }

    /// Jobs whose splits have to fit a device, and the most bytes of a split of each.
    ///
    /// # Errors
    /// A setting or label makes no sense.
    pub async fn split_max(
        &self,
        settings: &RunSettings,
    ) -> Result<BTreeMap<String, u64>, MapReduceError> {
        let mut most = BTreeMap::new();
        for job in &self.planned.plan.jobs {
            let settings = settings.over(&job.settings);
            let needs = self.needs.of(job, &settings).await?;
            if let Some((bytes, _)) = self.device_split(job, &needs, &settings)? {
                most.insert(job.name.clone(), bytes);
            }
        }
        Ok(most)
    }

    /// The most bytes of a split of a job, where it has to fit a GPU, and why.
    fn device_split(
        &self,
        job: &PlannedJob,
        needs: &OfJob,
        settings: &Settings,
    ) -> Result<Option<(u64, String)>, MapReduceError> {
        match needs.map.iter().any(|need| need.name == GPU) {
            true => device_split::most(self.smallest_device, settings, job.expansion),
            false => Ok(None),
        }
    }

    /// The files that inputs name, by their whole names; splits may be made of them from now on.
    ///
    /// # Errors
    /// As [`input::files`].
    pub async fn files(
        &self,
        inputs: &[String],
        folders: Folders,
    ) -> Result<Vec<Listed>, MapReduceError> {
        let found = input::files(&self.places, inputs, folders).await?;
        let mut files = Vec::with_capacity(found.len());
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        for file in found {
            let path = file.place.url();
            files.push(Listed {
                path: path.clone(),
                length: file.length,
            });
            listed.insert(path, file);
        }
        Ok(files)
    }

    /// The plan's job of this name.
    fn planned(&self, name: &str) -> Result<&PlannedJob, MapReduceError> {
        let jobs = &self.planned.plan.jobs;
        jobs.iter().find(|job| job.name == name).ok_or_else(|| {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            MapReduceError::Asked(format!(
                "{} registers no job {name:?} but {}",
                self.planned.plan.name,
                names.join(", ")
            ))
        })
    }

    /// Completes a submission, whose output must not be there yet, unless it is to be overwritten.
    ///
    /// # Errors
    /// It makes no sense, its output is there, its input is not.
    pub async fn order(&self, submission: Submission) -> Result<JobOrder, MapReduceError> {
        let planned = self.planned(&submission.job)?;
        check_output(&submission.output)?;
        if !planned.reads_no_files {
            paths(&submission.inputs)?;
        }
        let mut notes: Vec<String> = submission
            .settings
            .keys()
            .filter_map(|name| remark(name))
            .collect();
        let mut settings: Settings = (submission.settings.into_iter())
            .map(|(name, value)| (current(&name).to_owned(), value))
            .collect();
        notes.extend(check(&settings)?);
        let needs = self.needs.of(planned, &settings).await?;
        needs.settle(&mut settings);
        notes.extend(needs.notes());
        let most = self.device_split(planned, &needs, &settings)?;
        if let Some((bytes, why)) = most.filter(|_| !planned.reads_no_files) {
            cut(&mut settings, bytes)?;
            notes.push(why);
        }
        let priority = priority(&settings)?;
        let queue = settings.get(QUEUE).map(|queue| queue.trim().to_owned());
        let brought = BroughtFiles::of(&submission.brings, &self.places).await?;
        let output = self.places.find(&submission.output)?;
        let OutputPlace { overwrite, is_new } =
            OutputPlace::of(&output, &self.places, self.overwrites).await?;
        let mut addresses = vec![output.address.clone()];
        let (splits, block_places) = self
            .splits(
                planned,
                &submission.inputs,
                submission.splits,
                &settings,
                &mut addresses,
            )
            .await?;
        if let Some(overwrite) = &overwrite {
            let files = splits.iter().flat_map(|split| &split.files);
            let mut beside = files.filter(|file| file.address == 0);
            beside.try_for_each(|file| overwrite.spares(&file.path))?;
        }
        let mappers = mappers::lines(planned, &settings, &submission.inputs, splits.len())?;
        if self.explain {
            notes.extend_from_slice(&mappers);
        }
        let reduces = reduces(planned, &splits, &settings)?;
        notes.extend(of_a_disk(&output));
        let map = StageTerms {
            needs: needs.map.clone(),
            ..terms(&settings, [MAP_MEMORY, MAP_ATTEMPTS, MAP_SPECULATIVE])?
        };
        let reduce = StageTerms {
            needs: needs.reduce.clone(),
            ..terms(
                &settings,
                [REDUCE_MEMORY, REDUCE_ATTEMPTS, REDUCE_SPECULATIVE],
            )?
        };
        let name = settings.get(JOB_NAME).filter(|name| !name.is_empty());
        let name = name.unwrap_or(&planned.name).clone();
        said::check_name(&name)
            .map_err(|error| MapReduceError::Setting(format!("{JOB_NAME}: {error}")))?;
        let starts = number(&settings, AM_ATTEMPTS)?.unwrap_or(STARTS);
        let job = MapReduceJob {
            program: MpiProgram::default(),
            node_failures: number(&settings, NODE_FAILURES)?.unwrap_or(FAILURES_OF_A_NODE),
            skip_max: number(&settings, SKIP)?.unwrap_or_default(),
            skip_groups: number(&settings, SKIP_GROUPS)?.unwrap_or_default(),
            explain: self.explain,
            wait_for_nodes: self.wait_for_nodes,
            plan: self.planned.digest.clone(),
            job: planned.name.clone(),
            settings,
            params: submission.params,
            addresses,
            splits,
            block_places,
            reduces,
            output: FileAt {
                address: 0,
                path: match &overwrite {
                    Some(overwrite) => overwrite.path().to_owned(),
                    None => output.path.clone(),
                },
                modified_ms: 0,
            },
            output_is_new: is_new,
            map,
            reduce,
            history: None,
        };
        Ok(JobOrder {
            starts,
            name,
            brought,
            priority,
            queue: queue.filter(|queue| !queue.is_empty()),
            job,
            output,
            overwrite,
            needs: needs.report(),
            mappers,
            notes,
        })
    }

    async fn splits(
        &self,
        planned: &PlannedJob,
        inputs: &[String],
        made: Vec<Vec<gerbil_task::Piece>>,
        settings: &Settings,
        addresses: &mut Vec<Address>,
    ) -> Result<(Vec<Split>, BlockPlaces), MapReduceError> {
        if planned.reads_no_files {
            if made.is_empty() {
                return Err(MapReduceError::Asked(format!(
                    "the job {} reads no files, and its driver has not said what its maps read",
                    planned.name
                )));
            }
            let of = |pieces| Split {
                pieces,
                ..Split::default()
            };
            let splits = made.into_iter().map(of).collect();
            return Ok((splits, BlockPlaces::default()));
        }
        let made = match made.is_empty() {
            false => made,
            true => {
                let recursive = number(settings, RECURSIVE)?.unwrap_or_default();
                let folders = Folders {
                    recursive,
                    map_files: false,
                };
                let files = self.files(inputs, folders).await?;
                splits::text(&files, settings).map_err(MapReduceError::Setting)?
            }
        };
        let listed = {
            let all = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            let names = made.iter().flatten().map(|piece| &piece.name);
            let of = |name: &String| Some((name.clone(), all.get(name)?.clone()));
            names
                .filter_map(of)
                .collect::<BTreeMap<String, InputFile>>()
        };
        let files: Vec<InputFile> = listed.values().cloned().collect();
        let blocks = blocks(&self.places, &files).await;
        placed(made, &listed, &blocks, |file| {
            let address = &file.place.address;
            let place = addresses.iter().position(|known| known == address);
            let place = place.unwrap_or_else(|| {
                addresses.push(address.clone());
                addresses.len() - 1
            });
            u32::try_from(place).unwrap_or(u32::MAX)
        })
    }
}

/// Splits have at most so many bytes, and no more than settings say.
fn cut(settings: &mut Settings, most: u64) -> Result<(), MapReduceError> {
    for name in [SPLIT_MAX, SPLIT_PACK] {
        let default = KNOWN.iter().find(|known| known.name == name);
        let default = default.and_then(|known| known.default.parse().ok());
        let given = number::<u64>(settings, name)?.or(default);
        let least = given.map_or(most, |given| given.min(most));
        settings.insert(name.to_owned(), least.to_string());
    }
    Ok(())
}

/// What the settings of these names say of a stage: memory in MiB, attempts, whether there may be second ones.
fn terms(
    settings: &Settings,
    [memory, attempts, speculative]: [&str; 3],
) -> Result<StageTerms, MapReduceError> {
    let memory = number::<u64>(settings, memory)?.unwrap_or_default();
    Ok(StageTerms {
        unit: Resources::new(memory, 1),
        needs: Vec::new(),
        attempts: number::<u32>(settings, attempts)?
            .unwrap_or(ATTEMPTS)
            .max(1),
        speculative: number::<bool>(settings, speculative)?.unwrap_or(true),
    })
}

/// How many reduces there are: as many as wanted, else one a GiB of input.
fn reduces(
    planned: &PlannedJob,
    splits: &[Split],
    settings: &Settings,
) -> Result<u32, MapReduceError> {
    if planned.reducer.is_none() {
        return Ok(0);
    }
    let pieces = splits.iter().flat_map(|split| &split.pieces);
    let bytes = pieces
        .map(|piece| piece.length)
        .fold(0, u64::saturating_add);
    match number::<u32>(settings, REDUCES)? {
        Some(wanted) if wanted > REDUCES_MAX => Err(MapReduceError::Setting(format!(
            "{REDUCES}={wanted}: {REDUCES_MAX} are the most"
        ))),
        wanted => Ok(wanted.unwrap_or_else(|| splits::reduces(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_have_terms_of_their_own_and_hadoops_where_nobody_says_others() {
        let terms = |settings: &[(&str, &str)]| {
            let settings = settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let settings: Settings = settings.collect();
            let map = terms(&settings, [MAP_MEMORY, MAP_ATTEMPTS, MAP_SPECULATIVE]);
            let names = [REDUCE_MEMORY, REDUCE_ATTEMPTS, REDUCE_SPECULATIVE];
            let terms = map.and_then(|map| Ok([map, terms(&settings, names)?]));
            terms.map_err(|error| error.to_string())
        };
        let of = |memory, attempts, speculative| StageTerms {
            unit: Resources::new(memory, 1),
            needs: Vec::new(),
            attempts,
            speculative,
        };
        assert_eq!(terms(&[]), Ok([of(0, 4, true), of(0, 4, true)]));
        let given = [
            (MAP_ATTEMPTS, "0"),
            (MAP_MEMORY, "100"),
            (REDUCE_ATTEMPTS, "7"),
            (REDUCE_SPECULATIVE, "false"),
        ];
        assert_eq!(terms(&given), Ok([of(100, 1, true), of(0, 7, false)]));
        let odd = terms(&[(MAP_SPECULATIVE, "often")]).unwrap_err();
        assert_eq!(odd, "mapreduce.map.speculative=often makes no sense");
    }
}
