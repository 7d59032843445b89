//! What files and libraries say of a node's GPUs, brought together.

use job::element::{Element, ElementKind};

use super::api::ApiAnswer;

/// How OpenCL's platforms call makers that CUDA speaks of.
const NVIDIA: &str = "nvidia";

/// GPUs by maker and file, what CUDA answered of NVIDIA's, and OpenCL of all. A library that was not there has no
/// answer.
pub(super) fn gpus(
    files: &[(&'static str, Vec<String>)],
    cuda: Option<ApiAnswer>,
    open_cl: Option<ApiAnswer>,
) -> Vec<Element> {
    let mut elements = Vec::new();
    let own = files.iter().find(|(maker, _)| *maker == NVIDIA);
    let own = own.map_or(&[][..], |(_, files)| files);
    elements.extend(of_cuda(own, cuda));
    // They have no library that every node of theirs has.
    for (maker, files) in files.iter().filter(|(maker, _)| *maker != NVIDIA) {
        elements.push(Element {
            count: number(files.len()),
            ..gpu(maker, files)
        });
    }
    match open_cl {
        None => {}
        Some(ApiAnswer::Devices(found)) => {
            for found in found {
                add(&mut elements, found);
            }
        }
        Some(ApiAnswer::Nothing(why)) => elements.push(gpu("", &[why])),
        Some(ApiAnswer::Broken(why)) => elements.push(Element {
            broken: Some(why),
            ..gpu("", &[])
        }),
    }
    elements
}

fn gpu(maker: &str, evidence: &[String]) -> Element {
    Element {
        maker: maker.to_owned(),
        evidence: evidence.to_vec(),
        ..Element::none_of(ElementKind::Gpu)
    }
}

fn of_cuda(files: &[String], answer: Option<ApiAnswer>) -> Vec<Element> {
    let count = number(files.len());
    let broken = |why: String| Element {
        count,
        broken: Some(why),
        ..gpu(NVIDIA, files)
    };
    match answer {
        None if files.is_empty() => Vec::new(),
        None => vec![broken("libcuda.so.1 missing".to_owned())],
        Some(ApiAnswer::Devices(mut found)) => {
            for element in &mut found {
                element.evidence.splice(0..0, files.iter().cloned());
            }
            found
        }
        Some(ApiAnswer::Nothing(why)) if files.is_empty() => vec![gpu(NVIDIA, &[why])],
        Some(ApiAnswer::Nothing(why) | ApiAnswer::Broken(why)) => vec![broken(why)],
    }
}

/// A device that OpenCL knows: the one that is known already is not another.
fn add(elements: &mut Vec<Element>, found: Element) {
    let known = elements
        .iter_mut()
        .find(|known| known.kind == found.kind && known.maker == found.maker && known.count > 0);
    match known {
        Some(known) => {
            known.evidence.extend(found.evidence);
            if known.model.is_empty() && known.broken.is_none() {
                known.model = found.model;
                known.memory_mib = found.memory_mib;
                known.driver = found.driver;
            }
        }
        None => elements.push(found),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(maker: &str, count: u32) -> Element {
        Element {
            model: "M".to_owned(),
            count,
            ..gpu(maker, &["answer".to_owned()])
        }
    }

    fn nvidia(count: usize) -> Vec<(&'static str, Vec<String>)> {
        let files = (0..count).map(|number| format!("/dev/nvidia{number}"));
        vec![(NVIDIA, files.collect())]
    }

    fn said(elements: &[Element]) -> Vec<(&str, u32, Option<&str>)> {
        let each = elements.iter();
        each.map(|of| (of.maker.as_str(), of.count, of.broken.as_deref()))
            .collect()
    }

    #[test]
    fn a_device_counts_once_whoever_knows_of_it() {
        let cuda = Some(ApiAnswer::Devices(vec![found(NVIDIA, 2)]));
        let open_cl = Some(ApiAnswer::Devices(vec![
            found(NVIDIA, 2),
            found("intel", 1),
        ]));
        let both = gpus(&nvidia(2), cuda, open_cl);
        assert_eq!(said(&both), [(NVIDIA, 2, None), ("intel", 1, None)]);
        assert_eq!(both[0].evidence[0], "/dev/nvidia0");
        let file = vec![("intel", vec!["/dev/dri/renderD128".to_owned()])];
        let open_cl = Some(ApiAnswer::Devices(vec![found("intel", 1)]));
        let named = gpus(&file, None, open_cl);
        assert_eq!(said(&named), [("intel", 1, None)]);
        assert_eq!(named[0].model, "M");
    }

    #[test]
    fn a_device_file_whose_library_has_no_device_is_broken() {
        let why = || "cuInit says 100 (no device)".to_owned();
        let nothing = Some(ApiAnswer::Nothing(why()));
        let there = gpus(&nvidia(2), nothing, None);
        assert_eq!(said(&there), [(NVIDIA, 2, Some(why().as_str()))]);
        let nothing = Some(ApiAnswer::Nothing(why()));
        let none = gpus(&[], nothing, None);
        assert_eq!(said(&none), [(NVIDIA, 0, None)]);
        assert_eq!(none[0].evidence, [why()]);
        let alone = gpus(&nvidia(1), None, None);
        assert_eq!(said(&alone), [(NVIDIA, 1, Some("libcuda.so.1 missing"))]);
        let crashed = Some(ApiAnswer::Broken("signal 11 in cuInit".to_owned()));
        let crashed = gpus(&nvidia(1), crashed, None);
        assert_eq!(said(&crashed), [(NVIDIA, 1, Some("signal 11 in cuInit"))]);
    }
}
