//! Joining two edits of one text.

use super::diff::{Hunk, hunks};

/// Both edits touch the same passage, differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

/// What `base` becomes with both edits in it. Words apart are joined; the same passage written
/// twice in the same way counts once, and written in two ways is an [`Overlap`].
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Overlap> {
    if ours == theirs || theirs == base {
        return Ok(ours.to_owned());
    }
    if ours == base {
        return Ok(theirs.to_owned());
    }
    let our_hunks = hunks(base, ours);
    let their_hunks = hunks(base, theirs);
    let mut out = String::with_capacity(ours.len().max(theirs.len()));
    let mut at = 0;
    let (mut our_next, mut their_next) =
        (our_hunks.iter().peekable(), their_hunks.iter().peekable());
    loop {
        let (hunk, text) = match (our_next.peek(), their_next.peek()) {
            (None, None) => break,
            (Some(our), Some(their)) if touch(our, their) => {
                if our.old != their.old || ours[our.new.clone()] != theirs[their.new.clone()] {
                    return Err(Overlap);
                }
                their_next.next();
                (our_next.next(), ours)
            }
            (Some(our), Some(their)) if their.old.start < our.old.start => {
                (their_next.next(), theirs)
            }
            (None, Some(_)) => (their_next.next(), theirs),
            (Some(_), _) => (our_next.next(), ours),
        };
        if let Some(hunk) = hunk {
            out.push_str(&base[at..hunk.old.start]);
            out.push_str(&text[hunk.new.clone()]);
            at = hunk.old.end;
        }
    }
    out.push_str(&base[at..]);
    Ok(out)
}

/// What `base` becomes with both edits in it, and with ours alone where they touch the same passage.
pub fn merge_over(base: &str, ours: &str, theirs: &str) -> String {
    let our_hunks = hunks(base, ours);
    let apart = |their: &Hunk| !our_hunks.iter().any(|our| touch(our, their));
    let theirs_apart = hunks(base, theirs).into_iter().filter(apart).map(|hunk| (hunk, theirs));
    let mut all: Vec<(Hunk, &str)> = theirs_apart.collect();
    all.extend(our_hunks.into_iter().map(|hunk| (hunk, ours)));
    all.sort_by_key(|(hunk, _)| hunk.old.start);
    let mut out = String::with_capacity(ours.len().max(theirs.len()));
    let mut at = 0;
    for (hunk, text) in all {
        out.push_str(&base[at..hunk.old.start]);
        out.push_str(&text[hunk.new]);
        at = hunk.old.end;
    }
    out.push_str(&base[at..]);
    out
}

/// Whether two edits share a passage, or meet at a point where their order would be a guess.
fn touch(left: &Hunk, right: &Hunk) -> bool {
    left.old.start <= right.old.end && right.old.start <= left.old.end
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "Be brief.\nBe kind.\nAsk when unsure.\n";

    #[test]
    fn edits_apart_are_joined() {
        let merged = merge(
            BASE,
            "Be very brief.\nBe kind.\nAsk when unsure.\n",
            "Be brief.\nBe kind.\nAsk only when unsure.\nNever shout.\n",
        );

        assert_eq!(
            merged.as_deref(),
            Ok("Be very brief.\nBe kind.\nAsk only when unsure.\nNever shout.\n")
        );
    }

    #[test]
    fn the_same_edit_twice_counts_once() {
        let edited = "Be brief.\nBe very kind.\nAsk when unsure.\n";

        assert_eq!(merge(BASE, edited, edited).as_deref(), Ok(edited));
        assert_eq!(
            merge(BASE, edited, &format!("{edited}More.\n")).as_deref(),
            Ok("Be brief.\nBe very kind.\nAsk when unsure.\nMore.\n")
        );
    }

    #[test]
    fn one_passage_written_in_two_ways_is_an_overlap() {
        let ours = BASE.replace("kind", "friendly");
        let theirs = BASE.replace("kind", "strict");

        assert_eq!(merge(BASE, &ours, &theirs), Err(Overlap));
    }

    #[test]
    fn two_insertions_at_one_point_are_an_overlap() {
        assert_eq!(merge("", "mine", "yours"), Err(Overlap));
        assert_eq!(merge("x\n", "x\na\n", "x\nb\n"), Err(Overlap));
    }

    #[test]
    fn of_a_passage_written_in_two_ways_ours_is_taken_and_the_rest_is_joined() {
        let ours = BASE.replace("kind", "friendly");
        let theirs = BASE.replace("kind", "strict").replace("unsure", "in doubt");

        let merged = merge_over(BASE, &ours, &theirs);

        assert_eq!(merged, ours.replace("unsure", "in doubt"));
        assert_eq!(merge_over("", "mine", "yours"), "mine");
        assert_eq!(merge_over(BASE, BASE, &theirs), theirs);
        assert_eq!(merge_over(BASE, &ours, BASE), ours);
        let apart = BASE.replace("Ask", "Say");
        assert_eq!(Ok(merge_over(BASE, &ours, &apart)), merge(BASE, &ours, &apart));
    }

    #[test]
    fn one_side_alone_wins_whatever_it_did() {
        assert_eq!(merge(BASE, BASE, "").as_deref(), Ok(""));
        assert_eq!(merge(BASE, "", BASE).as_deref(), Ok(""));
    }

    #[test]
    fn a_merge_holds_every_word_of_both_sides() {
        let base: String = (0..300).map(|number| format!("w{number} ")).collect();
        for (left, right) in [(3, 7), (10, 290), (150, 153), (0, 299)] {
            let ours = base.replace(&format!("w{left} "), "OURS ");
            let theirs = base.replace(&format!("w{right} "), "THEIRS ");

            let merged = merge(&base, &ours, &theirs).unwrap();

            let both = ours.replace(&format!("w{right} "), "THEIRS ");
            assert_eq!(merged, both);
        }
    }
}
