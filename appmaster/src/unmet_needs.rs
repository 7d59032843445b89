//! Jobs whose tasks need what no node of the session has: they wait while nodes may come, and end where none does.

use job::JobId;
use policy::lending::Lack;

use crate::elements::NO_DEVICE;
use crate::mapreduce::MapReduceEvent;
use crate::session::Session;
use crate::sharing::Sharing;
use crate::work::{JobWork, WorkEvent};

impl Sharing {
    /// What a job's tasks need and no node has, each of which says why.
    pub(crate) fn lack(&self, number: u32) -> Option<Lack> {
        let trust = self.plan.elements;
        self.lending.lack(number, &|container, needs| {
            let known = self.elements.get(container);
            let words = known.and_then(|known| known.without(trust, needs));
            words.unwrap_or_else(|| NO_DEVICE.to_owned())
        })
    }
}

impl Session {
    /// Nodes, or what jobs need of them, have changed.
    pub(crate) fn look_for_elements(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.looks_for_elements = true;
        }
    }

    /// A job that no node can ever run is told so; whether there was one.
    pub(crate) fn without_element(&mut self) -> bool {
        let found = self.job_without_element();
        match found {
            Some((job, sentence)) => {
                self.tell(job, WorkEvent::OfTasks(MapReduceEvent::NoNode(sentence)))
            }
            None => return false,
        }
        true
    }

    fn job_without_element(&mut self) -> Option<(JobId, String)> {
        let sharing = self.sharing.as_mut()?;
        // Another node may have it, or one whose libraries have not answered yet.
        let is_known = sharing.pool.is_complete() && !sharing.is_scanning();
        if !sharing.looks_for_elements || !is_known {
            return None;
        }
        let found = sharing.wishes.iter().find_map(|(number, job)| {
            let JobWork::MapReduce(mapreduce) = &self.jobs.get(job)?.work else {
                return None;
            };
            let lack = sharing.lack(*number)?;
            let sentence = sentences::lack(&lack);
            mapreduce.wants_nodes_now().then_some((*job, sentence))
        });
        if found.is_none() {
            sharing.looks_for_elements = false;
        }
        found
    }
}
