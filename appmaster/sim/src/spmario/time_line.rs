//! When disk, copy engine and kernels were busy, and for which job.

use ::gantt::{Axis, Bar};

use super::device::{DeviceResult, DeviceSpan};
use super::jobs::GpuJob;
use crate::figure::Drawing;
use crate::run::in_seconds;

/// Long enough for turns of sixteen chunks of each of two jobs.
const SECONDS: f64 = 5.0;

/// The first seconds of a run.
pub(super) fn drawing(name: &str, title: &str, result: &DeviceResult, jobs: &[GpuJob]) -> Drawing {
    let lanes: [(&str, &[DeviceSpan]); 3] = [
        ("disk", &result.reads),
        ("copy", &result.copies),
        ("kernel", &result.kernels),
    ];
    let mut bars = Vec::new();
    for (slot, (lane, spans)) in (0..).zip(lanes) {
        let bar = |span: &DeviceSpan| Bar {
            job: jobs.get(span.job).map_or("", |job| job.name).to_owned(),
            stage: "map",
            task: span.task,
            node: lane.to_owned(),
            slot,
            begin_s: in_seconds(span.begin),
            end_s: in_seconds(span.end).min(SECONDS),
            how: "done",
        };
        bars.extend(spans.iter().map(bar).filter(|bar| bar.begin_s < SECONDS));
    }
    let axis = Axis {
        from_s: 0.0,
        to_s: SECONDS.min(in_seconds(result.end)),
    };
    Drawing {
        name: name.to_owned(),
        svg: ::gantt::svg(title, &bars, jobs.iter().map(|job| job.name), axis),
    }
}
