//! What the cluster counts beside memory and cores, and what of it a process wants.

use policy::elements::is_function;
use policy::{Counts, ResourceTypes};
use proto_hadoop::yarn::{GPU, MEMORY, ResourceType, VCORES};
use proto_hadoop::{ApplicationClient, CallError};
use scan::BadLabel;

use super::PreflightError;
use crate::plan::Plan;

/// The types that the ResourceManager knows; not asked for where the job wants none of them.
pub(super) async fn known(
    rm: &ApplicationClient,
    plan: &Plan,
) -> Result<Vec<ResourceType>, CallError> {
    match plan.placement.resources.is_empty()
        && plan.placement.gpus_per_process.is_none_or(|gpus| gpus == 0)
    {
        true => Ok(Vec::new()),
        false => Ok(rm.resource_types().await?.into()),
    }
}

/// The table of what a process is given by YARN's count, and how many of each.
///
/// GPUs that the cluster does not count are no part of it: a launcher deals those that it finds on its
/// node. A ResourceManager drops other types that it does not know without a word.
///
/// # Errors
/// It knows one of them not.
pub(super) fn wanted(
    known: &[ResourceType],
    gpus: Option<u32>,
    resources: &[(String, u64)],
) -> Result<(ResourceTypes, Counts), PreflightError> {
    let is_known = |name: &str| known.iter().any(|counted| counted.name == name);
    let gpus = gpus
        .map(u64::from)
        .filter(|gpus| *gpus > 0 && is_known(GPU));
    if let Some((name, _)) = resources.iter().find(|(name, _)| !is_known(name)) {
        return Err(PreflightError::UnknownResource {
            name: name.clone(),
            why: unknown(name, known),
        });
    }
    let gpus_first = gpus.map(|_| GPU).into_iter();
    let all = gpus_first.chain(resources.iter().map(|(name, _)| name.as_str()));
    let types = ResourceTypes::new(all);
    let counts = types.counts(|name| match name {
        GPU => gpus,
        other => {
            let mut asked = resources.iter();
            asked.find_map(|(name, count)| (name == other).then_some(*count))
        }
    });
    Ok((types, counts))
}

fn unknown(name: &str, known: &[ResourceType]) -> String {
    if is_function(name) {
        return BadLabel::Uncounted(name.to_owned()).to_string();
    }
    let others: Vec<&str> = known
        .iter()
        .map(|counted| counted.name.as_str())
        .filter(|known| ![MEMORY, VCORES].contains(known))
        .collect();
    let there = match others.as_slice() {
        [] => "it counts nothing but memory and cores".to_owned(),
        others => format!("beside memory and cores it counts {}", others.join(", ")),
    };
    format!(
        "the ResourceManager does not count {name}; {there}. Write one that it counts, or have {name} \
         added to yarn.resource-types and to what the nodes offer"
    )
}

#[cfg(test)]
mod tests {
    use job::exit::Exit;

    use super::*;

    fn types(names: &[&str]) -> Vec<ResourceType> {
        let named = names.iter().map(|name| ResourceType {
            name: (*name).to_owned(),
            units: String::new(),
        });
        named.collect()
    }

    #[test]
    fn what_the_cluster_does_not_count_is_refused_but_for_gpus() {
        let known = types(&[MEMORY, VCORES, GPU, "acc/map"]);
        let map = [("acc/map".to_owned(), 3)];
        let (table, counts) = wanted(&known, Some(2), &map).unwrap();
        let named: Vec<(&str, u64)> = table.named(counts).collect();
        assert_eq!(named, [(GPU, 2), ("acc/map", 3)]);

        let (table, counts) = wanted(&types(&[MEMORY, VCORES]), Some(2), &[]).unwrap();
        assert_eq!((table, counts), (ResourceTypes::default(), Counts::NONE));

        let refused = |known: &[&str]| {
            let failure = wanted(&types(known), None, &map).unwrap_err();
            (failure.exit(), failure.to_string())
        };
        let (exit, sentence) = refused(&[MEMORY, VCORES]);
        assert_eq!(exit, Exit::Impossible);
        assert_eq!(
            sentence,
            "--resource acc/map: acc/map is no resource type of this cluster: add it to resource-types.xml (gerbil fpga \
             profile --xml)"
        );
        let license = [("license".to_owned(), 3)];
        let refused = |known: &[&str]| {
            let failure = wanted(&types(known), None, &license).unwrap_err();
            (failure.exit(), failure.to_string())
        };
        let (_, sentence) = refused(&[MEMORY, VCORES]);
        assert!(
            sentence.contains("does not count license; it counts nothing but memory and cores")
        );
        let (_, sentence) = refused(&[MEMORY, VCORES, GPU, "fpga"]);
        assert!(
            sentence.contains("it counts yarn.io/gpu, fpga"),
            "{sentence}"
        );
    }
}
