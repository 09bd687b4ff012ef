//! The persona editor's agent: requests in, the next tools or the answer out.

use serde_json::json;

use super::{
    answer, improve,
    plan::Answer,
    progress::{Halt, Progress, Written},
    recall,
    request::{Edge, Request, requests},
    story::Story,
    which::{Input, Which},
};
use crate::providers::ToolSpec;

/// The most requests of one message; a pasted text may look like many.
const MOST: usize = 10;
/// How many messages before this one say what "it" is.
const RECENT: usize = 4;
/// The end of a test input of which the list shows only the beginning.
const CUT: &str = " … (cut)";
/// The most test inputs that one request deletes.
const MOST_DELETED: usize = 8;

/// What the agent says and uses next.
pub fn answer(story: &Story<'_>, tools: &[ToolSpec]) -> Answer {
    let mut requests = requests(story.text, before(story).as_ref());
    if requests.is_empty() {
        requests.push(Request::Unclear(String::new()));
    }
    let left_out = requests.len().saturating_sub(MOST);
    requests.truncate(MOST);

    let mut progress = Progress::new(story, tools);
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for request in &requests {
        if !calls.is_empty() && !request.is_look() {
            break;
        }
        match perform(request, story, &mut progress) {
            Ok(text) => said.push(text),
            Err(Halt::Use(call)) => {
                if !calls.contains(&call) {
                    calls.push(call);
                }
                if !request.is_look() {
                    break;
                }
            }
            Err(Halt::Failed(sentence)) => {
                said.push(sentence);
                break;
            }
        }
    }
    if let Some(first) = calls.first() {
        let lead = if story.done.is_empty() { answer::lead(first.name) } else { "" };
        return Answer { text: lead.into(), calls };
    }
    if left_out > 0 {
        said.push(format!("That was a lot at once: I left out the last {left_out} requests."));
    }
    Answer { text: said.join("\n\n"), calls }
}

/// The request that this message may go on with: the one that the agent asked back about, or else only
/// a look at what was spoken of, since nothing is done again without being asked for.
fn before(story: &Story<'_>) -> Option<Request> {
    let said = story.said_before?.trim_end();
    let recent = &story.earlier[story.earlier.len().saturating_sub(RECENT)..];
    let (last, earlier) = recent.split_last()?;
    let mut before = None;
    for text in earlier {
        before = match requests(text, before.as_ref()).pop() {
            Some(asked @ Request::Incomplete(_)) => Some(asked),
            request => request.and_then(|request| request.look()),
        };
    }
    let last = requests(last, before.as_ref()).pop()?;
    let is_asked = match &last {
        Request::Incomplete(missing) => said.contains(missing.question()),
        _ => said.ends_with('?'),
    };
    if is_asked { Some(last) } else { last.look() }
}

/// Does one request as far as it can be done, and tells it.
fn perform(
    request: &Request,
    story: &Story<'_>,
    progress: &mut Progress<'_>,
) -> Result<String, Halt> {
    Ok(match request {
        Request::Introduce => answer::INTRODUCTION.into(),
        Request::Thanks => answer::WELCOME.into(),
        Request::TellName => answer::name(&progress.persona()?),
        Request::TellPrompt => answer::prompt(&progress.persona()?),
        Request::TellPersona => answer::persona(&progress.persona()?),
        Request::Rename(name) => {
            let written = progress.write("update_persona_name", json!({ "name": name }))?;
            let done = format!("the name is now **{name}**");
            answer::written(&written, &done, &format!("the new name **{name}**"))
        }
        Request::AddToPrompt(text, edge) => {
            let old = progress.prompt()?;
            let gap = if old.is_empty() { "" } else { "\n\n" };
            let (new, place) = match edge {
                Edge::Beginning => (format!("{text}{gap}{old}"), "beginning"),
                Edge::End => (format!("{old}{gap}{text}"), "end"),
            };
            let written = set_prompt(progress, new)?;
            let text = answer::snippet(text);
            let done = format!("I added “{text}” to the {place} of the system prompt");
            let draft = format!("“{text}” at the {place} of the system prompt");
            answer::written(&written, &done, &draft)
        }
        Request::SetPrompt(text) => {
            // What is replaced is looked at first: somebody may have changed it.
            progress.prompt()?;
            let written = set_prompt(progress, text.clone())?;
            answer::written(&written, "the system prompt is replaced", "a new system prompt")
        }
        Request::ReplaceInPrompt { find, replace } => replace_in_prompt(progress, find, replace)?,
        Request::ListInputs => answer::list(progress.inputs()?),
        Request::ReadInput(which) => match choose(which, progress)? {
            Ok(place) => {
                let id = progress.inputs()?[place].id.clone();
                answer::input(&progress.result("get_test_input", json!({ "id": id }))?)
            }
            Err(question) => question,
        },
        Request::AddInput(content) => {
            let written = progress.write("create_test_input", json!({ "content": content }))?;
            let content = answer::snippet(content);
            let done = format!("I added the test input “{content}”");
            answer::written(&written, &done, &format!("the new test input “{content}”"))
        }
        Request::ChangeInput { which, content } => match choose(which, progress)? {
            Ok(place) => {
                let Input { id, content: old } = progress.inputs()?[place].clone();
                // What is replaced is read whole first.
                if old.is_some_and(|old| old.ends_with(CUT)) {
                    progress.result("get_test_input", json!({ "id": id }))?;
                }
                let input = json!({ "id": id, "content": content });
                let written = progress.write("update_test_input", input)?;
                progress.inputs()?[place].content = Some(content.clone());
                let number = place + 1;
                let content = answer::snippet(content);
                let done = format!("test input number {number} now says “{content}”");
                let draft = format!("“{content}” for test input number {number}");
                answer::written(&written, &done, &draft)
            }
            Err(question) => question,
        },
        Request::DeleteInput(Which::All) => delete_all(progress)?,
        Request::DeleteInput(which) => match choose(which, progress)? {
            Ok(place) => delete(progress, place)?,
            Err(question) => question,
        },
        Request::RunInputs { which, at_once } => {
            let mut input = json!({});
            if let Some(at_once) = at_once {
                input["atOnce"] = json!(at_once);
            }
            match which {
                Which::All => {}
                Which::It if progress.made.is_some() => input["ids"] = json!([progress.made]),
                which => match choose(which, progress)? {
                    Ok(place) => input["ids"] = json!([progress.inputs()?[place].id]),
                    Err(question) => return Ok(question),
                },
            }
            answer::ran(&progress.result("run_test_inputs", input)?)
        }
        Request::Improve(what) => improve::perform(*what, progress)?,
        Request::Recall(recall) => recall::tell(*recall, story),
        Request::Greet(name) => format!("Nice to meet you, {name}."),
        Request::Solved(sum) => format!("{sum}."),
        Request::Incomplete(missing) => missing.question().into(),
        Request::Unclear(said) => answer::unclear(said),
    })
}

/// Replaces the system prompt whole.
pub fn set_prompt(progress: &mut Progress<'_>, prompt: String) -> Result<Written, Halt> {
    let input = json!({ "systemPrompt": prompt });
    let written = progress.write("update_system_prompt", input)?;
    progress.prompt = Some(prompt);
    Ok(written)
}

fn replace_in_prompt(
    progress: &mut Progress<'_>,
    find: &str,
    replace: &str,
) -> Result<String, Halt> {
    let old = progress.prompt()?;
    let count = old.matches(find).count();
    let new = old.replace(find, replace);
    let written = match count {
        0 => {
            let find = answer::snippet(find);
            return Ok(format!(
                "The system prompt does not contain “{find}”, so I changed nothing."
            ));
        }
        1 if progress.has("patch_system_prompt") => {
            let edits = json!({ "edits": [{ "find": find, "replace": replace }] });
            let written = progress.write("patch_system_prompt", edits)?;
            progress.prompt = Some(new);
            written
        }
        // A patch takes only a passage that occurs once.
        _ => set_prompt(progress, new)?,
    };
    let (find, replace) = (answer::snippet(find), answer::snippet(replace));
    let places = if count > 1 { format!(", in all {count} places") } else { String::new() };
    let (done, draft) = if replace.is_empty() {
        (
            format!("I removed “{find}” from the system prompt{places}"),
            format!("the system prompt without “{find}”{places}"),
        )
    } else {
        (
            format!("the system prompt now says “{replace}” instead of “{find}”{places}"),
            format!("“{replace}” instead of “{find}” in the system prompt{places}"),
        )
    };
    Ok(answer::written(&written, &done, &draft))
}

/// The place of the one test input that is meant, or the question which one.
fn choose(which: &Which, progress: &mut Progress<'_>) -> Result<Result<usize, String>, Halt> {
    let made = progress.made.clone().filter(|_| *which == Which::It);
    let inputs = progress.inputs()?;
    if let Some(place) = made.and_then(|made| inputs.iter().position(|input| input.id == made)) {
        return Ok(Ok(place));
    }
    let places = which.places(inputs);
    Ok(match places.as_slice() {
        [place] => Ok(*place),
        places => Err(answer::which(which, places, inputs)),
    })
}

fn delete(progress: &mut Progress<'_>, place: usize) -> Result<String, Halt> {
    let input = progress.inputs()?[place].clone();
    let written = progress.write("delete_test_input", json!({ "id": input.id }))?;
    // The others keep their places: people count in the list that they saw.
    if written == Written::Applied {
        progress.inputs()?[place].content = None;
    }
    let content = answer::snippet(input.content.as_deref().unwrap_or_default());
    let done = format!("I deleted the test input “{content}”");
    Ok(answer::written(&written, &done, &format!("the deletion of the test input “{content}”")))
}

fn delete_all(progress: &mut Progress<'_>) -> Result<String, Halt> {
    let places = Which::All.places(progress.inputs()?);
    match places.len() {
        0 => return Ok("There are no test inputs, so I changed nothing.".into()),
        1..=MOST_DELETED => {}
        count => {
            return Ok(format!(
                "Those are {count} test inputs. I delete at most {MOST_DELETED} with one message; \
                 tell me which ones."
            ));
        }
    }
    let told: Result<Vec<String>, Halt> =
        places.into_iter().map(|place| delete(progress, place)).collect();
    Ok(told?.join("\n"))
}

#[cfg(test)]
mod tests;
