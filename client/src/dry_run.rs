//! `--dry-run`: what would be asked of the cluster now, without asking for it.

use std::collections::{BTreeMap, BTreeSet};

use follow::explained::words;
use follow::submit::AM_MEMORY_MIB;
use job::exit::Exit;
use job::explain::{Amount, DryRun, Explained, NotPlaced, Outlook};
use policy::allocate::place;
use policy::{ClusterView, Counted, Demand, MiB, Millis, NodeShare, Resources, Vcores};
use proto_hadoop::ApplicationClient;
use terminal::{Text, print, say};

use crate::arguments::DeployMode;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::preflight;

/// Which calculator the scheduler counts with.
const CALCULATOR: &str = "yarn.scheduler.capacity.resource-calculator";

/// Looks at the cluster and prints what would become of the job; returns the exit code.
pub(crate) async fn run(
    rm: &ApplicationClient,
    cluster: &Cluster,
    plan: &Plan,
    json: bool,
) -> Result<u8, Failure> {
    let checked = preflight::look(rm, plan).await?;
    checked.remarks.iter().for_each(say);
    if let Some(reason) = &checked.chosen {
        say(format!(
            "-r auto: {}, because {reason}",
            checked.demand.mode
        ));
    }
    let setting = cluster.configuration.get(CALCULATOR);
    let setting = setting?;
    let view = ClusterView {
        counted: counted(setting.as_deref()),
        ..checked.view
    };
    let known = KnownTerms {
        json,
        appmaster: match plan.deployment.mode {
            DeployMode::Cluster => Some(Resources::new(AM_MEMORY_MIB, 1)),
            DeployMode::Client => None,
        },
        counting_is_set: setting.is_some(),
    };
    let refused = preflight::check_room(&checked.demand, &view, &checked.elsewhere).err();
    let refused = refused.map(|failure| failure.to_string());
    let (text, code) = told(&checked.demand, &view, refused, known);
    print(text).await?;
    Ok(code)
}

/// What the scheduler counts, as far as the settings on this machine tell: `setting` is the value
/// of [`CALCULATOR`] among them.
fn counted(setting: Option<&str>) -> Counted {
    match setting {
        Some(class) if class.trim().ends_with(".DominantResourceCalculator") => {
            Counted::MemoryAndVcores
        }
        Some(_) | None => Counted::Memory,
    }
}

/// What is known besides the job and the cluster.
#[derive(Clone, Copy, Debug)]
struct KnownTerms {
    /// One JSON object a line instead of words.
    json: bool,
    /// The container of the ApplicationMaster, before the cluster rounds it up; none where it runs
    /// here.
    appmaster: Option<Resources>,
    /// Whether the settings say what the scheduler counts.
    counting_is_set: bool,
}

/// The cluster, the placement and the outlook, and what the command returns: 0 when the job would start, now or after
/// waiting, otherwise [`Exit::Impossible`]'s code. `refused` is why the job could not run even on an empty cluster.
fn told(
    demand: &Demand,
    cluster: &ClusterView,
    refused: Option<String>,
    known: KnownTerms,
) -> (Text, u8) {
    let (events, outlook) = decide(demand, cluster, refused, known);
    let text = match known.json {
        true => {
            let lines = events
                .iter()
                .map(|event| serde_json::to_string(event).unwrap_or_default());
            Text::Json(lines.collect::<Vec<_>>().join("\n"))
        }
        false => Text::Lines(events.iter().flat_map(words).collect()),
    };
    let code = match outlook {
        Outlook::Starts | Outlook::Waits => Exit::Success.code(),
        Outlook::Never => Exit::Impossible.code(),
    };
    (text, code)
}

fn decide(
    demand: &Demand,
    cluster: &ClusterView,
    refused: Option<String>,
    known: KnownTerms,
) -> (Vec<Explained>, Outlook) {
    let now = Millis(0);
    let mut events = vec![Explained::snapshot(now, cluster, cluster.queue.headroom)];
    let placed = match refused {
        Some(reason) => Err(NotPlaced {
            at_ms: now.0,
            reason,
            may_pass: false,
        }),
        None => place(demand, cluster, &[]).map_err(|rejection| NotPlaced {
            at_ms: now.0,
            reason: sentences::rejection(&rejection, &cluster.types),
            may_pass: rejection.may_pass(),
        }),
    };
    let outlook = match placed {
        Ok(placement) => {
            let placed = Explained::placed(now, 1, demand, cluster, &placement, &BTreeSet::new());
            events.push(placed);
            let nodes = cluster.nodes.iter().map(|node| (&node.id, node));
            let nodes: BTreeMap<_, _> = sort::map(nodes);
            let fits = |share: &NodeShare| {
                let node = nodes.get(&share.node);
                node.is_some_and(|node| cluster.fits(share.ask, cluster.room(node)))
            };
            let asks = placement
                .shares
                .iter()
                .map(|share| rounded(share.ask, cluster));
            let together = asks.fold(Resources::default(), Resources::plus);
            let left = cluster.queue.headroom;
            let queue_has_it = left.is_none_or(|left| cluster.fits(together, left));
            match queue_has_it && placement.shares.iter().all(fits) {
                true => Outlook::Starts,
                false => Outlook::Waits,
            }
        }
        Err(not) => {
            let may_pass = not.may_pass;
            events.push(Explained::NotPlaced(not));
            match may_pass {
                true => Outlook::Waits,
                false => Outlook::Never,
            }
        }
    };
    events.push(Explained::DryRun(DryRun {
        outlook,
        appmaster: known
            .appmaster
            .map(|size| Amount::of(rounded(size, cluster), &cluster.types)),
        counting_is_set: known.counting_is_set,
    }));
    (events, outlook)
}

/// As the scheduler rounds a container up.
fn rounded(size: Resources, cluster: &ClusterView) -> Resources {
    Resources {
        memory: MiB(size.memory.0.next_multiple_of(cluster.step.0.max(1))),
        vcores: Vcores(size.vcores.0.max(1)),
        counts: size.counts,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use policy::{NodeId, NodeView};

    use super::*;

    fn cluster(used_mib: u64) -> ClusterView {
        let node = |name: &str, used| NodeView {
            id: NodeId(format!("{name}:45454")),
            host: name.into(),
            rack: "/default-rack".into(),
            capability: Resources::new(4096, 4),
            used: Resources::new(used, 0),
            ..NodeView::default()
        };
        ClusterView {
            nodes: vec![node("n1", used_mib), node("n2", used_mib)],
            maximum: Resources::new(4096, 4),
            step: MiB(1024),
            counted: Counted::Memory,
            ..ClusterView::default()
        }
    }

    fn shown((text, code): (Text, u8)) -> (u8, String) {
        match text {
            Text::Lines(lines) => (code, lines.join("\n")),
            Text::Json(text) => (code, text),
            Text::Whole(_) => panic!("{text:?}"),
        }
    }

    fn run(processes: u32, used_mib: u64, oversubscribe: bool, json: bool) -> (u8, String) {
        let demand = Demand {
            oversubscribe,
            ..Demand::anywhere(NonZeroU32::new(processes).unwrap(), Resources::new(1024, 1))
        };
        let known = KnownTerms {
            json,
            appmaster: Some(Resources::new(256, 1)),
            counting_is_set: false,
        };
        shown(told(&demand, &cluster(used_mib), None, known))
    }

    #[test]
    fn a_job_that_fits_starts() {
        let (code, words) = run(4, 1024, true, false);
        assert_eq!(code, 0);
        let in_order = [
            "the cluster: 2 nodes in /default-rack",
            "n1 4096/4 1024/0 3072/4",
            "placement: mode all, 4 processes of 1024 MiB and 1 vcore on 2 nodes",
            "0-1 2048/2",
            "2-3 2048/2",
            "the job would start now",
            "1024 MiB and 1 vcore",
            CALCULATOR,
        ];
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = words.as_str();
        for part in in_order {
            let Some((_, after)) = rest.split_once(part) else {
                panic!("{part} is missing, or not in its place, in\n{words}");
            };
            rest = after;
        }
    }

    #[test]
    fn a_full_cluster_is_waited_for() {
        let (code, words) = run(4, 4096, true, false);
        assert_eq!(code, 0);
        assert!(words.contains("would wait"), "{words}");
    }

    #[test]
    fn what_never_fits_has_an_exit_code_of_its_own() {
        let (code, words) = run(9, 0, false, false);
        assert_eq!(code, 65);
        assert!(words.contains("no placement ever"), "{words}");
        assert!(words.contains("can never start"), "{words}");
    }

    #[test]
    fn what_an_empty_cluster_could_not_run_is_not_waited_for() {
        let demand = Demand::anywhere(NonZeroU32::MIN, Resources::new(1024, 1));
        let known = KnownTerms {
            json: false,
            appmaster: None,
            counting_is_set: true,
        };
        let refused = Some("one process wants 9 vcores".to_owned());
        let (code, words) = shown(told(&demand, &cluster(0), refused, known));
        assert_eq!(code, 65);
        assert!(
            words.contains("no placement ever: one process wants 9 vcores"),
            "{words}"
        );
        assert!(!words.contains("ApplicationMaster") && !words.contains(CALCULATOR));
    }

    #[test]
    fn json_is_an_object_a_line() {
        let (_, lines) = run(4, 0, true, true);
        let events: Vec<Explained> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(matches!(
            events[..],
            [
                Explained::Snapshot(_),
                Explained::Placed(_),
                Explained::DryRun(DryRun {
                    outlook: Outlook::Starts,
                    counting_is_set: false,
                    ..
                })
            ]
        ));
    }

    #[test]
    fn the_calculators_name_tells_what_is_counted() {
        let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        let default = "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator";
        assert_eq!(counted(Some(dominant)), Counted::MemoryAndVcores);
        assert_eq!(counted(Some(default)), Counted::Memory);
        assert_eq!(counted(None), Counted::Memory);
    }
}
