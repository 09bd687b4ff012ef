//! Pictures of what goes on in chats: asked for when an answer is kept, and made by others.

use super::rounds::kept_with;
use crate::{
    domain::{
        picture::Wish,
        run::{Run, RunStatus},
    },
    store::{Link, NewPicture, StoreError, new_id},
};

/// Asks for pictures of the answers that were just kept with the end of a run, where that is wanted: its own,
/// and those that waited for it. Their words are found when they are drawn: until then more may be known of
/// how the personas look.
pub(super) async fn ask_for_pictures(link: &mut Link, run: &Run) -> Result<(), StoreError> {
    if !link.picture_settings().await?.automatic {
        return Ok(());
    }
    let chat = match link.chat(&run.conversation_id).await {
        Ok(chat) => chat,
        // It went to the bin meanwhile, or is no chat.
        Err(StoreError::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    if !chat.settings.images {
        return Ok(());
    }
    for kept in kept_with(link, run).await? {
        // What was stopped or failed is no scene.
        if kept.status != RunStatus::Done
            || link.message(&kept.reply_id).await?.text().trim().is_empty()
        {
            continue;
        }
        match link.persona_head(&kept.persona_id).await {
            Ok(_) => {}
            // Nobody is left whose picture it could be.
            Err(StoreError::NotFound(_)) => continue,
            Err(error) => return Err(error),
        }
        let new = NewPicture {
            id: &new_id(),
            persona: Some(&kept.persona_id),
            moment: Some((&kept.conversation_id, &kept.reply_id)),
            user: &link.asker(&kept.id).await?,
            wish: &Wish::default(),
        };
        link.insert_picture(new).await?;
    }
    Ok(())
}
