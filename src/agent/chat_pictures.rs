//! Pictures of what goes on in chats: asked for with the end of an answer, and made by others.

use crate::{
    changes::Scope,
    domain::{picture::Wish, run::Run},
    store::{Link, NewPicture, StoreError, new_id},
};

/// Asks for a picture of an answer that was just kept, where that is wanted. Its words are found when it
/// is drawn: until then more may be known of how the persona looks.
pub(super) async fn ask_for_picture(
    link: &mut Link,
    scope: &Scope,
    run: &Run,
) -> Result<(), StoreError> {
    if !link.picture_settings().await?.automatic {
        return Ok(());
    }
    let chat = match link.chat(&run.conversation_id).await {
        Ok(chat) => chat,
        // It went to the bin meanwhile.
        Err(StoreError::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    if !chat.settings.images {
        return Ok(());
    }
    let new = NewPicture {
        id: &new_id(),
        persona: Some(&run.persona_id),
        moment: Some((&run.conversation_id, &run.reply_id)),
        user: &scope.user,
        wish: &Wish::default(),
    };
    link.insert_picture(new).await
}
