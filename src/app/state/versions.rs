//! Versions as a person reads them: a burst of autosaves is one line that can be opened.

use crate::domain::version::VersionSummary;

/// Saves that are no further apart than this belong together.
const BURST_MS: i64 = 5 * 60 * 1000;

/// A version that is shown, and those before it that are folded under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The newest of them.
    pub newest: VersionSummary,
    /// The others, newest first.
    pub folded: Vec<VersionSummary>,
}

/// Groups versions, newest first. One with a reason or a label stands by itself.
pub fn bursts(versions: Vec<VersionSummary>) -> Vec<Burst> {
    let mut out: Vec<Burst> = Vec::new();
    for version in versions {
        let plain =
            |version: &VersionSummary| version.reason.is_empty() && version.labels.is_empty();
        match out.last_mut() {
            Some(burst)
                if plain(&version)
                    && burst.newest.reason.is_empty()
                    && version.author_kind == burst.newest.author_kind
                    && version.author == burst.newest.author
                    && burst.folded.last().unwrap_or(&burst.newest).created_at.0
                        - version.created_at.0
                        <= BURST_MS =>
            {
                burst.folded.push(version);
            }
            _ => out.push(Burst { newest: version, folded: Vec::new() }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{actor::ActorKind, id::ChangeId, timestamp::Timestamp};

    fn version(revision: i64, minute: i64, reason: &str, labels: &[&str]) -> VersionSummary {
        VersionSummary {
            revision,
            name: "Ann".into(),
            reason: reason.into(),
            author_kind: ActorKind::Person,
            author: None,
            change_id: ChangeId::new("c"),
            labels: labels.iter().map(|label| (*label).into()).collect(),
            created_at: Timestamp(minute * 60_000),
        }
    }

    #[test]
    fn a_burst_of_saves_is_one_line_and_named_versions_stand_alone() {
        let versions = vec![
            version(6, 30, "", &[]),
            version(5, 29, "", &[]),
            version(4, 28, "", &["production"]),
            version(3, 27, "", &[]),
            version(2, 10, "", &[]),
            version(1, 9, "Came with Greenroom.", &[]),
        ];

        let shown: Vec<Vec<i64>> = bursts(versions)
            .into_iter()
            .map(|burst| {
                let folded = burst.folded.iter().map(|version| version.revision);
                std::iter::once(burst.newest.revision).chain(folded).collect()
            })
            .collect();

        assert_eq!(shown, [vec![6, 5], vec![4, 3], vec![2], vec![1]]);
    }
}
